/* SPDX-License-Identifier: MIT
 *
 * make_capture.c - writes a capture with any number of contexts, for benchmarks of readers. Paths
 * are up to 500 blocks long, like those of a document formatter in a functional language.
 *
 * usage: make_capture FILE CONTEXTS
 */
#include <cairn/cairn.h>

#include <stdio.h>
#include <stdlib.h>

#include "open.h"
#include "random.h"

enum { BLOCKS = 2000, SHORTEST = 100, LONGEST = 499 };

static void add_blocks(cairn_profile *profile)
{
    for (uint32_t i = 1; i <= BLOCKS; i++) {
        char name[64], file[64];
        snprintf(name, sizeof(name), "Module%u.function%u", i / 40, i);
        snprintf(file, sizeof(file), "library/module%u.fble", i / 40);
        cairn_block_info info = {.name = name, .file = file, .line = 1 + i % 40 * 12, .column = 3};
        cairn_block_add(profile, &info);
    }
}

/* Descends again and again, each time from somewhere on the last path, so that a path of
 * 500 shares a part with the one before. */
static void record(cairn_strand *strand, uint64_t contexts)
{
    uint64_t state = 1;
    uint32_t depth = 0;
    for (uint64_t made = 1; made < contexts;) {
        uint32_t to = below(&state, depth + 1);
        for (; depth > to; depth--)
            cairn_leave(strand);
        uint32_t bottom = SHORTEST + below(&state, LONGEST + 1 - SHORTEST);
        for (; depth < bottom && made < contexts; depth++, made++) {
            cairn_enter(strand, 1 + below(&state, BLOCKS));
            cairn_tick(strand, 1 + below(&state, 1000));
        }
    }
    for (; depth > 0; depth--)
        cairn_leave(strand);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: make_capture FILE CONTEXTS\n");
        return 2;
    }
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = argv[1];
    options.command = "make_capture";
    options.context_budget = UINT32_C(1) << 24;
    cairn_profile *profile = bench_open(&options);
    add_blocks(profile);
    record(cairn_strand_open(cairn_lane_open(profile, "main")), strtoull(argv[2], NULL, 10));
    cairn_error error = cairn_profile_status(profile);
    cairn_profile_close(profile);
    if (error)
        fprintf(stderr, "make_capture: %s: %s\n", argv[1], cairn_error_text(error));
    return error ? 2 : 0;
}
