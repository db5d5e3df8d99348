/* SPDX-License-Identifier: MIT
 *
 * Frames that control comes back to by other means than returns: jumps and exceptions.
 *
 * What is above such a frame is over, but for the spans that its function itself has open, which
 * end where their scopes do: those whose frames lie right above its own.
 *
 * A function that is jumped to has what it runs on top of that once more, the *guard*. A signal
 * handler may jump there out of a function that calls nothing, and so has pushed no frame: what it
 * finds as what runs, is that one's context, and not what is to go on.
 */
#include <errno.h>

#include "runtime.h"

bool crn_site_jumps;

enum { FRAME = sizeof(uint32_t) };

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
    cairn_strand_unwind(strand, (cairn_mark)height / FRAME);
    return height == crn_site_height(priv);
}

bool crn_site_is_on_top(const cairn_priv_strand *strand, int64_t height)
{
    int64_t above = crn_site_height(strand) - height;
    bool guarded = above == FRAME && strand->top[-1] == (uint32_t)strand->current;
    return (above == 0 || guarded) && !(strand->current & CRN_REPLACED);
}

/* The frame's height with those of the spans that are its own. */
static int64_t with_spans(const cairn_priv_strand *strand, int64_t height)
{
    uint64_t frames = (uint64_t)height / FRAME;
    const cairn_priv_open *open = strand->open;
    while (open[-1].height >= frames) /* below the first is one at 0 */
        open--;
    for (; open < strand->open && open->height == frames; open++)
        frames++;
    return (int64_t)(frames * FRAME);
}

static void note_jumps(void)
{
    if (!__atomic_load_n(&crn_site_jumps, __ATOMIC_RELAXED))
        __atomic_store_n(&crn_site_jumps, true, __ATOMIC_RELAXED);
}

/* Exceptions come out of no handler but of signals that are never held back. */
void cairn_priv_call_restore(int64_t height)
{
    cairn_priv_strand *strand = (cairn_priv_strand *)cairn_priv_thread_strand;
    if (!strand || height <= 0)
        return;
    height = with_spans(strand, height);
    if (height == crn_site_height(strand) && !(strand->current & CRN_REPLACED))
        return;
    int saved = errno;
    cairn_strand *held = crn_site_hold();
    if (!held)
        return;
    crn_site_uncover(held, height);
    crn_site_release(held);
    errno = saved;
}

/* False if there is something to be done about that first. */
static bool push_guard(cairn_priv_strand *strand, int64_t height)
{
    uint64_t current = CAIRN_PRIV_READ(strand->current);
    uint32_t *top = strand->top;
    if (current & CRN_REPLACED)
        return false;
    if (crn_site_height(strand) == height + FRAME && top[-1] == (uint32_t)current)
        return true;
    if (crn_site_height(strand) != height || top >= CAIRN_PRIV_READ(strand->high))
        return false;
    *top = (uint32_t)current;
    strand->top = top + 1;
    return true;
}

void cairn_priv_call_guard(int64_t height)
{
    note_jumps();
    cairn_priv_strand *strand = (cairn_priv_strand *)cairn_priv_thread_strand;
    if (!strand || height <= 0)
        return;
    height = with_spans(strand, height);
    if (push_guard(strand, height))
        return;
    int saved = errno;
    cairn_strand *held = crn_site_hold();
    if (!held)
        return;
    if (crn_site_uncover(held, height))
        cairn_priv_again((cairn_priv_strand *)held);
    crn_site_release(held);
    errno = saved;
}
