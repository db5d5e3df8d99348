/* SPDX-License-Identifier: MIT */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "replay/program.h"

/* ---- what the program noted ---- */

static bool is_about(const char *key, const char *what, const char **name)
{
    size_t length = strlen(what);
    *name = key + length;
    return strncmp(key, what, length) == 0;
}

static void read_note(crn_replay_setup *setup, const crn_profile *profile, const crn_note *note)
{
    const char *name;
    bool queue = is_about(note->key, "queue.", &name);
    bool sleep = !queue && is_about(note->key, "sleep.", &name);
    bool timer = !queue && !sleep && is_about(note->key, "timer.", &name);
    if (!queue && !sleep && !timer)
        return;
    unsigned long capacity = strtoul(note->value, NULL, 10);
    for (uint32_t b = 0; b < profile->block_count; b++) {
        if (strcmp(profile->blocks[b].name, name) != 0)
            continue;
        if (queue)
            setup->capacity[b] = capacity < UINT32_MAX ? (uint32_t)capacity : 0;
        else
            setup->rest[b] = sleep ? CRN_REST_SLEEP : CRN_REST_TIMER;
    }
}

crn_replay_setup crn_replay_setup_read(const crn_profile *profile)
{
    enum { MOST_NOTES = 1000 }; /* about blocks: each is looked for among all of them */
    crn_replay_setup setup = {.block_count = profile->block_count};
    setup.capacity = crn_calloc(profile->block_count + (size_t)1, sizeof *setup.capacity);
    setup.rest = crn_calloc(profile->block_count + (size_t)1, 1);
    unsigned long cores = strtoul(crn_profile_note(profile, "cores", "0"), NULL, 10);
    setup.cores = cores < UINT16_MAX ? (unsigned)cores : 0;
    for (size_t n = 0; n < profile->note_count && n < MOST_NOTES; n++)
        read_note(&setup, profile, &profile->notes[n]);
    return setup;
}

void crn_replay_setup_free(crn_replay_setup *setup)
{
    crn_free(setup->capacity);
    crn_free(setup->rest);
    *setup = (crn_replay_setup){0};
}

/* ---- its life ---- */

static void describe_pools(crn_replay *replay)
{
    crn_replay_facts *facts = &replay->facts;
    facts->pool_count = replay->pool_count;
    facts->pools = crn_calloc(replay->pool_count + (size_t)1, sizeof *facts->pools);
    for (uint32_t p = 0; p < replay->pool_count; p++) {
        crn_pool_plan *pool = &replay->pools[p];
        uint32_t *blocks = crn_calloc(pool->facts.kinds + (size_t)1, sizeof *blocks);
        /* At most CRN_QUEUES kinds have ranks. */
        for (uint32_t k = 0; k < pool->facts.kinds; k++) {
            uint32_t at = k, rank = pool->rank[k % CRN_QUEUES];
            while (pool->facts.by_kind && at &&
                   pool->rank[replay->kinds[replay->kind_of[blocks[at - 1]]].queue] > rank) {
                blocks[at] = blocks[at - 1];
                at--;
            }
            blocks[at] = replay->kinds[pool->kinds[k]].block;
        }
        pool->facts.blocks = blocks;
        pool->facts.first = blocks[0];
        facts->pools[p] = pool->facts;
    }
}

static void plan_again(crn_replay *replay)
{
    crn_free(replay->ops);
    crn_free(replay->facts.lanes);
    replay->ops = NULL;
    replay->op_count = replay->op_room = 0;
    replay->wake_count = replay->wake_room = 0;
    replay->facts.work = 0;
    crn_plan_ops(replay);
    crn_plan_cores(replay);
}

crn_replay *crn_replay_make(const crn_trace *trace, const crn_replay_setup *setup)
{
    crn_replay *replay = crn_calloc(1, sizeof *replay);
    replay->trace = trace;
    replay->block_count = setup->block_count ? setup->block_count : 1;
    replay->no_guesses = setup->no_guesses;
    replay->fixed = setup->fixed;
    replay->rest = crn_calloc(replay->block_count, 1);
    if (setup->rest)
        memcpy(replay->rest, setup->rest, setup->block_count);
    replay->facts.cores = setup->cores;
    crn_plan_order(replay);
    crn_plan_jobs(replay, setup);
    crn_plan_edges(replay);
    crn_plan_pools(replay);
    crn_plan_ops(replay);
    crn_plan_cores(replay);
    if (crn_plan_working(replay))
        plan_again(replay);
    describe_pools(replay);
    replay->facts.recorded = trace->span_count ? replay->last - replay->origin : 0;
    crn_outcome outcome = {.begins = NULL};
    crn_replay_run(replay, &(crn_scenario){.factor = NULL}, &outcome);
    replay->facts.replayed = outcome.length;
    replay->facts.loosened = outcome.loosened;
    crn_outcome_free(&outcome);
    return replay;
}

void crn_replay_free(crn_replay *replay)
{
    if (!replay)
        return;
    for (uint32_t p = 0; p < replay->pool_count; p++) {
        crn_free(replay->pools[p].kinds);
        crn_free(replay->pools[p].lanes);
        crn_free(replay->pools[p].facts.blocks);
    }
    crn_free(replay->rest);
    crn_free(replay->facts.lanes);
    crn_free(replay->facts.pools);
    crn_free(replay->order);
    crn_free(replay->lane_first);
    crn_free(replay->jobs);
    crn_free(replay->job_of);
    crn_free(replay->gates);
    crn_free(replay->begin_gate);
    crn_free(replay->points);
    crn_free(replay->point_first);
    crn_free(replay->kinds);
    crn_free(replay->kind_of);
    crn_free(replay->pools);
    crn_free(replay->lanes);
    crn_free(replay->ops);
    crn_free(replay->op_time);
    crn_free(replay->bottom_up);
    crn_free(replay->working);
    crn_free(replay);
}

const crn_replay_facts *crn_replay_facts_of(const crn_replay *replay)
{
    return &replay->facts;
}

/* ---- trust ---- */

double crn_replay_drift(const crn_replay *replay)
{
    const crn_replay_facts *facts = &replay->facts;
    double recorded = (double)facts->recorded;
    return facts->recorded ? ((double)facts->replayed - recorded) / recorded : 0;
}

bool crn_replay_is_odd(const crn_replay *replay, const crn_replay_lane *lane)
{
    return (double)lane->unexplained > CRN_REPLAY_TRUST * (double)replay->facts.recorded;
}

bool crn_replay_is_trusted(const crn_replay *replay)
{
    const crn_replay_facts *facts = &replay->facts;
    double drift = crn_replay_drift(replay);
    if (drift > CRN_REPLAY_TRUST || drift < -CRN_REPLAY_TRUST || facts->loosened ||
        replay->trace->dropped || replay->trace->details_dropped || replay->trace->skipped)
        return false;
    for (uint32_t lane = 0; lane < facts->lane_count; lane++)
        if (crn_replay_is_odd(replay, &facts->lanes[lane]))
            return false;
    return true;
}

/* ---- parts of it ---- */

uint8_t *crn_replay_below(const crn_replay *replay, const uint8_t *const *path, size_t length)
{
    const crn_trace *trace = replay->trace;
    uint8_t *below = crn_calloc(trace->span_count + (size_t)1, 1);
    for (uint32_t i = trace->span_count; i--;) { /* parents before children */
        uint32_t span = replay->bottom_up[i], at = span;
        uint32_t parent = trace->spans[span].parent;
        size_t matched = 0;
        while (matched < length && at != CRN_SPAN_NONE &&
               path[length - 1 - matched][crn_replay_block(replay, at)]) {
            matched++;
            at = trace->spans[at].parent;
        }
        below[span] = matched == length || (parent != CRN_SPAN_NONE && below[parent]);
    }
    return below;
}

uint64_t *crn_replay_work(const crn_replay *replay, const uint8_t *kept)
{
    uint64_t *work = crn_calloc(replay->block_count + (size_t)1, sizeof *work);
    for (uint32_t o = 0; o < replay->op_count; o++) {
        const crn_op *op = &replay->ops[o];
        if (op->kind == CRN_OP_WORK && (!kept || kept[op->who]))
            work[crn_replay_block(replay, op->who)] += op->amount;
    }
    return work;
}

/* ---- latencies ---- */

static int compare_lengths(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static uint64_t at_rank(const uint64_t *lengths, uint32_t count, uint32_t percent)
{
    uint64_t rank = ((uint64_t)count * percent + 99) / 100;
    return lengths[rank ? rank - 1 : 0];
}

crn_latency crn_replay_latency(const crn_replay *replay, const crn_outcome *outcome, uint32_t block)
{
    const crn_trace *trace = replay->trace;
    uint32_t spans = trace->span_count;
    uint64_t *done = crn_calloc(spans + (size_t)1, sizeof *done);
    uint64_t *lengths = crn_calloc(spans + (size_t)1, sizeof *lengths);
    crn_latency latency = {.count = 0};
    for (uint32_t i = 0; i < spans; i++) {
        uint32_t span = replay->bottom_up[i];
        const crn_span *its = &trace->spans[span];
        uint64_t end = outcome ? outcome->ends[span] : its->end;
        uint64_t begin = outcome ? outcome->begins[span] : its->start;
        done[span] = done[span] < end ? end : done[span];
        if (its->parent != CRN_SPAN_NONE && done[its->parent] < done[span])
            done[its->parent] = done[span];
        bool meant = block == UINT32_MAX ? its->parent == CRN_SPAN_NONE
                                         : crn_replay_block(replay, span) == block;
        if (meant && !its->open)
            lengths[latency.count++] = done[span] - begin;
    }
    uint64_t whole = outcome ? outcome->length : replay->facts.recorded;
    if (latency.count) {
        qsort(lengths, latency.count, sizeof *lengths, compare_lengths);
        latency.median = at_rank(lengths, latency.count, 50);
        latency.p90 = at_rank(lengths, latency.count, 90);
        latency.p99 = at_rank(lengths, latency.count, 99);
        latency.max = lengths[latency.count - 1];
    }
    if (whole)
        latency.throughput = latency.count * 1e9 / (double)whole;
    crn_free(done);
    crn_free(lengths);
    return latency;
}
