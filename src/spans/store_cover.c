/* SPDX-License-Identifier: MIT
 *
 * Computes the covered times of a store's spans.
 *
 * One walk over each lane's spans adds each child's time to its parent's covered time. The walk
 * needs only the lane's open spans, since nearly all children run inside their parent, on its lane.
 * Children with moves (parents that differ from the recorded ones, as after a hand-off), which may
 * be on another lane, come after it. Spans that other spans cover
 * out of order are *slow*: their covered times are computed from lists of all that covers them.
 */
#include <stddef.h>
#include <string.h>

#include "base/cover.h"
#include "base/memory.h"
#include "base/search.h"
#include "spans/span_cover.h"
#include "spans/store_opening.h"

/* A parent of spans with moves, and the latest end of its children so far, ns. */
typedef struct late_parent {
    uint32_t span;
    uint64_t reach;
} late_parent;

_Static_assert(offsetof(late_parent, span) == 0, "by span");

typedef struct cover {
    crn_span_store *store;
    crn_lane_walk lane;
    uint64_t *reach; /* by index in lane.nesting.open: latest end of the span's children so far */
    uint32_t reach_room;
    bool found, has_move; /* of the last span: it runs inside its parent; it has a move */
    uint8_t *slow;        /* bitmap by span */
    uint8_t *is_late;     /* bitmap by span: it is in `late` */
    bool any_slow;        /* `slow` is not empty */
    late_parent *late;    /* sorted by span */
    uint32_t late_count;
    crn_coverings coverings; /* pairs that are not parent and child */
} cover;

static bool is_in(const uint8_t *bitmap, uint32_t span)
{
    return bitmap[span >> 3] >> (span & 7) & 1;
}

static void add_to(uint8_t *bitmap, uint32_t span)
{
    bitmap[span >> 3] |= (uint8_t)(1 << (span & 7));
}

static void make_slow(cover *cover, uint32_t span)
{
    add_to(cover->slow, span);
    cover->any_slow = true;
}

static crn_period period_of(const crn_span_store *store, const cairn_priv_span *span)
{
    crn_period found = {crn_store_start(store, span), crn_store_end(store, span)};
    found.end = found.end < found.start ? found.start : found.end;
    return found;
}

static crn_period period_at(const crn_span_store *store, uint32_t span)
{
    const crn_span_piece *piece = crn_store_piece(store, span);
    return period_of(store, &piece->spans[span - piece->first]);
}

/* ---- children that run inside their parent ---- */

/* Returns a late parent, which must be in `late`. */
static late_parent *late_of(const cover *cover, uint32_t span)
{
    return &cover->late[CRN_BELOW(cover->late, cover->late_count, span, span)];
}

/* Adds the time of the last span to that of its parent if it runs inside it. Notes other spans
 * inside which it runs. */
static void add_inner(void *to, uint32_t outer, uint32_t inner)
{
    cover *cover = to;
    const crn_nesting *nesting = &cover->lane.nesting;
    const crn_lane_span *now = &cover->lane.now;
    if (outer != now->parent) {
        crn_coverings_add(&cover->coverings, &(crn_covering){now->start, outer, inner});
        make_slow(cover, outer);
        return;
    }
    cover->found = true;
    if (cover->has_move)
        return;
    /* `outer` is on top, or was taken off: then its entry is above the top. */
    uint32_t at = nesting->height;
    at -= at && nesting->open[at - 1].span == outer;
    cover->store->covered[outer] +=
        crn_cover((crn_period){0, nesting->open[at].end}, (crn_period){now->start, now->end},
                  &cover->reach[at]);
    if (cover->is_late && is_in(cover->is_late, outer))
        late_of(cover, outer)->reach = cover->reach[at];
}

/* Adds the next span of a lane in the order of start and number. Returns false if it begins before
 * the last one. */
static bool add_span(cover *cover, const crn_lane_span *span)
{
    cover->found = span->parent == CRN_SPAN_NONE || span->end <= span->start;
    cover->has_move = crn_store_is_moved(cover->store, span->span);
    if (!crn_lane_walk_add(&cover->lane, *span, add_inner, cover))
        return false;
    if (!cover->found && !cover->has_move)
        make_slow(cover, span->parent);
    if (span->end <= span->start)
        return true;
    uint32_t top = cover->lane.nesting.height - 1;
    CRN_GROW(cover->reach, top, cover->reach_room);
    cover->reach[top] = 0;
    return true;
}

static crn_lane_span lane_span(const crn_span_store *store, const crn_span_piece *piece, uint32_t i)
{
    crn_period its = period_of(store, &piece->spans[i]);
    uint32_t span = piece->first + i;
    return (crn_lane_span){its.start, its.end, span, crn_store_parent(store, piece, span)};
}

/* Adds the spans of the pieces from `first` to before `end`, which are those of a lane. Returns
 * false if they are not sorted by start. */
static bool add_in_order(cover *cover, uint32_t first, uint32_t end)
{
    crn_lane_walk_begin(&cover->lane);
    for (uint32_t p = first; p < end; p++) {
        const crn_span_piece *piece = &cover->store->pieces[p];
        for (uint32_t i = 0; i < piece->count; i++) {
            crn_lane_span span = lane_span(cover->store, piece, i);
            if (!add_span(cover, &span))
                return false;
        }
    }
    return true;
}

/* Does the same for spans in any order: sorts a copy. */
static void add_sorted(cover *cover, uint32_t first, uint32_t end)
{
    const crn_span_store *store = cover->store;
    uint32_t count = 0;
    for (uint32_t p = first; p < end; p++)
        count += store->pieces[p].count;
    crn_lane_span *spans = crn_calloc(count + (size_t)1, sizeof *spans), *to = spans;
    for (uint32_t p = first; p < end; p++)
        for (uint32_t i = 0; i < store->pieces[p].count; i++)
            *to++ = lane_span(store, &store->pieces[p], i);
    crn_lane_sort(spans, count);
    memset(store->covered + store->pieces[first].first, 0, count * sizeof *store->covered);
    crn_lane_walk_begin(&cover->lane);
    for (uint32_t i = 0; i < count; i++)
        add_span(cover, &spans[i]);
    crn_free(spans);
}

static void add_lanes(cover *cover)
{
    const crn_span_store *store = cover->store;
    for (uint32_t first = 0, end; first < store->piece_count; first = end) {
        uint32_t before = cover->coverings.count;
        for (end = first + 1; end < store->piece_count; end++)
            if (store->pieces[end].lane != store->pieces[first].lane)
                break;
        if (add_in_order(cover, first, end))
            continue;
        cover->coverings.count = before;
        add_sorted(cover, first, end);
    }
}

/* ---- children with moves ---- */

static void find_late(cover *cover)
{
    const crn_span_store *store = cover->store;
    if (!store->move_count)
        return;
    cover->late = crn_calloc(store->move_count, sizeof *cover->late);
    cover->is_late = crn_calloc(store->count / 8 + (size_t)1, 1);
    for (uint32_t m = 0; m < store->move_count; m++) {
        uint32_t parent = store->moves[m].parent;
        if (parent == CRN_SPAN_NONE || is_in(cover->is_late, parent))
            continue;
        add_to(cover->is_late, parent);
        cover->late[cover->late_count++].span = parent;
    }
    crn_order_by_span(cover->late, cover->late_count, sizeof *cover->late);
}

/* Adds the times of children with moves. One that begins before the end of another child makes its
 * parent slow. */
static void add_late(cover *cover)
{
    crn_span_store *store = cover->store;
    for (uint32_t m = 0; m < store->move_count; m++) {
        uint32_t parent = store->moves[m].parent;
        if (parent == CRN_SPAN_NONE || is_in(cover->slow, parent))
            continue;
        crn_period its = period_at(store, store->moves[m].span);
        late_parent *late = late_of(cover, parent);
        if (its.start < late->reach)
            make_slow(cover, parent);
        else
            store->covered[parent] += crn_cover(period_at(store, parent), its, &late->reach);
    }
}

/* ---- slow spans ---- */

/* Adds the children of slow spans to the pairs. */
static void add_slow_children(cover *cover)
{
    const crn_span_store *store = cover->store;
    for (uint32_t p = 0; p < store->piece_count; p++) {
        const crn_span_piece *piece = &store->pieces[p];
        for (uint32_t s = piece->first; s < piece->first + piece->count; s++) {
            uint32_t parent = crn_store_parent(store, piece, s);
            if (parent == CRN_SPAN_NONE || !is_in(cover->slow, parent))
                continue;
            uint64_t start = period_of(store, &piece->spans[s - piece->first]).start;
            crn_coverings_add(&cover->coverings, &(crn_covering){start, parent, s});
        }
    }
}

/* Computes the covered times of slow spans from all spans that cover them. */
static void merge_slow(cover *cover)
{
    crn_span_store *store = cover->store;
    add_slow_children(cover);
    crn_coverings_sort(&cover->coverings);
    uint64_t reach = 0;
    for (uint32_t i = 0; i < cover->coverings.count; i++) {
        const crn_covering *its = &cover->coverings.all[i];
        if (i == 0 || its->outer != its[-1].outer)
            reach = store->covered[its->outer] = 0;
        store->covered[its->outer] +=
            crn_cover(period_at(store, its->outer), period_at(store, its->inner), &reach);
    }
}

void crn_store_covered(crn_span_store *store)
{
    if (store->covered)
        return;
    store->covered = crn_store_array(store->count, sizeof *store->covered);
    cover cover = {.store = store, .slow = crn_calloc(store->count / 8 + (size_t)1, 1)};
    find_late(&cover);
    add_lanes(&cover);
    add_late(&cover);
    if (cover.any_slow)
        merge_slow(&cover);
    crn_free(cover.lane.nesting.open);
    crn_free(cover.reach);
    crn_free(cover.slow);
    crn_free(cover.is_late);
    crn_free(cover.late);
    crn_free(cover.coverings.all);
}
