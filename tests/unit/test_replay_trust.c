/* SPDX-License-Identifier: MIT
 *
 * test_replay_trust.c - predictions for programs with timers, locks, dropped jobs and waits that
 * nobody described. Each scenario is simulated here, step by step, as it would run with the part
 * faster: that is the truth. A prediction that is more than 10 % wrong must not be trusted.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "replay/replay.h"
#include "support/cases.h"
#include "support/random.h"
#include "support/scratch.h"

enum { MS = 1000000, MOST_SPANS = 4096, BLOCKS = 8, MAIN = 1, FIRST, SECOND, WAIT };

typedef struct recording {
    crn_span spans[MOST_SPANS];
    crn_span_handoff handoffs[MOST_SPANS];
    uint32_t count, handoff_count, lanes;
} recording;

typedef struct parts {
    double factor[BLOCKS];
    uint64_t seed;
} parts;

static uint32_t add(recording *recording, uint32_t lane, uint32_t block, double start, double end)
{
    uint32_t span = recording->count++;
    recording->spans[span] = (crn_span){.start = (uint64_t)start,
                                        .end = (uint64_t)end,
                                        .block = block,
                                        .parent = CRN_SPAN_NONE,
                                        .lane = lane};
    recording->lanes = lane >= recording->lanes ? lane + 1 : recording->lanes;
    return span;
}

static void add_job(recording *recording, uint32_t lane, uint32_t block, double start, double end,
                    uint32_t parent)
{
    uint32_t span = add(recording, lane, block, start, end);
    recording->spans[span].parent = parent;
    recording->spans[span].handed_off = true;
    recording->handoffs[recording->handoff_count++] =
        (crn_span_handoff){span, span, recording->spans[parent].end};
}

/* A stream of random numbers for each block, so that a scenario with other speeds has the same
 * work; the first is for wake-ups. */
typedef struct sources {
    random_source of[BLOCKS];
} sources;

static sources sources_of(const parts *parts)
{
    sources sources;
    for (uint64_t block = 0; block < BLOCKS; block++)
        sources.of[block] = (random_source){parts->seed * BLOCKS + block};
    return sources;
}

/* Returns a thread's delay at a wake-up, in ns. */
static double wake(sources *random)
{
    return 20000 + (double)random_below(&random->of[0], 60000);
}

/* Sleep-modelled work: its length, a little late. */
static double takes(sources *random, const parts *parts, uint32_t block, double ms)
{
    return ms * MS * parts->factor[block] + wake(random);
}

static double varies(sources *random, const parts *parts, uint32_t block, double ms)
{
    double share = 0.7 + 0.6 * (double)random_below(&random->of[block], 1000) / 1000;
    return takes(random, parts, block, ms * share);
}

/* ---- scenarios: each appends the spans and returns nothing ---- */

enum { TURNS = 120, MOST_TURNS = 4 * TURNS };

/* A camera that takes a picture each 33.3 ms (an absolute schedule). */
static void camera(recording *out, const parts *parts)
{
    sources random = sources_of(parts);
    double now = MS, due = MS;
    for (int i = 0; i < TURNS; i++) {
        now = (now > due ? now : due) + wake(&random);
        double end = now + takes(&random, parts, FIRST, 10);
        add(out, 0, FIRST, now, end);
        now = end;
        due += 33.3 * MS;
    }
}

/* The same inside of a span that lasts as long as the program. */
static void camera_in_main(recording *out, const parts *parts)
{
    uint32_t whole = add(out, 0, MAIN, MS, 0);
    camera(out, parts);
    for (uint32_t s = 1; s < out->count; s++)
        out->spans[s].parent = whole;
    out->spans[whole].end = out->spans[out->count - 1].end + 1000;
}

/* A camera that sleeps as long as it did before, after its work: no timer. */
static void relative_camera(recording *out, const parts *parts)
{
    sources random = sources_of(parts);
    double now = MS;
    for (int i = 0; i < TURNS; i++) {
        double end = now + takes(&random, parts, FIRST, 10);
        add(out, 0, FIRST, now, end);
        now = end + 20 * MS + wake(&random);
    }
}

/* Equal work, one after the other. */
static void steady_work(recording *out, const parts *parts)
{
    sources random = sources_of(parts);
    double now = MS;
    for (int i = 0; i < TURNS; i++) {
        double between = now + takes(&random, parts, FIRST, 10);
        add(out, 0, FIRST, now, between);
        now = between + takes(&random, parts, SECOND, 6);
        add(out, 0, SECOND, between, now);
    }
}

/* Work of `ms`, and a wait for the next multiple of 16.667 ms. */
static void vsync(recording *out, const parts *parts, double ms)
{
    const double period = 16.667 * MS;
    sources random = sources_of(parts);
    double now = 5 * MS;
    for (int i = 0; i < TURNS; i++) {
        double end = now + takes(&random, parts, FIRST, ms);
        add(out, 0, FIRST, now, end);
        now = (floor(end / period) + 1) * period + wake(&random);
        add(out, 0, WAIT, end, now);
    }
}

static void vsync_short(recording *out, const parts *parts)
{
    vsync(out, parts, 6);
}

static void vsync_missed(recording *out, const parts *parts)
{
    vsync(out, parts, 20);
}

/* Output at most each 10 ms: a wait up to 10 ms after the last one. */
static void limited_rate(recording *out, const parts *parts)
{
    sources random = sources_of(parts);
    double now = 5 * MS, next = 0;
    for (int i = 0; i < TURNS; i++) {
        double end = now + takes(&random, parts, FIRST, 6);
        add(out, 0, FIRST, now, end);
        now = end < next ? next + wake(&random) : end + 1000;
        add(out, 0, WAIT, end, now);
        next = now + 10 * MS;
    }
}

/* Threads that work outside of a lock and inside; the one that asked first gets it. */
static void lock(recording *out, const parts *parts, double outside, double inside, int threads,
                 bool spans)
{
    enum { THREADS = 3 }; /* at most */
    sources random = sources_of(parts);
    double now[THREADS] = {MS, MS, MS}, ready[THREADS], free_at = 0;
    int done[THREADS] = {0};
    for (int t = 0; t < threads; t++) {
        ready[t] = now[t] + varies(&random, parts, FIRST, outside);
        add(out, (uint32_t)t, FIRST, now[t], ready[t]);
    }
    for (int turn = 0; turn < threads * TURNS; turn++) {
        int next = -1;
        for (int t = 0; t < threads; t++)
            if (done[t] < TURNS && (next < 0 || ready[t] < ready[next]))
                next = t;
        double start = ready[next] > free_at ? ready[next] : free_at + wake(&random);
        free_at = start + varies(&random, parts, SECOND, inside);
        if (spans)
            add(out, (uint32_t)next, WAIT, ready[next], start);
        add(out, (uint32_t)next, SECOND, start, free_at);
        if (++done[next] < TURNS) {
            ready[next] = free_at + varies(&random, parts, FIRST, outside);
            add(out, (uint32_t)next, FIRST, free_at, ready[next]);
        }
    }
}

static void contended(recording *out, const parts *parts)
{
    lock(out, parts, 6, 4, 3, false);
}

static void hardly_contended(recording *out, const parts *parts)
{
    lock(out, parts, 20, 4, 3, false);
}

static void contended_with_waits(recording *out, const parts *parts)
{
    lock(out, parts, 6, 4, 3, true);
}

static void hardly_contended_with_waits(recording *out, const parts *parts)
{
    lock(out, parts, 20, 4, 3, true);
}

static void two_with_waits(recording *out, const parts *parts)
{
    lock(out, parts, 2, 4, 2, true);
}

/* Threads that work independently. */
static void independent(recording *out, const parts *parts)
{
    sources random = sources_of(parts);
    for (uint32_t t = 0; t < 3; t++) {
        double now = MS;
        for (int i = 0; i < TURNS; i++) {
            double between = now + varies(&random, parts, FIRST, 6);
            add(out, t, FIRST, now, between);
            now = between + varies(&random, parts, SECOND, 4);
            add(out, t, SECOND, between, now);
        }
    }
}

/* A queue of 2 that drops the oldest, or the newest. The producer hands a job off at the end of its
 * span. */
static void drops(recording *out, const parts *parts, bool newest, int turns, bool items)
{
    sources random = sources_of(parts);
    uint32_t parent[MOST_TURNS];
    double at[MOST_TURNS], now = MS, free_at = 0;
    for (int i = 0; i < turns; i++) {
        double end = now + varies(&random, parts, FIRST, 10);
        uint32_t item = items ? add(out, 0, MAIN, now, end) : CRN_SPAN_NONE;
        parent[i] = add(out, 0, FIRST, now, end);
        out->spans[parent[i]].parent = item;
        at[i] = now = end;
    }
    int queued[2], count = 0;
    for (int i = 0; i < turns; i++) {
        double next = i + 1 < turns ? at[i + 1] : INFINITY;
        if (count == 2 && !newest)
            queued[0] = queued[--count];
        if (count < 2)
            queued[count++] = i;
        while (count) {
            int job = queued[0];
            double start = free_at > at[job] ? free_at : at[job] + wake(&random);
            if (start >= next)
                break;
            queued[0] = queued[--count];
            free_at = start + varies(&random, parts, SECOND, 25);
            add_job(out, 1, SECOND, start, free_at, parent[job]);
        }
    }
}

static void drops_oldest(recording *out, const parts *parts)
{
    drops(out, parts, false, MOST_TURNS, false);
}

/* A span around all work for an item. */
static void drops_items(recording *out, const parts *parts)
{
    drops(out, parts, false, MOST_TURNS, true);
}

/* Few jobs run, so that it matters which ones. */
static void drops_most(recording *out, const parts *parts)
{
    drops(out, parts, false, TURNS / 2, false);
}

static void drops_newest(recording *out, const parts *parts)
{
    drops(out, parts, true, MOST_TURNS, false);
}

/* A consumer that is fast enough: nothing is dropped. */
static void pipeline(recording *out, const parts *parts)
{
    sources random = sources_of(parts);
    double now = MS, free_at = 0;
    for (int i = 0; i < TURNS; i++) {
        double end = now + varies(&random, parts, FIRST, 10);
        uint32_t parent = add(out, 0, FIRST, now, end);
        double start = free_at > end ? free_at : end + wake(&random);
        free_at = start + varies(&random, parts, SECOND, 12);
        add_job(out, 1, SECOND, start, free_at, parent);
        now = end;
    }
}

/* Each tenth span hands a job off, whatever the consumer does. */
static void some_jobs(recording *out, const parts *parts)
{
    sources random = sources_of(parts);
    double now = MS, free_at = 0;
    for (int i = 0; i < TURNS; i++) {
        double end = now + varies(&random, parts, FIRST, 10);
        uint32_t parent = add(out, 0, FIRST, now, end);
        now = end;
        if (i % 3)
            continue;
        double start = free_at > end ? free_at : end + wake(&random);
        free_at = start + varies(&random, parts, SECOND, 12);
        add_job(out, 1, SECOND, start, free_at, parent);
    }
}

/* A wait for a future: nobody says for which span. */
static void future(recording *out, const parts *parts)
{
    sources random = sources_of(parts);
    double now = MS;
    for (int i = 0; i < TURNS; i++) {
        double asked = now + wake(&random), other = asked + varies(&random, parts, SECOND, 12);
        add(out, 1, SECOND, asked, other);
        double own = now + varies(&random, parts, FIRST, 7);
        add(out, 0, FIRST, now, own);
        now = (own > other ? own : other) + wake(&random);
        add(out, 0, WAIT, own, now);
    }
}

/* Threads that meet after each turn. */
static void barrier(recording *out, const parts *parts)
{
    sources random = sources_of(parts);
    double now[2] = {MS, MS};
    for (int i = 0; i < TURNS; i++) {
        double first = now[0] + varies(&random, parts, FIRST, 8);
        double second = now[1] + varies(&random, parts, SECOND, 8);
        double last = first > second ? first : second;
        add(out, 0, FIRST, now[0], first);
        add(out, 1, SECOND, now[1], second);
        now[0] = last + wake(&random);
        now[1] = last + wake(&random);
    }
}

/* ---- the collection ---- */

typedef struct scenario {
    const char *name;
    void (*run)(recording *out, const parts *parts);
    double noted_ms; /* period of the timer that WAIT is noted to be; 0: no note */
    bool noted_lock; /* SECOND is noted as a lock, for which WAIT waits */
    bool must_trust; /* the model has all that matters, for the speed-ups up to `up_to` */
    double from, up_to;
    crn_full full; /* of the queue of 2 of SECOND, noted; CRN_FULL_WAITS: no note */
} scenario;

static const scenario scenarios[] = {
    {"camera", camera, 0, false, true, 0.5, 4, CRN_FULL_WAITS},
    {"camera in main", camera_in_main, 0, false, true, 0.5, 4, CRN_FULL_WAITS},
    {"relative sleep", relative_camera, 0, false, false, 0, 0, CRN_FULL_WAITS},
    {"steady work", steady_work, 0, false, false, 0, 0, CRN_FULL_WAITS},
    {"vsync", vsync_short, 0, false, true, 0.5, 4, CRN_FULL_WAITS},
    {"vsync, noted", vsync_short, 16.667, false, true, 0.2, 4, CRN_FULL_WAITS},
    {"vsync missed", vsync_missed, 0, false, false, 0, 0, CRN_FULL_WAITS},
    {"vsync missed, noted", vsync_missed, 16.667, false, true, 0.2, 4, CRN_FULL_WAITS},
    {"limited rate", limited_rate, 0, false, false, 0, 0, CRN_FULL_WAITS},
    {"lock", contended, 0, false, false, 0, 0, CRN_FULL_WAITS},
    {"rare lock", hardly_contended, 0, false, false, 0, 0, CRN_FULL_WAITS},
    {"lock, noted", contended, 0, true, true, 0.2, 4, CRN_FULL_WAITS},
    {"rare lock, noted", hardly_contended, 0, true, true, 0.2, 4, CRN_FULL_WAITS},
    {"lock with waits", contended_with_waits, 0, false, false, 0, 0, CRN_FULL_WAITS},
    {"lock with waits, noted", contended_with_waits, 0, true, true, 0.2, 4, CRN_FULL_WAITS},
    {"rare lock with waits, noted", hardly_contended_with_waits, 0, true, true, 0.2, 4,
     CRN_FULL_WAITS},
    {"lock of two, with waits, noted", two_with_waits, 0, true, true, 0.2, 4, CRN_FULL_WAITS},
    {"independent", independent, 0, false, true, 0.2, 4, CRN_FULL_WAITS},
    {"drops", drops_oldest, 0, false, false, 0, 0, CRN_FULL_WAITS},
    {"drops the oldest, noted", drops_oldest, 0, false, true, 0.5, 4, CRN_FULL_DROPS_OLDEST},
    {"drops items, noted", drops_items, 0, false, true, 0.5, 4, CRN_FULL_DROPS_OLDEST},
    {"drops most, noted", drops_most, 0, false, false, 0, 0, CRN_FULL_DROPS_OLDEST},
    {"drops the newest, noted", drops_newest, 0, false, true, 0.5, 4, CRN_FULL_DROPS_NEWEST},
    {"pipeline", pipeline, 0, false, true, 0.2, 4, CRN_FULL_WAITS},
    {"some jobs", some_jobs, 0, false, true, 0.2, 4, CRN_FULL_WAITS},
    {"future", future, 0, false, false, 0, 0, CRN_FULL_WAITS},
    {"barrier", barrier, 0, false, false, 0, 0, CRN_FULL_WAITS},
};

static const double speedups[] = {0.2, 0.5, 1.25, 2, 4};

static double length_of(const recording *recording)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t s = 0; s < recording->count; s++) {
        first = recording->spans[s].start < first ? recording->spans[s].start : first;
        last = recording->spans[s].end > last ? recording->spans[s].end : last;
    }
    return (double)(last - first);
}

/* Returns the median latency of root spans whose job was not dropped, up to the end of that. */
static double latency_of(const recording *recording)
{
    double *ends = crn_calloc(recording->count, sizeof *ends);
    uint32_t count = 0;
    for (uint32_t s = 0; s < recording->count; s++) {
        const crn_span *span = &recording->spans[s];
        if (span->handed_off)
            ends[count++] = (double)(span->end - recording->spans[span->parent].start);
    }
    qsort(ends, count, sizeof *ends, crn_order_double);
    double median = ends[(count + 1) / 2 - 1];
    crn_free(ends);
    return median;
}

typedef struct tally {
    unsigned right, distrusted; /* right: error of at most 5 % */
} tally;

static void check(const scenario *scenario, const crn_replay *replay, parts *parts, uint32_t block,
                  double speedup, tally *tally)
{
    crn_outcome outcome = {.begins = NULL};
    recording *truth = crn_calloc(1, sizeof *truth);
    parts->factor[block] = 1 / speedup;
    scenario->run(truth, parts);
    bool length_only = scenario->full == CRN_FULL_WAITS;
    crn_replay_run(replay, &(crn_scenario){.factor = parts->factor, .length_only = length_only},
                   &outcome);
    parts->factor[block] = 1;
    bool trusted = crn_replay_is_trusted(replay) && !crn_replay_is_late(replay, &outcome) &&
                   !crn_replay_has_few(replay, &outcome);
    double error = (double)outcome.length / length_of(truth) - 1;
    bool must = scenario->must_trust && speedup >= scenario->from && speedup <= scenario->up_to;
    if ((trusted && fabs(error) > 0.1) || (must && (!trusted || fabs(error) > 0.05)))
        fail_msg("%s, block %u %g times faster: %+.1f %%, %s (%u doubts)", scenario->name, block,
                 speedup, 100 * error, trusted ? "trusted" : "not trusted",
                 crn_replay_facts_of(replay)->doubt_count);
    double latency =
        length_only ? 0
                    : (double)crn_replay_latency(replay, &outcome).median / latency_of(truth) - 1;
    if (must && fabs(latency) > 0.1)
        fail_msg("%s, block %u %g times faster: median latency %+.1f %%", scenario->name, block,
                 speedup, 100 * latency);
    tally->right += fabs(error) <= 0.05;
    tally->distrusted += fabs(error) <= 0.05 && !trusted;
    crn_free(truth);
    crn_outcome_free(&outcome);
}

static void run_scenario(const scenario *scenario, uint64_t seed, tally *tally)
{
    static const char *names[] = {"one", "two", "three", "four"};
    recording *recording = crn_calloc(1, sizeof *recording);
    parts parts = {{1, 1, 1, 1, 1, 1, 1, 1}, seed};
    uint64_t period[BLOCKS] = {[WAIT] = (uint64_t)(scenario->noted_ms * MS)};
    uint8_t rest[BLOCKS] = {[SECOND] = scenario->noted_lock ? CRN_REST_LOCK : CRN_REST_NONE,
                            [WAIT] = scenario->noted_lock     ? CRN_REST_WAIT
                                     : scenario->noted_ms > 0 ? CRN_REST_TIMER
                                                              : CRN_REST_NONE};
    uint32_t capacity[BLOCKS] = {[SECOND] = scenario->full ? 2 : 0};
    uint8_t full[BLOCKS] = {[SECOND] = (uint8_t)scenario->full};
    scenario->run(recording, &parts);
    bool has_second = false;
    for (uint32_t s = 0; s < recording->count; s++)
        has_second |= recording->spans[s].block == SECOND;
    crn_trace trace = {.spans = recording->spans,
                       .span_count = recording->count,
                       .handoffs = recording->handoffs,
                       .handoff_count = recording->handoff_count,
                       .lane_count = recording->lanes,
                       .lanes = names};
    crn_replay *replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = BLOCKS,
                                                                     .capacity = capacity,
                                                                     .full = full,
                                                                     .rest = rest,
                                                                     .period = period});
    for (size_t s = 0; s < COUNT(speedups); s++)
        for (uint32_t block = FIRST; block <= (has_second ? SECOND : FIRST); block++)
            check(scenario, replay, &parts, block, speedups[s], tally);
    crn_replay_free(replay);
    crn_free(recording);
}

static void a_wrong_prediction_is_not_trusted(void **state)
{
    (void)state;
    tally tally = {0};
    for (uint64_t seed = 1; seed <= (uint64_t)scale(20); seed++)
        for (size_t i = 0; i < COUNT(scenarios); i++)
            run_scenario(&scenarios[i], seed, &tally);
    print_message("# %u of %u right predictions were not trusted\n", tally.distrusted, tally.right);
    assert_true(tally.distrusted * 5 <= tally.right);
}

/* ---- the table of effects ---- */

static void effects_tell_missed_timers(void **state)
{
    (void)state;
    static const char *names[] = {"one"};
    recording *recording = crn_calloc(1, sizeof *recording);
    parts parts = {{1, 1, 1, 1, 1, 1, 1, 1}, 1};
    vsync_missed(recording, &parts);
    crn_trace trace = {
        .spans = recording->spans, .span_count = recording->count, .lane_count = 1, .lanes = names};
    crn_replay *replay = crn_replay_make(&trace, &(crn_replay_setup){.block_count = BLOCKS});
    crn_scenario base = {.factor = NULL};
    crn_outcome outcome = {.begins = NULL};
    crn_effects effects = crn_effects_make(replay, &base, 10);
    assert_true(crn_replay_is_trusted(replay));
    assert_int_equal(effects.count, 1); /* the wait for the timer is no candidate */
    assert_int_equal(effects.rows[0].block, FIRST);
    for (uint32_t cell = 0; cell < CRN_EFFECTS; cell++)
        crn_effects_fill(&effects, cell, &outcome);
    assert_true(effects.rows[0].late[1]); /* half of 20 ms: it would end one period earlier */
    crn_effects_free(&effects);
    crn_outcome_free(&outcome);
    crn_replay_free(replay);
    crn_free(recording);
}

/* Of two threads only one waits for a lock at a time. */
static void waits_for_a_noted_lock_are_no_lock(void **state)
{
    (void)state;
    static const char *names[] = {"one", "two"};
    recording *recording = crn_calloc(1, sizeof *recording);
    uint8_t rest[BLOCKS] = {[SECOND] = CRN_REST_LOCK, [WAIT] = CRN_REST_WAIT};
    two_with_waits(recording, &(parts){{1, 1, 1, 1, 1, 1, 1, 1}, 1});
    crn_trace trace = {
        .spans = recording->spans, .span_count = recording->count, .lane_count = 2, .lanes = names};
    crn_replay *replay =
        crn_replay_make(&trace, &(crn_replay_setup){.block_count = BLOCKS, .rest = rest});
    const crn_replay_facts *facts = crn_replay_facts_of(replay);
    for (uint32_t i = 0; i < facts->doubt_count; i++)
        assert_int_not_equal(facts->doubts[i].block, WAIT);
    crn_replay_free(replay);
    crn_free(recording);
}

/* Their lengths do not follow from anything that is simulated. */
static void asynchronous_spans_are_not_trusted(void **state)
{
    (void)state;
    static const char *names[] = {"one", "two", "three"};
    recording *recording = crn_calloc(1, sizeof *recording);
    uint8_t rest[BLOCKS] = {[SECOND] = CRN_REST_NONE};
    independent(recording, &(parts){{1, 1, 1, 1, 1, 1, 1, 1}, 1});
    crn_trace trace = {
        .spans = recording->spans, .span_count = recording->count, .lane_count = 3, .lanes = names};
    for (int asynchronous = 0; asynchronous < 2; asynchronous++) {
        rest[SECOND] = asynchronous ? CRN_REST_ASYNC : CRN_REST_NONE;
        crn_replay *replay =
            crn_replay_make(&trace, &(crn_replay_setup){.block_count = BLOCKS, .rest = rest});
        assert_true(crn_replay_is_trusted(replay) == !asynchronous);
        assert_int_equal(crn_replay_facts_of(replay)->doubt_count, asynchronous);
        crn_replay_free(replay);
    }
    crn_free(recording);
}

/* ---- a busy machine ---- */

static bool is_trusted(const crn_trace *trace, unsigned cores, uint64_t ready)
{
    crn_replay *replay = crn_replay_make(
        trace, &(crn_replay_setup){.block_count = BLOCKS, .cores = cores, .ready = ready});
    bool trusted = crn_replay_is_trusted(replay);
    crn_replay_free(replay);
    return trusted;
}

/* Unless the program's own threads are the reason why some were ready. */
static void predictions_of_a_busy_machine_are_not_trusted(void **state)
{
    (void)state;
    static const char *names[] = {"one", "two", "three"};
    recording *recording = crn_calloc(1, sizeof *recording);
    independent(recording, &(parts){{1, 1, 1, 1, 1, 1, 1, 1}, 1});
    crn_trace trace = {
        .spans = recording->spans, .span_count = recording->count, .lane_count = 3, .lanes = names};
    uint64_t work = 0;
    for (uint32_t s = 0; s < recording->count; s++)
        work += recording->spans[s].end - recording->spans[s].start;
    assert_true(is_trusted(&trace, 4, 0));
    assert_true(is_trusted(&trace, 4, work / 25));
    assert_false(is_trusted(&trace, 4, work / 15));
    assert_true(is_trusted(&trace, 1, work / 15));
    uint64_t *ready = crn_calloc(recording->count, sizeof *ready);
    for (uint32_t s = 0; s < recording->count; s++)
        ready[s] = (recording->spans[s].end - recording->spans[s].start) / 15;
    trace.ready = ready;
    assert_true(is_trusted(&trace, 1, 0));
    assert_false(is_trusted(&trace, 4, 0));
    crn_free(ready);
    crn_free(recording);
}

/* ---- periods in notes ---- */

static void periods_have_units(void **state)
{
    (void)state;
    uint64_t period = 7;
    assert_true(crn_replay_read_period("16.667ms", &period));
    assert_int_equal(period, 16667000);
    assert_true(crn_replay_read_period("2s", &period));
    assert_int_equal(period, 2000000000);
    assert_true(crn_replay_read_period("500us", &period));
    assert_int_equal(period, 500000);
    static const char *bad[] = {"", "1", "ms", "-1ms", "0ms", "1e99s", "nanms", "16 ms", "1msx"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(crn_replay_read_period(bad[i], &period));
    assert_int_equal(period, 500000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_prediction_is_not_trusted),
        cmocka_unit_test(effects_tell_missed_timers),
        cmocka_unit_test(waits_for_a_noted_lock_are_no_lock),
        cmocka_unit_test(asynchronous_spans_are_not_trusted),
        cmocka_unit_test(predictions_of_a_busy_machine_are_not_trusted),
        cmocka_unit_test(periods_have_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
