/* SPDX-License-Identifier: MIT
 *
 * test_replay.c - predictions of replays. A simulation (support/model_program.c) runs random
 * programs of threads, queues and waits and produces the spans that they would record. Replays of
 * these with other speeds, threads and processors must agree with the simulation. Also hostile
 * recordings.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "replay/replay.h"
#include "support/any_trace.h"
#include "support/cases.h"
#include "support/model_program.h"
#include "support/random.h"
#include "support/scratch.h"

static int rounds(int all)
{
    return (int)scale((uint64_t)all);
}

static crn_replay_setup setup_of(const model_program *program, uint32_t *capacity)
{
    for (int stage = 0; stage < program->stages; stage++)
        capacity[MODEL_FIRST_STAGE + stage] = (uint32_t)program->capacity[stage];
    return (crn_replay_setup){.block_count = MODEL_BLOCKS,
                              .capacity = capacity,
                              .cores = (unsigned)program->cores,
                              .every = true};
}

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) <= 1e-6 * expected + 50)
        return;
    fail_msg("predicted %.0f, it is %.0f", found, expected);
}

/* ---- compared with the model ---- */

static void assert_predicts(random_source *random, const model_program *program,
                            const model_recording *recording)
{
    uint32_t capacity[MODEL_BLOCKS] = {0}, threads[MODEL_BLOCKS] = {0};
    double factor[MODEL_BLOCKS];
    model_program other = *program;
    crn_replay_setup setup = setup_of(program, capacity);
    crn_replay *replay = crn_replay_make(&recording->trace, &setup);
    const crn_replay_facts *facts = crn_replay_facts_of(replay);
    assert_int_equal(facts->movable, program->jobs);
    assert_int_equal(facts->loosened, 0);
    assert_near((double)facts->replayed, recording->length);
    assert_near((double)facts->work, model_work(program));
    assert_true(crn_replay_is_trusted(replay));
    for (uint32_t block = 0; block < MODEL_BLOCKS; block++)
        other.factor[block] = factor[block] =
            random_chance(random, 1, 2) ? (1 + random_below(random, 200)) / 100.0 : 1;
    if (random_chance(random, 1, 2))
        other.cores = 1 + (int)random_below(random, 4);
    for (int pool = 0; pool < other.pools && random_chance(random, 1, 2); pool++)
        other.workers[pool] = 1 + (int)random_below(random, MODEL_WORKERS);
    for (int stage = 0; stage < other.stages; stage++)
        threads[MODEL_FIRST_STAGE + stage] = (uint32_t)other.workers[other.pool_of[stage]];
    for (int stage = 0; stage < other.stages && random_chance(random, 1, 3); stage++)
        other.capacity[stage] = (int)random_below(random, 5);
    for (int stage = 0; stage < other.stages; stage++)
        capacity[MODEL_FIRST_STAGE + stage] = (uint32_t)other.capacity[stage];
    double length = model_run(&other, NULL);
    /* If no worker took jobs of two kinds, it cannot be known that one could. */
    bool known = facts->pool_count == (uint32_t)program->pools;
    if (length > 0 && known) { /* it does not lock up */
        crn_outcome outcome = {.begins = NULL};
        crn_replay_run(replay,
                       &(crn_scenario){.factor = factor,
                                       .cores = (unsigned)other.cores,
                                       .threads = threads,
                                       .capacity = capacity},
                       &outcome);
        assert_near((double)outcome.length, length);
        assert_int_equal(outcome.loosened, 0);
        crn_outcome_free(&outcome);
    }
    crn_replay_free(replay);
}

static void predicts_like_the_model(void **state)
{
    (void)state;
    random_source random = {7};
    int ran = 0;
    for (int round = 0; round < rounds(3000); round++) {
        model_program program = model_random(&random);
        model_recording recording = {0};
        if (model_run(&program, &recording) > 0) {
            assert_predicts(&random, &program, &recording);
            ran++;
        }
        model_recording_free(&recording);
        model_program_free(&program);
    }
    assert_true(ran > rounds(3000) / 2);
}

/* ---- against formulas ---- */

/* A pipeline of one worker a stage and as much room as there is: the first item passes through all
 * stages, then one comes out each time the slowest is done. */
static double pipeline_time(int items, const double *takes, int stages)
{
    double sum = 0, most = 0;
    for (int stage = 0; stage < stages; stage++) {
        sum += takes[stage];
        most = takes[stage] > most ? takes[stage] : most;
    }
    return sum + (items - 1) * most;
}

static void a_pipeline_is_as_fast_as_its_slowest_stage(void **state)
{
    (void)state;
    enum { ITEMS = 200 };
    static const uint64_t takes[3] = {3000000, 7000000, 5000000};
    static const double speedups[] = {1, 1.25, 2, 4, 1e9};
    model_program program = model_pipeline(ITEMS, takes, 3);
    model_recording recording = {0};
    model_run(&program, &recording);
    uint32_t capacity[MODEL_BLOCKS] = {0};
    crn_replay_setup setup = setup_of(&program, capacity);
    crn_replay *replay = crn_replay_make(&recording.trace, &setup);
    crn_outcome outcome = {.begins = NULL};
    for (int stage = 0; stage < 3; stage++)
        for (size_t s = 0; s < COUNT(speedups); s++) {
            double factor[MODEL_BLOCKS], expected[3];
            for (int block = 0; block < MODEL_BLOCKS; block++)
                factor[block] = 1;
            for (int other = 0; other < 3; other++)
                expected[other] = (double)takes[other] / (other == stage ? speedups[s] : 1);
            factor[MODEL_FIRST_STAGE + stage] = 1 / speedups[s];
            crn_replay_run(replay, &(crn_scenario){.factor = factor}, &outcome);
            assert_near((double)outcome.length, pipeline_time(ITEMS, expected, 3));
        }
    crn_outcome_free(&outcome);
    crn_replay_free(replay);
    model_recording_free(&recording);
    model_program_free(&program);
}

static void more_threads_help_until_something_else_is_slowest(void **state)
{
    (void)state;
    enum { ITEMS = 240 };
    static const uint64_t takes[3] = {1000000, 12000000, 3000000};
    model_program program = model_pipeline(ITEMS, takes, 3);
    model_recording recording = {0};
    model_run(&program, &recording);
    uint32_t capacity[MODEL_BLOCKS] = {0}, threads[MODEL_BLOCKS] = {0};
    crn_replay_setup setup = setup_of(&program, capacity);
    crn_replay *replay = crn_replay_make(&recording.trace, &setup);
    crn_outcome outcome = {.begins = NULL};
    static const double expected[] = {12, 6, 4, 3, 3, 3}; /* ms an item */
    for (uint32_t n = 1; n <= COUNT(expected); n++) {
        threads[MODEL_FIRST_STAGE + 1] = n;
        crn_replay_run(replay, &(crn_scenario){.threads = threads, .cores = 64}, &outcome);
        double each = (double)outcome.length / ITEMS / 1e6;
        assert_true(each >= expected[n - 1] && each < expected[n - 1] * 1.06);
    }
    /* On one processor all work is sequential. */
    crn_replay_run(replay, &(crn_scenario){.threads = threads, .cores = 1}, &outcome);
    assert_near((double)outcome.length, ITEMS * 16e6);
    crn_outcome_free(&outcome);
    crn_replay_free(replay);
    model_recording_free(&recording);
    model_program_free(&program);
}

static void priorities_of_kinds_are_inferred(void **state)
{
    (void)state;
    static const uint64_t takes[3] = {3000000, 7000000, 5000000};
    for (int latest_first = 0; latest_first < 2; latest_first++) {
        model_program program = model_pipeline(60, takes, 3);
        model_recording recording = {0};
        program.pools = 1;
        program.pool_of[0] = program.pool_of[1] = program.pool_of[2] = 0;
        program.workers[0] = 2;
        program.latest_first = latest_first;
        model_run(&program, &recording);
        uint32_t capacity[MODEL_BLOCKS] = {0};
        crn_replay_setup setup = setup_of(&program, capacity);
        crn_replay *replay = crn_replay_make(&recording.trace, &setup);
        const crn_replay_facts *facts = crn_replay_facts_of(replay);
        assert_int_equal(facts->pool_count, 1);
        assert_int_equal(facts->pools[0].lanes, 2);
        assert_int_equal(facts->pools[0].by_kind, latest_first);
        if (latest_first) /* of the other two there never was a choice */
            assert_int_equal(facts->pools[0].blocks[2], MODEL_FIRST_STAGE);
        /* The first item leaves early only where later stages go first. */
        crn_outcome outcome = {.begins = NULL};
        crn_replay_run(replay, &(crn_scenario){.factor = NULL}, &outcome);
        for (uint32_t s = 0; s < recording.trace.span_count; s++) {
            assert_near((double)outcome.begins[s], (double)recording.trace.spans[s].start);
            assert_near((double)outcome.ends[s], (double)recording.trace.spans[s].end);
        }
        crn_outcome_free(&outcome);
        crn_replay_free(replay);
        model_recording_free(&recording);
        model_program_free(&program);
    }
}

/* ---- small recordings by hand ---- */

static crn_trace trace_of(crn_span *spans, uint32_t count, uint32_t lanes)
{
    static const char *names[8] = {"main", "one", "two", "three", "", "", "", ""};
    return (crn_trace){.spans = spans, .span_count = count, .lane_count = lanes, .lanes = names};
}

static uint64_t length_with(const crn_replay *replay, uint32_t block, double speedup)
{
    double factor[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    crn_outcome outcome = {.begins = NULL};
    factor[block] = 1 / speedup;
    crn_replay_run(replay, &(crn_scenario){.factor = factor}, &outcome);
    uint64_t length = outcome.length;
    crn_outcome_free(&outcome);
    return length;
}

static void own_time_alone_is_scaled(void **state)
{
    (void)state;
    crn_span spans[] = {{.start = 1000, .end = 2000, .block = 1, .parent = CRN_SPAN_NONE},
                        {.start = 1100, .end = 1700, .block = 2, .parent = 0},
                        {.start = 1200, .end = 1400, .block = 3, .parent = 1}};
    crn_trace trace = trace_of(spans, COUNT(spans), 1);
    crn_replay *replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = 8});
    assert_int_equal(crn_replay_facts_of(replay)->replayed, 1000);
    assert_int_equal(length_with(replay, 1, 2), 800);
    assert_int_equal(length_with(replay, 2, 2), 800);
    assert_int_equal(length_with(replay, 3, 2), 900);
    assert_int_equal(length_with(replay, 4, 2), 1000);
    crn_replay_free(replay);
}

static void only_below_a_context(void **state)
{
    (void)state;
    crn_span spans[] = {{.start = 0, .end = 1000, .block = 1, .parent = CRN_SPAN_NONE},
                        {.start = 0, .end = 400, .block = 2, .parent = 0},
                        {.start = 0, .end = 300, .block = 3, .parent = 1},
                        {.start = 400, .end = 1000, .block = 4, .parent = 0},
                        {.start = 400, .end = 900, .block = 3, .parent = 3}};
    crn_trace trace = trace_of(spans, COUNT(spans), 1);
    uint8_t two[8] = {[2] = 1}, three[8] = {[3] = 1};
    const uint8_t *path[] = {two, three};
    uint8_t *below = crn_replay_below(&trace, 8, path, 2);
    static const uint8_t expected[] = {0, 0, 1, 0, 0};
    assert_memory_equal(below, expected, sizeof expected);
    double factor[8] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
    crn_outcome outcome = {.begins = NULL};
    crn_replay *replay =
        crn_replay_make(&trace, &(crn_replay_setup){.block_count = 8, .kept = below});
    crn_replay_run(replay, &(crn_scenario){.factor = factor}, &outcome);
    assert_int_equal(outcome.length, 850);
    crn_outcome_free(&outcome);
    crn_free(below);
    below = crn_replay_below(&trace, 8, path, 1); /* all below block 2 */
    static const uint8_t under[] = {0, 1, 1, 0, 0};
    assert_memory_equal(below, under, sizeof under);
    crn_free(below);
    crn_replay_free(replay);
}

/* main hands off a job and works on itself; only `at` its end it waits, or says nothing of it. */
static void a_join_that_is_not_recorded_is_guessed(void **state)
{
    (void)state;
    crn_span spans[] = {
        {.start = 0, .end = 1000, .block = 1, .parent = CRN_SPAN_NONE, .lane = 0},
        {.start = 0, .end = 300, .block = 2, .parent = 0, .lane = 0},
        {.start = 10, .end = 900, .block = 3, .parent = 0, .lane = 1, .handed_off = true}};
    crn_span_handoff handoffs[] = {{.span = 2, .taken = 10}};
    crn_trace trace = trace_of(spans, COUNT(spans), 2);
    trace.handoffs = handoffs;
    trace.handoff_count = 1;
    crn_replay *replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = 8});
    assert_int_equal(crn_replay_facts_of(replay)->guessed, 1);
    assert_int_equal(length_with(replay, 1, 1), 1000);
    assert_int_equal(length_with(replay, 3, 2), 555);
    assert_int_equal(length_with(replay, 3, 4), 400); /* its own work continues to 300, then 100 */
    crn_replay_free(replay);
    replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = 8, .no_guesses = true});
    assert_int_equal(crn_replay_facts_of(replay)->guessed, 0);
    assert_int_equal(length_with(replay, 3, 4), 1000);
    crn_replay_free(replay);
}

static void sleep_and_timers_are_not_work(void **state)
{
    (void)state;
    crn_span spans[] = {{.start = 0, .end = 100, .block = 1, .parent = CRN_SPAN_NONE},
                        {.start = 100, .end = 300, .block = 2, .parent = CRN_SPAN_NONE},
                        {.start = 300, .end = 400, .block = 1, .parent = CRN_SPAN_NONE}};
    crn_trace trace = trace_of(spans, COUNT(spans), 1);
    uint8_t rest[8] = {[2] = CRN_REST_SLEEP};
    crn_replay *replay =
        crn_replay_make(&trace, &(crn_replay_setup){.block_count = 8, .rest = rest});
    assert_int_equal(length_with(replay, 2, 4), 400);
    assert_int_equal(length_with(replay, 1, 2), 300);
    crn_replay_free(replay);
    rest[2] = CRN_REST_TIMER;
    replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = 8, .rest = rest});
    assert_int_equal(length_with(replay, 1, 2), 350);
    assert_int_equal(length_with(replay, 1, 0.25), 800); /* a span that has ended is not waited
                                                            for */
    crn_replay_free(replay);
}

/* A span with 10 ms of self time worked for 4 ms; it waited unrecorded for the other 6 ms. */
static void time_without_processor_is_not_scaled(void **state)
{
    (void)state;
    enum { MS = 1000000 };
    crn_span spans[] = {{.start = 0, .end = 16 * MS, .block = 1, .parent = CRN_SPAN_NONE},
                        {.start = 2 * MS, .end = 8 * MS, .block = 2, .parent = 0},
                        {.start = 20 * MS, .end = 24 * MS, .block = 2, .parent = CRN_SPAN_NONE}};
    uint64_t cpu[] = {10 * MS, 6 * MS, UINT64_MAX};
    crn_trace trace = trace_of(spans, COUNT(spans), 1);
    trace.cpu = cpu;
    crn_replay *replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = 8});
    assert_int_equal(crn_replay_facts_of(replay)->idle, 6 * MS);
    assert_int_equal(crn_replay_facts_of(replay)->work, 14 * MS);
    assert_int_equal(crn_replay_facts_of(replay)->replayed, 24 * MS);
    assert_int_equal(length_with(replay, 1, 2), 22 * MS);
    assert_int_equal(length_with(replay, 2, 2), 19 * MS);
    crn_replay_free(replay);
}

/* One of two lanes does not take its next job although it is ready: unexplained idle time. */
static void an_idle_thread_is_not_trusted(void **state)
{
    (void)state;
    enum { MS = 1000000 };
    crn_span spans[] = {
        {.start = 0, .end = 100 * MS, .block = 1, .parent = CRN_SPAN_NONE, .lane = 0},
        {.start = 10 * MS, .end = 20 * MS, .block = 2, .parent = 0, .lane = 1, .handed_off = true},
        {.start = 90 * MS, .end = 99 * MS, .block = 2, .parent = 0, .lane = 1, .handed_off = true}};
    crn_span_handoff handoffs[] = {{1, 1, 10 * MS}, {2, 2, 11 * MS}};
    crn_trace trace = trace_of(spans, COUNT(spans), 2);
    trace.handoffs = handoffs;
    trace.handoff_count = 2;
    crn_replay *replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = 8});
    const crn_replay_facts *facts = crn_replay_facts_of(replay);
    assert_int_equal(facts->lanes[1].unexplained, 70 * MS - CRN_REPLAY_WAKE_NS);
    assert_int_equal(facts->lanes[1].before, 2);
    assert_true(crn_replay_is_odd(replay, &facts->lanes[1]));
    assert_false(crn_replay_is_trusted(replay));
    assert_true(crn_replay_drift(replay) < -0.5);
    crn_replay_free(replay);
    handoffs[1].taken = 90 * MS; /* now there is one */
    replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = 8});
    assert_true(crn_replay_is_trusted(replay));
    assert_int_equal(crn_replay_facts_of(replay)->replayed, 100 * MS);
    crn_replay_free(replay);
}

static void spans_below_one_adoption_are_one_job(void **state)
{
    (void)state;
    crn_span spans[] = {
        {.start = 0, .end = 100, .block = 1, .parent = CRN_SPAN_NONE, .lane = 0},
        {.start = 10, .end = 20, .block = 2, .parent = 0, .lane = 1, .handed_off = true},
        {.start = 20, .end = 30, .block = 3, .parent = 0, .lane = 1, .handed_off = true},
        {.start = 30, .end = 40, .block = 2, .parent = 0, .lane = 1, .handed_off = true}};
    crn_span_handoff handoffs[] = {{1, 1, 5}, {2, 1, 5}, {3, 2, 5}};
    crn_trace trace = trace_of(spans, COUNT(spans), 2);
    trace.handoffs = handoffs;
    trace.handoff_count = 3;
    crn_replay *replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = 8});
    assert_int_equal(crn_replay_facts_of(replay)->jobs, 2);
    assert_int_equal(crn_replay_facts_of(replay)->movable, 2);
    crn_replay_free(replay);
}

/* ---- replays of captures that the runtime recorded ---- */

/* main hands off twice with one token; a worker takes both; main waits for the first. */
static void record(const char *path)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    cairn_profile *profile;
    options.path = path;
    options.spans = true;
    assert_int_equal(cairn_profile_open(&profile, &options), CAIRN_OK);
    cairn_block block = cairn_block_add(profile, &(cairn_block_info){.name = "work"});
    cairn_profile_note(profile, "queue.work", "3");
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "main"));
    cairn_strand *other = cairn_strand_open(cairn_lane_open(profile, "worker"));
    cairn_span_begin(strand, block, 0);
    cairn_handoff handoff = cairn_handoff_take(strand);
    cairn_span waited = 0;
    for (int adoption = 0; adoption < 2; adoption++) {
        cairn_handoff_adopt(other, handoff);
        for (int span = 0; span < 2; span++) {
            cairn_span_begin(other, block, span);
            waited = cairn_span_current(other);
            cairn_span_end(other);
        }
        cairn_handoff_leave(other);
    }
    cairn_span_waits_for(strand, waited);
    cairn_span_end(strand);
    cairn_profile_close(profile);
}

static void replays_find_all_recorded_edges(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    crn_error error = {0};
    record(scratch_path(path, "replay.cairn"));
    crn_profile *profile = crn_profile_load(path, &error);
    crn_trace *trace = crn_trace_load(path, &error);
    assert_non_null(profile);
    assert_non_null(trace);
    assert_int_equal(trace->handoff_count, 4);
    for (uint32_t h = 0; h < 4; h++) {
        const crn_span_handoff *handoff = &trace->handoffs[h];
        const crn_span *span = &trace->spans[handoff->span];
        assert_true(trace->spans[span->parent].start <= handoff->taken);
        assert_true(handoff->taken <= span->start && handoff->taken > 0);
        assert_int_equal(handoff->taken, trace->handoffs[0].taken);
        assert_int_equal(handoff->adoption == trace->handoffs[0].adoption, h < 2);
        assert_true(handoff->adoption != 0);
    }
    assert_int_equal(trace->edge_count, 1);
    const crn_span_edge *edge = &trace->edges[0];
    assert_true(edge->at >= trace->spans[edge->to].end && edge->at <= trace->spans[edge->from].end);
    crn_replay_setup setup = crn_replay_setup_read(profile);
    assert_true(setup.cores >= 1);
    assert_int_equal(setup.capacity[trace->spans[0].block], 3);
    crn_replay *replay = crn_replay_make(trace, &setup);
    assert_int_equal(crn_replay_facts_of(replay)->jobs, 2);
    assert_int_equal(crn_replay_facts_of(replay)->undated, 0);
    crn_replay_free(replay);
    crn_replay_setup_free(&setup);
    crn_trace_free(trace);
    crn_profile_free(profile);
}

/* ---- hostile recordings ---- */

static void any_recording_is_run_to_its_end(void **state)
{
    (void)state;
    random_source random = {11};
    for (int round = 0; round < rounds(4000); round++) {
        any_trace any;
        any_trace_make(&any, &random);
        crn_replay *replay = crn_replay_make(&any.trace, &any.setup);
        crn_outcome outcome = {.begins = NULL}, again = {.begins = NULL};
        crn_replay_run(replay, &any.scenario, &outcome);
        crn_replay_run(replay, &any.scenario, &again);
        assert_int_equal(outcome.length, again.length);
        assert_memory_equal(outcome.ends, again.ends, any.trace.span_count * sizeof *again.ends);
        for (uint32_t s = 0; s < any.trace.span_count; s++)
            assert_true(outcome.begins[s] <= outcome.ends[s]);
        crn_replay_latency(replay, &outcome);
        crn_outcome_free(&outcome);
        crn_outcome_free(&again);
        crn_replay_free(replay);
    }
}

/* If each lane runs its recorded jobs and all waits were in the past, nothing deadlocks, and
 * without unexplained time the replay equals the recording. */
static void any_recording_can_be_replayed(void **state)
{
    (void)state;
    random_source random = {13};
    for (int round = 0; round < rounds(2000); round++) {
        model_program program = model_random(&random);
        model_recording recording = {0};
        if (model_run(&program, &recording) > 0) {
            uint32_t capacity[MODEL_BLOCKS] = {0};
            crn_replay_setup setup = setup_of(&program, capacity);
            setup.fixed = true;
            crn_replay *replay = crn_replay_make(&recording.trace, &setup);
            assert_int_equal(crn_replay_facts_of(replay)->movable, 0);
            assert_int_equal(crn_replay_facts_of(replay)->loosened, 0);
            assert_near((double)crn_replay_facts_of(replay)->replayed, recording.length);
            crn_replay_free(replay);
        }
        model_recording_free(&recording);
        model_program_free(&program);
    }
}

static void waits_in_a_circle_end(void **state)
{
    (void)state;
    crn_span spans[] = {
        {.start = 5, .end = 5, .block = 1, .parent = CRN_SPAN_NONE, .lane = 0},
        {.start = 5, .end = 5, .block = 2, .parent = CRN_SPAN_NONE, .lane = 1},
        {.start = 5, .end = 9, .block = 2, .parent = CRN_SPAN_NONE, .lane = 2, .open = true}};
    crn_span_edge edges[] = {
        {0, 1, CRN_EDGE_FOLLOWS, 0}, {0, 2, CRN_EDGE_WAITS, 0}, {1, 0, CRN_EDGE_FOLLOWS, 0}};
    crn_trace trace = trace_of(spans, COUNT(spans), 3);
    trace.edges = edges;
    trace.edge_count = COUNT(edges);
    crn_replay *replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = 8});
    assert_true(crn_replay_facts_of(replay)->loosened > 0);
    assert_int_equal(crn_replay_facts_of(replay)->contradicted, 1); /* it has never ended */
    assert_false(crn_replay_is_trusted(replay));
    crn_replay_free(replay);
}

static void assert_runs(const crn_trace *trace, uint64_t length)
{
    crn_replay *replay = crn_replay_make(trace, &(crn_replay_setup){.block_count = 8, .cores = 2});
    assert_int_equal(crn_replay_facts_of(replay)->replayed, length);
    assert_int_equal(crn_replay_facts_of(replay)->recorded, length);
    crn_replay_free(replay);
}

static void a_million_on_one_lane(void **state)
{
    (void)state;
    enum { MANY = 1000000 };
    uint32_t many = (uint32_t)rounds(MANY);
    crn_span *spans = crn_calloc(many, sizeof *spans);
    crn_trace trace = trace_of(spans, many, 1);
    for (uint32_t s = 0; s < many; s++) /* one after the other */
        spans[s] = (crn_span){.start = 2 * (uint64_t)s,
                              .end = 2 * (uint64_t)s + 1,
                              .block = s % 8,
                              .parent = CRN_SPAN_NONE};
    assert_runs(&trace, 2 * (uint64_t)many - 1);
    for (uint32_t s = 0; s < many; s++) /* each in the one before */
        spans[s] = (crn_span){
            .start = s, .end = 2 * (uint64_t)many - s, .parent = s ? s - 1 : CRN_SPAN_NONE};
    assert_runs(&trace, 2 * (uint64_t)many);
    for (uint32_t s = 0; s < many; s++) /* not nested, as of many strands */
        spans[s] = (crn_span){.start = s, .end = s + (uint64_t)many, .parent = CRN_SPAN_NONE};
    assert_runs(&trace, 2 * (uint64_t)many - 1);
    crn_free(spans);
}

static void latencies_are_of_all_that_was_asked_for(void **state)
{
    (void)state;
    crn_span spans[] = {
        {.start = 100, .end = 200, .block = 1, .parent = CRN_SPAN_NONE, .lane = 0},
        {.start = 150, .end = 900, .block = 2, .parent = 0, .lane = 1, .handed_off = true},
        {.start = 300, .end = 400, .block = 1, .parent = CRN_SPAN_NONE, .lane = 0}};
    crn_trace trace = trace_of(spans, COUNT(spans), 2);
    crn_replay *replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = 8});
    crn_latency latency = crn_replay_latency(replay, NULL);
    assert_int_equal(latency.count, 2);
    assert_int_equal(latency.median, 100);
    assert_int_equal(latency.max, 800);
    assert_true(fabs(latency.throughput - 2 / 800e-9) < 1);
    crn_replay_free(replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicts_like_the_model),
        cmocka_unit_test(any_recording_can_be_replayed),
        cmocka_unit_test(a_pipeline_is_as_fast_as_its_slowest_stage),
        cmocka_unit_test(more_threads_help_until_something_else_is_slowest),
        cmocka_unit_test(priorities_of_kinds_are_inferred),
        cmocka_unit_test(own_time_alone_is_scaled),
        cmocka_unit_test(only_below_a_context),
        cmocka_unit_test(a_join_that_is_not_recorded_is_guessed),
        cmocka_unit_test(sleep_and_timers_are_not_work),
        cmocka_unit_test(time_without_processor_is_not_scaled),
        cmocka_unit_test(an_idle_thread_is_not_trusted),
        cmocka_unit_test(spans_below_one_adoption_are_one_job),
        cmocka_unit_test(replays_find_all_recorded_edges),
        cmocka_unit_test(any_recording_is_run_to_its_end),
        cmocka_unit_test(waits_in_a_circle_end),
        cmocka_unit_test(a_million_on_one_lane),
        cmocka_unit_test(latencies_are_of_all_that_was_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
