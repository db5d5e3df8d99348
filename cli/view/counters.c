/* SPDX-License-Identifier: MIT
 *
 * The counters of a window of time, for the timeline.
 */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "view.h"

enum { PIXELS_DEFAULT = 700, PIXELS_MAX = 4000, TRACKS_MAX = 64 };

/* Writes a number; null for NaN and infinity, which JSON lacks. */
static void write_value(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, ",%.17g", value);
    else
        fputs(",null", out);
}

/* Returns a track without its points. */
static json_t *track_json(const crn_trace *trace, const crn_counter_track *track)
{
    json_t *json = json_object();
    json_object_set_new(json, "name", crn_json_text(trace->keys[track->key]));
    json_object_set_new(json, "count", crn_json_number(track->count));
    if (trace->process_count > 1) {
        const crn_trace_process *process = &trace->processes[track->process];
        json_object_set_new(json, "process", crn_json_text(process->name));
        json_object_set_new(json, "pid", crn_json_number(process->number));
    }
    return json;
}

static void write_points(FILE *out, const crn_counter_point *points, uint32_t count)
{
    fputs("{\"points\":[", out);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%s[%" PRIu64, i ? "," : "", points[i].at);
        write_value(out, points[i].low);
        write_value(out, points[i].high);
        write_value(out, points[i].last);
        putc(']', out);
    }
    putc(']', out);
}

bool crn_view_counters(FILE *out, crn_view *view, const crn_view_query *query)
{
    const crn_view_choice *choice;
    crn_view_window window;
    crn_view_file *file = crn_view_file_chosen(view, query, &choice);
    if (!file || !crn_view_window_of(file, choice, query, PIXELS_DEFAULT, PIXELS_MAX, &window))
        return false;
    const crn_counter_tracks *tracks = file->counters;
    uint32_t shown = tracks->count < TRACKS_MAX ? tracks->count : TRACKS_MAX;
    crn_counter_point *points = crn_calloc((size_t)window.pixels + 1, sizeof *points);
    fprintf(out, "{\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"left_out\":%" PRIu32 ",\"tracks\":[",
            window.from, window.to, tracks->count - shown);
    for (uint32_t i = 0; i < shown; i++) {
        fputs(i ? ",\n" : "\n", out);
        write_points(out, points,
                     crn_counter_draw(tracks, i, window.from, window.to, window.pixels, points));
        crn_json_write_member(out, "track", track_json(file->trace, &tracks->tracks[i]));
        putc('}', out);
    }
    fputs("]}\n", out);
    crn_free(points);
    return true;
}
