/* SPDX-License-Identifier: MIT
 *
 * Queues that drop jobs when full. A dropped job leaves only the span that handed it off in the
 * recording. With a faster consumer it would have run, so it is simulated as a copy of the job that
 * was handed off to the queue before it.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "replay/program.h"

typedef struct handed {
    uint64_t taken;
    uint64_t to_end; /* ns from the hand-off to the end of the span around it */
    uint32_t job;
} handed;

static int compare_handed(const void *left, const void *right)
{
    const handed *a = left, *b = right;
    return CRN_ORDER(a->taken, b->taken) ?: CRN_ORDER(a->job, b->job);
}

static int compare_to_end(const void *left, const void *right)
{
    const handed *a = left, *b = right;
    return CRN_ORDER(a->to_end, b->to_end);
}

/* Returns the last job handed off up to a moment, or else the first job. */
static uint32_t job_before(const handed *jobs, uint32_t count, uint64_t moment)
{
    uint32_t low = CRN_UP_TO(jobs, count, taken, moment);
    return jobs[low ? low - 1 : 0].job;
}

static void add_copy(crn_replay *replay, const crn_copy *copy)
{
    CRN_GROW(replay->copies, replay->copy_count, replay->copy_room);
    replay->copies[replay->copy_count++] = *copy;
}

/* Adds a copy for each span that handed off no job, unlike others of its block: its job was
 * dropped. `to_end`: median of the time from a hand-off to the end of its span, ns. */
static void copy_jobs(crn_replay *replay, const handed *jobs, uint32_t count, uint64_t to_end)
{
    const crn_trace *trace = replay->trace;
    uint8_t *blocks = crn_calloc(replay->block_count, 1), *gives = crn_walk_bits(replay);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = trace->spans[replay->jobs[jobs[i].job].span].parent;
        blocks[crn_replay_block(replay, parent)] = 1;
        gives[parent / 8] |= (uint8_t)(1 << parent % 8);
    }
    for (uint32_t s = 0; s < trace->span_count; s++) {
        const crn_span *span = &trace->spans[s];
        if (!blocks[crn_replay_block(replay, s)] || (gives[s / 8] >> s % 8 & 1) || span->open)
            continue;
        uint64_t length = span->end - span->start;
        uint64_t taken = span->end - (to_end < length ? to_end : length);
        add_copy(replay, &(crn_copy){job_before(jobs, count, taken), s, taken});
    }
    crn_free(blocks);
    crn_free(gives);
}

void crn_plan_copies(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    handed *jobs = crn_calloc(replay->job_count + (size_t)1, sizeof *jobs);
    for (uint32_t kind = 0; kind < replay->kind_count; kind++) {
        uint32_t count = 0;
        if (!replay->kinds[kind].full || !replay->kinds[kind].capacity)
            continue;
        replay->drops = true;
        for (uint32_t j = 0; j < replay->job_count; j++) {
            const crn_job *job = &replay->jobs[j];
            uint64_t end = trace->spans[trace->spans[job->span].parent].end;
            if (job->kind == kind && job->dated)
                jobs[count++] = (handed){job->taken, end > job->taken ? end - job->taken : 0, j};
        }
        if (!count)
            continue;
        qsort(jobs, count, sizeof *jobs, compare_to_end);
        uint64_t to_end = jobs[count / 2].to_end;
        qsort(jobs, count, sizeof *jobs, compare_handed);
        copy_jobs(replay, jobs, count, to_end);
    }
    crn_free(jobs);
}

/* Returns the kind of the job around a span; CRN_NONE outside of jobs. */
static uint32_t kind_around(const crn_replay *replay, uint32_t span)
{
    for (uint32_t at = span; at != CRN_SPAN_NONE; at = replay->trace->spans[at].parent) {
        uint32_t job = crn_replay_job_of(replay, at);
        if (job != CRN_NONE)
            return replay->jobs[job].kind;
    }
    return CRN_NONE;
}

void crn_plan_dropping(crn_replay *replay)
{
    for (uint32_t p = 0; p < replay->point_count && replay->copy_count; p++) {
        uint32_t kind = kind_around(replay, replay->points[p].span);
        if (kind != CRN_NONE)
            replay->kinds[kind].affects = true;
    }
    for (uint32_t i = 0; i < replay->copy_count; i++) {
        crn_kind *kind = &replay->kinds[replay->jobs[replay->copies[i].job].kind];
        if (!replay->jobs[replay->copies[i].job].movable || kind->affects)
            crn_replay_doubt(replay, CRN_DOUBT_AFFECTS, kind->block, 0, 0);
        else
            kind->jobs++;
    }
}

/* The unscaled replay should drop about as many jobs as the program did. */
void crn_replay_check_drops(crn_replay *replay, const crn_outcome *outcome)
{
    enum { SOME = 2, PART = 20 };
    uint64_t ran = outcome->copies, lost = outcome->dropped;
    uint64_t difference = ran > lost ? ran - lost : lost - ran;
    if (difference <= SOME + replay->job_count / PART)
        return;
    for (uint32_t kind = 0; kind < replay->kind_count; kind++)
        if (replay->kinds[kind].full)
            crn_replay_doubt(replay, CRN_DOUBT_DROPPED, replay->kinds[kind].block, 0, 0);
}
