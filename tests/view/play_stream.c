/* SPDX-License-Identifier: MIT
 *
 * play_stream.c - a capture of a recorded stream of events, as other tests replay it.
 *
 * usage: play_stream OUT.cairn NAMES < EVENTS
 *
 * EVENTS are 32-bit words: 0 enter, 1 replace, 2 leave, 3 tick in the two highest bits, the block
 * or the number of ticks in the others; two numbers of ticks begin and end a strand. NAMES has a
 * line for each block: number, name, file, line, column, with tabs between them.
 */
#include <cairn/cairn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MAX = 1 << 20, VALUE = 0x3fffffff, BEGIN = 0x3fffffff, END = 0x3ffffffe };

static cairn_block *read_names(cairn_profile *profile, const char *path)
{
    static cairn_block blocks[BLOCKS_MAX];
    FILE *names = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    while (names && getline(&line, &size, names) > 0) {
        char *rest = line, *parts[5];
        for (int i = 0; i < 5; i++)
            parts[i] = strsep(&rest, "\t\n");
        unsigned long id = parts[4] ? strtoul(parts[0], NULL, 10) : 0;
        if (id == 0 || id >= BLOCKS_MAX)
            continue;
        cairn_block_info info = {.name = parts[1],
                                 .file = parts[2],
                                 .line = (uint32_t)strtoul(parts[3], NULL, 10),
                                 .column = (uint32_t)strtoul(parts[4], NULL, 10)};
        blocks[id] = cairn_block_add(profile, &info);
    }
    free(line);
    if (names)
        fclose(names);
    return blocks;
}

static void play(cairn_lane *lane, const cairn_block *blocks)
{
    static uint32_t words[1 << 16];
    cairn_strand *strand = NULL;
    size_t count;
    while ((count = fread(words, sizeof *words, sizeof words / sizeof *words, stdin)) > 0) {
        for (size_t i = 0; i < count; i++) {
            uint32_t value = words[i] & VALUE, kind = words[i] >> 30;
            if (kind == 3 && value == BEGIN) {
                strand = cairn_strand_open(lane);
                cairn_strand_switch(strand);
            } else if (kind == 3 && value == END) {
                cairn_strand_close(strand);
                strand = NULL;
            } else if (kind == 0) {
                cairn_enter(strand, blocks[value % BLOCKS_MAX]);
            } else if (kind == 1) {
                cairn_replace(strand, blocks[value % BLOCKS_MAX]);
            } else if (kind == 2) {
                cairn_leave(strand);
            } else {
                cairn_tick(strand, value);
            }
        }
    }
}

int main(int count, char **arguments)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    cairn_profile *profile;
    if (count != 3)
        return 2;
    options.path = arguments[1];
    if (cairn_profile_open(&profile, &options) != CAIRN_OK)
        return 1;
    cairn_block *blocks = read_names(profile, arguments[2]);
    cairn_lane *lane = cairn_lane_open(profile, "main");
    play(lane, blocks);
    cairn_lane_close(lane);
    cairn_profile_close(profile);
    return 0;
}
