/* SPDX-License-Identifier: MIT */
#include "spans/trace_clock.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "spans/trace_merge.h"
#include "spans/trace_process.h"

/* A group of processes that share a monotonic clock. */
typedef struct machine {
    uint64_t boot[2];
    uint32_t first; /* the process that began first */
    int64_t at;     /* the begin of that process, ns */
    int64_t shift;  /* ns by which its times are moved later */
} machine;

/* Constraint: to's shift >= from's shift + by. */
typedef struct link {
    uint32_t from, to; /* machines */
    int64_t by;
} link;

typedef struct aligning {
    crn_trace *trace;
    machine *machines;
    uint32_t count;
    uint32_t *machine; /* by process */
    int64_t *start;    /* by process: its begin by its machine's clock */
} aligning;

/* Limit on times, beyond those of undamaged files. */
#define MOST ((int64_t)1 << 60)

static int64_t minus(uint64_t a, uint64_t b)
{
    uint64_t apart = a > b ? a - b : b - a;
    int64_t difference = apart < (uint64_t)MOST ? (int64_t)apart : MOST;
    return a > b ? difference : -difference;
}

static bool has_boot(const crn_trace_process *process)
{
    return (process->boot[0] | process->boot[1]) != 0;
}

static bool is_earlier(const crn_trace_process *a, const crn_trace_process *b)
{
    if (a->monotonic_ns != b->monotonic_ns)
        return a->monotonic_ns < b->monotonic_ns;
    return a->unix_ns < b->unix_ns;
}

/* Groups processes by boot id. A process without one is on a machine of its own. */
static void find_machines(aligning *aligning)
{
    const crn_trace *trace = aligning->trace;
    for (uint32_t p = 0; p < trace->process_count; p++) {
        const crn_trace_process *process = &trace->processes[p];
        uint32_t m = has_boot(process) ? 0 : aligning->count;
        while (m < aligning->count &&
               memcmp(aligning->machines[m].boot, process->boot, sizeof process->boot) != 0)
            m++;
        machine *its = &aligning->machines[m];
        if (m == aligning->count) {
            aligning->count++;
            *its = (machine){.boot = {process->boot[0], process->boot[1]}, .first = p};
        } else if (is_earlier(process, &trace->processes[its->first])) {
            its->first = p;
        }
        aligning->machine[p] = m;
    }
}

/* Places machines by CLOCK_REALTIME, the earliest at 0, and processes on a machine by
 * CLOCK_MONOTONIC. */
static void place_machines(aligning *aligning)
{
    const crn_trace_process *processes = aligning->trace->processes;
    uint64_t earliest = UINT64_MAX;
    for (uint32_t m = 0; m < aligning->count; m++) {
        uint64_t unix_ns = processes[aligning->machines[m].first].unix_ns;
        if (unix_ns && unix_ns < earliest)
            earliest = unix_ns;
    }
    for (uint32_t m = 0; m < aligning->count; m++) {
        uint64_t unix_ns = processes[aligning->machines[m].first].unix_ns;
        aligning->machines[m].at = unix_ns ? minus(unix_ns, earliest) : 0;
    }
    for (uint32_t p = 0; p < aligning->trace->process_count; p++) {
        const machine *its = &aligning->machines[aligning->machine[p]];
        aligning->start[p] =
            its->at + minus(processes[p].monotonic_ns, processes[its->first].monotonic_ns);
    }
}

/* Converts a process's time in the trace to its machine's clock. */
static int64_t moment(const aligning *aligning, uint32_t process, uint64_t time)
{
    return aligning->start[process] + minus(time, aligning->trace->processes[process].start);
}

static int compare_links(const void *left, const void *right)
{
    const link *a = left, *b = right;
    return CRN_ORDER(a->from, b->from) ?: CRN_ORDER(a->to, b->to) ?: CRN_ORDER(b->by, a->by);
}

/* Collects the tightest constraint for each pair of machines. */
static link *find_links(const aligning *aligning, uint32_t *count)
{
    const crn_trace *trace = aligning->trace;
    link *links = crn_calloc((size_t)trace->remote_count + 1, sizeof *links);
    uint32_t all = 0;
    for (uint32_t r = 0; r < trace->remote_count; r++) {
        const crn_span *child = &trace->spans[trace->remotes[r].span];
        if (!trace->remotes[r].resolved || child->parent == CRN_SPAN_NONE)
            continue;
        const crn_span *parent = &trace->spans[child->parent];
        uint32_t from = crn_trace_process_of(trace, parent->lane);
        uint32_t to = crn_trace_process_of(trace, child->lane);
        if (aligning->machine[from] != aligning->machine[to])
            links[all++] =
                (link){aligning->machine[from], aligning->machine[to],
                       moment(aligning, from, parent->start) - moment(aligning, to, child->start)};
    }
    if (all)
        qsort(links, all, sizeof *links, compare_links);
    *count = 0;
    for (uint32_t i = 0; i < all; i++)
        if (i == 0 || links[i].from != links[i - 1].from || links[i].to != links[i - 1].to)
            links[(*count)++] = links[i];
    return links;
}

/* Computes the smallest shifts that satisfy all constraints (Bellman-Ford). Stops after as many
 * rounds as machines: constraints that still change a shift contradict each other. */
static void shift_machines(aligning *aligning)
{
    uint32_t count;
    link *links = find_links(aligning, &count);
    bool changed = true;
    for (uint32_t round = 0; round < aligning->count && changed; round++) {
        changed = false;
        for (uint32_t i = 0; i < count; i++) {
            int64_t least = aligning->machines[links[i].from].shift + links[i].by;
            least = least < MOST ? least : MOST;
            if (least > aligning->machines[links[i].to].shift) {
                aligning->machines[links[i].to].shift = least;
                changed = true;
            }
        }
    }
    crn_free(links);
}

/* Moves a time to the trace's clock. Clamps the time, as a damaged file can have spans before its
 * process's begin or after CRN_TRACE_LATEST. */
static uint64_t moved(uint64_t time, const crn_trace_process *process, uint64_t start)
{
    if (time < process->start) {
        uint64_t before = process->start - time;
        return start > before ? start - before : 0;
    }
    uint64_t later = start + (time - process->start), latest = (uint64_t)CRN_TRACE_LATEST;
    return later < latest ? later : latest;
}

/* Moves a time, unless it is 0, which means unknown. */
static void move_known(uint64_t *time, const crn_trace_process *process, uint64_t start)
{
    if (*time)
        *time = moved(*time, process, start);
}

static crn_trace_process *process_of(const crn_trace *trace, uint32_t span)
{
    return &trace->processes[crn_trace_process_of(trace, trace->spans[span].lane)];
}

static void move_spans(crn_trace *trace, const uint64_t *starts)
{
    uint32_t process = 0;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        crn_span *span = &trace->spans[s];
        if (s == 0 || span->lane != span[-1].lane)
            process = crn_trace_process_of(trace, span->lane);
        span->start = moved(span->start, &trace->processes[process], starts[process]);
        span->end = moved(span->end, &trace->processes[process], starts[process]);
    }
    for (uint32_t h = 0; h < trace->handoff_count; h++) {
        const crn_trace_process *its = process_of(trace, trace->handoffs[h].span);
        move_known(&trace->handoffs[h].taken, its, starts[its - trace->processes]);
    }
    for (uint32_t e = 0; e < trace->edge_count; e++) {
        const crn_trace_process *its = process_of(trace, trace->edges[e].from);
        move_known(&trace->edges[e].at, its, starts[its - trace->processes]);
    }
    for (uint32_t c = 0; c < trace->counter_count; c++) {
        const crn_trace_process *its = process_of(trace, trace->counters[c].span);
        trace->counters[c].at = moved(trace->counters[c].at, its, starts[its - trace->processes]);
    }
    for (uint32_t e = 0; e < trace->event_count; e++) {
        const crn_trace_process *its = process_of(trace, trace->events[e].span);
        trace->events[e].at = moved(trace->events[e].at, its, starts[its - trace->processes]);
    }
    for (uint32_t o = 0; o < trace->off_core_count; o++) {
        crn_off_core *off = &trace->off_core[o];
        uint32_t number = crn_trace_process_of(trace, off->lane);
        off->begin = moved(off->begin, &trace->processes[number], starts[number]);
        off->end = moved(off->end, &trace->processes[number], starts[number]);
    }
    for (uint32_t s = 0; s < trace->samples.count; s++) {
        crn_sample *sample = &trace->samples.list[s];
        uint32_t number = crn_trace_process_of(trace, sample->lane);
        sample->at = moved(sample->at, &trace->processes[number], starts[number]);
    }
    for (uint32_t c = 0; c < trace->samples.change_count; c++) {
        crn_thread_change *change = &trace->samples.changes[c];
        uint32_t number = crn_trace_process_of(trace, change->lane);
        change->at = moved(change->at, &trace->processes[number], starts[number]);
    }
}

/* Moves all times so that the earliest process begins at 0, and clamps the ends. */
static void set_starts(aligning *aligning)
{
    crn_trace *trace = aligning->trace;
    int64_t earliest = INT64_MAX;
    uint64_t *starts = crn_calloc(trace->process_count, sizeof *starts);
    for (uint32_t p = 0; p < trace->process_count; p++) {
        aligning->start[p] += aligning->machines[aligning->machine[p]].shift;
        if (aligning->start[p] < earliest)
            earliest = aligning->start[p];
    }
    for (uint32_t p = 0; p < trace->process_count; p++) /* at most 3 * MOST, which is below 2^62 */
        starts[p] = (uint64_t)(aligning->start[p] - earliest);
    move_spans(trace, starts);
    for (uint32_t p = 0; p < trace->process_count; p++) {
        uint64_t most = (uint64_t)CRN_TRACE_LATEST - starts[p];
        trace->processes[p].start = starts[p];
        if (trace->processes[p].length > most)
            trace->processes[p].length = most;
        trace->processes[p].clock_shift = aligning->machines[aligning->machine[p]].shift;
    }
    crn_free(starts);
}

void crn_trace_align(crn_trace *trace)
{
    if (!trace->process_count)
        return;
    aligning aligning = {.trace = trace};
    aligning.machines = crn_calloc(trace->process_count, sizeof *aligning.machines);
    aligning.machine = crn_calloc(trace->process_count, sizeof *aligning.machine);
    aligning.start = crn_calloc(trace->process_count, sizeof *aligning.start);
    find_machines(&aligning);
    place_machines(&aligning);
    shift_machines(&aligning);
    set_starts(&aligning);
    crn_free(aligning.machines);
    crn_free(aligning.machine);
    crn_free(aligning.start);
    crn_trace_end_open(trace);
}

/* Extends each process to its last span: in a damaged file, spans may end after their process. */
static void find_lengths(crn_trace *trace)
{
    for (uint32_t s = 0; s < trace->span_count; s++) {
        const crn_span *span = &trace->spans[s];
        uint64_t last = span->open ? span->start : span->end;
        crn_trace_process *process = process_of(trace, s);
        if (last > process->start && last - process->start > process->length)
            process->length = last - process->start;
    }
}

void crn_trace_end_open(crn_trace *trace)
{
    find_lengths(trace);
    trace->length = 0;
    for (uint32_t p = 0; p < trace->process_count; p++) {
        uint64_t end = trace->processes[p].start + trace->processes[p].length;
        if (end > trace->length)
            trace->length = end;
    }
    for (uint32_t s = 0; s < trace->span_count; s++) {
        crn_span *span = &trace->spans[s];
        const crn_trace_process *process = process_of(trace, s);
        if (span->open)
            span->end = process->start + process->length;
        if (span->end < span->start)
            span->end = span->start;
    }
}

/* ---- agreement of the clocks ---- */

static void check_link(const crn_trace *trace, const crn_span_remote *remote,
                       crn_trace_clocks *clocks)
{
    const crn_span *child = &trace->spans[remote->span];
    clocks->links++;
    clocks->missing += !remote->resolved;
    if (!remote->resolved || child->parent == CRN_SPAN_NONE)
        return;
    const crn_span *parent = &trace->spans[child->parent];
    if (child->start >= parent->start)
        return;
    clocks->early++;
    if (parent->start - child->start > clocks->earliest)
        clocks->earliest = parent->start - child->start;
}

crn_trace_clocks crn_trace_clocks_of(const crn_trace *trace)
{
    crn_trace_clocks clocks = {0};
    for (uint32_t p = 0; p < trace->process_count; p++) {
        const crn_trace_process *process = &trace->processes[p];
        uint64_t shift = (uint64_t)process->clock_shift;
        shift = process->clock_shift < 0 ? -shift : shift;
        bool known = false;
        for (uint32_t before = 0; before < p && !known && has_boot(process); before++)
            known = memcmp(trace->processes[before].boot, process->boot, sizeof process->boot) == 0;
        clocks.machines += !known;
        if (shift > clocks.shifted)
            clocks.shifted = shift;
    }
    for (uint32_t r = 0; r < trace->remote_count; r++)
        check_link(trace, &trace->remotes[r], &clocks);
    return clocks;
}
