/* SPDX-License-Identifier: MIT
 *
 * Pools: lanes that take the same kinds of jobs, so that any of them may take the next job. A lane
 * belongs to a pool if all else that it does comes before its first or after its last job.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "replay/program.h"

/* ---- worker lanes ---- */

typedef struct lane_scan {
    crn_replay *replay;
    uint32_t job;      /* current job; CRN_NONE: outside of jobs */
    uint32_t first;    /* first span of the job; later spans of the lane are in the job */
    uint32_t to_begin; /* number of the job's spans that have not begun */
    uint32_t open;     /* number of its open spans */
    /* left_loop: an event outside of jobs came after a job; tangled: the lane is no worker, as a
     * job overlaps other spans or comes after such an event. */
    bool had_jobs, left_loop, tangled;
} lane_scan;

/* Finds outer jobs, which pools ignore: a thread can itself be a job, which contains the jobs that
 * the thread takes. Jobs are sorted by lane and begin. */
static void find_outer(crn_replay *replay)
{
    for (uint32_t j = 0; j + 1 < replay->job_count; j++)
        replay->jobs[j].outer = replay->jobs[j + 1].lane == replay->jobs[j].lane &&
                                replay->jobs[j + 1].start < replay->jobs[j].end;
}

/* Notes an event outside of jobs. If more jobs follow it, the lane is no worker. */
static void note_outside_event(lane_scan *scan)
{
    scan->left_loop |= scan->had_jobs;
}

static void see_begin(lane_scan *scan, uint32_t span)
{
    crn_replay *replay = scan->replay;
    uint32_t job = crn_replay_job_of(replay, span);
    if (job != CRN_NONE && replay->jobs[job].outer)
        job = CRN_NONE;
    if (job != CRN_NONE && scan->job == CRN_NONE) {
        scan->job = job;
        scan->first = span;
        scan->to_begin = replay->jobs[job].members;
        scan->tangled |= scan->left_loop;
        scan->had_jobs = true;
    } else if (job != CRN_NONE) {
        scan->tangled = true;
    }
    if (scan->job == CRN_NONE) {
        note_outside_event(scan);
        return;
    }
    const crn_span *its = &replay->trace->spans[span];
    scan->to_begin -= its->handed_off && scan->to_begin > 0;
    scan->open++;
}

static void see_end(lane_scan *scan, uint32_t span)
{
    if (scan->job == CRN_NONE || crn_replay_is_before(scan->replay, span, scan->first)) {
        scan->tangled |= scan->job != CRN_NONE;
        note_outside_event(scan);
        return;
    }
    if (--scan->open == 0 && scan->to_begin == 0)
        scan->job = CRN_NONE;
}

/* Returns true if a lane runs jobs in a loop, with other events only before and after. */
static bool is_worker(crn_replay *replay, uint32_t lane, uint8_t *over)
{
    lane_scan scan = {.replay = replay, .job = CRN_NONE};
    crn_event event;
    crn_walk walk = crn_walk_lane(replay, lane, over);
    while (crn_walk_next(&walk, &event)) {
        if (event.kind == CRN_EVENT_BEGIN)
            see_begin(&scan, event.which);
        else if (event.kind == CRN_EVENT_END)
            see_end(&scan, event.which);
        else if (scan.job == CRN_NONE)
            note_outside_event(&scan);
    }
    crn_walk_free(&walk);
    return scan.had_jobs && !scan.tangled && scan.job == CRN_NONE;
}

static void bind(crn_replay *replay, const uint8_t *worker)
{
    for (uint32_t j = 0; j < replay->job_count; j++) {
        crn_job *job = &replay->jobs[j];
        job->movable = worker[job->lane] && !job->outer;
        replay->facts.movable += job->movable;
        replay->kinds[job->kind].jobs += job->movable;
    }
}

/* ---- kinds of jobs (union-find) ---- */

static uint32_t root_of(uint32_t *parents, uint32_t at)
{
    while (parents[at] != at)
        at = parents[at] = parents[parents[at]];
    return at;
}

/* Joins kinds that one lane takes. */
static void join_kinds(crn_replay *replay, uint32_t *parents)
{
    uint32_t *of_lane = crn_calloc(replay->trace->lane_count + (size_t)1, sizeof *of_lane);
    for (uint32_t k = 0; k < replay->kind_count; k++)
        parents[k] = k;
    for (uint32_t j = 0; j < replay->job_count; j++) {
        const crn_job *job = &replay->jobs[j];
        if (!job->movable)
            continue;
        if (of_lane[job->lane])
            parents[root_of(parents, job->kind)] = root_of(parents, of_lane[job->lane] - 1);
        of_lane[job->lane] = job->kind + 1;
    }
    crn_free(of_lane);
}

static void add_kind(crn_replay *replay, uint32_t pool, uint32_t kind)
{
    crn_pool_plan *its = &replay->pools[pool];
    its->kinds = crn_realloc(its->kinds, its->facts.kinds + (size_t)1, sizeof *its->kinds);
    its->kinds[its->facts.kinds++] = kind;
    its->facts.jobs += replay->kinds[kind].jobs;
    replay->kinds[kind].pool = pool;
}

static void number_queues(crn_replay *replay, crn_pool_plan *pool)
{
    bool shared = pool->facts.kinds > CRN_QUEUES;
    pool->queue_count = shared ? 1 : pool->facts.kinds;
    pool->first_queue = replay->queue_count;
    replay->queue_count += pool->queue_count;
    for (uint32_t k = 0; k < pool->facts.kinds; k++)
        replay->kinds[pool->kinds[k]].queue = shared ? 0 : k;
}

static void make_pools(crn_replay *replay)
{
    uint32_t *parents = crn_calloc(replay->kind_count + (size_t)1, sizeof *parents);
    uint32_t *pools = crn_calloc(replay->kind_count + (size_t)1, sizeof *pools);
    join_kinds(replay, parents);
    for (uint32_t k = 0; k < replay->kind_count; k++) {
        if (!replay->kinds[k].jobs)
            continue;
        uint32_t root = root_of(parents, k);
        if (!pools[root]) {
            replay->pools =
                crn_realloc(replay->pools, replay->pool_count + (size_t)1, sizeof *replay->pools);
            replay->pools[replay->pool_count++] = (crn_pool_plan){.kinds = NULL};
            pools[root] = replay->pool_count;
        }
        add_kind(replay, pools[root] - 1, k);
    }
    for (uint32_t p = 0; p < replay->pool_count; p++)
        number_queues(replay, &replay->pools[p]);
    crn_free(parents);
    crn_free(pools);
}

/* Assigns lanes to pools. A lane that took many jobs serves only the queues from which it took
 * some; a lane with few jobs may serve all. */
static void assign_lanes(crn_replay *replay)
{
    enum { MANY = 8 }; /* jobs for each queue */
    uint32_t lanes = replay->trace->lane_count;
    uint32_t *taken = crn_calloc(lanes + (size_t)1, sizeof *taken);
    for (uint32_t j = 0; j < replay->job_count; j++) {
        const crn_job *job = &replay->jobs[j];
        if (!job->movable)
            continue;
        taken[job->lane]++;
        replay->lanes[job->lane].pool = replay->kinds[job->kind].pool;
        replay->lanes[job->lane].serves |= (uint64_t)1 << replay->kinds[job->kind].queue;
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (replay->lanes[lane].pool == CRN_NONE)
            continue;
        crn_pool_plan *pool = &replay->pools[replay->lanes[lane].pool];
        pool->facts.lanes++;
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        const crn_lane_plan *its = &replay->lanes[lane];
        if (its->pool != CRN_NONE && taken[lane] < MANY * replay->pools[its->pool].queue_count)
            replay->lanes[lane].serves = UINT64_MAX;
    }
    crn_free(taken);
    for (uint32_t p = 0; p < replay->pool_count; p++) {
        crn_pool_plan *pool = &replay->pools[p];
        pool->lanes = crn_calloc(pool->facts.lanes + (size_t)1, sizeof *pool->lanes);
        pool->facts.lanes = 0;
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (replay->lanes[lane].pool == CRN_NONE)
            continue;
        crn_pool_plan *pool = &replay->pools[replay->lanes[lane].pool];
        pool->lanes[pool->facts.lanes++] = lane;
    }
}

void crn_plan_pools(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    uint8_t *worker = crn_calloc(trace->lane_count + (size_t)1, 1);
    uint8_t *over = crn_walk_bits(replay);
    replay->lanes = crn_calloc(trace->lane_count + (size_t)1, sizeof *replay->lanes);
    find_outer(replay);
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        replay->lanes[lane].pool = CRN_NONE;
    for (uint32_t j = 0; j < replay->job_count && !replay->fixed; j++)
        if (!j || replay->jobs[j].lane != replay->jobs[j - 1].lane)
            worker[replay->jobs[j].lane] = is_worker(replay, replay->jobs[j].lane, over);
    bind(replay, worker);
    make_pools(replay);
    assign_lanes(replay);
    crn_plan_ranks(replay);
    crn_free(worker);
    crn_free(over);
}
