/* SPDX-License-Identifier: MIT
 *
 * Writes a capture whose names and figures are as unpleasant as a file can have them.
 */
#include <cairn/cairn.h>
#include <stdint.h>
#include <stdio.h>

static const char *const names[] = {
    "it's",       "a\tb\nc", "\\", "\"quoted\"", "\xff\xfe invalid", "'); DROP TABLE runs; --",
    "{x:String}", "\x1b[2J", "~",  " "};

enum { NAMES = sizeof names / sizeof *names };

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = argv[1];
    options.wall = CAIRN_WALL_OFF;
    cairn_profile *profile;
    cairn_error error = cairn_profile_open(&profile, &options);
    if (error != CAIRN_OK) {
        fprintf(stderr, "hostile: %s: %s\n", argv[1], cairn_error_text(error));
        return 1;
    }
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, names[5]));
    cairn_block blocks[NAMES];
    cairn_block parent = 0;
    for (int i = 0; i < NAMES; i++) {
        cairn_block_info info = {.name = names[i],
                                 .file = names[NAMES - 1 - i],
                                 .line = UINT32_MAX,
                                 .column = (uint32_t)i,
                                 .parent = parent,
                                 .flags = (uint32_t)i % 4};
        blocks[i] = cairn_block_add(profile, &info);
        parent = i % 3 ? blocks[i] : 0;
    }
    for (int i = 0; i < NAMES; i++) {
        cairn_enter(strand, blocks[i]);
        cairn_tick(strand, i == 4 ? UINT64_MAX - (NAMES - 1) : 1); /* together UINT64_MAX */
    }
    for (int i = 0; i < NAMES; i++)
        cairn_leave(strand);
    cairn_profile_note(profile, "key'\t", "value\\\n\xff");
    cairn_profile_close(profile);
    return 0;
}
