/* SPDX-License-Identifier: MIT
 *
 * plugin.c - a shared object that profiles itself, with a copy of Cairn inside or linked to
 * libcairn.so.
 */
#include "plugin.h"

#include <cairn/hot.h>
#include <cairn/stack.h>

static cairn_profile *profile;
static cairn_block work;

/* Each thread's; with stacks only, `strand` is the same one. */
static _Thread_local cairn_strand *strand;
static _Thread_local cairn_stack *stack;
static bool stacks_only;

bool plugin_begin(const cairn_options *options, bool keep_stacks_only)
{
    stacks_only = keep_stacks_only;
    if (options && cairn_profile_open(&profile, options) != CAIRN_OK)
        return false;
    work = cairn_block_add(profile, &(cairn_block_info){.name = "work"});
    return true;
}

void plugin_begin_thread(void)
{
    cairn_lane *lane = cairn_lane_open(profile, "plugin");
    if (stacks_only)
        strand = cairn_stack_strand(stack = cairn_stack_open(lane));
    else
        strand = cairn_strand_open(lane);
}

void plugin_work(unsigned rounds)
{
    while (rounds-- > 0) {
        if (stack) {
            cairn_stack_enter(stack, work);
            cairn_stack_leave(stack);
        } else {
            cairn_enter(strand, work);
            cairn_leave(strand);
        }
    }
}

void plugin_end(void)
{
    cairn_profile_close(profile);
    profile = NULL;
    strand = NULL;
    stack = NULL;
}
