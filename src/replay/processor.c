/* SPDX-License-Identifier: MIT
 *
 * Uses the recorded processor time of spans: self time off the processor was a wait of unknown
 * cause, and keeps its length in a scenario. Ready time is no wait. Processor time is used only if
 * ready time is recorded or no processor was shared.
 */
#include <math.h>

#include "base/memory.h"
#include "replay/program.h"

/* Shorter work is within the error of reading the clock. */
enum { LEAST_NS = 10000 };
/* A span that was active for this share of its work did not wait. */
#define NEARLY_ALL 0.95

/* Returns the sum of a span's processor and ready time in ns; below 0 if unknown. */
static double active_time(const crn_trace *trace, uint32_t span)
{
    if (trace->cpu[span] == UINT64_MAX)
        return -1;
    bool ready = trace->ready && trace->ready[span] != UINT64_MAX;
    return (double)trace->cpu[span] + (ready ? (double)trace->ready[span] : 0);
}

/* Returns, by span, active time without that of children on its lane; below 0 if unknown. */
static double *own_active_time(const crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    double *own = crn_calloc(trace->span_count + (size_t)1, sizeof *own);
    for (uint32_t s = 0; s < trace->span_count; s++)
        own[s] = active_time(trace, s);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t parent = trace->spans[s].parent;
        if (parent == CRN_SPAN_NONE || trace->spans[s].handed_off || own[parent] < 0)
            continue;
        double its = active_time(trace, s);
        own[parent] = its < 0 ? -1 : fmax(own[parent] - its, 0);
    }
    return own;
}

/* Returns, by span, self time without known waits, in ns. */
static double *work_of_spans(crn_replay *replay)
{
    double *work = crn_calloc(replay->trace->span_count + (size_t)1, sizeof *work);
    uint8_t *over = crn_walk_bits(replay);
    for (uint32_t lane = 0; lane < replay->trace->lane_count; lane++) {
        crn_writer writer;
        crn_piece piece;
        crn_writer_begin(&writer, replay, lane, over, true);
        for (; crn_writer_next(&writer, &piece); crn_writer_put(&writer, 0))
            work[piece.owner] += (double)piece.amount;
        crn_writer_end(&writer);
    }
    crn_free(over);
    return work;
}

void crn_plan_working(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    if (!trace->cpu || (!trace->ready && crn_replay_is_shared(replay)))
        return;
    double *own = own_active_time(replay), *work = work_of_spans(replay);
    float *working = crn_calloc(trace->span_count + (size_t)1, sizeof *working);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        bool worked = own[s] < 0 || work[s] < LEAST_NS || own[s] >= NEARLY_ALL * work[s];
        working[s] = worked ? 1 : (float)(own[s] / work[s]);
    }
    replay->working = working;
    crn_free(own);
    crn_free(work);
}
