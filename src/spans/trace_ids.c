/* SPDX-License-Identifier: MIT */
#include "spans/trace_ids.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/search.h"
#include "capture/format.h"
#include "spans/trace_process.h"

/* Hashes two numbers. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    return crn_random_mix(a ^ (b + 0x9e3779b97f4a7c15u));
}

/* Finds the ids of a process. A capture has none if no traceparent was requested. It then gets ids
 * that are derived from its start times and process id, so that they are always the same. */
static void find_own(crn_own_ids *own, const crn_trace_process *process)
{
    static const crn_trace_process nobody = {.name = ""};
    if (!process)
        process = &nobody;
    uint64_t seed = mix(mix(process->unix_ns, process->monotonic_ns), process->number);
    own->trace_id[0] = process->trace_id[0];
    own->trace_id[1] = process->trace_id[1];
    if (!(own->trace_id[0] | own->trace_id[1])) {
        own->trace_id[0] = mix(seed, 1);
        own->trace_id[1] = mix(seed, 2) | 1;
    }
    own->span_key = process->span_key ? process->span_key : mix(seed, 3);
}

/* Finds, by span, the span that determines its trace id: itself or the nearest ancestor with a
 * remote parent, else the root. Writes results on the way back, so that each span is visited once.
 */
static void find_id_sources(crn_trace_ids *ids)
{
    const crn_trace *trace = ids->trace;
    for (uint32_t s = 0; s < trace->span_count; s++)
        ids->id_source[s] = CRN_SPAN_NONE;
    for (uint32_t r = 0; r < trace->remote_count; r++)
        ids->id_source[trace->remotes[r].span] = trace->remotes[r].span;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t at = s;
        while (ids->id_source[at] == CRN_SPAN_NONE && trace->spans[at].parent != CRN_SPAN_NONE)
            at = trace->spans[at].parent;
        uint32_t id_source = ids->id_source[at] == CRN_SPAN_NONE ? at : ids->id_source[at];
        for (at = s; ids->id_source[at] == CRN_SPAN_NONE; at = trace->spans[at].parent) {
            ids->id_source[at] = id_source;
            if (trace->spans[at].parent == CRN_SPAN_NONE)
                break;
        }
    }
}

void crn_trace_ids_open(crn_trace_ids *ids, const crn_trace *trace)
{
    *ids = (crn_trace_ids){.trace = trace};
    uint32_t processes = trace->process_count ? trace->process_count : 1;
    ids->own = crn_calloc(processes, sizeof *ids->own);
    for (uint32_t p = 0; p < processes; p++)
        find_own(&ids->own[p], trace->process_count ? &trace->processes[p] : NULL);
    ids->lane_first = crn_calloc((size_t)trace->lane_count + 1, sizeof *ids->lane_first);
    for (uint32_t s = trace->span_count; s-- > 0;)
        ids->lane_first[trace->spans[s].lane] = s;
    ids->id_source = crn_calloc((size_t)trace->span_count + 1, sizeof *ids->id_source);
    find_id_sources(ids);
}

void crn_trace_ids_close(crn_trace_ids *ids)
{
    crn_free(ids->own);
    crn_free(ids->lane_first);
    crn_free(ids->id_source);
    *ids = (crn_trace_ids){0};
}

/* Returns a span's remote parent, or NULL. */
static const crn_span_remote *remote_of(const crn_trace *trace, uint32_t span)
{
    uint32_t low = CRN_BELOW(trace->remotes, trace->remote_count, span, span);
    return low < trace->remote_count && trace->remotes[low].span == span ? &trace->remotes[low]
                                                                         : NULL;
}

static const crn_own_ids *own_of(const crn_trace_ids *ids, uint32_t span)
{
    return &ids->own[crn_trace_process_of(ids->trace, ids->trace->spans[span].lane)];
}

void crn_trace_id_of(const crn_trace_ids *ids, uint32_t span, uint64_t trace_id[2])
{
    uint32_t id_source = ids->id_source[span];
    const crn_span_remote *remote = remote_of(ids->trace, id_source);
    const uint64_t *its = remote ? remote->trace_id : own_of(ids, id_source)->trace_id;
    trace_id[0] = its[0];
    trace_id[1] = its[1];
}

uint64_t crn_span_id_of(const crn_trace_ids *ids, uint32_t span)
{
    uint32_t lane = ids->trace->spans[span].lane;
    uint64_t origin = ids->trace->origins ? ids->trace->origins[lane] : crn_span_name_make(lane, 0);
    uint64_t place = crn_span_name_place(origin) + (span - ids->lane_first[lane]);
    return crn_span_name_make(crn_span_name_lane(origin), place) ^ own_of(ids, span)->span_key;
}

uint64_t crn_parent_id_of(const crn_trace_ids *ids, uint32_t span)
{
    const crn_span_remote *remote = remote_of(ids->trace, span);
    if (remote)
        return remote->parent;
    uint32_t parent = ids->trace->spans[span].parent;
    return parent == CRN_SPAN_NONE ? 0 : crn_span_id_of(ids, parent);
}
