/* SPDX-License-Identifier: MIT
 *
 * Processor sharing in the recording. When more lanes worked than there were processors, a lane's
 * work is only its share of the elapsed time. A replay with as many processors then gives the
 * recorded times again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "replay/program.h"

/* ---- working lanes over time ---- */

typedef struct change {
    uint64_t time;
    uint32_t lane;
    int32_t by; /* change of the number of working lanes */
} change;

/* All changes in the order of time, ends before begins. Each lane's work is sorted, so a heap of
 * the next change of each lane suffices, the earliest on top. */
typedef struct changes {
    crn_replay *replay;
    crn_writer *writers; /* by lane */
    crn_piece *piece;    /* by lane: the piece of work that begins or ends next */
    uint8_t *over;
    change *heap;
    uint32_t count;
} changes;

static bool comes_before(change left, change right)
{
    if (left.time != right.time)
        return left.time < right.time;
    return left.by != right.by ? left.by < right.by : left.lane < right.lane;
}

/* Sifts `moved` down from the free position `at`. */
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

/* Makes the changes. `dry`: writes no operations. */
static changes changes_new(crn_replay *replay, bool dry)
{
    uint32_t lanes = replay->trace->lane_count;
    changes changes = {.replay = replay,
                       .writers = crn_calloc(lanes + (size_t)1, sizeof *changes.writers),
                       .piece = crn_calloc(lanes + (size_t)1, sizeof *changes.piece),
                       .over = crn_walk_bits(replay),
                       .heap = crn_calloc(lanes + (size_t)1, sizeof *changes.heap)};
    for (uint32_t lane = 0; lane < lanes; lane++) {
        crn_writer_begin(&changes.writers[lane], replay, lane, changes.over, dry);
        if (crn_writer_next(&changes.writers[lane], &changes.piece[lane]))
            changes.heap[changes.count++] = (change){changes.piece[lane].from, lane, 1};
    }
    for (uint32_t at = changes.count / 2; at-- > 0;)
        sift_down(&changes, at, changes.heap[at]);
    return changes;
}

static void changes_free(changes *changes)
{
    for (uint32_t lane = 0; lane < changes->replay->trace->lane_count; lane++)
        crn_writer_end(&changes->writers[lane]);
    crn_free(changes->writers);
    crn_free(changes->piece);
    crn_free(changes->over);
    crn_free(changes->heap);
}

/* Advances the lane on top. If its work ends, the work took `amount` ns of a processor. Returns the
 * change of the number of working lanes: 0 if the lane has more work at once. */
static int32_t pass(changes *changes, uint64_t amount)
{
    change next = changes->heap[0];
    crn_writer *writer = &changes->writers[next.lane];
    crn_piece *piece = &changes->piece[next.lane];
    int32_t by = next.by;
    if (next.by > 0) {
        next.time += piece->amount;
        next.by = -1;
    } else {
        crn_writer_put(writer, amount);
        if (crn_writer_next(writer, piece)) {
            bool goes_on = piece->from == next.time;
            by += goes_on;
            next =
                (change){piece->from + (goes_on ? piece->amount : 0), next.lane, goes_on ? -1 : 1};
        } else {
            next = changes->heap[--changes->count];
        }
    }
    if (changes->count)
        sift_down(changes, 0, next);
    return by;
}

/* ---- late wake-ups ---- */

static int compare_wakes(const void *left, const void *right)
{
    const crn_wake *a = left, *b = right;
    return CRN_ORDER(a->from, b->from) ?: CRN_ORDER(a->lane, b->lane) ?: CRN_ORDER(a->to, b->to);
}

/* Begin or end (`last`) of a wake-up. `spare`: ns in which a processor was free, from the first
 * change up to this moment; before the first change, the time up to it, negative. */
typedef struct moment {
    uint64_t time;
    uint32_t wake;
    bool last;
    double spare;
} moment;

static int compare_moments(const void *left, const void *right)
{
    const moment *a = left, *b = right;
    return CRN_ORDER(a->time, b->time);
}

/* Sets `spare` of sorted moments. No lane works before the first or after the last change. */
static void find_spare_time(crn_replay *replay, moment *moments, uint32_t count)
{
    changes changes = changes_new(replay, true);
    bool any = changes.count > 0;
    uint64_t at = any ? changes.heap[0].time : 0, first = at;
    int64_t working = 0;
    double sum = 0;
    for (uint32_t m = 0; m < count; m++) {
        uint64_t time = moments[m].time;
        for (; changes.count && changes.heap[0].time <= time;) {
            bool room = !replay->facts.cores || working < (int64_t)replay->facts.cores;
            sum += room ? (double)(changes.heap[0].time - at) : 0;
            at = changes.heap[0].time;
            working += pass(&changes, 0);
        }
        bool room = !replay->facts.cores || working < (int64_t)replay->facts.cores;
        if (time < first)
            moments[m].spare = -(double)(first - time);
        else
            moments[m].spare = sum + (room ? (double)(time - at) : 0);
    }
    changes_free(&changes);
}

/* Adds to each lane's unexplained time how long a processor was free while the lane woke late. */
static void charge_late_wakes(crn_replay *replay)
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
    find_spare_time(replay, moments, 2 * count);
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

/* ---- were there more lanes than processors? ---- */

/* The next interval of a lane in which spans are open. */
typedef struct busy {
    const crn_replay *replay;
    uint32_t next, last; /* indices into `order` */
    uint64_t from, to;
} busy;

static bool next_busy(busy *busy)
{
    const crn_span *spans = busy->replay->trace->spans;
    if (busy->next == busy->last)
        return false;
    const crn_span *span = &spans[crn_replay_at(busy->replay, busy->next++)];
    busy->from = span->start;
    busy->to = span->end;
    while (busy->next < busy->last) {
        span = &spans[crn_replay_at(busy->replay, busy->next)];
        if (span->start > busy->to)
            break;
        busy->to = busy->to < span->end ? span->end : busy->to;
        busy->next++;
    }
    return true;
}

/* Adds the interval that begins next. `ends` has the ends of the open intervals, at most `cores`.
 * Returns true if the new interval would be one more. */
static bool is_crowd(uint64_t *ends, uint32_t *count, const busy *next, uint32_t cores)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < *count; i++)
        if (ends[i] > next->from)
            ends[left++] = ends[i];
    *count = left;
    if (left == cores)
        return true;
    ends[(*count)++] = next->to;
    return false;
}

static bool begins_before(const busy *left, const busy *right)
{
    return left->from < right->from;
}

static void settle(busy *heap, uint32_t count, uint32_t at)
{
    busy moved = heap[at];
    for (;;) {
        uint64_t child = 2 * (uint64_t)at + 1;
        if (child >= count)
            break;
        child += child + 1 < count && begins_before(&heap[child + 1], &heap[child]);
        if (!begins_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = (uint32_t)child;
    }
    heap[at] = moved;
}

/* Returns true if more lanes than processors ever had open spans at once. If not, each lane had its
 * own processor. This is cheaper than to compute which lanes worked. */
static bool is_crowded(const crn_replay *replay)
{
    uint32_t lanes = replay->trace->lane_count, cores = replay->facts.cores, count = 0, open = 0;
    if (!cores || lanes <= cores)
        return false;
    busy *heap = crn_calloc(lanes, sizeof *heap);
    uint64_t *ends = crn_calloc(cores, sizeof *ends);
    bool crowded = false;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        heap[count] = (busy){replay, replay->lane_first[lane], replay->lane_first[lane + 1], 0, 0};
        count += next_busy(&heap[count]);
    }
    for (uint32_t at = count / 2; at-- > 0;)
        settle(heap, count, at);
    while (count && !crowded) {
        crowded = is_crowd(ends, &open, heap, cores);
        if (!next_busy(heap))
            heap[0] = heap[--count];
        if (count)
            settle(heap, count, 0);
    }
    crn_free(heap);
    crn_free(ends);
    return crowded;
}

/* ---- operations, with shared processors or without ---- */

bool crn_replay_is_shared(crn_replay *replay)
{
    bool shared = false;
    if (!is_crowded(replay))
        return false;
    changes changes = changes_new(replay, true);
    uint64_t at = 0;
    int64_t working = 0;
    while (changes.count && !shared) {
        shared = working > (int64_t)replay->facts.cores && changes.heap[0].time > at;
        at = changes.heap[0].time;
        working += pass(&changes, 0);
    }
    changes_free(&changes);
    return shared;
}

/* Writes all lanes' operations, with work as shares of the processors. */
static void share_processors(crn_replay *replay)
{
    changes changes = changes_new(replay, false);
    double *begun = crn_calloc(replay->trace->lane_count + (size_t)1, sizeof *begun);
    double cores = replay->facts.cores, had = 0;
    uint64_t at = changes.count ? changes.heap[0].time : 0;
    int64_t working = 0;
    while (changes.count) {
        change now = changes.heap[0];
        double part = (double)working > cores ? cores / (double)working : 1;
        replay->facts.shared |= part < 1 && now.time > at;
        had += (double)(now.time - at) * part;
        at = now.time;
        double own = had - begun[now.lane]; /* of the work that ends now */
        begun[now.lane] = had;
        working += pass(&changes, replay->facts.shared ? (uint64_t)(own + 0.5)
                                                       : changes.piece[now.lane].amount);
    }
    crn_free(begun);
    changes_free(&changes);
}

/* Writes lane after lane, as each had its own processor. */
static void write_lanes(crn_replay *replay)
{
    uint8_t *over = crn_walk_bits(replay);
    for (uint32_t lane = 0; lane < replay->trace->lane_count; lane++) {
        crn_writer writer;
        crn_piece piece;
        crn_writer_begin(&writer, replay, lane, over, false);
        while (crn_writer_next(&writer, &piece))
            crn_writer_put(&writer, piece.amount);
        crn_writer_end(&writer);
    }
    crn_free(over);
}

/* Writes the code of lanes that a scenario adds to a pool: such lanes only take jobs. */
static void write_loops(crn_replay *replay)
{
    for (uint32_t p = 0; p < replay->pool_count; p++) {
        crn_code *code = &replay->pools[p].code;
        crn_code_put(code, CRN_OP_LOOP, p, 0);
        memcpy(code->bytes + code->size - sizeof code->size, &code->size, sizeof code->size);
        crn_code_put(code, CRN_OP_STOP, 0, 0);
    }
}

void crn_plan_code(crn_replay *replay)
{
    uint32_t lanes = replay->trace->lane_count;
    replay->class_count = replay->block_count * 2;
    replay->work = crn_calloc(replay->class_count, sizeof *replay->work);
    replay->facts.lane_count = lanes;
    replay->facts.lanes = crn_calloc(lanes + (size_t)1, sizeof *replay->facts.lanes);
    if (is_crowded(replay))
        share_processors(replay);
    else
        write_lanes(replay);
    write_loops(replay);
    for (uint32_t lane = 0; lane < lanes; lane++)
        crn_code_trim(&replay->lanes[lane].code);
    if (replay->wake_count)
        charge_late_wakes(replay);
    for (uint32_t class = 0; class < replay->class_count; class ++)
        replay->facts.work += replay->work[class];
}
