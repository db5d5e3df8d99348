/* SPDX-License-Identifier: MIT
 *
 * Attributes of spans, edges to other spans, and counters.
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

static void put_text(cairn_strand *strand, cairn_key key, const char *value, size_t length)
{
    uint32_t number = crn_spans_innermost(strand);
    crn_detail_kind kind = CRN_DETAIL_TEXT;
    while (number) {
        crn_disk_detail detail = {.span = number, .kind = (uint16_t)kind, .key = (uint16_t)key};
        char bytes[16] = {0};
        size_t part = length < sizeof bytes ? length : sizeof bytes;
        memcpy(bytes, value, part);
        memcpy(&detail.value, bytes, 8);
        memcpy(&detail.more, bytes + 8, 8);
        crn_spans_put_detail(crn_lane_of(strand), detail);
        value += part;
        length -= part;
        kind = CRN_DETAIL_MORE;
        if (!length)
            return;
    }
}

void cairn_span_text(cairn_strand *strand, cairn_key key, const char *value)
{
    if (!strand || key >= CAIRN_KEY_MAX || !value)
        return;
    size_t length = strnlen(value, CAIRN_TEXT_MAX);
    put_text(strand, key, value, length);
    if (strand->timings)
        crn_timing_attribute(strand, CRN_HISTOGRAM_TEXT, key, length, value);
}

/* Reads the first bytes of a name. The strings may move while another thread adds to them. */
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

/* Adds an edge with the present moment, which for a wait is its end. */
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

/* Returns the span that a counter belongs to; 0 if there is none. */
static uint32_t span_of_counter(const cairn_strand *strand)
{
    uint32_t number = crn_spans_innermost(strand);
    const cairn_lane *lane = crn_lane_of(strand);
    return number ? number : lane->spans.chunks ? lane->graph.hot.spans.used : 0;
}

void cairn_counter_set(cairn_strand *strand, cairn_key key, double value)
{
    if (!strand || key >= CAIRN_KEY_MAX ||
        crn_profile_mode(crn_lane_of(strand)->profile) == CRN_MODE_OFF)
        return;
    uint32_t number = span_of_counter(strand);
    if (!number)
        return;
    crn_disk_detail detail = {.span = number,
                              .kind = CRN_DETAIL_COUNTER,
                              .key = (uint16_t)key,
                              .more = crn_spans_stamp(crn_lane_of(strand))};
    memcpy(&detail.value, &value, sizeof value);
    crn_spans_put_detail(crn_lane_of(strand), detail);
}
