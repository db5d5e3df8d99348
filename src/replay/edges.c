/* SPDX-License-Identifier: MIT
 *
 * What had to wait for what: a gate for each, with signals where what was waited for happened.
 * Each signal was recorded no later than its gate was passed, so gates cannot lock one another as
 * long as each lane runs what it ran.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "replay/program.h"

static uint32_t add_gate(crn_replay *replay, uint32_t pending, uint64_t until)
{
    replay->gates = crn_replay_grow(replay->gates, replay->gate_count, &replay->gate_room,
                                    sizeof *replay->gates);
    replay->gates[replay->gate_count] = (crn_gate){pending, until};
    return replay->gate_count++;
}

static void add_point(crn_replay *replay, crn_point_kind kind, uint32_t span, uint64_t time,
                      uint32_t target)
{
    replay->points = crn_replay_grow(replay->points, replay->point_count, &replay->point_room,
                                     sizeof *replay->points);
    replay->points[replay->point_count++] =
        (crn_point){time, replay->trace->spans[span].lane, span, target, kind};
}

/* One more thing that the gate waits for: it happened in `span` at `time`. */
static void signal_gate(crn_replay *replay, uint32_t gate, uint32_t span, uint64_t time)
{
    crn_gate *its = &replay->gates[gate];
    its->pending++;
    its->until = its->until < time ? time : its->until;
    add_point(replay, CRN_POINT_SIGNAL, span, time, gate);
}

/* ---- hand-offs ---- */

static void add_jobs(crn_replay *replay)
{
    for (uint32_t j = 0; j < replay->job_count; j++) {
        const crn_job *job = &replay->jobs[j];
        uint32_t parent = replay->trace->spans[job->span].parent;
        uint64_t end = replay->trace->spans[parent].end;
        uint64_t time = job->taken < end ? job->taken : end;
        add_gate(replay, 0, 0);
        if (job->dated) {
            replay->gates[j] = (crn_gate){1, job->taken};
            add_point(replay, CRN_POINT_TAKE, parent, time, j);
        } else {
            signal_gate(replay, j, parent, time);
        }
    }
}

/* ---- edges ---- */

static uint64_t earlier(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

static void add_follows(crn_replay *replay, const crn_span_edge *edge)
{
    const crn_span *from = &replay->trace->spans[edge->from];
    const crn_span *to = &replay->trace->spans[edge->to];
    uint32_t gate = replay->job_of[edge->from];
    if (to->start > from->start) {
        replay->facts.contradicted++;
        return;
    }
    if (gate == CRN_NONE)
        gate = replay->begin_gate[edge->from];
    if (gate == CRN_NONE)
        gate = replay->begin_gate[edge->from] = add_gate(replay, 0, 0);
    signal_gate(replay, gate, edge->to, earlier(to->end, from->start));
}

/* What is waited for may go on a little after it has said that it is done. */
static void add_wait(crn_replay *replay, const crn_span_edge *edge)
{
    const crn_span *from = &replay->trace->spans[edge->from];
    const crn_span *to = &replay->trace->spans[edge->to];
    if (to->start > from->end || to->open) {
        replay->facts.contradicted++;
        return;
    }
    uint64_t done = earlier(to->end, from->end), at = done;
    if (edge->at >= done && edge->at >= from->start && edge->at <= from->end)
        at = edge->at;
    if (at < from->start)
        at = from->start;
    uint32_t gate = add_gate(replay, 0, 0);
    signal_gate(replay, gate, edge->to, done);
    add_point(replay, CRN_POINT_WAIT, edge->from, at, gate);
}

/* What is known of a span that need not be guessed. */
enum { SAYS_THAT_IT_WAITED = 1, IS_WAITED_FOR = 2 };

static void add_edges(crn_replay *replay, uint8_t *known)
{
    const crn_trace *trace = replay->trace;
    for (uint32_t e = 0; e < trace->edge_count; e++) {
        const crn_span_edge *edge = &trace->edges[e];
        if (edge->kind == CRN_EDGE_WAITS) {
            known[edge->from] |= SAYS_THAT_IT_WAITED;
            known[edge->to] |= IS_WAITED_FOR;
        }
        replay->facts.waits++;
        /* On one lane the one came after the other anyway. */
        if (trace->spans[edge->from].lane == trace->spans[edge->to].lane)
            continue;
        if (edge->kind == CRN_EDGE_WAITS)
            add_wait(replay, edge);
        else
            add_follows(replay, edge);
    }
}

/* ---- guesses ---- */

/* A span that handed work off, ended after all of that work had, and neither says that it waited
 * nor is anyone else to have waited for that work. Of queues that are noted it is known who waits
 * for what: a pusher that lost its processor may well end after its job. */
static void guess(crn_replay *replay, const uint8_t *known)
{
    const crn_trace *trace = replay->trace;
    uint64_t *last = crn_calloc(trace->span_count + (size_t)1, sizeof *last);
    uint32_t *gates = crn_calloc(trace->span_count + (size_t)1, sizeof *gates);
    for (uint32_t j = 0; j < replay->job_count; j++) {
        const crn_job *job = &replay->jobs[j];
        uint32_t parent = trace->spans[job->span].parent;
        bool elsewhere = trace->spans[parent].lane != job->lane &&
                         !(known[job->span] & IS_WAITED_FOR) && !replay->kinds[job->kind].capacity;
        if (!elsewhere || job->end > last[parent])
            last[parent] = elsewhere ? job->end : UINT64_MAX;
    }
    for (uint32_t j = 0; j < replay->job_count; j++) {
        const crn_job *job = &replay->jobs[j];
        uint32_t parent = trace->spans[job->span].parent;
        if ((known[parent] & SAYS_THAT_IT_WAITED) || last[parent] > trace->spans[parent].end ||
            trace->spans[parent].open)
            continue;
        if (!gates[parent]) {
            gates[parent] = add_gate(replay, 0, 0) + 1;
            add_point(replay, CRN_POINT_WAIT, parent, last[parent], gates[parent] - 1);
            replay->facts.guessed++;
        }
        signal_gate(replay, gates[parent] - 1, job->span, trace->spans[job->span].end);
    }
    crn_free(last);
    crn_free(gates);
}

/* ---- all of them ---- */

static int compare_points(const void *left, const void *right)
{
    const crn_point *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->span != b->span)
        return a->span < b->span ? -1 : 1;
    return a->target < b->target ? -1 : a->target > b->target;
}

void crn_plan_edges(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    uint8_t *known = crn_calloc(trace->span_count + (size_t)1, 1);
    replay->begin_gate = crn_calloc(trace->span_count + (size_t)1, sizeof(uint32_t));
    for (uint32_t s = 0; s < trace->span_count; s++)
        replay->begin_gate[s] = CRN_NONE;
    add_jobs(replay);
    add_edges(replay, known);
    if (!replay->no_guesses)
        guess(replay, known);
    crn_free(known);
    if (replay->point_count)
        qsort(replay->points, replay->point_count, sizeof *replay->points, compare_points);
    replay->point_first = crn_calloc(trace->lane_count + (size_t)2, sizeof(uint32_t));
    for (uint32_t p = 0; p < replay->point_count; p++)
        replay->point_first[replay->points[p].lane + 1]++;
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        replay->point_first[lane + 1] += replay->point_first[lane];
}
