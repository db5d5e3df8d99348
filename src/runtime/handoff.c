/* SPDX-License-Identifier: MIT
 *
 * Hand-offs: a strand's work is charged to the context that requested the work.
 *
 * A token names a context of the taker's graph. The first adoption on another lane rebuilds the
 * path in that lane's graph and caches the result.
 */
#include "base/memory.h"
#include "runtime/span.h"

/* ---- cache of other lanes' contexts ---- */

typedef struct crn_foreign {
    uint64_t key;    /* (lane + 1) << 32 | context; 0: the entry is free */
    uint32_t record; /* of this lane's graph */
} crn_foreign;

enum { FIRST_FOREIGN = 16 };

static crn_foreign *place_of(const cairn_lane *lane, uint64_t key)
{
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32);
    while (lane->foreign[at & lane->foreign_mask].key &&
           lane->foreign[at & lane->foreign_mask].key != key)
        at++;
    return &lane->foreign[at & lane->foreign_mask];
}

static bool grow_foreign(cairn_lane *lane)
{
    crn_foreign *old = lane->foreign;
    uint32_t room = old ? lane->foreign_mask + 1 : 0;
    uint32_t grown = room ? room * 2 : FIRST_FOREIGN;
    crn_foreign *foreign = crn_try_calloc(grown, sizeof *foreign);
    if (!foreign)
        return false;
    lane->foreign = foreign;
    lane->foreign_mask = grown - 1;
    for (uint32_t i = 0; i < room; i++)
        if (old[i].key)
            *place_of(lane, old[i].key) = old[i];
    crn_free(old);
    return true;
}

static cairn_lane *lane_numbered(const cairn_profile *profile, uint32_t number)
{
    cairn_lane *lane = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE);
    while (lane && lane->number != number)
        lane = lane->next;
    return lane;
}

/* Returns the path of a context without the root, outermost block first; free it. An invalid
 * context has the root's path. NULL without memory. Another thread may be adding to the lane: while
 * `moving` is locked, the links stay in place, and existing links never change. */
static cairn_block *read_path(cairn_lane *lane, cairn_context context, size_t *length)
{
    crn_futex_lock_take(&lane->moving);
    const crn_link *links = lane->graph.links;
    uint32_t used = (uint32_t)__atomic_load_n(lane->graph.published, __ATOMIC_ACQUIRE);
    *length = 0;
    if (context < CRN_RECORD_ROOT || context >= used)
        context = CRN_RECORD_ROOT;
    context = links[context].target;
    size_t depth = links[context].depth;
    cairn_block *path = crn_try_calloc(depth, sizeof *path);
    for (size_t at = depth - 1; path && at; at--) {
        path[at - 1] = links[context].block;
        context = links[context].from;
    }
    crn_futex_lock_give(&lane->moving);
    *length = depth - 1;
    return path;
}

static uint32_t rebuild(cairn_lane *lane, cairn_lane *from, cairn_context context)
{
    size_t length;
    cairn_block *path = read_path(from, context, &length);
    uint32_t record = CRN_RECORD_ROOT;
    for (size_t i = 0; path && i < length; i++)
        record = crn_graph_follow(&lane->graph, record, path[i]);
    crn_free(path);
    return record;
}

static uint64_t key_of(const cairn_handoff *handoff)
{
    return ((uint64_t)handoff->lane + 1) << 32 | handoff->context;
}

/* Returns the record in the adopter's lane for the token's context; 0 if the path has to be
 * rebuilt. */
static inline uint32_t find_record(const cairn_lane *lane, const cairn_handoff *handoff)
{
    if (handoff->lane == lane->number)
        return handoff->context < lane->graph.used ? handoff->context : CRN_RECORD_ROOT;
    if (handoff->context == CRN_RECORD_ROOT)
        return CRN_RECORD_ROOT;
    return lane->foreign ? place_of(lane, key_of(handoff))->record : 0;
}

static uint32_t find_or_rebuild(cairn_lane *lane, const cairn_handoff *handoff)
{
    uint32_t record = find_record(lane, handoff);
    if (record)
        return record;
    cairn_lane *from = lane_numbered(lane->profile, handoff->lane);
    record = from ? rebuild(lane, from, handoff->context) : CRN_RECORD_ROOT;
    if (record == CRN_RECORD_ROOT) /* no memory to read the path, which may be there next time */
        return record;
    if ((lane->foreign && lane->foreign_count < lane->foreign_mask / 2) || grow_foreign(lane)) {
        uint64_t key = key_of(handoff);
        *place_of(lane, key) = (crn_foreign){key, record};
        lane->foreign_count++;
    }
    return record;
}

/* ---- public functions ---- */

/* Returns the span for a token: the innermost open span, or the span of the adopted token if the
 * strand adopted the token within that span; CAIRN_SPAN_SKIPPED in a tree that is not recorded; 0
 * if there is no such span. */
static inline cairn_span requester(const cairn_strand *strand)
{
    if (strand->lost_spans || !strand->open_spans)
        return 0;
    uint32_t above = strand->hot.open[-1].span;
    const cairn_lane *lane = crn_lane_of(strand);
    if (crn_open_is_recorded(above))
        return lane->spans.chunks ? crn_spans_name(lane, above) : 0;
    if (crn_open_is_adoption(above))
        return strand->adoptions[above - CAIRN_PRIV_ADOPTED].span;
    if (above == CRN_OPEN_SKIPPED)
        return CAIRN_SPAN_SKIPPED;
    /* Tests the option, not `chunks`: a child of fork can have CRN_SPAN_GONE before it has
     * chunks. */
    return above == CRN_SPAN_GONE && lane->profile->spans ? crn_span_name_gone(lane) : 0;
}

static inline cairn_context current_context(const cairn_strand *strand)
{
    if (crn_lane_of(strand)->forked) /* the graph is still the parent's and will be replaced */
        return 0;
    return strand->records ? cairn_strand_context(strand) : crn_record_at(strand->hot.current);
}

cairn_handoff cairn_priv_handoff_take(const cairn_strand *strand)
{
    const cairn_lane *lane = crn_lane_of(strand);
    cairn_span span = requester(strand);
    cairn_context context = current_context(strand);
    /* A return of its own: the compiler then builds this token in place, without a copy. */
    if (!strand->adoption_count && !crn_spans_forked(strand))
        return (cairn_handoff){.span = span,
                               .context = context,
                               .lane = lane->number,
                               .taken = crn_clock_now(lane->profile->tsc)};
    cairn_handoff handoff = {.span = span,
                             .context = context,
                             .lane = lane->number,
                             .taken = crn_clock_now(lane->profile->tsc)};
    crn_handoff_name_trace(strand, &handoff);
    return handoff;
}

/* Returns true if the token was taken in an ancestor process. */
static inline bool is_older(const cairn_profile *profile, const cairn_handoff *handoff)
{
    return handoff->taken && handoff->taken < profile->child.forked.clock;
}

/* Makes a token of an ancestor process like one of another process: without a context, and with the
 * span's id in place of its span. */
static void make_remote(const cairn_profile *profile, cairn_handoff *handoff)
{
    const crn_child *child = &profile->child;
    handoff->context = 0;
    if (!handoff->span || handoff->span == CAIRN_SPAN_SKIPPED || crn_span_is_gone(handoff->span))
        return;
    uint32_t from = 0;
    while (from < child->ancestor_count && child->ancestors[from].until <= handoff->taken)
        from++;
    uint64_t key = from < child->ancestor_count ? child->ancestors[from].span_key : 0;
    if (key && crn_trace_make_own(profile, handoff->trace))
        handoff->flags = CRN_TRACE_SAMPLED;
    handoff->remote = key ? handoff->span ^ key : 0;
    handoff->span = 0;
}

static bool grow_adoptions(cairn_strand *strand)
{
    uint32_t room = strand->adoption_room ? strand->adoption_room * 2 : 4;
    crn_adoption *adoptions = crn_try_realloc(strand->adoptions, room, sizeof *strand->adoptions);
    if (!adoptions)
        return false;
    strand->adoptions = adoptions;
    strand->adoption_room = room;
    return true;
}

/* Adds an adoption, for which the array has space. `height` is that of the strand's stack. */
static inline void push_adoption(cairn_strand *strand, const cairn_handoff *handoff, size_t height)
{
    strand->adoptions[strand->adoption_count++] =
        (crn_adoption){.span = handoff->span,
                       .taken = handoff->taken,
                       .mark = height,
                       .number = (uint16_t)(strand->adopted++ % UINT16_MAX + 1),
                       .flags = (uint32_t)handoff->flags,
                       .trace = {handoff->trace[0], handoff->trace[1]},
                       .remote = handoff->remote};
}

static void adopt(cairn_strand *strand, const cairn_handoff *handoff)
{
    if (strand->lost_adoptions ||
        (strand->adoption_count == strand->adoption_room && !grow_adoptions(strand))) {
        if (!strand->lost_adoptions++)
            strand->lost_adoptions_at = crn_strand_depth(strand);
        return;
    }
    size_t height = crn_strand_depth(strand);
    push_adoption(strand, handoff, height);
    crn_spans_adopt(strand, strand->adoption_count - 1, height);
    crn_strand_push(strand, handoff->context ? find_or_rebuild(crn_lane_of(strand), handoff)
                                             : crn_strand_record(strand));
}

/* Adopts faster than `adopt`. Does nothing and returns false if anything is pending, an array is
 * full, the path has to be rebuilt, or an ancestor process took the token. */
static inline bool adopt_at_once(cairn_strand *strand, const cairn_handoff *handoff)
{
    cairn_priv_strand *hot = &strand->hot;
    if (hot->top >= CAIRN_PRIV_READ(hot->high) || hot->open >= hot->open_end ||
        strand->adoption_count == strand->adoption_room || strand->lost_spans ||
        strand->lost_adoptions || strand->records ||
        is_older(crn_lane_of(strand)->profile, handoff))
        return false;
    uint64_t record =
        handoff->context ? find_record(crn_lane_of(strand), handoff) : crn_record_at(hot->current);
    if (!record)
        return false;
    size_t height = (size_t)(hot->top - hot->bottom);
    *hot->open++ = (cairn_priv_open){CAIRN_PRIV_ADOPTED | strand->adoption_count, (uint32_t)height};
    push_adoption(strand, handoff, height);
    *hot->top++ = (uint32_t)hot->current;
    CAIRN_PRIV_PUT(hot->current, record * CRN_RECORD_WORDS);
    return true;
}

/* Processes announced changes and adopts. Not inlined, so that the fast path in its caller saves
 * fewer registers. */
__attribute__((noinline)) static void adopt_attending(cairn_strand *strand, cairn_handoff handoff)
{
    cairn_lane *lane = crn_lane_of(strand);
    crn_lane_listen(lane); /* the changes may replace the graph */
    if (is_older(lane->profile, &handoff))
        make_remote(lane->profile, &handoff);
    adopt(strand, &handoff);
}

void crn_handoff_adopt(cairn_strand *strand, const cairn_handoff *handoff)
{
    if (!adopt_at_once(strand, handoff))
        adopt_attending(strand, *handoff);
}

void cairn_handoff_adopt(cairn_strand *strand, cairn_handoff handoff)
{
    if (strand)
        crn_handoff_adopt(strand, &handoff);
}

/* Ends the last adoption. Does nothing and returns false if anything is pending, or frames or spans
 * above the adoption are left. */
static inline bool leave_at_once(cairn_strand *strand)
{
    cairn_priv_strand *hot = &strand->hot;
    uint32_t *top = hot->top - 1, last = strand->adoption_count - 1;
    if (!strand->adoption_count || top <= CAIRN_PRIV_READ(hot->low) || strand->lost_spans ||
        strand->lost_adoptions || strand->records ||
        hot->open[-1].span != (CAIRN_PRIV_ADOPTED | last) ||
        hot->open[-1].height != (size_t)(top - hot->bottom))
        return false;
    hot->open--;
    strand->adoption_count = last;
    CAIRN_PRIV_PUT(hot->current, *top);
    hot->top = top;
    return true;
}

__attribute__((noinline)) static void leave_attending(cairn_strand *strand)
{
    if (strand->lost_adoptions) {
        strand->lost_adoptions--;
        return;
    }
    if (!strand->adoption_count) {
        crn_lane_of(strand)->disk->misuses++;
        return;
    }
    size_t height = strand->adoptions[strand->adoption_count - 1].mark;
    if (crn_strand_depth(strand) > height && !strand->records) {
        cairn_strand_unwind(strand, height); /* ends its spans, too */
        return;
    }
    if (strand->records)
        cairn_strand_unwind(strand, height);
    crn_spans_unwind(strand, height);
}

void cairn_handoff_leave(cairn_strand *strand)
{
    if (strand && !leave_at_once(strand))
        leave_attending(strand);
}
