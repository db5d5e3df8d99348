/* SPDX-License-Identifier: MIT */
#include "profile/diff.h"

#include <stdlib.h>

#include "base/memory.h"
#include "profile/figures.h"

/* ---- matching contexts ---- */

typedef struct context_entry {
    uint64_t key; /* number of the parent << 32 | number of the block */
    uint32_t number;
    uint32_t used;
} context_entry;

typedef struct context_join {
    uint32_t count;
    uint32_t *numbers[CRN_SIDES]; /* by context */
    context_entry *entries;
    size_t mask;
} context_join;

static context_entry *find_entry(const context_join *join, uint64_t key)
{
    uint64_t hash = key * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    size_t at = hash & join->mask;
    while (join->entries[at].used && join->entries[at].key != key)
        at = (at + 1) & join->mask;
    return &join->entries[at];
}

static void join_side(context_join *join, const crn_profile *profile, const uint32_t *blocks,
                      uint32_t side)
{
    uint32_t *numbers = crn_calloc(profile->context_count, sizeof *numbers);
    join->numbers[side] = numbers; /* the root has number 0 */
    for (uint32_t c = 1; c < profile->context_count; c++) {
        uint64_t key = (uint64_t)numbers[profile->parent[c]] << 32 | blocks[profile->block[c]];
        context_entry *entry = find_entry(join, key);
        if (!entry->used) {
            entry->used = 1;
            entry->key = key;
            entry->number = join->count++;
        }
        numbers[c] = entry->number;
    }
}

static context_join context_join_make(const crn_diff_input *input)
{
    const crn_profile *before = input->profile[CRN_BEFORE], *after = input->profile[CRN_AFTER];
    size_t capacity = 1024, most = (size_t)before->context_count + after->context_count;
    while (capacity < most + most / 2)
        capacity *= 2;
    context_join join = {.count = 1, .mask = capacity - 1};
    join.entries = crn_calloc(capacity, sizeof *join.entries);
    crn_block_join blocks = crn_block_join_make(before, after);
    join_side(&join, before, blocks.numbers[CRN_BEFORE], CRN_BEFORE);
    join_side(&join, after, blocks.numbers[CRN_AFTER], CRN_AFTER);
    crn_block_join_free(&blocks);
    crn_free(join.entries);
    join.entries = NULL;
    return join;
}

/* ---- rows ---- */

static crn_diff diff_new(uint32_t count)
{
    crn_diff diff = {.count = count};
    diff.rows = crn_calloc(count, sizeof *diff.rows);
    for (uint32_t i = 0; i < count; i++)
        diff.rows[i].id[CRN_BEFORE] = diff.rows[i].id[CRN_AFTER] = CRN_DIFF_NONE;
    return diff;
}

static uint64_t size_of_change(const crn_diff_row *row, crn_diff_sort sort)
{
    const uint64_t *figures = sort == CRN_DIFF_SELF        ? row->self
                              : sort == CRN_DIFF_INCLUSIVE ? row->inclusive
                                                           : row->calls;
    return figures[CRN_AFTER] > figures[CRN_BEFORE] ? figures[CRN_AFTER] - figures[CRN_BEFORE]
                                                    : figures[CRN_BEFORE] - figures[CRN_AFTER];
}

static int compare_rows(const void *left, const void *right, void *data)
{
    const crn_diff_row *a = left, *b = right;
    const crn_diff_sort sort = *(const crn_diff_sort *)data;
    crn_diff_sort order[] = {sort, CRN_DIFF_SELF, CRN_DIFF_INCLUSIVE, CRN_DIFF_CALLS};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        uint64_t x = size_of_change(a, order[i]), y = size_of_change(b, order[i]);
        if (x != y)
            return x < y ? 1 : -1;
    }
    for (int side = CRN_AFTER; side >= CRN_BEFORE; side--)
        if (a->id[side] != b->id[side])
            return a->id[side] < b->id[side] ? -1 : 1;
    return 0;
}

static bool is_empty(const crn_diff_row *row)
{
    uint64_t any = 0;
    for (int side = 0; side < CRN_SIDES; side++)
        any |= row->calls[side] | row->self[side] | row->inclusive[side];
    return !any;
}

/* Returns, by block, 1 if it calls a block. */
static uint8_t *callers_of(const crn_profile *profile)
{
    uint8_t *callers = crn_calloc(profile->block_count, 1);
    for (uint32_t c = 1; c < profile->context_count; c++)
        callers[profile->block[profile->parent[c]]] = 1;
    return callers;
}

/* Returns why the other profile lacks a context: the reason for the innermost block on its path
 * that was left out or not sampled; else CRN_ABSENCE_GONE. */
static crn_absence why_context(const crn_left_out *other, const crn_profile *profile,
                               const uint8_t *callers, uint32_t context)
{
    crn_absence absence = CRN_ABSENCE_GONE;
    for (uint32_t c = context; c && absence == CRN_ABSENCE_GONE; c = profile->parent[c]) {
        uint32_t block = profile->block[c];
        absence = crn_left_out_why(other, &profile->blocks[block], !callers[block]);
    }
    return absence;
}

static void explain_absence(crn_diff *diff, const crn_diff_input *input, bool contexts)
{
    for (int side = 0; side < CRN_SIDES; side++) {
        const crn_profile *profile = input->profile[side];
        crn_left_out *other = crn_left_out_of(input->profile[!side]);
        uint8_t *callers = callers_of(profile);
        for (uint32_t i = 0; i < diff->count; i++) {
            crn_diff_row *row = &diff->rows[i];
            uint32_t id = row->id[side];
            if (id == CRN_DIFF_NONE || row->id[!side] != CRN_DIFF_NONE)
                continue;
            row->absence = contexts ? why_context(other, profile, callers, id)
                                    : crn_left_out_why(other, &profile->blocks[id], !callers[id]);
        }
        crn_free(callers);
        crn_left_out_free(other);
    }
}

bool crn_diff_row_is_apart(const crn_diff_row *row)
{
    bool both = row->id[CRN_BEFORE] != CRN_DIFF_NONE && row->id[CRN_AFTER] != CRN_DIFF_NONE;
    return !both && row->absence != CRN_ABSENCE_GONE;
}

static void diff_end(crn_diff *diff, const crn_diff_input *input, bool contexts)
{
    uint32_t count = 0;
    crn_diff_sort sort = input->sort;
    for (int side = 0; side < CRN_SIDES; side++)
        diff->sampling[side] = crn_sampling_of(input->profile[side], input->metric[side]);
    diff->calls = !crn_calls_missing(input->profile[CRN_BEFORE]) &&
                  !crn_calls_missing(input->profile[CRN_AFTER]);
    for (uint32_t i = 0; i < diff->count && !diff->calls; i++)
        diff->rows[i].calls[CRN_BEFORE] = diff->rows[i].calls[CRN_AFTER] = 0;
    explain_absence(diff, input, contexts);
    for (uint32_t i = 0; i < diff->count; i++)
        if (!is_empty(&diff->rows[i]))
            diff->rows[count++] = diff->rows[i];
    diff->count = count;
    qsort_r(diff->rows, count, sizeof *diff->rows, compare_rows, &sort);
}

crn_diff crn_diff_blocks(const crn_diff_input *input)
{
    crn_block_join join =
        crn_block_join_make(input->profile[CRN_BEFORE], input->profile[CRN_AFTER]);
    crn_diff diff = diff_new(join.count);
    for (int side = 0; side < CRN_SIDES; side++) {
        const crn_profile *profile = input->profile[side];
        crn_block_cost cost = crn_block_cost_make(profile, input->metric[side], NULL);
        crn_block_cost calls = crn_block_cost_make(profile, CRN_METRIC_CALLS, NULL);
        for (uint32_t b = 0; b < profile->block_count; b++) {
            crn_diff_row *row = &diff.rows[join.numbers[side][b]];
            row->id[side] = b;
            row->calls[side] = calls.self[b];
            row->self[side] = cost.self[b];
            row->inclusive[side] = cost.inclusive[b];
        }
        diff.total[side] = cost.total;
        crn_block_cost_free(&cost);
        crn_block_cost_free(&calls);
    }
    crn_block_join_free(&join);
    diff_end(&diff, input, false);
    return diff;
}

crn_diff crn_diff_contexts(const crn_diff_input *input)
{
    context_join join = context_join_make(input);
    crn_diff diff = diff_new(join.count);
    for (int side = 0; side < CRN_SIDES; side++) {
        const crn_profile *profile = input->profile[side];
        uint64_t *totals = crn_totals(profile, input->metric[side], NULL);
        for (uint32_t c = 0; c < profile->context_count; c++) {
            crn_diff_row *row = &diff.rows[join.numbers[side][c]];
            row->id[side] = c;
            row->calls[side] += crn_self(profile, CRN_METRIC_CALLS, c);
            row->self[side] += crn_self(profile, input->metric[side], c);
            row->inclusive[side] += totals[c];
        }
        diff.total[side] = totals[0];
        crn_free(totals);
        crn_free(join.numbers[side]);
    }
    diff_end(&diff, input, true);
    return diff;
}

void crn_diff_free(crn_diff *diff)
{
    crn_free(diff->rows);
    *diff = (crn_diff){0};
}
