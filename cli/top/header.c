/* SPDX-License-Identifier: MIT
 *
 * Draws the lines above the table: the program, how it is measured, what is shown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/figure.h"
#include "profile/profile.h"
#include "top.h"

static crn_style put_state(char *text, size_t size, const crn_top_look *look)
{
    static const char *const states[] = {
        [CRN_TOP_WAITING] = "waiting for it",
        [CRN_TOP_RUNNING] = "running",
        [CRN_TOP_SUSPENDED] = "suspended by a signal",
        [CRN_TOP_STOPPED] = "ended; recording had stopped before",
        [CRN_TOP_ENDED] = "ended",
        [CRN_TOP_KILLED] = "killed",
        [CRN_TOP_UNREADABLE] = "unreadable",
    };
    char age[CRN_AMOUNT_SIZE];
    snprintf(text, size, "%s", states[look->state]);
    if (look->state == CRN_TOP_KILLED)
        snprintf(text, size, "killed: last change %s ago",
                 crn_top_amount(age, CRN_UNIT_TIME, look->changed * 1e9 + 1));
    return look->state == CRN_TOP_RUNNING ? CRN_STYLE_TITLE
           : look->state == CRN_TOP_ENDED ? CRN_STYLE_DIM
                                          : CRN_STYLE_WARM;
}

static void put_program(crn_pen *pen, const char *path, const crn_top_look *look)
{
    char state[96], right[160] = "", elapsed[CRN_AMOUNT_SIZE];
    crn_style style = put_state(state, sizeof state, look);
    const char *command = path;
    if (look->profile) {
        command = crn_profile_note(look->profile, "command", path);
        uint64_t ns = crn_profile_note_number(look->profile, "recorded_ns");
        snprintf(right, sizeof right, "  pid %.12s  %7s",
                 crn_profile_note(look->profile, "process", "?"),
                 crn_top_amount(elapsed, CRN_UNIT_TIME, (double)ns));
    }
    size_t taken = strlen(state) + strlen(right) + 2;
    size_t left = pen->width > taken + 16 ? pen->width - taken : 0;
    crn_pen_text(pen, CRN_STYLE_TITLE, command, pen->width && !left ? 16 : left, false);
    crn_pen_to(pen, left ? pen->width - taken + 2 : pen->used + 2);
    crn_pen_text(pen, style, state, 0, false);
    crn_pen_text(pen, CRN_STYLE_PLAIN, right, 0, false);
}

static void put_count(crn_pen *pen, uint64_t count, const char *one, const char *many)
{
    char text[CRN_FIGURE_SIZE];
    if (pen->used)
        crn_pen_text(pen, CRN_STYLE_PLAIN, "  ", 0, false);
    crn_pen_text(pen, CRN_STYLE_PLAIN, crn_figure_alone(text, "", count), 0, false);
    crn_pen_text(pen, CRN_STYLE_DIM, count == 1 ? one : many, 0, false);
}

static void put_per_second(crn_pen *pen, double amount, const char *what)
{
    char text[CRN_AMOUNT_SIZE];
    crn_pen_format(pen, CRN_STYLE_PLAIN, "  %s",
                   amount > 0 ? crn_top_amount(text, "count", amount) : "0");
    crn_pen_text(pen, CRN_STYLE_DIM, what, 0, false);
}

static void put_shape(crn_pen *pen, const crn_top_look *look, const crn_top_rows *rows)
{
    const crn_profile *profile = look->profile;
    put_count(pen, crn_profile_note_number(profile, "lanes"), " lane", " lanes");
    put_count(pen, crn_profile_note_number(profile, "strands"), " strand", " strands");
    put_count(pen, profile->context_count, " context", " contexts");
    double seconds = rows->seconds > 0
                         ? rows->seconds
                         : (double)crn_profile_note_number(profile, "recorded_ns") / 1e9;
    const crn_profile *shown = rows->seconds > 0 ? &look->since.profile : profile;
    if (seconds > 0 && crn_calls_counted(profile))
        put_per_second(pen, (double)crn_metric_total(shown, CRN_METRIC_CALLS) / seconds,
                       " calls/s");
    uint64_t period = crn_profile_note_number(profile, "sample_period_ns");
    if (period && seconds > 0) {
        char text[CRN_FIGURE_SIZE];
        uint64_t samples =
            rows->seconds > 0 ? look->samples : crn_profile_note_number(profile, "samples");
        put_per_second(pen, (double)samples / seconds, " samples/s");
        crn_pen_format(pen, CRN_STYLE_DIM, ", one each %s",
                       crn_figure_alone(text, CRN_UNIT_TIME, period));
    }
}

enum { METER_WIDTH = 20, SPARK_NARROW = 10, WIDE = 100 };

static uint32_t spark_width(const crn_pen *pen)
{
    return pen->width >= WIDE ? CRN_TOP_HISTORY : SPARK_NARROW;
}

/* Appends "cpu [##### ] 0.52 of 2 cores" and a sparkline of the last snapshots. */
static void put_cpu(crn_pen *pen, const crn_top_look *look, const crn_top_history *history)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN); /* the program runs on this machine */
    crn_pen_text(pen, CRN_STYLE_TITLE, "cpu", 0, false);
    crn_pen_text(pen, CRN_STYLE_DIM, " [", 0, false);
    crn_top_meter(pen, look->cpu / (double)(cores > 0 ? cores : 1), METER_WIDTH);
    crn_pen_text(pen, CRN_STYLE_DIM, "]", 0, false);
    crn_pen_format(pen, CRN_STYLE_PLAIN, " %.2f", look->cpu);
    crn_pen_format(pen, CRN_STYLE_DIM, " of %ld cores", cores > 0 ? cores : 1);
    if (history)
        crn_top_sparkline(pen, history, history->cpu, CRN_TOP_HISTORY);
}

static void put_choice(crn_pen *pen, const crn_top_header *header)
{
    const crn_top_choice *choice = header->choice;
    const crn_top_rows *rows = header->rows;
    char text[CRN_AMOUNT_SIZE];
    bool spans = rows->view == CRN_TOP_SPANS;
    crn_pen_text(pen, CRN_STYLE_TITLE, spans ? "spans that ended" : rows->info->name, 24, false);
    if (rows->seconds > 0)
        crn_pen_format(pen, CRN_STYLE_PLAIN, " %s the last %.2f s", spans ? "in" : "of",
                       rows->seconds);
    else if (rows->info->is_level && !spans)
        crn_pen_text(pen, CRN_STYLE_PLAIN, " as it is", 0, false);
    else
        crn_pen_text(pen, CRN_STYLE_PLAIN, " since the start", 0, false);
    if (rows->info->rate && rows->seconds > 0 && !spans)
        crn_pen_format(pen, CRN_STYLE_PLAIN, ": %.2f %s", (double)rows->whole / 1e9 / rows->seconds,
                       rows->info->rate);
    else
        crn_pen_format(
            pen, CRN_STYLE_PLAIN, ": %s%s",
            crn_top_amount(text, spans ? "count" : rows->info->unit,
                           (double)rows->whole / (rows->seconds > 0 ? rows->seconds : 1)),
            rows->seconds > 0 ? "/s" : "");
    if (header->history && !spans)
        crn_top_sparkline(pen, header->history, header->history->rates[rows->metric],
                          spark_width(pen));
    crn_pen_format(pen, CRN_STYLE_PLAIN, "  view: %s", crn_top_view_names[choice->view]);
    if ((choice->view == CRN_TOP_FOCUS || choice->view == CRN_TOP_CALLERS ||
         choice->view == CRN_TOP_SOURCE) &&
        *choice->focus)
        crn_pen_format(pen, CRN_STYLE_TITLE, " %.100s", choice->focus);
    if (*choice->filter && !choice->typing)
        crn_pen_format(pen, CRN_STYLE_WARM, "  filter: %.60s", choice->filter);
    if (choice->paused)
        crn_pen_text(pen, CRN_STYLE_HOT, "  paused", 0, false);
    else if (header->every > choice->delay * 1.1)
        crn_pen_format(pen, CRN_STYLE_WARM, "  large: refreshed every %.1f s", header->every);
}

static void put_warnings(crn_pen *pen, const crn_top_look *look)
{
    const crn_profile *profile = look->profile;
    if (*look->children)
        crn_pen_format(pen, CRN_STYLE_PLAIN, "children: %s  ", look->children);
    if (look->since.began_anew)
        crn_pen_text(pen, CRN_STYLE_WARM, "counters were reset; ", 0, false);
    if (look->state == CRN_TOP_UNREADABLE || look->state == CRN_TOP_WAITING)
        crn_pen_format(pen, CRN_STYLE_WARM, "%s; ", look->problem);
    for (size_t i = 0; profile && i < profile->warning_count; i++)
        crn_pen_format(pen, CRN_STYLE_WARM, "%s%s", i ? "; " : "", profile->warnings[i]);
    uint64_t folded = profile ? crn_folded_calls(profile) : 0;
    if (folded)
        crn_pen_format(pen, CRN_STYLE_WARM, "%s%.1f %% of calls folded by limits",
                       profile->warning_count ? "; " : "",
                       crn_percent(folded, crn_metric_total(profile, CRN_METRIC_CALLS)));
}

bool crn_top_header_line(crn_pen *pen, int line, const crn_top_header *header)
{
    const crn_top_look *look = header->look;
    if (line == 0)
        put_program(pen, header->path, look);
    else if (line == 1 && look->profile)
        put_shape(pen, look, header->rows);
    else if (line == 2 && look->profile && look->cpu >= 0)
        put_cpu(pen, look, header->history);
    else if (line == 3 && look->profile && header->rows->info)
        put_choice(pen, header);
    else if (line == 4)
        put_warnings(pen, look);
    return pen->used > 0;
}
