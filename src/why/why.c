/* SPDX-License-Identifier: MIT */
#include "why/why.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "explain/explain.h"
#include "spans/spans.h"
#include "why/align.h"

#define PART_LEAST 0.01 /* causes below this share of the change do not count as tests */

/* Figures of each run by pair, and the causes to which each pair contributes. */
typedef struct working {
    const crn_why_pairs *pairs;
    size_t runs[CRN_SIDES];
    double **calls, **cost; /* by run and pair; cost: inclusive if the pair is `whole`, else self */
    uint32_t *calls_cause, *cost_cause;
    /* By pair: means of the runs (take_means). */
    double *mean_calls[CRN_SIDES], *mean_cost[CRN_SIDES];
    double *effective[CRN_SIDES]; /* by pair: its calls, or its parent's if a side counts none */
    double *divisia; /* by pair: logarithmic mean of the costs, summed with pairs below */
    crn_why *why;
    uint32_t *table, mask; /* hash table of causes: index + 1 */
    size_t capacity;
} working;

/* ---- figures by pair ---- */

static double *inclusive_of(const crn_why_contexts *contexts, size_t run)
{
    double *totals = crn_calloc(contexts->count, sizeof *totals);
    memcpy(totals, contexts->self[run], contexts->count * sizeof *totals);
    for (uint32_t c = contexts->count - 1; c > 0; c--)
        totals[contexts->parent[c]] += totals[c];
    return totals;
}

static void take_run(working *work, const crn_why_contexts *contexts, size_t run, int side)
{
    const crn_why_pairs *pairs = work->pairs;
    double *inclusive = inclusive_of(contexts, run);
    work->calls[run] = crn_calloc(pairs->count, sizeof(double));
    work->cost[run] = crn_calloc(pairs->count, sizeof(double));
    for (uint32_t p = 0; p < pairs->count; p++) {
        const crn_why_pair *pair = &pairs->list[p];
        for (uint32_t m = 0; m < pair->count[side]; m++) {
            uint32_t context = pairs->members[pair->first[side] + m];
            work->calls[run][p] += contexts->calls[run][context];
            work->cost[run][p] += pair->whole ? inclusive[context] : contexts->self[run][context];
        }
    }
    crn_free(inclusive);
}

/* Computes the means of each side's runs, except the run `without` (CRN_WHY_NONE: none
 * excepted). */
static void take_means(working *work, size_t without)
{
    size_t run = 0;
    for (int side = 0; side < CRN_SIDES; side++) {
        size_t end = run + work->runs[side];
        bool less = without >= run && without < end;
        double weight = 1 / (double)(work->runs[side] - less);
        memset(work->mean_calls[side], 0, work->pairs->count * sizeof(double));
        memset(work->mean_cost[side], 0, work->pairs->count * sizeof(double));
        for (; run < end; run++)
            for (uint32_t p = 0; run != without && p < work->pairs->count; p++) {
                work->mean_calls[side][p] += work->calls[run][p] * weight;
                work->mean_cost[side][p] += work->cost[run][p] * weight;
            }
    }
}

/* ---- causes ---- */

/* Returns the index of a cause, which it adds if missing. */
static uint32_t cause_of(working *work, crn_why_kind kind, uint32_t caller, uint32_t block)
{
    crn_why *why = work->why;
    uint64_t hash = ((uint64_t)caller << 32 | block) * 0x9e3779b97f4a7c15u + (uint64_t)kind;
    uint32_t at = (uint32_t)((hash ^ hash >> 29) >> 16) & work->mask;
    for (; work->table[at]; at = (at + 1) & work->mask) {
        const crn_why_cause *cause = &why->causes[work->table[at] - 1];
        if (cause->kind == kind && cause->caller == caller && cause->block == block)
            return work->table[at] - 1;
    }
    why->causes[why->cause_count] =
        (crn_why_cause){.kind = kind, .caller = caller, .block = block, .context = CRN_WHY_NONE};
    work->table[at] = (uint32_t)++why->cause_count;
    return work->table[at] - 1;
}

/* Finds the causes: at most two for each pair, its calls and its cost. */
static void find_causes(working *work)
{
    const crn_why_pairs *pairs = work->pairs;
    size_t most = (size_t)pairs->count * 2 + 1;
    work->mask = 1023;
    while (work->mask < most * 2)
        work->mask = work->mask * 2 + 1;
    work->table = crn_calloc((size_t)work->mask + 1, sizeof *work->table);
    work->why->causes = crn_calloc(most, sizeof *work->why->causes);
    for (uint32_t p = 0; p < pairs->count; p++) {
        const crn_why_pair *pair = &pairs->list[p];
        bool aligned = pair->kind == CRN_WHY_COST || pair->kind == CRN_WHY_MOVED;
        bool calls = p && aligned;
        work->calls_cause[p] = !calls ? CRN_WHY_NONE
                               : pair->kind == CRN_WHY_MOVED
                                   ? cause_of(work, CRN_WHY_MOVED, CRN_WHY_NONE, pair->block)
                                   : cause_of(work, CRN_WHY_CALLS, pair->caller, pair->block);
        work->cost_cause[p] = aligned ? cause_of(work, CRN_WHY_COST, CRN_WHY_NONE, pair->block)
                                      : cause_of(work, pair->kind, pair->caller, pair->block);
    }
    crn_free(work->table);
}

/* ---- effects ---- */

/* Returns (a - b) / log(a / b): the factor that turns the logarithm of a quotient into the
 * difference. 0 if one of both is 0. */
static double logarithmic_mean(double a, double b)
{
    if (a <= 0 || b <= 0)
        return 0;
    double difference = a - b;
    return fabs(difference) < 1e-9 * a ? (a + b) / 2 : difference / log(a / b);
}

/* Sets the effective calls of a pair: its own; if a side counted none, its parent's. */
static void take_effective(working *work, uint32_t p)
{
    const crn_why_pair *pair = &work->pairs->list[p];
    bool counted = work->mean_calls[CRN_BEFORE][p] > 0 && work->mean_calls[CRN_AFTER][p] > 0;
    for (int side = 0; side < CRN_SIDES; side++)
        work->effective[side][p] = p && counted ? work->mean_calls[side][p]
                                   : pair->parent == CRN_WHY_NONE
                                       ? 1
                                       : work->effective[side][pair->parent];
}

/* Returns the logarithm of the factor by which the pair's calls per call of its parent changed. */
static double calls_ratio(const working *work, uint32_t p)
{
    uint32_t parent = work->pairs->list[p].parent;
    double ratio = work->effective[CRN_AFTER][p] / work->effective[CRN_BEFORE][p];
    if (parent != CRN_WHY_NONE)
        ratio *= work->effective[CRN_BEFORE][parent] / work->effective[CRN_AFTER][parent];
    return log(ratio);
}

/* Sets `amounts`, by cause, to the sums of the effects of all pairs. */
static void take_effects(working *work, double *amounts)
{
    const crn_why_pairs *pairs = work->pairs;
    memset(amounts, 0, work->why->cause_count * sizeof *amounts);
    for (uint32_t p = 0; p < pairs->count; p++) {
        double before = work->mean_cost[CRN_BEFORE][p], after = work->mean_cost[CRN_AFTER][p];
        work->divisia[p] = 0;
        if (work->calls_cause[p] == CRN_WHY_NONE && p) { /* new or gone */
            amounts[work->cost_cause[p]] += after - before;
            continue;
        }
        take_effective(work, p);
        double mean = logarithmic_mean(after, before);
        double calls = log(work->effective[CRN_AFTER][p] / work->effective[CRN_BEFORE][p]);
        work->divisia[p] = mean;
        amounts[work->cost_cause[p]] += after - before - mean * calls;
    }
    for (uint32_t p = pairs->count - 1; p > 0; p--) {
        uint32_t parent = pairs->list[p].parent;
        if (work->calls_cause[p] == CRN_WHY_NONE)
            continue;
        amounts[work->calls_cause[p]] += work->divisia[p] * calls_ratio(work, p);
        if (parent != CRN_WHY_NONE)
            work->divisia[parent] += work->divisia[p];
    }
}

/* ---- noise ---- */

/* Computes standard errors by the jackknife: leaves out each run in turn. */
static void take_errors(working *work)
{
    crn_why *why = work->why;
    size_t run = 0;
    double *squares = crn_calloc(why->cause_count, sizeof *squares);
    for (int side = 0; side < CRN_SIDES; side++) {
        size_t runs = work->runs[side];
        double *amounts = crn_calloc(runs * why->cause_count, sizeof *amounts);
        for (size_t i = 0; i < runs; i++, run++) {
            take_means(work, run);
            take_effects(work, amounts + i * why->cause_count);
        }
        for (size_t k = 0; k < why->cause_count; k++) {
            double mean = 0, sum = 0;
            for (size_t i = 0; i < runs; i++)
                mean += amounts[i * why->cause_count + k] / (double)runs;
            for (size_t i = 0; i < runs; i++) {
                double apart = amounts[i * why->cause_count + k] - mean;
                sum += apart * apart;
            }
            squares[k] += sum * (double)(runs - 1) / (double)runs;
        }
        crn_free(amounts);
    }
    for (size_t k = 0; k < why->cause_count; k++)
        why->causes[k].error = sqrt(squares[k]);
    crn_free(squares);
}

/* Judges which causes noise explains. All tests together err in one case of 20 (Bonferroni). */
static void judge_causes(working *work)
{
    crn_why *why = work->why;
    double change = fabs(why->total[CRN_AFTER] - why->total[CRN_BEFORE]);
    size_t tested = 0;
    for (size_t k = 0; k < why->cause_count; k++)
        tested += fabs(why->causes[k].amount) >= PART_LEAST * change;
    double freedom = (double)(work->runs[CRN_BEFORE] + work->runs[CRN_AFTER] - 2);
    double quantile = crn_t_quantile(freedom, 0.05 / (double)(tested ? tested : 1));
    for (size_t k = 0; k < why->cause_count; k++) {
        crn_why_cause *cause = &why->causes[k];
        cause->half = crn_t_quantile(freedom, 0.05) * cause->error;
        cause->chance = cause->error > 0 && fabs(cause->amount) <= quantile * cause->error;
    }
}

static void judge_total(crn_why *why, const crn_why_contexts *contexts, const size_t *runs)
{
    double error = 0, freedom = 0;
    size_t run = 0;
    for (int side = 0; side < CRN_SIDES; side++) {
        double squares = 0;
        for (size_t i = 0; i < runs[side]; i++, run++) {
            double total = 0;
            for (uint32_t c = 0; c < contexts->count; c++)
                total += contexts->self[run][c];
            squares += (total - why->total[side]) * (total - why->total[side]);
        }
        double part = squares / (double)(runs[side] - 1) / (double)runs[side];
        error += part;
        freedom += part * part / (double)(runs[side] - 1);
    }
    double change = why->total[CRN_AFTER] - why->total[CRN_BEFORE];
    freedom = freedom > 0 ? error * error / freedom : 1;
    double half = error > 0 ? crn_t_quantile(freedom, 0.05) * sqrt(error) : 0;
    why->low = change - half;
    why->high = change + half;
    why->noise_known = true;
    why->chance = change != 0 && why->low <= 0 && why->high >= 0;
}

/* Returns the cost as an integer, clamped: a damaged capture can have larger costs. */
static uint64_t as_integer(double cost)
{
    return cost < 0 ? 0 : cost < 0x1p64 ? (uint64_t)cost : UINT64_MAX;
}

/* Judges which causes sampling alone can explain, without several runs on each side. */
static void judge_samples(crn_why *why, const crn_why_input *input)
{
    crn_sampling sampling[CRN_SIDES] = {0};
    for (int side = 0; side < CRN_SIDES; side++) {
        int metric = crn_profile_metric(input->profiles[side][0], input->metric);
        if (metric >= 0)
            sampling[side] = crn_sampling_of(input->profiles[side][0], (uint32_t)metric);
    }
    uint64_t totals[] = {as_integer(why->total[CRN_BEFORE]), as_integer(why->total[CRN_AFTER])};
    why->chance = totals[CRN_BEFORE] != totals[CRN_AFTER] &&
                  crn_sampling_totals_within_chance(sampling, totals, CRN_INTERVAL_Z);
    double z = crn_interval_z_of((unsigned)(why->cause_count ? why->cause_count : 1));
    for (size_t k = 0; k < why->cause_count; k++) {
        crn_why_cause *cause = &why->causes[k];
        uint64_t costs[] = {as_integer(cause->cost[CRN_BEFORE]),
                            as_integer(cause->cost[CRN_AFTER])};
        cause->chance =
            cause->kind == CRN_WHY_COST && crn_sampling_within_chance(sampling, costs, z);
    }
}

/* ---- figures shown with a cause ---- */

static void describe(working *work)
{
    const crn_why_pairs *pairs = work->pairs;
    crn_why *why = work->why;
    double *largest = crn_calloc(why->cause_count, sizeof *largest);
    /* From here on `effective` has inclusive costs: they are the cost of a cause of calls. */
    for (int side = 0; side < CRN_SIDES; side++)
        for (uint32_t p = 0; p < pairs->count; p++)
            work->effective[side][p] = work->mean_cost[side][p];
    for (uint32_t p = pairs->count - 1; p > 0; p--)
        for (int side = 0; side < CRN_SIDES && pairs->list[p].parent != CRN_WHY_NONE; side++)
            work->effective[side][pairs->list[p].parent] += work->effective[side][p];
    for (uint32_t p = 0; p < pairs->count; p++) {
        const uint32_t causes[] = {work->cost_cause[p], work->calls_cause[p]};
        for (int i = 0; i < 2; i++) {
            if (causes[i] == CRN_WHY_NONE)
                continue;
            crn_why_cause *cause = &why->causes[causes[i]];
            double size = 0;
            for (int side = 0; side < CRN_SIDES; side++) {
                double cost = i ? work->effective[side][p] : work->mean_cost[side][p];
                uint32_t parent = pairs->list[p].parent;
                cause->calls[side] += work->mean_calls[side][p];
                cause->cost[side] += cost;
                if (i && parent != CRN_WHY_NONE)
                    cause->caller_calls[side] += work->mean_calls[side][parent];
                size += cost;
            }
            if (cause->context == CRN_WHY_NONE || size > largest[causes[i]]) {
                largest[causes[i]] = size;
                cause->context = pairs->list[p].context;
            }
        }
    }
    crn_free(largest);
}

static void count_calls(working *work, const crn_why_contexts *contexts)
{
    crn_why *why = work->why;
    double *calls = crn_calloc((size_t)why->block_count * CRN_SIDES, sizeof *calls);
    size_t run = 0;
    for (int side = 0; side < CRN_SIDES; side++)
        for (size_t i = 0; i < work->runs[side]; i++, run++)
            for (uint32_t c = 0; c < contexts->count; c++)
                calls[(size_t)contexts->block[c] * CRN_SIDES + (size_t)side] +=
                    contexts->calls[run][c] / (double)work->runs[side];
    for (size_t k = 0; k < why->cause_count; k++)
        memcpy(why->causes[k].block_calls, &calls[(size_t)why->causes[k].block * CRN_SIDES],
               sizeof why->causes[k].block_calls);
    crn_free(calls);
}

static int compare_causes(const void *left, const void *right)
{
    const crn_why_cause *a = left, *b = right;
    double x = fabs(a->amount), y = fabs(b->amount);
    return CRN_ORDER(y, x)
               ?: CRN_ORDER(a->kind, b->kind)
               ?: CRN_ORDER(a->block, b->block)
               ?: CRN_ORDER(a->caller, b->caller);
}

/* Sorts the causes. Drops causes that change nothing. */
static void sort_causes(crn_why *why)
{
    size_t count = 0;
    double whole = why->total[CRN_BEFORE] + why->total[CRN_AFTER];
    for (size_t k = 0; k < why->cause_count; k++)
        if (fabs(why->causes[k].amount) > 1e-12 * whole)
            why->causes[count++] = why->causes[k];
    why->cause_count = count;
    if (count)
        qsort(why->causes, count, sizeof *why->causes, compare_causes);
}

static void work_out(crn_why *why, const crn_why_input *input, const crn_why_contexts *contexts,
                     const crn_why_pairs *pairs)
{
    working work = {.pairs = pairs, .why = why};
    size_t run = 0, count = pairs->count;
    memcpy(work.runs, input->runs, sizeof work.runs);
    work.calls = crn_calloc(contexts->runs, sizeof *work.calls);
    work.cost = crn_calloc(contexts->runs, sizeof *work.cost);
    work.calls_cause = crn_calloc(count, sizeof(uint32_t));
    work.cost_cause = crn_calloc(count, sizeof(uint32_t));
    work.divisia = crn_calloc(count, sizeof(double));
    for (int side = 0; side < CRN_SIDES; side++) {
        work.mean_calls[side] = crn_calloc(count, sizeof(double));
        work.mean_cost[side] = crn_calloc(count, sizeof(double));
        work.effective[side] = crn_calloc(count, sizeof(double));
        for (size_t i = 0; i < input->runs[side]; i++, run++)
            take_run(&work, contexts, run, side);
    }
    find_causes(&work);
    bool several = work.runs[CRN_BEFORE] > 1 && work.runs[CRN_AFTER] > 1;
    if (several)
        take_errors(&work);
    take_means(&work, CRN_WHY_NONE);
    double *amounts = crn_calloc(why->cause_count + 1, sizeof *amounts);
    take_effects(&work, amounts);
    for (size_t k = 0; k < why->cause_count; k++)
        why->causes[k].amount = amounts[k];
    crn_free(amounts);
    for (int side = 0; side < CRN_SIDES; side++)
        for (uint32_t p = 0; p < pairs->count; p++)
            why->total[side] += work.mean_cost[side][p];
    describe(&work);
    count_calls(&work, contexts);
    if (several) {
        judge_total(why, contexts, work.runs);
        judge_causes(&work);
    } else {
        why->low = why->high = why->total[CRN_AFTER] - why->total[CRN_BEFORE];
        judge_samples(why, input);
    }
    sort_causes(why);
    for (run = 0; run < contexts->runs; run++) {
        crn_free(work.calls[run]);
        crn_free(work.cost[run]);
    }
    for (int side = 0; side < CRN_SIDES; side++) {
        crn_free(work.mean_calls[side]);
        crn_free(work.mean_cost[side]);
        crn_free(work.effective[side]);
    }
    crn_free((void *)work.calls);
    crn_free((void *)work.cost);
    crn_free(work.calls_cause);
    crn_free(work.cost_cause);
    crn_free(work.divisia);
}

/* ---- blocks ---- */

static crn_profile *sum_of(const crn_why_input *input, int side)
{
    crn_merge *merge = crn_merge_new();
    for (size_t i = 0; i < input->runs[side]; i++)
        crn_merge_add(merge, input->profiles[side][i]);
    return crn_merge_end(merge);
}

/* Returns, by run and block, the block's number in the join, which numbers the merged runs'
 * blocks. */
static uint32_t **number_blocks(const crn_why *why, const crn_why_input *input,
                                const crn_block_join *join)
{
    uint32_t **numbers =
        crn_calloc(input->runs[CRN_BEFORE] + input->runs[CRN_AFTER], sizeof *numbers);
    size_t run = 0;
    for (int side = 0; side < CRN_SIDES; side++)
        for (size_t i = 0; i < input->runs[side]; i++, run++) {
            const crn_profile *profile = input->profiles[side][i];
            numbers[run] = crn_blocks_match(profile, why->sums[side]);
            for (uint32_t b = 0; b < profile->block_count; b++)
                numbers[run][b] = join->numbers[side][numbers[run][b]];
        }
    return numbers;
}

static uint8_t *name_blocks(crn_why *why, const crn_block_join *join)
{
    uint8_t *there = crn_calloc(join->count, 1);
    why->block_count = join->count;
    why->blocks = crn_calloc(join->count, sizeof *why->blocks);
    for (int side = 0; side < CRN_SIDES; side++)
        for (uint32_t b = 0; b < why->sums[side]->block_count; b++) {
            why->blocks[join->numbers[side][b]] = &why->sums[side]->blocks[b];
            there[join->numbers[side][b]] |= (uint8_t)(1 << side);
        }
    return there;
}

static crn_why make(const crn_why_input *input)
{
    crn_why why = {0};
    for (int side = 0; side < CRN_SIDES; side++)
        why.sums[side] = sum_of(input, side);
    crn_block_join join = crn_block_join_make(why.sums[CRN_BEFORE], why.sums[CRN_AFTER]);
    crn_why_find_renamed(&why, &join, input->metric);
    uint8_t *there = name_blocks(&why, &join);
    uint32_t **numbers = number_blocks(&why, input, &join);
    crn_why_contexts contexts = crn_why_contexts_make(input, numbers);
    crn_why_pairs pairs = crn_why_pairs_make(&contexts, there);
    why.calls = !crn_calls_missing(why.sums[CRN_BEFORE]) && !crn_calls_missing(why.sums[CRN_AFTER]);
    work_out(&why, input, &contexts, &pairs);
    why.parent = contexts.parent;
    why.block = contexts.block;
    why.context_count = contexts.count;
    contexts.parent = contexts.block = NULL;
    for (size_t run = 0; run < contexts.runs; run++)
        crn_free(numbers[run]);
    crn_free((void *)numbers);
    crn_free(there);
    crn_why_pairs_free(&pairs);
    crn_why_contexts_free(&contexts);
    crn_block_join_free(&join);
    return why;
}

crn_why crn_why_make(const crn_why_input *input)
{
    crn_why_input paths = *input;
    size_t count = input->runs[CRN_BEFORE] + input->runs[CRN_AFTER], unfolded = 0, run = 0;
    const crn_profile **profiles = crn_calloc(count, sizeof *profiles);
    crn_profile **own = crn_calloc(count, sizeof *own);
    for (int side = 0; side < CRN_SIDES; side++) {
        paths.profiles[side] = profiles + run;
        for (size_t i = 0; i < input->runs[side]; i++, run++) {
            own[run] = crn_profile_unfold(input->profiles[side][i], input->metric);
            profiles[run] = own[run] ? own[run] : input->profiles[side][i];
            unfolded += own[run] != NULL;
        }
    }
    crn_why why = make(unfolded == count ? &paths : input);
    why.estimated = unfolded == count;
    for (run = 0; run < count; run++)
        crn_profile_free(own[run]);
    crn_free((void *)own);
    crn_free((void *)profiles);
    return why;
}

void crn_why_free(crn_why *why)
{
    for (int side = 0; side < CRN_SIDES; side++)
        crn_profile_free(why->sums[side]);
    crn_free(why->causes);
    crn_free(why->matches);
    crn_free((void *)why->blocks);
    crn_free(why->parent);
    crn_free(why->block);
    *why = (crn_why){0};
}

size_t crn_why_path(const crn_why *why, uint32_t context, uint32_t *blocks, size_t most)
{
    size_t count = 0;
    for (uint32_t c = context; c && count < most; c = why->parent[c])
        blocks[count++] = why->block[c];
    for (size_t i = 0, j = count; i + 1 < j; i++) {
        uint32_t first = blocks[i];
        blocks[i] = blocks[--j];
        blocks[j] = first;
    }
    return count;
}
