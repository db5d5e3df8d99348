/* SPDX-License-Identifier: MIT
 *
 * cairn_profile_missing: computes the time of spans that no child covers, for programs that test
 * themselves. It reads the profile's own capture, as queries do. src/spans computes the same for
 * the tool.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cover.h"
#include "base/memory.h"
#include "base/nesting.h"
#include "base/order.h"
#include "capture/reader.h"
#include "runtime/runtime.h"
#include "runtime/span.h"

/* A span of the capture. */
typedef struct recorded {
    uint64_t start, end; /* clock; `end` 0: still open */
    uint32_t parent;     /* index + 1 of the parent; 0: a root span */
    cairn_block block;
} recorded;

/* The range of a lane's spans in `spans` of all_spans; `number` is the lane's. */
typedef struct lane_part {
    uint32_t number, first, count;
} lane_part;

typedef struct all_spans {
    crn_reader reader;
    lane_part *lanes;
    recorded *spans;
    uint32_t lane_count, count;
} all_spans;

/* ---- reading ---- */

static bool add_lane(all_spans *all, uint32_t number, crn_error *error)
{
    crn_bytes bytes = {0};
    if (!crn_reader_section(&all->reader, CRN_SECTION_SPANS, number, 0, UINT64_MAX, &bytes, error))
        return false;
    const cairn_priv_span *records = (const cairn_priv_span *)bytes.data;
    uint32_t count = 0, most = (uint32_t)(bytes.size / sizeof *records);
    while (count < most && records[count].start)
        count++;
    lane_part *lanes = crn_try_realloc(all->lanes, all->lane_count + 1, sizeof *lanes);
    all->lanes = lanes ? lanes : all->lanes;
    recorded *spans = crn_try_realloc(all->spans, (size_t)all->count + count + 1, sizeof *spans);
    all->spans = spans ? spans : all->spans;
    if (!lanes || !spans) {
        crn_free(bytes.data);
        return crn_error_set(error, CAIRN_E_MEMORY, "no memory");
    }
    lanes[all->lane_count++] = (lane_part){number, all->count, count};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = records[i].parent;
        spans[all->count + i] =
            (recorded){records[i].start, records[i].end,
                       parent && parent <= count ? all->count + parent : 0, records[i].block};
    }
    all->count += count;
    crn_free(bytes.data);
    return true;
}

/* Returns the index + 1 of the span with that name; 0 if no span has it. */
static uint32_t place_of(const all_spans *all, uint64_t name)
{
    uint64_t place = crn_span_name_place(name);
    for (uint32_t i = 0; i < all->lane_count; i++)
        if (all->lanes[i].number == crn_span_name_lane(name))
            return place < all->lanes[i].count ? all->lanes[i].first + (uint32_t)place + 1 : 0;
    return 0;
}

/* Sets the parents of spans that adopted a hand-off. */
static bool add_handoffs(all_spans *all, const lane_part *lane, crn_error *error)
{
    crn_bytes bytes = {0};
    if (!crn_reader_section(&all->reader, CRN_SECTION_DETAILS, lane->number, 0, UINT64_MAX, &bytes,
                            error))
        return false;
    const crn_disk_detail *details = (const crn_disk_detail *)bytes.data;
    for (uint64_t i = 0; i < bytes.size / sizeof *details && details[i].kind; i++)
        if (details[i].kind == CRN_DETAIL_HANDOFF && details[i].span &&
            details[i].span <= lane->count)
            all->spans[lane->first + details[i].span - 1].parent = place_of(all, details[i].value);
    crn_free(bytes.data);
    return true;
}

static bool read_all(all_spans *all, crn_error *error)
{
    for (uint32_t lane = 0; crn_reader_lane(&all->reader, &lane); lane++)
        if (!add_lane(all, lane, error))
            return false;
    for (uint32_t i = 0; i < all->lane_count; i++)
        if (!add_handoffs(all, &all->lanes[i], error))
            return false;
    return true;
}

/* ---- the union of a span's children, and of spans that run inside of it on its lane ---- */

/* A span, and an outer span of which it covers time. */
typedef struct part {
    crn_period period; /* of the inner span; `end` is UINT64_MAX if it is open */
    uint32_t outer;    /* index of the outer span */
} part;

typedef struct part_list {
    const all_spans *all;
    cairn_block block; /* list what covers the spans of this block; 0: root spans */
    part *parts;
    uint32_t count;
} part_list;

static int compare_parts(const void *left, const void *right)
{
    const part *a = left, *b = right;
    return CRN_ORDER(a->outer, b->outer) ?: CRN_ORDER(a->period.start, b->period.start);
}

static bool is_asked(const recorded *span, cairn_block block)
{
    return span->end >= span->start && span->end &&
           (block ? span->block == block : span->parent == 0);
}

static crn_period period_of(const recorded *span)
{
    return (crn_period){span->start, span->end ? span->end : UINT64_MAX};
}

static void add_part(void *to, uint32_t outer, uint32_t inner)
{
    part_list *list = to;
    const recorded *spans = list->all->spans;
    if (is_asked(&spans[outer], list->block))
        list->parts[list->count++] = (part){period_of(&spans[inner]), outer};
}

/* Lists the parts for the spans of the block. A lane has its spans in the order of start, as
 * crn_nesting_add needs. */
static void list_parts(part_list *list, crn_nesting *nesting)
{
    const all_spans *all = list->all;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->spans[i].parent)
            add_part(list, all->spans[i].parent - 1, i);
    for (uint32_t l = 0; l < all->lane_count; l++) {
        const lane_part *lane = &all->lanes[l];
        nesting->height = 0;
        for (uint32_t i = lane->first; i < lane->first + lane->count; i++)
            crn_nesting_add(nesting, i, period_of(&all->spans[i]), add_part, list);
    }
    qsort(list->parts, list->count, sizeof *list->parts, compare_parts);
}

/* Returns how much time of their outer spans the parts cover. The parts are sorted by outer span
 * and start. */
static uint64_t cover(const all_spans *all, const part *parts, uint32_t count)
{
    uint64_t covered = 0, reach = 0;
    for (uint32_t i = 0; i < count; i++) {
        const recorded *outer = &all->spans[parts[i].outer];
        if (!i || parts[i].outer != parts[i - 1].outer)
            reach = 0;
        covered += crn_cover((crn_period){outer->start, outer->end}, parts[i].period, &reach);
    }
    return covered;
}

static cairn_error measure(const all_spans *all, cairn_block block, cairn_missing *missing)
{
    part_list list = {.all = all, .block = block};
    crn_nesting nesting = {0};
    /* Each span is a part of its parent, and crn_nesting_add finds at most two parts a span. */
    list.parts = crn_try_calloc(3 * (size_t)all->count + 1, sizeof *list.parts);
    nesting.open = crn_try_calloc((size_t)all->count + 1, sizeof *nesting.open);
    if (list.parts && nesting.open)
        list_parts(&list, &nesting);
    uint64_t total = 0, covered = cover(all, list.parts, list.count);
    bool failed = !list.parts || !nesting.open;
    crn_free(list.parts);
    crn_free(nesting.open);
    if (failed)
        return CAIRN_E_MEMORY;
    for (uint32_t i = 0; i < all->count; i++)
        if (is_asked(&all->spans[i], block)) {
            total += all->spans[i].end - all->spans[i].start;
            missing->spans++;
        }
    double scale = crn_reader_clock_scale(&all->reader);
    missing->total = (uint64_t)((double)total * scale + 0.5);
    missing->missing = (uint64_t)((double)(total - covered) * scale + 0.5);
    return CAIRN_OK;
}

static cairn_error look(cairn_profile *profile, cairn_block block, cairn_missing *missing)
{
    all_spans all = {0};
    crn_error error = {0};
    if (!crn_profile_is_ready(profile))
        return cairn_profile_status(profile);
    if (!crn_reader_open_file(&all.reader, crn_capture_file(&profile->capture), "the capture",
                              &error))
        return (cairn_error)error.code;
    cairn_error result =
        read_all(&all, &error) ? measure(&all, block, missing) : (cairn_error)error.code;
    all.reader.file = -1; /* the profile keeps the file open */
    crn_reader_close(&all.reader);
    crn_free(all.lanes);
    crn_free(all.spans);
    return result;
}

cairn_error cairn_profile_missing(cairn_profile *profile, cairn_block block, cairn_missing *missing)
{
    if (!missing)
        return CAIRN_E_ARGUMENT;
    *missing = (cairn_missing){0};
    if (!profile || profile->span_policy == CAIRN_SPANS_KEEP_LAST)
        return CAIRN_E_ARGUMENT;
    int saved = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    cairn_error error = look(profile, block, missing);
    pthread_setcancelstate(cancelling, NULL);
    errno = saved;
    return error;
}
