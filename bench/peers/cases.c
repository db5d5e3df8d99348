/* SPDX-License-Identifier: MIT
 *
 * cases.c - small programs that profilers find hard, with known numbers of calls. A compiler
 * instruments them by its flags; for Cairn the macros below do.
 *
 * usage: cases depth|tail|longjmp|threads
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))
#define KEEP() __asm__ volatile("")

enum { DEPTH = 1000000, TAIL_CALLS = 1000000, JUMPS = 1000, THREADS = 2, THREAD_CALLS = 5000000 };

static volatile unsigned sink;

#ifdef PEER_CAIRN
#include <cairn/cairn.h>

enum {
    BLOCK_run = 1,
    BLOCK_deep,
    BLOCK_even,
    BLOCK_odd,
    BLOCK_middle,
    BLOCK_thrower,
    BLOCK_after,
    BLOCK_thread,
    BLOCK_work,
    BLOCK_jump
};
static const char *const NAMES[] = {"run",     "deep",  "even",   "odd",  "middle",
                                    "thrower", "after", "thread", "work", "jump"};
static cairn_profile *profile;
static _Thread_local cairn_strand *strand;

static void profile_begin(void)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = "cases.cairn";
    if (cairn_profile_open(&profile, &options) != CAIRN_OK)
        exit(3);
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(*NAMES); i++)
        cairn_block_add(profile, &(cairn_block_info){.name = NAMES[i]});
}

static void profile_thread(void)
{
    strand = cairn_strand_open(cairn_lane_open(profile, "thread"));
}

static void profile_end(void)
{
    cairn_profile_close(profile);
}

#define CALL(function, ...)                                                                        \
    (cairn_enter(strand, BLOCK_##function), function(__VA_ARGS__), cairn_leave(strand))
#define TAIL_CALL(function, ...) (cairn_replace(strand, BLOCK_##function), function(__VA_ARGS__))
#define MARK() cairn_mark mark = cairn_strand_mark(strand)
#define UNWIND() cairn_strand_unwind(strand, mark)
#else
#define CALL(function, ...) function(__VA_ARGS__)
#define TAIL_CALL(function, ...) function(__VA_ARGS__)
#define MARK() ((void)0)
#define UNWIND() ((void)0)

#ifdef PEER_XRAY
#include "xray.h"

static void profile_begin(void)
{
    if (!xray_profiling_begin("no_flush=false"))
        exit(3);
}

static void profile_end(void)
{
    __xray_log_finalize();
    __xray_log_flushLog();
}
#else
static void profile_begin(void)
{
}

static void profile_end(void)
{
}
#endif

static void profile_thread(void)
{
}
#endif

/* ---- recursion 1,000,000 deep ---- */

APART void deep(unsigned n)
{
    if (n)
        CALL(deep, n - 1);
    KEEP();
}

/* ---- 1,000,000 tail calls between two functions ---- */

void odd(unsigned n);

APART void even(unsigned n)
{
    sink = 2;
    if (n)
        TAIL_CALL(odd, n - 1);
}

APART void odd(unsigned n)
{
    sink = 1;
    if (n)
        TAIL_CALL(even, n - 1);
}

/* ---- longjmp out of two calls, then a call that must have the right caller ---- */

static jmp_buf home;

APART void thrower(void)
{
    sink = 3;
    if (sink)
        longjmp(home, 1);
}

APART void middle(void)
{
    CALL(thrower);
    KEEP();
}

APART void after(void)
{
    sink = 4;
}

APART void jump(void)
{
    for (volatile int i = 0; i < JUMPS; i++) {
        MARK();
        if (setjmp(home) == 0)
            CALL(middle);
        UNWIND();
        CALL(after);
    }
}

/* ---- two threads that call the same function at once ---- */

static pthread_barrier_t barrier;

APART void work(void)
{
    KEEP();
}

APART void thread(void)
{
    for (int i = 0; i < THREAD_CALLS; i++)
        CALL(work);
}

static void *start(void *argument)
{
    profile_thread();
    pthread_barrier_wait(&barrier);
    CALL(thread);
    return argument;
}

static void start_threads(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, start, NULL))
            exit(3);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

APART void run(const char *name)
{
    if (strcmp(name, "depth") == 0)
        CALL(deep, DEPTH - 1);
    else if (strcmp(name, "tail") == 0)
        CALL(even, TAIL_CALLS - 1);
    else if (strcmp(name, "longjmp") == 0)
        CALL(jump);
    else if (strcmp(name, "threads") == 0)
        start_threads();
    KEEP();
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: cases depth|tail|longjmp|threads\n");
        return 2;
    }
    profile_begin();
    profile_thread();
    CALL(run, argv[1]);
    profile_end();
    return 0;
}
