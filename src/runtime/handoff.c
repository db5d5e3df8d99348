/* SPDX-License-Identifier: MIT
 *
 * Hand-offs: work of one strand is charged to the strand that requested it.
 *
 * A token names a context of another lane's graph. Adopting it rebuilds the path once in the own
 * lane's graph and caches the result.
 */
#include "base/memory.h"
#include "runtime/span.h"

/* ---- cache of other lanes' contexts ---- */

typedef struct crn_foreign {
    uint64_t key; /* (lane + 1) << 32 | context; 0 is free */
    uint32_t record;
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

/* Returns the path of a context of a lane to which another thread may be adding: its links may
 * move, but do not change. Root first, without the root. NULL without memory. */
static cairn_block *read_path(cairn_lane *lane, cairn_context context, size_t *length)
{
    pthread_mutex_lock(&lane->moving);
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
    pthread_mutex_unlock(&lane->moving);
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

/* Returns the own lane's record for the token's context. */
static uint32_t translate(cairn_lane *lane, const cairn_handoff *handoff)
{
    if (handoff->lane == lane->number)
        return handoff->context < lane->graph.used ? handoff->context : CRN_RECORD_ROOT;
    uint64_t key = ((uint64_t)handoff->lane + 1) << 32 | handoff->context;
    if (lane->foreign) {
        const crn_foreign *known = place_of(lane, key);
        if (known->key)
            return known->record;
    }
    cairn_lane *from = lane_numbered(lane->profile, handoff->lane);
    uint32_t record = from ? rebuild(lane, from, handoff->context) : CRN_RECORD_ROOT;
    if ((lane->foreign && lane->foreign_count < lane->foreign_mask / 2) || grow_foreign(lane)) {
        *place_of(lane, key) = (crn_foreign){key, record};
        lane->foreign_count++;
    }
    return record;
}

/* ---- public functions ---- */

cairn_handoff cairn_priv_handoff_take(const cairn_strand *strand)
{
    const cairn_lane *lane = crn_lane_of(strand);
    cairn_span span = crn_spans_asking(strand);
    /* A child of fork will replace the lane's graph. */
    cairn_context context = lane->forked ? 0 : cairn_strand_context(strand);
    if (!strand->adoption_count && !crn_spans_forked(strand)) /* written at once, in its place */
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
static bool is_older(const cairn_profile *profile, const cairn_handoff *handoff)
{
    return handoff->taken && handoff->taken < profile->child.forked.clock;
}

/* Makes a token of an ancestor process one of another process: its context means nothing here, and
 * its span is known by an id. */
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
        handoff->flags = 1;
    handoff->remote = key ? handoff->span ^ key : 0;
    handoff->span = 0;
}

static bool push_adoption(cairn_strand *strand, const cairn_handoff *handoff)
{
    if (strand->adoption_count == strand->adoption_room) {
        uint32_t room = strand->adoption_room ? strand->adoption_room * 2 : 4;
        crn_adoption *adoptions =
            crn_try_realloc(strand->adoptions, room, sizeof *strand->adoptions);
        if (!adoptions)
            return false;
        strand->adoptions = adoptions;
        strand->adoption_room = room;
    }
    strand->adoptions[strand->adoption_count++] =
        (crn_adoption){.span = handoff->span,
                       .taken = handoff->taken,
                       .mark = crn_strand_depth(strand),
                       .number = (uint16_t)(strand->adopted++ % UINT16_MAX + 1),
                       .flags = (uint32_t)handoff->flags,
                       .trace = {handoff->trace[0], handoff->trace[1]},
                       .remote = handoff->remote};
    return true;
}

static void adopt(cairn_strand *strand, const cairn_handoff *handoff)
{
    if (strand->lost_adoptions || !push_adoption(strand, handoff)) {
        if (!strand->lost_adoptions++)
            strand->lost_adoptions_at = crn_strand_depth(strand);
        return;
    }
    crn_spans_adopt(strand, strand->adoption_count - 1, crn_strand_depth(strand));
    crn_strand_push(strand, handoff->context ? translate(crn_lane_of(strand), handoff)
                                             : crn_strand_record(strand));
}

void crn_handoff_adopt(cairn_strand *strand, const cairn_handoff *handoff)
{
    cairn_lane *lane = crn_lane_of(strand);
    crn_lane_listen(lane); /* the graph may be replaced */
    if (__builtin_expect(is_older(lane->profile, handoff), 0)) {
        cairn_handoff remote = *handoff;
        make_remote(lane->profile, &remote);
        adopt(strand, &remote);
        return;
    }
    adopt(strand, handoff);
}

void cairn_handoff_adopt(cairn_strand *strand, cairn_handoff handoff)
{
    if (strand)
        crn_handoff_adopt(strand, &handoff);
}

void cairn_handoff_leave(cairn_strand *strand)
{
    if (!strand)
        return;
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
        cairn_strand_unwind(strand, height); /* and its spans */
        return;
    }
    if (strand->records)
        cairn_strand_unwind(strand, height);
    crn_spans_unwind(strand, height);
}
