/* SPDX-License-Identifier: MIT
 *
 * Runs the operations of all lanes against one another. Lanes that work share the processors
 * evenly: each has had the same *processor time* since they began, so the next to be done is the
 * one with the least left, however many there are.
 */
#include "replay/sim.h"

/* ---- operations: each returns whether the lane goes on at once ---- */

static bool run_loop(crn_sim *sim, uint32_t number, const crn_op *op)
{
    crn_sim_lane *lane = &sim->lanes[number];
    uint32_t place = lane->dismissed ? CRN_NONE : crn_sim_choose(sim, lane);
    if (place == CRN_NONE) {
        if (lane->dismissed || !crn_sim_has_hope(sim, lane)) {
            lane->op = (uint32_t)op->amount;
            return true;
        }
        lane->state = LANE_IDLE;
        crn_sim_list_add(sim, &sim->idle[lane->pool], number);
        return false;
    }
    uint32_t id = sim->replay->pools[lane->pool].first_queue + place;
    crn_job_queue *queue = &sim->queues[id];
    uint32_t job = sim->queued[queue->base + queue->head++];
    lane->op = sim->replay->jobs[job].first;
    crn_sim_make_room(sim, job);
    if (--sim->to_start[id] == 0)
        crn_sim_release_idle(sim, lane->pool);
    return true;
}

static bool run_work(crn_sim *sim, uint32_t number, const crn_op *op)
{
    const crn_scenario *scenario = sim->scenario;
    double amount = (double)op->amount;
    if (scenario->factor && (!scenario->kept || scenario->kept[op->who]))
        amount *= scenario->factor[crn_replay_block(sim->replay, op->who)];
    if (amount <= 0)
        return true;
    sim->lanes[number].state = LANE_WORKS;
    crn_sim_heap_add(&sim->working, sim->processor + amount, number);
    return false;
}

static bool run_sleep(crn_sim *sim, uint32_t number, double until)
{
    if (until <= sim->now)
        return true;
    sim->lanes[number].state = LANE_SLEEPS;
    crn_sim_heap_add(&sim->sleeping, until, number);
    return false;
}

static bool run_gate(crn_sim *sim, uint32_t number, uint32_t gate)
{
    if (sim->pending[gate] == 0)
        return true;
    crn_sim_wait_at_gate(sim, number, gate);
    return false;
}

static bool run_take(crn_sim *sim, uint32_t number, uint32_t job)
{
    uint32_t kind = sim->replay->jobs[job].kind;
    if (sim->capacity[kind] && sim->occupied[kind] >= sim->capacity[kind]) {
        sim->lanes[number].state = LANE_PUSHES;
        sim->lanes[number].op--; /* who makes room hands it off */
        crn_sim_list_add(sim, &sim->pushing[kind], number);
        return false;
    }
    crn_sim_put(sim, job);
    return true;
}

/* No program runs for 146 years, but a file can say so. */
static uint64_t moment(const crn_sim *sim)
{
    return sim->outcome->begin + (uint64_t)(sim->now < 0x1p62 ? sim->now + 0.5 : 0x1p62);
}

static void run_lane(crn_sim *sim, uint32_t number)
{
    crn_sim_lane *lane = &sim->lanes[number];
    crn_outcome *outcome = sim->outcome;
    bool goes_on = true;
    while (goes_on) {
        uint32_t at = lane->op++;
        const crn_op *op = &sim->replay->ops[at];
        switch ((crn_op_kind)op->kind) {
        case CRN_OP_WORK:
            goes_on = run_work(sim, number, op);
            break;
        case CRN_OP_DELAY:
            goes_on = run_sleep(sim, number, sim->now + (double)op->amount);
            break;
        case CRN_OP_UNTIL:
            goes_on = run_sleep(sim, number, (double)op->amount);
            break;
        case CRN_OP_BEGIN:
            outcome->begins[op->who] = moment(sim);
            break;
        case CRN_OP_END:
            outcome->ends[op->who] = moment(sim);
            break;
        case CRN_OP_GATE:
            goes_on = run_gate(sim, number, op->who);
            break;
        case CRN_OP_SIGNAL:
            crn_sim_signal(sim, op->who);
            break;
        case CRN_OP_TAKE:
            goes_on = run_take(sim, number, op->who);
            break;
        case CRN_OP_START:
            crn_sim_make_room(sim, op->who);
            break;
        case CRN_OP_LOOP:
            lane->op = at; /* where it comes back to when it was idle */
            goes_on = run_loop(sim, number, op);
            break;
        case CRN_OP_RETURN:
            lane->op = sim->replay->pools[lane->pool].loop;
            if (number < sim->replay->trace->lane_count)
                lane->op = (uint32_t)sim->replay->lanes[number].loop;
            break;
        case CRN_OP_STOP:
            lane->state = LANE_DONE;
            goes_on = false;
            break;
        }
    }
}

/* ---- time ---- */

/* To the next moment at which a lane goes on. False if there is none. */
static bool advance(crn_sim *sim)
{
    if (!sim->working.count && !sim->sleeping.count)
        return false;
    double count = sim->working.count;
    double rate = count > sim->cores ? sim->cores / count : 1;
    double done =
        sim->working.count ? sim->now + (sim->working.entries[0].due - sim->processor) / rate : 0;
    if (!sim->sleeping.count || (sim->working.count && done <= sim->sleeping.entries[0].due)) {
        sim->processor = sim->working.entries[0].due;
        sim->now = done > sim->now ? done : sim->now;
        crn_sim_wake(sim, crn_sim_heap_take(&sim->working));
        return true;
    }
    double moment = sim->sleeping.entries[0].due;
    if (sim->working.count)
        sim->processor += (moment - sim->now) * rate;
    sim->now = moment > sim->now ? moment : sim->now;
    crn_sim_wake(sim, crn_sim_heap_take(&sim->sleeping));
    return true;
}

/* Everyone waits for someone: the first gate that somebody or something stands before is opened,
 * or a queue takes one more than it holds. False when all are done. */
static bool loosen(crn_sim *sim)
{
    const crn_replay *replay = sim->replay;
    for (uint32_t kind = 0; kind < replay->kind_count; kind++) {
        if (sim->pushing[kind].first == CRN_NONE)
            continue;
        uint32_t lane = crn_sim_list_take(sim, &sim->pushing[kind]);
        crn_sim_put(sim, replay->ops[sim->lanes[lane].op++].who);
        crn_sim_wake(sim, lane);
        sim->outcome->loosened++;
        return true;
    }
    uint32_t gate = sim->gates.first == CRN_NONE ? CRN_NONE : sim->lanes[sim->gates.first].gate;
    for (; gate == CRN_NONE && sim->next_forced < replay->job_count; sim->next_forced++)
        if (sim->pending[sim->next_forced] && replay->jobs[sim->next_forced].movable)
            gate = sim->next_forced;
    if (gate == CRN_NONE)
        return false;
    sim->pending[gate] = 1;
    crn_sim_signal(sim, gate);
    sim->outcome->loosened++;
    return true;
}

/* ---- from the beginning to the end ---- */

void crn_replay_run(const crn_replay *replay, const crn_scenario *scenario, crn_outcome *outcome)
{
    unsigned cores = scenario->cores ? scenario->cores : replay->facts.cores;
    crn_sim sim = {.replay = replay,
                   .scenario = scenario,
                   .outcome = outcome,
                   .cores = cores ? cores : UINT32_MAX};
    crn_sim_begin(&sim);
    do {
        while (sim.runnable.first != CRN_NONE)
            run_lane(&sim, crn_sim_list_take(&sim, &sim.runnable));
    } while (advance(&sim) || loosen(&sim));
    crn_sim_end(&sim);
}
