/* SPDX-License-Identifier: MIT
 *
 * open.h - opens the profiles that are measured.
 */
#ifndef BENCH_OPEN_H
#define BENCH_OPEN_H

#include <cairn/cairn.h>
#include <stdio.h>
#include <stdlib.h>

/* Opens a profile; ends the program with a message if that fails. */
static inline cairn_profile *bench_open(const cairn_options *options)
{
    cairn_profile *profile;
    cairn_error error = cairn_profile_open(&profile, options);
    if (error) {
        fprintf(stderr, "%s: %s\n", options->path, cairn_error_text(error));
        exit(1);
    }
    return profile;
}

/* Adds blocks with the same name. */
static inline void bench_blocks(cairn_profile *profile, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        cairn_block_add(profile, &(cairn_block_info){.name = name});
}

#endif
