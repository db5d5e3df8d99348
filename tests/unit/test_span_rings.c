/* SPDX-License-Identifier: MIT
 *
 * test_span_rings.c - captures with invalid rings of spans: forged heads, truncated parts, bytes
 * shared by lanes.
 */
#include <stdlib.h>

#include "support/cases.h"
#include "support/hostile.h"
#include "support/span_readers.h"

/* Adds a directory with lanes whose rings all share the same bytes, which are zero. All rings
 * together have about twice the size of the file, which varies: it depends on how much space the
 * writer's helper had prepared. */
static void repeat_ring(const char *path)
{
    enum { LANES = 16 };
    crn_disk_header header;
    crn_disk_directory last, added = {.count = 2 * LANES, .capacity = 2 * LANES};
    crn_disk_chunk chunks[2 * LANES];
    transfer(path, 0, &header, sizeof header, false);
    uint64_t size = header.size / 8 / CRN_PAGE * CRN_PAGE + (1 << 18);
    void *nothing = calloc(size, 1);
    transfer(path, header.size, nothing, size, true);
    for (uint32_t i = 0; i < 2 * LANES; i++)
        chunks[i] = (crn_disk_chunk){.kind = i % 2 ? CRN_SECTION_SPAN_RING : CRN_SECTION_LANE,
                                     .lane = 10 + i / 2,
                                     .offset = header.size,
                                     .size = size};
    transfer(path, header.size + size, &added, sizeof added, true);
    transfer(path, header.size + size + sizeof added, chunks, sizeof chunks, true);
    uint64_t at = header.directory;
    for (transfer(path, at, &last, sizeof last, false); last.next;
         transfer(path, at, &last, sizeof last, false))
        at = last.next;
    last.next = header.size + size;
    transfer(path, at, &last, sizeof last, true);
    free(nothing);
}

static void rings_that_are_more_than_the_file(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    crn_error error = {0};
    difference found;
    repeat_ring(fresh(path, CAIRN_SPANS_KEEP_LAST));
    assert_null(crn_trace_load(path, &error));
    assert_int_equal(error.code, CAIRN_E_FORMAT);
    if (!span_readers_agree(path, NULL, &found))
        fail_msg("%s", found.text);
}

static void a_ring_is_read(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_LAST);
    crn_trace *trace = trace_of(path);
    assert_int_equal(trace->span_count, SPANS + 1);
    assert_int_equal(trace->spans[3].parent, 0);
    assert_int_equal(trace->spans[SPANS].parent, 0);
    assert_int_equal(trace->edge_count, 1);
    assert_int_equal(trace->dangling, 0);
    crn_trace_free(trace);
}

/* A part that is unused, or whose numbers are impossible, is ignored. */
static void rings_that_were_made_up(void **state)
{
    (void)state;
    static const struct {
        uint64_t part;
        uint32_t half, before;
        uint32_t spans;   /* spans of lane 0 in the file */
        uint32_t orphans; /* on both lanes */
    } heads[] = {
        {1, 0, 0, 0, 1},
        {1, UINT32_MAX, 0, 0, 1},
        {0, 1 << 15, 0, 0, 1},
        {UINT64_MAX, 1 << 15, 0, SPANS, 3 + 1},
        {1 << 15 | 1, 1 << 15, 0, SPANS, 3 + 1}, /* half a round later: parents are before it */
        {2, 1, 0, SPANS, 3 + 1},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        char path[SCRATCH_PATH];
        fresh(path, CAIRN_SPANS_KEEP_LAST);
        uint64_t offset = offset_of(path, CRN_SECTION_SPAN_RING, 0);
        crn_disk_ring ring = {0, heads[i].part, heads[i].half, heads[i].before};
        transfer(path, offset, &ring, sizeof ring, true);
        crn_trace *trace = trace_of(path);
        assert_int_equal(trace->span_count, heads[i].spans + 1);
        uint32_t orphans = 0;
        for (uint32_t s = 0; s < trace->span_count; s++)
            orphans += trace->spans[s].orphaned;
        assert_int_equal(orphans, heads[i].orphans);
        crn_trace_free(trace);
    }
}

static void details_of_another_time_are_of_nothing(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_LAST);
    uint64_t offset = offset_of(path, CRN_SECTION_DETAIL_RING, 1);
    crn_disk_ring ring = {0, 1, 1 << 15, 4};
    transfer(path, offset, &ring, sizeof ring, true);
    crn_trace *trace = trace_of(path);
    assert_int_equal(trace->edge_count, 0);
    assert_int_equal(trace->spans[SPANS].parent, CRN_SPAN_NONE);
    crn_trace_free(trace);
}

/* The section of a lane has so many bytes. */
static void cut_section(const char *path, crn_section_kind kind, uint32_t lane, uint64_t size)
{
    crn_disk_header header;
    crn_disk_directory directory;
    transfer(path, 0, &header, sizeof header, false);
    transfer(path, header.directory, &directory, sizeof directory, false);
    for (uint32_t i = 0; i < directory.count; i++) {
        uint64_t at = header.directory + sizeof directory + i * sizeof(crn_disk_chunk);
        crn_disk_chunk chunk;
        transfer(path, at, &chunk, sizeof chunk, false);
        if (chunk.lane == lane && chunk.kind == kind)
            chunk.size = size;
        transfer(path, at, &chunk, sizeof chunk, true);
    }
}

/* The space fits a head but not the span that it replaces. */
static void a_ring_that_is_cut_short_has_whole_spans(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_LAST);
    for (uint64_t size = 4 * sizeof(cairn_priv_span); size-- > 0;) {
        uint64_t items = size / sizeof(cairn_priv_span);
        cut_section(path, CRN_SECTION_SPAN_RING, 0, size);
        crn_trace *trace = trace_of(path);
        assert_int_equal(trace->span_count, (items ? items - 1 : 0) + 1);
        crn_trace_free(trace);
    }
}

static void details_that_are_cut_short_are_whole_ones(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    fresh(path, CAIRN_SPANS_KEEP_LAST);
    for (uint64_t size = 4 * sizeof(crn_disk_detail); size-- > 0;) {
        uint64_t items = size / sizeof(crn_disk_detail);
        cut_section(path, CRN_SECTION_DETAIL_RING, 0, size);
        crn_trace *trace = trace_of(path);
        assert_int_equal(trace->attribute_count, items ? items - 1 : 0);
        crn_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_that_are_more_than_the_file),
        cmocka_unit_test(a_ring_is_read),
        cmocka_unit_test(rings_that_were_made_up),
        cmocka_unit_test(details_of_another_time_are_of_nothing),
        cmocka_unit_test(a_ring_that_is_cut_short_has_whole_spans),
        cmocka_unit_test(details_that_are_cut_short_are_whole_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
