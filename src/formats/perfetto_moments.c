/* SPDX-License-Identifier: MIT
 *
 * Events and log lines of a Perfetto trace, and the off-core times of threads.
 */
#include <cairn/span.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/perfetto.h"

typedef Perfetto__Protos__TrackEvent track_event;
typedef Perfetto__Protos__DebugAnnotation annotation;

static void put(crn_perfetto *perfetto, track_event *event, Perfetto__Protos__TrackEvent__Type type,
                uint64_t track, uint64_t time)
{
    event->type = type;
    event->track_uuid = track;
    crn_perfetto_put_event(perfetto, event, time);
}

/* Writes an event with a name and, unless `value` is NULL, that text as its only annotation. */
static void put_named(crn_perfetto *perfetto, Perfetto__Protos__TrackEvent__Type type,
                      uint64_t track, uint64_t time, const char *name, uint64_t key,
                      const char *value)
{
    track_event event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
    annotation about = PERFETTO__PROTOS__DEBUG_ANNOTATION__INIT, *list = &about;
    uint64_t category = CRN_PERFETTO_SPAN;
    char *shown = crn_text_copy(name, false), *text = value ? crn_text_copy(value, false) : NULL;
    event.name = shown;
    event.n_category_iids = 1;
    event.category_iids = &category;
    if (text) {
        about.has_name_iid = true;
        about.name_iid = key;
        about.value_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__VALUE_STRING_VALUE;
        about.string_value = text;
        event.n_debug_annotations = 1;
        event.debug_annotations = &list;
    }
    put(perfetto, &event, type, track, time);
    crn_free(shown);
    crn_free(text);
}

void crn_perfetto_put_events(crn_perfetto *perfetto)
{
    const crn_trace *trace = perfetto->timeline->trace;
    for (uint32_t e = 0; e < trace->event_count; e++) {
        const crn_span_event *its = &trace->events[e];
        uint64_t row = crn_perfetto_row(perfetto->timeline->row[its->span]);
        put_named(perfetto, PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT, row, its->at,
                  its->text, CRN_PERFETTO_LEVEL, its->level ? crn_level_name(its->level) : NULL);
    }
}

static void put_slice(crn_perfetto *perfetto, const crn_off_core *its, const char *name,
                      uint64_t from, uint64_t to)
{
    const crn_trace *trace = perfetto->timeline->trace;
    const char *by = its->woken_by < trace->lane_count ? trace->lanes[its->woken_by] : NULL;
    uint64_t track = crn_perfetto_off_core(its->lane);
    track_event end = PERFETTO__PROTOS__TRACK_EVENT__INIT;
    if (to <= from)
        return;
    put_named(perfetto, PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, track, from, name,
              CRN_PERFETTO_WOKEN_BY, by);
    put(perfetto, &end, PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END, track, to);
}

void crn_perfetto_put_off_core(crn_perfetto *perfetto)
{
    const crn_trace *trace = perfetto->timeline->trace;
    for (uint32_t o = 0; o < trace->off_core_count; o++) {
        const crn_off_core *its = &trace->off_core[o];
        uint64_t length = its->end - its->begin;
        if (its->waiting + its->ready != length) {
            put_slice(perfetto, its, "at times no core", its->begin, its->end);
            continue;
        }
        put_slice(perfetto, its, "waiting", its->begin, its->begin + its->waiting);
        put_slice(perfetto, its, "ready, no core free", its->begin + its->waiting, its->end);
    }
}
