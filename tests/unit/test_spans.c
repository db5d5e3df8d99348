/* SPDX-License-Identifier: MIT
 *
 * test_spans.c - the capture contains the spans that were begun and ended, with their parents on
 * any lane.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "base/order.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/recorded.h"
#include "support/scratch.h"

static void a_span_has_its_lane_and_times(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "spans.cairn"));
    setup s = setup_open(&options, 3);
    cairn_key width = cairn_key_add(s.profile, "width"), name = cairn_key_add(s.profile, "name");
    char longer[2000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    for (int64_t i = 0; i < 3; i++) {
        cairn_span_begin(s.strand, 1, i);
        cairn_span_integer(s.strand, width, -7 - i);
        cairn_enter(s.strand, 3); /* frames between spans are no spans */
        cairn_span_begin(s.strand, 2, CAIRN_ITERATION_NONE);
        cairn_span_number(s.strand, width, 0.5);
        cairn_span_text(s.strand, name, i ? longer : "sixteen letters.");
        cairn_span_end(s.strand);
        cairn_leave(s.strand);
        cairn_span_end(s.strand);
    }
    assert_int_equal(cairn_strand_depth(s.strand), 0);
    assert_int_equal(cost_at(s.profile, "1").calls, 3);
    assert_int_equal(cost_at(s.profile, "1 3 2").calls, 3);
    setup_close(&s);

    crn_trace *trace = recorded_trace(path);
    assert_int_equal(trace->span_count, 6);
    assert_int_equal(trace->attribute_count, 9);
    for (uint32_t i = 0; i < 3; i++) {
        const crn_span *outer = &trace->spans[2 * i], *inner = outer + 1;
        assert_int_equal(outer->block, 1);
        assert_int_equal(outer->iteration, i);
        assert_int_equal(outer->parent, CRN_SPAN_NONE);
        assert_int_equal(inner->block, 2);
        assert_true(inner->iteration == CAIRN_ITERATION_NONE);
        assert_int_equal(inner->parent, 2 * i);
        assert_true(outer->start <= inner->start && inner->start <= inner->end &&
                    inner->end <= outer->end && outer->end <= trace->length);
        assert_false(outer->open || inner->open);
        uint32_t count;
        const crn_attribute *attribute = crn_trace_attributes(trace, 2 * i, &count);
        assert_int_equal(count, 1);
        assert_int_equal(attribute->value.integer, -7 - (int)i);
        assert_string_equal(trace->keys[attribute->key], "width");
        attribute = crn_trace_attributes(trace, 2 * i + 1, &count);
        assert_int_equal(count, 2);
        const char *text = attribute[attribute->kind != CRN_ATTRIBUTE_TEXT].value.text;
        assert_int_equal(strlen(text), i ? CAIRN_TEXT_MAX : 16);
        if (i == 0)
            assert_string_equal(text, "sixteen letters.");
    }
    crn_trace_free(trace);
}

/* A counter is of the innermost open span, or else of the last one; 0 and what is no number too. */
static void counters_have_times(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "counters.cairn"));
    setup s = setup_open(&options, 3);
    cairn_key depth = cairn_key_add(s.profile, "queue depth");
    cairn_key level = cairn_key_add(s.profile, "level");
    cairn_counter_set(s.strand, depth, 9); /* before any span */
    cairn_span_begin(s.strand, 1, 0);
    cairn_counter_set(s.strand, depth, 1);
    cairn_span_begin(s.strand, 2, 0);
    cairn_counter_set(s.strand, level, -0.5);
    cairn_counter_set(s.strand, depth, NAN);
    cairn_span_end(s.strand);
    cairn_counter_set(s.strand, depth, 0);
    cairn_span_end(s.strand);
    cairn_counter_set(s.strand, depth, 3);
    cairn_counter_set(s.strand, CAIRN_KEY_MAX, 4);
    cairn_counter_set(NULL, depth, 4);
    cairn_profile_disable(s.profile);
    cairn_counter_set(s.strand, depth, 5);
    setup_close(&s);

    static const crn_counter wanted[] = {{0, 0, 1, 0}, {0, 0, 0, 0}, {1, 1, -0.5, 0}, {1, 0, 3, 0}};
    crn_trace *trace = recorded_trace(path);
    assert_int_equal(trace->counter_count, 4);
    for (uint32_t c = 0; c < 4; c++) {
        const crn_counter *found = &trace->counters[c];
        assert_int_equal(found->span, wanted[c].span);
        assert_string_equal(trace->keys[found->key], wanted[c].key ? "level" : "queue depth");
        assert_true(found->value == wanted[c].value);
        assert_true(found->at >= trace->spans[found->span].start && found->at <= trace->length);
    }
    assert_true(trace->counters[2].at <= trace->counters[1].at &&
                trace->counters[1].at <= trace->spans[0].end &&
                trace->spans[0].end <= trace->counters[3].at);
    assert_int_equal(trace->dangling + trace->details_dropped, 0);
    crn_trace_free(trace);
}

static void unwound_spans_have_ended(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "unwound.cairn"));
    setup s = setup_open(&options, 4);
    cairn_span_begin(s.strand, 1, 0);
    cairn_mark mark = cairn_strand_mark(s.strand);
    cairn_span_begin(s.strand, 2, 0);
    cairn_enter(s.strand, 3);
    cairn_span_begin(s.strand, 4, 0);
    cairn_strand_unwind(s.strand, mark);
    cairn_span_begin(s.strand, 3, 1);
    cairn_enter(s.strand, 2); /* it is never left */
    cairn_span_end(s.strand);
    assert_int_equal(cairn_strand_depth(s.strand), 1);
    cairn_span_begin(s.strand, 3, 2); /* stays open */
    cairn_strand_close(s.strand);
    setup_close(&s);

    crn_trace *trace = recorded_trace(path);
    assert_int_equal(trace->span_count, 5);
    static const uint32_t parents[] = {CRN_SPAN_NONE, 0, 1, 0, 0};
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(trace->spans[i].parent, parents[i]);
        assert_false(trace->spans[i].open);
    }
    assert_true(trace->spans[2].end <= trace->spans[3].start);
    crn_trace_free(trace);
}

static void an_end_without_a_begin_is_a_misuse(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "misuse.cairn"));
    setup s = setup_open(&options, 2);
    cairn_span_end(s.strand);
    cairn_enter(s.strand, 1);
    cairn_span_end(s.strand);
    assert_int_equal(cairn_strand_depth(s.strand), 1);
    cairn_leave(s.strand);
    cairn_handoff_leave(s.strand);
    cairn_span_begin(NULL, 1, 1);
    cairn_span_end(NULL);
    cairn_handoff_adopt(NULL, cairn_handoff_take(NULL));
    setup_close(&s);
    assert_int_equal(note_of(path, "misuses"), 3);
    crn_trace *trace = recorded_trace(path);
    assert_int_equal(trace->span_count, 0);
    crn_trace_free(trace);
}

/* ---- exact time ---- */

static void spans_and_exact_time_are_the_same(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "exact.cairn"));
    options.wall = CAIRN_WALL_EXACT;
    setup s = setup_open(&options, 3);
    for (int i = 0; i < 1000; i++) {
        cairn_span_begin(s.strand, 1, i);
        for (int k = 0; k < i % 5; k++) {
            cairn_span_begin(s.strand, 2, k);
            cairn_span_end(s.strand);
        }
        cairn_span_end(s.strand);
    }
    setup_close(&s);
    crn_trace *trace = recorded_trace(path);
    crn_error error;
    crn_profile *profile = crn_profile_load(path, &error);
    assert_non_null(profile);
    uint64_t durations[3] = {0}, wall[3] = {0}, calls[3] = {0}, counted[3] = {0};
    for (uint32_t i = 0; i < trace->span_count; i++) {
        const crn_span *span = &trace->spans[i];
        durations[span->block] += span->end - span->start;
        counted[span->block]++;
    }
    for (uint32_t c = 1; c < profile->context_count; c++) {
        wall[profile->block[c]] += profile->values[CRN_METRIC_WALL][c];
        calls[profile->block[c]] += profile->values[CRN_METRIC_CALLS][c];
    }
    wall[1] += wall[2]; /* inclusive */
    for (uint32_t block = 1; block <= 2; block++) {
        assert_int_equal(counted[block], calls[block]);
        /* Each is rounded to a nanosecond. */
        assert_true(llabs((long long)(durations[block] - wall[block])) <=
                    (long long)(2 * counted[block]));
    }
    crn_profile_free(profile);
    crn_trace_free(trace);
}

/* ---- many threads, compared with the notes of each ---- */

enum { THREADS = 8, DEEPEST = 20, TOKENS = 64 };

typedef struct noted {
    int64_t iteration;
    uint32_t block;
    cairn_span name, parent;
} noted;

typedef struct pool {
    cairn_profile *profile;
    pthread_mutex_t lock;
    cairn_handoff tokens[TOKENS];
} pool;

typedef struct worker {
    pool *pool;
    pthread_t thread;
    uint64_t seed;
    noted *noted;
    uint32_t count, room;
} worker;

static void note_span(worker *worker, noted noted)
{
    CRN_GROW(worker->noted, worker->count, worker->room);
    worker->noted[worker->count++] = noted;
}

static cairn_handoff swap_token(pool *pool, uint32_t at, const cairn_handoff *mine)
{
    pthread_mutex_lock(&pool->lock);
    cairn_handoff token = pool->tokens[at];
    if (mine)
        pool->tokens[at] = *mine;
    pthread_mutex_unlock(&pool->lock);
    return token;
}

/* Spans, plain frames and adopted work, nested at random; `parent` is what the next span's
 * should be. */
static void nest(worker *worker, cairn_strand *strand, random_source *random, cairn_span parent,
                 int depth)
{
    for (uint32_t i = random_below(random, 3); i && depth < DEEPEST; i--) {
        uint32_t what = random_below(random, 8);
        if (what == 0) {
            cairn_enter(strand, 1 + random_below(random, 4));
            nest(worker, strand, random, parent, depth + 1);
            cairn_leave(strand);
        } else if (what == 1) {
            cairn_handoff mine = cairn_handoff_take(strand);
            mine = swap_token(worker->pool, random_below(random, TOKENS), &mine);
        } else if (what == 2) {
            cairn_handoff token = swap_token(worker->pool, random_below(random, TOKENS), NULL);
            cairn_handoff_adopt(strand, token);
            nest(worker, strand, random, token.span, depth + 1);
            cairn_handoff_leave(strand);
        } else {
            noted noted = {.iteration = (int64_t)random_next(random),
                           .block = 1 + random_below(random, 4),
                           .parent = parent};
            cairn_span_begin(strand, noted.block, noted.iteration);
            noted.name = cairn_span_current(strand);
            note_span(worker, noted);
            nest(worker, strand, random, noted.name, depth + 1);
            cairn_span_end(strand);
        }
    }
}

static void *work(void *data)
{
    worker *worker = data;
    random_source random = {worker->seed};
    cairn_lane *lane = cairn_lane_open(worker->pool->profile, "worker");
    cairn_strand *strand = cairn_strand_open(lane);
    for (uint64_t round = scale(3000); round; round--)
        nest(worker, strand, &random, 0, 0);
    assert_int_equal(cairn_strand_depth(strand), 0);
    cairn_lane_close(lane);
    return NULL;
}

static int compare_noted(const void *left, const void *right)
{
    const noted *a = left, *b = right;
    return CRN_ORDER(a->name, b->name);
}

/* Otherwise the requester would be dropped, as if space was not prepared in time. */
static bool is_noted(const worker *all, cairn_span name)
{
    const noted wanted = {.name = name};
    return bsearch(&wanted, all->noted, all->count, sizeof wanted, compare_noted) != NULL;
}

static void spans_of_many_threads_are_complete(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "threads.cairn"));
    setup s = setup_open(&options, 4);
    pool pool = {.profile = s.profile, .lock = PTHREAD_MUTEX_INITIALIZER};
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.pool = &pool, .seed = (uint64_t)i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    worker all = {0};
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        for (uint32_t n = 0; n < workers[i].count; n++)
            if (workers[i].noted[n].name) /* else it was dropped */
                note_span(&all, workers[i].noted[n]);
        crn_free(workers[i].noted);
    }
    setup_close(&s);
    qsort(all.noted, all.count, sizeof *all.noted, compare_noted);

    crn_trace *trace = recorded_trace(path);
    assert_int_equal(trace->span_count, all.count);
    if (!trace->dropped) /* else who asked for some may not be there */
        assert_int_equal(trace->dangling, 0);
    uint64_t unlinked = 0; /* spans that do not name the requester, though it is in the trace */
    for (uint32_t i = 0; i < all.count; i++) { /* names are in the order of lanes and begins */
        const crn_span *span = &trace->spans[i];
        const noted *noted = &all.noted[i];
        assert_int_equal(span->block, noted->block);
        assert_true(span->iteration == noted->iteration);
        bool wanted = noted->parent && is_noted(&all, noted->parent);
        if (wanted && span->parent != CRN_SPAN_NONE)
            assert_true(all.noted[span->parent].name == noted->parent);
        else
            assert_int_equal(span->parent, CRN_SPAN_NONE);
        unlinked += wanted && span->parent == CRN_SPAN_NONE;
    }
    if (!trace->details_dropped) /* a hand-off is a detail, and each adoption can hold many spans */
        assert_int_equal(unlinked, 0);
    crn_trace_free(trace);
    crn_free(all.noted);
}

/* ---- not all of the time ---- */

/* Recording is switched at any time, anywhere in a chunk: each recorded call is a span. */
static void no_span_is_recorded_while_recording_is_off(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "off.cairn"));
    setup s = setup_open(&options, 2);
    uint64_t recorded = 0;
    for (int64_t i = 0; i < 40; i++) {
        bool on = i % 2 == 0;
        if (on)
            cairn_profile_enable(s.profile);
        else
            cairn_profile_disable(s.profile);
        for (int64_t n = 0; n < 700; n++) {
            cairn_span_begin(s.strand, 1, i);
            cairn_span_end(s.strand);
        }
        recorded += on ? 700 : 0;
    }
    assert_int_equal(cost_at(s.profile, "1").calls, recorded);
    uint64_t dropped = cost_at(s.profile, "1").calls;
    setup_close(&s);
    crn_trace *trace = recorded_trace(path);
    dropped -= trace->span_count;
    assert_int_equal(dropped, trace->late);
    for (uint32_t i = 0; i < trace->span_count; i++)
        assert_int_equal(trace->spans[i].iteration % 2, 0);
    crn_trace_free(trace);
}

typedef struct spinner {
    cairn_profile *profile;
    atomic_bool ends;
    int64_t begun; /* atomic: the last that it began */
} spinner;

static void *spin(void *data)
{
    spinner *spinner = data;
    cairn_lane *lane = cairn_lane_open(spinner->profile, "spins");
    cairn_strand *strand = cairn_strand_open(lane);
    for (int64_t i = 1; !atomic_load(&spinner->ends); i++) {
        __atomic_store_n(&spinner->begun, i, __ATOMIC_SEQ_CST);
        cairn_span_begin(strand, 1, i);
        cairn_span_end(strand);
        if (i % 64 == 0)
            usleep(50);
    }
    cairn_lane_close(lane);
    return NULL;
}

/* Another thread switches it: one or two spans may have been in progress. */
static void nor_by_other_threads(void **state)
{
    (void)state;
    enum { TURNS = 60 };
    char path[SCRATCH_PATH];
    int64_t off[TURNS], on[TURNS];
    cairn_options options = span_options(scratch_path(path, "off_there.cairn"));
    setup s = setup_open(&options, 2);
    spinner spinner = {.profile = s.profile};
    pthread_t thread;
    atomic_init(&spinner.ends, false);
    assert_int_equal(pthread_create(&thread, NULL, spin, &spinner), 0);
    for (int i = 0; i < TURNS; i++) {
        usleep(1000);
        cairn_profile_disable(s.profile);
        off[i] = __atomic_load_n(&spinner.begun, __ATOMIC_SEQ_CST);
        usleep(1000);
        on[i] = __atomic_load_n(&spinner.begun, __ATOMIC_SEQ_CST);
        cairn_profile_enable(s.profile);
    }
    atomic_store(&spinner.ends, true);
    pthread_join(thread, NULL);
    setup_close(&s);
    crn_trace *trace = recorded_trace(path);
    assert_true(trace->span_count > TURNS);
    for (uint32_t n = 0; n < trace->span_count; n++)
        for (int i = 0; i < TURNS; i++)
            assert_false(trace->spans[n].iteration > off[i] && trace->spans[n].iteration < on[i]);
    crn_trace_free(trace);
}

/* Spans that could not be recorded for lack of memory end with the enclosing spans. */
static void a_strand_recovers_from_a_failed_allocation(void **state)
{
    (void)state;
    enum { DEEP = 40 };
    for (int n = 0; n < 8; n++) {
        int how = n % 4;
        char path[SCRATCH_PATH];
        cairn_options options = span_options(scratch_path(path, "recovers.cairn"));
        options.wall = n / 4 ? CAIRN_WALL_EXACT : CAIRN_WALL_OFF; /* each span is a slow one */
        setup s = setup_open(&options, 2);
        cairn_span_begin(s.strand, 1, 1);
        cairn_mark mark = cairn_strand_mark(s.strand);
        crn_memory_fail_at(1);
        for (int i = 0; i < DEEP; i++)
            cairn_span_begin(s.strand, 2, 1000);
        cairn_handoff_adopt(s.strand, cairn_handoff_take(s.strand));
        crn_memory_fail_at(0);
        if (how == 0) /* all at once */
            cairn_strand_unwind(s.strand, mark);
        if (how == 1) /* some, and then the others */
            cairn_strand_unwind(s.strand, mark + DEEP / 2);
        if (how == 2)
            cairn_handoff_leave(s.strand);
        for (int i = 0; i < (how == 1 ? DEEP / 2 : how == 2 ? DEEP : 0); i++)
            cairn_span_end(s.strand);
        if (how == 3) { /* with the one around all */
            cairn_strand_unwind(s.strand, 0);
            cairn_span_begin(s.strand, 1, 1);
        }
        assert_int_equal(cairn_strand_depth(s.strand), 1);
        cairn_span_begin(s.strand, 2, 2);
        cairn_span_end(s.strand);
        cairn_handoff_adopt(s.strand, cairn_handoff_take(s.strand));
        cairn_span_begin(s.strand, 2, 3);
        cairn_span_end(s.strand);
        cairn_handoff_leave(s.strand);
        cairn_span_end(s.strand);
        assert_int_equal(cairn_strand_depth(s.strand), 0);
        setup_close(&s);
        crn_trace *trace = recorded_trace(path);
        int found = 0;
        for (uint32_t i = 0; i < trace->span_count; i++) {
            const crn_span *span = &trace->spans[i];
            if (span->iteration == 2 || span->iteration == 3) {
                assert_int_not_equal(span->parent, CRN_SPAN_NONE);
                assert_int_equal(trace->spans[span->parent].iteration, 1);
                found++;
            }
        }
        assert_int_equal(found, 2);
        crn_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_has_its_lane_and_times),
        cmocka_unit_test(counters_have_times),
        cmocka_unit_test(unwound_spans_have_ended),
        cmocka_unit_test(an_end_without_a_begin_is_a_misuse),
        cmocka_unit_test(spans_and_exact_time_are_the_same),
        cmocka_unit_test(spans_of_many_threads_are_complete),
        cmocka_unit_test(no_span_is_recorded_while_recording_is_off),
        cmocka_unit_test(nor_by_other_threads),
        cmocka_unit_test(a_strand_recovers_from_a_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
