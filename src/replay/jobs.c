/* SPDX-License-Identifier: MIT
 *
 * Jobs: each adoption of a hand-off token, with the spans that began below it.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "replay/program.h"

static int compare_handoff(const void *key, const void *element)
{
    uint32_t span = *(const uint32_t *)key, other = ((const crn_span_handoff *)element)->span;
    return CRN_ORDER(span, other);
}

/* Returns the hand-off of a span; zeros if it is unknown. */
static crn_span_handoff handoff_of(const crn_trace *trace, uint32_t span)
{
    const crn_span_handoff *found = trace->handoff_count
                                        ? bsearch(&span, trace->handoffs, trace->handoff_count,
                                                  sizeof *trace->handoffs, compare_handoff)
                                        : NULL;
    return found ? *found : (crn_span_handoff){.span = span};
}

static uint32_t kind_of(crn_replay *replay, uint32_t block, const crn_replay_setup *setup)
{
    if (replay->kind_of[block] == CRN_NONE) {
        replay->kinds =
            crn_realloc(replay->kinds, replay->kind_count + (size_t)1, sizeof *replay->kinds);
        replay->kinds[replay->kind_count] = (crn_kind){
            .block = block,
            .pool = CRN_NONE,
            .capacity = block < setup->block_count && setup->capacity ? setup->capacity[block] : 0,
            .full = block < setup->block_count && setup->full ? (crn_full)setup->full[block]
                                                              : CRN_FULL_WAITS};
        replay->kind_of[block] = replay->kind_count++;
    }
    return replay->kind_of[block];
}

/* Clamps a hand-off time to between the begins of the parent and of the job. */
static void clamp_handoff_time(const crn_replay *replay, crn_job *job, uint64_t taken)
{
    const crn_span *span = &replay->trace->spans[job->span];
    const crn_span *parent = &replay->trace->spans[span->parent];
    job->dated = taken != 0;
    job->taken = taken && taken > parent->start ? taken : parent->start;
    if (job->taken > span->start)
        job->taken = span->start;
}

static void add_job(crn_replay *replay, uint32_t span, uint64_t taken,
                    const crn_replay_setup *setup)
{
    const crn_span *its = &replay->trace->spans[span];
    CRN_GROW(replay->jobs, replay->job_count, replay->job_room);
    crn_job job = {.span = span,
                   .lane = its->lane,
                   .members = 1,
                   .kind = kind_of(replay, crn_replay_block(replay, span), setup),
                   .start = its->start,
                   .end = its->end,
                   .movable = true};
    clamp_handoff_time(replay, &job, taken);
    replay->facts.undated += !job.dated;
    replay->jobs[replay->job_count++] = job;
}

static void find_in_lane(crn_replay *replay, uint32_t lane, const crn_replay_setup *setup)
{
    const crn_trace *trace = replay->trace;
    crn_span_handoff before = {.adoption = 0};
    uint32_t parent = CRN_SPAN_NONE;
    for (uint32_t at = replay->lane_first[lane]; at < replay->lane_first[lane + 1]; at++) {
        uint32_t span = crn_replay_at(replay, at);
        const crn_span *its = &trace->spans[span];
        if (!its->handed_off || its->parent == CRN_SPAN_NONE)
            continue;
        crn_span_handoff handoff = handoff_of(trace, span);
        if (handoff.adoption && handoff.adoption == before.adoption && its->parent == parent) {
            crn_job *job = &replay->jobs[replay->job_count - 1];
            job->members++;
            job->end = job->end < its->end ? its->end : job->end;
        } else {
            add_job(replay, span, handoff.taken, setup);
        }
        before = handoff;
        parent = its->parent;
    }
}

/* Jobs are sorted by lane and begin, so binary search finds them. */
uint32_t crn_replay_find_job(const crn_replay *replay, uint32_t span)
{
    uint32_t low = 0, high = replay->job_count, lane = replay->trace->spans[span].lane;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const crn_job *job = &replay->jobs[middle];
        if (job->lane < lane ||
            (job->lane == lane && crn_replay_is_before(replay, job->span, span)))
            low = middle + 1;
        else
            high = middle;
    }
    return low < replay->job_count && replay->jobs[low].span == span ? low : CRN_NONE;
}

/* ---- space in queues ---- */

typedef struct moment {
    uint64_t time;
    uint32_t kind, job;
} moment;

static int compare_moments(const void *left, const void *right)
{
    const moment *a = left, *b = right;
    return CRN_ORDER(a->kind, b->kind) ?: CRN_ORDER(a->time, b->time) ?: CRN_ORDER(a->job, b->job);
}

/* Finds when a queue of limited capacity had space for each of its jobs: when fewer than `capacity`
 * of the earlier jobs were in it. */
static void find_queue_space(crn_replay *replay)
{
    uint32_t count = 0;
    moment *taken = crn_calloc(replay->job_count + (size_t)1, sizeof *taken);
    moment *begun = crn_calloc(replay->job_count + (size_t)1, sizeof *begun);
    for (uint32_t j = 0; j < replay->job_count; j++) {
        const crn_job *job = &replay->jobs[j];
        if (!job->dated || !replay->kinds[job->kind].capacity || replay->kinds[job->kind].full)
            continue;
        taken[count] = (moment){job->taken, job->kind, j};
        begun[count++] = (moment){job->start, job->kind, j};
    }
    if (count) {
        qsort(taken, count, sizeof *taken, compare_moments);
        qsort(begun, count, sizeof *begun, compare_moments);
    }
    for (uint32_t n = 0; n < count; n++) {
        uint32_t capacity = replay->kinds[taken[n].kind].capacity;
        if (n >= capacity && taken[n - capacity].kind == taken[n].kind)
            replay->jobs[taken[n].job].room_at = begun[n - capacity].time;
    }
    crn_free(taken);
    crn_free(begun);
}

void crn_plan_jobs(crn_replay *replay, const crn_replay_setup *setup)
{
    const crn_trace *trace = replay->trace;
    replay->kind_of = crn_calloc(replay->block_count + (size_t)1, sizeof(uint32_t));
    for (uint32_t b = 0; b < replay->block_count; b++)
        replay->kind_of[b] = CRN_NONE;
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        find_in_lane(replay, lane, setup);
    replay->facts.jobs = replay->job_count;
    find_queue_space(replay);
}
