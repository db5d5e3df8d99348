/* SPDX-License-Identifier: MIT
 *
 * What each lane does, as operations: the time between two events is work of the span that was
 * innermost, or waiting for something that is known, or neither.
 */
#include "base/memory.h"
#include "replay/program.h"

typedef struct writer {
    crn_replay *replay;
    crn_walk walk;
    crn_replay_lane *facts;
    uint32_t lane;
    uint64_t at;             /* recorded: what has been written of */
    bool begun;              /* something was */
    uint32_t job;            /* movable, that the walk is in; CRN_NONE */
    uint32_t to_begin, open; /* of it */
    uint32_t loop;           /* operation, CRN_NONE before the first job */
    bool looping;            /* behind a job, and nothing has followed yet */
    uint8_t *inside;         /* by span: began in the job */
    uint32_t deferred;       /* gate that is to be passed before `deferred_span` ends */
    uint32_t deferred_span;
} writer;

static uint32_t emit(writer *writer, crn_op_kind kind, uint32_t who, uint64_t amount)
{
    crn_replay *replay = writer->replay;
    if (replay->op_count == replay->op_room) {
        replay->op_room = replay->op_room ? replay->op_room * 2 : 4096;
        replay->ops = crn_realloc(replay->ops, replay->op_room, sizeof *replay->ops);
        replay->op_time = crn_realloc(replay->op_time, replay->op_room, sizeof *replay->op_time);
    }
    replay->op_time[replay->op_count] = writer->at;
    if (amount > CRN_OP_LONGEST)
        amount = CRN_OP_LONGEST; /* no program runs for as long, but a file can say so */
    replay->ops[replay->op_count] = (crn_op){.amount = amount, .kind = kind, .who = who};
    return replay->op_count++;
}

static uint64_t later(uint64_t left, uint64_t right)
{
    return left > right ? left : right;
}

static uint64_t within(uint64_t moment, uint64_t from, uint64_t to)
{
    return moment < from ? from : moment > to ? to : moment;
}

/* ---- time that passes ---- */

static void work(writer *writer, uint32_t owner, uint64_t time)
{
    const float *working = writer->replay->working;
    uint64_t part = working ? (uint64_t)((double)working[owner] * (double)time + 0.5) : time;
    if (part)
        emit(writer, CRN_OP_WORK, owner, part);
    if (part < time) {
        emit(writer, CRN_OP_DELAY, 0, time - part);
        writer->replay->facts.idle += time - part;
    }
}

/* The lane was there, with `owner` innermost, up to `to`. */
static void pass(writer *writer, uint32_t owner, uint64_t to)
{
    uint64_t from = writer->at;
    if (to <= from)
        return;
    if (owner == CRN_NONE) {
        emit(writer, CRN_OP_DELAY, 0, to - from);
        if (writer->begun)
            writer->facts->outside += to - from;
    } else {
        crn_rest rest = (crn_rest)writer->replay->rest[crn_replay_block(writer->replay, owner)];
        if (rest == CRN_REST_SLEEP)
            emit(writer, CRN_OP_DELAY, 0, to - from);
        else if (rest == CRN_REST_TIMER)
            emit(writer, CRN_OP_UNTIL, 0, to - writer->replay->origin);
        else
            work(writer, owner, to - from);
    }
    writer->at = to;
}

/* It was idle from `free` on, could go on at `ready` and did so at `time`: waking up takes a
 * moment. What is more than that was something else; whether a processor was lacking shows later.
 */
static void wake(writer *writer, uint64_t free, uint64_t ready, uint64_t time, uint32_t span)
{
    crn_replay *replay = writer->replay;
    uint64_t from = within(later(free, ready), 0, time), took = time - from;
    writer->at = time;
    if (took > CRN_REPLAY_WAKE_NS) {
        replay->wakes = crn_replay_grow(replay->wakes, replay->wake_count, &replay->wake_room,
                                        sizeof *replay->wakes);
        replay->wakes[replay->wake_count++] =
            (crn_wake){from + CRN_REPLAY_WAKE_NS, time, writer->lane, span};
        took = CRN_REPLAY_WAKE_NS;
    }
    emit(writer, CRN_OP_DELAY, 0, took);
}

/* With `owner` innermost, it waited until `until` at the latest, and went on at `to`. */
static void wait_within(writer *writer, uint32_t owner, uint64_t until, uint64_t to)
{
    if (until > writer->at)
        wake(writer, writer->at, until, to, owner);
    else
        pass(writer, owner, to);
}

/* ---- jobs ---- */

static void begin_movable(writer *writer, uint32_t number, uint64_t time)
{
    crn_replay *replay = writer->replay;
    crn_job *job = &replay->jobs[number];
    if (writer->loop == CRN_NONE)
        writer->loop = replay->lanes[writer->lane].loop =
            emit(writer, CRN_OP_LOOP, replay->lanes[writer->lane].pool, 0);
    job->first = replay->op_count;
    wake(writer, writer->at, replay->gates[number].until, time, job->span);
    writer->job = number;
    writer->to_begin = job->members;
    writer->open = 0;
}

static void end_movable(writer *writer)
{
    emit(writer, CRN_OP_RETURN, writer->job, 0);
    writer->job = CRN_NONE;
    writer->looping = true;
}

/* Behind the loop: the lane waited for more to come, until it was told that there is no more. */
static void leave_loop(writer *writer, uint64_t time)
{
    if (!writer->looping)
        return;
    uint64_t took = time - writer->at;
    writer->looping = false;
    writer->at = time;
    writer->replay->ops[writer->loop].amount = writer->replay->op_count;
    emit(writer, CRN_OP_DELAY, 0, took < CRN_REPLAY_WAKE_NS ? took : CRN_REPLAY_WAKE_NS);
}

static void begin_bound(writer *writer, uint32_t number, uint64_t time)
{
    crn_replay *replay = writer->replay;
    emit(writer, CRN_OP_GATE, number, 0);
    wake(writer, writer->at, replay->gates[number].until, time, replay->jobs[number].span);
    emit(writer, CRN_OP_START, number, 0);
}

/* ---- events ---- */

static void write_begin(writer *writer, const crn_event *event)
{
    crn_replay *replay = writer->replay;
    uint32_t span = event->which, number = replay->job_of[span];
    uint32_t gate = replay->begin_gate[span];
    bool in_job = writer->job != CRN_NONE;
    if (!in_job && number != CRN_NONE && replay->jobs[number].movable) {
        begin_movable(writer, number, event->time);
        in_job = true;
    } else {
        if (!in_job)
            leave_loop(writer, event->time);
        if (number != CRN_NONE) {
            begin_bound(writer, number, event->time);
        } else if (gate != CRN_NONE) {
            emit(writer, CRN_OP_GATE, gate, 0);
            wait_within(writer, event->owner, replay->gates[gate].until, event->time);
        } else {
            pass(writer, event->owner, event->time);
        }
    }
    if (in_job) {
        writer->to_begin -= replay->trace->spans[span].handed_off && writer->to_begin > 0;
        writer->inside[span] = 1;
        writer->open++;
    }
    writer->begun = true;
    emit(writer, CRN_OP_BEGIN, span, 0);
}

static void write_end(writer *writer, const crn_event *event)
{
    uint32_t span = event->which;
    if (writer->job == CRN_NONE)
        leave_loop(writer, event->time);
    pass(writer, event->owner, event->time);
    if (writer->deferred != CRN_NONE && writer->deferred_span == span) {
        emit(writer, CRN_OP_GATE, writer->deferred, 0);
        writer->deferred = CRN_NONE;
    }
    emit(writer, CRN_OP_END, span, 0);
    if (writer->job != CRN_NONE && writer->inside[span] && --writer->open == 0 &&
        writer->to_begin == 0)
        end_movable(writer);
}

/* Waits of one span that follow one another at once are one wait, for the last of them all. */
static uint64_t waited_until(const writer *writer, uint32_t point)
{
    const crn_replay *replay = writer->replay;
    const crn_point *first = &replay->points[point];
    const crn_span *span = &replay->trace->spans[first->span];
    uint64_t until = replay->gates[first->target].until;
    for (uint32_t p = point + 1; p < replay->point_first[writer->lane + 1]; p++) {
        const crn_point *next = &replay->points[p];
        if (next->kind != CRN_POINT_WAIT || next->span != first->span || next->time > span->end ||
            next->time - first->time > CRN_REPLAY_WAKE_NS)
            break;
        until = later(until, replay->gates[next->target].until);
    }
    return until;
}

static void write_wait(writer *writer, const crn_event *event)
{
    const crn_point *point = &writer->replay->points[event->which];
    if (event->owner != point->span && point->time == writer->replay->gates[point->target].until &&
        writer->deferred == CRN_NONE) {
        /* It did something else when that happened: it can have waited at its end at most. */
        writer->deferred = point->target;
        writer->deferred_span = point->span;
        return;
    }
    emit(writer, CRN_OP_GATE, point->target, 0);
    if (event->owner == point->span)
        wait_within(writer, event->owner, waited_until(writer, event->which), event->time);
    else
        pass(writer, event->owner, event->time);
}

static void write_point(writer *writer, const crn_event *event)
{
    const crn_point *point = &writer->replay->points[event->which];
    if (writer->job == CRN_NONE)
        leave_loop(writer, event->time);
    if (point->kind == CRN_POINT_WAIT) {
        write_wait(writer, event);
    } else if (point->kind == CRN_POINT_SIGNAL) {
        pass(writer, event->owner, event->time);
        emit(writer, CRN_OP_SIGNAL, point->target, 0);
    } else {
        wait_within(writer, event->owner, writer->replay->jobs[point->target].room_at, event->time);
        emit(writer, CRN_OP_TAKE, point->target, 0);
    }
}

/* ---- lanes ---- */

static void write_lane(writer *writer, uint32_t lane)
{
    crn_replay *replay = writer->replay;
    writer->lane = lane;
    writer->at = replay->origin;
    writer->begun = writer->looping = false;
    writer->job = writer->loop = writer->deferred = CRN_NONE;
    writer->facts = &replay->facts.lanes[lane];
    *writer->facts = (crn_replay_lane){.lane = lane, .before = CRN_SPAN_NONE};
    replay->lanes[lane].first = replay->op_count;
    crn_walk_lane(&writer->walk, lane);
    crn_event event;
    while (crn_walk_next(&writer->walk, &event)) {
        if (event.kind == CRN_EVENT_BEGIN)
            write_begin(writer, &event);
        else if (event.kind == CRN_EVENT_END)
            write_end(writer, &event);
        else
            write_point(writer, &event);
    }
    if (writer->looping)
        replay->ops[writer->loop].amount = replay->op_count;
    emit(writer, CRN_OP_STOP, 0, 0);
}

/* Lanes that a scenario adds to a pool only take its jobs. */
static void write_loops(writer *writer)
{
    crn_replay *replay = writer->replay;
    writer->at = replay->origin;
    for (uint32_t p = 0; p < replay->pool_count; p++) {
        uint32_t loop = emit(writer, CRN_OP_LOOP, p, 0);
        replay->pools[p].loop = loop;
        replay->ops[loop].amount = emit(writer, CRN_OP_STOP, 0, 0);
    }
}

void crn_plan_ops(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    replay->facts.lane_count = trace->lane_count;
    replay->facts.lanes = crn_calloc(trace->lane_count + (size_t)1, sizeof *replay->facts.lanes);
    writer writer = {.replay = replay,
                     .walk = crn_walk_new(replay),
                     .inside = crn_calloc(trace->span_count + (size_t)1, 1)};
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        write_lane(&writer, lane);
    write_loops(&writer);
    crn_walk_free(&writer.walk);
    crn_free(writer.inside);
}
