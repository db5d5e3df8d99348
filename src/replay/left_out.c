/* SPDX-License-Identifier: MIT
 *
 * Leaves out spans that `cairn run --locks` records in a program that hands jobs off. Hand-offs say
 * what its threads wait for; the condition variables and semaphores of its queues say it, too, but
 * only as it happened in the recording. The mutex of a queue takes little time, but its spans would
 * separate the wait for space from the hand-off, and be work between jobs.
 */
#include "base/memory.h"
#include "replay/program.h"

static crn_rest rest_of(const crn_trace *trace, const crn_replay_setup *setup, uint32_t span)
{
    uint32_t block = trace->spans[span].block;
    return setup->rest && block < setup->block_count ? (crn_rest)setup->rest[block] : CRN_REST_NONE;
}

/* Returns true for condition variables and semaphores. */
static bool is_told_by_jobs(crn_rest rest)
{
    return rest == CRN_REST_CONDITION || rest == CRN_REST_SEMAPHORE;
}

static bool is_job(const crn_span *span)
{
    return span->handed_off && span->parent != CRN_SPAN_NONE;
}

/* Returns, by block, true if its spans are left out. */
static bool *choose(const crn_trace *trace, const crn_replay_setup *setup)
{
    enum { SHARE = 100 };
    bool *out = crn_calloc(setup->block_count + (size_t)1, sizeof *out);
    uint64_t *time = crn_calloc(setup->block_count + (size_t)1, sizeof *time);
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (trace->spans[s].block < setup->block_count)
            time[trace->spans[s].block] += trace->spans[s].end - trace->spans[s].start;
    for (uint32_t b = 0; b < setup->block_count; b++) {
        crn_rest rest = (crn_rest)setup->rest[b];
        bool lock = rest == CRN_REST_LOCK || rest == CRN_REST_WAIT;
        out[b] = is_told_by_jobs(rest) || (lock && time[b] < trace->length / SHARE);
    }
    crn_free(time);
    return out;
}

/* Returns, for a part of a trace, its spans' values of the whole trace's `kept`. */
static uint8_t *kept_of(const crn_trace *trace, const uint8_t *kept, const uint32_t *origins)
{
    uint8_t *its = crn_calloc(trace->span_count + (size_t)1, 1);
    for (uint32_t s = 0; s < trace->span_count; s++)
        its[s] = kept[origins[s]];
    return its;
}

crn_trace *crn_replay_leave_out(const crn_trace *trace, crn_replay_setup *setup, uint32_t **origins)
{
    bool jobs = false, locks = false;
    for (uint32_t s = 0; s < trace->span_count && !setup->every; s++) {
        jobs |= is_job(&trace->spans[s]);
        locks |= is_told_by_jobs(rest_of(trace, setup, s));
    }
    if (!jobs || !locks)
        return NULL;
    uint8_t *stays = crn_calloc(trace->span_count + (size_t)1, 1);
    bool *out = choose(trace, setup);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t block = trace->spans[s].block;
        stays[s] = block >= setup->block_count || !out[block];
    }
    crn_trace *made = crn_trace_keep(trace, stays, origins);
    if (setup->kept)
        setup->kept = kept_of(made, setup->kept, *origins);
    crn_free(out);
    crn_free(stays);
    return made;
}
