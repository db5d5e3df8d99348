/* SPDX-License-Identifier: MIT
 *
 * test_live_between.c - a program records between two reads of a reader, or within a read. Each
 * case runs once for each such moment, so the result depends on no clock.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cairn/host.h>
#include <cairn/span.h>

#include "capture/reader.h"
#include "profile/lanes.h"
#include "profile/live.h"
#include "profile/metric.h"
#include "profile/profile.h"
#include "profile/spread.h"
#include "runtime/runtime.h"
#include "support/cases.h"
#include "support/grown.h"
#include "support/moments.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"

/* ---- programs ---- */

enum { MOMENTS = 16, CALLS = 100, LONG_US = 50000 };

typedef struct program {
    setup opened;
    char path[SCRATCH_PATH], copy[SCRATCH_PATH];
    uint32_t blocks; /* so far */
    uint32_t more;   /* blocks that a step adds */
    uint32_t steps;
    cairn_strand *other;
    cairn_metric memory[4];
    crn_profile *last; /* as the last look found it */
    uint64_t count;    /* likewise: calls of all lanes, or spans in histograms */
    crn_disk_moment noted[MOMENTS];
    uint32_t noted_count, noted_before; /* so far; up to the last look */
} program;

static void add_blocks(program *program, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char name[24], file[24];
        snprintf(name, sizeof name, "block %u", ++program->blocks);
        snprintf(file, sizeof file, "file %u", program->blocks);
        cairn_block_info info = {.name = name, .file = file, .line = 1};
        assert_int_equal(cairn_block_add(program->opened.profile, &info), program->blocks);
    }
}

static void add_more_blocks(void *data)
{
    program *program = data;
    add_blocks(program, program->more);
}

static void call(cairn_strand *strand, cairn_block block)
{
    cairn_enter(strand, block);
    cairn_leave(strand);
}

/* Adds blocks, of which each gets a context, and a metric and a note. */
static void add_contexts(void *data)
{
    program *program = data;
    setup *opened = &program->opened;
    uint32_t known = program->blocks;
    char name[24];
    add_blocks(program, program->more);
    for (uint32_t b = 1; b <= program->blocks; b++) {
        cairn_enter(opened->strand, b);
        if (b > known)
            call(opened->strand, b - known);
        cairn_leave(opened->strand);
    }
    snprintf(name, sizeof name, "metric %u", ++program->steps);
    cairn_metric metric = cairn_metric_add(opened->profile, name, "count");
    cairn_charge(opened->strand, metric, 1);
    assert_int_equal(cairn_profile_note(opened->profile, name, name), CAIRN_OK);
}

/* Adds a tree of inlined functions with blocks of its own, and counts calls of them. */
static void add_counts(void *data)
{
    program *program = data;
    enum { NODES = 20 };
    cairn_priv_node nodes[NODES] = {{0}};
    add_blocks(program, NODES + 1);
    for (uint32_t i = 0; i < NODES; i++)
        nodes[i].block = program->blocks - i - 1;
    uint32_t tree = cairn_priv_tree_add(program->opened.profile, nodes, NODES);
    assert_int_not_equal(tree, 0);
    cairn_enter(program->opened.strand, program->blocks);
    uint64_t *counters = cairn_priv_tree_counters(program->opened.strand, tree);
    assert_non_null(counters);
    for (uint32_t i = 0; i < NODES; i++)
        counters[i]++;
    cairn_leave(program->opened.strand);
}

/* Adds a lane, whose spans wait for each other and have attributes of a new key. */
static void add_spans(void *data)
{
    program *program = data;
    cairn_profile *profile = program->opened.profile;
    char name[24];
    snprintf(name, sizeof name, "lane %u", ++program->steps);
    cairn_lane *lane = cairn_lane_open(profile, name);
    cairn_strand *strand = cairn_strand_open(lane);
    assert_non_null(strand);
    snprintf(name, sizeof name, "key %u", program->steps);
    cairn_key key = cairn_key_add(profile, name);
    cairn_key_split(profile, key, 8);
    cairn_span_begin(strand, 1, 1);
    cairn_span_begin(program->opened.strand, 1, 1);
    for (uint32_t i = 0; i < program->more; i++) {
        cairn_strand *here = i % 2 ? strand : program->opened.strand;
        cairn_span before = cairn_span_current(i % 2 ? program->opened.strand : strand);
        cairn_span_begin(here, 1, i);
        cairn_span_waits_for(here, before);
        cairn_span_name(here, key, cairn_text_add(profile, name));
        cairn_span_end(here);
    }
    cairn_span_end(program->opened.strand);
    cairn_span_end(strand);
    add_blocks(program, 3);
    call(strand, program->blocks);
}

/* Calls blocks on two lanes. */
static void call_often(void *data)
{
    program *program = data;
    cairn_strand *other = cairn_strand_open(cairn_lane_open(program->opened.profile, "other"));
    for (int i = 0; i < CALLS; i++) {
        call(program->opened.strand, 1);
        call(other, 1);
    }
}

static void reset(void *data)
{
    program *program = data;
    cairn_profile_reset(program->opened.profile);
    call(program->opened.strand, 1);
}

/* Lets time pass that the lane has not charged. */
static void wait_a_while(void *data)
{
    program *program = data;
    call(program->opened.strand, 1);
    usleep(LONG_US);
    crn_profile_moment(program->opened.profile);
}

/* Charges all time up to moments_now. */
static void charge(void *data)
{
    call(((program *)data)->opened.strand, 1);
}

static void note_moments(void *data)
{
    program *program = data;
    const crn_disk_header *header = program->opened.profile->capture.header;
    for (uint32_t i = 0; i < program->more; i++) {
        crn_profile_moment(program->opened.profile);
        assert_true(program->noted_count < MOMENTS);
        program->noted[program->noted_count++] = header->last[header->moments & 1];
    }
}

/* One lane allocates, and the other frees. */
static void add_memory(void *data)
{
    program *program = data;
    if (!program->other) {
        static const char *const names[] = {CRN_ALLOC_BYTES, CRN_ALLOC_OBJECTS, CRN_FREED_BYTES,
                                            CRN_FREED_OBJECTS};
        for (int m = 0; m < 4; m++)
            program->memory[m] = cairn_metric_add(program->opened.profile, names[m],
                                                  m % 2 ? "count" : CRN_UNIT_BYTES);
        program->other = cairn_strand_open(cairn_lane_open(program->opened.profile, "other"));
    }
    for (int m = 0; m < 4; m++)
        cairn_charge(m < 2 ? program->opened.strand : program->other, program->memory[m], 64);
}

/* ---- hostile writers ---- */

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    assert_true(size > 0 && size < sizeof bytes);
    file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Makes the section of the first lane, in a copy of the capture, shorter than its header. */
static void cut_lane(void *data)
{
    const program *program = data;
    crn_disk_chunk chunks[512];
    FILE *file = fopen(program->copy, "r+b");
    assert_non_null(file);
    size_t count = fread(chunks, sizeof *chunks, sizeof chunks / sizeof *chunks, file);
    uint64_t at = 0;
    for (uint64_t word = 0; !at && (word + 4) * 8 <= count * sizeof *chunks; word++) {
        crn_disk_chunk *chunk = (crn_disk_chunk *)(void *)((uint64_t *)(void *)chunks + word);
        if (chunk->kind == CRN_SECTION_LANE && !chunk->lane && !chunk->metric && !chunk->place &&
            chunk->offset && chunk->size > sizeof(crn_disk_lane))
            at = word * 8 + offsetof(crn_disk_chunk, size);
    }
    assert_int_not_equal(at, 0);
    const uint64_t size = sizeof(crn_disk_lane) / 2;
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    assert_int_equal(fwrite(&size, sizeof size, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

static void look_at_cut_lane(program *program)
{
    crn_error error = {0};
    if (!moments_now.act)
        copy_file(program->path, program->copy);
    crn_profile *profile = crn_profile_load(program->copy, &error);
    if (!profile)
        fail_msg("%s", error.message);
    crn_profile_free(profile);
}

static void close_program(void *data)
{
    setup_close(&((program *)data)->opened);
}

static program begin(uint32_t blocks, uint32_t more)
{
    program program = {.more = more};
    cairn_options options = span_options(scratch_path(program.path, "live.cairn"));
    scratch_path(program.copy, "copy.cairn");
    options.span_histograms = true;
    options.span_limit = 256 * 1024; /* little to zero for each program */
    options.wall = CAIRN_WALL_EXACT;
    program.opened = setup_open(&options, 0);
    add_blocks(&program, blocks);
    for (uint32_t b = 1; b <= blocks; b++)
        call(program.opened.strand, b);
    return program;
}

static void end(program *program)
{
    if (program->opened.profile)
        setup_close(&program->opened);
    crn_profile_free(program->last);
}

/* ---- checks ---- */

static void assert_no_warnings(const crn_profile *profile)
{
    for (uint32_t i = 0; i < profile->warning_count; i++)
        fail_msg("%s", profile->warnings[i]);
}

static void assert_named(const crn_profile *profile)
{
    assert_no_warnings(profile);
    for (uint32_t b = 1; b < profile->block_count; b++) {
        assert_string_not_equal(profile->blocks[b].name, "[unknown]");
        assert_string_not_equal(profile->blocks[b].name, "");
    }
    for (uint32_t m = 0; m < profile->metric_count; m++)
        assert_string_not_equal(profile->metrics[m].name, "");
    for (size_t n = 0; n < profile->note_count; n++)
        assert_string_not_equal(profile->notes[n].key, "");
}

static void assert_grown(const crn_profile *before, const crn_profile *after)
{
    difference found;
    if (!profile_has_grown(before, after, &found))
        fail_msg("%s", found.text);
}

static void look_at_profile(program *program)
{
    crn_profile *profile = recorded_profile(program->path);
    assert_named(profile);
    if (program->last)
        assert_grown(program->last, profile);
    crn_profile_free(program->last);
    program->last = profile;
}

static void check_memory(const char *path)
{
    crn_profile *profile = recorded_profile(path);
    crn_live_derive(profile);
    assert_no_warnings(profile);
    crn_profile_free(profile);
}

static void look_at_memory(program *program)
{
    check_memory(program->path);
}

static void look_at_copied_memory(program *program)
{
    assert_int_equal(cairn_profile_snapshot(program->opened.profile, program->copy), CAIRN_OK);
    check_memory(program->copy);
}

/* A reset sets the calls of all lanes to 0 at once. */
static void look_at_lanes(program *program)
{
    crn_lanes lanes;
    crn_error error = {0};
    uint64_t calls = 0;
    if (!crn_lanes_load(&lanes, program->path, &error))
        fail_msg("%s", error.message);
    for (uint32_t l = 0; l < lanes.count; l++) {
        assert_string_not_equal(lanes.lanes[l].name, "");
        calls += lanes.lanes[l].calls;
    }
    crn_lanes_free(&lanes);
    if (calls >= CALLS / 2)
        assert_true(calls >= program->count);
    program->count = calls;
}

/* A lane's time is at most the time since the begin, of which it charges a part meanwhile. */
static void look_at_time(program *program)
{
    crn_lanes lanes;
    crn_error error = {0};
    if (!crn_lanes_load(&lanes, program->path, &error))
        fail_msg("%s", error.message);
    const crn_disk_header *header = program->opened.profile->capture.header;
    uint64_t most = crn_clock_monotonic() - header->first.monotonic_ns;
    assert_int_equal(lanes.count, 1);
    assert_true(lanes.lanes[0].wall <= most + most / 10);
    crn_lanes_free(&lanes);
}

static void check_trace(const crn_trace *trace)
{
    assert_int_equal(trace->dangling, 0);
    for (uint32_t l = 0; l < trace->lane_count; l++)
        assert_string_not_equal(trace->lanes[l], "");
    for (uint32_t k = 0; k < trace->key_count; k++)
        assert_string_not_equal(trace->keys[k], "");
    for (uint32_t a = 0; a < trace->attribute_count; a++) {
        assert_true(trace->attributes[a].key < trace->key_count);
        assert_string_not_equal(trace->attributes[a].value.text, "");
    }
    for (uint32_t h = 0; h < trace->histogram_count; h++)
        if (trace->histograms[h].disk->kind != CRN_HISTOGRAM_BLOCK)
            assert_true(trace->histograms[h].disk->key < trace->key_count);
}

static void look_at_spans(program *program)
{
    crn_trace *trace = recorded_trace(program->path);
    check_trace(trace);
    crn_trace_free(trace);
}

static void look_at_histograms(program *program)
{
    crn_error error = {0};
    crn_spreads *spreads = crn_spreads_load(program->path, &error);
    if (!spreads)
        fail_msg("%s", error.message);
    uint64_t count = 0;
    for (uint32_t s = 0; s < spreads->count; s++)
        count += spreads->all[s].count;
    for (uint32_t k = 0; k < spreads->key_count; k++)
        assert_string_not_equal(spreads->keys[k], "");
    assert_true(count >= program->count);
    program->count = count;
    crn_spreads_free(spreads);
}

/* The program copies its own capture. */
static void look_at_copy(program *program)
{
    if (!program->opened.profile) /* it has ended */
        return;
    assert_int_equal(cairn_profile_snapshot(program->opened.profile, program->copy), CAIRN_OK);
    recorded copy = recorded_load(program->copy);
    assert_named(copy.profile);
    check_trace(copy.trace);
    recorded_free(&copy);
}

/* The reader's last moment is the last before the look, or a later one. */
static void look_at_moments(program *program)
{
    crn_reader reader;
    crn_error error;
    assert_true(crn_reader_open(&reader, program->path, &error));
    const crn_disk_moment *last = &reader.header.last[reader.header.moments & 1];
    uint32_t found = program->noted_before - 1;
    while (found < program->noted_count && memcmp(&program->noted[found], last, sizeof *last) != 0)
        found++;
    assert_true(found < program->noted_count);
    program->noted_before = program->noted_count;
    crn_reader_close(&reader);
}

/* ---- cases ---- */

typedef void looking(program *program);

/* Looks before, at and after an act, which comes at every `apart`th moment in turn. */
static void at_moments(uint32_t apart, uint32_t blocks, uint32_t more, void (*prepare)(void *),
                       void (*act)(void *), looking *look)
{
    bool acted = true;
    for (moments_now.at = 0; acted; moments_now.at += apart) {
        program program = begin(blocks, more);
        prepare(&program);
        program.noted_before = program.noted_count;
        look(&program);
        moments_now.passed = 0;
        moments_now.act = act;
        moments_now.data = &program;
        look(&program);
        acted = !moments_now.act;
        moments_now.act = NULL;
        look(&program);
        end(&program);
    }
    assert_true(moments_now.at > 2);
}

static void at_each_moment(uint32_t blocks, uint32_t more, void (*prepare)(void *),
                           void (*act)(void *), looking *look)
{
    at_moments(1, blocks, more, prepare, act, look);
}

/* The same, with each read undivided, and divided at places of the header. */
static void in_each_read(uint32_t blocks, uint32_t more, void (*act)(void *), looking *look)
{
    static const size_t tears[] = {0,
                                   offsetof(crn_disk_header, last[0].monotonic_ns),
                                   offsetof(crn_disk_header, last[1]),
                                   offsetof(crn_disk_header, last[1].monotonic_ns),
                                   offsetof(crn_disk_header, moments),
                                   offsetof(crn_disk_header, used[CRN_SECTION_BLOCKS])};
    for (size_t i = 0; i < sizeof tears / sizeof *tears; i++)
        for (int backwards = 0; backwards < (i ? 2 : 1); backwards++) {
            moments_now.tear = tears[i];
            moments_now.backwards = backwards;
            at_each_moment(blocks, more, act, act, look);
        }
    moments_now.tear = 0;
}

static void no_block_goes(void **state)
{
    (void)state;
    for (uint32_t blocks = 40; blocks < 70; blocks += 3)
        at_each_moment(blocks, 3, add_more_blocks, add_more_blocks, look_at_profile);
}

static void contexts_appear_with_their_blocks(void **state)
{
    (void)state;
    for (uint32_t blocks = 1; blocks < 200; blocks *= 3)
        at_each_moment(blocks, 8, add_contexts, add_contexts, look_at_profile);
    in_each_read(20, 2, add_contexts, look_at_profile);
}

static void counts_appear_with_their_trees(void **state)
{
    (void)state;
    at_each_moment(3, 0, add_counts, add_counts, look_at_profile);
    at_each_moment(3, 0, add_counts, add_counts, look_at_lanes);
    at_each_moment(3, 0, add_counts, add_counts, look_at_copy);
}

static void spans_appear_with_their_names(void **state)
{
    (void)state;
    at_each_moment(3, 400, add_spans, add_spans, look_at_spans);
    for (uint32_t more = 2; more < 100; more *= 20) {
        at_each_moment(3, more, add_spans, add_spans, look_at_spans);
        at_each_moment(3, more, add_spans, add_spans, look_at_lanes);
        at_each_moment(3, more, add_spans, add_spans, look_at_histograms);
        at_each_moment(3, more, add_spans, add_spans, look_at_profile);
    }
}

static void a_copy_is_of_one_moment(void **state)
{
    (void)state;
    enum { APART = 5 }; /* a copy has many moments */
    at_moments(APART, 3, 4, add_contexts, add_contexts, look_at_copy);
    at_moments(APART, 3, 40, add_spans, add_spans, look_at_copy);
}

static void nothing_is_freed_before_it_is_allocated(void **state)
{
    (void)state;
    at_each_moment(3, 0, add_memory, add_memory, look_at_memory);
    at_each_moment(3, 0, add_memory, add_memory, look_at_copied_memory);
}

static void lanes_are_reset_at_once(void **state)
{
    (void)state;
    at_each_moment(3, 0, call_often, reset, look_at_lanes);
}

static void no_time_counts_twice(void **state)
{
    (void)state;
    at_each_moment(3, 0, wait_a_while, charge, look_at_time);
}

static void a_moment_is_whole(void **state)
{
    (void)state;
    for (uint32_t more = 1; more < 4; more++)
        in_each_read(3, more, note_moments, look_at_moments);
}

static void the_end_cuts_nothing_off(void **state)
{
    (void)state;
    at_each_moment(3, 4, add_contexts, close_program, look_at_profile);
    at_each_moment(3, 400, add_spans, close_program, look_at_profile);
    at_each_moment(3, 400, add_spans, close_program, look_at_spans);
}

static void a_lane_that_becomes_short_is_left_out(void **state)
{
    (void)state;
    at_each_moment(40, 0, charge, cut_lane, look_at_cut_lane);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(no_block_goes),
        cmocka_unit_test(contexts_appear_with_their_blocks),
        cmocka_unit_test(counts_appear_with_their_trees),
        cmocka_unit_test(spans_appear_with_their_names),
        cmocka_unit_test(a_copy_is_of_one_moment),
        cmocka_unit_test(nothing_is_freed_before_it_is_allocated),
        cmocka_unit_test(lanes_are_reset_at_once),
        cmocka_unit_test(no_time_counts_twice),
        cmocka_unit_test(a_moment_is_whole),
        cmocka_unit_test(the_end_cuts_nothing_off),
        cmocka_unit_test(a_lane_that_becomes_short_is_left_out),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
