/* SPDX-License-Identifier: MIT
 *
 * Restores frames to which control returns by jumps and exceptions.
 *
 * Everything above such a frame is dropped, except the open spans of its own function, which lie
 * right above it on the stack and end with their scopes.
 *
 * A function that was jumped out of may have pushed nothing. The stack alone would then not tell
 * the context of the function that is jumped to. So that context is pushed above its frame: the
 * *guard*. After setjmp has returned there is a second guard, above the spans open at that time.
 */

#include <cairn/span.h>

#include "runtime.h"

enum {
    FRAME = sizeof(uint32_t),
    GUARDS = 2,
    ROOT = CAIRN_CONTEXT_ROOT * sizeof(cairn_priv_record) / 8 /* node offset of the root */
};

/* Drops the frames above the mark and makes its context current. Drops all frames of the present
 * period if the mark was made before the period. The context is translated last, because a change
 * that the strand learns of may replace the graph. */
static void return_to(cairn_priv_strand *strand, crn_mark mark)
{
    CAIRN_PRIV_PUT(strand->current, strand->current & ~CRN_REPLACED);
    cairn_priv_again(strand); /* so that the current context, which may not be on the stack, gets
                                 its time */
    uint64_t context = mark.saved ? cairn_priv_saved_caller(strand, mark.saved) : 0;
    cairn_strand_unwind((cairn_strand *)strand,
                        context ? (cairn_mark)mark.height / FRAME : strand->floor);
    CAIRN_PRIV_PUT(strand->current, context ? context : ROOT);
}

/* Drops all frames of the present period, because control is in a function that was entered before
 * the period. */
static void drop_all(cairn_priv_strand *strand)
{
    return_to(strand, (crn_mark){0, CRN_HEIGHT_NONE});
}

bool crn_site_uncover(cairn_strand *strand, int64_t height)
{
    cairn_priv_strand *priv = (cairn_priv_strand *)strand;
    if (crn_site_is_earlier(priv, height) && priv->floor)
        drop_all(priv);
    if (crn_site_is_earlier(priv, height) || height > crn_site_height(priv) + FRAME)
        return false;
    if (priv->current & CRN_REPLACED) { /* a tail call to code that turned out not to be profiled */
        priv->current &= ~CRN_REPLACED;
        priv->top++;
    }
    if (height > crn_site_height(priv))
        return false;
    cairn_priv_again(priv); /* pushes the current context, which may not be on the stack, so that
                               its time is charged to it */
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

/* The part of the stack that belongs to a frame: its guard and its spans. */
typedef struct own {
    int64_t height;       /* where that part ends */
    uint32_t node_offset; /* context of the function, or of the code that began its innermost open
                             span */
    const cairn_priv_open *open; /* the innermost span; NULL: none */
} own;

static own own_of(const cairn_priv_strand *strand, int64_t height)
{
    uint64_t frames = (uint64_t)height / FRAME;
    own found = {.node_offset = strand->bottom[frames++]};
    const cairn_priv_open *open = strand->open;
    while (open[-1].height >= frames) /* the entry below the first has height 0 */
        open--;
    for (; open < strand->open && open->height == frames; open++) {
        found.node_offset = strand->bottom[frames++];
        found.open = open;
    }
    found.height = (int64_t)(frames * FRAME);
    return found;
}

/* Makes the context of the frame's innermost open span current, which is not on the stack. If the
 * span is recorded, enters its block again. Otherwise takes the context that follows on the path to
 * the context that was left; if recursion was folded in between, that path may not lead through the
 * function, whose own context becomes current then. */
static void enter_again(cairn_priv_strand *strand, const own *own)
{
    const cairn_priv_spans *spans = &strand->lane->spans;
    uint32_t place = own->open->span - 1, chunk = CAIRN_PRIV_SPAN_CHUNK;
    if (place >= spans->quick) { /* the span may not be recorded */
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
    own = own_of(strand, height); /* the stack may have moved, or a fork changed its contexts */
    if (own.open)
        enter_again(strand, &own);
    else
        CAIRN_PRIV_PUT(strand->current, own.node_offset);
}

/* Makes the function current that calls setjmp. If its frame has a second guard, control has come
 * by a jump: everything above that guard is over, spans too, as they began after setjmp. Otherwise
 * setjmp is called for the first time: the context stays, and gets the second guard. */
static void bring_back_guarded(cairn_priv_strand *strand, int64_t height)
{
    int64_t guarded = own_of(strand, height).height + FRAME;
    if (crn_site_uncover((cairn_strand *)strand, guarded))
        CAIRN_PRIV_PUT(strand->current, strand->top[-1]);
    else if (crn_site_height(strand) == guarded - FRAME)
        cairn_priv_again(strand);
}

/* Returns true if nothing is to be done for a function that was entered without a strand or before
 * the present period: no frame of the period is on the stack, or there are no periods. */
static bool is_earlier_back(const cairn_priv_strand *strand, int64_t height)
{
    return crn_site_is_earlier(strand, height) &&
           (!crn_site_held.period || (strand->current == ROOT &&
                                      crn_site_height(strand) == (int64_t)(strand->floor * FRAME)));
}

static void restore(int64_t height, bool is_back(const cairn_priv_strand *strand, int64_t height),
                    void bring_back(cairn_priv_strand *strand, int64_t height))
{
    cairn_priv_strand *strand = (cairn_priv_strand *)cairn_priv_thread_strand;
    if (!strand || is_earlier_back(strand, height) ||
        (!crn_site_is_earlier(strand, height) && is_back(strand, height)))
        return;
    cairn_strand *held = crn_site_hold();
    if (!held)
        return;
    strand = (cairn_priv_strand *)held;
    if (crn_site_is_earlier(strand, height))
        drop_all(strand);
    else if (crn_site_height(strand) + (strand->current & CRN_REPLACED ? FRAME : 0) >=
             height + FRAME)
        bring_back(strand, height);
    crn_site_release(held);
}

/* Returns true if the function is current: only its guard is above its frame, and no span is open
 * in it. */
static bool is_back(const cairn_priv_strand *strand, int64_t height)
{
    return crn_site_height(strand) == height + FRAME && strand->top[-1] == strand->current &&
           strand->open[-1].height < (uint64_t)height / FRAME + 1;
}

/* Returns true if the function is current, and has its second guard. */
static bool is_back_guarded(const cairn_priv_strand *strand, int64_t height)
{
    return crn_site_height(strand) > height + FRAME && strand->top[-1] == strand->current &&
           crn_site_height(strand) == own_of(strand, height).height + FRAME;
}

/* ---- counted functions, which have no frame ---- */

crn_mark cairn_priv_call_mark(void)
{
    const cairn_priv_strand *strand = (const cairn_priv_strand *)cairn_priv_thread_strand;
    crn_site_expect_jumps();
    if (!strand)
        return (crn_mark){0, CRN_HEIGHT_NONE};
    uint64_t current = strand->current & CRN_REPLACED ? *strand->top : strand->current;
    return (crn_mark){current + strand->graph_tag, crn_site_height(strand)};
}

/* Returns true if nothing is to be done: no frame was pushed since the mark, and its context is
 * current; or the mark was made without a strand, and no frame of a period is on the stack. */
static bool is_at(const cairn_priv_strand *strand, crn_mark mark)
{
    if (!mark.saved)
        return is_earlier_back(strand, CRN_HEIGHT_NONE);
    return strand->current + strand->graph_tag == mark.saved &&
           crn_site_height(strand) == mark.height;
}

void cairn_priv_call_return(crn_mark mark)
{
    cairn_priv_strand *strand = (cairn_priv_strand *)cairn_priv_thread_strand;
    cairn_strand *held = strand && !is_at(strand, mark) ? crn_site_hold() : NULL;
    if (!held)
        return;
    return_to((cairn_priv_strand *)held, mark);
    crn_site_release(held);
}

/* Unlike setjmp, landing pads need no crn_site_expect_jumps: only handlers of synchronous signals
 * may throw exceptions, and other signals wait while the strand is held. */
void cairn_priv_call_restore(int64_t height)
{
    restore(height, is_back, bring_back);
}

/* Not inlined: otherwise cairn_priv_call_guard would save registers without a strand, too. */
__attribute__((noinline)) static void restore_guarded(int64_t height)
{
    restore(height, is_back_guarded, bring_back_guarded);
}

void cairn_priv_call_guard(int64_t height)
{
    crn_site_expect_jumps();
    if (cairn_priv_thread_strand)
        restore_guarded(height);
}
