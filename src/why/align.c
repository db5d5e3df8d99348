/* SPDX-License-Identifier: MIT */
#include "why/align.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"

enum { BOTH = 3 };

/* A context below a pair, or one whose function may have moved. */
typedef struct child {
    uint32_t block, context, caller;
    uint8_t side;
} child;

typedef struct aligning {
    const crn_why_contexts *contexts;
    const uint8_t *there; /* by block: as in crn_why_pairs_make */
    uint32_t *first_child, *next_sibling;
    crn_why_pairs pairs;
    uint32_t child_count, child_capacity;
    child *children; /* contexts below the current pair */
    uint32_t moved_count, moved_capacity;
    child *moved; /* contexts whose functions may have moved */
} aligning;

static void add_child(child **list, uint32_t *count, uint32_t *capacity, child item)
{
    if (*count == *capacity) {
        *capacity = *capacity ? *capacity * 2 : 256;
        *list = crn_realloc(*list, *capacity, sizeof **list);
    }
    (*list)[(*count)++] = item;
}

static uint32_t add_pair(crn_why_pairs *pairs, crn_why_pair pair)
{
    CRN_GROW(pairs->list, pairs->count, pairs->capacity);
    pairs->list[pairs->count] = pair;
    return pairs->count++;
}

static void add_member(crn_why_pairs *pairs, uint32_t context)
{
    CRN_GROW(pairs->members, pairs->member_count, pairs->member_capacity);
    pairs->members[pairs->member_count++] = context;
}

static int compare_children(const void *left, const void *right)
{
    const child *a = left, *b = right;
    return CRN_ORDER(a->block, b->block)
               ?: CRN_ORDER(a->side, b->side)
               ?: CRN_ORDER(a->context, b->context);
}

static void link_children(aligning *all)
{
    const crn_why_contexts *contexts = all->contexts;
    all->first_child = crn_calloc(contexts->count, sizeof(uint32_t));
    all->next_sibling = crn_calloc(contexts->count, sizeof(uint32_t));
    for (uint32_t c = contexts->count - 1; c > 0; c--) {
        all->next_sibling[c] = all->first_child[contexts->parent[c]];
        all->first_child[contexts->parent[c]] = c;
    }
}

/* Adds a pair whose members are the children from `first` to before `end`, all of one block. */
static void pair_children(aligning *all, const child *first, const child *end, crn_why_kind kind,
                          uint32_t parent, uint32_t caller, bool whole)
{
    crn_why_pair pair = {kind, parent, caller, first->block, end[-1].context, whole, {0}, {0}};
    for (int side = 0; side < CRN_SIDES; side++) {
        pair.first[side] = all->pairs.member_count;
        for (const child *at = first; at < end; at++)
            if (at->side == side)
                add_member(&all->pairs, at->context);
        pair.count[side] = all->pairs.member_count - pair.first[side];
    }
    add_pair(&all->pairs, pair);
}

/* Handles a context of one side only. If the other side has its function, the function may have
 * moved. Otherwise the function is new or gone, and functions below it may have moved. */
static void take_apart(aligning *all, const child *item)
{
    const crn_why_contexts *contexts = all->contexts;
    uint32_t at = item->context;
    if (all->there[item->block] == BOTH) {
        add_child(&all->moved, &all->moved_count, &all->moved_capacity, *item);
        return;
    }
    /* Walks in preorder without recursion, as paths may be long. */
    for (;;) {
        bool down = contexts->present[at];
        child here = {contexts->block[at], at, contexts->block[contexts->parent[at]], item->side};
        if (down && all->there[here.block] == BOTH) {
            add_child(&all->moved, &all->moved_count, &all->moved_capacity, here);
            down = false;
        } else if (down) {
            pair_children(all, &here, &here + 1,
                          here.side == CRN_AFTER ? CRN_WHY_NEW : CRN_WHY_GONE, CRN_WHY_NONE,
                          here.caller, false);
        }
        if (down && all->first_child[at]) {
            at = all->first_child[at];
            continue;
        }
        while (at != item->context && !all->next_sibling[at])
            at = contexts->parent[at];
        if (at == item->context)
            return;
        at = all->next_sibling[at];
    }
}

/* Collects the contexts below the members of both sides, sorted by block. */
static void collect_children(aligning *all, const crn_why_pair *pair)
{
    const crn_why_contexts *contexts = all->contexts;
    all->child_count = 0;
    for (int side = 0; side < CRN_SIDES; side++)
        for (uint32_t m = 0; m < pair->count[side]; m++)
            for (uint32_t c = all->first_child[all->pairs.members[pair->first[side] + m]]; c;
                 c = all->next_sibling[c])
                if (contexts->present[c] >> side & 1)
                    add_child(&all->children, &all->child_count, &all->child_capacity,
                              (child){contexts->block[c], c, pair->block, (uint8_t)side});
    if (all->child_count)
        qsort(all->children, all->child_count, sizeof *all->children, compare_children);
}

/* Aligns the contexts below a pair. `in_group`: the pair is below a moved function; contexts on one
 * side only are then not tried as moved again. */
static void align_below(aligning *all, uint32_t index, bool in_group)
{
    crn_why_pair pair = all->pairs.list[index];
    if (pair.whole || (pair.kind != CRN_WHY_COST && pair.kind != CRN_WHY_MOVED))
        return;
    collect_children(all, &pair);
    for (uint32_t i = 0, end; i < all->child_count; i = end) {
        const child *first = &all->children[i];
        for (end = i + 1; end < all->child_count && all->children[end].block == first->block; end++)
            ;
        const child *last = &all->children[end - 1];
        if (first->side != last->side)
            pair_children(all, first, last + 1, CRN_WHY_COST, index, pair.block, false);
        else if (in_group)
            pair_children(all, first, last + 1,
                          first->side == CRN_AFTER ? CRN_WHY_CALLER_NEW : CRN_WHY_CALLER_GONE,
                          CRN_WHY_NONE, pair.block, true);
        else
            for (const child *at = first; at <= last; at++)
                take_apart(all, at);
    }
}

static void align_from(aligning *all, uint32_t index, bool in_group)
{
    for (; index < all->pairs.count; index++)
        align_below(all, index, in_group);
}

/* Makes a pair of the groups of both sides. If only one side has a group, callers of the function
 * are new or gone: makes a pair for each of its contexts. */
static void align_moved(aligning *all)
{
    if (all->moved_count)
        qsort(all->moved, all->moved_count, sizeof *all->moved, compare_children);
    uint32_t begin = all->pairs.count;
    for (uint32_t i = 0, end; i < all->moved_count; i = end) {
        const child *first = &all->moved[i];
        for (end = i + 1; end < all->moved_count && all->moved[end].block == first->block; end++)
            ;
        if (first->side != all->moved[end - 1].side) {
            pair_children(all, first, &all->moved[end], CRN_WHY_MOVED, CRN_WHY_NONE,
                          all->moved[end - 1].caller, false);
            continue;
        }
        for (uint32_t m = i; m < end; m++)
            pair_children(all, &all->moved[m], &all->moved[m] + 1,
                          first->side == CRN_AFTER ? CRN_WHY_CALLER_NEW : CRN_WHY_CALLER_GONE,
                          CRN_WHY_NONE, all->moved[m].caller, true);
    }
    align_from(all, begin, true);
}

crn_why_pairs crn_why_pairs_make(const crn_why_contexts *contexts, const uint8_t *there)
{
    aligning all = {.contexts = contexts, .there = there};
    link_children(&all);
    const child roots[] = {{0, 0, CRN_WHY_NONE, CRN_BEFORE}, {0, 0, CRN_WHY_NONE, CRN_AFTER}};
    pair_children(&all, roots, roots + 2, CRN_WHY_COST, CRN_WHY_NONE, CRN_WHY_NONE, false);
    align_from(&all, 0, false);
    align_moved(&all);
    crn_free(all.first_child);
    crn_free(all.next_sibling);
    crn_free(all.children);
    crn_free(all.moved);
    return all.pairs;
}

void crn_why_pairs_free(crn_why_pairs *pairs)
{
    crn_free(pairs->list);
    crn_free(pairs->members);
    *pairs = (crn_why_pairs){0};
}
