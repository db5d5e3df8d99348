/* SPDX-License-Identifier: MIT
 *
 * Prints the summary above every report: the program, how it was measured, the cost of profiling,
 * and what the figures lack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/terminal.h"
#include "profile/profile.h"
#include "report.h"

enum { NOTES_WIDTH = 88 };

static const char *note(const crn_profile *profile, const char *key)
{
    return crn_profile_note(profile, key, NULL);
}

static void print_totals(FILE *out, const crn_profile *profile)
{
    const char *joint = "";
    /* Memory metrics have lines of their own. */
    bool memory = crn_profile_metric(profile, CRN_ALLOC_BYTES) >= 0;
    for (uint32_t i = 0; i < profile->metric_count; i++) {
        uint32_t m = i < CRN_METRIC_FIXED ? crn_metric_order[i] : i;
        char figure[CRN_FIGURE_SIZE];
        uint64_t total = crn_metric_total(profile, m);
        if (!total || (m == CRN_METRIC_CALLS && !crn_calls_counted(profile)) ||
            (memory && profile->metrics[m].is_memory))
            continue;
        if (!*joint)
            crn_report_label(out, CRN_STYLE_DIM, "total");
        fprintf(out, "%s%s ", joint, crn_figure_alone(figure, profile->metrics[m].unit, total));
        crn_terminal_text(out, profile->metrics[m].name, 0, false);
        joint = ", ";
    }
    if (!*joint && memory)
        return;
    if (!*joint)
        crn_report_label(out, CRN_STYLE_DIM, "total");
    if (crn_profile_note_number(profile, "lanes") > 1 && profile->values[CRN_METRIC_WALL])
        fputs(" (of all lanes together)", out);
    putc('\n', out);
}

static void print_shape(FILE *out, const crn_profile *profile)
{
    char contexts[CRN_FIGURE_SIZE], blocks[CRN_FIGURE_SIZE], calls[CRN_FIGURE_SIZE];
    uint64_t cycle_calls = crn_cycle_calls_total(profile);
    uint32_t cycles = 0;
    for (uint32_t e = 0; e < profile->edge_count; e++)
        cycles += !profile->edges[e].folded;
    crn_report_label(out, CRN_STYLE_DIM, "profile");
    uint32_t block_count = profile->block_count - 1 - (profile->folded_block != 0);
    fprintf(out, "%s context%s of %s function%s",
            crn_figure_alone(contexts, "", profile->context_count),
            profile->context_count == 1 ? "" : "s", crn_figure_alone(blocks, "", block_count),
            block_count == 1 ? "" : "s");
    if (cycles)
        fprintf(out, ", recursion in %s place%s", crn_figure_alone(calls, "", cycles),
                cycles == 1 ? "" : "s");
    if (cycle_calls)
        fprintf(out, " (%s call%s)", crn_figure_alone(calls, "", cycle_calls),
                cycle_calls == 1 ? "" : "s");
    uint64_t strands = crn_profile_note_number(profile, "strands"),
             lanes = crn_profile_note_number(profile, "lanes");
    if (strands > 1)
        fprintf(out, ", %s strands on %s lane%s", crn_figure_alone(calls, "", strands),
                crn_figure_alone(contexts, "", lanes), lanes == 1 ? "" : "s");
    uint64_t folded = crn_folded_calls(profile);
    if (folded)
        fprintf(out, ", %s call%s (%.1f %%) folded at limits", crn_figure_alone(calls, "", folded),
                folded == 1 ? "" : "s",
                crn_percent(folded, crn_metric_total(profile, CRN_METRIC_CALLS)));
    putc('\n', out);
}

/* Prints which functions were left out at compile time, and how many of their calls were
 * counted. */
static void print_left_out(FILE *out, const crn_profile *profile)
{
    const char *what = note(profile, "left_out");
    int small = crn_profile_metric(profile, CRN_SMALL_CALLS);
    uint64_t calls = small < 0 ? 0 : crn_metric_total(profile, (uint32_t)small);
    char text[1200], figure[CRN_FIGURE_SIZE];
    if (!what && !calls)
        return;
    snprintf(text, sizeof text, "%.1000s", what ? what : "small functions");
    if (calls)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "; %s small call%s counted with the callers", crn_figure_alone(figure, "", calls),
                 calls == 1 ? "" : "s");
    crn_report_line(out, "left out", text);
}

/* Prints how many calls were of counted functions (--lean). */
static void print_lean(FILE *out, const crn_profile *profile)
{
    crn_lean lean = crn_lean_of(profile);
    char text[256], calls[CRN_FIGURE_SIZE], all[CRN_FIGURE_SIZE], functions[CRN_FIGURE_SIZE];
    if (!lean.counted)
        return;
    snprintf(text, sizeof text,
             "%s of %s calls, of %s function%s marked \"(counted)\": what they call and their time "
             "belong to the row above them",
             crn_figure_alone(calls, "", lean.counted),
             crn_figure_alone(all, "", crn_metric_total(profile, CRN_METRIC_CALLS)),
             crn_figure_alone(functions, "", lean.functions), lean.functions == 1 ? "" : "s");
    crn_report_line(out, "lean", text);
}

/* Formats "2026-11-21T12:00:00Z" as "2026-11-21 12:00:00 UTC"; leaves any other text. */
static void put_time(char *text, size_t size, const char *time)
{
    snprintf(text, size, "%.60s", time);
    if (strlen(text) != 20 || text[10] != 'T' || text[19] != 'Z')
        return;
    text[10] = ' ';
    text[19] = 0;
    strcat(text, " UTC");
}

/* Prints "2026-11-21 12:00:00 UTC, for 2.31 s". If the host noted no duration, takes the recorded
 * one. In a capture that was not closed this ends at the last moment that the runtime wrote. */
static void print_when(FILE *out, const crn_profile *profile)
{
    char text[160] = "", figure[CRN_FIGURE_SIZE];
    const char *started = crn_profile_note(profile, "started", "");
    uint64_t elapsed = crn_profile_note_number(profile, "elapsed_ns");
    bool closed = elapsed || strcmp(crn_profile_note(profile, "state", ""), "recording") != 0;
    if (!elapsed)
        elapsed = crn_profile_note_number(profile, "recorded_ns");
    if (!*started && !elapsed)
        return;
    put_time(text, sizeof text, started);
    if (elapsed)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%sfor %s%s",
                 *started ? ", " : "", closed ? "" : "at least ",
                 crn_figure_alone(figure, CRN_UNIT_TIME, elapsed));
    crn_report_line(out, "ran", text);
}

/* Puts the cost of profiling. It is a lower bound: events are timed in a loop that has the caches
 * to itself. It is the sum over lanes, which may run at once: only if there is one lane, its share
 * of the run is put, too. */
void crn_report_overhead(const crn_report_lines *lines, const crn_profile *profile)
{
    char text[512], figure[CRN_FIGURE_SIZE];
    if (!note(profile, "cost_ns"))
        return;
    uint64_t cost = crn_profile_note_number(profile, "cost_ns"),
             elapsed = crn_profile_note_number(profile, "elapsed_ns");
    snprintf(text, sizeof text, "profiling took at least %s",
             crn_figure_alone(figure, CRN_UNIT_TIME, cost));
    if (elapsed && cost <= elapsed && crn_profile_note_number(profile, "lanes") <= 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", %.1f %% of the run",
                 crn_percent(cost, elapsed));
    if (note(profile, "cost_method"))
        snprintf(text + strlen(text), sizeof text - strlen(text), " (%.256s)",
                 note(profile, "cost_method"));
    if (crn_profile_note_number(profile, "sampler_ns"))
        snprintf(text + strlen(text), sizeof text - strlen(text), "; its sampling thread took %s",
                 crn_figure_alone(figure, CRN_UNIT_TIME,
                                  crn_profile_note_number(profile, "sampler_ns")));
    lines->put(lines->to, "cost", text);
}

/* Returns true for a note that other lines show, or that only programs need: JSON has all notes. */
static bool is_said(const char *key)
{
    static const char *const said[] = {"command",
                                       "started",
                                       "elapsed_ns",
                                       "recorded_ns",
                                       "wall",
                                       "sample_period_ns",
                                       "tick_period",
                                       "seed",
                                       "process",
                                       "library",
                                       "path_limit",
                                       "context_budget",
                                       "lanes",
                                       "strands",
                                       "misuses",
                                       "dropped",
                                       "samples",
                                       "tick_samples",
                                       "state",
                                       "cost_ns",
                                       "alloc",
                                       "alloc_samples",
                                       "default_metric",
                                       "cost_method",
                                       "handler_ns",
                                       "call_ns",
                                       "cpu",
                                       "lanes_open",
                                       "unaccounted_ns",
                                       "sample_rounds",
                                       "sample_rounds_ns",
                                       "sampler_ns",
                                       "sampler",
                                       "cpu_samples",
                                       "wall_squares",
                                       "cpu_squares",
                                       "sample_ns",
                                       "trace_id",
                                       "span_key",
                                       "left_out",
                                       "stopped_by",
                                       "damage",
                                       "alloc_lost",
                                       CRN_NOTE_STATIC_CALLS};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strcmp(key, said[i]) == 0)
            return true;
    return strncmp(key, "module ", strlen("module ")) == 0;
}

/* Prints the other notes, such as options and labels, several a line. */
static void print_notes(FILE *out, const crn_profile *profile)
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
            crn_report_line(out, label, line);
            label = "";
            *line = 0;
        }
        snprintf(line + strlen(line), sizeof line - strlen(line), "%s%s", *line ? ", " : "", text);
    }
    if (*line)
        crn_report_line(out, label, line);
}

static void print_warnings(FILE *out, const crn_profile *profile)
{
    for (size_t i = 0; i < profile->warning_count; i++) {
        crn_report_label(out, CRN_STYLE_WARM, "warning");
        crn_terminal_text(out, profile->warnings[i], 0, false);
        putc('\n', out);
    }
}

/* Warns if the program runs or was killed, with the time that is in no figure. */
static void print_state(FILE *out, const crn_report *report)
{
    static const char *const words[] = {
        [CRN_REPORT_RUNNING] = "the program still runs: figures so far",
        [CRN_REPORT_KILLED] = "the program ended without closing its capture, as when killed: "
                              "everything recorded until then is here",
        [CRN_REPORT_UNCLOSED] = "some captures were not closed: a program runs, or was killed"};
    crn_report_state state = crn_report_state_of(report);
    uint64_t lanes = crn_profile_note_number(report->profile, "lanes_open");
    uint64_t unaccounted = crn_profile_note_number(report->profile, "unaccounted_ns");
    char time[CRN_FIGURE_SIZE], count[CRN_FIGURE_SIZE];
    if (state == CRN_REPORT_ENDED)
        return;
    crn_report_label(out, CRN_STYLE_WARM, "warning");
    fputs(words[state], out);
    if (unaccounted)
        fprintf(out, "; up to %s", crn_figure_alone(time, CRN_UNIT_TIME, unaccounted));
    if (unaccounted && lanes)
        fprintf(out, " of %s lane%s", crn_figure_alone(count, "", lanes), lanes == 1 ? "" : "s");
    if (unaccounted)
        fputs(" are unaccounted", out);
    putc('\n', out);
}

/* Prints the command. Merged captures have several, joined by " | ": prints one a line, unless a
 * command contains pipes itself. */
static void print_command(FILE *out, const crn_profile *profile)
{
    static const char joint[] = " | ";
    const char *all = note(profile, "command"), *label = "command", *end;
    uint64_t parts = 1;
    for (const char *at = all; at && (at = strstr(at, joint)) != NULL; at += strlen(joint))
        parts++;
    bool split = parts <= crn_profile_note_number(profile, "merged");
    for (const char *at = all; at; at = end ? end + strlen(joint) : NULL, label = "") {
        char *command = crn_strdup(at);
        end = split ? strstr(at, joint) : NULL;
        if (end)
            command[end - at] = '\0';
        crn_report_line(out, label, command);
        crn_free(command);
    }
}

static void print_line(void *out, const char *label, const char *text)
{
    crn_report_line(out, label, text);
}

void crn_report_summary(FILE *out, const crn_report *report)
{
    const crn_report_lines lines = {print_line, out};
    const crn_profile *profile = report->profile;
    crn_report_line(out, "capture", report->path);
    print_command(out, profile);
    print_when(out, profile);
    crn_report_clocks(&lines, profile);
    crn_report_overhead(&lines, profile);
    print_totals(out, profile);
    crn_report_memory(&lines, report);
    crn_report_collector(&lines, report);
    crn_report_waiting(&lines, profile);
    print_shape(out, profile);
    print_left_out(out, profile);
    print_lean(out, profile);
    print_notes(out, profile);
    print_state(out, report);
    print_warnings(out, profile);
    putc('\n', out);
}
