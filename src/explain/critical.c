/* SPDX-License-Identifier: MIT */
#include "explain/critical.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "explain/moments.h"

/* Predecessors of a moment other than a link: its lane's moment before, or none that is known. */
enum { FROM_LANE = -1, FROM_NOTHING = -2 };

typedef struct working {
    const crn_spans *spans;
    crn_moments dag;
    crn_critical *critical;
    int64_t *from;    /* by moment: a link, FROM_LANE or FROM_NOTHING */
    uint64_t *latest; /* by moment: latest time that does not delay the end */
    uint32_t step_room;
} working;

/* ---- predecessors ---- */

/* Returns until when a moment's lane was busy before it: the moment itself, or the lane's previous
 * moment if it was idle in between. */
static uint64_t lane_active(const working *working, uint32_t moment)
{
    const crn_moment *before = &working->dag.moments[moment] - 1;
    return before->waits ? before->time : before[1].time;
}

/* Sets the predecessor of a moment: the lane or link that was active last. At equal times a link
 * takes precedence over the lane. */
static void find_from(working *working, uint32_t moment)
{
    const crn_moments *dag = &working->dag;
    int64_t from = FROM_NOTHING;
    uint64_t last = 0;
    if (!dag->moments[moment].first) {
        from = FROM_LANE;
        last = lane_active(working, moment);
    }
    for (uint32_t l = dag->first[moment]; l < dag->first[moment + 1]; l++)
        if (from == FROM_NOTHING || dag->moments[dag->links[l].from].time >= last) {
            from = l;
            last = dag->moments[dag->links[l].from].time;
        }
    working->from[moment] = from;
}

/* Returns the ns by which a moment follows the end of its predecessor's activity. */
static uint64_t gap_of(const working *working, uint32_t moment)
{
    const crn_moments *dag = &working->dag;
    int64_t from = working->from[moment];
    uint64_t time = dag->moments[moment].time;
    return from == FROM_NOTHING ? time
           : from == FROM_LANE  ? time - lane_active(working, moment)
                                : time - dag->moments[dag->links[from].from].time;
}

/* ---- slack ---- */

static void limit_latest(working *working, uint32_t moment, uint64_t time)
{
    if (working->latest[moment] > time)
        working->latest[moment] = time;
}

/* Lowers `latest` of a moment's predecessors as far as its own requires. */
static void limit_predecessors(working *working, uint32_t moment)
{
    const crn_moments *dag = &working->dag;
    uint64_t latest = working->latest[moment];
    if (latest == CRN_SLACK_ANY)
        return;
    uint64_t upto = latest - gap_of(working, moment);
    for (uint32_t l = dag->first[moment]; l < dag->first[moment + 1]; l++)
        if (dag->moments[dag->links[l].from].time <= upto) /* otherwise the link is in a cycle */
            limit_latest(working, dag->links[l].from, upto);
    if (dag->moments[moment].first)
        return;
    const crn_moment *before = &dag->moments[moment - 1];
    limit_latest(working, moment - 1,
                 before->waits ? upto : upto - (dag->moments[moment].time - before->time));
}

static int compare_late(const void *left, const void *right, void *moments)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const crn_moment *one = (const crn_moment *)moments + a;
    const crn_moment *other = (const crn_moment *)moments + b;
    return CRN_ORDER(other->time, one->time) ?: CRN_ORDER(b, a);
}

/* Handles moments in cycles, which spans without duration or a damaged file can cause: their lanes
 * become their predecessors. */
static void limit_cycles(working *working, const uint32_t *left, uint32_t *queue)
{
    uint32_t count = 0;
    for (uint32_t m = 0; m < working->dag.count; m++)
        if (left[m])
            queue[count++] = m;
    if (count)
        qsort_r(queue, count, sizeof *queue, compare_late, working->dag.moments);
    for (uint32_t i = 0; i < count; i++) {
        working->from[queue[i]] = working->dag.moments[queue[i]].first ? FROM_NOTHING : FROM_LANE;
        limit_predecessors(working, queue[i]);
    }
    working->critical->ignored += count;
}

/* Finds `latest`: visits each moment after all its successors. */
static void find_latest(working *working)
{
    const crn_moments *dag = &working->dag;
    uint32_t *left = crn_calloc(dag->count + (size_t)1, sizeof *left);
    uint32_t *queue = crn_calloc(dag->count + (size_t)1, sizeof *queue), count = 0;
    for (uint32_t m = 0; m < dag->count; m++)
        left[m] = m + 1 < dag->count && !dag->moments[m + 1].first;
    for (uint32_t l = 0; l < dag->link_count; l++)
        left[dag->links[l].from]++;
    for (uint32_t m = 0; m < dag->count; m++)
        if (!left[m])
            queue[count++] = m;
    for (uint32_t next = 0; next < count; next++) {
        uint32_t moment = queue[next];
        limit_predecessors(working, moment);
        if (!dag->moments[moment].first && !--left[moment - 1])
            queue[count++] = moment - 1;
        for (uint32_t l = dag->first[moment]; l < dag->first[moment + 1]; l++)
            if (!--left[dag->links[l].from])
                queue[count++] = dag->links[l].from;
    }
    if (count < dag->count)
        limit_cycles(working, left, queue);
    crn_free(left);
    crn_free(queue);
}

static void slack_at_most(const working *working, uint32_t span, uint32_t moment)
{
    uint64_t latest = working->latest[moment], *slack = &working->critical->slack[span];
    if (latest == CRN_SLACK_ANY)
        return;
    uint64_t its = latest - working->dag.moments[moment].time;
    *slack = its < *slack ? its : *slack;
}

/* Sets each span's slack: the minimum over the moments that end its self time. */
static void find_slack(working *working)
{
    const crn_moments *dag = &working->dag;
    uint32_t count = working->spans->trace->span_count;
    for (uint32_t s = 0; s < count; s++) {
        working->critical->slack[s] = CRN_SLACK_ANY;
        slack_at_most(working, s, dag->ends[s]);
    }
    for (uint32_t m = 0; m + 1 < dag->count; m++)
        if (dag->moments[m].span != CRN_SPAN_NONE && !dag->moments[m].waits)
            slack_at_most(working, dag->moments[m].span, m + 1);
}

/* ---- critical path ---- */

/* Adds a step before the last added one. Merges adjacent steps of one span. */
static void add_step(working *working, crn_path_step step)
{
    crn_critical *critical = working->critical;
    if (step.start < critical->start)
        step.start = critical->start;
    if (step.start >= step.end)
        return;
    crn_path_step *after = critical->step_count ? &critical->steps[critical->step_count - 1] : NULL;
    if (after && after->span == step.span && after->via == CRN_VIA_LANE) {
        after->start = step.start;
        return;
    }
    CRN_GROW(critical->steps, critical->step_count, working->step_room);
    critical->steps[critical->step_count++] = step;
}

/* Sets how the path enters the step added last. */
static void set_via(working *working, crn_path_via via)
{
    crn_critical *critical = working->critical;
    if (critical->step_count)
        critical->steps[critical->step_count - 1].via = via;
}

static void walk_back(working *working, uint32_t moment)
{
    const crn_moments *dag = &working->dag;
    const uint64_t start = working->critical->start;
    while (dag->moments[moment].time > start) {
        uint64_t time = dag->moments[moment].time;
        int64_t from = working->from[moment];
        if (from == FROM_NOTHING) {
            add_step(working, (crn_path_step){start, time, CRN_SPAN_NONE, CRN_VIA_BEGIN});
            break;
        }
        if (from == FROM_LANE) {
            const crn_moment *before = &dag->moments[--moment];
            add_step(working,
                     (crn_path_step){before->time, time,
                                     before->waits ? CRN_SPAN_NONE : before->span, CRN_VIA_LANE});
        } else {
            const crn_link_to *link = &dag->links[from];
            set_via(working, link->via);
            moment = link->from;
            add_step(working,
                     (crn_path_step){dag->moments[moment].time, time, CRN_SPAN_NONE, CRN_VIA_LANE});
        }
    }
}

static void turn_round(crn_critical *critical)
{
    for (uint32_t low = 0, high = critical->step_count; low + 1 < high; low++) {
        crn_path_step step = critical->steps[low];
        critical->steps[low] = critical->steps[--high];
        critical->steps[high] = step;
    }
    if (critical->step_count)
        critical->steps[0].via = CRN_VIA_BEGIN;
    for (uint32_t i = 0; i < critical->step_count; i++)
        if (critical->steps[i].span == CRN_SPAN_NONE)
            critical->idle += critical->steps[i].end - critical->steps[i].start;
}

/* ---- figures by block ---- */

static int compare_rows(const void *left, const void *right)
{
    const crn_critical_row *a = left, *b = right;
    return CRN_ORDER(b->time, a->time)
               ?: CRN_ORDER(a->slack, b->slack)
               ?: CRN_ORDER(a->block, b->block);
}

static void make_rows(working *working)
{
    const crn_spans *spans = working->spans;
    crn_critical *critical = working->critical;
    uint32_t blocks = spans->block_count ? spans->block_count : 1;
    uint32_t count = spans->trace->span_count;
    crn_critical_row *rows = critical->rows = crn_calloc(blocks, sizeof *rows);
    uint8_t *seen = crn_calloc(count + (size_t)1, 1);
    for (uint32_t b = 0; b < blocks; b++)
        rows[b] = (crn_critical_row){.block = b, .slack = CRN_SLACK_ANY};
    for (uint32_t s = 0; s < count; s++) {
        crn_critical_row *row = &rows[crn_span_block(spans, s)];
        row->count++;
        row->self += crn_span_self(spans, s);
        row->slack = critical->slack[s] < row->slack ? critical->slack[s] : row->slack;
    }
    for (uint32_t i = 0; i < critical->step_count; i++) {
        const crn_path_step *step = &critical->steps[i];
        if (step->span == CRN_SPAN_NONE)
            continue;
        crn_critical_row *row = &rows[crn_span_block(spans, step->span)];
        row->time += step->end - step->start;
        row->on_path += !seen[step->span];
        seen[step->span] = 1;
    }
    for (uint32_t b = 0; b < blocks; b++)
        if (rows[b].count)
            rows[critical->row_count++] = rows[b];
    qsort(rows, critical->row_count, sizeof *rows, compare_rows);
    crn_free(seen);
}

/* ---- entry ---- */

/* Returns the span that ends last; of several, the first to begin. */
static uint32_t last_span(const crn_trace *trace)
{
    uint32_t last = 0;
    for (uint32_t s = 1; s < trace->span_count; s++) {
        const crn_span *span = &trace->spans[s], *so_far = &trace->spans[last];
        if (span->end > so_far->end || (span->end == so_far->end && span->start < so_far->start))
            last = s;
    }
    return last;
}

static uint64_t first_start(const crn_trace *trace)
{
    uint64_t first = trace->span_count ? trace->spans[0].start : 0;
    for (uint32_t s = 1; s < trace->span_count; s++)
        first = trace->spans[s].start < first ? trace->spans[s].start : first;
    return first;
}

static void find(working *working, uint32_t span)
{
    const crn_trace *trace = working->spans->trace;
    crn_critical *critical = working->critical;
    bool whole = span == CRN_SPAN_NONE;
    uint32_t last = whole ? last_span(trace) : span, end = working->dag.ends[last];
    critical->start = whole ? first_start(trace) : trace->spans[span].start;
    critical->end = trace->spans[last].end;
    for (uint32_t m = 0; m < working->dag.count; m++) {
        working->latest[m] = whole ? critical->end : CRN_SLACK_ANY;
        find_from(working, m);
    }
    working->latest[end] = critical->end;
    find_latest(working);
    find_slack(working);
    walk_back(working, end);
    turn_round(critical);
    make_rows(working);
}

crn_critical *crn_critical_make(const crn_spans *spans, uint32_t span)
{
    uint32_t count = spans->trace->span_count;
    crn_critical *critical = crn_calloc(1, sizeof *critical);
    critical->slack = crn_calloc(count + (size_t)1, sizeof *critical->slack);
    if (!count)
        return critical;
    working working = {.spans = spans, .critical = critical, .dag = crn_moments_make(spans)};
    critical->ignored = working.dag.ignored;
    working.from = crn_calloc(working.dag.count, sizeof *working.from);
    working.latest = crn_calloc(working.dag.count, sizeof *working.latest);
    find(&working, span);
    crn_free(working.from);
    crn_free(working.latest);
    crn_moments_free(&working.dag);
    return critical;
}

void crn_critical_free(crn_critical *critical)
{
    if (!critical)
        return;
    crn_free(critical->steps);
    crn_free(critical->rows);
    crn_free(critical->slack);
    crn_free(critical);
}
