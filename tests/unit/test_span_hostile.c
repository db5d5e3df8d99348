/* SPDX-License-Identifier: MIT
 *
 * test_span_hostile.c - captures with invalid spans: clocks that go back or differ between lanes,
 * missing begins or ends, invalid names, forged histograms. Each has a defined result.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/hostile.h"
#include "support/span_readers.h"

/* ---- clocks ---- */

static void a_clock_that_goes_back_makes_a_span_of_no_time(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_FIRST);
    CHANGE(path, CRN_SECTION_SPANS, 0, 1, cairn_priv_span, span)
    {
        span->end = span->start - 1000;
    }
    CHANGE(path, CRN_SECTION_SPANS, 0, 5, cairn_priv_span, span)
    {
        span->start = 1; /* before the capture began: when it began */
    }
    CHANGE(path, CRN_SECTION_SPANS, 0, 6, cairn_priv_span, span)
    {
        span->start = span->end = UINT64_MAX; /* some 100 years on: 146 at most */
    }
    crn_trace *trace = trace_of(path);
    assert_int_equal(trace->span_count, SPANS + 1);
    assert_int_equal(trace->spans[1].end, trace->spans[1].start);
    assert_int_equal(trace->spans[1].parent, 0);
    assert_int_equal(trace->spans[5].start, 0);
    assert_true(trace->spans[6].end <= (uint64_t)1 << 62);
    crn_trace_free(trace);
}

/* Another lane's clock is behind: its span begins before the one that asked for it. It stays that
 * one's child, and counts as far as it lies within. */
static void lanes_whose_clocks_differ(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_FIRST);
    CHANGE(path, CRN_SECTION_SPANS, 1, 0, cairn_priv_span, span)
    {
        span->end -= span->start / 2;
        span->start -= span->start / 2;
    }
    crn_trace *trace = trace_of(path);
    const crn_span *handed = &trace->spans[SPANS];
    assert_int_equal(handed->parent, 0);
    assert_true(handed->handed_off && handed->end <= trace->spans[0].start);
    crn_spans *spans = crn_spans_make(trace, 4);
    uint64_t children = 0;
    for (uint32_t s = 1; s <= 3; s++)
        children += crn_span_duration(spans, s);
    assert_int_equal(crn_span_duration(spans, 0) - crn_span_self(spans, 0), children);
    crn_spans_free(spans);
    crn_trace_free(trace);
}

/* ---- begins and ends ---- */

static void a_span_that_never_ends_is_open_to_the_last_moment(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_FIRST);
    CHANGE(path, CRN_SECTION_SPANS, 0, 2, cairn_priv_span, span)
    {
        span->end = 0;
    }
    crn_trace *trace = trace_of(path);
    assert_true(trace->spans[2].open);
    assert_int_equal(trace->spans[2].end, trace->length);
    crn_trace_free(trace);
}

/* A begin is stored last, so an end without one, and all after it, was never written. */
static void an_end_without_a_begin_ends_the_lane(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_FIRST);
    CHANGE(path, CRN_SECTION_SPANS, 0, 4, cairn_priv_span, span)
    {
        span->start = 0;
    }
    crn_trace *trace = trace_of(path);
    assert_int_equal(trace->span_count, 4 + 1);
    assert_int_equal(trace->spans[4].block, 3);
    crn_trace_free(trace);
}

/* ---- names of nothing ---- */

static void parents_that_are_not_there(void **state)
{
    (void)state;
    static const uint32_t parents[] = {2, 3, 1000, 0x7ffffffe, 0x80000000u, UINT32_MAX};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        char path[SCRATCH_PATH];
        fresh(path, CAIRN_SPANS_KEEP_FIRST);
        CHANGE(path, CRN_SECTION_SPANS, 0, 1, cairn_priv_span, span)
        {
            span->parent = parents[i]; /* itself, a later one, none */
        }
        CHANGE(path, CRN_SECTION_SPANS, 0, 2, cairn_priv_span, span)
        {
            span->parent = CRN_SPAN_GONE;
            span->block = UINT32_MAX;
            span->iteration = INT64_MAX;
        }
        crn_trace *trace = trace_of(path);
        assert_int_equal(trace->spans[1].parent, CRN_SPAN_NONE);
        assert_int_equal(trace->spans[2].parent, CRN_SPAN_NONE);
        assert_true(trace->spans[2].orphaned && !trace->spans[1].orphaned);
        assert_true(trace->spans[2].iteration == INT64_MAX);
        crn_trace_free(trace);
    }
}

static void edges_that_lead_nowhere(void **state)
{
    (void)state;
    const uint64_t names[] = {0,
                              1,
                              crn_span_name_make(0, SPANS),
                              crn_span_name_make(7, 0),
                              crn_span_name_make(0xffffe, 0),
                              crn_span_name_make(0, (uint64_t)1 << 32),
                              crn_span_name_make(1, 0), /* itself */
                              UINT64_MAX};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[SCRATCH_PATH];
        fresh(path, CAIRN_SPANS_KEEP_FIRST);
        for (uint64_t d = 0; d < 2; d++) { /* the hand-off and the wait */
            CHANGE(path, CRN_SECTION_DETAILS, 1, d, crn_disk_detail, detail)
            {
                detail->value = names[i];
            }
        }
        crn_trace *trace = trace_of(path);
        assert_int_equal(trace->dangling, 2);
        assert_int_equal(trace->edge_count, 0);
        assert_int_equal(trace->spans[SPANS].parent, CRN_SPAN_NONE);
        assert_true(trace->spans[SPANS].orphaned);
        crn_trace_free(trace);
    }
}

static void details_of_nothing(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_FIRST);
    CHANGE(path, CRN_SECTION_DETAILS, 1, 0, crn_disk_detail, detail)
    {
        detail->span = 2; /* there is one */
    }
    CHANGE(path, CRN_SECTION_DETAILS, 1, 1, crn_disk_detail, detail)
    {
        detail->kind = CRN_DETAIL_WEIGHT;
        detail->value = 0x7ff8000000000000; /* not a number */
    }
    crn_trace *trace = trace_of(path);
    assert_int_equal(trace->dangling, 1);
    assert_int_equal(trace->weight_count, 0);
    crn_trace_free(trace);
    CHANGE(path, CRN_SECTION_DETAILS, 1, 1, crn_disk_detail, detail)
    {
        detail->kind = CRN_DETAIL_CPU;
        detail->value = UINT64_MAX;
    }
    trace = trace_of(path);
    assert_true(trace->cpu[SPANS] <= (uint64_t)1 << 62);
    assert_true(trace->cpu[0] == UINT64_MAX);
    crn_trace_free(trace);
}

/* A span has one requester and one weight: the last ones. */
static void the_last_of_repeated_details_is_valid(void **state)
{
    (void)state;
    static const double weights[] = {4, 9};
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_FIRST);
    for (uint64_t d = 0; d < 2; d++) {
        CHANGE(path, CRN_SECTION_DETAILS, 1, d, crn_disk_detail, detail)
        {
            detail->kind = CRN_DETAIL_HANDOFF;
            detail->value = crn_span_name_make(0, 4 + d);
            detail->more += d;
        }
    }
    uint64_t taken = changed.item.detail.more;
    for (uint64_t d = 0; d < 2; d++) {
        CHANGE(path, CRN_SECTION_DETAILS, 0, d, crn_disk_detail, detail)
        {
            *detail = (crn_disk_detail){.span = 8, .kind = CRN_DETAIL_WEIGHT};
            memcpy(&detail->value, &weights[d], sizeof weights[d]);
        }
    }
    crn_trace *trace = trace_of(path);
    assert_int_equal(trace->spans[SPANS].parent, 5);
    assert_int_equal(trace->handoff_count, 1);
    assert_int_equal(trace->weight_count, 1);
    assert_true(trace->weights[0].weight == 9);
    uint64_t last = trace->handoffs[0].taken;
    crn_trace_free(trace);
    CHANGE(path, CRN_SECTION_DETAILS, 1, 0, crn_disk_detail, detail)
    {
        detail->kind = CRN_DETAIL_STRAND; /* so there is one */
        assert_true(detail->more != taken);
    }
    trace = trace_of(path);
    assert_int_equal(trace->handoffs[0].taken, last);
    crn_trace_free(trace);
}

/* Gives the sections of a lane, or only those of one kind, to another lane. */
static void renumber_lane(const char *path, crn_section_kind kind, uint32_t from, uint32_t to)
{
    crn_disk_header header;
    crn_disk_directory directory;
    transfer(path, 0, &header, sizeof header, false);
    transfer(path, header.directory, &directory, sizeof directory, false);
    assert_int_equal(directory.next, 0);
    for (uint32_t i = 0; i < directory.count; i++) {
        uint64_t at = header.directory + sizeof directory + i * sizeof(crn_disk_chunk);
        crn_disk_chunk chunk;
        transfer(path, at, &chunk, sizeof chunk, false);
        if (chunk.lane == from && (!kind || chunk.kind == kind))
            chunk.lane = to;
        transfer(path, at, &chunk, sizeof chunk, true);
    }
}

/* A name has 20 bits for the lane. Lanes with higher numbers have no names; their numbers are not
 * truncated, and the upper bits of a name do not belong to the lane. */
static void lanes_without_names(void **state)
{
    (void)state;
    static const struct {
        uint32_t lane;
        uint64_t name;
        bool named;
    } cases[] = {
        {0xffffe, UINT64_C(0xfffff) << 32 | 1, true},
        {0xfffff, UINT64_C(0x100000) << 32 | 1, false},
        {0x100000, UINT64_C(0x100001) << 32 | 1, false},
        {0x100001, UINT64_C(0x2) << 32 | 1, false},
        {UINT32_MAX, 1, false},
        {UINT32_MAX, UINT64_C(0x100000) << 32 | 1, false},
        {1, UINT64_C(0x100002) << 32 | 1, false}, /* place 2^32 of lane 1 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[SCRATCH_PATH];
        fresh(path, CAIRN_SPANS_KEEP_FIRST);
        CHANGE(path, CRN_SECTION_DETAILS, 0, 0, crn_disk_detail, detail)
        {
            *detail =
                (crn_disk_detail){.span = 8, .kind = CRN_DETAIL_FOLLOWS, .value = cases[i].name};
        }
        renumber_lane(path, 0, 1, cases[i].lane);
        crn_trace *trace = trace_of(path);
        assert_int_equal(trace->lane_count, 2);
        assert_int_equal(trace->edge_count, 1 + cases[i].named);
        assert_int_equal(trace->dangling, !cases[i].named);
        crn_trace_free(trace);
    }
}

/* Two spans that asked for each other: one edge is cut. The span is still marked as handed off. */
static void a_circle_is_cut_once(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_FIRST);
    CHANGE(path, CRN_SECTION_DETAILS, 0, 0, crn_disk_detail, detail)
    {
        *detail = (crn_disk_detail){.span = 1,
                                    .kind = CRN_DETAIL_HANDOFF,
                                    .value = crn_span_name_make(1, 0),
                                    .more = UINT64_MAX};
    }
    crn_trace *trace = trace_of(path);
    assert_int_equal(trace->spans[0].parent, SPANS);
    assert_int_equal(trace->spans[SPANS].parent, CRN_SPAN_NONE);
    assert_true(trace->spans[0].handed_off && trace->spans[SPANS].handed_off);
    assert_int_equal(trace->dangling, 1);
    assert_int_equal(trace->handoff_count, 2);
    crn_trace_free(trace);
}

/* The rest of the directory becomes chunks of a section of lane 1, each as much as the file. There
 * are no other spans and details. */
static void repeat_file(const char *path, crn_section_kind kind, uint64_t offset)
{
    crn_disk_header header;
    crn_disk_directory directory;
    for (uint32_t lane = 0; lane < 2; lane++) {
        renumber_lane(path, CRN_SECTION_SPANS, lane, 7);
        renumber_lane(path, CRN_SECTION_DETAILS, lane, 7);
    }
    transfer(path, 0, &header, sizeof header, false);
    transfer(path, header.directory, &directory, sizeof directory, false);
    crn_disk_chunk chunk = {
        .kind = (uint16_t)kind, .lane = 1, .offset = offset, .size = header.size - offset};
    for (; directory.count < directory.capacity; directory.count++) {
        uint64_t at = header.directory + sizeof directory + directory.count * sizeof chunk;
        transfer(path, at, &chunk, sizeof chunk, true);
        chunk.place += chunk.size;
    }
    transfer(path, header.directory, &directory, sizeof directory, true);
}

/* Bytes of a file belong to one lane; sections that claim the same bytes for several lanes are
 * refused. */
static void sections_that_are_more_than_the_file(void **state)
{
    (void)state;
    static const crn_section_kind kinds[] = {CRN_SECTION_SPANS, CRN_SECTION_DETAILS};
    for (int k = 0; k < 2; k++)
        for (uint64_t offset = 0; offset < 2; offset++) {
            char path[SCRATCH_PATH];
            crn_error error = {0};
            difference found;
            repeat_file(fresh(path, CAIRN_SPANS_KEEP_FIRST), kinds[k], offset);
            assert_null(crn_trace_load(path, &error));
            assert_int_equal(error.code, CAIRN_E_FORMAT);
            if (!span_readers_agree(path, NULL, &found))
                fail_msg("%s", found.text);
        }
}

/* As many texts as the table has bytes, most of them long. */
static void no_text_begins_within_another(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    crn_error error;
    fresh(path, CAIRN_SPANS_KEEP_FIRST);
    for (uint32_t within = 0; within < 2; within++) {
        CHANGE(path, CRN_SECTION_KEYS, 0, 0, crn_disk_key, key)
        {
            key->name += within;
        }
        CHANGE(path, CRN_SECTION_BLOCKS, 0, 1, crn_disk_block, block)
        {
            block->name += within;
        }
        crn_trace *trace = trace_of(path);
        assert_string_equal(trace->keys[0], within ? "" : "key");
        crn_trace_free(trace);
        crn_spreads *spreads = crn_spreads_load(path, &error);
        assert_string_equal(spreads->keys[0], within ? "" : "key");
        crn_spreads_free(spreads);
        crn_profile *profile = crn_profile_load(path, &error);
        assert_int_equal(!*profile->blocks[1].name, within);
        crn_profile_free(profile);
    }
}

/* ---- histograms ---- */

static crn_spreads *spreads_of(const char *path)
{
    crn_error error = {0};
    crn_spreads *spreads = crn_spreads_load(path, &error);
    assert_non_null(spreads);
    return spreads;
}

static void histograms_that_were_made_up(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_FIRST);
    crn_spreads *spreads = spreads_of(path);
    assert_int_equal(spreads->count, 3);
    assert_int_equal(spreads->all[0].count, 5);
    crn_spreads_free(spreads);
    CHANGE(path, CRN_SECTION_HISTOGRAMS, 0, 0, crn_disk_histogram, histogram)
    {
        histogram->kind = CRN_HISTOGRAM_TEXT;
        histogram->key = 1; /* there is only one */
    }
    CHANGE(path, CRN_SECTION_HISTOGRAMS, 0, 1, crn_disk_histogram, histogram)
    {
        histogram->min = UINT64_MAX;
        histogram->max = 1;
        histogram->self = UINT64_MAX;
        histogram->total = 5;
        histogram->cpu_count = UINT64_MAX;
        memset(histogram->buckets, 0xff, sizeof histogram->buckets);
    }
    spreads = spreads_of(path);
    assert_int_equal(spreads->count, 2);
    for (uint32_t s = 0; s < spreads->count; s++) {
        const crn_spread *spread = &spreads->all[s];
        assert_true(spread->self <= spread->total && spread->min <= spread->max &&
                    spread->cpu_count <= spread->count);
        uint64_t median = crn_spread_at(spread, 0.5);
        assert_true(median >= spread->min && median <= spread->max);
    }
    crn_spreads_free(spreads);
    CHANGE(path, CRN_SECTION_HISTOGRAMS, 0, 0, crn_disk_histogram, histogram)
    {
        histogram->state = 0; /* neither are those behind it */
    }
    spreads = spreads_of(path);
    assert_int_equal(spreads->count, 1);
    crn_spreads_free(spreads);
}

/* Sums beyond 64 bits do not wrap around. */
static void histograms_that_add_up_to_more_than_there_is(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_FIRST);
    CHANGE(path, CRN_SECTION_HISTOGRAMS, 0, 0, crn_disk_histogram, histogram)
    {
        histogram->block = 1;
        histogram->total = UINT64_MAX;
        histogram->self = (uint64_t)1 << 60;
        histogram->cpu_count = UINT64_MAX;
        histogram->buckets[100] = histogram->buckets[200] = UINT64_MAX / 4;
    }
    crn_spreads *spreads = spreads_of(path), *more = spreads_of(path);
    const uint32_t blocks[] = {0, 1, 2, 3}, keys[] = {0};
    const crn_spread *spread = &spreads->all[0];
    for (int i = 0; i < 8; i++) {
        uint64_t count = spread->count, total = spread->total;
        crn_spreads_add(spreads, more, blocks, keys);
        spread = &spreads->all[0];
        assert_true(spread->count >= count && spread->total >= total);
        assert_true(spread->self <= spread->total && spread->cpu_count <= spread->count);
        assert_true(crn_spread_at(spread, 0.5) <= crn_spread_at(spread, 1));
    }
    assert_true(spread->count == UINT64_MAX && spread->total == UINT64_MAX);
    crn_spreads_free(more);
    crn_spreads_free(spreads);
}

/* ---- very much of it ---- */

/* Items of size 0 stand for more items than there is memory for. */
static void counts_grow_up_to_the_limit_of_numbers(void **state)
{
    (void)state;
    uint32_t count = 0;
    struct {
    } *array = NULL;
    while (count < UINT32_MAX) {
        uint32_t before = count;
        CRN_GROW(array, count, count);
        assert_true(count > before);
    }
    crn_free(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_that_goes_back_makes_a_span_of_no_time),
        cmocka_unit_test(lanes_whose_clocks_differ),
        cmocka_unit_test(a_span_that_never_ends_is_open_to_the_last_moment),
        cmocka_unit_test(an_end_without_a_begin_ends_the_lane),
        cmocka_unit_test(parents_that_are_not_there),
        cmocka_unit_test(edges_that_lead_nowhere),
        cmocka_unit_test(details_of_nothing),
        cmocka_unit_test(the_last_of_repeated_details_is_valid),
        cmocka_unit_test(lanes_without_names),
        cmocka_unit_test(a_circle_is_cut_once),
        cmocka_unit_test(sections_that_are_more_than_the_file),
        cmocka_unit_test(no_text_begins_within_another),
        cmocka_unit_test(histograms_that_were_made_up),
        cmocka_unit_test(histograms_that_add_up_to_more_than_there_is),
        cmocka_unit_test(counts_grow_up_to_the_limit_of_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
