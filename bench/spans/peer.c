/* SPDX-License-Identifier: MIT
 *
 * peer.c - the loop of spans.c under another recorder: -DLTTNG records a begin with an iteration
 * number and an end; otherwise a function compiled with -pg is called, for uftrace. Prints the
 * cost of a pair in units of two rdtsc, as in spans.c, and the number of pairs.
 *
 * usage: peer NAME
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "lttng_points.h"
#endif

enum { BATCHES = 9, TURNS = 25, COUNT = 4000 };

#define UNSEEN __attribute__((no_instrument_function))

UNSEEN static double now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

UNSEEN static double two_stamps(void)
{
    uint64_t sum = 0;
    double start = now();
    for (int i = 0; i < COUNT; i++) {
        sum += __builtin_ia32_rdtsc();
        sum += __builtin_ia32_rdtsc();
    }
    double took = now() - start;
    __asm__ volatile("" : "+r"(sum));
    return took / COUNT;
}

/* uftrace records this call. */
__attribute__((noinline)) void span(int64_t iteration);

void span(int64_t iteration)
{
#ifdef LTTNG
    lttng_ust_tracepoint(bench_spans, span_begin, iteration);
    __asm__ volatile("");
    lttng_ust_tracepoint(bench_spans, span_end);
#else
    __asm__ volatile("" : "+r"(iteration));
#endif
}

UNSEEN static double pairs(int64_t *iteration)
{
    double start = now();
    for (int i = 0; i < COUNT; i++)
        span((*iteration)++);
    return (now() - start) / COUNT;
}

UNSEEN static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

UNSEEN int main(int argc, char **argv)
{
    double batch[TURNS], result[BATCHES], net = 0;
    int64_t iteration = 0;
    if (argc != 2)
        return 2;
    for (int i = 0; i < 5; i++)
        pairs(&iteration);
    for (int b = 0; b < BATCHES; b++) {
        for (int turn = 0; turn < TURNS; turn++) {
            double two = two_stamps();
            net = pairs(&iteration);
            batch[turn] = net / two;
        }
        qsort(batch, TURNS, sizeof *batch, compare);
        result[b] = batch[TURNS / 2];
    }
    qsort(result, BATCHES, sizeof *result, compare);
    printf("%s\t%.6f\t%.6f\t%.6f\t%.1f ns; %lld of them\n", argv[1], result[BATCHES / 2], result[0],
           result[BATCHES - 1], net, (long long)iteration);
    return 0;
}
