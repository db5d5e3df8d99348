/* SPDX-License-Identifier: MIT
 *
 * Siblings: profiles with the same blocks. Block numbers are compiled into programs, so a strand
 * can be redirected only to a profile with the same numbers. A profile without space for a block
 * gets the block later, before any other, so that numbers never differ.
 */
#include "runtime/siblings.h"

static crn_futex_lock lock;

void crn_siblings_lock(void)
{
    crn_futex_lock_take(&lock);
}

void crn_siblings_unlock(void)
{
    crn_futex_lock_give(&lock);
}

/* Makes the lock anew in a child of fork: another thread may have held it. */
void crn_siblings_begin_child(void)
{
    lock = (crn_futex_lock){0};
}

static bool copy_block(cairn_profile *to, const cairn_profile *from, uint32_t number)
{
    const crn_disk_block *block = (const crn_disk_block *)from->blocks.base + number;
    cairn_block_info info = {.name = from->strings.base + block->name,
                             .file = from->strings.base + block->file,
                             .line = block->line,
                             .column = block->column,
                             .parent = block->parent,
                             .flags = block->flags};
    return crn_profile_add_block(to, &info) != CAIRN_BLOCK_ROOT;
}

/* Copies to `to` the blocks of `from` that it lacks. Returns false without space. Only this
 * function locks two profiles at once; the caller holds the lock of siblings. */
static bool level(cairn_profile *to, cairn_profile *from)
{
    if (!crn_profile_is_ready(to) || !crn_profile_is_ready(from))
        return false;
    crn_profile_lock(from < to ? from : to);
    crn_profile_lock(from < to ? to : from);
    bool room = true;
    while (room && to->block_count < from->block_count)
        room = copy_block(to, from, to->block_count);
    crn_profile_unlock(to);
    crn_profile_unlock(from);
    return room;
}

bool crn_siblings_catch_up(cairn_profile *profile)
{
    bool same = true;
    for (cairn_profile *other = profile->sibling; other != profile; other = other->sibling)
        same = (other->block_count <= profile->block_count || level(profile, other)) && same;
    return same;
}

void crn_siblings_tell(cairn_profile *profile)
{
    for (cairn_profile *other = profile->sibling; other != profile; other = other->sibling)
        level(other, profile);
}

bool crn_siblings_join(cairn_profile *profile, cairn_profile *other)
{
    crn_siblings_lock();
    bool same = level(profile, other) && crn_siblings_catch_up(other) && level(profile, other);
    if (same) {
        profile->sibling = other->sibling;
        other->sibling = profile;
    }
    crn_siblings_unlock();
    return same;
}

void crn_siblings_leave(cairn_profile *profile)
{
    crn_siblings_lock();
    cairn_profile *before = profile;
    while (before->sibling != profile)
        before = before->sibling;
    before->sibling = profile->sibling;
    profile->sibling = profile;
    crn_siblings_unlock();
}
