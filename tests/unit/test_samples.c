/* SPDX-License-Identifier: MIT
 *
 * test_samples.c - samples of processor time with their moments: recorded and read, in which spans
 * they were taken and what replacing blocks makes of their paths, each against a slow reference,
 * and the functions in which slow spans spend more.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "explain/explain.h"
#include "support/cases.h"
#include "support/clock.h"
#include "support/made_spans.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/random_trace.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/span_readers.h"

/* Writes the blocks of a path, the outermost first. Returns their number. */
static uint32_t blocks_of(const crn_samples *samples, uint32_t path, uint32_t *blocks)
{
    if (path == CRN_PATH_NONE)
        return 0;
    uint32_t length = blocks_of(samples, samples->paths[path].caller, blocks);
    blocks[length] = samples->paths[path].block;
    return length + 1;
}

/* ---- recording ---- */

static uint64_t cpu_of(const crn_trace *trace)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < trace->samples.count; s++)
        sum += trace->samples.list[s].cpu;
    return sum;
}

enum { SAMPLES = 5000, LONGEST = 6 };

/* Samples that a test records. */
typedef struct sampled {
    cairn_block blocks[SAMPLES][LONGEST]; /* of sample i, the first i % LONGEST */
    uint64_t moments[SAMPLES], times[SAMPLES];
} sampled;

/* The trace has exactly these samples. */
static void assert_samples(const crn_trace *trace, const sampled *sampled)
{
    const crn_samples *samples = &trace->samples;
    uint64_t first = trace->processes[0].monotonic_ns;
    assert_int_equal(samples->count, SAMPLES + 2); /* 10 s are of three samples */
    for (uint32_t i = 0, at = 0; i < SAMPLES; i++) {
        uint32_t found[64];
        for (uint64_t left = sampled->times[i]; at < samples->count; at++) {
            assert_int_equal(samples->list[at].at + first, sampled->moments[i]);
            assert_int_equal(blocks_of(samples, samples->list[at].path, found), i % LONGEST);
            assert_memory_equal(found, sampled->blocks[i], (i % LONGEST) * sizeof *found);
            left -= samples->list[at].cpu;
            if (!left) {
                at++;
                break;
            }
        }
    }
}

static void samples_are_read_as_they_were_recorded(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], copy[SCRATCH_PATH], snapshot[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "samples.cairn"));
    setup s = setup_open(&options, LONGEST);
    random_source random = {5};
    static sampled made;
    uint64_t begin = now_ns(), sum = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        made.moments[i] = begin + i * (uint64_t)1000;
        made.times[i] = i == 7 ? 10000000000u : random_below(&random, 2000000);
        sum += made.times[i];
        for (uint32_t k = 0; k < i % LONGEST; k++) /* no two the same in a row: it would fold */
            made.blocks[i][k] = 1 + (k + i) % LONGEST;
        assert_true(
            cairn_sample_at(s.strand, made.blocks[i], i % LONGEST, made.moments[i], made.times[i]));
    }
    cairn_lane_set_thread(s.lane, 4711);
    assert_false(cairn_sample_at(NULL, made.blocks[0], 0, 1, 1));
    scratch_path(snapshot, "snapshot.cairn");
    assert_int_equal(cairn_profile_snapshot(s.profile, snapshot), CAIRN_OK);
    setup_close(&s);
    recorded its = recorded_load(path);
    const crn_samples *samples = &its.trace->samples;
    assert_int_equal(cpu_of(its.trace), sum);
    int cpu = crn_profile_metric(its.profile, "cpu");
    uint64_t total = 0;
    for (uint32_t c = 0; c < its.profile->context_count; c++)
        total += its.profile->values[cpu][c];
    assert_int_equal(total, sum);
    assert_int_equal(its.trace->threads[0], 4711);
    assert_samples(its.trace, &made);
    crn_trace *copied = recorded_trace(snapshot);
    assert_samples(copied, &made);
    crn_trace_free(copied);
    difference difference;
    assert_true(span_readers_agree(path, NULL, &difference));
    crn_error error;
    assert_true(crn_trace_save(its.profile, its.trace, scratch_path(copy, "copy.cairn"), &error));
    recorded again = recorded_load(copy);
    assert_true(traces_are_equal(its.trace, again.trace, &difference));
    for (uint32_t i = 0; i < samples->count; i++) {
        uint32_t left[64], right[64];
        uint32_t length = blocks_of(samples, samples->list[i].path, left);
        const crn_samples *others = &again.trace->samples;
        assert_int_equal(blocks_of(others, others->list[i].path, right), length);
        assert_memory_equal(left, right, length * sizeof *left);
    }
    recorded_free(&its);
    recorded_free(&again);
}

typedef struct reading {
    const char *path;
    cairn_profile *profile; /* takes a snapshot there before each reading; NULL: it is recorded
                               there */
    bool stop;
    uint64_t unreadable, fewer, wrong; /* assertions are for the main thread alone */
} reading;

static void *read_on(void *data)
{
    reading *reading = data;
    uint32_t before = 0;
    while (!__atomic_load_n(&reading->stop, __ATOMIC_ACQUIRE)) {
        crn_error error;
        if (reading->profile)
            reading->unreadable += cairn_profile_snapshot(reading->profile, reading->path) != 0;
        crn_trace *trace = crn_trace_load(reading->path, &error);
        uint32_t blocks[64];
        if (!trace) {
            reading->unreadable++;
            continue;
        }
        reading->fewer += trace->samples.count < before;
        before = trace->samples.count;
        for (uint32_t s = 0; s < before; s++)
            reading->wrong += blocks_of(&trace->samples, trace->samples.list[s].path, blocks) !=
                              trace->samples.list[s].cpu;
        crn_trace_free(trace);
    }
    return NULL;
}

/* Takes samples while another thread reads the capture, or snapshots of it. */
static void read_while_sampling(bool snapshots)
{
    enum { TAKEN = 20000, DEEPEST = 40, BLOCKS_OF_PATH = 101 };
    char path[SCRATCH_PATH], copy[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "live.cairn"));
    scratch_path(copy, "shot.cairn");
    setup s = setup_open(&options, BLOCKS_OF_PATH);
    reading reading = {.path = snapshots ? copy : path, .profile = snapshots ? s.profile : NULL};
    random_source random = {9};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_on, &reading), 0);
    for (uint64_t i = 0; i < scale(TAKEN); i++) {
        cairn_block blocks[DEEPEST];
        uint32_t length = 1 + random_below(&random, DEEPEST);
        uint32_t first = random_below(&random, BLOCKS_OF_PATH);
        uint32_t step = 1 + random_below(&random, BLOCKS_OF_PATH - 1); /* most paths are new */
        for (uint32_t k = 0; k < length; k++)
            blocks[k] = 1 + (first + k * step) % BLOCKS_OF_PATH;
        cairn_sample_at(s.strand, blocks, length, now_ns(), length);
    }
    __atomic_store_n(&reading.stop, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    setup_close(&s);
    assert_int_equal(reading.unreadable, 0);
    assert_int_equal(reading.fewer, 0);
    assert_int_equal(reading.wrong, 0);
}

/* A sample is never seen before its context. */
static void a_live_capture_has_whole_samples(void **state)
{
    (void)state;
    read_while_sampling(false);
}

static void snapshots_have_whole_samples(void **state)
{
    (void)state;
    read_while_sampling(true);
}

static pid_t other_thread;

static void *use_lane(void *data)
{
    setup *s = data;
    other_thread = gettid();
    cairn_enter(s->strand, 1);
    cairn_leave(s->strand);
    cairn_lane_hand_over(s->lane);
    return NULL;
}

static void lanes_tell_their_thread(void **state)
{
    (void)state;
    skip_where_emulated(); /* a child of fork starts threads, at which the emulator fails */
    char path[SCRATCH_PATH], childs[SCRATCH_PATH], name[64];
    cairn_options options = span_options(scratch_path(path, "threads.cairn"));
    setup s = setup_open(&options, 2);
    cairn_lane *other = cairn_lane_open(s.profile, "other");
    cairn_strand_open(other);
    cairn_lane_set_thread(other, 12);
    crn_trace *trace = recorded_trace(path);
    assert_int_equal(trace->threads[0], gettid());
    assert_int_equal(trace->threads[1], 12);
    crn_trace_free(trace);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        cairn_enter(s.strand, 1);
        cairn_leave(s.strand);
        cairn_profile_close(s.profile);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    snprintf(name, sizeof name, "threads.%d.cairn", (int)child);
    trace = recorded_trace(scratch_path(childs, name));
    for (uint32_t lane = 0; lane < 2; lane++) /* numbered anew */
        assert_int_equal(trace->threads[lane], strcmp(trace->lanes[lane], "main") ? 0 : child);
    crn_trace_free(trace);
    cairn_lane_hand_over(s.lane);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, use_lane, &s), 0);
    pthread_join(thread, NULL);
    cairn_lane_set_thread(other, 13);
    trace = recorded_trace(path);
    assert_int_equal(trace->threads[0], gettid());
    assert_int_equal(trace->threads[1], 12);
    assert_int_equal(trace->samples.change_count, 2);
    assert_int_equal(trace->samples.count, 0);
    assert_int_equal(trace->samples.changes[0].lane, 0);
    assert_int_equal(trace->samples.changes[0].thread, other_thread);
    assert_int_equal(trace->samples.changes[1].lane, 1);
    assert_int_equal(trace->samples.changes[1].thread, 13);
    crn_trace_free(trace);
    setup_close(&s);
}

/* ---- spans of samples ---- */

static uint32_t thread_at(const crn_trace *trace, uint32_t lane, uint64_t at)
{
    uint32_t thread = trace->threads[lane];
    for (uint32_t c = 0; c < trace->samples.change_count; c++)
        if (trace->samples.changes[c].lane == lane && trace->samples.changes[c].at <= at)
            thread = trace->samples.changes[c].thread;
    return thread;
}

/* Returns the latest start of a span that is open at the moment on a lane that is the thread's at
 * that moment; UINT64_MAX if there is none. */
static uint64_t reference(const crn_trace *trace, const crn_sample *sample)
{
    uint64_t latest = UINT64_MAX;
    uint32_t thread = thread_at(trace, sample->lane, sample->at);
    for (uint32_t s = 0; thread && s < trace->span_count; s++) {
        const crn_span *span = &trace->spans[s];
        if (span->start <= sample->at && (span->open || span->end > sample->at) &&
            (latest == UINT64_MAX || span->start > latest) &&
            thread_at(trace, span->lane, sample->at) == thread)
            latest = span->start;
    }
    return latest;
}

static void samples_are_in_the_innermost_span(void **state)
{
    (void)state;
    enum { SPANS = 300 };
    random_source random = {31};
    uint64_t inside = 0, all = 0;
    for (uint64_t run = 0; run < scale(400); run++) {
        crn_trace *trace = random_trace(&random, SPANS);
        crn_span_store *store = crn_store_of(trace);
        uint32_t *spans = crn_samples_spans(trace), *same = crn_store_samples_spans(store);
        for (uint32_t s = 0; s < trace->samples.count; s++) {
            uint64_t wanted = reference(trace, &trace->samples.list[s]);
            assert_int_equal(spans[s], same[s]);
            assert_true((spans[s] == CRN_SPAN_NONE) == (wanted == UINT64_MAX));
            if (spans[s] != CRN_SPAN_NONE)
                assert_int_equal(trace->spans[spans[s]].start, wanted);
            inside += spans[s] != CRN_SPAN_NONE;
            all++;
        }
        crn_free(spans);
        crn_free(same);
        crn_store_close(store);
        crn_trace_free(trace);
    }
    assert_true(inside > all / 10 && inside < all);
}

/* Threads of two machines may have one id. */
static void samples_stay_on_their_machine(void **state)
{
    (void)state;
    random_source random = {17};
    uint64_t inside = 0;
    for (uint64_t run = 0; run < scale(100); run++) {
        random_world world = random_world_make(&random, 3, 100, 1000);
        crn_trace *merged = NULL;
        crn_error error;
        assert_true(
            crn_trace_merge((const crn_trace *const *)world.traces, world.count, &merged, &error));
        uint32_t *spans = crn_samples_spans(merged);
        for (uint32_t s = 0; s < merged->samples.count; s++) {
            if (spans[s] == CRN_SPAN_NONE)
                continue;
            uint32_t from = 0, to = 0;
            while (from + 1 < world.count &&
                   merged->processes[from + 1].first_lane <= merged->samples.list[s].lane)
                from++;
            while (to + 1 < world.count &&
                   merged->processes[to + 1].first_lane <= merged->spans[spans[s]].lane)
                to++;
            assert_int_equal(merged->processes[from].boot[1], merged->processes[to].boot[1]);
            inside++;
        }
        crn_free(spans);
        crn_trace_free(merged);
        random_world_free(&world);
    }
    assert_true(inside > 0);
}

/* ---- paths ---- */

static void paths_are_replaced_block_by_block(void **state)
{
    (void)state;
    random_source random = {77};
    for (uint64_t run = 0; run < scale(300); run++) {
        crn_trace *trace = random_trace(&random, 200);
        uint32_t first[RANDOM_BLOCKS + 1] = {0}, blocks[3 * RANDOM_BLOCKS];
        for (uint32_t b = 0; b < RANDOM_BLOCKS; b++) {
            first[b + 1] = first[b] + random_below(&random, 4);
            for (uint32_t i = first[b]; i < first[b + 1]; i++)
                blocks[i] = random_below(&random, 50);
        }
        uint32_t known = 1 + random_below(&random, RANDOM_BLOCKS); /* others go away */
        uint32_t above = random_below(&random, 50);
        crn_samples before = crn_samples_copy(&trace->samples);
        crn_samples_replace(&trace->samples, first, blocks, known);
        crn_samples_below(&trace->samples, above);
        assert_int_equal(trace->samples.count, before.count);
        for (uint32_t s = 0; s < before.count; s++) {
            uint32_t old[64], wanted[256], found[256], count = 0;
            uint32_t length = blocks_of(&before, before.list[s].path, old);
            wanted[count++] = above;
            for (uint32_t i = 0; i < length; i++)
                for (uint32_t k = first[old[i]]; old[i] < known && k < first[old[i] + 1]; k++)
                    wanted[count++] = blocks[k];
            const crn_sample *sample = &trace->samples.list[s];
            assert_int_equal(blocks_of(&trace->samples, sample->path, found), count);
            assert_memory_equal(found, wanted, count * sizeof *found);
            assert_int_equal(sample->cpu, before.list[s].cpu);
        }
        crn_samples_free(&before);
        crn_trace_free(trace);
    }
}

/* ---- explanations ---- */

static uint32_t put_path(crn_samples_making *making, const uint32_t *blocks, uint32_t count)
{
    uint32_t path = CRN_PATH_NONE;
    for (uint32_t i = 0; i < count; i++)
        path = crn_samples_path(making, path, blocks[i]);
    return path;
}

/* 400 frames run 2 ms in G below RENDER; one in twenty runs 6 ms more in H below G, on the thread
 * of a worker that they ask. */
static void functions_of_slow_spans(void **state)
{
    (void)state;
    enum { FRAMES = 400, MS = 1000000, EVERY = 20 };
    made *made = make();
    crn_samples_making making;
    uint32_t threads[] = {100, 200};
    made->trace.threads = threads;
    crn_samples_begin(&making, &made->trace.samples);
    uint32_t usual = put_path(&making, (uint32_t[]){4, RENDER, G}, 3);
    uint32_t more = put_path(&making, (uint32_t[]){4, RENDER, G, H}, 4);
    for (int pass = 0; pass < 2; pass++) { /* spans are sorted by lane */
        made->now = 0;
        for (uint32_t i = 0; i < FRAMES; i++) {
            uint32_t span = i;
            bool slow = i % EVERY == 3;
            if (!pass) {
                span = begin(made, RENDER, CRN_SPAN_NONE);
            } else if (slow) {
                uint32_t job = begin(made, H, i);
                made->spans[job].lane = 1;
                made->spans[job].handed_off = true;
                made->spans[job].start += 2 * MS;
                made->spans[job].end = made->spans[job].start + 6 * MS;
            }
            for (uint64_t ms = 0; ms < (slow ? 8 : 2); ms++)
                if ((ms < 2) == !pass)
                    crn_samples_add(&making, &(crn_sample){.at = made->now + ms * MS + MS / 2,
                                                           .cpu = MS,
                                                           .lane = pass,
                                                           .path = ms < 2 ? usual : more});
            made->now += (slow ? 8 : 2) * MS + i % 7;
            if (!pass)
                end(made, span);
            made->now += MS;
        }
    }
    crn_samples_end(&making);
    crn_spans *spans = crn_spans_make(&made->trace, BLOCKS);
    uint64_t *chosen = crn_bits_new(made->trace.span_count);
    for (uint32_t s = 0; s < FRAMES; s++)
        crn_bits_set(chosen, s);
    crn_explain *explain = crn_explain_make(spans, chosen, UINT64_MAX, 5 * MS);
    const crn_sampled_functions *its = &explain->functions;
    assert_int_equal(explain->slow_count, FRAMES / EVERY);
    assert_int_equal(its->slow_samples, FRAMES / EVERY * 8);
    assert_int_equal(its->typical_samples, explain->typical_count * 2);
    assert_near(its->slow, 8 * MS, 1e-3);
    assert_near(its->typical, 2 * MS, 1e-3);
    assert_int_equal(its->count, 1); /* what all have in common is left out */
    assert_int_equal(its->list[0].block, H);
    assert_int_equal(its->list[0].depth, 0);
    assert_near(its->list[0].slow, 6 * MS, 1e-3);
    assert_near(its->list[0].typical, 0, 1e-3);
    assert_near(its->list[0].error, sqrt(6.0 * FRAMES / EVERY) / (FRAMES / EVERY) * MS, 1);
    crn_explain_free(explain);
    crn_free(chosen);
    crn_spans_free(spans);
    crn_samples_free(&made->trace.samples);
    crn_free(made);
}

/* Sums over all paths are those of the samples; whatever is listed is beyond chance. */
static void functions_add_up(void **state)
{
    (void)state;
    random_source random = {41};
    for (uint64_t run = 0; run < scale(300); run++) {
        crn_trace *trace = random_trace(&random, 300);
        crn_spans *spans = crn_spans_make(trace, RANDOM_BLOCKS);
        uint64_t *slow = crn_bits_new(trace->span_count),
                 *typical = crn_bits_new(trace->span_count);
        uint32_t slow_count = 0, typical_count = 0;
        for (uint32_t s = 0; s < trace->span_count; s++) {
            bool is_slow = random_chance(&random, 1, 5);
            bool is_typical = !is_slow && random_chance(&random, 1, 3);
            if (is_slow)
                crn_bits_set(slow, s);
            if (is_typical)
                crn_bits_set(typical, s);
            slow_count += is_slow;
            typical_count += is_typical;
        }
        double sums[2] = {0};
        uint32_t *of = crn_samples_spans(trace);
        for (uint32_t s = 0; s < trace->samples.count; s++) {
            uint32_t span = of[s];
            for (uint32_t steps = 0; span != CRN_SPAN_NONE && steps <= trace->span_count; steps++) {
                if (crn_bits_has(slow, span) || crn_bits_has(typical, span))
                    break;
                span = trace->spans[span].parent;
            }
            if (span != CRN_SPAN_NONE)
                sums[crn_bits_has(slow, span)] += trace->samples.list[s].cpu;
        }
        crn_sampled_functions its =
            crn_sampled_functions_make(spans, slow, slow_count, typical, typical_count);
        if (slow_count && typical_count) {
            assert_near(its.slow * slow_count, sums[1], 1e-6 * sums[1]);
            assert_near(its.typical * typical_count, sums[0], 1e-6 * sums[0]);
        } else {
            assert_int_equal(its.count, 0);
        }
        for (uint32_t i = 0; i < its.count; i++) {
            assert_true(its.list[i].block < RANDOM_BLOCKS);
            assert_true(its.list[i].depth <= (i ? its.list[i - 1].depth + 1 : 0));
            assert_true(its.list[i].slow <= its.slow * (1 + 1e-9));
        }
        crn_sampled_functions_free(&its);
        crn_free(of);
        crn_free(slow);
        crn_free(typical);
        crn_spans_free(spans);
        crn_trace_free(trace);
    }
}

/* A damaged file can have any path: nothing takes time by the square of its length. */
static void a_very_long_path(void **state)
{
    (void)state;
    enum { LENGTH = 400000 };
    crn_trace *trace = crn_calloc(1, sizeof *trace);
    uint32_t threads[] = {1};
    const char *lanes[] = {"main"};
    crn_span spans[] = {{.end = LENGTH, .block = 1, .parent = CRN_SPAN_NONE},
                        {.start = LENGTH, .end = 2 * LENGTH, .block = 1, .parent = CRN_SPAN_NONE}};
    *trace = (crn_trace){
        .spans = spans, .span_count = 2, .lanes = lanes, .lane_count = 1, .threads = threads};
    crn_samples_making making;
    crn_samples_begin(&making, &trace->samples);
    uint32_t path = CRN_PATH_NONE;
    for (uint64_t i = 0; i < LENGTH; i++) {
        path = crn_samples_path(&making, path, 1 + i % 3);
        crn_samples_add(&making, &(crn_sample){.at = i, .cpu = 1000, .path = path});
    }
    crn_samples_end(&making);
    crn_spans *its = crn_spans_make(trace, 4);
    uint64_t slow[] = {1}, typical[] = {2};
    crn_sampled_functions functions = crn_sampled_functions_make(its, slow, 1, typical, 1);
    assert_int_equal(functions.slow_samples, LENGTH);
    assert_true(functions.count > LENGTH / 2);
    assert_true(functions.list[1].only);
    crn_sampled_functions_free(&functions);
    crn_spans_free(its);
    crn_samples_free(&trace->samples);
    crn_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_read_as_they_were_recorded),
        cmocka_unit_test(a_live_capture_has_whole_samples),
        cmocka_unit_test(snapshots_have_whole_samples),
        cmocka_unit_test(lanes_tell_their_thread),
        cmocka_unit_test(samples_are_in_the_innermost_span),
        cmocka_unit_test(samples_stay_on_their_machine),
        cmocka_unit_test(paths_are_replaced_block_by_block),
        cmocka_unit_test(functions_of_slow_spans),
        cmocka_unit_test(functions_add_up),
        cmocka_unit_test(a_very_long_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
