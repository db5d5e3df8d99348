/* SPDX-License-Identifier: MIT
 *
 * test_trace_merge.c - merging the spans of captures: nothing is lost, the order of merging has no
 * effect, and wrong clocks are corrected where spans of both machines are related.
 */
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "spans/spans.h"
#include "spans/trace_clock.h"
#include "spans/trace_process.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/random_profile.h"
#include "support/random_trace.h"
#include "support/scratch.h"
#include "support/span_readers.h"

enum { SPANS = 60, MILLISECOND = 1000000 };

static void assert_equal(const crn_trace *left, const crn_trace *right)
{
    difference found;
    if (!traces_are_equal(left, right, &found))
        fail_msg("%s", found.text);
}

static crn_trace *merge(const crn_trace *const *traces, size_t count)
{
    crn_error error = {0};
    crn_trace *merged;
    if (!crn_trace_merge(traces, count, &merged, &error))
        fail_msg("%s", error.message);
    return merged;
}

static crn_trace *through_file(const crn_profile *profile, const crn_trace *trace)
{
    char path[SCRATCH_PATH];
    crn_error error = {0};
    difference found;
    scratch_path(path, "through.cairn");
    if (!crn_trace_save(profile, trace, path, &error))
        fail_msg("%s", error.message);
    if (!span_readers_agree(path, NULL, &found))
        fail_msg("%s", found.text);
    crn_trace *loaded = crn_trace_load(path, &error);
    if (!loaded)
        fail_msg("%s", error.message);
    return loaded;
}

/* ---- files ---- */

static void saving_preserves_everything(void **state)
{
    (void)state;
    random_source random = {2};
    crn_profile *profile = random_trace_profile();
    for (uint64_t round = scale(200); round; round--) {
        crn_trace *trace = random_trace(&random, SPANS);
        crn_trace *loaded = through_file(profile, trace);
        assert_equal(trace, loaded);
        assert_int_equal(loaded->key_count, trace->key_count);
        crn_trace_free(loaded);
        crn_trace_free(trace);
    }
    crn_profile_free(profile);
}

/* ---- sums ---- */

static void one_alone_stays_as_it_is(void **state)
{
    (void)state;
    random_source random = {3};
    for (uint64_t round = scale(200); round; round--) {
        crn_trace *trace = random_trace(&random, SPANS);
        crn_trace *merged = merge((const crn_trace *const[]){trace}, 1);
        assert_equal(trace, merged);
        crn_trace_free(merged);
        crn_trace_free(trace);
    }
}

/* a + b + c, (a + b) + c and a + (b + c), in memory and by way of files. */
static void steps_do_not_matter(void **state)
{
    (void)state;
    random_source random = {4};
    crn_profile *profile = random_trace_profile();
    uint32_t shifted = 0, resolved = 0;
    for (uint64_t round = scale(200); round; round--) {
        random_world world = random_world_make(&random, 3, SPANS, 10 * MILLISECOND);
        const crn_trace *a = world.traces[0], *b = world.traces[1], *c = world.traces[2];
        crn_trace *all = merge((const crn_trace *const[]){a, b, c}, 3);
        crn_trace *ab = merge((const crn_trace *const[]){a, b}, 2);
        crn_trace *bc = merge((const crn_trace *const[]){b, c}, 2);
        crn_trace *bc_file = through_file(profile, bc);
        assert_equal(bc, bc_file);
        crn_trace *left = merge((const crn_trace *const[]){ab, c}, 2);
        crn_trace *right = merge((const crn_trace *const[]){a, bc_file}, 2);
        assert_equal(all, left);
        assert_equal(all, right);
        crn_trace *file = through_file(profile, all);
        assert_equal(all, file);
        crn_trace_clocks clocks = crn_trace_clocks_of(all);
        shifted += clocks.shifted != 0;
        resolved += clocks.links - clocks.missing;
        crn_trace *every[] = {all, ab, bc, bc_file, left, right, file};
        for (size_t i = 0; i < COUNT(every); i++)
            crn_trace_free(every[i]);
        random_world_free(&world);
    }
    assert_true(shifted > 0 && resolved > 0);
    crn_profile_free(profile);
}

/* Each span exists twice with the same id; its requester is in its own half. */
static void a_capture_may_be_merged_with_itself(void **state)
{
    (void)state;
    random_source random = {6};
    crn_profile *profile = random_trace_profile();
    uint32_t resolved = 0;
    for (uint64_t round = scale(50); round; round--) {
        random_world world = random_world_make(&random, 3, SPANS, MILLISECOND);
        crn_trace *all = merge((const crn_trace *const *)world.traces, world.count);
        crn_trace *twice = merge((const crn_trace *const[]){all, all}, 2);
        crn_trace *file = through_file(profile, twice);
        assert_equal(twice, file);
        for (uint32_t r = 0; r < file->remote_count; r++) {
            const crn_span_remote *remote = &file->remotes[r];
            bool second = remote->span >= all->span_count;
            resolved += remote->resolved;
            assert_true(!remote->resolved ||
                        (file->spans[remote->span].parent >= all->span_count) == second);
        }
        crn_trace_free(file);
        crn_trace_free(twice);
        crn_trace_free(all);
        random_world_free(&world);
    }
    assert_true(resolved > 0);
    crn_profile_free(profile);
}

static void nothing_is_lost(void **state)
{
    (void)state;
    random_source random = {5};
    for (uint64_t round = scale(200); round; round--) {
        random_world world = random_world_make(&random, 4, SPANS, MILLISECOND);
        crn_trace *all = merge((const crn_trace *const *)world.traces, world.count);
        uint32_t span = 0, attributes = 0, edges = 0, remotes = 0;
        uint64_t dropped = 0, details = 0;
        for (uint32_t p = 0; p < world.count; p++) {
            const crn_trace *part = world.traces[p];
            for (uint32_t s = 0; s < part->span_count; s++, span++) {
                const crn_span *before = &part->spans[s], *after = &all->spans[span];
                assert_true(after->end - after->start == before->end - before->start);
                assert_true(after->iteration == before->iteration);
                assert_int_equal(after->block, before->block);
                assert_int_equal(crn_trace_process_of(all, after->lane), p);
            }
            attributes += part->attribute_count;
            edges += part->edge_count;
            remotes += part->remote_count;
            dropped += part->dropped;
            details += part->details_dropped;
        }
        assert_int_equal(all->span_count, span);
        assert_int_equal(all->attribute_count, attributes);
        assert_int_equal(all->edge_count, edges);
        assert_int_equal(all->remote_count, remotes);
        assert_int_equal(all->dropped, dropped);
        assert_int_equal(all->details_dropped, details);
        crn_trace_free(all);
        random_world_free(&world);
    }
}

static void too_many_processes_are_refused(void **state)
{
    (void)state;
    random_source random = {6};
    crn_trace *trace = random_trace(&random, 4), *merged;
    size_t count = CRN_PROCESSES_MAX + 1;
    const crn_trace **traces = crn_calloc(count, sizeof *traces);
    for (size_t i = 0; i < count; i++)
        traces[i] = trace;
    crn_error error = {0};
    assert_false(crn_trace_merge(traces, count, &merged, &error));
    assert_null(merged);
    assert_non_null(strstr(error.message, "4096 processes"));
    assert_true(crn_trace_merge(traces, count - 1, &merged, &error));
    assert_int_equal(merged->span_count, trace->span_count * (count - 1));
    crn_trace_free(merged);
    crn_free(traces);
    crn_trace_free(trace);
}

/* The traces have nothing but their counts: no memory is taken before these are checked. */
static void too_many_lanes_are_refused(void **state)
{
    (void)state;
    crn_trace half = {.lane_count = CRN_LANES_MAX / 2}, more = {.lane_count = half.lane_count + 1};
    const crn_trace *traces[] = {&half, &more};
    crn_trace *merged;
    crn_error error = {0};
    assert_false(crn_trace_merge(traces, COUNT(traces), &merged, &error));
    assert_null(merged);
    assert_int_equal(error.code, CAIRN_E_LIMIT);
    assert_non_null(strstr(error.message, "536870912 lanes"));
}

/* ---- histograms ---- */

static crn_spreads *spreads_of(const char *path)
{
    crn_error error = {0};
    crn_spreads *spreads = crn_spreads_load(path, &error);
    if (!spreads)
        fail_msg("%s", error.message);
    return spreads;
}

/* A capture that holds nothing but histograms, merged once with itself. */
static void histograms_add_up(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], both[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "histograms.cairn"));
    options.span_histograms = true;
    setup s = setup_open(&options, 3);
    for (int i = 0; i < 1000; i++) {
        cairn_span_begin(s.strand, 1 + (cairn_block)i % 3, i);
        for (volatile int spin = 0; spin < i; spin++)
            ;
        cairn_span_end(s.strand);
    }
    setup_close(&s);
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    crn_trace *trace = crn_trace_load(path, &error);
    assert_non_null(profile);
    assert_non_null(trace);
    assert_int_equal(trace->span_count, 0);
    crn_trace *merged = merge((const crn_trace *const[]){trace, trace}, 2);
    assert_true(crn_trace_save(profile, merged, scratch_path(both, "both.cairn"), &error));
    crn_spreads *one = spreads_of(path), *two = spreads_of(both);
    assert_int_equal(one->count, 3);
    assert_int_equal(two->count, 3);
    for (int b = 0; b < 3; b++) {
        const crn_spread *before = &one->all[b], *after = &two->all[b];
        assert_int_equal(after->block, before->block);
        assert_true(after->count == 2 * before->count && after->total == 2 * before->total);
        assert_true(after->min == before->min && after->max == before->max);
        assert_true(crn_spread_at(after, 0.5) == crn_spread_at(before, 0.5));
        assert_int_equal(after->bar_count, before->bar_count);
    }
    crn_spreads_free(one);
    crn_spreads_free(two);
    crn_trace_free(merged);
    crn_trace_free(trace);
    crn_profile_free(profile);
}

/* ---- requesters in other processes ---- */

static uint64_t taken_of(const crn_trace *trace, uint32_t span)
{
    for (uint32_t h = 0; h < trace->handoff_count; h++)
        if (trace->handoffs[h].span == span)
            return trace->handoffs[h].taken;
    fail_msg("span %u was not handed off", span);
    return 0;
}

static void requesters_are_found(void **state)
{
    (void)state;
    random_source random = {7};
    uint32_t found = 0, missing = 0;
    for (uint64_t round = scale(200); round; round--) {
        random_world world = random_world_make(&random, RANDOM_PROCESSES, SPANS, 0);
        crn_trace *all = merge((const crn_trace *const *)world.traces, world.count);
        crn_trace_ids ids;
        crn_trace_ids_open(&ids, all);
        for (uint32_t r = 0; r < all->remote_count; r++) {
            const crn_span_remote *remote = &all->remotes[r];
            uint64_t trace_id[2];
            uint32_t asked = CRN_SPAN_NONE; /* looked for among all */
            for (uint32_t s = 0; s < all->span_count && asked == CRN_SPAN_NONE; s++)
                if (crn_span_id_of(&ids, s) == remote->parent)
                    asked = s;
            assert_true(remote->resolved == (asked != CRN_SPAN_NONE));
            assert_true(crn_parent_id_of(&ids, remote->span) == remote->parent);
            crn_trace_id_of(&ids, remote->span, trace_id);
            assert_memory_equal(trace_id, remote->trace_id, sizeof trace_id);
            found += remote->resolved;
            missing += !remote->resolved;
            if (remote->resolved && all->spans[remote->span].parent != CRN_SPAN_NONE) {
                assert_int_equal(all->spans[remote->span].parent, asked);
                assert_int_equal(taken_of(all, remote->span), 0); /* a local token says nothing */
                assert_true(all->spans[remote->span].handed_off);
            }
        }
        crn_trace_ids_close(&ids);
        crn_trace_free(all);
        random_world_free(&world);
    }
    assert_true(found > scale(200) / 2 && missing > scale(200) / 20);
}

/* ---- clocks ---- */

/* Returns the true time between two processes, according to the merge. */
static int64_t apart(const crn_trace *all, uint32_t a, uint32_t b)
{
    return (int64_t)all->processes[b].start - (int64_t)all->processes[a].start;
}

static void processes_of_one_machine_are_not_shifted(void **state)
{
    (void)state;
    random_source random = {8};
    for (uint64_t round = scale(200); round; round--) {
        random_world world = random_world_make(&random, RANDOM_PROCESSES, SPANS, 50 * MILLISECOND);
        crn_trace *all = merge((const crn_trace *const *)world.traces, world.count);
        for (uint32_t a = 0; a < world.count; a++)
            for (uint32_t b = 0; b < world.count; b++)
                if (world.machine[a] == world.machine[b])
                    assert_true(apart(all, a, b) ==
                                (int64_t)world.began[b] - (int64_t)world.began[a]);
        crn_trace_free(all);
        random_world_free(&world);
    }
}

/* Applies all links one by one until none changes anything: the least shifts. */
static void slow_shifts(const random_world *world, const crn_trace *all,
                        int64_t shifts[RANDOM_MACHINES])
{
    int64_t placed[RANDOM_PROCESSES];
    for (uint32_t p = 0; p < world->count; p++) {
        int m = world->machine[p];
        placed[p] = (int64_t)all->processes[p].start - all->processes[p].clock_shift;
        shifts[m] = 0;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t r = 0; r < all->remote_count; r++) {
            const crn_span *child = &all->spans[all->remotes[r].span];
            if (!all->remotes[r].resolved || child->parent == CRN_SPAN_NONE)
                continue;
            const crn_span *parent = &all->spans[child->parent];
            uint32_t from = crn_trace_process_of(all, parent->lane);
            uint32_t to = crn_trace_process_of(all, child->lane);
            int64_t asked = placed[from] + shifts[world->machine[from]] +
                            (int64_t)(parent->start - all->processes[from].start);
            int64_t began = placed[to] + shifts[world->machine[to]] +
                            (int64_t)(child->start - all->processes[to].start);
            if (world->machine[from] != world->machine[to] && began < asked) {
                shifts[world->machine[to]] += asked - began;
                changed = true;
            }
        }
    }
}

/* Clocks may be wrong by any amount: since requesters truly began first, the merge can shift the
 * machines so that they do. */
static void no_child_begins_before_its_requester(void **state)
{
    (void)state;
    random_source random = {9};
    uint32_t moved = 0;
    for (uint64_t round = scale(400); round; round--) {
        random_world world = random_world_make(&random, RANDOM_PROCESSES, SPANS, MILLISECOND);
        crn_trace *all = merge((const crn_trace *const *)world.traces, world.count);
        crn_trace_clocks clocks = crn_trace_clocks_of(all);
        int64_t shifts[RANDOM_MACHINES];
        assert_int_equal(clocks.early, 0);
        slow_shifts(&world, all, shifts);
        for (uint32_t p = 0; p < world.count; p++)
            assert_true(all->processes[p].clock_shift == shifts[world.machine[p]]);
        moved += clocks.shifted != 0;
        crn_trace_free(all);
        random_world_free(&world);
    }
    assert_true(moved > 0);
}

/* Two captures of one span each; the first's span requests the second's. */
static crn_trace *single(uint64_t boot, uint64_t unix_ns, uint64_t start, uint64_t key)
{
    crn_trace *trace = crn_calloc(1, sizeof *trace);
    trace->texts = crn_interning_new();
    trace->span_count = trace->lane_count = trace->process_count = 1;
    trace->spans = crn_calloc(1, sizeof *trace->spans);
    trace->lanes = crn_calloc(1, sizeof *trace->lanes);
    trace->origins = crn_calloc(1, sizeof *trace->origins);
    trace->processes = crn_calloc(1, sizeof *trace->processes);
    trace->remotes = crn_calloc(1, sizeof *trace->remotes);
    trace->lanes[0] = "";
    trace->origins[0] = crn_span_name_make(0, 0);
    trace->spans[0] = (crn_span){.start = start, .end = start + 100, .parent = CRN_SPAN_NONE};
    trace->processes[0] = (crn_trace_process){.name = "",
                                              .unix_ns = unix_ns,
                                              .monotonic_ns = 5000,
                                              .boot = {boot, boot},
                                              .length = start + 200,
                                              .span_key = key};
    trace->length = start + 200;
    return trace;
}

static void asks(crn_trace *child, const crn_trace *parent)
{
    child->remotes[child->remote_count++] = (crn_span_remote){
        .span = 0, .parent = crn_span_name_make(0, 0) ^ parent->processes[0].span_key};
}

static void a_clock_that_is_behind_is_put_forward(void **state)
{
    (void)state;
    crn_trace *client = single(1, 2000000, 1000, 0xabc), *server = single(2, 1999000, 500, 0xdef);
    asks(server, client);
    crn_trace *all = merge((const crn_trace *const[]){client, server}, 2);
    /* The client's 2,001,000 is the server's 1,999,500. */
    assert_true(all->processes[1].clock_shift == 1500);
    assert_true(all->spans[1].start == all->spans[0].start);
    crn_trace_clocks clocks = crn_trace_clocks_of(all);
    assert_int_equal(clocks.machines, 2);
    assert_int_equal(clocks.links, 1);
    assert_int_equal(clocks.missing, 0);
    assert_int_equal(clocks.early, 0);
    assert_int_equal(clocks.shifted, 1500);
    crn_trace_free(all);
    /* On one machine nothing is shifted; the error is reported. */
    server->processes[0].boot[0] = server->processes[0].boot[1] = 1;
    all = merge((const crn_trace *const[]){client, server}, 2);
    clocks = crn_trace_clocks_of(all);
    assert_int_equal(clocks.machines, 1);
    assert_int_equal(clocks.shifted, 0);
    assert_int_equal(clocks.early, 1);
    assert_int_equal(clocks.earliest, 500);
    crn_trace_free(all);
    crn_trace_free(client);
    crn_trace_free(server);
}

/* Each asked the other before it was asked itself: that cannot be, and the merge ends. */
static void contradicting_clocks_are_reported(void **state)
{
    (void)state;
    crn_trace *a = single(1, 1000000, 0, 0xabc), *b = single(2, 1000000, 300, 0xdef);
    crn_trace *c = single(1, 1000000, 700, 0x123);
    asks(b, c); /* c began at 700, b at 300, */
    asks(a, b); /* and a, on c's machine, at 0 */
    crn_trace *all = merge((const crn_trace *const[]){a, b, c}, 3);
    crn_trace_clocks clocks = crn_trace_clocks_of(all);
    assert_int_equal(clocks.links, 2);
    assert_true(clocks.early > 0 && clocks.earliest >= 350);
    crn_trace_free(all);
    crn_trace_free(a);
    crn_trace_free(b);
    crn_trace_free(c);
}

/* ---- blocks ---- */

static uint32_t add_block(crn_profile_builder *builder, const char *name, const char *file,
                          uint32_t line, uint32_t parent)
{
    return crn_profile_builder_block(
        builder, &(crn_block_info){.name = name, .file = file, .line = line, .parent = parent});
}

static void blocks_are_the_same_by_all_that_tells_them_apart(void **state)
{
    (void)state;
    crn_profile_builder *one = crn_profile_builder_new(), *other = crn_profile_builder_new();
    uint32_t outer = add_block(one, "outer", "a.c", 1, 0);
    uint32_t inner = add_block(one, "inner", "a.c", 2, outer);
    uint32_t alone = add_block(one, "inner", "a.c", 2, 0);
    uint32_t gone = add_block(one, "inner", "b.c", 2, 0);
    uint32_t alone_there = add_block(other, "inner", "a.c", 2, 0);
    uint32_t outer_there = add_block(other, "outer", "a.c", 1, 0);
    uint32_t inner_there = add_block(other, "inner", "a.c", 2, outer_there);
    crn_profile *from = crn_profile_builder_end(one), *to = crn_profile_builder_end(other);
    uint32_t *map = crn_blocks_match(from, to);
    assert_int_equal(map[outer], outer_there);
    assert_int_equal(map[inner], inner_there);
    assert_int_equal(map[alone], alone_there);
    assert_int_equal(map[gone], 0);
    crn_free(map);
    crn_profile_free(from);
    crn_profile_free(to);
}

/* ---- redaction ---- */

static void assert_absent(const unsigned char *bytes, size_t size, const char *text)
{
    size_t length = strlen(text);
    for (size_t at = 0; at + length <= size; at++)
        if (memcmp(bytes + at, text, length) == 0)
            fail_msg("\"%s\" is still there at %zu", text, at);
}

static void nothing_that_was_written_is_left_after_redaction(void **state)
{
    (void)state;
    random_source random = {10};
    crn_profile *profile = random_trace_profile();
    crn_trace *trace = random_trace(&random, SPANS);
    trace->keys[0] = "secret key";
    trace->lanes[0] = "secret lane";
    trace->attributes[0].kind = CRN_ATTRIBUTE_TEXT;
    trace->attributes[0].value.text = "a secret text that is longer than sixteen bytes";
    trace->attributes[1].kind = CRN_ATTRIBUTE_TEXT;
    trace->attributes[1].value.text = trace->attributes[0].value.text;
    trace->attributes[2].kind = CRN_ATTRIBUTE_TEXT;
    trace->attributes[2].value.text = "kept";
    trace->attributes[3].kind = CRN_ATTRIBUTE_TEXT;
    trace->attributes[3].value.text = "text2"; /* is no pseudonym yet, and will not be one */
    trace->processes[0].name = "secret program";
    crn_redact_map *map = crn_redact_map_new();
    crn_redact_map_keep(map, "kept");
    crn_redact_map_keep(map, "text2");
    crn_profile *redacted = crn_redact(profile, map);
    uint64_t spans = trace->span_count, attributes = trace->attribute_count;
    crn_redact_trace(trace, profile, redacted, map);
    crn_trace *loaded = through_file(redacted, trace);
    assert_int_equal(loaded->span_count, spans);
    assert_int_equal(loaded->attribute_count, attributes);
    assert_string_equal(loaded->attributes[0].value.text, loaded->attributes[1].value.text);
    assert_string_equal(loaded->attributes[2].value.text, "kept");
    assert_string_equal(loaded->attributes[3].value.text, "text2");
    for (uint32_t a = 4; a < loaded->attribute_count; a++)
        if (loaded->attributes[a].kind == CRN_ATTRIBUTE_TEXT)
            assert_string_not_equal(loaded->attributes[a].value.text, "text2");
    assert_int_equal(loaded->processes[0].unix_ns, 0);
    assert_int_equal(loaded->processes[0].number, 0);
    assert_int_equal(loaded->processes[0].span_key, 0);
    char path[SCRATCH_PATH];
    size_t size;
    unsigned char *bytes = scratch_read(scratch_path(path, "through.cairn"), &size);
    assert_absent(bytes, size, "secret");
    free(bytes);
    crn_trace_free(loaded);
    crn_profile_free(redacted);
    crn_redact_map_free(map);
    crn_trace_free(trace);
    crn_profile_free(profile);
}

/* ---- inconsistent files ---- */

/* An open span ends at CRN_TRACE_LATEST, also if its process starts late and claims that length. */
static void open_spans_stay_open_in_files(void **state)
{
    (void)state;
    const uint64_t latest = (uint64_t)CRN_TRACE_LATEST, late = (uint64_t)1 << 60;
    crn_profile *profile = random_trace_profile();
    crn_trace *early = single(1, 1000, 0, 0xabc), *other = single(2, 1000 + late, 0, 0xdef);
    early->spans[0].open = other->spans[0].open = true;
    early->processes[0].length = other->processes[0].length = latest;
    crn_trace_end_open(early);
    crn_trace_end_open(other);
    crn_trace *all = merge((const crn_trace *const[]){early, other}, 2);
    assert_true(all->spans[0].end == latest && all->spans[1].end == latest);
    assert_true(all->spans[1].start == late && all->length == latest);
    crn_trace *file = through_file(profile, all);
    assert_equal(all, file);
    crn_trace_free(file);
    crn_trace_free(all);
    crn_trace_free(early);
    crn_trace_free(other);
    crn_profile_free(profile);
}

/* Damages bytes of the processes' identities. */
static void damaged_processes_do_no_harm(void **state)
{
    (void)state;
    random_source random = {11};
    crn_profile *profile = random_trace_profile();
    random_world world = random_world_make(&random, 3, SPANS, MILLISECOND);
    crn_trace *all = merge((const crn_trace *const *)world.traces, world.count);
    char path[SCRATCH_PATH], damaged[SCRATCH_PATH];
    size_t size;
    crn_error error = {0};
    assert_true(crn_trace_save(profile, all, scratch_path(path, "whole.cairn"), &error));
    unsigned char *bytes = scratch_read(path, &size);
    scratch_path(damaged, "damaged.cairn");
    for (uint64_t round = scale(400); round; round--) {
        unsigned char *copy = crn_calloc(size, 1);
        memcpy(copy, bytes, size);
        for (int i = 0; i < 40; i++) {
            size_t at = random_chance(&random, 1, 2) ? random_below(&random, (uint32_t)size)
                                                     : random_below(&random, 8192);
            copy[at] = random_chance(&random, 1, 3) ? 0xff : (unsigned char)random_next(&random);
        }
        memcpy(copy, bytes, 64);
        scratch_write(damaged, copy, size);
        crn_trace *trace = crn_trace_load(damaged, &error);
        for (uint32_t s = 0; trace && s < trace->span_count; s++)
            assert_true(trace->spans[s].end >= trace->spans[s].start &&
                        trace->spans[s].lane < trace->lane_count &&
                        crn_trace_process_of(trace, trace->spans[s].lane) < trace->process_count);
        if (trace) {
            crn_trace *merged = merge((const crn_trace *const[]){trace, all}, 2);
            assert_int_equal(merged->span_count, trace->span_count + all->span_count);
            crn_trace_free(merged);
        }
        crn_trace_free(trace);
        crn_free(copy);
    }
    free(bytes);
    crn_trace_free(all);
    random_world_free(&world);
    crn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saving_preserves_everything),
        cmocka_unit_test(one_alone_stays_as_it_is),
        cmocka_unit_test(steps_do_not_matter),
        cmocka_unit_test(a_capture_may_be_merged_with_itself),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(too_many_processes_are_refused),
        cmocka_unit_test(too_many_lanes_are_refused),
        cmocka_unit_test(histograms_add_up),
        cmocka_unit_test(requesters_are_found),
        cmocka_unit_test(processes_of_one_machine_are_not_shifted),
        cmocka_unit_test(no_child_begins_before_its_requester),
        cmocka_unit_test(a_clock_that_is_behind_is_put_forward),
        cmocka_unit_test(contradicting_clocks_are_reported),
        cmocka_unit_test(blocks_are_the_same_by_all_that_tells_them_apart),
        cmocka_unit_test(nothing_that_was_written_is_left_after_redaction),
        cmocka_unit_test(open_spans_stay_open_in_files),
        cmocka_unit_test(damaged_processes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
