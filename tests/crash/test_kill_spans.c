/* SPDX-License-Identifier: MIT
 *
 * test_kill_spans.c - a program that records spans is killed at any moment: each span whose end
 * was recorded is in the capture, with its parent. The program writes a journal to memory that it
 * shares with the test.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/span.h>

#include "profile/profile.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/children.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/scratch.h"

enum { THREADS = 3, DEEPEST = 6, MOST = 1 << 19 /* spans of a thread */ };

/* For each span: if it has ended, and its parent. Numbers count from 1. */
typedef struct journal {
    atomic_uint_least64_t ready;
    atomic_uint_least64_t dropped[THREADS]; /* spans that were not recorded */
    struct {
        atomic_uint_least32_t ended;
        uint32_t parent;
    } spans[THREADS][MOST];
} journal;

typedef struct worker {
    journal *journal;
    cairn_profile *profile;
    int number;
    uint32_t begun;
    random_source random;
    cairn_strand *strand;
    pthread_t thread;
} worker;

static int64_t iteration_of(int thread, uint32_t span)
{
    return (int64_t)thread << 32 | span;
}

static void nest(worker *worker, uint32_t parent, int depth)
{
    for (uint32_t i = random_below(&worker->random, 3); i && depth < DEEPEST; i--) {
        if (worker->begun == MOST - 1)
            return;
        uint32_t span = ++worker->begun;
        worker->journal->spans[worker->number][span].parent = parent;
        cairn_span_begin(worker->strand, 1 + span % 5, iteration_of(worker->number, span));
        bool recorded = cairn_span_current(worker->strand) != 0;
        nest(worker, span, depth + 1);
        cairn_span_end(worker->strand);
        if (recorded)
            atomic_store_explicit(&worker->journal->spans[worker->number][span].ended, 1,
                                  memory_order_release);
        else
            atomic_fetch_add(&worker->journal->dropped[worker->number], 1);
    }
}

static void *work(void *data)
{
    worker *worker = data;
    worker->strand = cairn_strand_open(cairn_lane_open(worker->profile, "worker"));
    while (worker->begun < MOST - 1)
        nest(worker, 0, 0);
    pause();
    return NULL;
}

static void record(const cairn_options *options, journal *journal, uint64_t seed)
{
    static worker workers[THREADS];
    cairn_profile *profile;
    alarm(300);
    if (cairn_profile_open(&profile, options))
        _exit(1);
    setup_blocks(profile, 1, 5);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.journal = journal,
                              .profile = profile,
                              .number = i,
                              .random = {seed * THREADS + (uint64_t)i}};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            _exit(1);
    }
    atomic_store(&journal->ready, 1);
    for (;;)
        pause();
}

/* ---- comparison ---- */

static bool has_ended(journal *journal, int thread, uint32_t span)
{
    return atomic_load_explicit(&journal->spans[thread][span].ended, memory_order_acquire);
}

static void check(const char *path, journal *journal, bool all)
{
    static uint8_t seen[THREADS][MOST];
    memset(seen, 0, sizeof seen);
    crn_error error = {0};
    crn_trace *trace = crn_trace_load(path, &error);
    if (!trace)
        fail_msg("%s", error.message);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        const crn_span *span = &trace->spans[s];
        int thread = (int)(span->iteration >> 32);
        uint32_t number = (uint32_t)span->iteration;
        assert_true(thread >= 0 && thread < THREADS && number && number < MOST);
        assert_int_equal(span->block, 1 + number % 5);
        assert_int_equal(seen[thread][number], 0);
        seen[thread][number] = span->open ? 1 : 2;
        uint32_t parent = journal->spans[thread][number].parent;
        if (span->parent != CRN_SPAN_NONE)
            assert_true(trace->spans[span->parent].iteration == iteration_of(thread, parent));
        else
            assert_true(span->orphaned || !parent);
    }
    for (int t = 0; t < THREADS; t++) {
        uint32_t missing = 0;
        for (uint32_t n = 1; n < MOST; n++) {
            if (has_ended(journal, t, n) && seen[t][n] != 2) {
                missing++;
                assert_int_equal(seen[t][n], 0); /* ended, or dropped to make space */
            }
        }
        if (all)
            assert_int_equal(missing, 0);
    }
    crn_trace_free(trace);
}

static uint64_t ended_in_all(journal *journal)
{
    uint64_t ended = 0;
    for (int t = 0; t < THREADS; t++) {
        ended += atomic_load(&journal->dropped[t]);
        for (uint32_t n = 1; n < MOST; n++)
            ended += has_ended(journal, t, n);
    }
    return ended;
}

static void kill_at_random(cairn_options options, uint64_t times, bool all)
{
    random_source random = {options.span_policy + 5u};
    for (uint64_t round = 0; round < times; round++) {
        char path[SCRATCH_PATH];
        options.path = scratch_path(path, "killed.cairn");
        journal *journal =
            mmap(NULL, sizeof *journal, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(journal != MAP_FAILED);
        pid_t child = fork();
        if (child == 0)
            record(&options, journal, round);
        while (!atomic_load(&journal->ready))
            child_pause(child);
        usleep(random_below(&random, 1u << random_below(&random, 17)));
        kill(child, SIGKILL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        check(path, journal, all);
        if (options.span_histograms) {
            crn_error error = {0};
            crn_spreads *spreads = crn_spreads_load(path, &error);
            assert_non_null(spreads);
            uint64_t counted = 0, ended = ended_in_all(journal);
            for (uint32_t i = 0; i < spreads->count; i++)
                counted += spreads->all[i].count;
            assert_true(counted >= ended && counted <= ended + THREADS);
            crn_spreads_free(spreads);
        }
        munmap(journal, sizeof *journal);
        unlink(path);
    }
}

static uint64_t rounds(void)
{
    return scale_is_long() ? 100 : scale(10);
}

static cairn_options options_for(cairn_span_policy policy)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.spans = true;
    options.span_policy = policy;
    return options;
}

static void all_that_ended_is_there(void **state)
{
    (void)state;
    kill_at_random(options_for(CAIRN_SPANS_KEEP_FIRST), rounds(), true);
}

static void the_last_that_ended_are_there(void **state)
{
    (void)state;
    cairn_options options = options_for(CAIRN_SPANS_KEEP_LAST);
    options.span_limit = 1 << 20;
    kill_at_random(options, rounds(), false);
}

static void all_that_ended_is_counted(void **state)
{
    (void)state;
    cairn_options options = options_for(CAIRN_SPANS_KEEP_FIRST);
    options.span_histograms = true;
    kill_at_random(options, rounds(), true);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(all_that_ended_is_there),
        cmocka_unit_test(the_last_that_ended_are_there),
        cmocka_unit_test(all_that_ended_is_counted),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
