/* SPDX-License-Identifier: MIT
 *
 * Learns the order in which a pool takes jobs of different kinds, oldest first or by kind, from
 * what its lanes took when jobs of several kinds were ready.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "replay/program.h"

/* "Oldest first" is rejected if at least FEW choices, and more than 1 / PART of them, contradict
 * it. */
enum { FEW = 8, PART = 10 };

typedef struct pick {
    uint64_t time;
    uint32_t pool, queue, job;
} pick;

static int compare_picks(const void *left, const void *right)
{
    const pick *a = left, *b = right;
    return CRN_ORDER(a->pool, b->pool)
               ?: CRN_ORDER(a->queue, b->queue)
               ?: CRN_ORDER(a->time, b->time)
               ?: CRN_ORDER(a->job, b->job);
}

typedef struct choices {
    const pick *ready;                    /* the pool's jobs, by queue, then by time ready */
    uint32_t first[CRN_QUEUES + 1];       /* first job of each queue */
    uint32_t begun[CRN_QUEUES];           /* number of jobs taken from each queue */
    uint32_t won[CRN_QUEUES][CRN_QUEUES]; /* won[a][b]: jobs of a taken while one of b was ready */
    uint32_t overtook;                    /* choices in which the taken job was not the oldest */
    uint32_t contested;                   /* number of choices */
} choices;

/* Counts a job that a lane took at a moment after `free`, when its job before ended. The lane chose
 * if the job was ready at `free`, and so was one in another queue that it serves. */
static void see_pick(const crn_replay *replay, choices *choices, uint32_t queues, uint64_t serves,
                     const crn_job *job, uint64_t free)
{
    uint32_t own = replay->kinds[job->kind].queue;
    uint64_t ready = replay->gates[job - replay->jobs].until;
    bool contested = false, overtook = false;
    for (uint32_t q = 0; q < queues && ready <= free; q++) {
        uint32_t head = choices->first[q] + choices->begun[q];
        if (q == own || !(serves >> q & 1) || head >= choices->first[q + 1] ||
            choices->ready[head].time > free)
            continue;
        choices->won[own][q]++;
        contested = true;
        overtook |= choices->ready[head].time < ready;
    }
    choices->begun[own]++;
    choices->contested += contested;
    choices->overtook += overtook;
}

/* Ranks each queue by the number of queues preferred to it. */
static void rank(const choices *choices, crn_pool_plan *pool)
{
    for (uint32_t q = 0; q < pool->queue_count; q++) {
        pool->rank[q] = 0;
        for (uint32_t other = 0; other < pool->queue_count; other++)
            pool->rank[q] += choices->won[other][q] > choices->won[q][other];
    }
}

/* Learns a pool's order. `picks`: its jobs by begin; `ready`: the same by queue, then time ready.
 * `free`: by lane, end of its last job. */
static void learn(crn_replay *replay, crn_pool_plan *pool, const pick *picks, const pick *ready,
                  uint32_t count, uint64_t *free)
{
    choices choices = {.ready = ready};
    for (uint32_t i = 0; i < count; i++)
        choices.first[ready[i].queue + 1]++;
    for (uint32_t q = 0; q < pool->queue_count; q++)
        choices.first[q + 1] += choices.first[q];
    for (uint32_t i = 0; i < count; i++) {
        const crn_job *job = &replay->jobs[picks[i].job];
        see_pick(replay, &choices, pool->queue_count, replay->lanes[job->lane].serves, job,
                 free[job->lane]);
        free[job->lane] = job->end;
    }
    pool->facts.contested = choices.contested;
    pool->facts.by_kind = choices.overtook >= FEW && choices.overtook > choices.contested / PART;
    if (pool->facts.by_kind)
        rank(&choices, pool);
}

void crn_plan_ranks(crn_replay *replay)
{
    pick *picks = crn_calloc(replay->job_count + (size_t)1, sizeof *picks);
    pick *ready = crn_calloc(replay->job_count + (size_t)1, sizeof *ready);
    uint64_t *free = crn_calloc(replay->trace->lane_count + (size_t)1, sizeof *free);
    uint32_t count = 0;
    for (uint32_t j = 0; j < replay->job_count; j++) {
        const crn_job *job = &replay->jobs[j];
        const crn_kind *kind = &replay->kinds[job->kind];
        if (!job->movable || replay->pools[kind->pool].queue_count < 2)
            continue;
        picks[count] = (pick){job->start, kind->pool, 0, j};
        ready[count++] = (pick){replay->gates[j].until, kind->pool, kind->queue, j};
    }
    if (count) {
        qsort(picks, count, sizeof *picks, compare_picks);
        qsort(ready, count, sizeof *ready, compare_picks);
    }
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && picks[next].pool == picks[i].pool; next++)
            ;
        learn(replay, &replay->pools[picks[i].pool], picks + i, ready + i, next - i, free);
    }
    crn_free(picks);
    crn_free(ready);
    crn_free(free);
}
