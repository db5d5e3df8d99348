/* SPDX-License-Identifier: MIT
 *
 * Dependencies in the recording: a gate wherever a lane may have to wait, and a signal where the
 * awaited event happened. In the recording each signal precedes the passing of its gate, so gates
 * cannot deadlock as long as each lane runs what it ran there.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "replay/program.h"

static uint32_t add_gate(crn_replay *replay, uint32_t pending, uint64_t until)
{
    CRN_GROW(replay->gates, replay->gate_count, replay->gate_room);
    replay->gates[replay->gate_count] = (crn_gate){pending, until};
    return replay->gate_count++;
}

static void add_point(crn_replay *replay, crn_point_kind kind, uint32_t span, uint64_t time,
                      uint32_t target)
{
    CRN_GROW(replay->points, replay->point_count, replay->point_room);
    replay->points[replay->point_count++] =
        (crn_point){time, replay->trace->spans[span].lane, span, target, kind};
}

/* Adds a signal for a gate in `span` at `time`. */
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
    for (uint32_t i = 0; i < replay->copy_count; i++)
        add_point(replay, CRN_POINT_TAKE, replay->copies[i].parent, replay->copies[i].taken,
                  replay->job_count + i);
}

/* ---- edges ---- */

/* Makes a begin gate, perhaps unused, for each span with edges to spans that it follows. */
static void make_begin_gates(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    uint32_t *from = crn_calloc(trace->edge_count + (size_t)1, sizeof *from), count = 0;
    for (uint32_t e = 0; e < trace->edge_count; e++)
        if (trace->edges[e].kind != CRN_EDGE_WAITS)
            from[count++] = trace->edges[e].from;
    if (count)
        qsort(from, count, sizeof *from, crn_order_uint32);
    replay->begin_gates = crn_calloc(count + (size_t)1, sizeof *replay->begin_gates);
    for (uint32_t i = 0; i < count; i++)
        if (!i || from[i] != from[i - 1])
            replay->begin_gates[replay->begin_gate_count++] = (crn_begin_gate){from[i], CRN_NONE};
    crn_free(from);
}

crn_begin_gate *crn_replay_begin_gate(const crn_replay *replay, uint32_t span)
{
    uint32_t low = CRN_BELOW(replay->begin_gates, replay->begin_gate_count, span, span);
    bool found = low < replay->begin_gate_count && replay->begin_gates[low].span == span;
    return found ? &replay->begin_gates[low] : NULL;
}

static uint64_t earlier(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

static void add_follows(crn_replay *replay, const crn_span_edge *edge)
{
    const crn_span *from = &replay->trace->spans[edge->from];
    const crn_span *to = &replay->trace->spans[edge->to];
    uint32_t gate = crn_replay_job_of(replay, edge->from);
    if (to->start > from->start) {
        replay->facts.contradicted++;
        return;
    }
    if (gate == CRN_NONE) {
        crn_begin_gate *its = crn_replay_begin_gate(replay, edge->from);
        if (its->gate == CRN_NONE)
            its->gate = add_gate(replay, 0, 0);
        gate = its->gate;
    }
    signal_gate(replay, gate, edge->to, earlier(to->end, from->start));
}

/* Adds a gate for a wait. An awaited span may go on a little after it let the waiting span
 * continue; its signal is then at the end of the waiting span. */
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

/* Bitmaps by span: recorded waits, which must not be inferred again. */
typedef struct known {
    uint8_t *waited, *waited_for;
} known;

static void set_bit(uint8_t *bits, uint32_t at)
{
    bits[at / 8] |= (uint8_t)(1 << at % 8);
}

static bool has_bit(const uint8_t *bits, uint32_t at)
{
    return bits[at / 8] >> at % 8 & 1;
}

static void add_edges(crn_replay *replay, const known *known)
{
    const crn_trace *trace = replay->trace;
    for (uint32_t e = 0; e < trace->edge_count; e++) {
        const crn_span_edge *edge = &trace->edges[e];
        if (edge->kind == CRN_EDGE_WAITS) {
            set_bit(known->waited, edge->from);
            set_bit(known->waited_for, edge->to);
        }
        replay->facts.waits++;
        /* An edge within a lane needs no gate: the lane keeps its order. */
        if (trace->spans[edge->from].lane == trace->spans[edge->to].lane)
            continue;
        if (edge->kind == CRN_EDGE_WAITS)
            add_wait(replay, edge);
        else
            add_follows(replay, edge);
    }
}

/* ---- inferred waits ---- */

/* A job and the span that handed it off. */
typedef struct asked {
    uint32_t parent, job;
} asked;

static int compare_asked(const void *left, const void *right)
{
    const asked *a = left, *b = right;
    return CRN_ORDER(a->parent, b->parent) ?: CRN_ORDER(a->job, b->job);
}

/* Returns the end of the last job that a span handed off; UINT64_MAX if one of these jobs ran on
 * the span's lane, has a recorded waiter, or passed a queue with a noted capacity. */
static uint64_t last_of(const crn_replay *replay, const known *known, const asked *jobs,
                        uint32_t count)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        const crn_job *job = &replay->jobs[jobs[i].job];
        if (replay->trace->spans[jobs[i].parent].lane == job->lane ||
            has_bit(known->waited_for, job->span) || replay->kinds[job->kind].capacity)
            return UINT64_MAX;
        last = job->end > last ? job->end : last;
    }
    return last;
}

static void guess_of(crn_replay *replay, const known *known, const asked *jobs, uint32_t count)
{
    const crn_trace *trace = replay->trace;
    uint32_t parent = jobs[0].parent;
    uint64_t last = last_of(replay, known, jobs, count);
    if (has_bit(known->waited, parent) || last > trace->spans[parent].end ||
        trace->spans[parent].open)
        return;
    uint32_t gate = add_gate(replay, 0, 0);
    add_point(replay, CRN_POINT_WAIT, parent, last, gate);
    replay->facts.guessed++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t span = replay->jobs[jobs[i].job].span;
        signal_gate(replay, gate, span, trace->spans[span].end);
    }
}

/* Infers waits: a span that handed off jobs and ended after all of them waited for them, unless it
 * or they have a recorded wait. Infers none for a queue with a noted capacity: its producer need
 * not wait, and may end after its job only for lack of a processor. */
static void infer_waits(crn_replay *replay, const known *known)
{
    uint32_t count = replay->job_count;
    asked *all = crn_calloc(count + (size_t)1, sizeof *all);
    for (uint32_t j = 0; j < count; j++)
        all[j] = (asked){replay->trace->spans[replay->jobs[j].span].parent, j};
    if (count)
        qsort(all, count, sizeof *all, compare_asked);
    for (uint32_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && all[next].parent == all[first].parent; next++)
            ;
        guess_of(replay, known, all + first, next - first);
    }
    crn_free(all);
}

/* ---- entry ---- */

static int compare_points(const void *left, const void *right)
{
    const crn_point *a = left, *b = right;
    return CRN_ORDER(a->lane, b->lane)
               ?: CRN_ORDER(a->time, b->time)
               ?: CRN_ORDER(a->kind, b->kind)
               ?: CRN_ORDER(a->span, b->span)
               ?: CRN_ORDER(a->target, b->target);
}

void crn_plan_edges(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    known known = {crn_walk_bits(replay), crn_walk_bits(replay)};
    make_begin_gates(replay);
    add_jobs(replay);
    add_edges(replay, &known);
    if (!replay->no_guesses)
        infer_waits(replay, &known);
    crn_free(known.waited);
    crn_free(known.waited_for);
    if (replay->point_count)
        qsort(replay->points, replay->point_count, sizeof *replay->points, compare_points);
    replay->point_first = crn_calloc(trace->lane_count + (size_t)2, sizeof(uint32_t));
    for (uint32_t p = 0; p < replay->point_count; p++)
        replay->point_first[replay->points[p].lane + 1]++;
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        replay->point_first[lane + 1] += replay->point_first[lane];
}
