/* SPDX-License-Identifier: MIT
 *
 * Doubts: signs of waits that no edge or note describes. Such a wait does not disturb the unscaled
 * replay, which repeats the recorded times; but a scenario with other times is wrong.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "replay/program.h"

/* ---- blocks whose spans never overlap: a lock ---- */

typedef struct item {
    uint64_t start, end;
    uint32_t block, lane;
} item;

static int compare_items(const void *left, const void *right)
{
    const item *a = left, *b = right;
    return CRN_ORDER(a->block, b->block)
               ?: CRN_ORDER(a->start, b->start)
               ?: CRN_ORDER(a->lane, b->lane);
}

/* The spans with noted locks, sorted by begin. */
typedef struct held {
    item *items;
    uint32_t count;
} held;

static held held_locks(const crn_replay *replay)
{
    held held = {crn_calloc(replay->hold_count + (size_t)1, sizeof *held.items),
                 replay->hold_count};
    for (uint32_t i = 0; i < held.count; i++) {
        const crn_span *span = &replay->trace->spans[replay->holds[i].span];
        held.items[i] = (item){span->start, span->end, 0, span->lane};
    }
    if (held.count)
        qsort(held.items, held.count, sizeof *held.items, compare_items);
    return held;
}

/* Returns true if other lanes had noted locks for 90 % of the span. */
static bool is_beside_lock(const item *span, const held *held)
{
    enum { BACK = 16, PERCENT = 90 };
    uint32_t low = CRN_BELOW(held->items, held->count, start, span->end);
    uint64_t covered = 0;
    for (uint32_t tries = 0; low && tries < BACK; low--, tries++) {
        const item *hold = &held->items[low - 1];
        uint64_t from = hold->start > span->start ? hold->start : span->start;
        uint64_t to = hold->end < span->end ? hold->end : span->end;
        if (hold->lane != span->lane && to > from)
            covered += to - from;
    }
    return covered * 100 >= PERCENT * (span->end - span->start);
}

/* Returns true if 99 % of the spans are within spans of a noted lock on their lane: the lock then
 * explains why they never overlap. */
static bool are_within_locks(const item *items, uint32_t count, const held *held)
{
    enum { BACK = 64, PERCENT = 99 };
    uint32_t within = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t low = CRN_BELOW(held->items, held->count, start, items[i].start + 1);
        for (uint32_t tries = 0; low && tries < BACK; low--, tries++) {
            const item *hold = &held->items[low - 1];
            if (hold->lane != items[i].lane)
                continue;
            within += hold->end >= items[i].end;
            break;
        }
    }
    return within * 100.0 >= PERCENT * count;
}

/* Returns true if the spans are of exactly two lanes. */
static bool are_of_two(const item *items, uint32_t count)
{
    uint32_t other = CRN_NONE;
    for (uint32_t i = 1; i < count; i++) {
        if (items[i].lane == items[0].lane || items[i].lane == other)
            continue;
        if (other != CRN_NONE)
            return false;
        other = items[i].lane;
    }
    return other != CRN_NONE;
}

/* Returns how many overlaps between lanes to expect if the spans were independent. On two lanes,
 * does not count a span while the other lane has a noted lock. */
static double expected_overlaps(const item *items, uint32_t count, double *busy, const held *held)
{
    double total = 0, expected = 0;
    uint64_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        busy[items[i].lane] = 0;
        last = items[i].end > last ? items[i].end : last;
    }
    for (uint32_t i = 0; i < count; i++) {
        busy[items[i].lane] += (double)(items[i].end - items[i].start);
        total += (double)(items[i].end - items[i].start);
    }
    double length = (double)(last - items[0].start);
    bool two = held->count && are_of_two(items, count);
    for (uint32_t i = 0; i < count && length > 0; i++)
        if (!two || !is_beside_lock(&items[i], held))
            expected += (total - busy[items[i].lane]) / length;
    return expected;
}

static uint32_t overlaps_of(const item *items, uint32_t count)
{
    uint32_t found = 0;
    item latest = items[0];
    for (uint32_t i = 1; i < count; i++) {
        found += items[i].lane != latest.lane && items[i].start < latest.end;
        if (items[i].end > latest.end)
            latest = items[i];
    }
    return found;
}

static void find_locks(crn_replay *replay, const item *items, uint32_t count)
{
    enum { SURE = 12, RARE = 50 }; /* by chance, none overlap in 6 of a million such blocks */
    held held = held_locks(replay);
    double *busy = crn_calloc(replay->trace->lane_count + (size_t)1, sizeof *busy);
    for (uint32_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && items[next].block == items[first].block; next++)
            ;
        double expected = expected_overlaps(items + first, next - first, busy, &held);
        if (!replay->rest[items[first].block] && expected >= SURE &&
            overlaps_of(items + first, next - first) * RARE <= expected &&
            !are_within_locks(items + first, next - first, &held))
            crn_replay_doubt(replay, CRN_DOUBT_EXCLUSIVE, items[first].block, items[first].block,
                             0);
    }
    crn_free(held.items);
    crn_free(busy);
}

/* ---- jobs that are missing: dropped tokens ---- */

/* The number of a block's spans that handed off a job, and of those that did not. */
typedef struct giver {
    uint32_t with, without, busy; /* busy: how many of `without` ended while a job of `kind` ran */
    uint32_t kind;                /* kind of the handed-off jobs */
} giver;

static int compare_starts(const void *left, const void *right)
{
    const item *a = left, *b = right;
    return CRN_ORDER(a->block, b->block) ?: CRN_ORDER(a->start, b->start);
}

/* Returns true if a job of the kind ran at a moment. Jobs are sorted by kind and begin. */
static bool is_kind_busy(const item *jobs, uint32_t count, uint32_t kind, uint64_t moment)
{
    enum { BACK = 16 }; /* at most this many jobs of a kind are looked at */
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const item *job = &jobs[middle];
        if (job->block < kind || (job->block == kind && job->start <= moment))
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = low, tries = 0; i && tries < BACK && jobs[i - 1].block == kind; i--, tries++)
        if (jobs[i - 1].end >= moment)
            return true;
    return false;
}

/* Adds a doubt about each block whose spans usually hand off a job, but sometimes none, and this
 * nearly always while a job of that kind runs: perhaps a full queue dropped it. */
static void find_drops(crn_replay *replay)
{
    enum { LEAST = 8, PERCENT = 90 };
    const crn_trace *trace = replay->trace;
    item *jobs = crn_calloc(replay->job_count + (size_t)1, sizeof *jobs);
    giver *givers = crn_calloc(replay->block_count, sizeof *givers);
    uint8_t *gives = crn_walk_bits(replay);
    for (uint32_t j = 0; j < replay->job_count; j++) {
        const crn_job *job = &replay->jobs[j];
        uint32_t parent = trace->spans[job->span].parent;
        jobs[j] = (item){job->start, job->end, job->kind, job->lane};
        givers[crn_replay_block(replay, parent)].kind = job->kind;
        gives[parent / 8] |= (uint8_t)(1 << parent % 8);
    }
    if (replay->job_count)
        qsort(jobs, replay->job_count, sizeof *jobs, compare_starts);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        giver *giver = &givers[crn_replay_block(replay, s)];
        bool with = gives[s / 8] >> s % 8 & 1;
        giver->with += with;
        giver->without += !with;
        giver->busy += !with && replay->job_count &&
                       is_kind_busy(jobs, replay->job_count, giver->kind, trace->spans[s].end);
    }
    for (uint32_t b = 0; b < replay->block_count; b++)
        if (givers[b].with >= LEAST && !replay->kinds[givers[b].kind].full &&
            givers[b].without > givers[b].with / 50 && givers[b].without >= 2 &&
            givers[b].busy * 100.0 >= PERCENT * givers[b].without)
            crn_replay_doubt(replay, CRN_DOUBT_DROPS, b, replay->kinds[givers[b].kind].block, 0);
    crn_free(gives);
    crn_free(givers);
    crn_free(jobs);
}

/* ---- events that follow another lane's: a wait ---- */

typedef struct moment {
    uint64_t time;
    uint32_t lane, block;
} moment;

static int compare_moments(const void *left, const void *right)
{
    const moment *a = left, *b = right;
    return CRN_ORDER(a->time, b->time) ?: CRN_ORDER(a->lane, b->lane);
}

/* For a block's begins, or ends: the number of events after idle or self time, and how many of
 * these closely follow the end of a span of `other` on another lane. */
typedef struct follow {
    uint32_t count, after, other;
} follow;

enum { CLOSE_NS = 250000, WORTH_NS = 500000 };

/* Returns the index of the last end on another lane shortly before `time`, else CRN_NONE. An end at
 * `time` is rather an effect, as a wake-up takes time. */
static uint32_t cause_of(const moment *ends, uint32_t count, uint64_t time, uint32_t lane)
{
    uint32_t low = CRN_BELOW(ends, count, time, time);
    for (; low && time - ends[low - 1].time < CLOSE_NS; low--)
        if (ends[low - 1].lane != lane)
            return low - 1;
    return CRN_NONE;
}

/* Returns true if a timer explains the event. A limited rate does not: it may be a wait for another
 * lane. */
static bool is_timed(const crn_replay *replay, uint32_t lane, uint32_t block, bool at_end)
{
    uint32_t timer = crn_replay_timer(replay, lane, block, at_end);
    return timer != CRN_NONE && !replay->timers[timer].relative;
}

static void follow_lane(crn_replay *replay, uint32_t lane, uint8_t *over, const moment *ends,
                        uint32_t count, follow *follows)
{
    uint64_t last = replay->origin;
    crn_event event;
    crn_walk walk = crn_walk_lane(replay, lane, over);
    while (crn_walk_next(&walk, &event)) {
        uint64_t idle = event.time - last;
        last = event.time;
        if (event.kind == CRN_EVENT_POINT || idle < WORTH_NS)
            continue;
        bool at_end = event.kind == CRN_EVENT_END;
        uint32_t block = crn_replay_block(replay, event.which);
        if ((!at_end && (crn_replay_job_of(replay, event.which) != CRN_NONE ||
                         crn_replay_begin_gate(replay, event.which) ||
                         crn_replay_hold(replay, event.which))) ||
            (replay->rest[block] && replay->rest[block] != CRN_REST_LOCK) ||
            is_timed(replay, lane, block, at_end))
            continue;
        follow *its = &follows[block * 2 + at_end];
        uint32_t cause = cause_of(ends, count, event.time, lane);
        its->count++;
        if (cause == CRN_NONE)
            continue;
        its->after++;
        its->other = ends[cause].block;
    }
    crn_walk_free(&walk);
}

/* Adds a doubt about each block whose begins, or ends, often come shortly after the end of a span
 * on another lane: at least a third of them, and three times as many as chance would cause. */
static void find_waits(crn_replay *replay)
{
    enum { LEAST = 12, SHARE = 3, CHANCE = 3 };
    const crn_trace *trace = replay->trace;
    moment *ends = crn_calloc(trace->span_count + (size_t)1, sizeof *ends);
    follow *follows = crn_calloc(replay->block_count * (size_t)2, sizeof *follows);
    uint8_t *over = crn_walk_bits(replay);
    for (uint32_t s = 0; s < trace->span_count; s++)
        ends[s] = (moment){trace->spans[s].end, trace->spans[s].lane, crn_replay_block(replay, s)};
    if (trace->span_count)
        qsort(ends, trace->span_count, sizeof *ends, compare_moments);
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        follow_lane(replay, lane, over, ends, trace->span_count, follows);
    double length = (double)(replay->last - replay->origin) + 1;
    double chance = (double)trace->span_count * CLOSE_NS / length;
    for (uint32_t i = 0; i < replay->block_count * 2; i++) {
        const follow *its = &follows[i];
        if (its->after >= LEAST && its->after * SHARE >= its->count &&
            its->after > CHANCE * chance * its->count)
            crn_replay_doubt(replay, CRN_DOUBT_FOLLOWS, i / 2, its->other, 0);
    }
    crn_free(over);
    crn_free(follows);
    crn_free(ends);
}

/* ---- asynchronous spans ---- */

/* Adds a doubt about asynchronous spans: the simulation keeps their recorded lengths. */
static void find_async(crn_replay *replay)
{
    for (uint32_t s = 0; s < replay->trace->span_count; s++)
        if (replay->rest[crn_replay_block(replay, s)] == CRN_REST_ASYNC)
            crn_replay_doubt(replay, CRN_DOUBT_ASYNC, crn_replay_block(replay, s), 0, 0);
}

/* ---- condition variables ---- */

/* Adds a doubt about condition variables with waits of a hundredth of the recording: a thread that
 * need not wait leaves no record of what it needed. */
static void find_conditions(crn_replay *replay)
{
    enum { SHARE = 100 };
    const crn_trace *trace = replay->trace;
    uint64_t *waited = crn_calloc(replay->block_count, sizeof *waited);
    for (uint32_t s = 0; s < trace->span_count; s++)
        waited[crn_replay_block(replay, s)] += trace->spans[s].end - trace->spans[s].start;
    for (uint32_t b = 0; b < replay->block_count; b++)
        if (replay->rest[b] == CRN_REST_CONDITION &&
            waited[b] >= (replay->last - replay->origin) / SHARE)
            crn_replay_doubt(replay, CRN_DOUBT_CONDITION, b, 0, 0);
    crn_free(waited);
}

/* ---- a busy machine ---- */

/* Returns the ready time in the outermost spans of each thread; 0 if none is recorded. */
static uint64_t ready_in_spans(const crn_trace *trace)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; trace->ready && s < trace->span_count; s++) {
        const crn_span *span = &trace->spans[s];
        bool outermost = span->parent == CRN_SPAN_NONE || span->handed_off ||
                         trace->spans[span->parent].lane != span->lane;
        if (outermost && trace->ready[s] != UINT64_MAX)
            sum += trace->ready[s];
    }
    return sum;
}

/* Adds a doubt if threads were ready for more than 5 % of the work. Other programs then used the
 * cores, so the recorded work has waits for a core in it, which a scenario scales like work. If the
 * program's own threads share cores, cores.c corrects for it. */
void crn_plan_busy(crn_replay *replay, uint64_t ready)
{
    enum { PERCENT = 5 };
    uint64_t in_spans = ready_in_spans(replay->trace);
    ready = ready > in_spans ? ready : in_spans;
    if (!replay->facts.shared && (double)ready * 100 > (double)replay->facts.work * PERCENT)
        crn_replay_doubt(replay, CRN_DOUBT_BUSY, 0, 0, (double)ready);
}

/* ---- entry ---- */

void crn_plan_doubts(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    item *items = crn_calloc(trace->span_count + (size_t)1, sizeof *items);
    for (uint32_t s = 0; s < trace->span_count; s++)
        items[s] = (item){trace->spans[s].start, trace->spans[s].end, crn_replay_block(replay, s),
                          trace->spans[s].lane};
    if (trace->span_count)
        qsort(items, trace->span_count, sizeof *items, compare_items);
    find_locks(replay, items, trace->span_count);
    crn_free(items);
    find_drops(replay);
    find_waits(replay);
    find_async(replay);
    find_conditions(replay);
}
