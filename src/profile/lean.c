/* SPDX-License-Identifier: MIT */
#include "profile/lean.h"

#include <cairn/host.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "profile/figures.h"
#include "profile/freeze.h"

/* Warns if entered functions have more than this share of the calls, in runs with at least
 * CALLS_LEAST calls. */
static const double entered_most = 0.05;
enum { CALLS_LEAST = 100000 };

static bool is_lean(const crn_profile *profile)
{
    for (uint32_t b = 0; b < profile->block_count; b++)
        if (profile->blocks[b].flags)
            return true;
    return false;
}

crn_lean crn_lean_of(const crn_profile *profile)
{
    crn_lean lean = {0};
    if (!is_lean(profile))
        return lean;
    crn_block_cost calls = crn_block_cost_make(profile, CRN_METRIC_CALLS, NULL);
    for (uint32_t b = 0; b < profile->block_count; b++) {
        uint32_t flags = profile->blocks[b].flags;
        if (flags & CAIRN_PRIV_BLOCK_COUNTED) {
            lean.counted += calls.self[b];
            lean.functions += calls.self[b] > 0;
        } else if (flags & CAIRN_PRIV_BLOCK_COUNTABLE) {
            lean.entered += calls.self[b];
        }
    }
    crn_block_cost_free(&calls);
    return lean;
}

void crn_lean_warn(crn_profile *profile, const char *path)
{
    crn_lean lean = crn_lean_of(profile);
    double all = (double)lean.counted + (double)lean.entered;
    if (all < CALLS_LEAST || (double)lean.entered <= entered_most * all)
        return;
    crn_warn(profile,
             "%.0f %% of the calls entered functions that were expected to be called rarely, which "
             "made the program slower: compile it with cairn cc --lean=%s",
             100 * (double)lean.entered / all, path);
}
