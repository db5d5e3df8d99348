/* SPDX-License-Identifier: MIT
 *
 * test_span_policies.c - limits on spans: keeping the first, the last, or sampled trees. Lost
 * spans are counted, and no span is taken for another.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "capture/reader.h"
#include "profile/profile.h"
#include "runtime/runtime.h"
#include "spans/spans.h"
#include "spans/store_opening.h"
#include "support/cases.h"
#include "support/clock.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/recorded.h"
#include "support/scratch.h"

/* Space is prepared by a thread that must get its turn. */
static void wait_a_little(int64_t i)
{
    if (i % 2000 == 0)
        usleep(1000);
}

static int64_t attribute_of(const crn_trace *trace, uint32_t span)
{
    uint32_t count;
    const crn_attribute *attribute = crn_trace_attributes(trace, span, &count);
    return count == 1 ? attribute->value.integer : -1;
}

/* ---- the first ---- */

static void the_first_spans_are_kept(void **state)
{
    (void)state;
    enum { SPANS = 60000, KEPT = 1024 * 1024 / 32, SPANS_MOST = 100 * SPANS };
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "first.cairn"));
    options.span_limit = 1024 * 1024;
    setup s = setup_open(&options, 1);
    const crn_disk_lane *disk = s.lane->disk;
    int64_t begun = 0, kept = 0;
    while (begun < SPANS || (kept < KEPT && begun < SPANS_MOST)) {
        wait_a_little(begun);
        cairn_span_begin(s.strand, 1, begun++);
        cairn_span_end(s.strand);
        kept = begun - (int64_t)disk->spans_dropped;
    }
    setup_close(&s);
    crn_trace *trace = recorded_trace(path);
    assert_int_equal(trace->span_count + trace->dropped, begun);
    assert_int_equal(trace->dropped, trace->late + trace->limited);
    assert_int_equal(trace->span_count, KEPT);
    if (!trace->late)
        assert_int_equal(trace->spans[KEPT - 1].iteration, KEPT - 1);
    crn_trace_free(trace);
}

/* ---- the last ---- */

/* Records spans below an outermost span that is overwritten long before it ends. Every tenth span
 * has three children, each with an attribute that identifies it. */
static void record_many(setup *s, cairn_key key, int64_t count)
{
    cairn_span_begin(s->strand, 1, -1);
    for (int64_t i = 0; i < count; i++) {
        wait_a_little(i);
        cairn_span_begin(s->strand, 2, i);
        for (int64_t k = 0; i % 10 == 0 && k < 3; k++) {
            cairn_span_begin(s->strand, 3, i);
            cairn_span_integer(s->strand, key, i * 3 + k);
            cairn_span_end(s->strand);
        }
        cairn_span_end(s->strand);
    }
    cairn_span_end(s->strand);
}

static void check_last(const crn_trace *trace, int64_t count)
{
    int64_t begun = count + (count + 9) / 10 * 3 + 1, expected = -2, children = 0;
    assert_int_equal(trace->span_count + trace->recycled + trace->dropped, begun);
    assert_true(trace->recycled > 0);
    for (uint32_t i = 0; i < trace->span_count; i++) {
        const crn_span *span = &trace->spans[i];
        assert_false(span->open);
        if (span->block == 2) {
            if (!trace->dropped && expected >= 0)
                assert_int_equal(span->iteration, expected);
            expected = span->iteration + 1;
            children = 0;
            assert_true(span->orphaned && span->parent == CRN_SPAN_NONE);
        } else if (span->parent != CRN_SPAN_NONE) {
            assert_int_equal(span->block, 3);
            assert_int_equal(trace->spans[span->parent].iteration, span->iteration);
            assert_int_equal(trace->spans[span->parent].block, 2);
            if (!trace->details_dropped && !trace->dropped)
                assert_int_equal(attribute_of(trace, i), span->iteration * 3 + children);
            children++;
        }
    }
    if (!trace->dropped)
        assert_int_equal(expected, count);
}

static void the_last_spans_are_kept(void **state)
{
    (void)state;
    int64_t count = (int64_t)scale(400000) + 60000;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "last.cairn"));
    options.span_policy = CAIRN_SPANS_KEEP_LAST;
    options.span_limit = 1024 * 1024;
    setup s = setup_open(&options, 3);
    record_many(&s, cairn_key_add(s.profile, "key"), count);
    assert_int_equal(cost_at(s.profile, "1 2").calls, count);
    char copy[SCRATCH_PATH];
    assert_int_equal(cairn_profile_snapshot(s.profile, scratch_path(copy, "copy.cairn")), CAIRN_OK);
    setup_close(&s);
    crn_trace *trace = recorded_trace(path), *snapshot = recorded_trace(copy);
    check_last(trace, count);
    check_last(snapshot, count);
    assert_true(trace->span_count >= 2 * 8191 && trace->span_count <= 4 * 8191);
    assert_int_equal(trace->span_count, snapshot->span_count);
    crn_trace_free(trace);
    crn_trace_free(snapshot);
}

/* Reads the spans again and again while they are recorded. */
typedef struct reader {
    const char *path;
    bool stop;
    int readings;
} reader;

static void *read_spans(void *data)
{
    reader *reader = data;
    while (!__atomic_load_n(&reader->stop, __ATOMIC_ACQUIRE)) {
        crn_trace *trace = recorded_trace(reader->path);
        int64_t before = -1;
        for (uint32_t i = 0; i < trace->span_count; i++) {
            const crn_span *span = &trace->spans[i];
            if (span->block != 2)
                continue;
            assert_true(span->iteration > before);
            before = span->iteration;
            assert_true(span->parent == CRN_SPAN_NONE ||
                        trace->spans[span->parent].iteration == -1);
        }
        crn_trace_free(trace);
        __atomic_fetch_add(&reader->readings, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void the_last_are_read_while_they_change(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "live.cairn"));
    options.span_policy = CAIRN_SPANS_KEEP_LAST;
    options.span_limit = 1024 * 1024;
    setup s = setup_open(&options, 3);
    reader reader = {.path = path};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_spans, &reader), 0);
    record_many(&s, cairn_key_add(s.profile, "key"), (int64_t)scale(200000) + 20000);
    while (__atomic_load_n(&reader.readings, __ATOMIC_RELAXED) < 3)
        usleep(100);
    __atomic_store_n(&reader.stop, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    setup_close(&s);
}

/* ---- whole trees ---- */

enum { TREES = 4000 };

/* Work on another lane belongs to the tree that asked for it. */
static void record_tree(cairn_strand *strand, cairn_strand *other, int64_t i)
{
    cairn_span_begin(strand, 1, i);
    cairn_span_begin(strand, 2, i);
    cairn_handoff token = cairn_handoff_take(strand);
    cairn_span_end(strand);
    cairn_span_end(strand);
    cairn_handoff_adopt(other, token);
    cairn_span_begin(other, 3, i);
    cairn_handoff_adopt(strand, cairn_handoff_take(other)); /* and back */
    cairn_span_begin(strand, 4, i);
    cairn_span_end(strand);
    cairn_handoff_leave(strand);
    cairn_span_end(other);
    cairn_handoff_leave(other);
}

static void record_trees(cairn_profile *profile, cairn_strand *strand)
{
    cairn_strand *other = cairn_strand_open(cairn_lane_open(profile, "other"));
    for (int64_t i = 0; i < TREES; i++)
        record_tree(strand, other, i);
}

typedef struct watcher {
    const char *path;
    bool stop;
    uint64_t readings, dangling;
} watcher;

static void *count_dangling(void *data)
{
    watcher *watcher = data;
    while (!__atomic_load_n(&watcher->stop, __ATOMIC_ACQUIRE)) {
        crn_trace *trace = recorded_trace(watcher->path);
        watcher->dangling += trace->dangling;
        crn_trace_free(trace);
        __atomic_fetch_add(&watcher->readings, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* A reader that copies the details of a lane after its spans finds edges to spans that were not
 * there yet. */
static void edges_of_a_live_capture_lead_to_spans(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "crossing.cairn"));
    setup s = setup_open(&options, 4);
    cairn_strand *other = cairn_strand_open(cairn_lane_open(s.profile, "other"));
    watcher watcher = {.path = path};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, count_dangling, &watcher), 0);
    for (int64_t i = 1;
         i < 50000 || (i < 200000 && __atomic_load_n(&watcher.readings, __ATOMIC_RELAXED) < 5);
         i++) {
        record_tree(s.strand, other, i);
        if (i % 100 == 0)
            usleep(200); /* space is prepared by a thread */
    }
    __atomic_store_n(&watcher.stop, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    setup_close(&s);
    crn_trace *trace = recorded_trace(path);
    if (trace->dropped == 0 && trace->details_dropped == 0)
        assert_int_equal(watcher.dangling, 0);
    crn_trace_free(trace);
}

/* A reader looks for chunks again after it has copied the details, which may name spans in chunks
 * and on lanes that it did not know. */
static void spans_in_later_chunks_are_found(void **state)
{
    (void)state;
    enum { FIRST = 100, LATER = 40000 };
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "later.cairn"));
    setup s = setup_open(&options, 4);
    cairn_strand *other = cairn_strand_open(cairn_lane_open(s.profile, "other"));
    for (int64_t i = 0; i < FIRST; i++)
        record_tree(s.strand, other, i);
    crn_reader reader;
    crn_error error;
    assert_true(crn_reader_open(&reader, path, &error));
    cairn_strand *later = cairn_strand_open(cairn_lane_open(s.profile, "later"));
    record_tree(later, other, FIRST);
    for (int64_t i = FIRST; i < LATER; i++) {
        record_tree(s.strand, other, i);
        wait_a_little(i * 20);
    }
    crn_store_opening opening = {.reader = &reader, .error = &error};
    assert_true(crn_store_read(&opening));
    crn_store_opening_end(&opening);
    assert_int_equal(opening.store->lane_count, 3);
    assert_string_equal(opening.store->lanes[2], "later");
    if (opening.store->dropped == 0 && opening.store->details_dropped == 0)
        assert_int_equal(opening.store->dangling, 0);
    crn_store_close(opening.store);
    crn_reader_close(&reader);
    setup_close(&s);
}

static void sampled_trees_are_complete(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "drawn.cairn"));
    options.span_rate = 0.25;
    options.seed = 7;
    setup s = setup_open(&options, 4);
    record_trees(s.profile, s.strand);
    assert_int_equal(cost_at(s.profile, "1").calls, TREES);
    assert_int_equal(cost_at(s.profile, "1 2 3 4").calls, TREES);
    setup_close(&s);

    crn_trace *trace = recorded_trace(path);
    static uint8_t of[TREES]; /* bits: which spans of a tree were recorded */
    memset(of, 0, sizeof of);
    for (uint32_t i = 0; i < trace->span_count; i++) {
        const crn_span *span = &trace->spans[i];
        of[span->iteration] |= (uint8_t)(1 << span->block);
        if (span->block == 1)
            assert_int_equal(span->parent, CRN_SPAN_NONE);
        else
            assert_int_equal(trace->spans[span->parent].block, span->block - 1);
        assert_int_equal(span->handed_off, span->block > 2);
    }
    uint32_t drawn = 0;
    for (int i = 0; i < TREES; i++) {
        assert_true(of[i] == 0 || of[i] == 0x1e);
        drawn += of[i] != 0;
    }
    assert_true(drawn > 850 && drawn < 1150); /* 1,000 ± 27 */
    assert_int_equal(trace->span_count, 4 * drawn);
    assert_int_equal(trace->skipped, 4 * (TREES - drawn));
    assert_int_equal(trace->trees_skipped, TREES - drawn);
    assert_int_equal(trace->dangling, 0);
    double *weights = crn_trace_weigh(trace), sum = 0;
    for (uint32_t i = 0; i < trace->span_count; i++)
        sum += weights[i];
    assert_true(sum == 4.0 * 4 * drawn);
    crn_free(weights);
    crn_trace_free(trace);
}

static void the_same_seed_draws_the_same(void **state)
{
    (void)state;
    uint32_t counts[3];
    for (int i = 0; i < 3; i++) {
        char path[SCRATCH_PATH];
        cairn_options options = span_options(scratch_path(path, "seed.cairn"));
        options.span_rate = 0.5;
        options.seed = i < 2 ? 1 : 2;
        setup s = setup_open(&options, 4);
        record_trees(s.profile, s.strand);
        setup_close(&s);
        crn_trace *trace = recorded_trace(path);
        counts[i] = trace->span_count;
        int64_t sum = 0;
        for (uint32_t k = 0; k < trace->span_count; k++)
            sum += trace->spans[k].iteration * (k + 1) % 1000;
        counts[i] = counts[i] * 31 + (uint32_t)sum;
        crn_trace_free(trace);
    }
    assert_int_equal(counts[0], counts[1]);
    assert_int_not_equal(counts[0], counts[2]);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    static const double rates[] = {0, -1, 1.5};
    for (int i = 0; i < 3; i++) {
        cairn_options options = span_options(NULL);
        options.span_rate = rates[i];
        cairn_profile *profile;
        assert_int_equal(cairn_profile_open(&profile, &options), CAIRN_E_ARGUMENT);
    }
}

/* ---- processor time ---- */

static void waiting_spans_have_no_processor_time(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "cpu.cairn"));
    options.span_cpu = true;
    setup s = setup_open(&options, 2);
    for (int i = 0; i < 3; i++) {
        cairn_span_begin(s.strand, 1, i);
        usleep(20000);
        cairn_span_begin(s.strand, 2, i);
        compute(5000000);
        cairn_span_end(s.strand);
        cairn_span_end(s.strand);
    }
    setup_close(&s);
    crn_trace *trace = recorded_trace(path);
    assert_int_equal(trace->span_count, 6);
    assert_non_null(trace->cpu);
    for (uint32_t i = 0; i < 6; i += 2) {
        assert_true(trace->cpu[i + 1] >= 5000000);
        assert_true(trace->cpu[i] >= trace->cpu[i + 1]);
        assert_true(trace->spans[i].end - trace->spans[i].start >= trace->cpu[i] + 19000000);
    }
    crn_trace_free(trace);
}

/* ---- a child ---- */

/* Spans that were open at the fork are the parent's. The child samples trees and keeps the last
 * ones of its own. */
static void a_child_has_its_own_spans(void **state)
{
    (void)state;
    skip_where_emulated();
    enum { SPANS = 1000 };
    char path[SCRATCH_PATH], name[32], childs[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "fork.cairn"));
    options.span_policy = CAIRN_SPANS_KEEP_LAST;
    options.span_rate = 0.5;
    options.span_histograms = options.span_cpu = true;
    setup s = setup_open(&options, 2);
    cairn_span_begin(s.strand, 1, 0);
    pid_t child = fork();
    if (child == 0) {
        cairn_span_end(s.strand);
        for (int64_t i = 0; i < SPANS; i++) {
            cairn_span_begin(s.strand, 2, i);
            cairn_span_end(s.strand);
        }
        cairn_profile_close(s.profile);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    cairn_span_end(s.strand);
    setup_close(&s);
    snprintf(name, sizeof name, "fork.%d.cairn", (int)child);
    crn_trace *trace = recorded_trace(scratch_path(childs, name)), *parents = recorded_trace(path);
    assert_int_equal(trace->span_count + trace->skipped, SPANS);
    assert_true(trace->span_count > 400 && trace->span_count < 600);
    assert_int_equal(trace->recycled + trace->dropped, 0);
    for (uint32_t i = 0; i < trace->span_count; i++) {
        assert_int_equal(trace->spans[i].block, 2);
        assert_false(trace->spans[i].open);
        assert_true(trace->cpu[i] != UINT64_MAX);
    }
    assert_int_equal(parents->span_count + parents->skipped, 1);
    crn_error error = {0};
    crn_spreads *spreads = crn_spreads_load(childs, &error);
    assert_non_null(spreads);
    assert_int_equal(spreads->count, 1);
    assert_int_equal(spreads->all[0].count, SPANS);
    crn_spreads_free(spreads);
    crn_trace_free(trace);
    crn_trace_free(parents);
}

/* ---- unused space is returned ---- */

static void a_capture_takes_as_much_as_it_holds(void **state)
{
    (void)state;
    enum { SPANS = 100000 };
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "size.cairn"));
    setup s = setup_open(&options, 1);
    for (int64_t i = 0; i < SPANS; i++) {
        wait_a_little(i);
        cairn_span_begin(s.strand, 1, i);
        cairn_span_end(s.strand);
    }
    setup_close(&s);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    uint64_t size =
        (uint64_t)status.st_blocks * 512; /* some of the file may have been given back */
    crn_trace *trace = recorded_trace(path);
    assert_int_equal(trace->span_count + trace->dropped, SPANS);
    /* The last chunk of spans, and the fixed parts of a small capture. */
    assert_true(size <= trace->span_count * 32ull + 8192 * 32 + 64 * 4096);
    crn_trace_free(trace);
    crn_error error = {0};
    crn_reader reader;
    assert_true(crn_reader_open(&reader, path, &error));
    assert_false(reader.truncated);
    crn_reader_close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_spans_are_kept),
        cmocka_unit_test(the_last_spans_are_kept),
        cmocka_unit_test(the_last_are_read_while_they_change),
        cmocka_unit_test(edges_of_a_live_capture_lead_to_spans),
        cmocka_unit_test(spans_in_later_chunks_are_found),
        cmocka_unit_test(sampled_trees_are_complete),
        cmocka_unit_test(the_same_seed_draws_the_same),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(waiting_spans_have_no_processor_time),
        cmocka_unit_test(a_child_has_its_own_spans),
        cmocka_unit_test(a_capture_takes_as_much_as_it_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
