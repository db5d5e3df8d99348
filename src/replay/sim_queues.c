/* SPDX-License-Identifier: MIT
 *
 * Data structures of waiting lanes: heaps, lists, gates and job queues.
 */
#include "replay/sim.h"

/* ---- heaps and lists of lanes ---- */

static bool is_due_before(crn_heap_entry left, crn_heap_entry right)
{
    return left.time != right.time ? left.time < right.time : left.lane < right.lane;
}

void crn_sim_heap_add(crn_heap *heap, double time, uint32_t lane)
{
    crn_heap_entry added = {time, lane};
    uint32_t at = heap->count++;
    while (at && is_due_before(added, heap->entries[(at - 1) / 2])) {
        heap->entries[at] = heap->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->entries[at] = added;
}

uint32_t crn_sim_heap_take(crn_heap *heap)
{
    uint32_t top = heap->entries[0].lane;
    crn_heap_entry last = heap->entries[--heap->count];
    uint64_t at = 0;
    for (;;) {
        uint64_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count &&
            is_due_before(heap->entries[child + 1], heap->entries[child]))
            child++;
        if (!is_due_before(heap->entries[child], last))
            break;
        heap->entries[at] = heap->entries[child];
        at = child;
    }
    heap->entries[at] = last;
    return top;
}

void crn_sim_list_add(crn_sim *sim, crn_lane_list *list, uint32_t lane)
{
    sim->lanes[lane].next = CRN_NONE;
    if (list->first == CRN_NONE)
        list->first = lane;
    else
        sim->lanes[list->last].next = lane;
    list->last = lane;
}

uint32_t crn_sim_list_take(crn_sim *sim, crn_lane_list *list)
{
    uint32_t lane = list->first;
    list->first = sim->lanes[lane].next;
    return lane;
}

void crn_sim_wake(crn_sim *sim, uint32_t lane)
{
    sim->lanes[lane].state = LANE_RUNNABLE;
    crn_sim_list_add(sim, &sim->runnable, lane);
}

/* Wakes a lane that waits at a gate. It can be anywhere in sim->gates. */
static void leave_gate(crn_sim *sim, uint32_t number)
{
    const crn_sim_lane *lane = &sim->lanes[number];
    if (lane->previous == CRN_NONE)
        sim->gates.first = lane->next;
    else
        sim->lanes[lane->previous].next = lane->next;
    if (lane->next == CRN_NONE)
        sim->gates.last = lane->previous;
    else
        sim->lanes[lane->next].previous = lane->previous;
    crn_sim_wake(sim, number);
}

void crn_sim_wait_at_gate(crn_sim *sim, uint32_t number, uint32_t gate)
{
    crn_sim_lane *lane = &sim->lanes[number];
    lane->state = LANE_GATED;
    lane->gate = gate;
    lane->previous = sim->gates.first == CRN_NONE ? CRN_NONE : sim->gates.last;
    crn_sim_list_add(sim, &sim->gates, number);
    sim->gated[gate] = number;
}

/* ---- jobs ---- */

static const crn_kind *kind_of(const crn_sim *sim, uint32_t job)
{
    return &sim->replay->kinds[crn_job_kind_of(sim->replay, job)];
}

/* Wakes the first idle lane that serves the queue. */
static void wake_idle(crn_sim *sim, uint32_t pool, uint32_t place)
{
    uint32_t before = CRN_NONE, lane = sim->idle[pool].first;
    while (lane != CRN_NONE && !(sim->lanes[lane].serves >> place & 1)) {
        before = lane;
        lane = sim->lanes[lane].next;
    }
    if (lane == CRN_NONE)
        return;
    if (before == CRN_NONE)
        sim->idle[pool].first = sim->lanes[lane].next;
    else
        sim->lanes[before].next = sim->lanes[lane].next;
    if (sim->idle[pool].last == lane)
        sim->idle[pool].last = before;
    crn_sim_wake(sim, lane);
}

static void enqueue(crn_sim *sim, uint32_t job)
{
    const crn_kind *kind = kind_of(sim, job);
    crn_job_queue *queue = &sim->queues[sim->replay->pools[kind->pool].first_queue + kind->queue];
    sim->queued[queue->base + queue->tail++] = job;
    sim->arrived[job] = sim->arrivals++;
    wake_idle(sim, kind->pool, kind->queue);
}

void crn_sim_signal(crn_sim *sim, uint32_t gate)
{
    if (sim->pending[gate] == 0 || --sim->pending[gate] > 0)
        return;
    if (gate < sim->replay->job_count && crn_job_is_movable(sim->replay, gate))
        enqueue(sim, gate);
    else if (sim->gated[gate] != CRN_NONE)
        leave_gate(sim, sim->gated[gate]);
}

void crn_sim_put(crn_sim *sim, uint32_t job)
{
    sim->occupied[crn_job_kind_of(sim->replay, job)]++;
    if (job < sim->replay->job_count)
        crn_sim_signal(sim, job);
    else
        enqueue(sim, job);
}

/* Counts a job as dropped: the oldest of a full queue, or one that is handed off to it. */
void crn_sim_lose(crn_sim *sim, uint32_t job)
{
    const crn_kind *kind = kind_of(sim, job);
    uint32_t id = sim->replay->pools[kind->pool].first_queue + kind->queue;
    sim->outcome->dropped += job < sim->replay->job_count;
    if (--sim->to_start[id] == 0)
        crn_sim_release_idle(sim, kind->pool);
}

void crn_sim_drop(crn_sim *sim, uint32_t number)
{
    const crn_kind *kind = &sim->replay->kinds[number];
    crn_job_queue *queue = &sim->queues[sim->replay->pools[kind->pool].first_queue + kind->queue];
    if (queue->head == queue->tail)
        return;
    uint32_t job = sim->queued[queue->base + queue->head++];
    sim->occupied[number] -= sim->occupied[number] > 0;
    crn_sim_lose(sim, job);
}

/* Records that a job left its queue, and lets a lane that waits for space hand off its job. */
void crn_sim_make_room(crn_sim *sim, uint32_t job)
{
    uint32_t kind = crn_job_kind_of(sim->replay, job);
    sim->occupied[kind] -= sim->occupied[kind] > 0;
    if (sim->pushing[kind].first == CRN_NONE ||
        (sim->capacity[kind] && sim->occupied[kind] >= sim->capacity[kind]))
        return;
    uint32_t lane = crn_sim_list_take(sim, &sim->pushing[kind]);
    crn_sim_put(sim, sim->lanes[lane].job);
    crn_sim_wake(sim, lane);
}

/* Returns the index of the queue from which the lane takes its next job, CRN_NONE if all are
 * empty. */
uint32_t crn_sim_choose(const crn_sim *sim, const crn_sim_lane *lane)
{
    const crn_pool_plan *pool = &sim->replay->pools[lane->pool];
    uint32_t best = CRN_NONE;
    uint64_t least = UINT64_MAX;
    for (uint32_t place = 0; place < pool->queue_count; place++) {
        const crn_job_queue *queue = &sim->queues[pool->first_queue + place];
        if (queue->head == queue->tail || !(lane->serves >> place & 1))
            continue;
        uint64_t arrived = sim->arrived[sim->queued[queue->base + queue->head]];
        uint64_t order = pool->facts.by_kind ? pool->rank[place] : arrived;
        if (order < least || (order == least && best == CRN_NONE)) {
            least = order;
            best = place;
        }
    }
    return best;
}

/* Returns true if jobs that the lane may take can still arrive. */
bool crn_sim_may_get_job(const crn_sim *sim, const crn_sim_lane *lane)
{
    const crn_pool_plan *pool = &sim->replay->pools[lane->pool];
    for (uint32_t place = 0; place < pool->queue_count; place++)
        if ((lane->serves >> place & 1) && sim->to_start[pool->first_queue + place])
            return true;
    return false;
}

/* Wakes idle lanes for which no more jobs can arrive. */
void crn_sim_release_idle(crn_sim *sim, uint32_t pool)
{
    crn_lane_list waiting = sim->idle[pool];
    sim->idle[pool].first = CRN_NONE;
    while (waiting.first != CRN_NONE) {
        uint32_t lane = crn_sim_list_take(sim, &waiting);
        if (crn_sim_may_get_job(sim, &sim->lanes[lane]))
            crn_sim_list_add(sim, &sim->idle[pool], lane);
        else
            crn_sim_wake(sim, lane);
    }
}
