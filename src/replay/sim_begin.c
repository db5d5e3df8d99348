/* SPDX-License-Identifier: MIT
 *
 * Begins a run, with the scenario's number of lanes, and ends it.
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

/* Sets the number of a pool's lanes. If lanes are removed, the others serve all queues. Added lanes
 * serve the queues of the recorded lanes in turn. */
static void set_lane_count(crn_sim *sim, const crn_pool_plan *pool, uint32_t number)
{
    uint32_t wanted = lanes_wanted(sim, pool), had = pool->facts.lanes;
    for (uint32_t i = 0; i < had; i++) {
        sim->lanes[pool->lanes[i]].dismissed = i >= wanted;
        if (wanted < had)
            sim->lanes[pool->lanes[i]].serves = UINT64_MAX;
    }
    for (uint32_t i = had; had && i < wanted; i++) {
        uint32_t lane = sim->lane_count++;
        sim->lanes[lane] = (crn_sim_lane){.op = pool->code.bytes,
                                          .pool = number,
                                          .serves = sim->lanes[pool->lanes[i % had]].serves};
    }
}

static void begin_lanes(crn_sim *sim)
{
    const crn_replay *replay = sim->replay;
    uint32_t recorded = replay->trace->lane_count, most = recorded;
    for (uint32_t p = 0; p < replay->pool_count; p++)
        most += lanes_wanted(sim, &replay->pools[p]);
    sim->lanes = crn_calloc(most + (size_t)1, sizeof *sim->lanes);
    sim->working.entries = crn_calloc(most + (size_t)1, sizeof(crn_heap_entry));
    sim->sleeping.entries = crn_calloc(most + (size_t)1, sizeof(crn_heap_entry));
    for (uint32_t lane = 0; lane < recorded; lane++)
        sim->lanes[lane] = (crn_sim_lane){.op = replay->lanes[lane].code.bytes,
                                          .pool = replay->lanes[lane].pool,
                                          .serves = replay->lanes[lane].serves};
    sim->lane_count = recorded;
    for (uint32_t p = 0; p < replay->pool_count; p++)
        set_lane_count(sim, &replay->pools[p], p);
    sim->runnable.first = sim->gates.first = CRN_NONE;
    for (uint32_t lane = 0; lane < sim->lane_count; lane++)
        crn_sim_wake(sim, lane);
}

static void begin_queues(crn_sim *sim)
{
    const crn_replay *replay = sim->replay;
    uint32_t kinds = replay->kind_count, queues = replay->queue_count,
             jobs = replay->job_count + replay->copy_count;
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
        sim->pending[gate] = replay->pending[gate];
        sim->gated[gate] = CRN_NONE;
    }
}

static void begin_factors(crn_sim *sim)
{
    const crn_replay *replay = sim->replay;
    const double *factor = sim->scenario->factor;
    sim->factor = crn_calloc(replay->class_count, sizeof *sim->factor);
    for (uint32_t class = 0; class < replay->class_count; class ++)
        sim->factor[class] = factor && class % 2 ? factor[class / 2] : 1;
}

static void free_all(crn_sim *sim)
{
    for (uint32_t lane = 0; lane < sim->lane_count; lane++)
        crn_free(sim->lanes[lane].begun);
    crn_free(sim->lanes);
    crn_free(sim->factor);
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
    crn_free(sim->beats);
    crn_free(sim->locks);
    crn_free(sim->pending);
    crn_free(sim->gated);
}

static void begin_outcome(crn_sim *sim)
{
    crn_outcome *outcome = sim->outcome;
    uint32_t count = sim->replay->watched_count;
    crn_lengths_free(&outcome->lengths);
    outcome->begin = sim->replay->origin;
    outcome->loosened = 0;
    outcome->late = 0;
    outcome->dropped = outcome->copies = outcome->droppable = 0;
    sim->first = UINT64_MAX;
    sim->last = 0;
    if (sim->scenario->length_only)
        return;
    if (!outcome->begins) {
        outcome->begins = crn_calloc(count + (size_t)1, sizeof *outcome->begins);
        outcome->ends = crn_calloc(count + (size_t)1, sizeof *outcome->ends);
    }
    if (!outcome->copy_ends && sim->replay->copy_count)
        outcome->copy_ends = crn_calloc(sim->replay->copy_count, sizeof *outcome->copy_ends);
    for (uint32_t i = 0; i < sim->replay->copy_count; i++)
        outcome->copy_ends[i] = 0;
    for (uint32_t i = 0; i < count; i++)
        outcome->begins[i] = outcome->ends[i] = outcome->begin;
}

void crn_sim_begin(crn_sim *sim)
{
    begin_outcome(sim);
    begin_factors(sim);
    begin_queues(sim);
    begin_gates(sim);
    sim->beats = crn_calloc(sim->replay->timer_count + (size_t)1, sizeof *sim->beats);
    sim->locks = crn_calloc(sim->replay->block_count, sizeof *sim->locks);
    for (uint32_t block = 0; block < sim->replay->block_count; block++)
        sim->locks[block].waiting.first = CRN_NONE;
    begin_lanes(sim);
}

/* Ends a simulation. Its length, as in the recording, is from the first begin to the last end. */
void crn_sim_end(crn_sim *sim)
{
    free_all(sim);
    sim->outcome->length = sim->last > sim->first ? sim->last - sim->first : 0;
}

void crn_outcome_free(crn_outcome *outcome)
{
    crn_free(outcome->begins);
    crn_free(outcome->ends);
    crn_free(outcome->copy_ends);
    crn_lengths_free(&outcome->lengths);
    *outcome = (crn_outcome){0};
}
