/* SPDX-License-Identifier: MIT
 *
 * Converts a lane's recording into operations. The time between two events is work of the innermost
 * span, a wait with a known cause, or neither. The caller advances event by event, because the
 * amount of work depends on what other lanes do meanwhile.
 */
#include <string.h>

#include "base/cover.h"
#include "base/memory.h"
#include "replay/program.h"

/* Pseudo-operations of the writer: a job's code begins; a lane's code continues after its loop. */
enum { WRITER_JOB = 32, WRITER_BEHIND };

static void emit(crn_writer *writer, int kind, uint32_t who, uint64_t amount)
{
    if (kind == CRN_OP_WORK)
        writer->work = writer->op_count;
    writer->ops[writer->op_count++] = (struct crn_written){kind, who, amount};
}

static uint64_t later(uint64_t left, uint64_t right)
{
    return left > right ? left : right;
}

/* ---- elapsed time ---- */

static void work(crn_writer *writer, uint32_t owner, uint64_t time)
{
    const float *working = writer->replay->working;
    uint64_t part = working ? (uint64_t)((double)working[owner] * (double)time + 0.5) : time;
    if (part)
        emit(writer, CRN_OP_WORK, owner, part);
    if (part < time) {
        emit(writer, CRN_OP_DELAY, 0, time - part);
        writer->replay->facts.idle += writer->dry ? 0 : time - part;
    }
}

/* Accounts for the time up to `to`, with `owner` as the innermost span. */
static void pass(crn_writer *writer, uint32_t owner, uint64_t to)
{
    uint64_t from = writer->at;
    if (to <= from)
        return;
    if (owner == CRN_NONE) {
        emit(writer, CRN_OP_DELAY, 0, to - from);
        if (writer->begun && !writer->dry)
            writer->facts->outside += to - from;
    } else {
        crn_rest rest = (crn_rest)writer->replay->rest[crn_replay_block(writer->replay, owner)];
        if (rest == CRN_REST_SLEEP || rest == CRN_REST_ASYNC || rest == CRN_REST_CONDITION ||
            rest == CRN_REST_SEMAPHORE)
            emit(writer, CRN_OP_DELAY, 0, to - from);
        else if (rest == CRN_REST_WAIT)
            return; /* the span with the lock begins next and accounts for it */
        else if (rest == CRN_REST_TIMER)
            emit(writer, CRN_OP_UNTIL, 0, to - writer->replay->origin);
        else
            work(writer, owner, to - from);
    }
    writer->at = to;
}

/* Writes a wake-up: the lane was idle from `free`, could continue at `ready` and did at `time`. If
 * this took longer than a normal wake-up, notes it; cores.c decides whether a processor was free.
 */
static void wake(crn_writer *writer, uint64_t free, uint64_t ready, uint64_t time, uint32_t span)
{
    crn_replay *replay = writer->replay;
    uint64_t from = crn_within(later(free, ready), 0, time), took = time - from;
    writer->at = time;
    if (took > CRN_REPLAY_WAKE_NS && !writer->dry) {
        CRN_GROW(replay->wakes, replay->wake_count, replay->wake_room);
        replay->wakes[replay->wake_count++] =
            (crn_wake){from + CRN_REPLAY_WAKE_NS, time, writer->lane, span};
    }
    emit(writer, CRN_OP_DELAY, 0, took < CRN_REPLAY_WAKE_NS ? took : CRN_REPLAY_WAKE_NS);
}

/* Writes that the lane, in `owner`, waited until `until` and continued at `to`, or did not wait. */
static void wait_within(crn_writer *writer, uint32_t owner, uint64_t until, uint64_t to)
{
    if (until > writer->at)
        wake(writer, writer->at, until, to, owner);
    else
        pass(writer, owner, to);
}

/* Writes the wait for the lane's timer, if the event has one; else returns false. The wait may be
 * self time of the span around. */
static bool pass_timer(crn_writer *writer, const crn_event *event)
{
    const crn_replay *replay = writer->replay;
    bool at_end = event->kind == CRN_EVENT_END;
    if (at_end && event->owner != event->which)
        return false;
    uint32_t timer =
        replay->timer_count
            ? crn_replay_timer(replay, writer->lane, crn_replay_block(replay, event->which), at_end)
            : CRN_NONE;
    if (timer == CRN_NONE || event->time <= writer->at)
        return false;
    if (at_end)
        emit(writer, CRN_OP_MORE, timer * CRN_MORES + CRN_MORE_NEXT, 0);
    else
        emit(writer, CRN_OP_UNTIL, 0, event->time - replay->origin);
    writer->at = event->time;
    return true;
}

/* Writes the wait for the span's lock; returns false if it has none. */
static bool pass_lock(crn_writer *writer, const crn_event *event)
{
    const crn_hold *hold = crn_replay_hold(writer->replay, event->which);
    if (!hold)
        return false;
    uint32_t block = crn_replay_block(writer->replay, event->which);
    bool waited = hold->until > writer->at && hold->until <= event->time;
    bool after_wait = writer->waited && !waited;
    if (!waited && !after_wait)
        pass(writer, event->owner, event->time);
    emit(writer, CRN_OP_MORE, block * CRN_MORES + CRN_MORE_LOCK, 0);
    if (waited || after_wait)
        wake(writer, writer->at, hold->until, event->time, event->which);
    return true;
}

/* ---- jobs ---- */

static void begin_movable(crn_writer *writer, uint32_t number, uint64_t time)
{
    crn_replay *replay = writer->replay;
    crn_job *job = &replay->jobs[number];
    if (!writer->has_loop)
        emit(writer, CRN_OP_LOOP, replay->lanes[writer->lane].pool, 0);
    writer->has_loop = true;
    emit(writer, WRITER_JOB, number, 0);
    wake(writer, writer->at, replay->gates[number].until, time, job->span);
    writer->job = number;
    writer->to_begin = job->members;
    writer->open = 0;
}

static void end_movable(crn_writer *writer)
{
    emit(writer, CRN_OP_RETURN, 0, 0);
    writer->job = CRN_NONE;
    writer->looping = true;
}

/* Leaves the loop after a worker's last job: the lane waited until it learned that no more jobs
 * come. */
static void leave_loop(crn_writer *writer, uint64_t time)
{
    if (!writer->looping)
        return;
    uint64_t took = time - writer->at;
    writer->looping = false;
    writer->at = time;
    emit(writer, WRITER_BEHIND, 0, 0);
    emit(writer, CRN_OP_DELAY, 0, took < CRN_REPLAY_WAKE_NS ? took : CRN_REPLAY_WAKE_NS);
}

static void begin_bound(crn_writer *writer, uint32_t number, uint64_t time)
{
    crn_replay *replay = writer->replay;
    emit(writer, CRN_OP_GATE, number, 0);
    wake(writer, writer->at, replay->gates[number].until, time, replay->jobs[number].span);
    emit(writer, CRN_OP_START, number, 0);
}

/* ---- begins and ends of spans ---- */

static bool is_inside(const crn_writer *writer, uint32_t span)
{
    return writer->job != CRN_NONE &&
           !crn_replay_is_before(writer->replay, span, writer->replay->jobs[writer->job].span);
}

/* Writes the begin or end of a span that runs report. Spans in a job (`inside`) have slots of their
 * own, as the lane that runs the job may have open spans. `outermost`: no other span is open. */
static void emit_event(crn_writer *writer, const crn_event *event, bool inside, bool outermost)
{
    const crn_replay *replay = writer->replay;
    bool begins = event->kind == CRN_EVENT_BEGIN;
    if (crn_is_watched(replay, event->which))
        emit(writer, begins ? CRN_OP_BEGIN : CRN_OP_END, crn_watched_place(replay, event->which),
             0);
    else if (crn_is_meant(replay, event->which) && !replay->trace->spans[event->which].open)
        emit(writer, begins ? CRN_OP_OPEN : CRN_OP_CLOSE, event->slot * 2 + inside, 0);
    else if (outermost)
        emit(writer, CRN_OP_TOUCH, 0, 0);
}

/* ---- events ---- */

static void write_begin(crn_writer *writer, const crn_event *event)
{
    crn_replay *replay = writer->replay;
    uint32_t span = event->which, number = crn_replay_job_of(replay, span);
    const crn_begin_gate *place = crn_replay_begin_gate(replay, span);
    uint32_t gate = place ? place->gate : CRN_NONE;
    bool in_job = writer->job != CRN_NONE, outermost = crn_walk_open(&writer->walk) == 1;
    if (!in_job && number != CRN_NONE && replay->jobs[number].movable) {
        begin_movable(writer, number, event->time);
        in_job = outermost = true;
    } else {
        if (!in_job)
            leave_loop(writer, event->time);
        if (number != CRN_NONE) {
            begin_bound(writer, number, event->time);
        } else if (gate != CRN_NONE) {
            emit(writer, CRN_OP_GATE, gate, 0);
            wait_within(writer, event->owner, replay->gates[gate].until, event->time);
        } else if (!pass_lock(writer, event) && !pass_timer(writer, event)) {
            pass(writer, event->owner, event->time);
        }
    }
    if (in_job) {
        writer->to_begin -= replay->trace->spans[span].handed_off && writer->to_begin > 0;
        writer->open++;
    }
    writer->waited = false;
    writer->begun = true;
    emit_event(writer, event, in_job, outermost);
}

static void write_end(crn_writer *writer, const crn_event *event)
{
    uint32_t span = event->which;
    if (writer->job == CRN_NONE)
        leave_loop(writer, event->time);
    if (!pass_timer(writer, event))
        pass(writer, event->owner, event->time);
    if (crn_replay_hold(writer->replay, span))
        emit(writer, CRN_OP_MORE,
             crn_replay_block(writer->replay, span) * CRN_MORES + CRN_MORE_UNLOCK, 0);
    writer->waited = writer->replay->rest[crn_replay_block(writer->replay, span)] == CRN_REST_WAIT;
    if (writer->deferred != CRN_NONE && writer->deferred_span == span) {
        emit(writer, CRN_OP_GATE, writer->deferred, 0);
        writer->deferred = CRN_NONE;
    }
    bool inside = is_inside(writer, span);
    bool last = inside && --writer->open == 0 && writer->to_begin == 0;
    emit_event(writer, event, inside, last || crn_walk_open(&writer->walk) == 0);
    if (last)
        end_movable(writer);
}

/* Returns until when a span waited. Consecutive waits count as one, for the last signal. */
static uint64_t waited_until(const crn_writer *writer, uint32_t point)
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

static void write_wait(crn_writer *writer, const crn_event *event)
{
    const crn_point *point = &writer->replay->points[event->which];
    if (event->owner != point->span && point->time == writer->replay->gates[point->target].until &&
        writer->deferred == CRN_NONE) {
        /* An inner span was open when the awaited event happened: the span can only have waited at
         * its end. */
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

static void write_point(crn_writer *writer, const crn_event *event)
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
        const crn_replay *replay = writer->replay;
        bool real = point->target < replay->job_count;
        uint32_t job = real ? point->target : replay->copies[point->target - replay->job_count].job;
        wait_within(writer, event->owner, real ? replay->jobs[job].room_at : 0, event->time);
        if (real || (replay->jobs[job].movable && !replay->kinds[replay->jobs[job].kind].affects))
            emit(writer, CRN_OP_TAKE, point->target, 0);
    }
}

/* ---- encoding ---- */

/* Writes the accumulated work or delay, one of which is 0. */
static void flush(crn_writer *writer, crn_code *code)
{
    for (unsigned i = 0; i < writer->sum_count; i++)
        crn_code_put(code, CRN_OP_WORK, writer->classes[i], writer->sums[i]);
    writer->sum_count = 0;
    if (writer->delay)
        crn_code_put(code, CRN_OP_DELAY, writer->delay, 0);
    writer->delay = 0;
}

/* Returns the sum, saturated, as a damaged file can have any time. */
static uint64_t sum(uint64_t left, uint64_t right)
{
    enum { BITS = 60 };
    uint64_t most = (uint64_t)1 << BITS;
    left = left < most ? left : most;
    right = right < most ? right : most;
    return left + right < most ? left + right : most;
}

static void add_work(crn_writer *writer, crn_code *code, uint32_t class, uint64_t amount)
{
    writer->replay->work[class] += amount;
    if (!amount)
        return;
    unsigned at = 0;
    while (at < writer->sum_count && writer->classes[at] != class)
        at++;
    if (writer->delay || at == CRN_WRITER_SUMS) {
        flush(writer, code);
        at = 0;
    }
    if (at == writer->sum_count)
        writer->sums[writer->sum_count++] = 0;
    writer->classes[at] = class;
    writer->sums[at] = sum(writer->sums[at], amount);
}

static void add_delay(crn_writer *writer, crn_code *code, uint64_t amount)
{
    uint64_t delay = sum(writer->delay, amount);
    if (amount && writer->sum_count)
        flush(writer, code);
    writer->delay = delay;
}

static void put(crn_writer *writer, const struct crn_written *op)
{
    crn_replay *replay = writer->replay;
    crn_lane_plan *lane = &replay->lanes[writer->lane];
    if (op->kind == CRN_OP_WORK) {
        add_work(writer, &lane->code, crn_work_class(replay, op->who), op->amount);
        return;
    }
    if (op->kind == CRN_OP_DELAY) {
        add_delay(writer, &lane->code, op->amount);
        return;
    }
    flush(writer, &lane->code);
    if (op->kind == WRITER_JOB) {
        replay->jobs[op->who].first = lane->code.size;
    } else if (op->kind == WRITER_BEHIND) {
        memcpy(lane->code.bytes + writer->loop_at, &lane->code.size, sizeof lane->code.size);
    } else {
        bool loop = op->kind == CRN_OP_LOOP;
        lane->loop = loop ? lane->code.size : lane->loop;
        crn_code_put(&lane->code, (crn_op_kind)op->kind,
                     op->kind == CRN_OP_UNTIL ? op->amount : op->who, 0);
        writer->loop_at = loop ? lane->code.size - sizeof op->amount : writer->loop_at;
    }
}

/* ---- lanes ---- */

void crn_writer_begin(crn_writer *writer, crn_replay *replay, uint32_t lane, uint8_t *over,
                      bool dry)
{
    *writer = (crn_writer){.replay = replay,
                           .walk = crn_walk_lane(replay, lane, over),
                           .facts = dry ? NULL : &replay->facts.lanes[lane],
                           .lane = lane,
                           .dry = dry,
                           .at = replay->origin,
                           .job = CRN_NONE,
                           .deferred = CRN_NONE,
                           .work = CRN_WRITER_OPS};
    if (!dry)
        *writer->facts = (crn_replay_lane){.lane = lane, .before = CRN_SPAN_NONE};
}

static void write_stop(crn_writer *writer)
{
    if (writer->looping)
        emit(writer, WRITER_BEHIND, 0, 0);
    emit(writer, CRN_OP_STOP, 0, 0);
    writer->stopped = true;
}

static void write_event(crn_writer *writer)
{
    crn_event event;
    if (!crn_walk_next(&writer->walk, &event))
        write_stop(writer);
    else if (event.kind == CRN_EVENT_BEGIN)
        write_begin(writer, &event);
    else if (event.kind == CRN_EVENT_END)
        write_end(writer, &event);
    else
        write_point(writer, &event);
}

void crn_writer_put(crn_writer *writer, uint64_t amount)
{
    if (writer->work < writer->op_count)
        writer->ops[writer->work].amount = amount;
    for (unsigned i = 0; i < writer->op_count && !writer->dry; i++)
        put(writer, &writer->ops[i]);
    writer->op_count = 0;
    writer->work = CRN_WRITER_OPS;
}

bool crn_writer_next(crn_writer *writer, crn_piece *piece)
{
    while (!writer->stopped) {
        uint64_t at = writer->at;
        write_event(writer);
        if (writer->work < writer->op_count) {
            const struct crn_written *work = &writer->ops[writer->work];
            *piece = (crn_piece){work->who, at, work->amount};
            return true;
        }
        crn_writer_put(writer, 0);
    }
    return false;
}

void crn_writer_end(crn_writer *writer)
{
    crn_walk_free(&writer->walk);
}
