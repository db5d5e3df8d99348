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

#include "stress/soak.h"
#include "support/compare.h"
#include "support/scratch.h"
#include "support/soundness.h"

/* A lane that threads pass on. */
typedef struct unit {
    soak_actor live, reference;
    unsigned left; /* steps of this round */
} unit;

typedef struct soak {
    const soak_options *options;
    soak_page *page;
    cairn_profile *profile;
    cairn_metric metrics[REFERENCE_USER_METRICS];
    reference_graph graph;
    unit *units;
    unsigned unit_count;
    bool recording;
    pthread_mutex_t lock; /* protects the three below */
    unit **waiting;       /* lanes that no thread has */
    unsigned waiting_count;
    unsigned threads; /* threads yet to begin */
    atomic_int wrong;
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

/* The child's capture holds its own events, and a root's call for each strand that was open at its
 * first event, on the lanes that its thread had last. */
static bool childs_capture_holds(const soak *all, const soak_actor *did)
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
    uint64_t roots = profile->values[CRN_METRIC_CALLS][0];
    uint64_t calls = profile_total(profile, CRN_METRIC_CALLS) - roots;
    uint64_t ticks = profile_total(profile, CRN_METRIC_TICKS);
    crn_profile_free(profile);
    unlink(path);
    if (calls == did->calls - did->roots && ticks == did->ticks && roots > 0)
        return true;
    fprintf(stderr, "# child: %llu roots, %llu calls, %llu ticks; it did %llu, %llu, %llu\n",
            (unsigned long long)roots, (unsigned long long)calls, (unsigned long long)ticks,
            (unsigned long long)did->roots, (unsigned long long)(did->calls - did->roots),
            (unsigned long long)did->ticks);
    return false;
}

/* The child continues with a random sequence of its own. */
static _Noreturn void be_child(worker *w, soak_actor *actor)
{
    actor->random.state ^= 1;
    actor->calls = actor->roots = actor->ticks = 0;
    soak_actor_walk(actor, 1 + random_below(&w->random, 300), w->all->recording);
    bool closes = random_chance(&w->random, 1, 2);
    if (closes)
        cairn_profile_close(w->all->profile);
    _exit(!childs_capture_holds(w->all, actor) && w->all->recording);
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
        w->all->wrong++;
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

static void sum_up(soak *all)
{
    soak_page *page = all->page;
    soak_actor sum = {.calls = 0};
    for (unsigned i = 0; i < all->unit_count; i++) {
        const soak_actor *actor = &all->units[i].live;
        sum.calls += actor->calls;
        sum.ticks += actor->ticks;
        sum.lanes += actor->lanes;
        for (int metric = 0; metric < REFERENCE_USER_METRICS; metric++)
            sum.user[metric] += actor->user[metric];
        sum.least.wall += actor->least.wall;
        sum.least.cpu += actor->least.cpu;
        sum.most.wall += actor->most.wall;
        sum.most.cpu += actor->most.cpu;
    }
    page->calls = sum.calls;
    page->ticks = sum.ticks;
    page->lanes = sum.lanes;
    for (int metric = 0; metric < REFERENCE_USER_METRICS; metric++)
        page->user[metric] = sum.user[metric];
    page->least_wall = sum.least.wall;
    page->least_cpu = sum.least.cpu;
    page->most_wall = sum.most.wall;
    page->most_cpu = sum.most.cpu;
    page->signals = atomic_load(&interrupted);
}

static void compare(soak *all, uint64_t round)
{
    difference found;
    for (unsigned i = 0; i < all->unit_count; i++)
        soak_actor_walk(&all->units[i].reference, all->options->steps, all->recording);
    if (!compare_capture(all->options->path, &all->graph, &found)) {
        fprintf(stderr, "# after round %llu: %s\n", (unsigned long long)round, found.text);
        all->wrong++;
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
    sum_up(all);
    all->page->paused = round;
    compare(all, round);
    while (all->page->seen < round && !all->wrong)
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
    if (cairn_profile_open(&all->profile, &options) != CAIRN_OK) {
        fprintf(stderr, "# the profile cannot be opened\n");
        all->wrong++;
        return;
    }
    for (int block = 1; block <= SOAK_BLOCKS; block++) {
        const char name[] = {'b', (char)('0' + block), 0};
        cairn_block_add(all->profile, &(cairn_block_info){.name = name});
    }
    for (int metric = 0; metric < REFERENCE_USER_METRICS; metric++) {
        char name[] = {'u', 's', 'e', 'r', (char)('0' + metric), 0};
        all->metrics[metric] = cairn_metric_add(all->profile, name, "count");
    }
    reference_graph_start(&all->graph, SOAK_PATH_LIMIT, UINT32_MAX);
    for (unsigned i = 0; i < all->unit_count; i++) {
        random_source seed = {all->options->seed * 1000 + i};
        all->units[i].live =
            (soak_actor){.random = seed, .profile = all->profile, .metrics = all->metrics};
        all->units[i].reference = (soak_actor){.random = seed, .graph = &all->graph};
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
        soak_actor_end(&all->units[i].live, true);
        soak_actor_end(&all->units[i].reference, true);
    }
    sum_up(all);
    cairn_profile_close(all->profile);
    difference found;
    if (!compare_capture(all->options->path, &all->graph, &found)) {
        fprintf(stderr, "# at the end: %s\n", found.text);
        all->wrong++;
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
    all.units = calloc(all.unit_count, sizeof *all.units);
    all.waiting = calloc(all.unit_count + 1, sizeof *all.waiting);
    start(&all);
    page->ready = 1;
    uint64_t until = soak_now() + options->seconds * (uint64_t)1000000000;
    for (uint64_t round = 1; !all.wrong && (round == 1 || soak_now() < until); round++) {
        turn(&all, round % 4 != 0);
        if (options->signals)
            set_alarm(true);
        run_round(&all, round);
        set_alarm(false);
        stand_still(&all, round);
    }
    turn(&all, true);
    if (!all.wrong)
        finish(&all);
    page->finished = 1;
    free(all.units);
    free(all.waiting);
    return all.wrong != 0;
}
