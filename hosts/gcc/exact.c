/* SPDX-License-Identifier: MIT
 *
 * Enter, leave and tail call with exact wall time, when nothing else is pending. With exact time
 * each event takes the slow path. These functions are compiled for general registers alone, so that
 * stub_x86_64.S need not save vector and x87 registers, which takes ten times as long.
 *
 * Each returns whether it handled the event; if not, slow.c does.
 */
#include "runtime.h"

enum { FRAME = sizeof(uint32_t) };

/* ---- holding the strand ---- */

static inline void give_back(cairn_priv_strand *strand)
{
    __asm__ volatile("" ::: "memory");
    cairn_priv_thread_strand = (cairn_strand *)strand;
    crn_site_end_hold();
}

/* Takes the strand as crn_site_hold does, but returns NULL also where that would do more: block
 * signals, follow a new period, or later set the row (--lean). Nothing changes errno until
 * `release`. */
static inline cairn_priv_strand *hold(void)
{
    if (crn_site_held.busy || crn_site_is_behind() || !cairn_priv_thread_strand ||
        cairn_priv_process_is_unseen() || crn_site_follow_row ||
        __atomic_load_n(&crn_site_blocks, __ATOMIC_RELAXED))
        return NULL;
    crn_site_held.busy = true;
    __asm__ volatile("" ::: "memory");
    cairn_priv_strand *strand = (cairn_priv_strand *)cairn_priv_thread_strand;
    cairn_priv_thread_strand = NULL;
    __asm__ volatile("" ::: "memory");
    if (strand && !crn_site_is_behind())
        return strand;
    give_back(strand);
    return NULL;
}

static inline crn_exact release(cairn_priv_strand *strand, uint64_t result, bool done)
{
    give_back(strand);
    return (crn_exact){result, done};
}

static const crn_exact not_done = {0, false};

/* Ends an enter for which no strand was taken. There is nothing to do if the thread has none, as
 * with --standby; otherwise slow.c enters. */
static inline crn_exact enter_nothing(void)
{
    return (crn_exact){0, !cairn_priv_thread_strand && !crn_site_is_behind()};
}

/* ---- enter ---- */

/* Enters the site, if the stack has space for `frames` more. Returns the caller's node offset; 0 if
 * the site was not entered. After a tail call the caller is the word at `top`, behind the end of
 * the stack. */
static inline uint64_t step(cairn_priv_strand *strand, const crn_site *site, size_t frames)
{
    uint64_t before = strand->current, from = (uint32_t)before;
    uint64_t caller = before & CRN_REPLACED ? *strand->top : from;
    CAIRN_PRIV_PUT(strand->current, from);
    if (site->block != CRN_SITE_NEW && cairn_priv_exact_step(strand, site->block, frames))
        return caller;
    CAIRN_PRIV_PUT(strand->current, before);
    return 0;
}

static inline void push(cairn_priv_strand *strand, uint64_t node_offset)
{
    *strand->top = (uint32_t)node_offset;
    strand->top++;
}

static inline crn_exact enter_pushed(const crn_site *site, bool guarded)
{
    cairn_priv_strand *strand = hold();
    if (!strand)
        return enter_nothing();
    uint64_t caller = step(strand, site, guarded ? 2 : 1);
    if (!caller)
        return release(strand, 0, false);
    push(strand, caller);
    int64_t height = crn_site_height(strand);
    if (guarded)
        push(strand, strand->current);
    return release(strand, (uint64_t)height, true);
}

crn_exact crn_exact_enter(const crn_site *site)
{
    return enter_pushed(site, false);
}

crn_exact crn_exact_enter_guarded(const crn_site *site)
{
    return enter_pushed(site, true);
}

crn_exact crn_exact_enter_leaf(const crn_site *site)
{
    cairn_priv_strand *strand = hold();
    uint64_t caller = strand ? step(strand, site, 0) : 0;
    return strand ? release(strand, caller, caller != 0) : enter_nothing();
}

crn_exact crn_exact_enter_saved_caller(const crn_site *site)
{
    cairn_priv_strand *strand = hold();
    uint64_t caller = strand ? step(strand, site, 0) : 0;
    return strand ? release(strand, caller ? caller + strand->graph_tag : 0, caller != 0)
                  : enter_nothing();
}

/* ---- leave and tail call ---- */

/* Returns true if nothing is above the frame but its guard, and no span is open in the frame. */
static inline bool is_on_top(const cairn_priv_strand *strand, int64_t height)
{
    int64_t above = crn_site_height(strand) - height;
    bool unguarded = above == 0 || (above == FRAME && strand->top[-1] == (uint32_t)strand->current);
    return unguarded && strand->open[-1].height < (uint64_t)height / FRAME + 1;
}

/* Charges the function that is left or makes a tail call. Returns false if slow.c has to do it, as
 * after a tail call to code that turned out not to be profiled. */
static inline bool charge(cairn_priv_strand *strand)
{
    return !(strand->current & CRN_REPLACED) && cairn_priv_exact_charge(strand);
}

static inline crn_exact end_pushed(int64_t height, bool is_tail)
{
    cairn_priv_strand *strand = height > 0 ? hold() : NULL;
    if (!strand)
        return not_done;
    if (crn_site_is_earlier(strand, height) || !is_on_top(strand, height) || !charge(strand))
        return release(strand, 0, false);
    uint32_t *top = strand->bottom + height / FRAME - 1;
    CAIRN_PRIV_PUT(strand->current, is_tail ? strand->current | CRN_REPLACED : *top);
    strand->top = top;
    return release(strand, 0, true);
}

crn_exact crn_exact_leave(int64_t height)
{
    return end_pushed(height, false);
}

crn_exact crn_exact_tail(int64_t height)
{
    return end_pushed(height, true);
}

/* `caller`: the caller's node offset, plus the tag of its graph if `is_tagged`. */
static inline crn_exact end_unpushed(uint64_t caller, bool is_tagged, bool is_tail)
{
    cairn_priv_strand *strand = caller ? hold() : NULL;
    if (!strand)
        return not_done;
    uint64_t tag = is_tagged ? caller - (uint32_t)caller : strand->graph_tag;
    if (tag != strand->graph_tag || !charge(strand))
        return release(strand, 0, false);
    if (is_tail)
        *strand->top = (uint32_t)caller;
    CAIRN_PRIV_PUT(strand->current,
                   is_tail ? strand->current | CRN_REPLACED : (uint64_t)(uint32_t)caller);
    return release(strand, 0, true);
}

crn_exact crn_exact_leave_leaf(uint64_t caller)
{
    return end_unpushed(caller, false, false);
}

crn_exact crn_exact_leave_saved_caller(uint64_t saved)
{
    return end_unpushed(saved, true, false);
}

crn_exact crn_exact_tail_saved_caller(uint64_t saved)
{
    return end_unpushed(saved, true, true);
}
