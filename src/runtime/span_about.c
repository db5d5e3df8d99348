/* SPDX-License-Identifier: MIT
 *
 * Attributes of spans, edges to other spans, counters, and events.
 */
#include <string.h>

#include "runtime/span.h"

static void add_attribute(cairn_strand *strand, crn_detail_kind kind, cairn_key key, uint64_t value)
{
    uint32_t number = crn_spans_innermost(strand);
    if (number && key < CAIRN_KEY_MAX)
        crn_spans_put_detail(crn_lane_of(strand), (crn_disk_detail){.span = number,
                                                                    .kind = (uint16_t)kind,
                                                                    .key = (uint16_t)key,
                                                                    .value = value});
}

void cairn_span_integer(cairn_strand *strand, cairn_key key, int64_t value)
{
    add_attribute(strand, CRN_DETAIL_INTEGER, key, (uint64_t)value);
    if (strand && strand->timings)
        crn_timing_attribute(strand, CRN_HISTOGRAM_INTEGER, key, (uint64_t)value, NULL);
}

void cairn_span_number(cairn_strand *strand, cairn_key key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_attribute(strand, CRN_DETAIL_NUMBER, key, bits);
    if (strand && strand->timings)
        crn_timing_attribute(strand, CRN_HISTOGRAM_NUMBER, key, bits, NULL);
}

/* Adds a text as details of 16 bytes. The first detail is `first`, the others are of kind MORE. */
static void put_text(cairn_strand *strand, crn_disk_detail first, const char *value, size_t length)
{
    do {
        char bytes[16] = {0};
        size_t part = length < sizeof bytes ? length : sizeof bytes;
        memcpy(bytes, value, part);
        memcpy(&first.value, bytes, 8);
        memcpy(&first.more, bytes + 8, 8);
        crn_spans_put_detail(crn_lane_of(strand), first);
        value += part;
        length -= part;
        first.kind = CRN_DETAIL_MORE;
    } while (length);
}

void cairn_span_text(cairn_strand *strand, cairn_key key, const char *value)
{
    if (!strand || key >= CAIRN_KEY_MAX || !value)
        return;
    size_t length = strnlen(value, CAIRN_TEXT_MAX);
    uint32_t number = crn_spans_innermost(strand);
    if (number)
        put_text(strand,
                 (crn_disk_detail){.span = number, .kind = CRN_DETAIL_TEXT, .key = (uint16_t)key},
                 value, length);
    if (strand->timings)
        crn_timing_attribute(strand, CRN_HISTOGRAM_TEXT, key, length, value);
}

/* Reads the first bytes of a stored text. Locks, because strings move when a thread adds to
 * them. */
static size_t read_name(cairn_profile *profile, cairn_text text, char bytes[CRN_HISTOGRAM_TEXT_MAX])
{
    crn_profile_lock(profile);
    const char *at = profile->strings.base + text;
    size_t length = strnlen(at, CRN_HISTOGRAM_TEXT_MAX);
    memcpy(bytes, at, length);
    crn_profile_unlock(profile);
    return length;
}

void cairn_span_name(cairn_strand *strand, cairn_key key, cairn_text text)
{
    char bytes[CRN_HISTOGRAM_TEXT_MAX];
    add_attribute(strand, CRN_DETAIL_NAME, key, text);
    if (!strand || !strand->timings || key >= CAIRN_KEY_MAX)
        return;
    size_t length = read_name(crn_lane_of(strand)->profile, text, bytes);
    crn_timing_attribute(strand, CRN_HISTOGRAM_TEXT, key, length, bytes);
}

/* Adds an edge with the present moment, which is the end of a wait. */
static void add_edge(cairn_strand *strand, crn_detail_kind kind, cairn_span other)
{
    uint32_t number = other ? crn_spans_innermost(strand) : 0;
    if (number)
        crn_spans_put_detail(crn_lane_of(strand),
                             (crn_disk_detail){.span = number,
                                               .kind = (uint16_t)kind,
                                               .value = other,
                                               .more = crn_spans_stamp(crn_lane_of(strand))});
}

void cairn_span_waits_for(cairn_strand *strand, cairn_span other)
{
    add_edge(strand, CRN_DETAIL_WAITS, other);
}

void cairn_span_follows(cairn_strand *strand, cairn_span other)
{
    add_edge(strand, CRN_DETAIL_FOLLOWS, other);
}

/* ---- what happens at a moment ---- */

/* Returns the span that an event belongs to; 0 before the first span and while recording is off. */
static uint32_t span_now(const cairn_strand *strand)
{
    const cairn_lane *lane = crn_lane_of(strand);
    if (crn_profile_mode(lane->profile) == CRN_MODE_OFF)
        return 0;
    uint32_t number = crn_spans_innermost(strand);
    return number ? number : lane->spans.chunks ? lane->graph.hot.spans.used : 0;
}

void cairn_counter_set(cairn_strand *strand, cairn_key key, double value)
{
    uint32_t number = strand && key < CAIRN_KEY_MAX ? span_now(strand) : 0;
    if (!number)
        return;
    crn_disk_detail detail = {.span = number,
                              .kind = CRN_DETAIL_COUNTER,
                              .key = (uint16_t)key,
                              .more = crn_spans_stamp(crn_lane_of(strand))};
    memcpy(&detail.value, &value, sizeof value);
    crn_spans_put_detail(crn_lane_of(strand), detail);
}

/* Records an event. Returns the number of its span; 0 if it is not recorded. */
static uint32_t put_event(cairn_strand *strand, cairn_level level, cairn_text text)
{
    uint32_t number = span_now(strand);
    if (number)
        crn_spans_put_detail(crn_lane_of(strand),
                             (crn_disk_detail){.span = number,
                                               .kind = CRN_DETAIL_EVENT,
                                               .key = (uint16_t)level,
                                               .value = crn_spans_stamp(crn_lane_of(strand)),
                                               .more = text});
    return number;
}

void cairn_event_add(cairn_strand *strand, cairn_text text)
{
    if (strand && text)
        put_event(strand, CAIRN_LEVEL_NONE, text);
}

void cairn_log_add(cairn_strand *strand, cairn_level level, const char *line)
{
    uint32_t number = strand && line ? put_event(strand, level, CAIRN_TEXT_NONE) : 0;
    if (number)
        put_text(strand, (crn_disk_detail){.span = number, .kind = CRN_DETAIL_MORE}, line,
                 strnlen(line, CAIRN_TEXT_MAX));
}
