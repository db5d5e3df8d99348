/* SPDX-License-Identifier: MIT
 *
 * Where the processor time of spans was recorded, own time that took none of it was some wait that
 * nobody has recorded otherwise: it stays as long as it was.
 */
#include "base/memory.h"
#include "replay/program.h"

/* What is so little, or so nearly all, is what reading the clock is off. */
enum { LEAST_NS = 10000 };
#define NEARLY_ALL 0.95

/* Processor time of each span without its children's on the lane; below 0: not known. */
static double *own_processor_time(const crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    double *own = crn_calloc(trace->span_count + (size_t)1, sizeof *own);
    for (uint32_t s = 0; s < trace->span_count; s++)
        own[s] = trace->cpu[s] == UINT64_MAX ? -1 : (double)trace->cpu[s];
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t parent = trace->spans[s].parent;
        if (parent == CRN_SPAN_NONE || trace->spans[s].handed_off || own[parent] < 0)
            continue;
        if (trace->cpu[s] == UINT64_MAX)
            own[parent] = -1;
        else
            own[parent] =
                own[parent] > (double)trace->cpu[s] ? own[parent] - (double)trace->cpu[s] : 0;
    }
    return own;
}

bool crn_plan_working(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    if (!trace->cpu || replay->facts.shared)
        return false;
    bool any = false;
    double *own = own_processor_time(replay);
    double *work = crn_calloc(trace->span_count + (size_t)1, sizeof *work);
    replay->working = crn_calloc(trace->span_count + (size_t)1, sizeof *replay->working);
    for (uint32_t op = 0; op < replay->op_count; op++)
        if (replay->ops[op].kind == CRN_OP_WORK)
            work[replay->ops[op].who] += (double)replay->ops[op].amount;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        bool worked = own[s] < 0 || work[s] < LEAST_NS || own[s] >= NEARLY_ALL * work[s];
        replay->working[s] = worked ? 1 : (float)(own[s] / work[s]);
        any |= !worked;
    }
    crn_free(own);
    crn_free(work);
    return any;
}
