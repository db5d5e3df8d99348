/* SPDX-License-Identifier: MIT
 *
 * allocating.c - a program of machine code to be watched: under `cairn run --alloc` its capture
 * holds addresses.
 *
 * usage: allocating SECONDS
 *
 * It keeps what make_kept makes (in fill, which is inlined into it) and gives back what
 * make_brief makes, ten times as often; after half a second it does so in begin_late, too,
 * whose addresses are new then.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../support/clock.h"

#define APART __attribute__((noinline))
#define INSIDE static inline __attribute__((always_inline))
#define KEEP() __asm__ volatile("" ::: "memory")
#define USE(memory) __asm__ volatile("" ::"r"(memory) : "memory")

enum { BLOCKS = 64 };

static void *kept[BLOCKS];

INSIDE void *fill(void)
{
    void *memory = malloc(100000);
    KEEP();
    return memory;
}

static APART void make_kept(int turn)
{
    free(kept[turn % BLOCKS]);
    kept[turn % BLOCKS] = fill();
    KEEP();
}

static APART void make_brief(void)
{
    void *memory = calloc(10, 1000);
    USE(memory);
    free(memory);
}

static APART void work(int turn)
{
    make_kept(turn);
    for (int i = 0; i < 10; i++)
        make_brief();
    KEEP();
}

static APART void begin_late(int turn)
{
    work(turn);
    KEEP();
}

static double now(void)
{
    return (double)now_ns() / 1e9;
}

int main(int argc, char **argv)
{
    double begin = now(), end = begin + (argc > 1 ? atof(argv[1]) : 1);
    for (int turn = 0; now() < end; turn++) {
        work(turn);
        if (now() > begin + 0.5)
            begin_late(turn);
        usleep(2000);
    }
    return 0;
}
