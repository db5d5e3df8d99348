/* SPDX-License-Identifier: MIT
 *
 * Merges the contexts of all runs, with calls and self cost by run.
 */
#include "base/memory.h"
#include "why/align.h"

typedef struct finding {
    crn_why_contexts *contexts;
    uint32_t capacity, mask;
    uint32_t *table; /* hash table of contexts without the root; 0: free */
} finding;

static uint32_t *slot_of(const finding *finding, uint32_t parent, uint32_t block)
{
    uint64_t hash = ((uint64_t)parent << 32 | block) * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(hash >> 32) & finding->mask;
    while (finding->table[at] && (finding->contexts->parent[finding->table[at]] != parent ||
                                  finding->contexts->block[finding->table[at]] != block))
        at = (at + 1) & finding->mask;
    return &finding->table[at];
}

static void grow(finding *finding)
{
    crn_why_contexts *contexts = finding->contexts;
    finding->capacity = finding->capacity ? finding->capacity * 2 : 1024;
    contexts->parent = crn_realloc(contexts->parent, finding->capacity, sizeof(uint32_t));
    contexts->block = crn_realloc(contexts->block, finding->capacity, sizeof(uint32_t));
    crn_free(finding->table);
    finding->mask = finding->capacity * 2 - 1;
    finding->table = crn_calloc((size_t)finding->mask + 1, sizeof *finding->table);
    for (uint32_t c = 1; c < contexts->count; c++)
        *slot_of(finding, contexts->parent[c], contexts->block[c]) = c;
}

static uint32_t find(finding *finding, uint32_t parent, uint32_t block)
{
    crn_why_contexts *contexts = finding->contexts;
    if (contexts->count == finding->capacity)
        grow(finding);
    uint32_t *slot = slot_of(finding, parent, block);
    if (!*slot) {
        contexts->parent[contexts->count] = parent;
        contexts->block[contexts->count] = block;
        *slot = contexts->count++;
    }
    return *slot;
}

static uint32_t *number_contexts(finding *finding, const crn_profile *profile,
                                 const uint32_t *blocks)
{
    uint32_t *numbers = crn_calloc(profile->context_count, sizeof *numbers);
    for (uint32_t c = 1; c < profile->context_count; c++)
        numbers[c] = find(finding, numbers[profile->parent[c]], blocks[profile->block[c]]);
    return numbers;
}

static void take_figures(crn_why_contexts *contexts, size_t run, int side,
                         const crn_profile *profile, const uint32_t *numbers, int metric)
{
    contexts->calls[run] = crn_calloc(contexts->count, sizeof(double));
    contexts->self[run] = crn_calloc(contexts->count, sizeof(double));
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint64_t calls = crn_self(profile, CRN_METRIC_CALLS, c);
        uint64_t self = metric < 0 ? 0 : crn_self(profile, (uint32_t)metric, c);
        contexts->calls[run][numbers[c]] += (double)calls;
        contexts->self[run][numbers[c]] += (double)self;
        if (calls || self)
            contexts->present[numbers[c]] |= (uint8_t)(1 << side);
    }
}

crn_why_contexts crn_why_contexts_make(const crn_why_input *input, uint32_t *const *numbers)
{
    crn_why_contexts contexts = {.runs = input->runs[CRN_BEFORE] + input->runs[CRN_AFTER]};
    finding finding = {.contexts = &contexts};
    grow(&finding);
    contexts.parent[0] = 0;
    contexts.block[0] = numbers[0][0];
    contexts.count = 1;
    uint32_t **of_run = crn_calloc(contexts.runs, sizeof *of_run);
    size_t run = 0;
    for (int side = 0; side < CRN_SIDES; side++)
        for (size_t i = 0; i < input->runs[side]; i++, run++)
            of_run[run] = number_contexts(&finding, input->profiles[side][i], numbers[run]);
    crn_free(finding.table);
    contexts.calls = crn_calloc(contexts.runs, sizeof *contexts.calls);
    contexts.self = crn_calloc(contexts.runs, sizeof *contexts.self);
    contexts.present = crn_calloc(contexts.count, 1);
    run = 0;
    for (int side = 0; side < CRN_SIDES; side++)
        for (size_t i = 0; i < input->runs[side]; i++, run++) {
            const crn_profile *profile = input->profiles[side][i];
            take_figures(&contexts, run, side, profile, of_run[run],
                         crn_profile_metric(profile, input->metric));
            crn_free(of_run[run]);
        }
    crn_free((void *)of_run);
    for (uint32_t c = contexts.count - 1; c > 0; c--)
        contexts.present[contexts.parent[c]] |= contexts.present[c];
    contexts.present[0] = 3;
    return contexts;
}

void crn_why_contexts_free(crn_why_contexts *contexts)
{
    for (size_t run = 0; run < contexts->runs; run++) {
        crn_free(contexts->calls[run]);
        crn_free(contexts->self[run]);
    }
    crn_free((void *)contexts->calls);
    crn_free((void *)contexts->self);
    crn_free(contexts->present);
    crn_free(contexts->parent);
    crn_free(contexts->block);
    *contexts = (crn_why_contexts){0};
}
