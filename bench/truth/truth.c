/* SPDX-License-Identifier: MIT
 *
 * truth.c SCENARIO FIRST SECOND SEED - runs a small program whose work is sleep: the parts "first"
 * and "second" take FIRST and SECOND times as long. Prints its length in ms, and the median latency
 * of items where there are any. `bench/truth/run` compares both with the predictions of cairn
 * whatif.
 *
 * Lengths of work are random, but the same for the same seed and part, whatever the speeds.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cairn/mutex.h>
#include <cairn/wrap.h>

#include "measure.h"

enum { TURNS = 150, FIRST, SECOND, PARTS, THREADS = 3, QUEUE = 2, MOST = 1024 };

static double factor[PARTS] = {1, 1, 1};
static unsigned long long seed;

/* ---- time and work ---- */

static double now_ms(void)
{
    return measure_now() / 1e6;
}

static void sleep_until(double ms)
{
    long long ns = (long long)(ms * 1e6);
    struct timespec until = {ns / 1000000000, ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

/* Returns a number in [0, 1) for this piece of work. */
static double random_of(int part, int thread, int turn)
{
    unsigned long long x = seed * 1000003 + (unsigned long long)(part * 64 + thread) * 8191 +
                           (unsigned long long)turn + 1;
    for (int i = 0; i < 3; i++) {
        x ^= x >> 33;
        x *= 0xff51afd7ed558ccdULL;
    }
    return (double)(x >> 11) / 0x1p53;
}

static void work(int part, int thread, int turn, double ms)
{
    sleep_until(now_ms() + ms * (0.7 + 0.6 * random_of(part, thread, turn)) * factor[part]);
}

static void equal_work(int part, double ms)
{
    sleep_until(now_ms() + ms * factor[part]);
}

/* ---- one thread with a timer ---- */

static void camera(void)
{
    double due = now_ms() + 1;
    for (int i = 0; i < TURNS; i++, due += 33.3) {
        sleep_until(due);
        CAIRN_SCOPE("first", .iteration = i);
        equal_work(FIRST, 10);
    }
}

static void vsync(double ms)
{
    const double period = 16.667;
    for (int i = 0; i < TURNS; i++) {
        {
            CAIRN_SCOPE("first", .iteration = i);
            equal_work(FIRST, ms);
        }
        CAIRN_SCOPE("vsync");
        sleep_until(((double)(long long)(now_ms() / period) + 1) * period);
    }
}

static void vsync_short(void)
{
    vsync(6);
}

static void vsync_noted(void)
{
    cairn_profile_note(cairn_process_profile(), "timer.vsync", "16.667ms");
    vsync(20);
}

/* ---- threads and locks ---- */

static double outside_ms, inside_ms;
static cairn_mutex recorded = CAIRN_MUTEX("second");
static pthread_mutex_t unrecorded = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t many = PTHREAD_RWLOCK_INITIALIZER;
static int locking;

static void *take_turns(void *data)
{
    int thread = (int)(long)data;
    for (int i = 0; i < TURNS; i++) {
        {
            CAIRN_SCOPE("first", .iteration = i);
            work(FIRST, thread, i, outside_ms);
        }
        if (locking == 0) {
            CAIRN_LOCK(&recorded);
            work(SECOND, thread, i, inside_ms);
            continue;
        }
        bool writes = i % 3 == 0;
        if (locking == 1)
            pthread_mutex_lock(&unrecorded);
        else if (writes)
            pthread_rwlock_wrlock(&many);
        else
            pthread_rwlock_rdlock(&many);
        {
            CAIRN_SCOPE("second", .iteration = i);
            work(SECOND, thread, i, inside_ms);
        }
        if (locking == 1)
            pthread_mutex_unlock(&unrecorded);
        else
            pthread_rwlock_unlock(&many);
    }
    return NULL;
}

static void run_threads(double outside, double inside, int how)
{
    pthread_t threads[THREADS];
    outside_ms = outside;
    inside_ms = inside;
    locking = how;
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, take_turns, (void *)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

static void lock(void)
{
    run_threads(6, 4, 0);
}

static void rare_lock(void)
{
    run_threads(20, 4, 0);
}

static void lock_not_recorded(void)
{
    run_threads(6, 4, 1);
}

static void reader_writer(void)
{
    run_threads(6, 4, 2);
}

/* ---- a queue between two threads ---- */

typedef struct item {
    cairn_handoff asked;
    double began;
    int number;
} item;

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static item queue[QUEUE];
static int queued;
static bool over;
static double latencies[MOST];
static int latency_count;

static item pop(void)
{
    item oldest = queue[0];
    memmove(queue, queue + 1, (size_t)--queued * sizeof *queue);
    return oldest;
}

static void *consume(void *data)
{
    for (;;) {
        pthread_mutex_lock(&queue_lock);
        while (!queued && !over)
            pthread_cond_wait(&changed, &queue_lock);
        if (!queued) {
            pthread_mutex_unlock(&queue_lock);
            return data;
        }
        item job = pop();
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&queue_lock);
        {
            CAIRN_ADOPT(job.asked);
            CAIRN_SCOPE("second", .iteration = job.number);
            work(SECOND, 0, job.number, 25);
        }
        latencies[latency_count++] = now_ms() - job.began;
    }
}

static void produce(double ms, bool drops)
{
    pthread_t consumer;
    pthread_create(&consumer, NULL, consume, NULL);
    for (int i = 0; i < TURNS * 2; i++) {
        item made = {.began = now_ms(), .number = i};
        CAIRN_SCOPE("item", .iteration = i);
        {
            CAIRN_SCOPE("first", .iteration = i);
            work(FIRST, 0, i, ms);
        }
        CAIRN_SCOPE("push");
        pthread_mutex_lock(&queue_lock);
        while (queued == QUEUE && !drops)
            pthread_cond_wait(&changed, &queue_lock);
        if (queued == QUEUE)
            pop();
        made.asked = cairn_handoff_take(cairn_thread_strand());
        queue[queued++] = made;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&queue_lock);
    }
    pthread_mutex_lock(&queue_lock);
    over = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&queue_lock);
    pthread_join(consumer, NULL);
}

static void drop_oldest(void)
{
    cairn_profile_note(cairn_process_profile(), "queue.second", "2,drop-oldest");
    produce(10, true);
}

static void drop_not_noted(void)
{
    produce(10, true);
}

static void back_pressure(void)
{
    cairn_profile_note(cairn_process_profile(), "queue.second", "2");
    produce(20, false);
}

/* ---- two queues, one of them preferred by a worker ---- */

typedef struct line {
    item items[MOST];
    int head, tail;
} line;

static line urgent, patient;

static void put(line *line, int number)
{
    pthread_mutex_lock(&queue_lock);
    line->items[line->tail++] = (item){cairn_handoff_take(cairn_thread_strand()), now_ms(), number};
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&queue_lock);
}

static bool take_one(line *line, item *job)
{
    if (line->head == line->tail)
        return false;
    *job = line->items[line->head++];
    return true;
}

static void *serve(void *data)
{
    for (;;) {
        item job;
        pthread_mutex_lock(&queue_lock);
        bool high = false, found = false;
        while (!(found = (high = take_one(&urgent, &job)) || take_one(&patient, &job)) && !over)
            pthread_cond_wait(&changed, &queue_lock);
        pthread_mutex_unlock(&queue_lock);
        if (!found)
            return data;
        CAIRN_ADOPT(job.asked);
        if (high) {
            CAIRN_SCOPE("first", .iteration = job.number);
            work(FIRST, 0, job.number, 8);
        } else {
            CAIRN_SCOPE("second", .iteration = job.number);
            work(SECOND, 1, job.number, 12);
        }
        latencies[latency_count++] = now_ms() - job.began;
    }
}

static void *ask_patiently(void *data)
{
    for (int i = 0; i < TURNS; i++) {
        equal_work(0, 18 * (0.5 + random_of(0, 1, i)));
        CAIRN_SCOPE("ask", .iteration = i);
        put(&patient, i);
    }
    return data;
}

static void priority(void)
{
    pthread_t worker, other;
    pthread_create(&worker, NULL, serve, NULL);
    pthread_create(&other, NULL, ask_patiently, NULL);
    for (int i = 0; i < TURNS; i++) {
        equal_work(0, 17 * (0.5 + random_of(0, 0, i)));
        CAIRN_SCOPE("ask", .iteration = i);
        put(&urgent, i);
    }
    pthread_join(other, NULL);
    pthread_mutex_lock(&queue_lock);
    over = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&queue_lock);
    pthread_join(worker, NULL);
}

/* ---- two threads that wait for each other ---- */

static pthread_barrier_t meeting;
static cairn_span working[2]; /* by thread: the span of its work */
static bool described;

static void *meet(void *data)
{
    int thread = (int)(long)data;
    for (int i = 0; i < TURNS; i++) {
        if (thread == 0) {
            CAIRN_SCOPE("first", .iteration = i);
            working[0] = cairn_span_current(cairn_thread_strand());
            work(FIRST, 0, i, 8);
        } else {
            CAIRN_SCOPE("second", .iteration = i);
            working[1] = cairn_span_current(cairn_thread_strand());
            work(SECOND, 0, i, 8);
        }
        CAIRN_SCOPE("barrier");
        pthread_barrier_wait(&meeting);
        if (described)
            cairn_span_waits_for(cairn_thread_strand(), working[!thread]);
        pthread_barrier_wait(&meeting); /* so that neither overwrites its span before */
    }
    return NULL;
}

static void run_barrier(bool describes)
{
    pthread_t other;
    described = describes;
    pthread_barrier_init(&meeting, NULL, 2);
    pthread_create(&other, NULL, meet, (void *)1L);
    meet((void *)0L);
    pthread_join(other, NULL);
}

static void barrier(void)
{
    run_barrier(true);
}

static void barrier_not_recorded(void)
{
    run_barrier(false);
}

/* ---- futures: a thread for each job, joined ---- */

static void *compute(void *data)
{
    work(SECOND, 0, (int)(long)data, 12);
    return NULL;
}

static void future(void)
{
    for (long i = 0; i < TURNS; i++) {
        pthread_t job;
        CAIRN_SCOPE("turn", .iteration = i);
        cairn_pthread_create(&job, NULL, compute, (void *)i, "second");
        {
            CAIRN_SCOPE("first", .iteration = i);
            work(FIRST, 0, (int)i, 7);
        }
        CAIRN_SCOPE("join");
        cairn_pthread_join(job, NULL);
    }
}

/* ---- output at most each 10 ms ---- */

static void rate_limit(void)
{
    double next = 0;
    for (int i = 0; i < TURNS; i++) {
        {
            CAIRN_SCOPE("first", .iteration = i);
            equal_work(FIRST, 6);
        }
        {
            CAIRN_SCOPE("limit");
            sleep_until(next);
        }
        next = now_ms() + 10;
        CAIRN_SCOPE("output");
    }
}

/* ---- entry ---- */

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {{"camera", camera},
                 {"vsync", vsync_short},
                 {"vsync-noted", vsync_noted},
                 {"lock", lock},
                 {"rare-lock", rare_lock},
                 {"lock-not-recorded", lock_not_recorded},
                 {"reader-writer", reader_writer},
                 {"drop-oldest", drop_oldest},
                 {"drop-not-noted", drop_not_noted},
                 {"back-pressure", back_pressure},
                 {"priority", priority},
                 {"barrier", barrier},
                 {"barrier-not-recorded", barrier_not_recorded},
                 {"future", future},
                 {"rate-limit", rate_limit}};

int main(int count, char **arguments)
{
    if (count < 5)
        return 2;
    factor[FIRST] = atof(arguments[2]);
    factor[SECOND] = atof(arguments[3]);
    seed = strtoull(arguments[4], NULL, 10);
    cairn_profile_note(cairn_process_profile(), "cores", "16"); /* sleep takes none */
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(scenarios[i].name, arguments[1]) != 0)
            continue;
        double begin = now_ms();
        scenarios[i].run();
        double length = now_ms() - begin;
        measure_sort(latencies, (size_t)latency_count);
        printf("%.3f %.3f\n", length, latency_count ? latencies[latency_count / 2] : 0);
        return 0;
    }
    return 2;
}
