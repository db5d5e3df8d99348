/* SPDX-License-Identifier: MIT
 *
 * Frames that control comes back to by other means than returns: jumps and exceptions.
 *
 * What is above such a frame is over, but for the spans that its function itself has open, which
 * end where their scopes do: those whose frames lie right above its own.
 *
 * Who was jumped out of may have pushed nothing, and then nothing on the stack tells what ran in
 * the function that is jumped to. So that lies above its frame once more: the *guard*. Where setjmp
 * has returned there is a second one, above the spans that were open then.
 */

#include <cairn/span.h>
#include <cairn/tree.h>

#include "runtime.h"

bool crn_site_jumps;

enum { FRAME = sizeof(uint32_t), GUARDS = 2 };

bool crn_site_uncover(cairn_strand *strand, int64_t height)
{
    cairn_priv_strand *priv = (cairn_priv_strand *)strand;
    if (height <= 0 || height > crn_site_height(priv) + FRAME)
        return false;
    if (priv->current & CRN_REPLACED) { /* by what was not profiled after all */
        priv->current &= ~CRN_REPLACED;
        priv->top++;
    }
    if (height > crn_site_height(priv))
        return false;
    cairn_priv_again(priv); /* what was left may have pushed nothing, and time has passed in it */
    cairn_strand_unwind(strand, (cairn_mark)height / FRAME);
    return height == crn_site_height(priv);
}

bool crn_site_is_on_top(const cairn_priv_strand *strand, int64_t height)
{
    int64_t above = crn_site_height(strand) - height;
    for (int guard = 1; above > 0 && guard <= GUARDS; guard++, above -= FRAME)
        if (strand->top[-guard] != (uint32_t)strand->current)
            return false;
    return above == 0 && !(strand->current & CRN_REPLACED);
}

/* What of the stack is a frame's own, above it: the guard, and its spans. */
typedef struct own {
    int64_t height;              /* where that ends */
    uint32_t node_offset;        /* what the function runs; of the innermost span, what began it */
    const cairn_priv_open *open; /* that one; NULL: there is none */
} own;

static own own_of(const cairn_priv_strand *strand, int64_t height)
{
    uint64_t frames = (uint64_t)height / FRAME;
    own found = {.node_offset = strand->bottom[frames++]};
    const cairn_priv_open *open = strand->open;
    while (open[-1].height >= frames) /* below the first is one at 0 */
        open--;
    for (; open < strand->open && open->height == frames; open++) {
        found.node_offset = strand->bottom[frames++];
        found.open = open;
    }
    found.height = (int64_t)(frames * FRAME);
    return found;
}

/* What a span entered is not on the stack. What was left was called from there: if no recursion was
 * folded on the way, its path leads by it. */
static void enter_again(cairn_priv_strand *strand, const own *own)
{
    const cairn_priv_spans *spans = &strand->lane->spans;
    uint32_t place = own->open->span - 1, chunk = CAIRN_PRIV_SPAN_CHUNK;
    if (place >= spans->quick) { /* there may be no record of it */
        uint64_t below = cairn_priv_below(strand, own->node_offset);
        CAIRN_PRIV_PUT(strand->current, below ? below : own->node_offset);
        return;
    }
    cairn_block block = spans->chunks[place / chunk][place % chunk].block;
    strand->top--;
    CAIRN_PRIV_PUT(strand->current, own->node_offset);
    cairn_priv_enter_path((cairn_strand *)strand, &block, 1);
}

static void bring_back(cairn_priv_strand *strand, int64_t height)
{
    own own = own_of(strand, height);
    crn_site_uncover((cairn_strand *)strand, own.height);
    if (crn_site_height(strand) != own.height)
        return;
    own = own_of(strand, height); /* it may have moved, and in a child of fork its units */
    if (own.open)
        enter_again(strand, &own);
    else
        CAIRN_PRIV_PUT(strand->current, own.node_offset);
}

/* Where there is a second guard, what lies above it is over, spans too: they were begun behind the
 * call of setjmp. Where there is none yet, setjmp returns for the first time, and what runs does.
 */
static void bring_back_guarded(cairn_priv_strand *strand, int64_t height)
{
    int64_t guarded = own_of(strand, height).height + FRAME;
    if (crn_site_uncover((cairn_strand *)strand, guarded))
        CAIRN_PRIV_PUT(strand->current, strand->top[-1]);
    else if (crn_site_height(strand) == guarded - FRAME)
        cairn_priv_again(strand);
}

static void restore(int64_t height, bool is_back(const cairn_priv_strand *strand, int64_t height),
                    void bring_back(cairn_priv_strand *strand, int64_t height))
{
    cairn_priv_strand *strand = (cairn_priv_strand *)cairn_priv_thread_strand;
    if (!strand || height <= 0 || is_back(strand, height))
        return;
    cairn_strand *held = crn_site_hold();
    if (!held)
        return;
    strand = (cairn_priv_strand *)held;
    if (crn_site_height(strand) + (strand->current & CRN_REPLACED ? FRAME : 0) >= height + FRAME)
        bring_back(strand, height);
    crn_site_release(held);
}

/* Whether the function runs, as the stack has it. */
static bool is_back(const cairn_priv_strand *strand, int64_t height)
{
    return crn_site_height(strand) == height + FRAME && strand->top[-1] == strand->current &&
           strand->open[-1].height < (uint64_t)height / FRAME + 1;
}

static bool is_back_guarded(const cairn_priv_strand *strand, int64_t height)
{
    return crn_site_height(strand) > height + FRAME && strand->top[-1] == strand->current &&
           crn_site_height(strand) == own_of(strand, height).height + FRAME;
}

/* Exceptions come out of no handler but of signals that are never held back. */
void cairn_priv_call_restore(int64_t height)
{
    restore(height, is_back, bring_back);
}

void cairn_priv_call_guard(int64_t height)
{
    if (!__atomic_load_n(&crn_site_jumps, __ATOMIC_RELAXED))
        __atomic_store_n(&crn_site_jumps, true, __ATOMIC_RELAXED);
    restore(height, is_back_guarded, bring_back_guarded);
}
