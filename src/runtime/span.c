/* SPDX-License-Identifier: MIT
 *
 * The slow path of spans: begin and end.
 */
#include "runtime/span.h"

#include "base/random.h"

/* Makes space for one more entry. Without memory counts a lost span and returns false, also for
 * spans inside of a lost one. */
static bool has_room(cairn_strand *strand, size_t height)
{
    if (!strand->lost_spans && (strand->hot.open < strand->hot.open_end || crn_spans_grow(strand)))
        return true;
    if (!strand->lost_spans++)
        strand->lost_spans_from = height + 1;
    crn_lane_of(strand)->disk->spans_dropped++;
    return false;
}

static void push_open(cairn_strand *strand, uint32_t span, size_t height)
{
    *strand->hot.open++ = (cairn_priv_open){span, (uint32_t)height};
}

/* ---- sampling of trees ---- */

/* Decides at random whether the tree of a new root span is recorded. */
static bool draw(cairn_lane *lane)
{
    bool drawn = !lane->profile->span_threshold ||
                 crn_random_next(&lane->span_random) < lane->profile->span_threshold;
    lane->disk->trees_skipped += !drawn;
    return drawn;
}

/* The decisions for a new span, taken from the stack entry below it. If a detail names the parent,
 * `parent` is CRN_SPAN_GONE: the detail may get lost, and then the span must not look like a root
 * span. */
typedef struct beginning {
    bool recorded, drawn; /* drawn: the root of a tree that was chosen at random: it has a weight */
    uint32_t parent;
    const crn_adoption *asked; /* adoption that the span begins under; NULL: none */
    uint64_t forked;           /* id of the parent if an ancestor process began it; otherwise 0 */
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
    if (asked && asked->remote) /* the requesting process has decided whether the tree is
                                   recorded */
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

/* Adds the remote parent as details. The file has ids in big-endian order. */
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

static void put_handoff(cairn_lane *lane, uint32_t number, const crn_adoption *asked)
{
    crn_spans_put_detail(lane, (crn_disk_detail){.span = number,
                                                 .kind = CRN_DETAIL_HANDOFF,
                                                 .key = asked->number,
                                                 .value = asked->span,
                                                 .more = asked->taken});
}

/* Adds what does not fit into the span's record as details. */
static void put_details(const cairn_strand *strand, uint32_t number, const beginning *how)
{
    cairn_lane *lane = crn_lane_of(strand);
    const crn_adoption *asked = how->asked;
    if (asked && asked->span)
        put_handoff(lane, number, asked);
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

static bool is_quick(const cairn_strand *strand)
{
    const cairn_profile *profile = crn_lane_of(strand)->profile;
    return profile->tsc && !strand->timings && crn_profile_mode(profile) == CRN_MODE_COUNT;
}

/* Sets the limits of the fast path: to the chunk's end, or to nothing if a span needs more than its
 * record. A thread that switches recording off clears the limit (crn_spans_slow) after it is set
 * here, or before: then the second is_quick sees the new mode. All changes are atomic exchanges, so
 * there are no other cases. Does not set a limit that is right already. */
static void rest(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    cairn_priv_spans *spans = &lane->graph.hot.spans;
    bool quick = is_quick(strand);
    if (quick && __atomic_load_n(&spans->limit, __ATOMIC_ACQUIRE) != lane->spans_end)
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

/* Begins the first span of adopted work faster than `begin`. Does nothing and returns false if the
 * span needs more than a record and a detail. */
static bool begin_adopted(cairn_strand *strand, cairn_block block, int64_t iteration)
{
    cairn_lane *lane = crn_lane_of(strand);
    cairn_priv_spans *spans = &lane->graph.hot.spans;
    cairn_priv_open *open = strand->hot.open;
    cairn_priv_span *span = spans->next;
    if (!(open < strand->hot.open_end && crn_open_is_adoption(open[-1].span)) ||
        strand->lost_spans || span >= CAIRN_PRIV_READ(spans->limit))
        return false;
    const crn_adoption *asked = &strand->adoptions[open[-1].span - CAIRN_PRIV_ADOPTED];
    if (!asked->span || asked->span == CAIRN_SPAN_SKIPPED || asked->remote)
        return false;
    uint32_t number = ++spans->used;
    spans->next = span + 1;
    span->iteration = iteration;
    span->block = block;
    span->parent = CRN_SPAN_GONE;
    *open = (cairn_priv_open){number, (uint32_t)crn_strand_depth(strand)};
    strand->hot.open = open + 1;
    cairn_enter(strand, block);
    __atomic_store_n(&span->start, cairn_priv_stamp(), __ATOMIC_RELEASE);
    put_handoff(lane, number, asked);
    return true;
}

void cairn_priv_span_begin(cairn_strand *strand, cairn_block block, int64_t iteration)
{
    if (begin_adopted(strand, block, iteration))
        return;
    size_t height = crn_strand_depth(strand);
    cairn_enter(strand, block);
    if (!crn_has_spans(strand) || !has_room(strand, height))
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

void cairn_priv_span_end(cairn_strand *strand)
{
    if (!crn_has_spans(strand) || strand->lost_spans) {
        strand->lost_spans -= strand->lost_spans > 0;
        cairn_leave(strand);
        crn_spans_end_lost(strand, cairn_strand_depth(strand));
        return;
    }
    if (!crn_spans_any_open(strand) || crn_open_is_adoption(strand->hot.open[-1].span)) {
        crn_lane_of(strand)->disk->misuses++;
        return;
    }
    size_t height = strand->hot.open[-1].height;
    if (crn_strand_depth(strand) > height)
        cairn_strand_unwind(strand, height);
    crn_spans_unwind(strand, height);
}

void crn_spans_adopt(cairn_strand *strand, uint32_t adoption, size_t height)
{
    if (crn_has_spans(strand) && has_room(strand, height))
        push_open(strand, CAIRN_PRIV_ADOPTED | adoption, height);
}
