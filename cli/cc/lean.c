/* SPDX-License-Identifier: MIT
 *
 * Chooses the functions that --lean counts and does not enter, by the calls in an earlier capture.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/order.h"
#include "cli/cc/cc.h"
#include "cli/common/cli.h"
#include "profile/profile.h"

enum { FUNCTIONS_MOST = 1000 };

static const uint64_t *calls_of; /* by block, while blocks are sorted */

static int by_calls(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return CRN_ORDER(calls_of[other], calls_of[one]) ?: CRN_ORDER(one, other);
}

/* Writes the functions with most calls, up to CRN_LEAN_SHARE of all calls and at most
 * FUNCTIONS_MOST: name, tab and file, one a line. */
static void write_functions(FILE *out, const crn_profile *profile, const uint64_t *calls)
{
    uint32_t *order = crn_calloc(profile->block_count, sizeof *order);
    uint64_t total = 0, chosen = 0;
    for (uint32_t b = 0; b < profile->block_count; b++) {
        order[b] = b;
        total += b ? calls[b] : 0;
    }
    calls_of = calls;
    qsort(order, profile->block_count, sizeof *order, by_calls);
    for (uint32_t i = 0; i < profile->block_count && i < FUNCTIONS_MOST; i++) {
        const crn_block_info *block = &profile->blocks[order[i]];
        if (!calls[order[i]] || (double)chosen >= CRN_LEAN_SHARE * (double)total)
            break;
        if (!order[i] || !*block->file)
            continue;
        chosen += calls[order[i]];
        fprintf(out, "%s\t%s\n", block->name, block->file);
    }
    crn_free(order);
}

int crn_cc_lean_list(const char *capture)
{
    crn_profile *profile = crn_cli_load(capture);
    if (!profile)
        return -1;
    if (!crn_calls_counted(profile)) {
        crn_cli_fail("%s has no numbers of calls to choose functions by: record it with a program "
                     "that cairn cc has compiled, without --profile=time",
                     capture);
        crn_profile_free(profile);
        return -1;
    }
    int file = memfd_create("cairn lean", 0);
    FILE *out = file < 0 ? NULL : fdopen(dup(file), "w");
    crn_block_cost cost = crn_block_cost_make(profile, CRN_METRIC_CALLS, NULL);
    if (out)
        write_functions(out, profile, cost.self);
    if (!out || fclose(out) != 0) {
        crn_cli_fail("no list of functions could be written to memory: %s", strerror(errno));
        if (file >= 0)
            close(file);
        file = -1;
    }
    crn_block_cost_free(&cost);
    crn_profile_free(profile);
    return file;
}
