/* SPDX-License-Identifier: MIT
 *
 * soak_program.c - the profiled program: threads that take lanes from each other, end and are
 * replaced, fork, and are interrupted. After each round all pause, and the capture must agree with
 * the reference.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/profile.h"
#include "spans/spans.h"
#include "stress/soak.h"
#include "support/compare.h"
#include "support/scratch.h"
#include "support/soundness.h"

enum { SPAN_LIMIT = 2 << 20 /* bytes for the spans of a lane */ };

/* A lane that threads pass on. */
typedef struct unit {
    soak_actor live, reference;
    unsigned left; /* steps of this round */
} unit;

const char *const soak_metrics[REFERENCE_USER_METRICS] = {"user0", "user1", CRN_ALLOC_BYTES,
                                                          CRN_ALLOC_OBJECTS};

typedef struct soak {
    const soak_options *options;
    soak_page *page;
    soak_shared *shared; /* by the lanes */
    soak_journal *journals;
    cairn_profile *profile;
    cairn_metric metrics[SOAK_CHARGED];
    reference_graph graph;
    unit *units;
    unsigned unit_count;
    bool recording;
    pthread_mutex_t lock; /* protects the three below */
    unit **waiting;       /* lanes that no thread has */
    unsigned waiting_count;
    unsigned threads; /* threads yet to begin */
} soak;

typedef struct worker {
    soak *all;
    random_source random;
} worker;

/* Signals handled, on whatever thread. Atomic, as handlers of several threads run in parallel. */
static atomic_uint_least64_t interrupted;

static void on_alarm(int signal)
{
    (void)signal;
    atomic_fetch_add(&interrupted, 1);
}

/* ---- lanes change hands ---- */

/* Puts the thread's lane back, and takes another one that is not done. */
static unit *exchange(soak *all, random_source *random, unit *had)
{
    if (had)
        soak_actor_give(&had->live, all->recording);
    pthread_mutex_lock(&all->lock);
    if (had && had->left)
        all->waiting[all->waiting_count++] = had;
    unit *next = NULL;
    if (all->waiting_count) {
        unsigned chosen = random_below(random, all->waiting_count);
        next = all->waiting[chosen];
        all->waiting[chosen] = all->waiting[--all->waiting_count];
    }
    pthread_mutex_unlock(&all->lock);
    if (next)
        soak_actor_take(&next->live);
    all->page->hand_overs += had && next && next != had;
    return next;
}

/* Returns the number of spans, recorded and dropped. */
static uint64_t spans_in(const char *path)
{
    crn_error error = {0};
    crn_trace *trace = crn_trace_load(path, &error);
    uint64_t spans = trace ? trace->span_count + trace->dropped : 0;
    crn_trace_free(trace);
    return spans;
}

static bool child_differs(const char *what, uint64_t is, uint64_t expected)
{
    if (is != expected)
        fprintf(stderr, "# child: %s: %llu, but %llu went in\n", what, (unsigned long long)is,
                (unsigned long long)expected);
    return is != expected;
}

/* The child's capture holds its own events, and a root's call for each strand that was open at its
 * first event, on the lanes that its thread had last. */
static bool childs_profile_holds(const crn_profile *profile, const soak_figures *did)
{
    uint64_t roots = profile->values[CRN_METRIC_CALLS][0];
    uint64_t calls = profile_total(profile, CRN_METRIC_CALLS) - roots;
    bool differs = child_differs("calls", calls, did->calls - did->roots) ||
                   child_differs("ticks", profile_total(profile, CRN_METRIC_TICKS), did->ticks) ||
                   child_differs("no root", !roots && did->calls + did->ticks, 0);
    for (int metric = 0; metric < REFERENCE_USER_METRICS && !differs; metric++)
        differs =
            child_differs(soak_metrics[metric],
                          profile_total(profile, crn_profile_metric(profile, soak_metrics[metric])),
                          did->user[metric]);
    return !differs;
}

static bool childs_capture_holds(const soak *all, const soak_figures *did)
{
    char path[SCRATCH_PATH];
    int stem = (int)(strlen(all->options->path) - strlen(".cairn"));
    snprintf(path, sizeof path, "%.*s.%d.cairn", stem, all->options->path, (int)getpid());
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    if (!profile && access(path, F_OK) != 0 && did->calls + did->ticks == 0)
        return true; /* the child had no event */
    if (!profile) {
        fprintf(stderr, "# child that did %llu calls and %llu ticks: %s\n",
                (unsigned long long)did->calls, (unsigned long long)did->ticks, error.message);
        return false;
    }
    bool good = childs_profile_holds(profile, did) &&
                !child_differs("spans", spans_in(path), did->spans + did->spans_dropped);
    crn_profile_free(profile);
    unlink(path);
    return good;
}

/* The child continues with a random sequence of its own. */
static _Noreturn void be_child(worker *w, soak_actor *actor)
{
    actor->random.state ^= 1;
    actor->did = (soak_figures){.calls = 0};
    actor->in_child = true;
    soak_allocations_forget(actor);
    soak_follow(actor, actor->strands[actor->active]);
    soak_actor_walk(actor, 1 + random_below(&w->random, 300), w->all->recording);
    soak_follow(actor, NULL);
    bool closes = random_chance(&w->random, 1, 2);
    if (closes)
        cairn_profile_close(w->all->profile);
    _exit(!childs_capture_holds(w->all, &actor->did) && w->all->recording);
}

static void fork_now(worker *w, unit *has)
{
    pid_t child = fork();
    if (child == 0)
        be_child(w, &has->live);
    int status = -1;
    if (child > 0)
        waitpid(child, &status, 0);
    if (status != 0) {
        fprintf(stderr, "# a child ended with %x\n", (unsigned)status);
        w->all->shared->wrong++;
    }
    w->all->page->forks++;
}

static void *work(void *data);

static pthread_t *begin_thread(soak *all, uint64_t seed)
{
    pthread_t *thread = malloc(sizeof *thread);
    worker *w = malloc(sizeof *w);
    *w = (worker){all, {seed}};
    if (pthread_create(thread, NULL, work, w) != 0) {
        perror("pthread_create");
        abort();
    }
    all->page->threads++;
    return thread;
}

/* Returns the thread that replaces this one, or NULL. */
static void *work(void *data)
{
    worker w = *(worker *)data;
    free(data);
    unit *has = exchange(w.all, &w.random, NULL);
    while (has) {
        unsigned steps = 1 + random_below(&w.random, 1000);
        steps = steps < has->left ? steps : has->left;
        soak_actor_walk(&has->live, steps, w.all->recording);
        has->left -= steps;
        if (w.all->options->forks && random_chance(&w.random, 1, 100))
            fork_now(&w, has);
        if (!has->left || random_chance(&w.random, 1, 4))
            has = exchange(w.all, &w.random, has);
        if (has && random_chance(&w.random, 1, 20)) {
            soak_actor_give(&has->live, w.all->recording);
            pthread_mutex_lock(&w.all->lock);
            w.all->waiting[w.all->waiting_count++] = has;
            pthread_mutex_unlock(&w.all->lock);
            return begin_thread(w.all, random_next(&w.random));
        }
    }
    return NULL;
}

static void join_chain(pthread_t *thread)
{
    while (thread) {
        void *next = NULL;
        pthread_join(*thread, &next);
        free(thread);
        thread = next;
    }
}

static void run_round(soak *all, uint64_t round)
{
    pthread_t *threads[SOAK_THREADS_MOST];
    all->waiting_count = 0;
    for (unsigned i = 0; i < all->unit_count; i++) {
        all->units[i].left = all->options->steps;
        all->waiting[all->waiting_count++] = &all->units[i];
    }
    for (unsigned i = 0; i < all->options->threads; i++)
        threads[i] = begin_thread(all, (all->options->seed + round) * SOAK_THREADS_MOST + i);
    for (unsigned i = 0; i < all->options->threads; i++)
        join_chain(threads[i]);
}

/* ---- standing still ---- */

static void add(soak_figures *sum, const soak_figures *did)
{
    sum->calls += did->calls;
    sum->ticks += did->ticks;
    sum->lanes += did->lanes;
    for (int metric = 0; metric < REFERENCE_USER_METRICS; metric++)
        sum->user[metric] += did->user[metric];
    sum->spans += did->spans;
    sum->open_spans += did->open_spans;
    sum->span_hash += did->span_hash;
    sum->spans_dropped += did->spans_dropped;
    sum->handoffs += did->handoffs;
    sum->freed_bytes += did->freed_bytes;
    sum->freed_objects += did->freed_objects;
    sum->least.wall += did->least.wall;
    sum->least.cpu += did->least.cpu;
    sum->most.wall += did->most.wall;
    sum->most.cpu += did->most.cpu;
}

static void sum_up(soak *all)
{
    soak_figures sum = {.calls = 0};
    for (unsigned i = 0; i < all->unit_count; i++)
        add(&sum, &all->units[i].live.did);
    if (!all->recording) { /* frees are charged when recording is on again */
        sum.freed_bytes = all->page->figures.freed_bytes;
        sum.freed_objects = all->page->figures.freed_objects;
    }
    all->page->figures = sum;
    uint64_t live = sum.user[SOAK_BYTES] - sum.freed_bytes;
    if (live > all->page->most_live)
        all->page->most_live = live;
    all->page->signals = atomic_load(&interrupted);
}

/* The references walk until each has to wait for another, in turn. */
static void walk_references(soak *all)
{
    bool progress = true;
    for (unsigned i = 0; i < all->unit_count; i++)
        all->units[i].left = all->options->steps;
    while (progress) {
        progress = false;
        for (unsigned i = 0; i < all->unit_count; i++) {
            unit *one = &all->units[i];
            unsigned left = soak_actor_walk(&one->reference, one->left, all->recording);
            progress = progress || left != one->left;
            one->left = left;
        }
    }
}

static void compare(soak *all, uint64_t round)
{
    difference found;
    walk_references(all);
    soak_tokens_settle(all->shared, all->journals, all->unit_count);
    for (unsigned i = 0; i < all->unit_count; i++)
        all->units[i].live.taken = 0;
    if (!compare_capture(all->options->path, &all->graph, &found)) {
        fprintf(stderr, "# after round %llu: %s\n", (unsigned long long)round, found.text);
        all->shared->wrong++;
    }
}

/* Each lane's allocations that other threads have freed since it was followed are charged when it
 * is followed again. */
static void collect(soak *all)
{
    for (unsigned i = 0; i < all->unit_count; i++) {
        soak_actor_take(&all->units[i].live);
        soak_actor_give(&all->units[i].live, all->recording);
    }
}

/* Forks on this thread, which takes a lane in the child. */
static void fork_alone(soak *all, uint64_t round)
{
    worker w = {all, {all->options->seed ^ round}};
    unit *one = &all->units[random_below(&w.random, all->unit_count)];
    soak_actor_take(&one->live);
    fork_now(&w, one);
    soak_actor_give(&one->live, all->recording);
}

/* The reader checks the capture while the reference plays. */
static void stand_still(soak *all, uint64_t round)
{
    if (all->options->forks_alone)
        fork_alone(all, round);
    collect(all);
    sum_up(all);
    all->page->paused = round;
    compare(all, round);
    while (all->page->seen < round && !all->shared->wrong)
        usleep(200);
}

/* ---- from begin to end ---- */

static void start(soak *all)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = all->options->path;
    options.path_limit = SOAK_PATH_LIMIT;
    options.wall = CAIRN_WALL_SAMPLED;
    options.cpu = CAIRN_CPU_SAMPLED;
    options.sample_period_ns = 100000;
    options.sample_overhead = 0;
    options.spans = true;
    options.span_limit = SPAN_LIMIT;
    options.span_policy = all->options->last_spans ? CAIRN_SPANS_KEEP_LAST : CAIRN_SPANS_KEEP_FIRST;
    if (cairn_profile_open(&all->profile, &options) != CAIRN_OK) {
        fprintf(stderr, "# the profile cannot be opened\n");
        all->shared->wrong++;
        return;
    }
    for (int block = 1; block <= SOAK_BLOCKS; block++) {
        const char name[] = {'b', (char)('0' + block), 0};
        cairn_block_add(all->profile, &(cairn_block_info){.name = name});
    }
    for (int metric = 0; metric < SOAK_CHARGED; metric++)
        all->metrics[metric] = cairn_metric_add(all->profile, soak_metrics[metric], "count");
    all->shared->parent = cairn_key_add(all->profile, SOAK_PARENT);
    reference_graph_start(&all->graph, SOAK_PATH_LIMIT, UINT32_MAX);
    memcpy(all->graph.metrics, soak_metrics, sizeof soak_metrics);
    for (unsigned i = 0; i < all->unit_count; i++) {
        soak_actor actor = {.random = {all->options->seed * 1000 + i},
                            .number = i + 1,
                            .shared = all->shared,
                            .journals = all->journals};
        soak_journal *journal = &all->journals[i + 1];
        journal->adopted = calloc(all->options->steps, sizeof *journal->adopted);
        journal->taken = calloc(all->options->steps, sizeof *journal->taken);
        all->units[i].live = all->units[i].reference = actor;
        all->units[i].live.profile = all->profile;
        all->units[i].live.metrics = all->metrics;
        all->units[i].reference.graph = &all->graph;
        soak_actor_start(&all->units[i].live, true);
        soak_actor_give(&all->units[i].live, true);
        soak_actor_start(&all->units[i].reference, true);
    }
}

/* In each fourth round recording is off. */
static void turn(soak *all, bool on)
{
    if (on == all->recording)
        return;
    if (on)
        cairn_profile_enable(all->profile);
    else
        cairn_profile_disable(all->profile);
    all->recording = on;
}

static void set_alarm(bool on)
{
    const struct itimerval period = {{0, on ? 100 : 0}, {0, on ? 100 : 0}};
    sigaction(SIGALRM, &(const struct sigaction){.sa_handler = on_alarm, .sa_flags = SA_RESTART},
              NULL);
    setitimer(ITIMER_REAL, &period, NULL);
}

static void finish(soak *all)
{
    for (unsigned i = 0; i < all->unit_count; i++) {
        soak_actor_take(&all->units[i].live);
        soak_allocations_end(&all->units[i].live);
        soak_actor_give(&all->units[i].live, true);
    }
    for (unsigned i = 0; i < all->unit_count; i++) {
        soak_actor_take(&all->units[i].live);
        soak_actor_end(&all->units[i].live, true);
        soak_actor_end(&all->units[i].reference, true);
    }
    sum_up(all);
    cairn_profile_close(all->profile);
    difference found;
    if (!compare_capture(all->options->path, &all->graph, &found)) {
        fprintf(stderr, "# at the end: %s\n", found.text);
        all->shared->wrong++;
    }
    reference_graph_end(&all->graph);
}

int soak_program(const soak_options *options, soak_page *page)
{
    soak all = {.options = options,
                .page = page,
                .unit_count = options->threads + 4,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .recording = true};
    soak_shared shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
    all.shared = &shared;
    all.journals = calloc(all.unit_count + 1, sizeof *all.journals);
    all.units = calloc(all.unit_count, sizeof *all.units);
    all.waiting = calloc(all.unit_count + 1, sizeof *all.waiting);
    start(&all);
    shared.follows = true;
    page->ready = 1;
    uint64_t until = soak_now() + options->seconds * (uint64_t)1000000000;
    for (uint64_t round = 1; !all.shared->wrong && (round == 1 || soak_now() < until); round++) {
        turn(&all, round % 4 != 0);
        if (options->signals)
            set_alarm(true);
        run_round(&all, round);
        set_alarm(false);
        stand_still(&all, round);
    }
    turn(&all, true);
    if (!all.shared->wrong)
        finish(&all);
    page->finished = 1;
    for (unsigned i = 1; i <= all.unit_count; i++) {
        free(all.journals[i].adopted);
        free(all.journals[i].taken);
    }
    free(all.journals);
    free(all.units);
    free(all.waiting);
    return all.shared->wrong != 0;
}
