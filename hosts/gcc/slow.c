/* SPDX-License-Identifier: MIT
 *
 * The slow path of inlined enter, leave and tail call: stub_x86_64.S calls it.
 *
 * It is taken if a site is new, no cache has the callee, the stack is full or something is pending.
 * Each function holds the strand while it works (hold.c).
 */
#include <stdio.h>

#include "runtime.h"

/* Enters the block. After a tail call, the frame of the function that made the call has been given
 * up: pushes that frame again, then replaces it by the block. Without memory for the frame, enters
 * the block from the frame's caller instead. */
static void enter(cairn_priv_strand *strand, cairn_block block)
{
    cairn_strand *as_strand = (cairn_strand *)strand;
    if (strand->current & CRN_REPLACED && !cairn_priv_room(strand))
        CAIRN_PRIV_PUT(strand->current, *strand->top);
    if (strand->current & CRN_REPLACED) {
        strand->current &= ~CRN_REPLACED;
        strand->top++;
        cairn_replace(as_strand, block);
    } else {
        cairn_enter(as_strand, block);
    }
}

/* Stores the callee that was just entered in the edge cache, where the stubs look it up after a
 * miss in the inline cache. Does nothing if the record's callee entry has another edge. */
static void remember(const cairn_priv_strand *strand, uint64_t from, cairn_block block)
{
    const cairn_priv_lane *lane = strand->lane;
    uint64_t callee = cairn_priv_callee(lane->base, from, block);
    if (cairn_priv_record_at(lane, callee)->block != block)
        return;
    uint64_t place = (from + block * (uint64_t)0x9e3779b1u) & lane->edge_cache_mask;
    lane->edge_cache[place] =
        (cairn_priv_cached_edge){(uint64_t)block << 32 | from, {block, (uint32_t)callee}};
}

/* Finds the site's block and enters it. */
static void enter_site(cairn_priv_strand *strand, crn_site *site)
{
    if (site->block == CRN_SITE_NEW)
        crn_site_resolve(site, cairn_lane_profile(cairn_strand_lane((cairn_strand *)strand)));
    cairn_block block = site->block;
    const char *base = strand->lane->base;
    uint64_t from = (uint32_t)strand->current;
    enter(strand, block);
    if (strand->lane->base == base) /* otherwise `from` may be of another graph, after a fork */
        remember(strand, from, block);
    if (!strand->lane->inline_cache)
        cairn_priv_make_inline_cache(strand);
}

static inline int64_t enter_pushed(crn_site *site, bool guarded)
{
    cairn_strand *strand = crn_site_hold();
    if (!strand)
        return CRN_HEIGHT_NONE;
    enter_site((cairn_priv_strand *)strand, site);
    int64_t height = crn_site_height((cairn_priv_strand *)strand);
    if (guarded)
        cairn_priv_again((cairn_priv_strand *)strand);
    crn_site_release(strand);
    return height;
}

int64_t crn_site_enter(crn_site *site)
{
    return enter_pushed(site, false);
}

int64_t crn_site_enter_guarded(crn_site *site)
{
    return enter_pushed(site, true);
}

void crn_site_leave(int64_t height)
{
    cairn_strand *strand = height > 0 ? crn_site_hold() : NULL;
    if (!strand)
        return;
    if (crn_site_uncover(strand, height))
        cairn_leave(strand);
    crn_site_release(strand);
}

/* Returns true if a function inlined into the frame's function has given its frame up for the same
 * tail call. The inlined function's context is current then, and becomes the callee's caller. At
 * most the frame's guard is above the frame. */
static bool is_given_back(const cairn_priv_strand *strand, int64_t height)
{
    int64_t above = crn_site_height(strand) - height;
    return strand->current & CRN_REPLACED && above >= 0 && above <= (int64_t)sizeof *strand->top;
}

void crn_site_tail(int64_t height)
{
    cairn_strand *strand = height > 0 ? crn_site_hold() : NULL;
    if (!strand)
        return;
    cairn_priv_strand *priv = (cairn_priv_strand *)strand;
    bool given_back = !crn_site_is_earlier(priv, height) && is_given_back(priv, height);
    if (given_back || crn_site_uncover(strand, height)) {
        priv->top = priv->bottom + height / (int64_t)sizeof *priv->top - 1;
        priv->current |= CRN_REPLACED;
    }
    crn_site_release(strand);
}

/* ---- frames that are not pushed ---- */

uint64_t crn_site_take_frame(cairn_priv_strand *strand, int64_t before)
{
    if (crn_site_height(strand) > before)
        return *--strand->top;
    cairn_leave((cairn_strand *)strand);
    return 0;
}

/* Enters the site, then pops the frame again. Returns the caller; 0 without memory. */
static uint64_t enter_unpushed(cairn_priv_strand *strand, crn_site *site)
{
    int64_t before = crn_site_height(strand);
    enter_site(strand, site);
    return crn_site_take_frame(strand, before);
}

uint64_t crn_site_enter_leaf(crn_site *site)
{
    cairn_strand *strand = crn_site_hold();
    if (!strand)
        return 0;
    uint64_t caller = enter_unpushed((cairn_priv_strand *)strand, site);
    crn_site_release(strand);
    return caller;
}

/* Leaves a frame that was not pushed: pushes it, so that cairn_leave charges the function's time,
 * and pops it. If the stack is full, the spare entries behind its end have space for the frame. */
void crn_site_leave_leaf(uint64_t caller)
{
    cairn_strand *strand = crn_site_hold();
    if (!strand)
        return;
    cairn_priv_strand *priv = (cairn_priv_strand *)strand;
    uint32_t *top = priv->top;
    *top = (uint32_t)caller;
    priv->top = top + 1;
    cairn_leave(strand);
    priv->top = top;
    CAIRN_PRIV_PUT(priv->current, caller);
    crn_site_release(strand);
}

uint64_t crn_site_enter_saved_caller(crn_site *site)
{
    cairn_strand *strand = crn_site_hold();
    if (!strand)
        return 0;
    cairn_priv_strand *priv = (cairn_priv_strand *)strand;
    uint64_t caller = enter_unpushed(priv, site);
    uint64_t saved = caller ? caller + priv->graph_tag : 0;
    crn_site_release(strand);
    return saved;
}

/* Clears the flag of a tail call whose callee turned out not to be profiled. */
static void take_back(cairn_priv_strand *strand)
{
    CAIRN_PRIV_PUT(strand->current, strand->current & ~CRN_REPLACED);
}

/* Handles the leave or tail call of a function that saved its caller. A leave pushes the caller, in
 * a spare entry if the stack is full, and cairn_leave pops it. A tail call stores the caller at the
 * end of the stack, for the callee's enter. In a child of fork the saved caller may be a node of
 * the parent's graph: cairn_priv_saved_caller translates it. */
static inline void end_saved_caller(uint64_t saved, bool is_tail)
{
    cairn_strand *strand = crn_site_hold();
    if (!strand)
        return;
    cairn_priv_strand *priv = (cairn_priv_strand *)strand;
    uint64_t caller = cairn_priv_saved_caller(priv, saved);
    if (!is_tail)
        take_back(priv);
    if (caller) {
        *priv->top = (uint32_t)caller;
        if (is_tail) {
            CAIRN_PRIV_PUT(priv->current, priv->current | CRN_REPLACED);
        } else {
            priv->top++;
            cairn_leave(strand);
        }
    }
    crn_site_release(strand);
}

void crn_site_leave_saved_caller(uint64_t saved)
{
    end_saved_caller(saved, false);
}

void crn_site_tail_saved_caller(uint64_t saved)
{
    end_saved_caller(saved, true);
}

/* ---- functions with the usual calling convention ---- */

int64_t cairn_priv_call_enter(crn_site *site)
{
    return cairn_priv_thread_strand ? crn_site_enter_guarded(site) : CRN_HEIGHT_NONE;
}

void cairn_priv_call_leave(int64_t height)
{
    if (cairn_priv_thread_strand)
        crn_site_leave(height);
}

void cairn_priv_call_tail(int64_t height)
{
    if (cairn_priv_thread_strand)
        crn_site_tail(height);
}

/* ---- --verify ---- */

static void note_mismatch(cairn_strand *strand, const crn_site *site)
{
    static uint64_t count;
    char text[512];
    uint64_t now = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (now & (now - 1)) /* only the 1st, 2nd, 4th, 8th ... mismatch is noted */
        return;
    snprintf(text, sizeof text, "%llu or more frames were not on top when they were left; one: %s",
             (unsigned long long)now, crn_site_name(site));
    cairn_profile_note(cairn_lane_profile(cairn_strand_lane(strand)), "verify", text);
}

void cairn_priv_call_leave_verify(int64_t height, const crn_site *site)
{
    cairn_priv_strand *strand = (cairn_priv_strand *)cairn_priv_thread_strand;
    if (!strand)
        return;
    if (height > 0 && !crn_site_is_on_top(strand, height)) {
        cairn_strand *held = crn_site_hold();
        if (held) {
            note_mismatch(held, site);
            crn_site_release(held);
        }
    }
    crn_site_leave(height);
}
