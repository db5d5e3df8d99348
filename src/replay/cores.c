/* SPDX-License-Identifier: MIT
 *
 * Where more lanes worked than there were processors, they shared them: what each had of them is
 * its work. Replayed with as many processors, the same comes out again.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "replay/program.h"

/* ---- who works when ---- */

typedef struct change {
    uint64_t time;
    uint32_t lane;
    int32_t by; /* lanes that work */
} change;

/* What changes, in the order of time, ends first. A lane's work is in order as it is, so only the
 * next change of each lane is kept: a heap, the first of them on top. */
typedef struct changes {
    const crn_replay *replay;
    uint32_t *op; /* by lane: the work whose begin or end comes next */
    change *heap;
    uint32_t count;
} changes;

static bool comes_before(change left, change right)
{
    if (left.time != right.time)
        return left.time < right.time;
    return left.by != right.by ? left.by < right.by : left.lane < right.lane;
}

/* Puts it where nothing is: `at` and what is below it are to be in order. */
static void sift_down(changes *changes, uint32_t at, change moved)
{
    for (;;) {
        uint64_t child = 2 * (uint64_t)at + 1;
        if (child >= changes->count)
            break;
        if (child + 1 < changes->count &&
            comes_before(changes->heap[child + 1], changes->heap[child]))
            child++;
        if (!comes_before(changes->heap[child], moved))
            break;
        changes->heap[at] = changes->heap[child];
        at = (uint32_t)child;
    }
    changes->heap[at] = moved;
}

/* The lane's next work from that operation on. False if there is none. */
static bool find_work(changes *changes, uint32_t lane, uint32_t op)
{
    const crn_op *ops = changes->replay->ops;
    while (ops[op].kind != CRN_OP_WORK && ops[op].kind != CRN_OP_STOP)
        op++;
    changes->op[lane] = op;
    return ops[op].kind == CRN_OP_WORK;
}

static changes changes_new(const crn_replay *replay)
{
    uint32_t lanes = replay->trace->lane_count;
    changes changes = {.replay = replay,
                       .op = crn_calloc(lanes + (size_t)1, sizeof *changes.op),
                       .heap = crn_calloc(lanes + (size_t)1, sizeof *changes.heap)};
    for (uint32_t lane = 0; lane < lanes; lane++)
        if (find_work(&changes, lane, replay->lanes[lane].first))
            changes.heap[changes.count++] = (change){replay->op_time[changes.op[lane]], lane, 1};
    for (uint32_t at = changes.count / 2; at-- > 0;)
        sift_down(&changes, at, changes.heap[at]);
    return changes;
}

static void changes_free(changes *changes)
{
    crn_free(changes->op);
    crn_free(changes->heap);
}

/* Goes on to the one behind the top. */
static void pass(changes *changes)
{
    const crn_replay *replay = changes->replay;
    change next = changes->heap[0];
    uint32_t op = changes->op[next.lane];
    if (next.by > 0) {
        next.time += replay->ops[op].amount;
        next.by = -1;
    } else if (find_work(changes, next.lane, op + 1)) {
        next.time = replay->op_time[changes->op[next.lane]];
        next.by = 1;
    } else {
        next = changes->heap[--changes->count];
    }
    if (changes->count)
        sift_down(changes, 0, next);
}

/* ---- who went on late ---- */

static int compare_wakes(const void *left, const void *right)
{
    const crn_wake *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* An end of a wake: time in which there was a processor for one more, up to there. */
typedef struct moment {
    uint64_t time;
    uint32_t wake;
    bool last;
    double spare;
} moment;

static int compare_moments(const void *left, const void *right)
{
    const moment *a = left, *b = right;
    return a->time < b->time ? -1 : a->time > b->time;
}

/* Before the first change and after the last nobody works. `moments` are in order. */
static void find_spare(const crn_replay *replay, moment *moments, uint32_t count)
{
    changes changes = changes_new(replay);
    bool any = changes.count > 0;
    uint64_t at = any ? changes.heap[0].time : 0, first = at;
    int64_t working = 0;
    double sum = 0;
    for (uint32_t m = 0; m < count; m++) {
        uint64_t time = moments[m].time;
        for (; changes.count && changes.heap[0].time <= time; pass(&changes)) {
            bool room = !replay->facts.cores || working < (int64_t)replay->facts.cores;
            sum += room ? (double)(changes.heap[0].time - at) : 0;
            at = changes.heap[0].time;
            working += changes.heap[0].by;
        }
        bool room = !replay->facts.cores || working < (int64_t)replay->facts.cores;
        if (time < first)
            moments[m].spare = -(double)(first - time);
        else
            moments[m].spare = sum + (room ? (double)(time - at) : 0);
    }
    changes_free(&changes);
}

/* A lane that went on late although there was a processor for it waited for what nobody knows. */
static void blame(crn_replay *replay)
{
    uint32_t count = replay->wake_count;
    moment *moments = crn_calloc(2 * (size_t)count + 1, sizeof *moments);
    double *spare = crn_calloc(2 * (size_t)count + 1, sizeof *spare);
    qsort(replay->wakes, count, sizeof *replay->wakes, compare_wakes);
    for (uint32_t w = 0; w < count; w++) {
        moments[2 * (size_t)w] = (moment){replay->wakes[w].from, w, false, 0};
        moments[2 * (size_t)w + 1] = (moment){replay->wakes[w].to, w, true, 0};
    }
    qsort(moments, 2 * (size_t)count, sizeof *moments, compare_moments);
    find_spare(replay, moments, 2 * count);
    for (uint32_t m = 0; m < 2 * count; m++)
        spare[2 * (size_t)moments[m].wake + moments[m].last] = moments[m].spare;
    for (uint32_t w = 0; w < count; w++) {
        const crn_wake *wake = &replay->wakes[w];
        crn_replay_lane *lane = &replay->facts.lanes[wake->lane];
        double room = spare[2 * (size_t)w + 1] - spare[2 * (size_t)w];
        uint64_t over = room > 0 ? (uint64_t)room : 0;
        lane->unexplained += over;
        if (over > lane->longest) {
            lane->longest = over;
            lane->before = wake->span;
        }
    }
    crn_free(moments);
    crn_free(spare);
}

/* ---- both ---- */

/* Whether more lanes than there are processors ever worked. */
static bool is_shared(const crn_replay *replay)
{
    changes changes = changes_new(replay);
    uint64_t at = 0;
    int64_t working = 0;
    bool shared = false;
    for (; changes.count && !shared; pass(&changes)) {
        shared = working > (int64_t)replay->facts.cores && changes.heap[0].time > at;
        at = changes.heap[0].time;
        working += changes.heap[0].by;
    }
    changes_free(&changes);
    return shared;
}

/* Each has of the processors what each working lane had of them meanwhile. */
static void divide(crn_replay *replay)
{
    changes changes = changes_new(replay);
    double *begun = crn_calloc(replay->trace->lane_count + (size_t)1, sizeof *begun);
    double cores = replay->facts.cores, had = 0;
    uint64_t at = changes.count ? changes.heap[0].time : 0;
    int64_t working = 0;
    while (changes.count) {
        change now = changes.heap[0];
        uint32_t op = changes.op[now.lane];
        double part = (double)working > cores ? cores / (double)working : 1;
        had += (double)(now.time - at) * part;
        at = now.time;
        working += now.by;
        pass(&changes);
        if (now.by > 0)
            begun[now.lane] = had;
        else
            replay->ops[op].amount = (uint64_t)(had - begun[now.lane] + 0.5);
    }
    crn_free(begun);
    changes_free(&changes);
}

void crn_plan_cores(crn_replay *replay)
{
    bool contended = replay->facts.cores && replay->trace->lane_count > replay->facts.cores;
    if (replay->wake_count)
        blame(replay);
    if (contended && is_shared(replay)) {
        replay->facts.shared = true;
        divide(replay);
    }
    for (uint32_t op = 0; op < replay->op_count; op++)
        if (replay->ops[op].kind == CRN_OP_WORK)
            replay->facts.work += replay->ops[op].amount;
    crn_free(replay->op_time);
    crn_free(replay->wakes);
    replay->op_time = NULL;
    replay->wakes = NULL;
}
