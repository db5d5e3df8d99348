/* SPDX-License-Identifier: MIT
 *
 * test_replay_lean.c - a replay sums up work between the spans that it tracks. It must agree with
 * one that replays each begin and end (tested in test_replay.c); latencies must agree with those
 * computed span by span.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "replay/replay.h"
#include "support/any_trace.h"
#include "support/cases.h"
#include "support/model_program.h"
#include "support/scratch.h"

static int rounds(int all)
{
    return (int)scale((uint64_t)all);
}

/* Sums in another order, and moments rounded to nanoseconds. */
static void assert_near(uint64_t found, uint64_t expected)
{
    if (fabs((double)found - (double)expected) > 1e-9 * (double)expected + 2)
        fail_msg("%llu instead of %llu", (unsigned long long)found, (unsigned long long)expected);
}

/* ---- latencies, slowly ---- */

static uint64_t at_rank(const uint64_t *sorted, uint32_t count, uint32_t percent)
{
    uint32_t rank = (count * percent + 99) / 100;
    return count ? sorted[rank ? rank - 1 : 0] : 0;
}

static crn_latency slow_latency(const crn_trace *trace, uint32_t block_count, uint32_t of,
                                const uint64_t *begins, const uint64_t *ends)
{
    uint64_t *done = crn_calloc(trace->span_count + (size_t)1, sizeof *done);
    uint64_t *lengths = crn_calloc(trace->span_count + (size_t)1, sizeof *lengths);
    crn_latency latency = {.count = 0};
    for (uint32_t s = 0; s < trace->span_count; s++)
        for (uint32_t at = s; at != CRN_SPAN_NONE; at = trace->spans[at].parent)
            done[at] = done[at] < ends[s] ? ends[s] : done[at];
    for (uint32_t s = 0; s < trace->span_count; s++) {
        const crn_span *span = &trace->spans[s];
        uint32_t block = span->block < block_count ? span->block : 0;
        if ((of ? block == of : span->parent == CRN_SPAN_NONE) && !span->open)
            lengths[latency.count++] = done[s] - begins[s];
    }
    qsort(lengths, latency.count, sizeof *lengths, crn_order_uint64);
    latency.median = at_rank(lengths, latency.count, 50);
    latency.p90 = at_rank(lengths, latency.count, 90);
    latency.p99 = at_rank(lengths, latency.count, 99);
    latency.max = latency.count ? lengths[latency.count - 1] : 0;
    crn_free(done);
    crn_free(lengths);
    return latency;
}

static void assert_latency(const crn_latency *found, const crn_latency *expected)
{
    assert_int_equal(found->count, expected->count);
    assert_near(found->median, expected->median);
    assert_near(found->p90, expected->p90);
    assert_near(found->p99, expected->p99);
    assert_near(found->max, expected->max);
}

/* ---- few against all ---- */

static void assert_recorded(const crn_trace *trace, const crn_replay *lean, uint32_t block_count,
                            uint32_t of)
{
    uint64_t *begins = crn_calloc(trace->span_count + (size_t)1, sizeof *begins);
    uint64_t *ends = crn_calloc(trace->span_count + (size_t)1, sizeof *ends);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        begins[s] = trace->spans[s].start;
        ends[s] = trace->spans[s].end;
    }
    crn_latency found = crn_replay_latency(lean, NULL);
    crn_latency expected = slow_latency(trace, block_count, of, begins, ends);
    assert_latency(&found, &expected);
    crn_free(begins);
    crn_free(ends);
}

static void assert_lean(const crn_trace *trace, const crn_replay_setup *setup,
                        const crn_scenario *scenario, uint32_t of)
{
    crn_replay_setup few = *setup, all = *setup;
    few.latency_of = of;
    few.every = false;
    all.every = true;
    crn_replay *lean = crn_replay_make(trace, &few), *every = crn_replay_make(trace, &all);
    const crn_replay_facts *facts = crn_replay_facts_of(lean), *its = crn_replay_facts_of(every);
    assert_near(facts->replayed, its->replayed);
    assert_int_equal(facts->loosened, its->loosened);
    assert_int_equal(facts->work, its->work);
    assert_int_equal(facts->shared, its->shared);
    crn_outcome found = {.begins = NULL}, expected = {.begins = NULL}, length = {.begins = NULL};
    crn_replay_run(lean, scenario, &found);
    crn_replay_run(every, scenario, &expected);
    assert_near(found.length, expected.length);
    assert_int_equal(found.loosened, expected.loosened);
    crn_scenario short_one = *scenario;
    short_one.length_only = true;
    crn_replay_run(lean, &short_one, &length);
    assert_int_equal(length.length, found.length);
    crn_latency fast = crn_replay_latency(lean, &found);
    crn_latency slow = slow_latency(trace, setup->block_count, of, expected.begins, expected.ends);
    assert_latency(&fast, &slow);
    assert_recorded(trace, lean, setup->block_count, of);
    crn_outcome_free(&found);
    crn_outcome_free(&expected);
    crn_outcome_free(&length);
    crn_replay_free(lean);
    crn_replay_free(every);
}

static void programs_come_out_alike(void **state)
{
    (void)state;
    random_source random = {17};
    int ran = 0;
    for (int round = 0; round < rounds(2000); round++) {
        model_program program = model_random(&random);
        model_recording recording = {0};
        if (model_run(&program, &recording) > 0) {
            uint32_t capacity[MODEL_BLOCKS] = {0};
            double factor[MODEL_BLOCKS];
            for (int stage = 0; stage < program.stages; stage++)
                capacity[MODEL_FIRST_STAGE + stage] = (uint32_t)program.capacity[stage];
            for (int b = 0; b < MODEL_BLOCKS; b++)
                factor[b] = (1 + random_below(&random, 200)) / 100.0;
            crn_replay_setup setup = {.block_count = MODEL_BLOCKS,
                                      .capacity = capacity,
                                      .cores = (unsigned)program.cores};
            assert_lean(&recording.trace, &setup,
                        &(crn_scenario){.factor = factor, .cores = random_below(&random, 5)},
                        random_below(&random, MODEL_BLOCKS));
            ran++;
        }
        model_recording_free(&recording);
        model_program_free(&program);
    }
    assert_true(ran > 0);
}

/* Processors for all lanes: when processors are shared, rounding decides which of two lanes that
 * end at one moment goes first, and the rest depends on that. */
static void any_recording_comes_out_alike(void **state)
{
    (void)state;
    random_source random = {19};
    for (int round = 0; round < rounds(4000); round++) {
        any_trace any;
        any_trace_make(&any, &random);
        any.setup.cores = 0;
        any.scenario.cores = 0;
        assert_lean(&any.trace, &any.setup, &any.scenario, random_below(&random, ANY_BLOCKS));
    }
}

/* ---- many ---- */

static void ranks_of_very_many_are_nearly_exact(void **state)
{
    (void)state;
    enum { MANY = 300000 };
    random_source random = {23};
    crn_span *spans = crn_calloc(MANY, sizeof *spans);
    uint64_t *begins = crn_calloc(MANY, sizeof *begins), *ends = crn_calloc(MANY, sizeof *ends);
    const char *name = "";
    crn_trace trace = {.spans = spans, .span_count = MANY, .lane_count = 1, .lanes = &name};
    uint64_t at = 0;
    for (uint32_t s = 0; s < MANY; s++) {
        begins[s] = at;
        at += random_below(&random, 1U << random_below(&random, 31));
        ends[s] = at;
        spans[s] = (crn_span){.start = begins[s], .end = at, .parent = CRN_SPAN_NONE};
    }
    crn_replay *replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = 1});
    crn_outcome outcome = {.begins = NULL};
    crn_replay_run(replay, &(crn_scenario){.factor = NULL}, &outcome);
    crn_latency exact = slow_latency(&trace, 1, 0, begins, ends);
    for (int predicted = 0; predicted < 2; predicted++) {
        crn_latency found = crn_replay_latency(replay, predicted ? &outcome : NULL);
        assert_int_equal(found.count, MANY);
        assert_int_equal(found.max, exact.max);
        assert_true(fabs((double)found.median / (double)exact.median - 1) < 1 / 2048.0);
        assert_true(fabs((double)found.p90 / (double)exact.p90 - 1) < 1 / 2048.0);
        assert_true(fabs((double)found.p99 / (double)exact.p99 - 1) < 1 / 2048.0);
    }
    crn_outcome_free(&outcome);
    crn_replay_free(replay);
    crn_free(spans);
    crn_free(begins);
    crn_free(ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_come_out_alike),
        cmocka_unit_test(any_recording_comes_out_alike),
        cmocka_unit_test(ranks_of_very_many_are_nearly_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
