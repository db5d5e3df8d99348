/* SPDX-License-Identifier: MIT
 *
 * Redirects a strand to another profile for a while, as MLton's Profile.withData makes other data
 * current while a function runs. The other profile gets a strand with the same stack in its own
 * graph. On return, the strand takes over that strand's stack.
 *
 * A lane and its stand-ins in other profiles share time: at most one strand of all these lanes is
 * current. If the current strand records nothing, it is the lane's `silent`.
 */
#include <errno.h>
#include <stdio.h>

#include "base/memory.h"
#include "runtime/siblings.h"
#include "runtime/stack.h"
#include "runtime/translation.h"

/* ---- stand-in lanes ---- */

/* Opens a lane of `to` with the name of `home`. Copies the name, which may move in memory while
 * another thread adds strings. */
static cairn_lane *open_with_name(const cairn_lane *home, cairn_profile *to)
{
    char name[256];
    crn_profile_lock(home->profile);
    snprintf(name, sizeof name, "%s", home->profile->strings.base + home->disk->name);
    crn_profile_unlock(home->profile);
    return cairn_lane_open(to, name);
}

/* Returns the lane of `to` that stands in for `home`, making it if needed. */
static cairn_lane *stand_in(cairn_lane *home, cairn_profile *to)
{
    if (home->profile == to)
        return home;
    crn_siblings_lock();
    cairn_lane *lane = home->stand_ins;
    while (lane && lane->profile != to)
        lane = lane->next_stand_in;
    if (!lane && (lane = open_with_name(home, to))) {
        lane->home = home;
        lane->next_stand_in = home->stand_ins;
        __atomic_store_n(&home->stand_ins, lane, __ATOMIC_RELAXED);
    }
    crn_siblings_unlock();
    return lane;
}

/* ---- stacks ---- */

/* Returns the record that was current when the strand had `height` of its `held` frames. The
 * records of a stack of blocks must be computed (crn_strand_record). */
static uint32_t record_at(cairn_strand *strand, size_t height, size_t held)
{
    if (height == held)
        return crn_strand_record(strand);
    if (strand->records)
        return height ? strand->records[height - 1] : crn_stack_root(strand);
    return crn_record_at(strand->stack[height + 1]);
}

/* Returns the number of frames on the stack, without lost ones. */
static size_t held_by(const cairn_strand *strand)
{
    return cairn_strand_depth(strand) - strand->lost;
}

/* Returns the record in the graph of `to` for the path of `record`; the root without memory. */
static uint32_t cross(const cairn_lane *from, cairn_lane *to, uint32_t record)
{
    crn_translation *translation = crn_crossing_find(from, to);
    uint32_t there = 0;
    if (translation)
        there = crn_translate_record(translation, from->graph.links, from->graph.used, &to->graph,
                                     record);
    if (!there)
        crn_profile_stop(to->profile, CAIRN_E_MEMORY);
    return there ? there : CRN_RECORD_ROOT;
}

/* Makes space for `held` frames. Returns the number of frames for which there is memory. */
static size_t reserve(cairn_strand *strand, size_t held)
{
    while ((size_t)(strand->end - strand->stack) <= held)
        if (!crn_strand_grow(strand)) {
            crn_profile_stop(crn_lane_of(strand)->profile, CAIRN_E_MEMORY);
            return (size_t)(strand->end - strand->stack) - 1;
        }
    return held;
}

static void set_record(cairn_strand *strand, size_t height, size_t held, uint32_t record)
{
    if (height == held)
        CAIRN_PRIV_PUT(strand->hot.current, record * (uint64_t)CRN_RECORD_WORDS);
    else
        strand->stack[height + 1] = record * CRN_RECORD_WORDS;
}

/* Returns at how many heights, from 0 on, both stacks have the same context. There `to` keeps its
 * frames, because the graph of `from` may have folded their contexts. */
static size_t alike(cairn_strand *from, cairn_strand *to)
{
    cairn_lane *there = crn_lane_of(from), *here = crn_lane_of(to);
    size_t held = held_by(from), had = held_by(to), height = 0;
    crn_strand_record(from);
    crn_strand_record(to);
    while (height <= held && height <= had &&
           cross(here, there, record_at(to, height, had)) ==
               crn_graph_target(&there->graph, record_at(from, height, held)))
        height++;
    return height;
}

/* Copies the stack of `from` to `to`. */
static void move_stack(cairn_strand *from, cairn_strand *to)
{
    cairn_lane *there = crn_lane_of(from), *here = crn_lane_of(to);
    size_t held = held_by(from), had = held_by(to);
    size_t fits = reserve(to, held), same = alike(from, to);
    for (size_t h = 0; h <= fits; h++) {
        uint32_t own =
            h < same ? record_at(to, h, had) : cross(there, here, record_at(from, h, held));
        set_record(to, h, fits, own);
    }
    to->hot.top = to->stack + 1 + fits;
    to->lost = from->lost + (held - fits);
}

/* Does the same for `to`, a stack of blocks. A new frame gets the block of its context: the block
 * that was entered, or that replaced it last, unless the graph of `from` was full. */
static void move_blocks(cairn_strand *from, cairn_strand *to)
{
    const crn_graph *graph = &crn_lane_of(from)->graph;
    size_t held = held_by(from), same = alike(from, to);
    crn_stack_unwind(to, same ? same - 1 : 0);
    for (size_t h = same; h <= held; h++) {
        cairn_block block = graph->links[record_at(from, h, held)].block;
        if (block == CAIRN_BLOCK_FOLDED)
            block = CRN_BLOCK_UNKNOWN;
        h ? crn_stack_enter(to, block) : crn_stack_replace(to, block);
    }
    to->lost += from->lost;
}

/* ---- redirect and return ---- */

static bool is_sibling(const cairn_profile *profile, const cairn_profile *to)
{
    crn_siblings_lock();
    const cairn_profile *other = profile;
    do
        other = other->sibling;
    while (other != to && other != profile);
    crn_siblings_unlock();
    return other == to;
}

static cairn_strand *open_away(cairn_strand *from, cairn_profile *to)
{
    cairn_lane *home = crn_lane_home(crn_lane_of(from));
    if (!to)
        return NULL;
    if (!is_sibling(home->profile, to)) {
        crn_lane_of(from)->disk->misuses++;
        return NULL;
    }
    cairn_lane *lane = stand_in(home, to);
    cairn_strand *away = cairn_strand_open(lane);
    if (!away)
        return NULL;
    if (lane->running == away) /* not yet: crn_redirect_start makes it current */
        __atomic_store_n(&lane->running, NULL, __ATOMIC_RELEASE);
    move_stack(from, away);
    crn_strand_disarm(away);
    return away;
}

cairn_strand *cairn_strand_redirect(cairn_strand *from, cairn_profile *to)
{
    if (!from || crn_lane_is_buried(crn_lane_of(from)))
        return NULL;
    int saved = errno;
    cairn_strand *before = crn_strand_innermost(from);
    cairn_lane *lane = crn_lane_of(before), *charged = NULL;
    crn_lane_listen(lane);
    bool ran = crn_redirect_running(crn_lane_home(lane)) == before;
    if (ran)
        charged = crn_redirect_stop(before);
    cairn_strand *away = open_away(before, to);
    before->away = away;
    if (away)
        away->origin = before;
    else
        before->paused++;
    if (ran)
        crn_redirect_start(away ? away : before, charged);
    errno = saved;
    return away;
}

/* Ends a redirection: copies the stack back. */
static cairn_strand *come_back(cairn_strand *away)
{
    cairn_strand *back = away->origin;
    crn_lane_listen(crn_lane_of(away));
    crn_lane_listen(crn_lane_of(back));
    if (back->records)
        move_blocks(away, back);
    else
        move_stack(away, back);
    crn_strand_arm(back);
    back->away = away->origin = NULL;
    cairn_strand_close(away);
    return back;
}

void cairn_strand_return(cairn_strand *from)
{
    if (!from || crn_lane_is_buried(crn_lane_of(from)))
        return;
    int saved = errno;
    cairn_strand *before = crn_strand_innermost(from), *back = before;
    cairn_lane *lane = crn_lane_of(before), *charged = NULL;
    if (!before->paused && !before->origin) {
        lane->disk->misuses++;
        return;
    }
    crn_lane_listen(lane);
    bool ran = crn_redirect_running(crn_lane_home(lane)) == before;
    if (ran)
        charged = crn_redirect_stop(before);
    if (before->paused)
        before->paused--;
    else
        back = come_back(before);
    if (ran)
        crn_redirect_start(back, charged);
    errno = saved;
}
