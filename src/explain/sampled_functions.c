/* SPDX-License-Identifier: MIT */
#include "explain/sampled_functions.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "explain/bits.h"
#include "spans/spans.h"

enum { SIGMAS = 2 /* standard errors that a difference must exceed */ };

#define LEAST_SHARE 0.02 /* share of the largest difference; smaller ones are left out */

typedef struct sums {
    double slow, typical;                 /* ns */
    double slow_squares, typical_squares; /* ns² */
} sums;

/* Sums by path. */
typedef struct tree {
    const crn_samples *samples;
    size_t block_count;
    double slow_count, typical_count; /* spans */
    sums *paths;                      /* by path; with all callees */
    uint32_t *first, *next; /* by path: its first callee; its caller's next callee; 0: the last */
    bool *kept;
} tree;

static double extra_of(const tree *tree, uint32_t path)
{
    return tree->paths[path].slow / tree->slow_count -
           tree->paths[path].typical / tree->typical_count;
}

/* Returns the standard error of extra_of. Each sample of w ns adds w² to the variance of a sum. */
static double error_of(const tree *tree, uint32_t path)
{
    const sums *its = &tree->paths[path];
    return sqrt(its->slow_squares / (tree->slow_count * tree->slow_count) +
                its->typical_squares / (tree->typical_count * tree->typical_count));
}

/* ---- sums ---- */

/* Returns the innermost of a span and its ancestors that is in a set; CRN_SPAN_NONE if none is. */
static uint32_t compared_span(const crn_trace *trace, uint32_t span, const uint64_t *slow,
                              const uint64_t *typical)
{
    while (span != CRN_SPAN_NONE && !crn_bits_has(slow, span) && !crn_bits_has(typical, span))
        span = trace->spans[span].parent;
    return span;
}

static void add_samples(tree *tree, const crn_trace *trace, const uint64_t *slow,
                        const uint64_t *typical, crn_sampled_functions *functions)
{
    uint32_t *spans = crn_samples_spans(trace);
    for (uint32_t s = 0; s < trace->samples.count; s++) {
        const crn_sample *sample = &trace->samples.list[s];
        uint32_t span = compared_span(trace, spans[s], slow, typical);
        sums *sums = &tree->paths[sample->path];
        double cpu = sample->cpu;
        if (span == CRN_SPAN_NONE)
            continue;
        if (crn_bits_has(slow, span)) {
            sums->slow += cpu;
            sums->slow_squares += cpu * cpu;
            functions->slow_samples++;
        } else {
            sums->typical += cpu;
            sums->typical_squares += cpu * cpu;
            functions->typical_samples++;
        }
    }
    crn_free(spans);
}

/* Adds each path's sums to its caller's. Callers have smaller numbers. */
static void add_callees(tree *tree)
{
    for (uint32_t p = tree->samples->path_count; p-- > 1;) {
        sums *caller = &tree->paths[tree->samples->paths[p].caller];
        const sums *its = &tree->paths[p];
        caller->slow += its->slow;
        caller->typical += its->typical;
        caller->slow_squares += its->slow_squares;
        caller->typical_squares += its->typical_squares;
    }
}

/* ---- choosing ---- */

static void keep(tree *tree)
{
    double most = 0;
    for (uint32_t p = 0; p < tree->samples->path_count; p++)
        most = fmax(most, fabs(extra_of(tree, p)));
    for (uint32_t p = tree->samples->path_count; p-- > 1;) {
        double extra = fabs(extra_of(tree, p));
        tree->kept[p] |= extra >= most * LEAST_SHARE && extra > SIGMAS * error_of(tree, p);
        if (tree->kept[p])
            tree->kept[tree->samples->paths[p].caller] = true;
    }
}

typedef struct kept_path {
    double extra;
    uint32_t path;
} kept_path;

static int compare_extras(const void *left, const void *right)
{
    const kept_path *a = left, *b = right;
    return CRN_ORDER(a->extra, b->extra) ?: CRN_ORDER(b->path, a->path);
}

/* Links the kept callees of each path, the largest difference first. */
static void link_callees(tree *tree)
{
    uint32_t count = 0;
    kept_path *all = crn_calloc(tree->samples->path_count, sizeof *all);
    for (uint32_t p = 1; p < tree->samples->path_count; p++)
        if (tree->kept[p])
            all[count++] = (kept_path){extra_of(tree, p), p};
    qsort(all, count, sizeof *all, compare_extras);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t path = all[i].path, *first = &tree->first[tree->samples->paths[path].caller];
        tree->next[path] = *first;
        *first = path;
    }
    crn_free(all);
}

/* Returns the longest path that all compared samples share and that has kept callees. */
static uint32_t common_path(const tree *tree)
{
    uint32_t path = CRN_PATH_NONE;
    for (uint32_t callee; (callee = tree->first[path]) && tree->first[callee]; path = callee)
        if (tree->next[callee] || tree->paths[callee].slow < tree->paths[path].slow ||
            tree->paths[callee].typical < tree->paths[path].typical)
            break;
    return path;
}

/* Lists the kept paths below `above`. */
static void list(const tree *tree, uint32_t above, crn_sampled_functions *functions)
{
    uint32_t path = tree->first[above], depth = 0;
    functions->list = crn_calloc(tree->samples->path_count, sizeof *functions->list);
    while (path) {
        const sums *its = &tree->paths[path];
        uint32_t block = tree->samples->paths[path].block;
        functions->list[functions->count++] = (crn_sampled_function){
            .block = block < tree->block_count ? block : 0, /* live captures may have more */
            .depth = depth,
            .only = tree->first[tree->samples->paths[path].caller] == path && !tree->next[path],
            .slow = its->slow / tree->slow_count,
            .typical = its->typical / tree->typical_count,
            .error = error_of(tree, path)};
        if (tree->first[path]) {
            path = tree->first[path];
            depth++;
            continue;
        }
        while (path != above && !tree->next[path]) {
            path = tree->samples->paths[path].caller;
            depth--;
        }
        path = path == above ? 0 : tree->next[path];
    }
}

/* ---- entry ---- */

crn_sampled_functions crn_sampled_functions_make(const crn_spans *spans, const uint64_t *slow,
                                                 uint32_t slow_count, const uint64_t *typical,
                                                 uint32_t typical_count)
{
    const crn_trace *trace = spans->trace;
    crn_sampled_functions functions = {0};
    uint32_t paths = trace->samples.path_count;
    if (!trace->samples.count || !slow_count || !typical_count)
        return functions;
    tree tree = {.samples = &trace->samples,
                 .block_count = spans->block_count,
                 .slow_count = slow_count,
                 .typical_count = typical_count,
                 .paths = crn_calloc(paths, sizeof *tree.paths),
                 .first = crn_calloc(paths, sizeof *tree.first),
                 .next = crn_calloc(paths, sizeof *tree.next),
                 .kept = crn_calloc(paths, sizeof *tree.kept)};
    add_samples(&tree, trace, slow, typical, &functions);
    add_callees(&tree);
    functions.slow = tree.paths[CRN_PATH_NONE].slow / slow_count;
    functions.typical = tree.paths[CRN_PATH_NONE].typical / typical_count;
    functions.error = error_of(&tree, CRN_PATH_NONE);
    keep(&tree);
    link_callees(&tree);
    list(&tree, common_path(&tree), &functions);
    crn_free(tree.paths);
    crn_free(tree.first);
    crn_free(tree.next);
    crn_free(tree.kept);
    return functions;
}

void crn_sampled_functions_free(crn_sampled_functions *functions)
{
    crn_free(functions->list);
    *functions = (crn_sampled_functions){0};
}
