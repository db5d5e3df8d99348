/* SPDX-License-Identifier: MIT
 *
 * A program whose capture grows: for each byte on standard input it calls, opens and closes a span
 * with a line of a log, then writes a byte. At the end of its input it closes the capture.
 */
#include <cairn/cairn.h>
#include <cairn/span.h>
#include <stdio.h>
#include <unistd.h>

enum { FUNCTIONS = 50 };

static cairn_profile *profile;
static cairn_block blocks[FUNCTIONS];

/* Later steps reach functions, and so contexts, that earlier ones did not. */
static void step(cairn_strand *strand, cairn_key key, int number)
{
    cairn_span_begin(strand, blocks[number % FUNCTIONS], number);
    cairn_span_integer(strand, key, number);
    cairn_log_add(strand, CAIRN_LEVEL_INFO, "a step");
    for (int depth = 0; depth <= number % FUNCTIONS; depth++) {
        cairn_enter(strand, blocks[depth]);
        cairn_tick(strand, (uint64_t)number + 1);
    }
    for (int depth = 0; depth <= number % FUNCTIONS; depth++)
        cairn_leave(strand);
    cairn_span_end(strand);
}

int main(int argc, char **argv)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    if (argc != 2)
        return 2;
    options.path = argv[1];
    options.spans = true;
    options.wall = CAIRN_WALL_OFF;
    if (cairn_profile_open(&profile, &options) != CAIRN_OK)
        return 1;
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        blocks[i] = cairn_block_add(profile, &(cairn_block_info){.name = name});
    }
    cairn_key key = cairn_key_add(profile, "number");
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "main"));
    cairn_span_begin(strand, blocks[0], CAIRN_ITERATION_NONE); /* open until the end */
    char byte;
    for (int number = 1; read(0, &byte, 1) == 1; number++) {
        step(strand, key, number);
        if (write(1, &byte, 1) != 1)
            return 1;
    }
    cairn_span_end(strand);
    cairn_profile_close(profile);
    return 0;
}
