/* SPDX-License-Identifier: MIT
 *
 * sampling.c - cost of sampled time for a program that does little but call, compared with exact
 * counts alone: sampled by a thread, and by a signal for each sample.
 *
 * For each sampler and number of threads all rates take turns. A turn opens a profile, runs the
 * threads for some tens of milliseconds, and gives the processor time of a call: that of the
 * program's threads if a processor is left for the sampling thread, else that of the process. It
 * is divided by that of the same round without samples, and paired with the rate that was reached.
 * The slope of a line through all pairs is the cost of one sample a second; the result is the
 * line's value at a rate. Timers on processor time expire at most as often as the kernel ticks, so
 * for them the result is the measured cost at the requested rate.
 *
 * usage: sampling WAY THREADS        (ways: see below)
 *        sampling waits
 */
#include <cairn/cairn.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"
#include "open.h"
#include "runtime/runtime.h"

enum { ROUNDS = 15, TURN_MS = 80, DEPTH = 14, MOST_THREADS = 64, RATES = 5 };

static const unsigned rates[RATES] = {0, 1000, 2000, 5000, 10000};
static const char path[] = "sampling.cairn";

/* Samplers. Sampling wall time by signals exists only here, not in the library. */
typedef enum taker {
    BY_LIBRARY,
    BY_TIMER, /* each thread has one, on wall time */
    BY_SENDER /* a thread that signals all others */
} taker;

typedef struct way {
    const char *name;
    cairn_wall wall;
    cairn_cpu cpu;
    cairn_sampler sampler;
    taker taker;
} way;

static const way ways[] = {
    {"thread-wall", CAIRN_WALL_SAMPLED, CAIRN_CPU_OFF, CAIRN_SAMPLER_THREAD, BY_LIBRARY},
    {"thread-cpu", CAIRN_WALL_OFF, CAIRN_CPU_SAMPLED, CAIRN_SAMPLER_THREAD, BY_LIBRARY},
    {"thread-both", CAIRN_WALL_SAMPLED, CAIRN_CPU_SAMPLED, CAIRN_SAMPLER_THREAD, BY_LIBRARY},
    {"timer-cpu", CAIRN_WALL_OFF, CAIRN_CPU_SAMPLED, CAIRN_SAMPLER_TIMER, BY_LIBRARY},
    {"signal-wall", CAIRN_WALL_SAMPLED, CAIRN_CPU_OFF, CAIRN_SAMPLER_THREAD, BY_TIMER},
    {"sender-wall", CAIRN_WALL_SAMPLED, CAIRN_CPU_OFF, CAIRN_SAMPLER_THREAD, BY_SENDER},
};

static const way *find_way(const char *name)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(name, ways[i].name) == 0)
            return &ways[i];
    return NULL;
}

/* ---- the program ---- */

static void fib(cairn_strand *strand, int n)
{
    cairn_enter(strand, 1 + (cairn_block)(n & 3));
    if (n > 1) {
        fib(strand, n - 1);
        fib(strand, n - 2);
    }
    cairn_leave(strand);
}

static uint64_t calls_of_fib(int n)
{
    return n > 1 ? 1 + calls_of_fib(n - 1) + calls_of_fib(n - 2) : 1;
}

typedef struct worker {
    cairn_lane *lane;
    pthread_t thread;
    uint64_t turns, samples;
    double cpu;
    timer_t timer;
    atomic_int id; /* of the thread; 0 while it takes no signals */
} worker;

static worker workers[MOST_THREADS];
static atomic_int go;
static unsigned timer_rate, sender_rate;
static __thread worker *self;

/* ---- a signal for each sample, of wall time ---- */

static void take_sample(int number)
{
    (void)number;
    cairn_lane *lane = self->lane;
    cairn_strand *running = lane->running;
    if (!running) /* the signal was sent before the strand was closed */
        return;
    uint64_t clock = crn_clock_now(lane->profile->tsc);
    if (!__atomic_load_n(&lane->pending.clock, __ATOMIC_RELAXED))
        __atomic_store_n(&lane->first_pending.clock, clock, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->pending.clock, clock, __ATOMIC_RELEASE);
    crn_strand_arm(running);
    self->samples++;
}

static void take_signals(void)
{
    struct sigaction action = {.sa_handler = take_sample, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigaction(SIGRTMIN, &action, NULL);
}

static void start_timer(worker *w, unsigned rate)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
    event._sigev_un._tid = gettid();
    struct itimerspec time = {{0, 1000000000 / (long)rate}, {0, 1000000000 / (long)rate}};
    if (timer_create(CLOCK_MONOTONIC, &event, &w->timer) != 0)
        abort();
    timer_settime(w->timer, 0, &time, NULL);
}

static void *send_signals(void *data)
{
    (void)data;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (atomic_load(&go) == 1) {
        next.tv_nsec += 1000000000 / (long)sender_rate;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        for (int i = 0, id; i < MOST_THREADS; i++)
            if ((id = atomic_load(&workers[i].id)))
                tgkill(getpid(), id, SIGRTMIN);
    }
    return NULL;
}

static void *work(void *data)
{
    worker *w = self = data;
    cairn_strand *strand = cairn_strand_open(w->lane);
    fib(strand, DEPTH);
    while (!atomic_load(&go))
        sched_yield();
    if (timer_rate)
        start_timer(w, timer_rate);
    atomic_store(&w->id, gettid());
    double start = measure_thread();
    while (atomic_load_explicit(&go, memory_order_relaxed) == 1) {
        fib(strand, DEPTH);
        w->turns++;
    }
    w->cpu = measure_thread() - start;
    atomic_store(&w->id, 0);
    if (timer_rate)
        timer_delete(w->timer);
    cairn_strand_close(strand);
    return NULL;
}

/* ---- turns ---- */

static cairn_profile *open_profile(const way *w, unsigned rate)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = path;
    options.wall = rate ? w->wall : CAIRN_WALL_OFF;
    options.cpu = rate ? w->cpu : CAIRN_CPU_OFF;
    options.sampler = rate ? w->sampler : CAIRN_SAMPLER_THREAD;
    options.sample_overhead = 0;
    options.sample_period_ns = w->taker ? (uint64_t)1 << 50 : rate ? 1000000000 / rate : 0;
    cairn_profile *profile = bench_open(&options);
    bench_blocks(profile, 4, "fib");
    return profile;
}

typedef struct figures {
    double call, rate; /* ns of processor time a call; samples that were taken a second */
} figures;

static figures time_turn(const way *w, unsigned rate, int threads)
{
    memset(workers, 0, sizeof workers);
    cairn_profile *profile = open_profile(w, rate);
    take_signals();
    timer_rate = w->taker == BY_TIMER ? rate : 0;
    sender_rate = w->taker == BY_SENDER ? rate : 0;
    atomic_store(&go, 0);
    for (int i = 0; i < threads; i++) {
        workers[i].lane = cairn_lane_open(profile, "worker");
        cairn_lane_hand_over(workers[i].lane);
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    usleep(3000);
    double process = measure_processor(), start = measure_now();
    uint64_t rounds = profile->capture.header->rounds;
    atomic_store(&go, 1);
    pthread_t sender;
    if (sender_rate)
        pthread_create(&sender, NULL, send_signals, NULL);
    usleep(TURN_MS * 1000);
    atomic_store(&go, 2);
    if (sender_rate)
        pthread_join(sender, NULL);
    double cpu = 0, turns = 0, samples = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        cpu += workers[i].cpu;
        turns += (double)workers[i].turns;
        samples += (double)workers[i].samples;
    }
    double seconds = (measure_now() - start) * 1e-9;
    if (threads >= sysconf(_SC_NPROCESSORS_ONLN))
        cpu = measure_processor() - process;
    rounds = profile->capture.header->rounds - rounds;
    cairn_profile_close(profile);
    remove(path);
    double taken = w->taker ? samples / threads : (double)rounds;
    return (figures){cpu / turns / (double)calls_of_fib(DEPTH), rate ? taken / seconds : 0};
}

/* Fits a line through the point of no samples. The median of the rounds ignores rounds in which the
 * machine was busy. */
static void measure_way(const way *w, int threads)
{
    measure_series slopes = {0}, reached = {0}, plain = {0};
    for (int round = 0; round < ROUNDS; round++) {
        figures at[RATES];
        for (int i = 0; i < RATES; i++)
            at[i] = time_turn(w, rates[i], threads);
        double sum = 0, squares = 0;
        for (int i = 1; i < RATES; i++) {
            sum += (at[i].call / at[0].call - 1) * at[i].rate;
            squares += at[i].rate * at[i].rate;
        }
        if (!(squares > 0) || !(sum / squares < 1)) /* threads that did not get to run */
            continue;
        measure_add(&slopes, sum / squares);
        measure_add(&reached, at[RATES - 1].rate);
        measure_add(&plain, at[0].call);
    }
    double slope = measure_quantile(&slopes, 0.5);
    for (int i = 1; i < RATES; i += RATES - 2) {
        measure_series ratios = {0};
        for (size_t k = 0; k < slopes.count; k++)
            measure_add(&ratios, 1 + slopes.values[k] * rates[i]);
        char name[64];
        snprintf(name, sizeof name, "%s/%d/%u", w->name, threads, rates[i]);
        measure_print(name, &ratios,
                      "%.0f ns a sample a thread; %.2f ns a call; %.0f a second were reached of "
                      "10,000",
                      slope * 1e9, measure_quantile(&plain, 0.5), measure_quantile(&reached, 0.5));
    }
}

/* ---- signals that interrupt waits ---- */

static void *wait_often(void *data)
{
    worker *w = self = data;
    cairn_strand *strand = cairn_strand_open(w->lane);
    uint64_t *cut_short = (uint64_t *)&w->cpu;
    *cut_short = 0;
    start_timer(w, 1000);
    for (int i = 0; i < 1000; i++) {
        cairn_enter(strand, 1);
        *cut_short += nanosleep(&(struct timespec){0, 1000000}, NULL) != 0 && errno == EINTR;
        cairn_leave(strand);
    }
    timer_delete(w->timer);
    cairn_strand_close(strand);
    return NULL;
}

static void measure_waits(void)
{
    take_signals();
    cairn_profile *profile = open_profile(find_way("signal-wall"), 1000);
    worker w = {.lane = cairn_lane_open(profile, "waits")};
    cairn_lane_hand_over(w.lane);
    pthread_create(&w.thread, NULL, wait_often, &w);
    pthread_join(w.thread, NULL);
    cairn_profile_close(profile);
    remove(path);
    uint64_t cut_short;
    memcpy(&cut_short, &w.cpu, sizeof cut_short);
    measure_series share = {0};
    measure_add(&share, (double)cut_short / 1000);
    measure_print("waits", &share, "%llu of 1,000 sleeps of a millisecond fail with EINTR",
                  (unsigned long long)cut_short);
}

/* Measures the cost of the library's own timers at each rate. */
static void measure_timers(const way *w, int threads)
{
    for (int i = 1; i < RATES; i += RATES - 2) {
        measure_series ratios = {0};
        for (int round = 0; round < 3 * ROUNDS; round++) {
            double plain = time_turn(w, 0, threads).call;
            measure_add(&ratios, time_turn(w, rates[i], threads).call / plain);
        }
        char name[64];
        snprintf(name, sizeof name, "%s/%d/%u", w->name, threads, rates[i]);
        measure_print(name, &ratios, "as many signals as the kernel's ticks allow");
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "waits") == 0) {
        measure_waits();
        return 0;
    }
    const way *w = argc == 3 ? find_way(argv[1]) : NULL;
    int threads = argc == 3 ? atoi(argv[2]) : 0;
    if (w && threads > 0 && threads <= MOST_THREADS) {
        (w->sampler == CAIRN_SAMPLER_TIMER ? measure_timers : measure_way)(w, threads);
        return 0;
    }
    fprintf(stderr, "usage: sampling WAY THREADS\n"
                    "       sampling waits\n"
                    "ways:");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        fprintf(stderr, " %s", ways[i].name);
    fputc('\n', stderr);
    return 2;
}
