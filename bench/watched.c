/* SPDX-License-Identifier: MIT
 *
 * watched.c - a fixed amount of work for bench/top.py, which measures how `cairn top` slows it.
 *
 * usage: watched FILE CALLS CONTEXTS
 *
 * Makes the contexts, prints "ready", waits for a line on stdin, and then makes the calls, all
 * counted, under a sampled clock of 1 kHz. Prints the seconds and the processor seconds that those
 * took.
 */
#include <cairn/cairn.h>

#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "open.h"
#include "random.h"

enum { BLOCKS = 1000, DEEP = 8 };

/* Descends along random paths, so that each call counts in a random record of the capture. */
static void calls(cairn_strand *strand, uint64_t seed, uint64_t rounds, uint64_t count)
{
    for (uint64_t r = 0; r < rounds; r++) {
        uint64_t state = seed;
        for (uint64_t i = 0; i < count; i += DEEP) {
            for (int depth = 0; depth < DEEP; depth++)
                cairn_enter(strand, 1 + below(&state, BLOCKS));
            for (int depth = 0; depth < DEEP; depth++)
                cairn_leave(strand);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = argv[1];
    options.command = "watched";
    options.wall = CAIRN_WALL_SAMPLED;
    cairn_profile *profile = bench_open(&options);
    for (int i = 1; i <= BLOCKS; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%d", i);
        cairn_block_add(profile, &(cairn_block_info){.name = name, .file = "watched.c"});
    }
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "main"));
    uint64_t all = strtoull(argv[2], NULL, 10), contexts = strtoull(argv[3], NULL, 10);
    calls(strand, 1, 2, contexts);
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF)
        return 1;
    double wall = measure_now(), processor = measure_thread();
    calls(strand, 1, all / contexts, contexts);
    printf("%.6f %.6f\n", (measure_now() - wall) / 1e9, (measure_thread() - processor) / 1e9);
    cairn_profile_close(profile);
    return 0;
}
