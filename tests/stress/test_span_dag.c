/* SPDX-License-Identifier: MIT
 *
 * test_span_dag.c - a million spans from eight threads that nest, hand off, wait and continue at
 * random. The spans read from the capture must be those that the threads noted, for each policy of
 * dropping spans.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/scratch.h"

enum { THREADS = 8, BLOCKS = 6, DEEPEST = 12, TOKENS = 64, IN_ALL = 1000000 };

typedef struct edge {
    cairn_span from, to;
    crn_edge_kind kind;
} edge;

typedef struct noted {
    cairn_span name, parent;
    int64_t iteration;
    uint32_t block;
} noted;

/* Shared by all threads: the latest hand-offs and spans. */
typedef struct pool {
    cairn_profile *profile;
    pthread_mutex_t lock;
    cairn_handoff tokens[TOKENS];
    cairn_span spans[TOKENS];
} pool;

typedef struct notes {
    noted *spans;
    edge *edges;
    uint64_t begun; /* spans, recorded or not */
    uint32_t span_count, span_room, edge_count, edge_room;
} notes;

typedef struct worker {
    pool *pool;
    pthread_t thread;
    uint64_t seed, wanted;
    random_source random;
    cairn_strand *strand;
    notes notes;
} worker;

static void *room_for(void *array, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room)
        return array;
    *room = *room ? *room * 2 : 4096;
    return crn_realloc(array, *room, size);
}

static void note_span(notes *notes, noted noted)
{
    notes->spans = room_for(notes->spans, notes->span_count, &notes->span_room, sizeof noted);
    notes->spans[notes->span_count++] = noted;
}

static void note_edge(notes *notes, edge edge)
{
    notes->edges = room_for(notes->edges, notes->edge_count, &notes->edge_room, sizeof edge);
    notes->edges[notes->edge_count++] = edge;
}

/* ---- threads ---- */

static void nest(worker *worker, cairn_span parent, int depth);

static void run_span(worker *worker, cairn_span parent, int depth)
{
    pool *pool = worker->pool;
    noted noted = {.iteration = (int64_t)random_next(&worker->random),
                   .block = 1 + random_below(&worker->random, BLOCKS),
                   .parent = parent};
    cairn_span_begin(worker->strand, noted.block, noted.iteration);
    noted.name = cairn_span_current(worker->strand);
    worker->notes.begun++;
    if (noted.name)
        note_span(&worker->notes, noted);
    uint32_t at = random_below(&worker->random, TOKENS);
    if (random_chance(&worker->random, 1, 8)) {
        pthread_mutex_lock(&pool->lock);
        cairn_span other = pool->spans[at];
        pool->spans[at] = noted.name;
        pthread_mutex_unlock(&pool->lock);
        crn_edge_kind kind =
            random_chance(&worker->random, 1, 2) ? CRN_EDGE_WAITS : CRN_EDGE_FOLLOWS;
        if (kind == CRN_EDGE_WAITS)
            cairn_span_waits_for(worker->strand, other);
        else
            cairn_span_follows(worker->strand, other);
        if (noted.name && other)
            note_edge(&worker->notes, (edge){noted.name, other, kind});
    }
    nest(worker, noted.name, depth + 1);
    cairn_span_end(worker->strand);
}

static void run_adopted(worker *worker, int depth)
{
    pool *pool = worker->pool;
    pthread_mutex_lock(&pool->lock);
    cairn_handoff token = pool->tokens[random_below(&worker->random, TOKENS)];
    pthread_mutex_unlock(&pool->lock);
    cairn_handoff_adopt(worker->strand, token);
    nest(worker, token.span, depth + 1);
    cairn_handoff_leave(worker->strand);
}

static void leave_token(worker *worker)
{
    pool *pool = worker->pool;
    cairn_handoff mine = cairn_handoff_take(worker->strand);
    pthread_mutex_lock(&pool->lock);
    pool->tokens[random_below(&worker->random, TOKENS)] = mine;
    pthread_mutex_unlock(&pool->lock);
}

/* `parent` is the expected parent of the next span. */
static void nest(worker *worker, cairn_span parent, int depth)
{
    for (uint32_t i = random_below(&worker->random, 4); i && depth < DEEPEST; i--) {
        uint32_t what = random_below(&worker->random, 16);
        if (what == 0)
            run_adopted(worker, depth);
        else if (what == 1)
            leave_token(worker);
        else
            run_span(worker, parent, depth);
    }
}

/* Sleeps now and then, so that a machine with two processors prepares space in time. */
static void *work(void *data)
{
    worker *worker = data;
    cairn_lane *lane = cairn_lane_open(worker->pool->profile, "worker");
    worker->random = (random_source){worker->seed};
    worker->strand = cairn_strand_open(lane);
    uint64_t breath = 0;
    while (worker->notes.begun < worker->wanted) {
        nest(worker, 0, 0);
        if (worker->notes.begun > breath) {
            breath = worker->notes.begun + 4000;
            usleep(1000);
        }
    }
    cairn_lane_close(lane);
    return NULL;
}

/* ---- comparison ---- */

static int compare_noted(const void *left, const void *right)
{
    const noted *a = left, *b = right;
    return a->name < b->name ? -1 : a->name > b->name;
}

static const noted *find(const notes *all, cairn_span name)
{
    noted key = {.name = name};
    return bsearch(&key, all->spans, all->span_count, sizeof key, compare_noted);
}

static cairn_span name_of(const crn_trace *trace, const uint32_t *first, uint32_t span)
{
    uint32_t lane = trace->spans[span].lane;
    return trace->origins[lane] + (span - first[lane]);
}

static uint32_t *lanes_of(const crn_trace *trace)
{
    uint32_t *first = crn_calloc(trace->lane_count + 1, sizeof *first);
    for (uint32_t s = trace->span_count; s--;)
        first[trace->spans[s].lane] = s;
    return first;
}

static bool is_there(const crn_trace *trace, const uint32_t *first, cairn_span name)
{
    for (uint32_t lane = 0; lane < trace->lane_count; lane++) {
        uint64_t at = name - trace->origins[lane] + first[lane];
        if (name >= trace->origins[lane] && at < trace->span_count && trace->spans[at].lane == lane)
            return true;
    }
    return false;
}

static void check_spans(const crn_trace *trace, const uint32_t *first, const notes *all)
{
    for (uint32_t s = 0; s < trace->span_count; s++) {
        const crn_span *span = &trace->spans[s];
        const noted *noted = find(all, name_of(trace, first, s));
        assert_non_null(noted);
        assert_int_equal(span->block, noted->block);
        assert_true(span->iteration == noted->iteration);
        assert_false(span->open);
        if (span->parent != CRN_SPAN_NONE)
            assert_true(name_of(trace, first, span->parent) == noted->parent);
        else if (span->orphaned)
            assert_true(noted->parent ? !is_there(trace, first, noted->parent)
                                      : trace->dropped > 0);
        else
            assert_int_equal(noted->parent, 0);
    }
}

static int compare_edges(const void *left, const void *right)
{
    const edge *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return (int)a->kind - (int)b->kind;
}

/* The capture has as many edges as were noted between recorded spans, unless space for edges ran
 * out. */
static void check_edges(const crn_trace *trace, const uint32_t *first, notes *all)
{
    qsort(all->edges, all->edge_count, sizeof *all->edges, compare_edges);
    uint32_t expected = 0;
    for (uint32_t e = 0; e < all->edge_count; e++)
        expected += all->edges[e].from != all->edges[e].to &&
                    is_there(trace, first, all->edges[e].from) &&
                    is_there(trace, first, all->edges[e].to);
    for (uint32_t e = 0; e < trace->edge_count; e++) {
        edge edge = {name_of(trace, first, trace->edges[e].from),
                     name_of(trace, first, trace->edges[e].to), trace->edges[e].kind};
        assert_non_null(bsearch(&edge, all->edges, all->edge_count, sizeof edge, compare_edges));
    }
    if (!trace->recycled && !trace->details_dropped)
        assert_int_equal(trace->edge_count, expected);
}

static void run(const cairn_options *options, notes *all)
{
    setup s = setup_open(options, BLOCKS);
    pool pool = {.profile = s.profile, .lock = PTHREAD_MUTEX_INITIALIZER};
    static worker workers[THREADS];
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < THREADS; i++) {
        workers[i].pool = &pool;
        workers[i].seed = (uint64_t)i;
        workers[i].wanted = scale(IN_ALL) / THREADS;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        const notes *its = &workers[i].notes;
        all->begun += its->begun;
        for (uint32_t n = 0; n < its->span_count; n++)
            note_span(all, its->spans[n]);
        for (uint32_t n = 0; n < its->edge_count; n++)
            note_edge(all, its->edges[n]);
        crn_free(its->spans);
        crn_free(its->edges);
    }
    setup_close(&s);
    qsort(all->spans, all->span_count, sizeof *all->spans, compare_noted);
}

static crn_trace *check(const cairn_options *options)
{
    notes all = {0};
    run(options, &all);
    crn_error error = {0};
    crn_trace *trace = crn_trace_load(options->path, &error);
    assert_non_null(trace);
    uint32_t *first = lanes_of(trace);
    assert_int_equal(trace->span_count + trace->recycled, all.span_count);
    assert_int_equal(all.begun, all.span_count + trace->dropped + trace->skipped);
    check_spans(trace, first, &all);
    check_edges(trace, first, &all);
    crn_free(first);
    crn_free(all.spans);
    crn_free(all.edges);
    return trace;
}

static cairn_options options_for(char path[SCRATCH_PATH])
{
    cairn_options options = span_options(scratch_path(path, "dag.cairn"));
    return options;
}

static void all_of_them(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = options_for(path);
    crn_trace *trace = check(&options);
    assert_int_equal(trace->limited + trace->recycled + trace->skipped, 0);
    if (!trace->dropped)
        assert_int_equal(trace->dangling, 0);
    crn_trace_free(trace);
    unlink(path);
}

static void the_last_of_them(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = options_for(path);
    options.span_policy = CAIRN_SPANS_KEEP_LAST;
    options.span_limit = 1024 * 1024;
    crn_trace *trace = check(&options);
    assert_true(trace->recycled > 0 || scale(100) < 50);
    crn_trace_free(trace);
    unlink(path);
}

static void a_quarter_of_the_trees(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = options_for(path);
    options.span_rate = 0.25;
    options.span_histograms = true;
    crn_trace *trace = check(&options);
    assert_true(trace->skipped > trace->span_count);
    assert_int_equal(trace->dangling, trace->dropped ? trace->dangling : 0);
    crn_trace_free(trace);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_them),
        cmocka_unit_test(the_last_of_them),
        cmocka_unit_test(a_quarter_of_the_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
