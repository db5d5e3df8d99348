/* SPDX-License-Identifier: MIT
 *
 * The slow path of spans.
 */
#include "runtime/span.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/random.h"

enum { OPEN_FIRST = CRN_FIRST(16, 2) /* entries; the first is the bottom */ };

/* The stack of strands that record no spans: nothing can be ended there. */
static cairn_priv_open bottom[1];

/* ---- the stack of open spans ---- */

/* Returns false for strands that keep only a stack of blocks. */
static bool has_spans(const cairn_strand *strand)
{
    const cairn_profile *profile = crn_lane_of(strand)->profile;
    return (profile->spans || profile->span_histograms) && !strand->records;
}

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

static bool grow_open(cairn_strand *strand)
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

/* Makes space for one more entry. Without memory, returns false: entries above are only counted. */
static bool has_room(cairn_strand *strand, size_t height)
{
    if (!strand->lost_spans && (strand->hot.open < strand->hot.open_end || grow_open(strand)))
        return true;
    if (!strand->lost_spans++)
        strand->lost_spans_from = height + 1;
    crn_lane_of(strand)->disk->spans_dropped++;
    return false;
}

/* The stack is now at most `height` high: ends the spans without memory that were above. */
static void end_lost(cairn_strand *strand, size_t height)
{
    if (height < strand->lost_spans_from)
        strand->lost_spans = strand->lost_spans_from = 0;
}

static void push_open(cairn_strand *strand, uint32_t span, size_t height)
{
    *strand->hot.open++ = (cairn_priv_open){span, (uint32_t)height};
}

static bool any_open(const cairn_strand *strand)
{
    return strand->open_spans && strand->hot.open > strand->open_spans + 1;
}

/* ---- begin and end of a strand ---- */

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
    else if (!has_spans(strand) || !grow_open(strand)) /* allocated here, so that the begin of a
                                                          span need not */
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
    strand->lost_spans = strand->lost_adoptions = SIZE_MAX / 2;
    strand->lost_spans_from = strand->lost_adoptions_at = 0;
}

/* ---- sampling of trees ---- */

/* Decides if the tree of a new root span is recorded. */
static bool draw(cairn_lane *lane)
{
    bool drawn = !lane->profile->span_threshold ||
                 crn_random_next(&lane->span_random) < lane->profile->span_threshold;
    lane->disk->trees_skipped += !drawn;
    return drawn;
}

/* How a span begins, given the stack entry below it. If a detail has to name the parent, the record
 * only says that there is one, because the detail may be dropped or overwritten. */
typedef struct beginning {
    bool recorded, drawn;
    uint32_t parent;
    const crn_adoption *asked;
    uint64_t forked; /* id of its parent if an ancestor process began that; otherwise 0 */
} beginning;

static beginning choose(const cairn_strand *strand, uint32_t above)
{
    cairn_lane *lane = crn_lane_of(strand);
    if (above == CRN_OPEN_SKIPPED)
        return (beginning){.recorded = false};
    if (above == CRN_OPEN_FORKED)
        return (beginning){
            .recorded = true, .parent = CRN_SPAN_GONE, .forked = crn_spans_forked(strand)};
    const crn_adoption *asked =
        crn_open_is_adoption(above) ? &strand->adoptions[above - CAIRN_PRIV_ADOPTED] : NULL;
    if (asked && asked->span == CAIRN_SPAN_SKIPPED)
        return (beginning){.recorded = false};
    if (asked && asked->remote) /* the requesting process has decided about sampling */
        return (beginning){.recorded = !lane->profile->span_threshold || asked->flags & 1,
                           .parent = CRN_SPAN_GONE,
                           .asked = asked};
    if (above == CRN_OPEN_DRAWN || (asked && !asked->span)) {
        bool recorded = draw(lane);
        return (beginning){.recorded = recorded,
                           .drawn = recorded && lane->profile->span_threshold};
    }
    return (beginning){.recorded = true, .parent = asked ? CRN_SPAN_GONE : above, .asked = asked};
}

/* Adds the remote parent as details. Ids are in big-endian order. */
static void put_remote(cairn_lane *lane, uint32_t number, const uint64_t trace[2], uint64_t remote,
                       uint32_t flags)
{
    crn_spans_put_detail(lane, (crn_disk_detail){.span = number,
                                                 .kind = CRN_DETAIL_REMOTE,
                                                 .key = (uint16_t)flags,
                                                 .value = __builtin_bswap64(trace[0]),
                                                 .more = __builtin_bswap64(trace[1])});
    crn_spans_put_detail(lane, (crn_disk_detail){.span = number,
                                                 .kind = CRN_DETAIL_MORE,
                                                 .value = __builtin_bswap64(remote)});
}

static void put_forked(const cairn_strand *strand, uint32_t number, uint64_t parent)
{
    cairn_lane *lane = crn_lane_of(strand);
    cairn_handoff handoff = {.span = 0};
    crn_handoff_name_trace(strand, &handoff);
    bool own = crn_trace_make_own(lane->profile, handoff.trace);
    put_remote(lane, number, handoff.trace, parent, own ? 1 : (uint32_t)handoff.flags);
}

/* Adds the details that do not fit into the record. */
static void put_details(const cairn_strand *strand, uint32_t number, const beginning *how)
{
    cairn_lane *lane = crn_lane_of(strand);
    const crn_adoption *asked = how->asked;
    if (asked && asked->span)
        crn_spans_put_detail(lane, (crn_disk_detail){.span = number,
                                                     .kind = CRN_DETAIL_HANDOFF,
                                                     .key = asked->number,
                                                     .value = asked->span,
                                                     .more = asked->taken});
    if (asked && asked->remote)
        put_remote(lane, number, asked->trace, asked->remote, asked->flags);
    if (how->forked)
        put_forked(strand, number, how->forked);
    if (how->drawn)
        crn_spans_put_detail(lane, (crn_disk_detail){.span = number,
                                                     .kind = CRN_DETAIL_WEIGHT,
                                                     .value = lane->profile->span_weight});
}

/* ---- begin, end ---- */

void crn_spans_slow(cairn_lane *lane)
{
    (void)__atomic_exchange_n(&lane->graph.hot.spans.limit, NULL, __ATOMIC_ACQ_REL);
}

static bool is_quick(const cairn_strand *strand)
{
    const cairn_profile *profile = crn_lane_of(strand)->profile;
    return profile->tsc && !strand->timings && crn_profile_mode(profile) == CRN_MODE_COUNT;
}

/* Sets the limits of the fast path: none if a span needs more than its record. A thread
 * that switches recording off meanwhile lowers the limit after it is set here, or before; then the
 * mode is already off. All changes are atomic exchanges, so there are no other cases. */
static void rest(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    cairn_priv_spans *spans = &lane->graph.hot.spans;
    bool quick = is_quick(strand);
    if (quick)
        (void)__atomic_exchange_n(&spans->limit, lane->spans_end, __ATOMIC_ACQ_REL);
    if (!is_quick(strand) && __atomic_load_n(&spans->limit, __ATOMIC_RELAXED))
        crn_spans_slow(lane);
    spans->quick = quick ? CAIRN_PRIV_SPAN_LAST : 0;
}

static void begin(cairn_strand *strand, const cairn_priv_span *what, size_t height)
{
    cairn_lane *lane = crn_lane_of(strand);
    cairn_priv_span *span = NULL;
    uint32_t number = CRN_SPAN_GONE;
    beginning how = {.recorded = false};
    if (lane->spans.chunks)
        how = choose(strand, strand->hot.open[-1].span);
    if (how.recorded)
        span = crn_spans_take(lane, &number);
    else if (lane->spans.chunks) {
        number = CRN_OPEN_SKIPPED;
        lane->disk->spans_skipped++;
    }
    if (span) {
        span->iteration = what->iteration;
        span->block = what->block;
        span->parent = how.parent;
    }
    push_open(strand, number, height);
    uint64_t now = crn_spans_stamp(lane);
    if (span) {
        __atomic_store_n(&span->start, now, __ATOMIC_RELEASE);
        put_details(strand, number, &how);
    }
    if (strand->timings)
        crn_timing_begin(strand, what->block, now);
}

void cairn_priv_span_begin(cairn_strand *strand, cairn_block block, int64_t iteration)
{
    size_t height = cairn_strand_depth(strand);
    cairn_enter(strand, block);
    if (!has_spans(strand) || !has_room(strand, height))
        return;
    if (crn_profile_mode(crn_lane_of(strand)->profile) != CRN_MODE_OFF) {
        cairn_priv_span what = {.block = block, .iteration = iteration};
        begin(strand, &what, height);
    } else {
        push_open(strand, CRN_SPAN_GONE, height);
        if (strand->timings)
            crn_timing_begin(strand, block, 0);
    }
    rest(strand);
}

/* Ends the innermost open span; does nothing for a hand-off. */
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

void cairn_priv_span_end(cairn_strand *strand)
{
    if (!has_spans(strand) || strand->lost_spans) {
        strand->lost_spans -= strand->lost_spans > 0;
        cairn_leave(strand);
        end_lost(strand, cairn_strand_depth(strand));
        return;
    }
    if (!any_open(strand) || crn_open_is_adoption(strand->hot.open[-1].span)) {
        crn_lane_of(strand)->disk->misuses++;
        return;
    }
    size_t height = strand->hot.open[-1].height;
    if (cairn_strand_depth(strand) > height)
        cairn_strand_unwind(strand, height);
    crn_spans_unwind(strand, height);
}

void crn_spans_unwind(cairn_strand *strand, size_t height)
{
    end_lost(strand, height);
    if (height < strand->lost_adoptions_at)
        strand->lost_adoptions = strand->lost_adoptions_at = 0;
    while (any_open(strand) && strand->hot.open[-1].height >= height)
        pop_open(strand);
    while (strand->adoption_count && strand->adoptions[strand->adoption_count - 1].mark >= height)
        strand->adoption_count--;
}

void crn_spans_adopt(cairn_strand *strand, uint32_t adoption, size_t height)
{
    if (has_spans(strand) && has_room(strand, height))
        push_open(strand, CAIRN_PRIV_ADOPTED | adoption, height);
}

/* ---- queries ---- */

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

cairn_span crn_spans_asking(const cairn_strand *strand)
{
    if (strand->lost_spans || !strand->open_spans)
        return 0;
    uint32_t above = strand->hot.open[-1].span;
    if (crn_open_is_adoption(above))
        return strand->adoptions[above - CAIRN_PRIV_ADOPTED].span;
    if (above == CRN_OPEN_SKIPPED)
        return CAIRN_SPAN_SKIPPED;
    const cairn_lane *lane = crn_lane_of(strand);
    if (above == CRN_SPAN_GONE) /* also in a child of fork that has recorded nothing yet */
        return lane->profile->spans ? crn_span_name_gone(lane) : 0;
    return crn_open_is_recorded(above) && lane->spans.chunks ? crn_spans_name(lane, above) : 0;
}
