/* SPDX-License-Identifier: MIT
 *
 * Events and log lines in a window of time, and when its threads had no core: for the timeline.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "view.h"

enum { PIXELS_DEFAULT = 700, PIXELS_MAX = 4000, LANES_MAX = 64, EVENTS_MAX = 200 };

/* ---- events ---- */

static int compare_events(const void *left, const void *right)
{
    const crn_span_event *a = *(const crn_span_event *const *)left;
    const crn_span_event *b = *(const crn_span_event *const *)right;
    return CRN_ORDER(a->at, b->at) ?: CRN_ORDER(a, b);
}

static json_t *event_json(const crn_trace *trace, const crn_span_event *event)
{
    json_t *json = json_object();
    json_object_set_new(json, "at", crn_json_number(event->at));
    json_object_set_new(json, "level", json_string(crn_level_name(event->level)));
    json_object_set_new(json, "text", crn_json_text(event->text));
    json_object_set_new(json, "span", crn_json_number(event->span));
    json_object_set_new(json, "lane", crn_json_number(trace->spans[event->span].lane));
    return json;
}

/* Writes the window's events, ordered by time. */
static void write_events(FILE *out, const crn_trace *trace, const crn_view_window *window)
{
    const crn_span_event **events =
        crn_calloc(trace->event_count + (size_t)1, sizeof(const crn_span_event *));
    uint32_t count = 0;
    for (uint32_t e = 0; e < trace->event_count; e++)
        if (trace->events[e].at >= window->from && trace->events[e].at < window->to)
            events[count++] = &trace->events[e];
    qsort((void *)events, count, sizeof *events, compare_events);
    uint32_t shown = count < EVENTS_MAX ? count : EVENTS_MAX;
    json_t *list = json_array();
    for (uint32_t e = 0; e < shown; e++)
        json_array_append_new(list, event_json(trace, events[e]));
    crn_json_write_member(out, "events", list);
    crn_json_write_member(out, "events_left_out", crn_json_number(count - shown));
    crn_free((void *)events);
}

/* ---- times without a core ---- */

/* Writes [pixel, ns of waiting, ns of being ready] for each pixel that has any. */
static void write_pixels(FILE *out, const crn_off_sums *sums, const crn_view_window *window)
{
    double width = (double)(window->to - window->from) / (double)window->pixels;
    const char *separator = "";
    fputs("\"pixels\":[", out);
    for (uint32_t p = 0; p < window->pixels; p++) {
        uint64_t from = window->from + (uint64_t)((double)p * width);
        uint64_t to = window->from + (uint64_t)((double)(p + 1) * width);
        crn_off_times times = crn_off_times_within(sums, from, to);
        if (!times.waiting && !times.ready)
            continue;
        fprintf(out, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 "]", separator, p, times.waiting,
                times.ready);
        separator = ",";
    }
    putc(']', out);
}

static void write_off_core(FILE *out, const crn_trace *trace, const crn_view_window *window)
{
    uint32_t lanes = 0;
    fputs(",\n\"off_core\":[", out);
    for (uint32_t o = 0; o < trace->off_core_count; o++) {
        uint32_t lane = trace->off_core[o].lane;
        if ((o && trace->off_core[o - 1].lane == lane) || lanes++ >= LANES_MAX)
            continue;
        crn_off_sums sums = crn_off_sums_of(trace->off_core, trace->off_core_count, lane);
        crn_off_times all = crn_off_times_within(&sums, window->from, window->to);
        fputs(lanes > 1 ? ",\n{" : "\n{", out);
        write_pixels(out, &sums, window);
        crn_json_write_member(out, "name", crn_json_text(trace->lanes[lane]));
        crn_json_write_member(out, "lane", crn_json_number(lane));
        crn_json_write_member(out, "waiting", crn_json_number(all.waiting));
        crn_json_write_member(out, "ready", crn_json_number(all.ready));
        putc('}', out);
        crn_free(sums.before);
    }
    putc(']', out);
    crn_json_write_member(out, "lanes_left_out",
                          crn_json_number(lanes > LANES_MAX ? lanes - LANES_MAX : 0));
}

bool crn_view_moments(FILE *out, crn_view *view, const crn_view_query *query)
{
    const crn_view_choice *choice;
    crn_view_window window;
    crn_view_file *file = crn_view_file_chosen(view, query, &choice);
    if (!file || !crn_view_window_of(file, choice, query, PIXELS_DEFAULT, PIXELS_MAX, &window))
        return false;
    fprintf(out, "{\"from\":%" PRIu64 ",\"to\":%" PRIu64, window.from, window.to);
    write_events(out, file->trace, &window);
    write_off_core(out, file->trace, &window);
    fputs("}\n", out);
    return true;
}
