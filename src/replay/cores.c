/* SPDX-License-Identifier: MIT
 *
 * Where more lanes worked than there were processors, they shared them: what each had of them is
 * its work. Replayed with as many processors, the same comes out again.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "replay/program.h"

typedef struct change {
    uint64_t time;
    int32_t by; /* lanes that work */
} change;

static int compare_changes(const void *left, const void *right)
{
    const change *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->by < b->by ? -1 : a->by > b->by;
}

/* Processor time that each working lane has had, up to a moment. */
typedef struct shares {
    uint32_t count;
    uint64_t *times;
    double *had;
} shares;

static change *changes_of(const crn_replay *replay, uint32_t *count)
{
    change *changes = crn_calloc(2 * (size_t)replay->op_count + 1, sizeof *changes);
    for (uint32_t op = 0; op < replay->op_count; op++) {
        if (replay->ops[op].kind != CRN_OP_WORK)
            continue;
        changes[(*count)++] = (change){replay->op_time[op], 1};
        changes[(*count)++] = (change){replay->op_time[op] + replay->ops[op].amount, -1};
    }
    if (*count)
        qsort(changes, *count, sizeof *changes, compare_changes);
    return changes;
}

static shares shares_of(crn_replay *replay, const change *changes, uint32_t count)
{
    shares shares = {.times = crn_calloc(count + (size_t)1, sizeof *shares.times),
                     .had = crn_calloc(count + (size_t)1, sizeof *shares.had)};
    double cores = replay->facts.cores, had = 0;
    uint64_t at = count ? changes[0].time : 0;
    int64_t working = 0;
    for (uint32_t c = 0; c < count; c++) {
        double part = (double)working > cores ? cores / (double)working : 1;
        had += (double)(changes[c].time - at) * part;
        replay->facts.shared |= part < 1 && changes[c].time > at;
        at = changes[c].time;
        working += changes[c].by;
        if (!shares.count || shares.times[shares.count - 1] != at)
            shares.times[shares.count++] = at;
        shares.had[shares.count - 1] = had;
    }
    return shares;
}

/* The moment is one of those at which something changed. */
static double had_at(const shares *shares, uint64_t time)
{
    uint32_t low = 0, high = shares->count;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (shares->times[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return shares->had[low];
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

/* Time up to each change in which there was a processor for one more. */
static double *spare_of(const crn_replay *replay, const change *changes, uint32_t count)
{
    double *spare = crn_calloc(count + (size_t)1, sizeof *spare);
    double sum = 0;
    int64_t working = 0;
    for (uint32_t c = 0; c < count; c++) {
        bool room = !replay->facts.cores || working < (int64_t)replay->facts.cores;
        sum += c && room ? (double)(changes[c].time - changes[c - 1].time) : 0;
        spare[c] = sum;
        working += changes[c].by;
    }
    return spare;
}

/* The same at any moment: before the first change and after the last nobody works. */
static double spare_at(const change *changes, const double *spare, uint32_t count, uint64_t time)
{
    uint32_t low = 0, high = count; /* changes up to the moment */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (changes[middle].time <= time)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return count ? -(double)(changes[0].time - time) : (double)time;
    double since = (double)(time - changes[low - 1].time);
    if (low == count)
        return spare[count - 1] + since;
    double step = (double)(changes[low].time - changes[low - 1].time);
    return spare[low - 1] + (step > 0 ? (spare[low] - spare[low - 1]) * since / step : 0);
}

/* A lane that went on late although there was a processor for it waited for what nobody knows. */
static void blame(crn_replay *replay, const change *changes, uint32_t count)
{
    double *spare = spare_of(replay, changes, count);
    qsort(replay->wakes, replay->wake_count, sizeof *replay->wakes, compare_wakes);
    for (uint32_t w = 0; w < replay->wake_count; w++) {
        const crn_wake *wake = &replay->wakes[w];
        crn_replay_lane *lane = &replay->facts.lanes[wake->lane];
        double room =
            spare_at(changes, spare, count, wake->to) - spare_at(changes, spare, count, wake->from);
        uint64_t over = room > 0 ? (uint64_t)room : 0;
        lane->unexplained += over;
        if (over > lane->longest) {
            lane->longest = over;
            lane->before = wake->span;
        }
    }
    crn_free(spare);
}

/* ---- both ---- */

static void divide(crn_replay *replay, const change *changes, uint32_t count)
{
    shares shares = shares_of(replay, changes, count);
    for (uint32_t op = 0; replay->facts.shared && op < replay->op_count; op++) {
        if (replay->ops[op].kind != CRN_OP_WORK)
            continue;
        uint64_t from = replay->op_time[op], to = from + replay->ops[op].amount;
        replay->ops[op].amount = (uint64_t)(had_at(&shares, to) - had_at(&shares, from) + 0.5);
    }
    crn_free(shares.times);
    crn_free(shares.had);
}

void crn_plan_cores(crn_replay *replay)
{
    bool contended = replay->facts.cores && replay->trace->lane_count > replay->facts.cores;
    if (contended || replay->wake_count) {
        uint32_t count = 0;
        change *changes = changes_of(replay, &count);
        if (replay->wake_count)
            blame(replay, changes, count);
        if (contended)
            divide(replay, changes, count);
        crn_free(changes);
    }
    for (uint32_t op = 0; op < replay->op_count; op++)
        if (replay->ops[op].kind == CRN_OP_WORK)
            replay->facts.work += replay->ops[op].amount;
    crn_free(replay->op_time);
    crn_free(replay->wakes);
    replay->op_time = NULL;
    replay->wakes = NULL;
}
