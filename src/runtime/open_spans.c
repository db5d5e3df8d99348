/* SPDX-License-Identifier: MIT
 *
 * The stack of a strand's open spans.
 */
#include "runtime/span.h"

#include "base/limits.h"
#include "base/memory.h"

enum { OPEN_FIRST = CRN_FIRST(16, 2) /* entries; entry 0 is the bottom */ };

/* The stack of open spans of strands that record none: it is always empty. */
static cairn_priv_open bottom[1];

static bool grow_timings(cairn_strand *strand, size_t room)
{
    const cairn_profile *profile = crn_lane_of(strand)->profile;
    if (!profile->span_histograms && !profile->span_cpu)
        return true;
    crn_timing *timings = crn_try_realloc(strand->timings, room, sizeof *timings);
    if (!timings)
        return false;
    strand->timings = timings;
    return true;
}

bool crn_spans_grow(cairn_strand *strand)
{
    cairn_priv_open *old = strand->open_spans;
    size_t used = old ? (size_t)(strand->hot.open - old) : 1;
    size_t room = old ? (size_t)(strand->hot.open_end - old) * 2 : OPEN_FIRST;
    if (!grow_timings(strand, room))
        return false;
    cairn_priv_open *open = crn_try_realloc(old, room, sizeof *open);
    if (!open)
        return false;
    open[0] =
        (cairn_priv_open){crn_lane_of(strand)->profile->span_threshold ? CRN_OPEN_DRAWN : 0, 0};
    strand->open_spans = open;
    strand->hot.open = open + used;
    strand->hot.open_end = open + room;
    return true;
}

void crn_strand_spans_begin(cairn_strand *strand)
{
    strand->split_count = 0;
    if (!crn_lane_is_buried(crn_lane_of(strand))) {
        strand->lost_spans = strand->lost_spans_from = 0;
        strand->lost_adoptions = strand->lost_adoptions_at = 0;
        strand->adoption_count = 0;
    }
    if (strand->open_spans)
        strand->hot.open = strand->open_spans + 1;
    else if (!crn_has_spans(strand) || !crn_spans_grow(strand)) /* grown now, so that the first span
                                                                   need not grow it */
        strand->hot.open = strand->hot.open_end = bottom + 1;
}

void crn_strand_spans_free(cairn_strand *strand)
{
    crn_free(strand->open_spans);
    crn_free(strand->timings);
    crn_free((void *)strand->splits);
    crn_free(strand->adoptions);
    crn_free(strand->forked);
}

void crn_strand_spans_bury(cairn_strand *strand)
{
    strand->hot.open = strand->open_spans ? strand->open_spans + 1 : bottom + 1;
    strand->adoption_count = 0;
    strand->lost_spans = strand->lost_adoptions = SIZE_MAX / 2; /* all that begin count as lost */
    strand->lost_spans_from = strand->lost_adoptions_at = 0;
}

void crn_spans_slow(cairn_lane *lane)
{
    (void)__atomic_exchange_n(&lane->graph.hot.spans.limit, NULL, __ATOMIC_ACQ_REL);
}

/* Pops the innermost entry, and ends its span unless it stands for an adoption. */
static void pop_open(cairn_strand *strand)
{
    uint32_t number = (--strand->hot.open)->span;
    if (crn_open_is_adoption(number))
        return;
    uint64_t now = crn_spans_stamp(crn_lane_of(strand));
    if (crn_open_is_recorded(number))
        crn_spans_at(crn_lane_of(strand), number)->end = now;
    if (strand->timings)
        crn_timing_end(strand, number, now);
}

void crn_spans_unwind(cairn_strand *strand, size_t height)
{
    crn_spans_end_lost(strand, height);
    if (height < strand->lost_adoptions_at)
        strand->lost_adoptions = strand->lost_adoptions_at = 0;
    while (crn_spans_any_open(strand) && strand->hot.open[-1].height >= height)
        pop_open(strand);
    while (strand->adoption_count && strand->adoptions[strand->adoption_count - 1].mark >= height)
        strand->adoption_count--;
}

uint32_t crn_spans_innermost(const cairn_strand *strand)
{
    if (!strand || strand->lost_spans || !strand->open_spans)
        return 0;
    if (strand->aim)
        return strand->aim == CRN_AIM_NOWHERE ? 0 : strand->aim;
    uint32_t number = strand->hot.open[-1].span;
    return crn_open_is_recorded(number) ? number : 0;
}

cairn_span cairn_span_current(const cairn_strand *strand)
{
    uint32_t number = crn_spans_innermost(strand);
    return number ? crn_spans_name(crn_lane_of(strand), number) : 0;
}
