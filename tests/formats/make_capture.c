/* SPDX-License-Identifier: MIT
 *
 * make_capture.c - a capture with cases that are hard for pprof, made through the public
 * interface: make_capture OUT. Recursion that folds, tail calls, two strands, blocks of equal
 * names, four metrics, time charged to the root, contexts without any cost.
 */
#include <cairn/cairn.h>
#include <stdio.h>
#include <string.h>

enum { BLOCKS = 60, EVENTS = 60000 };

static cairn_block add(cairn_profile *profile, const char *name, const char *file, uint32_t line,
                       uint32_t column, cairn_block parent)
{
    cairn_block_info info = {name, file, line, column, parent, 0};
    return cairn_block_add(profile, &info);
}

static void add_blocks(cairn_profile *profile, cairn_block *blocks)
{
    blocks[0] = add(profile, "main chunk", "program.lua", 0, 0, 0);
    for (uint32_t i = 1; i < BLOCKS; i++) {
        char name[32], file[32];
        snprintf(name, sizeof name, i % 4 ? "work_%u" : "function <work.lua:%u>", i);
        snprintf(file, sizeof file, "lib/work%u.lua", i % 3);
        blocks[i] = add(profile, name, file, i * 10, i % 2 ? 7 : 0, blocks[i / 2]);
    }
    blocks[10] = add(profile, "new", "lib/a.lua", 3, 1, 0);
    blocks[11] = add(profile, "new", "lib/b.lua", 3, 1, 0);
    blocks[12] = add(profile, "string.gsub", NULL, 0, 0, 0);
    blocks[13] = add(profile, "std::map<int, int>::find(int) const", "map.h", 9, 0, 0);
}

/* Knuth's MMIX generator: the same numbers on every machine. */
static uint32_t next(uint64_t *state, uint32_t bound)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % bound);
}

static void run(cairn_strand *strand, const cairn_block *blocks, cairn_metric bytes, uint64_t state)
{
    for (uint32_t i = 0; i < EVENTS; i++) {
        size_t depth = cairn_strand_depth(strand);
        cairn_block block = blocks[next(&state, depth < 4 ? BLOCKS : 3 + (uint32_t)depth)];
        switch (next(&state, 8)) {
        case 0:
        case 1:
        case 2:
            if (depth < 25)
                cairn_enter(strand, block);
            break;
        case 3:
            if (depth > 0)
                cairn_replace(strand, block);
            break;
        case 4:
        case 5:
            if (depth > 0)
                cairn_leave(strand);
            break;
        case 6:
            cairn_tick(strand, next(&state, 50));
            break;
        default:
            if (next(&state, 3) == 0)
                cairn_charge(strand, bytes, next(&state, 512));
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = argv[1];
    options.command = "program.lua --with arguments";
    options.labels = "label=a b\n";
    options.wall = CAIRN_WALL_EXACT;
    cairn_profile *profile;
    cairn_error error = cairn_profile_open(&profile, &options);
    if (error) {
        fprintf(stderr, "%s\n", cairn_error_text(error));
        return 1;
    }
    cairn_block blocks[BLOCKS];
    add_blocks(profile, blocks);
    cairn_metric bytes = cairn_metric_add(profile, "alloc", "bytes");
    for (uint64_t lane = 1; lane <= 2; lane++) {
        cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "lane"));
        run(strand, blocks, bytes, lane);
    }
    cairn_profile_close(profile);
    return 0;
}
