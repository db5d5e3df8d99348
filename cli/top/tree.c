/* SPDX-License-Identifier: MIT
 *
 * The tree of contexts. Contexts with small shares are closed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "profile/profile.h"
#include "top.h"

/* A context opens automatically at one share and closes at a lower one, so that it does not
 * flicker. Below contexts that the user did not open, children below SHARE_LEAST are hidden. */
#define SHARE_OPEN 0.05
#define SHARE_CLOSE 0.02
#define SHARE_LEAST 0.003
enum { ROWS_MOST = 20000, LEVELS = 62 };

/* ---- open contexts ---- */

static int compare_folds(const void *left, const void *right)
{
    const crn_top_fold *a = left, *b = right;
    return CRN_ORDER(a->identity, b->identity);
}

const crn_top_fold *crn_top_fold_get(const crn_top_choice *choice, uint64_t identity)
{
    crn_top_fold key = {.identity = identity};
    return choice->fold_count ? bsearch(&key, choice->folds, choice->fold_count,
                                        sizeof *choice->folds, compare_folds)
                              : NULL;
}

void crn_top_fold_set(crn_top_choice *choice, uint64_t identity, bool open, bool chosen)
{
    crn_top_fold *fold = (crn_top_fold *)crn_top_fold_get(choice, identity);
    if (!fold) {
        choice->folds =
            crn_realloc(choice->folds, (size_t)choice->fold_count + 1, sizeof *choice->folds);
        uint32_t at = choice->fold_count++;
        for (; at && choice->folds[at - 1].identity > identity; at--)
            choice->folds[at] = choice->folds[at - 1];
        fold = &choice->folds[at];
    }
    *fold = (crn_top_fold){identity, open, chosen};
}

/* Replaces the automatically opened contexts by those of this snapshot; keeps the user's. */
static void replace_folds(crn_top_choice *choice, crn_top_fold *opened, uint32_t count)
{
    for (uint32_t i = 0; i < choice->fold_count; i++) {
        if (!choice->folds[i].chosen)
            continue;
        opened = crn_realloc(opened, (size_t)count + 1, sizeof *opened);
        opened[count++] = choice->folds[i];
    }
    if (count)
        qsort(opened, count, sizeof *opened, compare_folds);
    crn_free(choice->folds);
    choice->folds = opened;
    choice->fold_count = count;
}

/* ---- layout ---- */

typedef struct child {
    uint64_t order;
    uint32_t context;
} child;

typedef struct level { /* an open context and its shown children */
    child *children;
    uint32_t count, next;
    uint64_t identity, bars;
    uint32_t depth; /* drawn levels above it */
} level;

typedef struct layout {
    crn_top_rows *rows;
    crn_top_choice *choice;
    const crn_profile *profile, *whole;
    uint64_t *totals, *whole_totals, *calls, *cycles;
    uint32_t *first, *sibling; /* by context; 0: none, as the root is nobody's child */
    uint8_t *matching;         /* by context: 1 if it or one below matches; NULL: all */
    bool upside_down;
    level *levels;
    uint32_t height, capacity;
    crn_top_fold *opened;
    uint32_t opened_count;
} layout;

static const crn_block_info *block_of(const layout *layout, uint32_t context)
{
    return &layout->profile->blocks[layout->profile->block[context]];
}

static void find_children(layout *layout)
{
    const crn_profile *profile = layout->profile;
    layout->first = crn_calloc(profile->context_count, sizeof *layout->first);
    layout->sibling = crn_calloc(profile->context_count, sizeof *layout->sibling);
    for (uint32_t c = profile->context_count; c-- > 1;) {
        layout->sibling[c] = layout->first[profile->parent[c]];
        layout->first[profile->parent[c]] = c;
    }
}

static void find_matching(layout *layout)
{
    const crn_profile *profile = layout->profile;
    if (!*layout->choice->filter)
        return;
    uint8_t *blocks = crn_calloc(profile->block_count, 1);
    for (uint32_t b = 0; b < profile->block_count; b++)
        blocks[b] = crn_top_matches(layout->choice, &profile->blocks[b]);
    layout->matching = crn_calloc(profile->context_count, 1);
    for (uint32_t c = profile->context_count; c-- > 1;) {
        layout->matching[c] |= blocks[profile->block[c]];
        layout->matching[profile->parent[c]] |= layout->matching[c];
    }
    crn_free(blocks);
}

static int compare_children(const void *left, const void *right)
{
    const child *a = left, *b = right;
    return CRN_ORDER(b->order, a->order) ?: CRN_ORDER(a->context, b->context);
}

/* Returns the sort key of siblings. For rates it is a rounded percentage: siblings with equal keys
 * have the order of their context numbers, so that branches seldom change places. */
static uint64_t order_of(const layout *layout, uint32_t context)
{
    uint64_t total = layout->totals[context], whole = layout->totals[0];
    if (!layout->rows->seconds || !whole)
        return total ? total : layout->calls[context];
    return (uint64_t)(100 * (double)total / (double)whole + 0.5);
}

static bool is_shown(const layout *layout, uint32_t context, bool all)
{
    if (layout->matching)
        return layout->matching[context];
    uint64_t most = layout->totals[0];
    if (all)
        return true;
    return layout->totals[context] && (double)layout->totals[context] >= SHARE_LEAST * (double)most;
}

static void open_level(layout *layout, uint32_t context, uint64_t identity, uint64_t bars,
                       uint32_t depth, bool all)
{
    CRN_GROW(layout->levels, layout->height, layout->capacity);
    level *level = &layout->levels[layout->height++];
    *level = (struct level){.identity = identity, .bars = bars, .depth = depth};
    uint32_t count = 0;
    for (uint32_t c = layout->first[context]; c; c = layout->sibling[c])
        count += is_shown(layout, c, all);
    level->children = crn_calloc(count, sizeof *level->children);
    for (uint32_t c = layout->first[context]; c; c = layout->sibling[c]) {
        if (is_shown(layout, c, all))
            level->children[level->count++] = (child){order_of(layout, c), c};
        else
            layout->rows->small++;
    }
    if (level->count)
        qsort(level->children, level->count, sizeof *level->children, compare_children);
}

static bool is_open(layout *layout, uint32_t context, uint64_t identity, bool *chosen)
{
    const crn_top_fold *fold = crn_top_fold_get(layout->choice, identity);
    *chosen = fold && fold->chosen;
    if (!layout->first[context])
        return false;
    if (*chosen)
        return fold->open;
    double share =
        layout->totals[0] ? (double)layout->totals[context] / (double)layout->totals[0] : 0;
    bool open = layout->matching || share >= (fold && fold->open ? SHARE_CLOSE : SHARE_OPEN);
    if (open && !layout->matching) {
        uint32_t count = layout->opened_count++;
        if (!(count & (count - 1)))
            layout->opened =
                crn_realloc(layout->opened, count ? (size_t)count * 2 : 1, sizeof *layout->opened);
        layout->opened[count] = (crn_top_fold){identity, true, false};
    }
    return open;
}

static void add_row(layout *layout, level *level)
{
    uint32_t context = level->children[level->next++].context;
    crn_top_row *row = crn_top_rows_add(layout->rows);
    row->block = block_of(layout, context);
    row->identity = crn_top_identity(level->identity, row->block);
    row->inclusive = layout->totals[context];
    row->calls = layout->calls[context];
    row->cycles = layout->cycles[context];
    if (!layout->upside_down)
        row->self = crn_self(layout->profile, layout->rows->metric, context);
    if (layout->whole) {
        row->inclusive_total = layout->whole_totals[context];
        row->self_total = crn_self(layout->whole, layout->rows->metric, context);
        row->calls_total = crn_self(layout->whole, CRN_METRIC_CALLS, context);
    }
    row->last = level->next == level->count;
    row->only = level->count == 1;
    row->bars = level->bars;
    row->level = level->depth + !row->only;
    row->leaf = !layout->first[context];
    bool chosen;
    row->open = is_open(layout, context, row->identity, &chosen);
    if (!row->open)
        return;
    uint64_t bars = level->bars;
    if (!row->only && row->level <= LEVELS)
        bars = row->last ? bars & ~((uint64_t)1 << row->level) : bars | (uint64_t)1 << row->level;
    open_level(layout, context, row->identity, bars, row->level, chosen);
}

static void lay_out(layout *layout)
{
    uint32_t most = layout->choice->most ? layout->choice->most : ROWS_MOST;
    open_level(layout, 0, 0, 0, 0, false);
    while (layout->height) {
        level *level = &layout->levels[layout->height - 1];
        if (level->next == level->count) {
            crn_free(level->children);
            layout->height--;
        } else if (layout->rows->count < most) {
            add_row(layout, level);
        } else {
            layout->rows->hidden += level->count - level->next;
            level->next = level->count;
        }
    }
}

void crn_top_tree_rows(crn_top_rows *rows, const crn_profile *shown, const crn_profile *totals,
                       crn_top_choice *choice, bool upside_down)
{
    layout layout = {.rows = rows,
                     .choice = choice,
                     .profile = shown,
                     .whole = totals,
                     .upside_down = upside_down};
    layout.totals = crn_totals(shown, rows->metric, NULL);
    layout.whole_totals = totals ? crn_totals(totals, rows->metric, NULL) : NULL;
    layout.cycles = crn_cycle_calls(shown);
    if (upside_down) {
        layout.calls = crn_totals(shown, CRN_METRIC_CALLS, NULL);
    } else {
        layout.calls = crn_calloc(shown->context_count, sizeof *layout.calls);
        for (uint32_t c = 0; c < shown->context_count; c++)
            layout.calls[c] = crn_self(shown, CRN_METRIC_CALLS, c);
    }
    find_children(&layout);
    find_matching(&layout);
    lay_out(&layout);
    replace_folds(choice, layout.opened, layout.opened_count);
    crn_free(layout.levels);
    crn_free(layout.totals);
    crn_free(layout.whole_totals);
    crn_free(layout.calls);
    crn_free(layout.cycles);
    crn_free(layout.first);
    crn_free(layout.sibling);
    crn_free(layout.matching);
}
