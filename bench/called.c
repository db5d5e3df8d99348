/* SPDX-License-Identifier: MIT
 *
 * called.c - see called.h.
 */
#include "called.h"

void called_tree_enter(tree_profile *profile, uint32_t block)
{
    tree_enter(profile, block);
}

void called_tree_replace(tree_profile *profile, uint32_t block)
{
    tree_replace(profile, block);
}

void called_tree_leave(tree_profile *profile)
{
    tree_leave(profile);
}

void called_tree_tick(tree_profile *profile, uint32_t count)
{
    tree_tick(profile, count);
}

void called_plain_enter(plain_profile *profile, uint32_t block)
{
    plain_enter(profile, block);
}

void called_plain_replace(plain_profile *profile, uint32_t block)
{
    plain_replace(profile, block);
}

void called_plain_leave(plain_profile *profile)
{
    plain_leave(profile);
}

void called_plain_tick(plain_profile *profile, uint32_t count)
{
    plain_tick(profile, count);
}

void called_cairn_enter(cairn_strand *strand, cairn_block block)
{
    cairn_enter(strand, block);
}

void called_cairn_replace(cairn_strand *strand, cairn_block block)
{
    cairn_replace(strand, block);
}

void called_cairn_leave(cairn_strand *strand)
{
    cairn_leave(strand);
}

void called_cairn_tick(cairn_strand *strand, uint64_t count)
{
    cairn_tick(strand, count);
}
