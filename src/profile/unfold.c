/* SPDX-License-Identifier: MIT */
#include "profile/unfold.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "profile/figures.h"
#include "profile/metric.h"

enum { PATHS_MOST = 100000 };
#define CUT_BELOW 1e-6 /* share of the total */

typedef enum visit_state { NEW, OPEN, DONE } visit_state;

typedef struct call {
    uint32_t from, to; /* functions, by block; `from` 0: the root */
    uint64_t count;
    bool closes_cycle;
} call;

typedef struct function {
    uint64_t self, calls; /* calls: with those that close a cycle */
    double followed;      /* calls that close no cycle */
    double inclusive;     /* estimated */
    uint64_t self_left, calls_left;
    uint32_t first, end; /* its calls of others, in `calls` */
    uint32_t parent;     /* the parent of its context with the largest share */
    double largest_share;
    visit_state state;
} function;

/* A path whose callees are still to be added. */
typedef struct path {
    uint32_t block, context;
    double share; /* of the function's calls */
} path;

typedef struct unfolding {
    const crn_profile *profile;
    uint32_t metric, own;
    crn_profile_builder *builder;
    uint32_t *blocks; /* by block: the builder's block */
    function *functions;
    uint32_t call_count;
    call *calls;
    uint32_t *order; /* functions, callees first */
    uint32_t order_count;
    double total;
    path *paths;
    uint32_t path_count;
} unfolding;

static int compare_calls(const void *left, const void *right)
{
    const call *a = left, *b = right;
    return CRN_ORDER(a->from, b->from) ?: CRN_ORDER(a->to, b->to);
}

static void add_call(unfolding *all, uint32_t from, uint32_t to, uint64_t count)
{
    if (!count)
        return;
    all->calls[all->call_count++] = (call){from, to, count, from == to};
    all->functions[to].calls += count;
}

/* Lists the calls of the call graph, whose tree has functions below the root and their callees
 * below the functions. */
static void take_calls(unfolding *all)
{
    const crn_profile *profile = all->profile;
    size_t most = (size_t)profile->context_count + profile->edge_count;
    all->calls = crn_calloc(most ? most : 1, sizeof *all->calls);
    for (uint32_t c = 1; c < profile->context_count; c++)
        add_call(all, profile->block[profile->parent[c]], profile->block[c],
                 profile->calls_tree[c]);
    for (uint32_t e = 0; e < profile->edge_count; e++)
        add_call(all, profile->block[profile->edges[e].from],
                 profile->block[profile->edges[e].target], profile->edges[e].calls);
    for (uint32_t c = 0; c < profile->context_count; c++)
        all->functions[profile->block[c]].self += crn_self(profile, all->metric, c);
    if (all->call_count)
        qsort(all->calls, all->call_count, sizeof *all->calls, compare_calls);
    for (uint32_t i = 0; i < all->call_count; i++) {
        function *from = &all->functions[all->calls[i].from];
        if (!i || all->calls[i].from != all->calls[i - 1].from)
            from->first = i;
        from->end = i + 1;
    }
}

/* Walks depth first from one function. Marks calls that close a cycle. */
static void visit(unfolding *all, uint32_t begin, uint32_t *stack, uint32_t *next)
{
    uint32_t depth = 0;
    if (all->functions[begin].state != NEW)
        return;
    stack[depth++] = begin;
    all->functions[begin].state = OPEN;
    next[begin] = all->functions[begin].first;
    while (depth) {
        uint32_t block = stack[depth - 1];
        if (next[block] == all->functions[block].end) {
            all->functions[block].state = DONE;
            all->order[all->order_count++] = block;
            depth--;
            continue;
        }
        call *call = &all->calls[next[block]++];
        function *to = &all->functions[call->to];
        call->closes_cycle = to->state == OPEN;
        if (to->state == NEW) {
            to->state = OPEN;
            next[call->to] = to->first;
            stack[depth++] = call->to;
        }
    }
}

/* Orders the functions, callees first, and computes their inclusive costs. Walks first from the
 * root and from functions without callers. */
static void order_functions(unfolding *all)
{
    uint32_t count = all->profile->block_count;
    uint32_t *stack = crn_calloc(count, sizeof *stack), *next = crn_calloc(count, sizeof *next);
    all->order = crn_calloc(count, sizeof *all->order);
    for (uint32_t b = 0; b < count; b++)
        if (!all->functions[b].calls)
            visit(all, b, stack, next);
    for (uint32_t b = 0; b < count; b++)
        visit(all, b, stack, next);
    crn_free(stack);
    crn_free(next);
    for (uint32_t i = 0; i < all->call_count; i++)
        if (!all->calls[i].closes_cycle)
            all->functions[all->calls[i].to].followed += (double)all->calls[i].count;
    for (uint32_t i = 0; i < count; i++) {
        function *function = &all->functions[all->order[i]];
        function->inclusive = (double)function->self;
        for (uint32_t k = function->first; k < function->end; k++) {
            const call *call = &all->calls[k];
            const struct function *to = &all->functions[call->to];
            if (!call->closes_cycle)
                function->inclusive += (double)call->count / to->followed * to->inclusive;
        }
    }
}

static uint64_t part_of(uint64_t whole, double share, uint64_t *left)
{
    double wanted = (double)whole * share;
    uint64_t part = wanted >= (double)*left ? *left : (uint64_t)wanted;
    *left -= part;
    return part;
}

static void charge(const unfolding *all, uint32_t context, uint64_t amount)
{
    if (all->own != CRN_METRIC_CALLS) /* calls are on the edges */
        crn_profile_builder_charge(all->builder, context, all->own, amount);
}

static void add_path(unfolding *all, uint32_t parent, uint32_t block, double share)
{
    function *function = &all->functions[block];
    if (share * function->inclusive < CUT_BELOW * all->total || all->path_count == PATHS_MOST)
        return;
    uint32_t context =
        crn_profile_builder_child(all->builder, parent, all->blocks[block],
                                  part_of(function->calls, share, &function->calls_left));
    charge(all, context, part_of(function->self, share, &function->self_left));
    all->paths[all->path_count++] = (path){block, context, share};
    if (share > function->largest_share) {
        function->largest_share = share;
        function->parent = parent;
    }
}

static void make_paths(unfolding *all)
{
    uint32_t root = crn_profile_builder_root(all->builder);
    all->paths = crn_calloc(PATHS_MOST, sizeof *all->paths);
    for (uint32_t b = 1; b < all->profile->block_count; b++)
        if (all->functions[b].followed <= 0)
            add_path(all, root, b, 1);
    for (uint32_t k = all->functions[0].first; k < all->functions[0].end; k++) {
        const call *call = &all->calls[k];
        add_path(all, root, call->to, (double)call->count / all->functions[call->to].followed);
    }
    for (uint32_t i = 0; i < all->path_count; i++) {
        path path = all->paths[i];
        for (uint32_t k = all->functions[path.block].first; k < all->functions[path.block].end;
             k++) {
            const call *call = &all->calls[k];
            if (!call->closes_cycle)
                add_path(all, path.context, call->to,
                         path.share * (double)call->count / all->functions[call->to].followed);
        }
    }
}

/* Charges what rounding and cut paths left over, to the function's largest path; below the root if
 * it has no path. */
static void add_rest(const unfolding *all)
{
    for (uint32_t b = 1; b < all->profile->block_count; b++) {
        const function *function = &all->functions[b];
        if (function->self_left || function->calls_left)
            charge(all,
                   crn_profile_builder_child(all->builder, function->parent, all->blocks[b],
                                             function->calls_left),
                   function->self_left);
    }
    charge(all, crn_profile_builder_root(all->builder), all->functions[0].self);
}

static void unfold(unfolding *all)
{
    const crn_profile *profile = all->profile;
    all->builder = crn_profile_builder_new();
    const crn_metric_info *info = &profile->metrics[all->metric];
    all->own = crn_profile_builder_metric(all->builder, info->name, info->unit);
    all->blocks = crn_calloc(profile->block_count, sizeof *all->blocks);
    crn_profile_builder_blocks(all->builder, profile, all->blocks);
    order_functions(all);
    for (uint32_t b = 0; b < profile->block_count; b++) {
        function *function = &all->functions[b];
        function->self_left = function->self;
        function->calls_left = function->calls;
        function->parent = crn_profile_builder_root(all->builder);
        all->total += (double)function->self;
    }
    make_paths(all);
    add_rest(all);
    crn_free(all->blocks);
    crn_free(all->order);
    crn_free(all->paths);
}

crn_profile *crn_profile_unfold(const crn_profile *profile, const char *metric)
{
    int number = crn_profile_metric(profile, metric);
    if (number < 0 || !crn_calls_static(profile))
        return NULL;
    unfolding all = {.profile = profile, .metric = (uint32_t)number};
    all.functions = crn_calloc(profile->block_count, sizeof *all.functions);
    take_calls(&all);
    bool by_caller = all.call_count && all.calls[all.call_count - 1].from;
    if (by_caller)
        unfold(&all);
    crn_free(all.functions);
    crn_free(all.calls);
    return by_caller ? crn_profile_builder_end(all.builder) : NULL;
}
