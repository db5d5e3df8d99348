/* SPDX-License-Identifier: MIT
 *
 * Compares a run with a baseline.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "gate.h"

typedef struct judging {
    crn_gate *gate;
    size_t capacity;
    const crn_profile *sides[CRN_SIDES];
    uint32_t metric[CRN_SIDES];
    uint64_t all_calls; /* total of calls in the baseline */
} judging;

static char *path_of(const crn_profile *profile, uint32_t context)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    uint32_t count = 0, *path = crn_calloc(profile->context_count, sizeof *path);
    for (uint32_t c = context; c; c = profile->parent[c])
        path[count++] = c;
    if (out) {
        if (!count)
            fputs("[root]", out);
        while (count--) {
            fputs(profile->blocks[profile->block[path[count]]].name, out);
            fputs(count ? " > " : "", out);
        }
        fclose(out);
    }
    crn_free(path);
    return text ? text : strdup("");
}

/* Notes a change beyond the tolerance. That is a share of the figure before, or of `least` if that
 * is larger: in a small context, one call more of two is no growth by half. */
static void judge(judging *all, const crn_profile *profile, uint32_t context, const char *what,
                  const uint64_t figures[CRN_SIDES], double tolerance, double least)
{
    double before = (double)figures[CRN_BEFORE], after = (double)figures[CRN_AFTER];
    double allowed = tolerance * (before > least ? before : least);
    if (after <= before + allowed && after >= before - allowed)
        return;
    crn_gate *gate = all->gate;
    CRN_GROW(gate->changes, gate->count, all->capacity);
    bool worse = after > before;
    gate->worse += worse;
    gate->changes[gate->count++] =
        (crn_gate_change){.path = profile ? path_of(profile, context) : strdup("total"),
                          .what = what,
                          .figures = {figures[CRN_BEFORE], figures[CRN_AFTER]},
                          .tolerance = tolerance,
                          .worse = worse};
}

static void judge_context(judging *all, const uint32_t ids[CRN_SIDES])
{
    const crn_baseline *baseline = all->gate->baseline;
    int side = ids[CRN_AFTER] != CRN_CONTEXT_NONE ? CRN_AFTER : CRN_BEFORE;
    double tolerance = baseline->tolerance;
    if (ids[CRN_BEFORE] != CRN_CONTEXT_NONE && baseline->own[ids[CRN_BEFORE]] >= 0)
        tolerance = baseline->own[ids[CRN_BEFORE]];
    uint64_t self[CRN_SIDES] = {0}, calls[CRN_SIDES] = {0};
    for (int s = 0; s < CRN_SIDES; s++)
        if (ids[s] != CRN_CONTEXT_NONE) {
            self[s] = crn_self(all->sides[s], all->metric[s], ids[s]);
            calls[s] = crn_self(all->sides[s], CRN_METRIC_CALLS, ids[s]);
        }
    if (strcmp(baseline->metric, "calls") != 0)
        judge(all, all->sides[side], ids[side], baseline->metric, self, tolerance,
              baseline->share * (double)all->gate->total[CRN_BEFORE]);
    if (ids[side]) /* the root's calls count threads */
        judge(all, all->sides[side], ids[side], "calls", calls, tolerance,
              baseline->share * (double)all->all_calls);
}

static int compare_changes(const void *left, const void *right)
{
    const crn_gate_change *a = left, *b = right;
    if (a->worse != b->worse)
        return a->worse ? -1 : 1;
    double x = (double)a->figures[CRN_AFTER] - (double)a->figures[CRN_BEFORE];
    double y = (double)b->figures[CRN_AFTER] - (double)b->figures[CRN_BEFORE];
    x = x < 0 ? -x : x;
    y = y < 0 ? -y : y;
    if (strcmp(a->what, b->what) != 0) /* cost before calls */
        return strcmp(a->what, "calls") == 0 ? 1 : -1;
    return CRN_ORDER(y, x) ?: strcmp(a->path, b->path);
}

crn_gate crn_gate_judge(const crn_baseline *baseline, const crn_profile *reduced)
{
    crn_gate gate = {.baseline = baseline, .reduced = reduced};
    judging all = {.gate = &gate, .sides = {baseline->profile, reduced}};
    for (int side = 0; side < CRN_SIDES; side++) {
        all.metric[side] = (uint32_t)crn_profile_metric(all.sides[side], baseline->metric);
        gate.total[side] = crn_metric_total(all.sides[side], all.metric[side]);
    }
    all.all_calls = crn_metric_total(baseline->profile, CRN_METRIC_CALLS);
    judge(&all, NULL, 0, baseline->metric, gate.total, baseline->tolerance, 0);
    crn_diff contexts =
        crn_diff_contexts(&(crn_diff_input){{baseline->profile, reduced},
                                            {all.metric[CRN_BEFORE], all.metric[CRN_AFTER]},
                                            CRN_DIFF_SELF});
    for (uint32_t i = 0; i < contexts.count; i++) {
        uint32_t ids[CRN_SIDES];
        for (int side = 0; side < CRN_SIDES; side++)
            ids[side] = contexts.rows[i].id[side] == CRN_DIFF_NONE ? CRN_CONTEXT_NONE
                                                                   : contexts.rows[i].id[side];
        judge_context(&all, ids);
    }
    crn_diff_free(&contexts);
    if (gate.count > 1)
        qsort(gate.changes, gate.count, sizeof *gate.changes, compare_changes);
    return gate;
}

void crn_gate_free(crn_gate *gate)
{
    for (size_t i = 0; i < gate->count; i++)
        free(gate->changes[i].path);
    crn_free(gate->changes);
    *gate = (crn_gate){.count = 0};
}
