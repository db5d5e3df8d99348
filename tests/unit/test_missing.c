/* SPDX-License-Identifier: MIT
 *
 * test_missing.c - cairn_profile_missing within the program, compared with the figures of its
 * capture.
 */
#include <pthread.h>
#include <stdlib.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "runtime/process.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/near.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/scratch.h"

enum { BLOCKS = 4, ROUNDS = 20, SPANS = 2000, TOKENS = 64 };

/* ---- two threads that ask each other ---- */

typedef struct worker {
    cairn_profile *profile;
    cairn_handoff *tokens; /* that others may have taken; under the lock */
    pthread_mutex_t *lock;
    random_source random;
} worker;

static void exchange(worker *w, cairn_strand *strand, cairn_handoff *taken)
{
    uint32_t place = random_below(&w->random, TOKENS);
    pthread_mutex_lock(w->lock);
    *taken = w->tokens[place];
    w->tokens[place] = cairn_handoff_take(strand);
    pthread_mutex_unlock(w->lock);
}

static void *work(void *data)
{
    worker *w = data;
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(w->profile, "worker"));
    uint32_t depth = 0;
    cairn_handoff taken;
    for (int i = 0; i < SPANS; i++) {
        while (depth && random_chance(&w->random, 1, 2)) {
            cairn_span_end(strand);
            depth--;
        }
        cairn_span_begin(strand, 1 + random_below(&w->random, BLOCKS), i);
        depth++;
        exchange(w, strand, &taken);
        if (random_chance(&w->random, 1, 3)) {
            cairn_handoff_adopt(strand, taken);
            cairn_span_begin(strand, 1 + random_below(&w->random, BLOCKS), i);
            cairn_span_end(strand);
            cairn_handoff_leave(strand);
        }
    }
    while (depth--)
        cairn_span_end(strand);
    cairn_lane_close(cairn_strand_lane(strand));
    return NULL;
}

static void run_two(cairn_profile *profile, uint64_t seed)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    cairn_handoff tokens[TOKENS];
    for (int i = 0; i < TOKENS; i++)
        tokens[i] = cairn_handoff_take(NULL);
    worker workers[2] = {{profile, tokens, &lock, {seed}}, {profile, tokens, &lock, {seed + 99}}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* ---- against the figures of the file ---- */

static void assert_same(cairn_profile *profile, const char *path)
{
    crn_error error = {0};
    crn_trace *trace = crn_trace_load(path, &error);
    assert_non_null(trace);
    crn_spans *spans = crn_spans_make(trace, BLOCKS + 1);
    for (uint32_t block = 0; block <= BLOCKS; block++) {
        uint8_t kept[BLOCKS + 1] = {0};
        kept[block] = 1;
        crn_missing expected = crn_missing_make(spans, block ? kept : NULL, 0);
        cairn_missing missing;
        assert_int_equal(cairn_profile_missing(profile, block, &missing), CAIRN_OK);
        uint64_t count = 0;
        for (uint32_t i = 0; i < expected.count; i++)
            count += expected.rows[i].count;
        assert_int_equal(missing.spans, count);
        assert_near(missing.total, expected.total, 2 * trace->span_count);
        assert_near(missing.missing, expected.missing, 2 * trace->span_count);
        crn_missing_free(&expected);
    }
    crn_spans_free(spans);
    crn_trace_free(trace);
}

static void a_program_gets_the_figures_of_its_capture(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        char path[SCRATCH_PATH];
        cairn_options options = span_options(scratch_path(path, "missing.cairn"));
        setup s = setup_open(&options, BLOCKS);
        run_two(s.profile, round);
        crn_profile_end(s.profile); /* stops the calibration of its clock */
        assert_same(s.profile, path);
        setup_close(&s);
    }
}

/* ---- cases with known figures ---- */

static void without_children_all_is_missing(void **state)
{
    (void)state;
    cairn_options options = span_options(NULL);
    setup s = setup_open(&options, 3);
    cairn_missing missing = {7, 7, 7};
    assert_int_equal(cairn_profile_missing(s.profile, 1, &missing), CAIRN_OK);
    assert_int_equal(missing.spans + missing.total + missing.missing, 0);
    cairn_span_begin(s.strand, 1, 0);
    assert_int_equal(cairn_profile_missing(s.profile, 1, &missing), CAIRN_OK);
    assert_int_equal(missing.spans, 0); /* it has not ended */
    cairn_span_end(s.strand);
    assert_int_equal(cairn_profile_missing(s.profile, 1, &missing), CAIRN_OK);
    assert_int_equal(missing.spans, 1);
    assert_true(missing.total > 0);
    assert_int_equal(missing.missing, missing.total);
    cairn_span_begin(s.strand, 2, 0);
    for (int i = 0; i < 1000; i++) {
        cairn_span_begin(s.strand, 3, i);
        cairn_span_end(s.strand);
    }
    cairn_span_end(s.strand);
    assert_int_equal(cairn_profile_missing(s.profile, 2, &missing), CAIRN_OK);
    assert_true(missing.missing < missing.total);
    setup_close(&s);
}

static void unknowable_figures_are_refused(void **state)
{
    (void)state;
    cairn_missing missing;
    assert_int_equal(cairn_profile_missing(NULL, 1, &missing), CAIRN_E_ARGUMENT);
    cairn_options options = span_options(NULL);
    options.span_policy = CAIRN_SPANS_KEEP_LAST;
    setup s = setup_open(&options, 1);
    assert_int_equal(cairn_profile_missing(s.profile, 1, NULL), CAIRN_E_ARGUMENT);
    assert_int_equal(cairn_profile_missing(s.profile, 1, &missing), CAIRN_E_ARGUMENT);
    setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_gets_the_figures_of_its_capture),
        cmocka_unit_test(without_children_all_is_missing),
        cmocka_unit_test(unknowable_figures_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
