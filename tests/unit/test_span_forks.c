/* SPDX-License-Identifier: MIT
 *
 * test_span_forks.c - hand-offs in a child of fork: tokens and contexts from before the fork, and
 * forks while other threads hand off.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/children.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"

enum { BLOCKS = 3000, CHAIN = 11 /* longer than the list of ancestors, see fork.c */ };

static cairn_handoff tokens[BLOCKS + 1];

static setup begin(char path[SCRATCH_PATH], const char *name)
{
    cairn_options options = span_options(scratch_path(path, name));
    return setup_open(&options, BLOCKS);
}

static void *take_tokens(void *data)
{
    cairn_lane *lane = cairn_lane_open(data, "takes");
    cairn_strand *strand = cairn_strand_open(lane);
    for (cairn_block block = 1; block <= BLOCKS; block++) {
        cairn_span_begin(strand, block, block);
        tokens[block] = cairn_handoff_take(strand);
        cairn_span_end(strand);
    }
    cairn_lane_close(lane);
    return NULL;
}

static void let_take(cairn_profile *profile)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_tokens, profile), 0);
    pthread_join(thread, NULL);
}

/* Last ones first, so that contexts have other numbers here than there. */
static void adopt_all(cairn_strand *strand)
{
    for (cairn_block block = BLOCKS; block; block--) {
        cairn_handoff_adopt(strand, tokens[block]);
        cairn_span_begin(strand, 1, block);
        cairn_span_end(strand);
        cairn_handoff_leave(strand);
    }
}

/* In the child, the memory of the parent's contexts is empty. */
static void contexts_of_other_lanes_are_looked_up_again(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH];
    setup s = begin(path, "anew.cairn");
    let_take(s.profile);
    adopt_all(s.strand);
    pid_t child = fork();
    if (child == 0) {
        child_begin(60);
        cairn_span_begin(s.strand, 1, -1);
        let_take(s.profile);
        adopt_all(s.strand);
        cairn_span_end(s.strand);
        int wrong = cost_at(s.profile, "1").calls != 1 + 1 + 1; /* its own token, taken and
                                                                   adopted here */
        for (cairn_block block = 2; block <= BLOCKS; block += 7) {
            char at[32];
            snprintf(at, sizeof at, "%u 1", block);
            wrong |= cost_at(s.profile, at).calls != 1;
        }
        cairn_profile_close(s.profile);
        _exit(wrong);
    }
    child_await(child);
    setup_close(&s);
}

/* Their numbers are other spans' and other contexts' in the child. */
static void tokens_from_before_name_the_parents_spans(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH], other[SCRATCH_PATH];
    setup s = begin(path, "before.cairn");
    for (int64_t i = 0; i < 3; i++) {
        cairn_span_begin(s.strand, 10 + (cairn_block)i, i);
        tokens[i] = cairn_handoff_take(s.strand);
        cairn_span_end(s.strand);
    }
    pid_t child = fork();
    if (child == 0) {
        child_begin(60);
        cairn_handoff_adopt(s.strand, tokens[1]); /* its first event */
        cairn_span_begin(s.strand, 1, 101);
        cairn_span_end(s.strand);
        cairn_handoff_leave(s.strand);
        for (int64_t i = 50; i < 53; i++) {
            cairn_span_begin(s.strand, 2, i);
            cairn_span_end(s.strand);
        }
        cairn_handoff_adopt(s.strand, tokens[2]);
        cairn_span_begin(s.strand, 1, 102);
        cairn_span_end(s.strand);
        cairn_handoff_leave(s.strand);
        int wrong = cost_at(s.profile, "1").calls != 2 || cost_at(s.profile, "2 1").calls != 0;
        cairn_profile_close(s.profile);
        _exit(wrong);
    }
    child_await(child);
    setup_close(&s);
    crn_error error = {0};
    crn_trace *traces[] = {recorded_trace(path), recorded_trace(child_path(other, path, child))},
              *trace;
    assert_int_equal(traces[1]->span_count, 5);
    for (uint32_t i = 0; i < 5; i++) /* no parent in this process */
        assert_int_equal(traces[1]->spans[i].parent, CRN_SPAN_NONE);
    assert_int_equal(traces[1]->remote_count, 2);
    assert_true(crn_trace_merge((const crn_trace *const *)traces, 2, &trace, &error));
    int found = 0;
    for (uint32_t i = 0; i < trace->span_count; i++)
        if (trace->spans[i].iteration > 100) {
            assert_int_not_equal(trace->spans[i].parent, CRN_SPAN_NONE);
            assert_int_equal(trace->spans[trace->spans[i].parent].iteration,
                             trace->spans[i].iteration - 100);
            found++;
        }
    assert_int_equal(found, 2);
    crn_trace_free(trace);
    crn_trace_free(traces[0]);
    crn_trace_free(traces[1]);
}

/* Each is the next one's parent, and leaves a token to all that come after it: the last one knows
 * the spans of those nearest to it, and none by a wrong name. */
static void tokens_of_earlier_ancestors_are_theirs(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH], other[SCRATCH_PATH];
    setup s = begin(path, "chain.cairn");
    pid_t pids[CHAIN];
    int report[2];
    assert_int_equal(pipe(report), 0);
    pid_t child = 0;
    int depth = 0;
    for (; depth < CHAIN; depth++) {
        cairn_span_begin(s.strand, 5, depth);
        tokens[depth] = cairn_handoff_take(s.strand);
        cairn_span_end(s.strand);
        child = fork();
        if (child)
            break;
        child_begin(60);
        pid_t own = getpid();
        if (write(report[1], &own, sizeof own) != (ssize_t)sizeof own)
            _exit(9);
    }
    if (depth == CHAIN)
        for (int i = 0; i < CHAIN; i++) {
            cairn_handoff_adopt(s.strand, tokens[i]);
            cairn_span_begin(s.strand, 6, 100 + i);
            cairn_span_end(s.strand);
            cairn_handoff_leave(s.strand);
        }
    else
        child_await(child);
    cairn_profile_close(s.profile);
    if (depth)
        _exit(0);
    for (int i = 0; i < CHAIN; i++)
        assert_int_equal(read(report[0], &pids[i], sizeof pids[i]), sizeof pids[i]);
    close(report[0]);
    close(report[1]);

    crn_error error = {0};
    crn_trace *traces[CHAIN + 1] = {recorded_trace(path)}, *trace;
    for (int i = 1; i <= CHAIN; i++)
        traces[i] = recorded_trace(child_path(other, path, pids[i - 1]));
    assert_true(crn_trace_merge((const crn_trace *const *)traces, CHAIN + 1, &trace, &error));
    int known = 0;
    for (uint32_t i = 0; i < trace->span_count; i++)
        if (trace->spans[i].iteration >= 100 && trace->spans[i].parent != CRN_SPAN_NONE) {
            assert_int_equal(trace->spans[trace->spans[i].parent].iteration,
                             trace->spans[i].iteration - 100);
            known++;
        }
    assert_in_range(known, 7, CHAIN - 1);
    crn_trace_free(trace);
    for (int i = 0; i <= CHAIN; i++)
        crn_trace_free(traces[i]);
}

/* ---- while another thread is about the lane ---- */

typedef struct reader {
    cairn_profile *profile;
    atomic_bool reads, ends;
} reader;

/* It does not read an entry of a lane twice, so it uses a new lane each time. */
static void *read_paths(void *data)
{
    reader *reader = data;
    while (!atomic_load(&reader->ends)) {
        cairn_strand *strand = cairn_strand_open(cairn_lane_open(reader->profile, "reads"));
        for (int i = 0; i < BLOCKS && !atomic_load(&reader->ends); i++) {
            cairn_handoff_adopt(strand, tokens[i]);
            cairn_handoff_leave(strand);
            atomic_store(&reader->reads, true);
        }
    }
    return NULL;
}

/* Paths are long, so that the reader has this lane's lock most of the time. */
static void a_child_does_not_wait_for_threads_it_has_not(void **state)
{
    (void)state;
    skip_where_emulated();
#ifdef __SANITIZE_ADDRESS__
    return; /* its allocator may have been in the midst of something */
#endif
    enum { FORKS = 40 };
    char path[SCRATCH_PATH], other[SCRATCH_PATH];
    setup s = begin(path, "reads.cairn");
    reader reader = {.profile = s.profile};
    pthread_t thread;
    atomic_init(&reader.reads, false);
    atomic_init(&reader.ends, false);
    for (cairn_block block = 1; block <= 900; block++)
        cairn_enter(s.strand, block);
    for (cairn_block i = 0; i < BLOCKS; i++) {
        cairn_enter(s.strand, 1 + i);
        tokens[i] = cairn_handoff_take(s.strand);
        cairn_leave(s.strand);
    }
    assert_int_equal(pthread_create(&thread, NULL, read_paths, &reader), 0);
    while (!atomic_load(&reader.reads))
        usleep(20);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            child_begin(60);
            alarm(10);
            cairn_span_begin(s.strand, 1, 77);
            cairn_span_end(s.strand);
            _exit(0);
        }
        child_await(child);
        unlink(child_path(other, path, child));
    }
    atomic_store(&reader.ends, true);
    pthread_join(thread, NULL);
    setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(contexts_of_other_lanes_are_looked_up_again),
        cmocka_unit_test(tokens_from_before_name_the_parents_spans),
        cmocka_unit_test(tokens_of_earlier_ancestors_are_theirs),
        cmocka_unit_test(a_child_does_not_wait_for_threads_it_has_not),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
