/* SPDX-License-Identifier: MIT
 *
 * What stands above every report: what ran, how it was measured, what that cost and what
 * is not in the figures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"
#include "terminal.h"

enum { LABEL_WIDTH = 10 };

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

static uint64_t total_of(const crn_profile *profile, uint32_t metric)
{
    uint64_t total = 0;
    for (uint32_t c = 0; profile->values[metric] && c < profile->context_count; c++)
        total += profile->values[metric][c];
    return total;
}

static void print_totals(const crn_profile *profile)
{
    const char *joint = "";
    print_label("total");
    for (uint32_t i = 0; i < profile->metric_count; i++) {
        /* Time and ticks first: they are what most look for. */
        uint32_t m = i == 0 ? CRN_METRIC_WALL : i == 2 ? CRN_METRIC_CALLS : i;
        char figure[CRN_FIGURE_SIZE];
        uint64_t total = total_of(profile, m);
        if (!total)
            continue;
        printf("%s%s ", joint, crn_figure_alone(figure, profile->metrics[m].unit, total));
        crn_terminal_text(profile->metrics[m].name, 0, false);
        joint = ", ";
    }
    putchar('\n');
}

static void print_shape(const crn_profile *profile)
{
    char contexts[CRN_FIGURE_SIZE], blocks[CRN_FIGURE_SIZE], calls[CRN_FIGURE_SIZE];
    uint64_t cycle_calls = 0;
    uint32_t cycles = 0;
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        cycles += !profile->edges[e].folded;
        cycle_calls += profile->edges[e].folded ? 0 : profile->edges[e].calls;
    }
    print_label("profile");
    printf("%s contexts of %s blocks", crn_figure_alone(contexts, "", profile->context_count),
           crn_figure_alone(blocks, "", profile->block_count - 1));
    if (cycles)
        printf(", recursion in %u place%s (%s calls)", cycles, cycles == 1 ? "" : "s",
               crn_figure_alone(calls, "", cycle_calls));
    uint64_t folded = crn_folded_calls(profile);
    if (folded)
        printf(", %s calls (%.1f %%) folded by limits", crn_figure_alone(calls, "", folded),
               crn_percent(folded, total_of(profile, CRN_METRIC_CALLS)));
    putchar('\n');
}

static const char *note(const crn_profile *profile, const char *key)
{
    return crn_profile_note(profile, key, NULL);
}

static void print_when(const crn_profile *profile)
{
    char text[128] = "", figure[CRN_FIGURE_SIZE];
    const char *started = note(profile, "started"), *elapsed = note(profile, "elapsed_ns");
    if (!started && !elapsed)
        return;
    snprintf(text, sizeof text, "%.60s%s%s", started ? started : "",
             elapsed ? (started ? ", took " : "took ") : "",
             elapsed ? crn_figure_alone(figure, "nanoseconds", strtoull(elapsed, NULL, 10)) : "");
    print_line("ran", text);
}

/* Notes that print_when and the like have said already. */
static bool is_said(const char *key)
{
    static const char *const said[] = {"command", "started", "elapsed_ns"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strcmp(key, said[i]) == 0)
            return true;
    return false;
}

void crn_report_summary(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    const crn_terminal *terminal = crn_terminal_get();
    print_line("capture", report->path);
    if (note(profile, "command"))
        print_line("command", note(profile, "command"));
    print_when(profile);
    print_totals(profile);
    print_shape(profile);
    for (size_t i = 0; i < profile->note_count; i++) {
        if (is_said(profile->notes[i].key))
            continue;
        char text[1024];
        snprintf(text, sizeof text, "%s: %s", profile->notes[i].key, profile->notes[i].value);
        print_line("", text);
    }
    for (size_t i = 0; i < profile->warning_count; i++) {
        crn_terminal_style(CRN_STYLE_WARM);
        printf("%-*s", LABEL_WIDTH, "warning");
        crn_terminal_style(CRN_STYLE_PLAIN);
        crn_terminal_text(profile->warnings[i],
                          terminal->width ? terminal->width - LABEL_WIDTH : 0, false);
        putchar('\n');
    }
    putchar('\n');
}
