/* SPDX-License-Identifier: MIT
 *
 * The begin of a run, with who is there in this scenario, and its end.
 */
#include "base/memory.h"
#include "replay/sim.h"

static uint32_t lanes_wanted(const crn_sim *sim, const crn_pool_plan *pool)
{
    uint32_t wanted = 0;
    for (uint32_t k = 0; sim->scenario->threads && k < pool->facts.kinds; k++) {
        uint32_t asked = sim->scenario->threads[sim->replay->kinds[pool->kinds[k]].block];
        wanted = wanted < asked ? asked : wanted;
    }
    return wanted ? wanted : pool->facts.lanes;
}

/* Those of the recording that are left take over what the others took; further ones take what the
 * recorded ones take, in turn. */
static void staff(crn_sim *sim, const crn_pool_plan *pool, uint32_t number)
{
    uint32_t wanted = lanes_wanted(sim, pool), had = pool->facts.lanes;
    for (uint32_t i = 0; i < had; i++) {
        sim->lanes[pool->lanes[i]].dismissed = i >= wanted;
        if (wanted < had)
            sim->lanes[pool->lanes[i]].serves = UINT64_MAX;
    }
    for (uint32_t i = had; had && i < wanted; i++) {
        uint32_t lane = sim->lane_count++;
        sim->lanes[lane] = (crn_sim_lane){
            .op = pool->loop, .pool = number, .serves = sim->lanes[pool->lanes[i % had]].serves};
    }
}

static void begin_lanes(crn_sim *sim)
{
    const crn_replay *replay = sim->replay;
    uint32_t recorded = replay->trace->lane_count, most = recorded;
    for (uint32_t p = 0; p < replay->pool_count; p++)
        most += lanes_wanted(sim, &replay->pools[p]);
    sim->lanes = crn_calloc(most + (size_t)1, sizeof *sim->lanes);
    sim->working.entries = crn_calloc(most + (size_t)1, sizeof(crn_due));
    sim->sleeping.entries = crn_calloc(most + (size_t)1, sizeof(crn_due));
    for (uint32_t lane = 0; lane < recorded; lane++)
        sim->lanes[lane] = (crn_sim_lane){.op = replay->lanes[lane].first,
                                          .pool = replay->lanes[lane].pool,
                                          .serves = replay->lanes[lane].serves};
    sim->lane_count = recorded;
    for (uint32_t p = 0; p < replay->pool_count; p++)
        staff(sim, &replay->pools[p], p);
    sim->runnable.first = sim->gates.first = CRN_NONE;
    for (uint32_t lane = 0; lane < sim->lane_count; lane++)
        crn_sim_wake(sim, lane);
}

static void begin_queues(crn_sim *sim)
{
    const crn_replay *replay = sim->replay;
    uint32_t kinds = replay->kind_count, queues = replay->queue_count, jobs = replay->job_count;
    sim->queues = crn_calloc(queues + (size_t)1, sizeof *sim->queues);
    sim->to_start = crn_calloc(queues + (size_t)1, sizeof *sim->to_start);
    sim->queued = crn_calloc(jobs + (size_t)1, sizeof *sim->queued);
    sim->arrived = crn_calloc(jobs + (size_t)1, sizeof *sim->arrived);
    sim->idle = crn_calloc(replay->pool_count + (size_t)1, sizeof *sim->idle);
    sim->pushing = crn_calloc(kinds + (size_t)1, sizeof *sim->pushing);
    sim->occupied = crn_calloc(kinds + (size_t)1, sizeof *sim->occupied);
    sim->capacity = crn_calloc(kinds + (size_t)1, sizeof *sim->capacity);
    for (uint32_t p = 0; p < replay->pool_count; p++)
        sim->idle[p].first = CRN_NONE;
    for (uint32_t k = 0; k < kinds; k++) {
        const crn_kind *kind = &replay->kinds[k];
        sim->pushing[k].first = CRN_NONE;
        sim->capacity[k] =
            sim->scenario->capacity ? sim->scenario->capacity[kind->block] : kind->capacity;
        if (kind->pool != CRN_NONE)
            sim->to_start[replay->pools[kind->pool].first_queue + kind->queue] += kind->jobs;
    }
    for (uint32_t q = 0, base = 0; q < queues; q++) {
        sim->queues[q] = (crn_job_queue){base, 0, 0};
        base += sim->to_start[q];
    }
}

static void begin_gates(crn_sim *sim)
{
    const crn_replay *replay = sim->replay;
    sim->pending = crn_calloc(replay->gate_count + (size_t)1, sizeof *sim->pending);
    sim->gated = crn_calloc(replay->gate_count + (size_t)1, sizeof *sim->gated);
    for (uint32_t gate = 0; gate < replay->gate_count; gate++) {
        sim->pending[gate] = replay->gates[gate].pending;
        sim->gated[gate] = CRN_NONE;
    }
}

static void free_all(crn_sim *sim)
{
    crn_free(sim->lanes);
    crn_free(sim->working.entries);
    crn_free(sim->sleeping.entries);
    crn_free(sim->queues);
    crn_free(sim->to_start);
    crn_free(sim->queued);
    crn_free(sim->arrived);
    crn_free(sim->idle);
    crn_free(sim->pushing);
    crn_free(sim->occupied);
    crn_free(sim->capacity);
    crn_free(sim->pending);
    crn_free(sim->gated);
}

static void begin_outcome(const crn_replay *replay, crn_outcome *outcome)
{
    uint32_t spans = replay->trace->span_count;
    if (!outcome->begins) {
        outcome->begins = crn_calloc(spans + (size_t)1, sizeof *outcome->begins);
        outcome->ends = crn_calloc(spans + (size_t)1, sizeof *outcome->ends);
    }
    outcome->begin = replay->origin;
    outcome->loosened = 0;
    for (uint32_t s = 0; s < spans; s++)
        outcome->begins[s] = outcome->ends[s] = replay->origin;
}

/* From the first begin to the last end, as in the recording. */
static void end_outcome(const crn_replay *replay, crn_outcome *outcome)
{
    uint64_t begin = UINT64_MAX, end = 0;
    for (uint32_t s = 0; s < replay->trace->span_count; s++) {
        begin = outcome->begins[s] < begin ? outcome->begins[s] : begin;
        end = outcome->ends[s] > end ? outcome->ends[s] : end;
    }
    outcome->length = end > begin ? end - begin : 0;
}

void crn_sim_begin(crn_sim *sim)
{
    begin_outcome(sim->replay, sim->outcome);
    begin_queues(sim);
    begin_gates(sim);
    begin_lanes(sim);
}

void crn_sim_end(crn_sim *sim)
{
    free_all(sim);
    end_outcome(sim->replay, sim->outcome);
}

void crn_outcome_free(crn_outcome *outcome)
{
    crn_free(outcome->begins);
    crn_free(outcome->ends);
    *outcome = (crn_outcome){0};
}
