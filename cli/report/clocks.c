/* SPDX-License-Identifier: MIT
 *
 * The summary's lines on clocks: how each was measured, with how many samples, and where wall and
 * cpu differ.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/terminal.h"
#include "report.h"

enum { TEXT_SIZE = 512 };

/* Share of wall time minus share of cpu time from which a block is mentioned. */
#define NOTABLE 0.10

/* Returns true if merged captures differ in this note, as in "off | sampled". */
static bool is_mixed(const char *note)
{
    return strstr(note, " | ") != NULL;
}

__attribute__((format(printf, 2, 3))) static void append(char text[TEXT_SIZE], const char *format,
                                                         ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, TEXT_SIZE - used, format, arguments);
    va_end(arguments);
}

/* Appends ": 1 ms asked for, 1.04 ms on average, 980 samples". */
static void append_sampling(char text[TEXT_SIZE], const crn_sampling *sampling, const char *unit)
{
    char asked[CRN_FIGURE_SIZE], reached[CRN_FIGURE_SIZE], samples[CRN_FIGURE_SIZE];
    append(text, ": %s asked for", crn_figure_alone(asked, unit, (uint64_t)sampling->asked));
    if (!sampling->samples) {
        append(text, ", no sample taken");
        return;
    }
    append(text, ", %s on average, %s sample%s",
           crn_figure_alone(reached, unit, (uint64_t)(sampling->reached + 0.5)),
           crn_figure_alone(samples, "", sampling->samples), sampling->samples == 1 ? "" : "s");
}

/* Appends to the number of wall samples that of cpu samples, if they differ. */
static void append_others(char text[TEXT_SIZE], const crn_sampling *wall, const crn_sampling *cpu)
{
    char samples[CRN_FIGURE_SIZE];
    if (wall->samples != cpu->samples)
        append(text, " of wall, %s of cpu", crn_figure_alone(samples, "", cpu->samples));
}

/* Appends how wall and cpu were measured. If both were sampled, one text with the period of wall
 * holds for both. */
static void append_time(char text[TEXT_SIZE], const crn_profile *profile)
{
    crn_sampling wall = crn_sampling_of(profile, CRN_METRIC_WALL);
    crn_sampling cpu = crn_sampling_of(profile, CRN_METRIC_CPU);
    bool walls = wall.unit > 0, cpus = cpu.unit > 0;
    if (strcmp(crn_profile_note(profile, "wall", ""), "exact") == 0)
        append(text, "wall exact");
    if (!walls && !cpus)
        return;
    append(text, "%s%s sampled", *text ? "; " : "",
           walls && cpus ? "wall and cpu"
           : walls       ? "wall"
                         : "cpu");
    append_sampling(text, walls ? &wall : &cpu, CRN_UNIT_TIME);
    if (walls && cpus)
        append_others(text, &wall, &cpu);
    if (cpu.in_ticks)
        append(text, "; cpu on the kernel's ticks: loops in step with them are measured wrongly");
}

static void append_ticks(char text[TEXT_SIZE], const crn_profile *profile)
{
    crn_sampling ticks = crn_sampling_of(profile, CRN_METRIC_TICKS);
    if (ticks.unit > 0) {
        append(text, "%sticks sampled", *text ? "; " : "");
        append_sampling(text, &ticks, "");
        append(text, ", seed %.24s", crn_profile_note(profile, "seed", "?"));
    } else if (profile->values[CRN_METRIC_TICKS] &&
               *crn_profile_note(profile, "tick_period", "") != 0) {
        append(text, "%sticks exact", *text ? "; " : "");
    }
}

void crn_report_clocks(const crn_report_lines *lines, const crn_profile *profile)
{
    char text[TEXT_SIZE] = "";
    const char *wall = crn_profile_note(profile, "wall", "off");
    const char *cpu = crn_profile_note(profile, "cpu", "off");
    const char *periods = crn_profile_note(profile, "tick_period", "1");
    if (is_mixed(wall) || is_mixed(cpu) || is_mixed(periods)) {
        append(text, "wall %.60s; ", wall);
        if (strcmp(cpu, "off") != 0)
            append(text, "cpu %.60s; ", cpu);
        append(text, "ticks counted by %.60s", periods);
    } else {
        append_time(text, profile);
        append_ticks(text, profile);
    }
    if (*text)
        lines->put(lines->to, "clocks", text);
}

/* Returns the row that waits most certainly, by shares of wall and cpu time; NULL if none waits
 * notably. */
static const crn_compare_row *most_waiting(const crn_compare *compare)
{
    for (uint32_t i = 0; i < compare->count; i++)
        if (compare->rows[i].sure > 0 && compare->rows[i].block)
            return compare->rows[i].sure >= NOTABLE ? &compare->rows[i] : NULL;
    return NULL;
}

void crn_report_waiting(const crn_report_lines *lines, const crn_profile *profile)
{
    static const uint32_t clocks[] = {CRN_METRIC_WALL, CRN_METRIC_CPU};
    char text[TEXT_SIZE] = "", waited[CRN_FIGURE_SIZE];
    if (!crn_compare_has_waiting(profile))
        return;
    crn_compare compare = crn_compare_make(profile, clocks, false, NULL);
    const crn_compare_row *row = most_waiting(&compare);
    uint32_t metric = crn_compare_ready(profile);
    uint64_t ready = metric ? crn_metric_total(profile, metric) : 0;
    uint64_t wait = crn_compare_waited(compare.totals[0], compare.totals[1], ready);
    append(text, "%s, %.0f %% of wall", crn_figure_alone(waited, CRN_UNIT_TIME, wait),
           crn_percent(wait, compare.totals[0]));
    if (row)
        append(text, "; %.200s waits: %.0f %% of wall, %.0f %% of cpu",
               profile->blocks[row->block].name, crn_percent(row->values[0], compare.totals[0]),
               crn_percent(row->values[1], compare.totals[1]));
    lines->put(lines->to, "waiting", text);
    if (ready) {
        *text = '\0';
        append(text, "%s, %.0f %% of wall: no core was free",
               crn_figure_alone(waited, CRN_UNIT_TIME, ready),
               crn_percent(ready, compare.totals[0]));
        lines->put(lines->to, "ready", text);
    }
    crn_compare_free(&compare);
}
