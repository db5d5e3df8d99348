/* SPDX-License-Identifier: MIT */
#include "spans/span_figures.h"

#include <stdlib.h>
#include <string.h>

#include "base/cover.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"

uint32_t crn_span_block(const crn_spans *spans, uint32_t span)
{
    uint32_t block = spans->trace->spans[span].block;
    return block < spans->block_count ? block : 0;
}

uint64_t crn_span_self(const crn_spans *spans, uint32_t span)
{
    uint32_t covered = spans->covered[span];
    return crn_span_duration(spans, span) -
           (covered < CRN_COVERED_LONG ? covered : spans->covered_long[covered - CRN_COVERED_LONG]);
}

/* ---- children ---- */

typedef struct begin {
    uint64_t start;
    uint32_t span;
} begin;

static int compare_begins(const void *left, const void *right)
{
    const begin *a = left, *b = right;
    return CRN_ORDER(a->start, b->start) ?: CRN_ORDER(a->span, b->span);
}

/* Sorts a span's children by start. Only children on several lanes may be unsorted. */
static void order_children(crn_spans *spans, uint32_t *children, uint32_t count, begin **scratch)
{
    const crn_span *all = spans->trace->spans;
    uint32_t sorted = 1;
    while (sorted < count && all[children[sorted - 1]].start <= all[children[sorted]].start)
        sorted++;
    if (sorted >= count)
        return;
    begin *begins = *scratch = crn_realloc(*scratch, count, sizeof *begins);
    for (uint32_t i = 0; i < count; i++)
        begins[i] = (begin){all[children[i]].start, children[i]};
    qsort(begins, count, sizeof *begins, compare_begins);
    for (uint32_t i = 0; i < count; i++)
        children[i] = begins[i].span;
}

/* Packs the numbers of children. `first` is, by span and one more, the index of its first child. */
static void count_children(crn_spans *spans, const uint32_t *first)
{
    uint32_t count = spans->trace->span_count, room = 0;
    spans->child_counts = crn_calloc(count + (size_t)1, 1);
    spans->group_first =
        crn_calloc(count / CRN_CHILDREN_GROUP + (size_t)1, sizeof *spans->group_first);
    for (uint32_t s = 0; s < count; s++) {
        uint32_t children = first[s + 1] - first[s];
        if (s % CRN_CHILDREN_GROUP == 0)
            spans->group_first[s / CRN_CHILDREN_GROUP] = first[s];
        spans->child_counts[s] =
            children < CRN_CHILDREN_MANY ? (uint8_t)children : CRN_CHILDREN_MANY;
        if (children < CRN_CHILDREN_MANY)
            continue;
        CRN_GROW(spans->many, spans->many_count, room);
        spans->many[spans->many_count++] = (struct crn_children_many){s, children};
    }
}

static uint32_t count_many(const crn_spans *spans, uint32_t span)
{
    uint32_t low = CRN_BELOW(spans->many, spans->many_count, span, span);
    return spans->many[low].count;
}

static uint32_t count_of(const crn_spans *spans, uint32_t span)
{
    uint32_t count = spans->child_counts[span];
    return count < CRN_CHILDREN_MANY ? count : count_many(spans, span);
}

uint32_t crn_span_children(const crn_spans *spans, uint32_t span, const uint32_t **children)
{
    uint32_t count = count_of(spans, span);
    if (!children)
        return count;
    *children = NULL;
    if (!count)
        return 0;
    uint32_t first = spans->group_first[span / CRN_CHILDREN_GROUP];
    for (uint32_t s = span - span % CRN_CHILDREN_GROUP; s < span; s++)
        first += count_of(spans, s);
    *children = spans->children + first;
    return count;
}

static void find_children(crn_spans *spans)
{
    const crn_trace *trace = spans->trace;
    /* Counting sort by parent. The counts are at index parent + 2 of `first`; after summing,
     * first[parent + 1] is where the parent's next child goes. At the end first[parent] is the
     * index of the parent's first child. */
    uint32_t count = trace->span_count, *first = crn_calloc(count + (size_t)2, sizeof *first);
    begin *scratch = NULL;
    for (uint32_t s = 0; s < count; s++)
        if (trace->spans[s].parent != CRN_SPAN_NONE)
            first[trace->spans[s].parent + 2]++;
    for (uint32_t s = 0; s < count; s++)
        first[s + 2] += first[s + 1];
    spans->children = crn_calloc(first[count + 1] + (size_t)1, sizeof *spans->children);
    for (uint32_t s = 0; s < count; s++)
        if (trace->spans[s].parent != CRN_SPAN_NONE)
            spans->children[first[trace->spans[s].parent + 1]++] = s;
    for (uint32_t s = 0; s < count; s++)
        order_children(spans, spans->children + first[s], first[s + 1] - first[s], &scratch);
    count_children(spans, first);
    crn_free(first);
    crn_free(scratch);
}

/* ---- covering spans ---- */

/* Finds the spans that run inside another span if the trace is sorted by lane and start. Returns
 * false if it is not. */
static bool find_inner_in_order(crn_spans *spans)
{
    const crn_span *all = spans->trace->spans;
    crn_covering_walk walk = {.coverings = &spans->inner};
    bool good = true;
    for (uint32_t s = 0, lane = 0; good && s < spans->trace->span_count; s++) {
        if (all[s].lane != lane)
            crn_lane_walk_begin(&walk.lane);
        good = all[s].lane >= lane &&
               crn_covering_walk_add(&walk,
                                     (crn_lane_span){all[s].start, all[s].end, s, all[s].parent});
        lane = all[s].lane;
    }
    crn_free(walk.lane.nesting.open);
    return good;
}

static void add_sorted(crn_covering_walk *walk, crn_lane_span *spans, uint32_t count)
{
    crn_lane_sort(spans, count);
    crn_lane_walk_begin(&walk->lane);
    for (uint32_t i = 0; i < count; i++)
        crn_covering_walk_add(walk, spans[i]);
}

/* Does the same for any trace: groups the spans by lane and sorts them. */
static void find_inner_in_any_order(crn_spans *spans)
{
    const crn_span *all = spans->trace->spans;
    crn_covering_walk walk = {.coverings = &spans->inner};
    uint32_t count = spans->trace->span_count, lanes = 0;
    for (uint32_t s = 0; s < count; s++)
        lanes = all[s].lane >= lanes ? all[s].lane + 1u : lanes;
    uint32_t *first = crn_calloc(lanes + (size_t)2, sizeof *first);
    crn_lane_span *sorted = crn_calloc(count + (size_t)1, sizeof *sorted);
    for (uint32_t s = 0; s < count; s++)
        first[all[s].lane + 2]++;
    for (uint32_t lane = 0; lane < lanes; lane++)
        first[lane + 2] += first[lane + 1];
    for (uint32_t s = 0; s < count; s++)
        sorted[first[all[s].lane + 1]++] =
            (crn_lane_span){all[s].start, all[s].end, s, all[s].parent};
    for (uint32_t lane = 0; lane < lanes; lane++)
        add_sorted(&walk, sorted + first[lane], first[lane + 1] - first[lane]);
    crn_free(walk.lane.nesting.open);
    crn_free(first);
    crn_free(sorted);
}

static void find_inner(crn_spans *spans)
{
    if (!find_inner_in_order(spans)) {
        spans->inner.count = 0;
        find_inner_in_any_order(spans);
    }
    crn_coverings_sort(&spans->inner);
}

crn_cover_walk crn_span_covering(const crn_spans *spans, uint32_t span)
{
    crn_cover_walk walk = {.spans = spans};
    walk.child_count = crn_span_children(spans, span, &walk.children);
    if (!spans->inner.count) /* inner.all is NULL */
        return walk;
    uint32_t low = CRN_BELOW(spans->inner.all, spans->inner.count, outer, span);
    walk.inner = spans->inner.all + low;
    while (low + walk.inner_count < spans->inner.count &&
           walk.inner[walk.inner_count].outer == span)
        walk.inner_count++;
    return walk;
}

uint32_t crn_cover_walk_next(crn_cover_walk *walk)
{
    const crn_span *all = walk->spans->trace->spans;
    if (walk->inner_count &&
        (!walk->child_count || walk->inner->start < all[*walk->children].start)) {
        walk->inner_count--;
        return walk->inner++->inner;
    }
    if (!walk->child_count)
        return CRN_SPAN_NONE;
    walk->child_count--;
    return *walk->children++;
}

/* ---- gaps ---- */

/* Iterates over a span's gaps: the intervals of its self time. */
typedef struct gap_walk {
    const crn_spans *spans;
    crn_cover_walk covering;
    uint32_t span;
    uint32_t before;
    uint64_t at; /* ns, the latest end of the covering spans so far */
    bool over;
} gap_walk;

static gap_walk gaps_of(const crn_spans *spans, uint32_t span)
{
    gap_walk walk = {.spans = spans,
                     .covering = crn_span_covering(spans, span),
                     .span = span,
                     .before = CRN_SPAN_NONE,
                     .at = spans->trace->spans[span].start};
    return walk;
}

static bool next_gap(gap_walk *walk, crn_span_part *gap)
{
    const crn_span *all = walk->spans->trace->spans;
    uint64_t end = all[walk->span].end;
    while (!walk->over) {
        uint32_t child = crn_cover_walk_next(&walk->covering);
        bool inside = child != CRN_SPAN_NONE && all[child].start < end;
        uint64_t upto = inside ? all[child].start : end, from = walk->at;
        *gap = (crn_span_part){.start = from,
                               .span = walk->span,
                               .before = walk->before,
                               .after = inside ? child : CRN_SPAN_NONE};
        walk->over = !inside;
        if (inside && all[child].end > walk->at) {
            walk->at = all[child].end < end ? all[child].end : end;
            walk->before = child;
        }
        if (upto > from) {
            gap->length = upto - from;
            return true;
        }
    }
    return false;
}

/* ---- construction ---- */

static uint64_t covered_of(const crn_spans *spans, uint32_t span)
{
    const crn_span *all = spans->trace->spans;
    crn_cover_walk walk = crn_span_covering(spans, span);
    crn_period whole = {all[span].start, all[span].end};
    uint64_t covered = 0, reach = 0;
    for (uint32_t s; (s = crn_cover_walk_next(&walk)) != CRN_SPAN_NONE;)
        covered += crn_cover(whole, (crn_period){all[s].start, all[s].end}, &reach);
    return covered;
}

/* Computes the covered times. Stores them in 31 bits, and the few longer ones in covered_long. */
static void find_covered(crn_spans *spans)
{
    uint32_t count = spans->trace->span_count, long_count = 0, room = 0;
    spans->covered = crn_calloc(count + (size_t)1, sizeof *spans->covered);
    for (uint32_t s = 0; s < count; s++) {
        if (!spans->child_counts[s] && !spans->inner.count)
            continue;
        uint64_t covered = covered_of(spans, s);
        spans->covered[s] = (uint32_t)covered;
        if (covered < CRN_COVERED_LONG)
            continue;
        if (long_count == room) {
            room = room ? room + room / 2 : 1024;
            spans->covered_long =
                crn_realloc(spans->covered_long, room, sizeof *spans->covered_long);
        }
        spans->covered_long[long_count] = covered;
        spans->covered[s] = CRN_COVERED_LONG + long_count++;
    }
}

crn_spans *crn_spans_make(const crn_trace *trace, uint32_t block_count)
{
    crn_spans *spans = crn_calloc(1, sizeof *spans);
    spans->trace = trace;
    spans->block_count = block_count;
    find_children(spans);
    find_inner(spans);
    find_covered(spans);
    return spans;
}

void crn_spans_free(crn_spans *spans)
{
    if (!spans)
        return;
    crn_free(spans->children);
    crn_free(spans->child_counts);
    crn_free(spans->group_first);
    crn_free(spans->many);
    crn_free(spans->inner.all);
    crn_free(spans->covered);
    crn_free(spans->covered_long);
    crn_free(spans);
}

/* ---- the slowest spans, the largest gaps ---- */

/* Returns true if `left` comes after `right` in the order of parts: longest first, then by span and
 * start. */
static bool is_shorter(const crn_span_part *left, const crn_span_part *right)
{
    if (left->length != right->length)
        return left->length < right->length;
    if (left->span != right->span)
        return left->span > right->span;
    return left->start > right->start;
}

static void swap_parts(crn_span_part *left, crn_span_part *right)
{
    crn_span_part kept = *left;
    *left = *right;
    *right = kept;
}

static void sift_up(crn_span_part *heap, uint32_t at)
{
    while (at && is_shorter(&heap[at], &heap[(at - 1) / 2])) {
        swap_parts(&heap[at], &heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sift_down(crn_span_part *heap, uint32_t count)
{
    uint64_t at = 0;
    for (;;) {
        uint64_t least = at;
        for (uint64_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (is_shorter(&heap[child], &heap[least]))
                least = child;
        if (least == at)
            return;
        swap_parts(&heap[at], &heap[least]);
        at = least;
    }
}

/* A heap of the longest parts so far, the shortest on top. */
typedef struct longest {
    crn_span_parts found;
    uint32_t room, most;
} longest;

static void offer(longest *longest, const crn_span_part *part)
{
    crn_span_parts *found = &longest->found;
    if (found->count == longest->most) {
        if (longest->most && is_shorter(&found->parts[0], part)) {
            found->parts[0] = *part;
            sift_down(found->parts, found->count);
        }
        return;
    }
    CRN_GROW(found->parts, found->count, longest->room);
    found->parts[found->count] = *part;
    sift_up(found->parts, found->count++);
}

static int compare_parts(const void *left, const void *right)
{
    return is_shorter(left, right) ? 1 : is_shorter(right, left) ? -1 : 0;
}

static crn_span_parts in_order(longest *longest)
{
    if (longest->found.count)
        qsort(longest->found.parts, longest->found.count, sizeof *longest->found.parts,
              compare_parts);
    return longest->found;
}

crn_span_parts crn_spans_slowest(const crn_spans *spans, const uint8_t *kept, uint32_t most)
{
    longest slowest = {.most = most};
    for (uint32_t s = 0; s < spans->trace->span_count; s++) {
        if (!crn_span_is_chosen(spans, s) || (kept && !kept[crn_span_block(spans, s)]))
            continue;
        crn_span_part part = {.length = crn_span_duration(spans, s),
                              .start = spans->trace->spans[s].start,
                              .span = s,
                              .before = CRN_SPAN_NONE,
                              .after = CRN_SPAN_NONE};
        offer(&slowest, &part);
    }
    return in_order(&slowest);
}

void crn_span_parts_free(crn_span_parts *parts)
{
    crn_free(parts->parts);
    *parts = (crn_span_parts){0};
}

/* ---- missing time ---- */

static int compare_missing(const void *left, const void *right)
{
    const crn_missing_row *a = left, *b = right;
    return CRN_ORDER(b->missing, a->missing) ?: CRN_ORDER(a->block, b->block);
}

/* Removes the rows of blocks without spans and sorts the rest. */
static void pack_missing(crn_missing *missing, uint32_t block_count)
{
    for (uint32_t b = 0; b < block_count; b++)
        if (missing->rows[b].count)
            missing->rows[missing->count++] = missing->rows[b];
    if (missing->count)
        qsort(missing->rows, missing->count, sizeof *missing->rows, compare_missing);
}

crn_missing crn_missing_make(const crn_spans *spans, const uint8_t *kept, uint32_t most)
{
    crn_missing missing = {0};
    longest gaps = {.most = most};
    uint32_t blocks = spans->block_count ? spans->block_count : 1;
    missing.rows = crn_calloc(blocks, sizeof *missing.rows);
    for (uint32_t s = 0; s < spans->trace->span_count; s++) {
        uint32_t block = crn_span_block(spans, s);
        bool root = spans->trace->spans[s].parent == CRN_SPAN_NONE;
        bool wanted = kept ? kept[block] : spans->chosen || root;
        if (!wanted || !crn_span_is_chosen(spans, s))
            continue;
        crn_missing_row *row = &missing.rows[block];
        row->block = block;
        row->count++;
        row->total += crn_span_duration(spans, s);
        row->missing += crn_span_self(spans, s);
        missing.total += crn_span_duration(spans, s);
        missing.missing += crn_span_self(spans, s);
        gap_walk walk = gaps_of(spans, s);
        crn_span_part gap;
        for (; next_gap(&walk, &gap); missing.gap_count++)
            offer(&gaps, &gap);
    }
    pack_missing(&missing, blocks);
    missing.gaps = in_order(&gaps);
    return missing;
}

void crn_missing_free(crn_missing *missing)
{
    crn_free(missing->rows);
    crn_span_parts_free(&missing->gaps);
    *missing = (crn_missing){0};
}

double crn_missing_share(uint64_t missing, uint64_t total)
{
    return total ? (double)missing / (double)total : 0;
}
