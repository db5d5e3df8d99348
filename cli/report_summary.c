/* SPDX-License-Identifier: MIT
 *
 * What stands above every report: what ran, how it was measured, what that cost and what
 * is not in the figures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "terminal.h"

enum { LABEL_WIDTH = 10, NOTES_WIDTH = 88 };

static void print_label(const char *label)
{
    crn_terminal_style(CRN_STYLE_DIM);
    printf("%-*s", LABEL_WIDTH, label);
    crn_terminal_style(CRN_STYLE_PLAIN);
}

static void print_line(const char *label, const char *text)
{
    const crn_terminal *terminal = crn_terminal_get();
    print_label(label);
    crn_terminal_text(text, terminal->width ? terminal->width - LABEL_WIDTH : 0, false);
    putchar('\n');
}

static const char *note(const crn_profile *profile, const char *key)
{
    return crn_profile_note(profile, key, NULL);
}

static uint64_t note_number(const crn_profile *profile, const char *key)
{
    return strtoull(crn_profile_note(profile, key, "0"), NULL, 10);
}

static void print_totals(const crn_profile *profile)
{
    const char *joint = "";
    print_label("total");
    for (uint32_t i = 0; i < profile->metric_count; i++) {
        /* Time and ticks first: they are what most look for. */
        uint32_t m = i == 0 ? CRN_METRIC_WALL : i == 2 ? CRN_METRIC_CALLS : i;
        char figure[CRN_FIGURE_SIZE];
        uint64_t total = crn_metric_total(profile, m);
        if (!total || (m == CRN_METRIC_CALLS && !crn_calls_counted(profile)))
            continue;
        printf("%s%s ", joint, crn_figure_alone(figure, profile->metrics[m].unit, total));
        crn_terminal_text(profile->metrics[m].name, 0, false);
        joint = ", ";
    }
    if (note_number(profile, "lanes") > 1 && profile->values[CRN_METRIC_WALL])
        fputs(" (of all lanes together)", stdout);
    putchar('\n');
}

static void print_shape(const crn_profile *profile)
{
    char contexts[CRN_FIGURE_SIZE], blocks[CRN_FIGURE_SIZE], calls[CRN_FIGURE_SIZE];
    uint64_t cycle_calls = crn_cycle_calls_total(profile);
    uint32_t cycles = 0;
    for (uint32_t e = 0; e < profile->edge_count; e++)
        cycles += !profile->edges[e].folded;
    print_label("profile");
    printf("%s contexts of %s blocks", crn_figure_alone(contexts, "", profile->context_count),
           crn_figure_alone(blocks, "", profile->block_count - 1 - (profile->folded_block != 0)));
    if (cycles)
        printf(", recursion in %s place%s", crn_figure_alone(calls, "", cycles),
               cycles == 1 ? "" : "s");
    if (cycle_calls)
        printf(" (%s call%s)", crn_figure_alone(calls, "", cycle_calls),
               cycle_calls == 1 ? "" : "s");
    uint64_t strands = note_number(profile, "strands"), lanes = note_number(profile, "lanes");
    if (strands > 1)
        printf(", %s strands on %s lane%s", crn_figure_alone(calls, "", strands),
               crn_figure_alone(contexts, "", lanes), lanes == 1 ? "" : "s");
    uint64_t folded = crn_folded_calls(profile);
    if (folded)
        printf(", %s call%s (%.1f %%) folded by limits", crn_figure_alone(calls, "", folded),
               folded == 1 ? "" : "s",
               crn_percent(folded, crn_metric_total(profile, CRN_METRIC_CALLS)));
    putchar('\n');
}

/* "2026-11-21T12:00:00Z" as people write it; anything else stays. */
static void put_time(char *text, size_t size, const char *time)
{
    snprintf(text, size, "%.60s", time);
    if (strlen(text) != 20 || text[10] != 'T' || text[19] != 'Z')
        return;
    text[10] = ' ';
    text[19] = 0;
    strcat(text, " UTC");
}

/* "2026-11-21 12:00:00 UTC, for 2.31 s". Without the host's own word it is how long was
 * recorded. */
static void print_when(const crn_profile *profile)
{
    char text[160] = "", figure[CRN_FIGURE_SIZE];
    const char *started = crn_profile_note(profile, "started", "");
    uint64_t elapsed = note_number(profile, "elapsed_ns");
    if (!elapsed)
        elapsed = note_number(profile, "recorded_ns");
    if (!*started && !elapsed)
        return;
    put_time(text, sizeof text, started);
    if (elapsed)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%sfor %s", *started ? ", " : "",
                 crn_figure_alone(figure, "nanoseconds", elapsed));
    if (note(profile, "state") && strcmp(note(profile, "state"), "recording") == 0)
        strcat(text, ", not ended");
    print_line("ran", text);
}

/* Captures that were merged need not agree: "off | sampled". */
static bool is_mixed(const char *note)
{
    return strstr(note, " | ") != NULL;
}

static void print_mixed_clocks(const char *wall, const char *periods)
{
    char text[256];
    snprintf(text, sizeof text, "wall time %.60s; ticks counted by %.60s", wall, periods);
    print_line("clocks", text);
}

static void print_clocks(const crn_profile *profile)
{
    char text[256] = "", figure[CRN_FIGURE_SIZE], samples[CRN_FIGURE_SIZE];
    const char *wall = crn_profile_note(profile, "wall", "off");
    const char *periods = crn_profile_note(profile, "tick_period", "1");
    if (is_mixed(wall) || is_mixed(periods)) {
        print_mixed_clocks(wall, periods);
        return;
    }
    uint64_t period = note_number(profile, "tick_period");
    if (strcmp(wall, "exact") == 0)
        strcat(text, "wall time exact");
    else if (strcmp(wall, "sampled") == 0)
        snprintf(text, sizeof text, "wall time sampled every %s (%s samples)",
                 crn_figure_alone(figure, "nanoseconds", note_number(profile, "wall_period_ns")),
                 crn_figure_alone(samples, "", note_number(profile, "wall_samples")));
    if (period > 1)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%sticks sampled every %s (%s samples, seed %.24s)", *text ? "; " : "",
                 crn_figure_alone(figure, "", period),
                 crn_figure_alone(samples, "", note_number(profile, "tick_samples")),
                 crn_profile_note(profile, "seed", "?"));
    else if (profile->values[CRN_METRIC_TICKS] && period)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%sticks exact",
                 *text ? "; " : "");
    if (*text)
        print_line("clocks", text);
}

static void print_cost(const crn_profile *profile)
{
    char text[512], figure[CRN_FIGURE_SIZE];
    if (!note(profile, "cost_ns"))
        return;
    uint64_t cost = note_number(profile, "cost_ns"), elapsed = note_number(profile, "elapsed_ns");
    snprintf(text, sizeof text, "profiling took about %s",
             crn_figure_alone(figure, "nanoseconds", cost));
    if (elapsed)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", %.1f %% of the run",
                 crn_percent(cost, elapsed));
    if (note(profile, "cost_method"))
        snprintf(text + strlen(text), sizeof text - strlen(text), " (%.256s)",
                 note(profile, "cost_method"));
    print_line("cost", text);
}

/* Notes that are said above, or that matter to programs only: JSON has them all. */
static bool is_said(const char *key)
{
    static const char *const said[] = {
        "command",     "started", "elapsed_ns",  "recorded_ns", "wall",         "wall_period_ns",
        "tick_period", "seed",    "process",     "library",     "path_limit",   "context_budget",
        "lanes",       "strands", "misuses",     "dropped",     "wall_samples", "tick_samples",
        "state",       "cost_ns", "cost_method", "call_ns",     "call_ns"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strcmp(key, said[i]) == 0)
            return true;
    return false;
}

/* Options and labels, several a line where they fit. */
static void print_notes(const crn_profile *profile)
{
    const char *label = "notes";
    char line[1200] = "";
    for (size_t i = 0; i < profile->note_count; i++) {
        if (is_said(profile->notes[i].key))
            continue;
        char text[1024];
        snprintf(text, sizeof text, "%.200s=%.800s", profile->notes[i].key,
                 profile->notes[i].value);
        if (*line && strlen(line) + strlen(text) + 2 > NOTES_WIDTH) {
            print_line(label, line);
            label = "";
            *line = 0;
        }
        snprintf(line + strlen(line), sizeof line - strlen(line), "%s%s", *line ? ", " : "", text);
    }
    if (*line)
        print_line(label, line);
}

static void print_warnings(const crn_profile *profile)
{
    for (size_t i = 0; i < profile->warning_count; i++) {
        crn_terminal_style(CRN_STYLE_WARM);
        printf("%-*s", LABEL_WIDTH, "warning");
        crn_terminal_style(CRN_STYLE_PLAIN);
        crn_terminal_text(profile->warnings[i], 0, false);
        putchar('\n');
    }
}

void crn_report_summary(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    print_line("capture", report->path);
    if (note(profile, "command"))
        print_line("command", note(profile, "command"));
    print_when(profile);
    print_clocks(profile);
    print_cost(profile);
    print_totals(profile);
    print_shape(profile);
    print_notes(profile);
    print_warnings(profile);
    putchar('\n');
}
