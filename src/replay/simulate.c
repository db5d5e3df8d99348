/* SPDX-License-Identifier: MIT
 *
 * Runs the operations of all lanes. Working lanes share the processors equally, so all advance at
 * the same rate of virtual *processor time*, and the lane with the least work left finishes next,
 * however many lanes work.
 */
#include <math.h>

#include "base/memory.h"
#include "replay/sim.h"

/* ---- time ---- */

/* Returns the share of a processor that each of `working` lanes has. */
static double rate_of(const crn_sim *sim, uint32_t working)
{
    return working > sim->cores ? sim->cores / working : 1;
}

/* If no other lane continues before a lane's work ends, advances to its end and returns true. */
static bool works_alone(crn_sim *sim, uint32_t number, double time)
{
    const crn_heap_entry *top = sim->working.entries;
    if (sim->runnable.first != CRN_NONE ||
        (sim->working.count && (top->time < time || (top->time == time && top->lane < number))))
        return false;
    double done = sim->now + (time - sim->processor) / rate_of(sim, sim->working.count + 1);
    if (sim->sleeping.count && done > sim->sleeping.entries[0].time)
        return false;
    sim->processor = time;
    sim->now = done > sim->now ? done : sim->now;
    return true;
}

/* Does the same for a sleeping lane. */
static bool sleeps_alone(crn_sim *sim, uint32_t number, double until)
{
    const crn_heap_entry *top = sim->sleeping.entries;
    if (sim->runnable.first != CRN_NONE ||
        (sim->sleeping.count && (top->time < until || (top->time == until && top->lane < number))))
        return false;
    double rate = rate_of(sim, sim->working.count);
    if (sim->working.count) {
        double done = sim->now + (sim->working.entries[0].time - sim->processor) / rate;
        if (done <= until)
            return false;
        sim->processor += (until - sim->now) * rate;
    }
    sim->now = until;
    return true;
}

/* Advances to the moment at which the next lane continues. Returns false if no lane works or
 * sleeps. */
static bool advance(crn_sim *sim)
{
    if (!sim->working.count && !sim->sleeping.count)
        return false;
    double rate = rate_of(sim, sim->working.count);
    double done =
        sim->working.count ? sim->now + (sim->working.entries[0].time - sim->processor) / rate : 0;
    if (!sim->sleeping.count || (sim->working.count && done <= sim->sleeping.entries[0].time)) {
        sim->processor = sim->working.entries[0].time;
        sim->now = done > sim->now ? done : sim->now;
        crn_sim_wake(sim, crn_sim_heap_take(&sim->working));
        return true;
    }
    double moment = sim->sleeping.entries[0].time;
    if (sim->working.count)
        sim->processor += (moment - sim->now) * rate;
    sim->now = moment > sim->now ? moment : sim->now;
    crn_sim_wake(sim, crn_sim_heap_take(&sim->sleeping));
    return true;
}

/* ---- operations: each returns true if the lane continues at once ---- */

static bool run_loop(crn_sim *sim, uint32_t number, const crn_op *op, const uint8_t *code)
{
    crn_sim_lane *lane = &sim->lanes[number];
    uint32_t place = lane->dismissed ? CRN_NONE : crn_sim_choose(sim, lane);
    if (place == CRN_NONE) {
        if (lane->dismissed || !crn_sim_may_get_job(sim, lane)) {
            lane->op = code + op->amount;
            return true;
        }
        lane->state = LANE_IDLE;
        crn_sim_list_add(sim, &sim->idle[lane->pool], number);
        return false;
    }
    uint32_t id = sim->replay->pools[lane->pool].first_queue + place;
    crn_job_queue *queue = &sim->queues[id];
    uint32_t job = sim->queued[queue->base + queue->head++];
    lane->op = sim->replay->job_code[job];
    lane->copy = job < sim->replay->job_count ? 0 : job;
    sim->outcome->copies += lane->copy > 0;
    sim->outcome->droppable += sim->replay->kinds[crn_job_kind_of(sim->replay, job)].full > 0;
    crn_sim_make_room(sim, job);
    if (--sim->to_start[id] == 0)
        crn_sim_release_idle(sim, lane->pool);
    return true;
}

/* Runs all consecutive work operations. */
static bool run_work(crn_sim *sim, uint32_t number, const crn_op *first)
{
    crn_sim_lane *lane = &sim->lanes[number];
    double amount = (double)first->amount * sim->factor[first->number];
    while ((*lane->op & 15) == CRN_OP_WORK) {
        crn_op op = crn_code_next(&lane->op);
        amount += (double)op.amount * sim->factor[op.number];
    }
    if (amount <= 0 || works_alone(sim, number, sim->processor + amount))
        return true;
    lane->state = LANE_WORKS;
    crn_sim_heap_add(&sim->working, sim->processor + amount, number);
    return false;
}

static bool run_sleep(crn_sim *sim, uint32_t number, double until)
{
    if (until <= sim->now || sleeps_alone(sim, number, until))
        return true;
    sim->lanes[number].state = LANE_SLEEPS;
    crn_sim_heap_add(&sim->sleeping, until, number);
    return false;
}

/* Lateness that a wake-up does not explain, ns. */
enum { LATE_NS = 1000000 };

static bool run_until(crn_sim *sim, uint32_t number, double moment)
{
    sim->outcome->late += sim->now > moment + LATE_NS;
    return run_sleep(sim, number, moment);
}

/* Sleeps until a period after `*last`, when the timer last fired (0: it has not), and sets `*last`
 * to the moment at which it fires. */
static bool run_limit(crn_sim *sim, uint32_t number, const crn_timer *timer, double *last)
{
    double until = *last > 0 ? *last + timer->period : timer->phase;
    *last = until > sim->now ? until : sim->now;
    return run_sleep(sim, number, until);
}

/* Sleeps until the timer fires next: at its phase plus a multiple of its period; for a limited
 * rate, a period after it last fired. */
static bool run_next(crn_sim *sim, uint32_t number, uint32_t index)
{
    const crn_timer *timer = &sim->replay->timers[index];
    if (timer->relative)
        return run_limit(sim, number, timer, &sim->beats[index]);
    double multiple = floor((sim->now - timer->phase) / timer->period) + 1;
    double wait = timer->phase + multiple * timer->period - sim->now;
    bool skips = sim->beats[index] && multiple > sim->beats[index] + 1;
    bool fires_earlier = timer->longest > 0 && wait > timer->longest + LATE_NS;
    sim->outcome->late += !timer->noted && (skips || fires_earlier);
    sim->beats[index] = multiple;
    return run_sleep(sim, number, timer->phase + multiple * timer->period);
}

static bool run_lock(crn_sim *sim, uint32_t number, uint32_t block)
{
    crn_sim_lock *lock = &sim->locks[block];
    if (lock->held) {
        sim->lanes[number].state = LANE_LOCKED;
        crn_sim_list_add(sim, &lock->waiting, number);
        return false;
    }
    lock->held = true;
    return true;
}

/* Hands the lock to the lane that asked first. */
static void unlock(crn_sim *sim, uint32_t block)
{
    crn_sim_lock *lock = &sim->locks[block];
    lock->held = lock->waiting.first != CRN_NONE;
    if (lock->held)
        crn_sim_wake(sim, crn_sim_list_take(sim, &lock->waiting));
}

static bool run_more(crn_sim *sim, uint32_t number, uint64_t operation)
{
    uint32_t argument = (uint32_t)(operation / CRN_MORES);
    switch ((crn_more)(operation % CRN_MORES)) {
    case CRN_MORE_NEXT:
        return run_next(sim, number, argument);
    case CRN_MORE_LOCK:
        return run_lock(sim, number, argument);
    case CRN_MORE_UNLOCK:
        unlock(sim, argument);
        break;
    }
    return true;
}

static bool run_gate(crn_sim *sim, uint32_t number, uint32_t gate)
{
    if (sim->pending[gate] == 0)
        return true;
    crn_sim_wait_at_gate(sim, number, gate);
    return false;
}

static bool is_full(const crn_sim *sim, uint32_t kind)
{
    return sim->capacity[kind] && sim->occupied[kind] >= sim->capacity[kind];
}

static bool run_take(crn_sim *sim, uint32_t number, uint32_t job)
{
    uint32_t kind = crn_job_kind_of(sim->replay, job);
    crn_full full = sim->replay->kinds[kind].full;
    bool drops = full && sim->replay->kinds[kind].pool != CRN_NONE;
    if (drops && is_full(sim, kind) && full == CRN_FULL_DROPS_NEWEST) {
        crn_sim_lose(sim, job);
        return true;
    }
    if (drops && is_full(sim, kind)) {
        crn_sim_drop(sim, kind);
    } else if (is_full(sim, kind)) {
        sim->lanes[number].state = LANE_PUSHES;
        sim->lanes[number].job = job; /* the lane that makes room puts it into the queue */
        crn_sim_list_add(sim, &sim->pushing[kind], number);
        return false;
    }
    crn_sim_put(sim, job);
    return true;
}

/* ---- spans ---- */

/* Returns the simulated time, clamped: a damaged file can have any time. */
static uint64_t moment(const crn_sim *sim)
{
    return sim->outcome->begin + (uint64_t)(sim->now < 0x1p62 ? sim->now + 0.5 : 0x1p62);
}

/* Notes that a span begins or ends now. Returns the time. */
static uint64_t touch(crn_sim *sim)
{
    uint64_t now = moment(sim);
    sim->first = now < sim->first ? now : sim->first;
    sim->last = now > sim->last ? now : sim->last;
    return now;
}

static void open_span(crn_sim *sim, crn_sim_lane *lane, uint64_t slot)
{
    uint64_t now = touch(sim);
    if (slot >= lane->slots) {
        lane->slots = slot + slot / 2 + 8;
        lane->begun = crn_realloc(lane->begun, lane->slots, sizeof *lane->begun);
    }
    lane->begun[slot] = now;
}

static void close_span(crn_sim *sim, const crn_sim_lane *lane, uint64_t slot)
{
    uint64_t now = touch(sim);
    if (!sim->scenario->length_only)
        crn_lengths_add(&sim->outcome->lengths, now - lane->begun[slot]);
}

static void run_span(crn_sim *sim, crn_sim_lane *lane, const crn_op *op)
{
    if (op->kind == CRN_OP_OPEN) {
        open_span(sim, lane, op->number);
    } else if (op->kind == CRN_OP_CLOSE) {
        close_span(sim, lane, op->number);
    } else {
        uint64_t now = touch(sim);
        if (lane->copy && op->kind == CRN_OP_END && sim->outcome->copy_ends)
            sim->outcome->copy_ends[lane->copy - sim->replay->job_count] = now;
        else if (!lane->copy && op->kind != CRN_OP_TOUCH && !sim->scenario->length_only)
            (op->kind == CRN_OP_BEGIN ? sim->outcome->begins : sim->outcome->ends)[op->number] =
                now;
    }
}

/* Returns a lane's code, which for an added lane is its pool's. */
static const uint8_t *code_of(const crn_sim *sim, uint32_t number)
{
    const crn_replay *replay = sim->replay;
    return number < replay->trace->lane_count ? replay->lanes[number].code.bytes
                                              : replay->pools[sim->lanes[number].pool].code.bytes;
}

static const uint8_t *loop_of(const crn_sim *sim, uint32_t number)
{
    const crn_replay *replay = sim->replay;
    return code_of(sim, number) +
           (number < replay->trace->lane_count ? replay->lanes[number].loop : 0);
}

static void run_lane(crn_sim *sim, uint32_t number)
{
    crn_sim_lane *lane = &sim->lanes[number];
    bool goes_on = true;
    while (goes_on) {
        const uint8_t *at = lane->op;
        crn_op op = crn_code_next(&lane->op);
        switch (op.kind) {
        case CRN_OP_WORK:
            goes_on = run_work(sim, number, &op);
            break;
        case CRN_OP_DELAY:
            goes_on = run_sleep(sim, number, sim->now + (double)op.number);
            break;
        case CRN_OP_UNTIL:
            goes_on = run_until(sim, number, (double)op.number);
            break;
        case CRN_OP_BEGIN:
        case CRN_OP_END:
        case CRN_OP_OPEN:
        case CRN_OP_CLOSE:
        case CRN_OP_TOUCH:
            run_span(sim, lane, &op);
            break;
        case CRN_OP_GATE:
            goes_on = run_gate(sim, number, (uint32_t)op.number);
            break;
        case CRN_OP_SIGNAL:
            crn_sim_signal(sim, (uint32_t)op.number);
            break;
        case CRN_OP_TAKE:
            goes_on = run_take(sim, number, (uint32_t)op.number);
            break;
        case CRN_OP_START:
            crn_sim_make_room(sim, (uint32_t)op.number);
            break;
        case CRN_OP_LOOP:
            lane->op = at; /* an idle lane continues with the loop again */
            goes_on = run_loop(sim, number, &op, code_of(sim, number));
            break;
        case CRN_OP_RETURN:
            lane->copy = 0;
            lane->op = loop_of(sim, number);
            break;
        case CRN_OP_MORE:
            goes_on = run_more(sim, number, op.number);
            break;
        case CRN_OP_STOP:
            lane->state = LANE_DONE;
            goes_on = false;
            break;
        }
    }
}

/* ---- the whole run ---- */

/* Breaks a deadlock: lets a queue exceed its capacity, gives a lock to a second lane, or opens a
 * gate at which a lane or movable job waits. Returns false if no lane or job waits. */
static bool break_deadlock(crn_sim *sim)
{
    const crn_replay *replay = sim->replay;
    for (uint32_t kind = 0; kind < replay->kind_count; kind++) {
        if (sim->pushing[kind].first == CRN_NONE)
            continue;
        uint32_t lane = crn_sim_list_take(sim, &sim->pushing[kind]);
        crn_sim_put(sim, sim->lanes[lane].job);
        crn_sim_wake(sim, lane);
        sim->outcome->loosened++;
        return true;
    }
    for (uint32_t block = 0; block < replay->block_count; block++) {
        if (sim->locks[block].waiting.first == CRN_NONE)
            continue;
        unlock(sim, block);
        sim->outcome->loosened++;
        return true;
    }
    uint32_t gate = sim->gates.first == CRN_NONE ? CRN_NONE : sim->lanes[sim->gates.first].gate;
    for (; gate == CRN_NONE && sim->next_forced < replay->job_count; sim->next_forced++)
        if (sim->pending[sim->next_forced] && crn_job_is_movable(replay, sim->next_forced))
            gate = sim->next_forced;
    if (gate == CRN_NONE)
        return false;
    sim->pending[gate] = 1;
    crn_sim_signal(sim, gate);
    sim->outcome->loosened++;
    return true;
}

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
    } while (advance(&sim) || break_deadlock(&sim));
    crn_sim_end(&sim);
}
