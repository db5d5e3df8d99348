/* SPDX-License-Identifier: MIT */
#include "profile/tree.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "profile/figures.h"

typedef struct candidate {
    uint64_t total;
    uint32_t context;
    uint32_t parent;  /* its context, or that of the chain's first row */
    uint32_t between; /* contexts between the two */
} candidate;

static int compare_contexts(const candidate *a, const candidate *b)
{
    return CRN_ORDER(a->context, b->context);
}

/* Sorts by total, then by number, so that parents precede their descendants. */
static int compare_totals(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    return CRN_ORDER(b->total, a->total) ?: compare_contexts(a, b);
}

static int compare_siblings(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    return CRN_ORDER(a->parent, b->parent) ?: compare_totals(left, right);
}

/* Returns, by context, 1 if the context or a descendant is kept. */
static uint8_t *reach_of(const crn_profile *profile, const uint8_t *kept)
{
    uint8_t *reach = crn_calloc(profile->context_count, sizeof *reach);
    for (uint32_t c = profile->context_count - 1; c > 0; c--) {
        reach[c] |= kept[c];
        reach[profile->parent[c]] |= reach[c];
    }
    return reach;
}

/* ---- chains ---- */

static bool has_own_cost(const crn_profile *profile, const crn_tree_options *options,
                         uint32_t context)
{
    return (!options->kept || options->kept[context]) &&
           crn_self(profile, options->metric, context) > 0;
}

/* Returns, by context, the number of its place among those between the ends of a chain; 0 for all
 * others. `chosen` is sorted by context. */
static uint32_t *number_chains(const crn_profile *profile, const crn_tree_options *options,
                               const candidate *chosen, uint32_t count)
{
    uint32_t *number = crn_calloc(profile->context_count, sizeof *number);
    uint32_t *children = crn_calloc(profile->context_count, sizeof *children);
    for (uint32_t i = 0; i < count; i++)
        children[chosen[i].parent]++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t c = chosen[i].context, parent = chosen[i].parent;
        bool between = parent && children[parent] == 1 && children[c] == 1 &&
                       !has_own_cost(profile, options, parent) &&
                       !has_own_cost(profile, options, c) &&
                       (!options->calls || options->calls[c] == options->calls[parent]) &&
                       !(options->cycles && options->cycles[c]);
        number[c] = between ? number[parent] + 1 : 0;
    }
    crn_free(children);
    return number;
}

/* Takes out those between the ends of long chains; each last one is then the first one's child. */
static void shorten_chains(const crn_profile *profile, const crn_tree_options *options,
                           candidate *chosen, uint32_t *count)
{
    uint32_t *number = number_chains(profile, options, chosen, *count);
    uint8_t *out = crn_calloc(profile->context_count, sizeof *out);
    for (uint32_t i = 0; i < *count; i++) {
        candidate *last = &chosen[i];
        uint32_t between = number[last->context] ? 0 : number[last->parent];
        if (between < options->chain)
            continue;
        last->between = between;
        for (; between; between--) {
            out[last->parent] = 1;
            last->parent = profile->parent[last->parent];
        }
    }
    uint32_t left = 0;
    for (uint32_t i = 0; i < *count; i++)
        if (!out[chosen[i].context])
            chosen[left++] = chosen[i];
    *count = left;
    crn_free(out);
    crn_free(number);
}

/* ---- rows ---- */

/* Chooses the contexts to show, without the root, grouped by parent. */
static candidate *choose(crn_tree *tree, const crn_profile *profile,
                         const crn_tree_options *options, uint32_t *count)
{
    double least = options->threshold * (double)tree->totals[0];
    uint8_t *reach = options->kept ? reach_of(profile, options->kept) : NULL;
    candidate *chosen = NULL;
    uint32_t capacity = 0, possible = 0;
    *count = 0;
    for (uint32_t c = 1; c < profile->context_count; c++) {
        if (reach && !reach[c])
            continue;
        possible++;
        if ((double)tree->totals[c] < least)
            continue;
        CRN_GROW(chosen, *count, capacity);
        chosen[(*count)++] = (candidate){tree->totals[c], c, profile->parent[c], 0};
    }
    crn_free(reach);
    if (options->chain)
        shorten_chains(profile, options, chosen, count);
    if (options->top && *count > options->top - 1) {
        tree->cut = true;
        qsort(chosen, *count, sizeof *chosen, compare_totals);
        *count = options->top - 1;
    }
    if (*count)
        qsort(chosen, *count, sizeof *chosen, compare_siblings);
    tree->hidden = possible - *count;
    return chosen;
}

/* Writes the rows depth first. `first`, by context: 1 + the index of its first chosen child; 0: no
 * child. */
static void lay_out(crn_tree *tree, const candidate *chosen, uint32_t count, const uint32_t *first)
{
    /* By depth: the next sibling to write. */
    uint32_t *pending = crn_calloc((size_t)count + 1, sizeof *pending), *levels;
    levels = crn_calloc((size_t)count + 1, sizeof *levels);
    uint32_t height = 0;
    tree->rows[tree->count++] = (crn_tree_row){.last = true, .only = true};
    if (first[0])
        pending[height++] = first[0] - 1;
    while (height) {
        uint32_t at = pending[height - 1];
        const candidate *here = &chosen[at];
        bool is_first = first[here->parent] - 1 == at;
        bool last = at + 1 == count || chosen[at + 1].parent != here->parent;
        bool only = is_first && last;
        uint32_t above = height > 1 ? levels[height - 2] : 0;
        crn_tree_row *row = &tree->rows[tree->count++];
        *row = (crn_tree_row){here->context, above + !only, last, only, here->between};
        tree->between += here->between;
        if (tree->levels <= row->level)
            tree->levels = row->level + 1;
        levels[height - 1] = row->level;
        if (last)
            pending[height - 1] = UINT32_MAX;
        else
            pending[height - 1]++;
        if (first[here->context])
            pending[height++] = first[here->context] - 1;
        else
            while (height && pending[height - 1] == UINT32_MAX)
                height--;
    }
    crn_free(pending);
    crn_free(levels);
}

crn_tree crn_tree_make(const crn_profile *profile, const crn_tree_options *options)
{
    crn_tree tree = {.totals = crn_totals(profile, options->metric, options->kept), .levels = 1};
    uint32_t count;
    candidate *chosen = choose(&tree, profile, options, &count);
    uint32_t *first = crn_calloc(profile->context_count, sizeof *first);
    for (uint32_t i = count; i-- > 0;)
        first[chosen[i].parent] = i + 1;
    tree.rows = crn_calloc((size_t)count + 1, sizeof *tree.rows);
    lay_out(&tree, chosen, count, first);
    tree.hidden -= tree.between;
    for (uint32_t i = 0; i < tree.count; i++)
        if (!options->kept || options->kept[tree.rows[i].context])
            tree.shown += crn_self(profile, options->metric, tree.rows[i].context);
    crn_free(first);
    crn_free(chosen);
    return tree;
}

void crn_tree_free(crn_tree *tree)
{
    crn_free(tree->rows);
    crn_free(tree->totals);
    *tree = (crn_tree){0};
}
