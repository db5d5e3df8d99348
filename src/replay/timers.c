/* SPDX-License-Identifier: MIT
 *
 * Timers: events of a lane at multiples of a period, whatever the lane did before. A loop of equal
 * work has steady intervals, too. Two tests tell them apart: the lateness of a timer's events,
 * relative to a fitted schedule, does not accumulate; and regressed on the lateness of the event
 * before, it has a slope of at most 0, as a timer absorbs lateness. Work and relative sleep pass it
 * on (slope 1).
 *
 * A limited rate waits until a period after its last event. Its lateness accumulates, but a wait is
 * shorter by what the work before it took longer (slope -1). A loop of work or sleep does not
 * compensate (slope 0).
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "replay/program.h"

enum {
    LEAST_BEATS = 48,
    LEAST_SLACK_NS = 50000, /* shorter idle times are not waits for a timer */
    LEAST_SPREAD_NS = 500,  /* variation below this does not show a slope */
    OUTLIER = 8             /* times the median deviation */
};
#define LEAST_SLACK 0.02 /* times the period */
#define STEADY 0.05      /* times the period: most deviation of an interval */
#define ABSORBS 0.45     /* slope of a timer, at most */
#define LIMITS (-0.6)    /* slope of the wait for a limited rate, at most */

/* A begin or end of a span without a known cause. */
typedef struct beat {
    uint32_t block;
    bool at_end;
    uint64_t time, slack; /* slack: ns since the lane's event before */
} beat;

static int compare_beats(const void *left, const void *right)
{
    const beat *a = left, *b = right;
    return CRN_ORDER(a->block, b->block)
               ?: CRN_ORDER(a->at_end, b->at_end)
               ?: CRN_ORDER(a->time, b->time);
}

/* Returns the median, 0 without values. Sorts the values. */
static double median(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, crn_order_double);
    return count ? values[count / 2] : 0;
}

static double deviation(const double *values, uint32_t count, double middle, double *scratch)
{
    for (uint32_t i = 0; i < count; i++)
        scratch[i] = fabs(values[i] - middle);
    return median(scratch, count);
}

/* ---- the schedule of a group of beats ---- */

typedef struct schedule {
    const beat *beats;
    uint32_t count;
    double period, phase;  /* since the origin */
    double *late, *before; /* by beat: its lateness, and that of the lane's event before */
    double *scratch;
} schedule;

/* Fits period and phase by medians, so that single late beats do not matter. Multiples without a
 * beat are allowed. */
static void fit(schedule *schedule, uint64_t origin)
{
    uint32_t count = schedule->count, half = count / 2;
    const beat *beats = schedule->beats;
    double *number = schedule->before, period = schedule->period;
    number[0] = 0;
    for (uint32_t i = 1; i < count; i++)
        number[i] = number[i - 1] + round((double)(beats[i].time - beats[i - 1].time) / period);
    for (uint32_t i = half; half && i < count; i++) {
        double passed = number[i] - number[i - half];
        double time = (double)(beats[i].time - beats[i - half].time);
        schedule->scratch[i - half] = passed > 0 ? time / passed : period;
    }
    double fitted = half ? median(schedule->scratch, count - half) : period;
    if (fabs(fitted - period) < STEADY * period)
        period = fitted;
    for (uint32_t i = 0; i < count; i++) {
        schedule->late[i] = (double)(beats[i].time - origin) - number[i] * period;
        schedule->scratch[i] = schedule->late[i];
    }
    schedule->period = period;
    schedule->phase = median(schedule->scratch, count);
    for (uint32_t i = 0; i < count; i++) {
        schedule->late[i] -= schedule->phase;
        schedule->before[i] = schedule->late[i] - (double)beats[i].slack;
    }
}

/* Sets `period` to the median interval. Returns false if intervals vary, or the time before beats
 * is too short for a wait. */
static bool is_steady(schedule *schedule)
{
    uint32_t count = schedule->count;
    const beat *beats = schedule->beats;
    for (uint32_t i = 0; i < count; i++)
        schedule->late[i] = (double)beats[i].slack;
    double slack = median(schedule->late, count);
    for (uint32_t i = 1; i < count; i++)
        schedule->late[i - 1] = (double)(beats[i].time - beats[i - 1].time);
    for (uint32_t i = 0; i + 1 < count; i++)
        schedule->before[i] = schedule->late[i];
    schedule->period = median(schedule->before, count - 1);
    double spread = deviation(schedule->late, count - 1, schedule->period, schedule->scratch);
    return schedule->period > 0 && slack >= LEAST_SLACK_NS &&
           slack >= LEAST_SLACK * schedule->period && spread <= STEADY * schedule->period;
}

/* Returns the slope of `late` on `before`, -INFINITY if `before` does not vary. Takes differences
 * between beats, because all wake-ups of a machine get later or earlier together. Leaves out
 * outliers, as a busy machine delays some wake-ups. */
static double slope_of(schedule *schedule)
{
    uint32_t count = schedule->count, used = 0;
    double *x = schedule->before, *y = schedule->late;
    double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (uint32_t i = count - 1; i > 0; i--) {
        x[i] -= x[i - 1];
        y[i] -= y[i - 1];
    }
    double spread_x = deviation(x + 1, count - 1, 0, schedule->scratch);
    double spread_y = deviation(y + 1, count - 1, 0, schedule->scratch);
    if (spread_x < LEAST_SPREAD_NS)
        return -INFINITY;
    for (uint32_t i = 2; i < count; i++) {
        if (fabs(x[i]) > OUTLIER * spread_x || fabs(y[i]) > OUTLIER * (spread_y + LEAST_SPREAD_NS))
            continue;
        sum_x += x[i], sum_y += y[i], sum_xx += x[i] * x[i], sum_xy += x[i] * y[i], used++;
    }
    double variance = used ? sum_xx - sum_x * sum_x / used : 0;
    return variance > 0 ? (sum_xy - sum_x * sum_y / used) / variance : -INFINITY;
}

/* Returns how much lateness changes in `lag` beats, relative to one beat: 1 for a timer, the root
 * of `lag` for independent steps. */
static double growth(schedule *schedule, uint32_t lag)
{
    double *scratch = schedule->scratch;
    for (uint32_t i = 1; i < schedule->count; i++)
        scratch[i - 1] = fabs(schedule->late[i] - schedule->late[i - 1]);
    double step = median(scratch, schedule->count - 1);
    for (uint32_t i = lag; i < schedule->count; i++)
        scratch[i - lag] = fabs(schedule->late[i] - schedule->late[i - lag]);
    double far = median(scratch, schedule->count - lag);
    return step > 0 ? far / step : far > 0 ? INFINITY : 1;
}

/* Returns true if longer work is followed by a shorter wait. */
static bool is_limited(schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->count; i++) {
        const beat *beat = &schedule->beats[i];
        schedule->late[i] = (double)beat->slack;
        schedule->before[i] = i ? (double)(beat->time - beat[-1].time) - (double)beat->slack : 0;
    }
    schedule->before[0] = schedule->before[1];
    double slope = slope_of(schedule);

    return slope <= LIMITS && slope >= 2 * LIMITS;
}

typedef enum verdict { NO_TIMER, MAYBE_TIMER, TIMER, LIMIT } verdict;

static verdict verdict_on(schedule *schedule)
{
    enum { NEAR = 8, FAR = 24 };
    double near = growth(schedule, NEAR), far = growth(schedule, FAR);

    if (near > 1.7 && far > 2.2)
        return is_limited(schedule) ? LIMIT : NO_TIMER;
    double slope = slope_of(schedule);
    return near < 1.7 && far < 2.2 && slope <= ABSORBS && slope >= -1 ? TIMER : MAYBE_TIMER;
}

/* ---- findings ---- */

/* Returns the longest recorded wait if the true period may be shorter, else 0. A wait for a
 * multiple is shorter than the period. So if all waits are below half of the fitted period, the
 * true period may be that half, with every second multiple missed. */
static double longest_wait(const schedule *schedule)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < schedule->count; i++)
        if (schedule->beats[i].slack > longest)
            longest = schedule->beats[i].slack;
    return (double)longest < 0.5 * schedule->period ? (double)longest : 0;
}

static crn_timer *add_timer(crn_replay *replay, const schedule *schedule, uint32_t lane, bool noted)
{
    CRN_GROW(replay->timers, replay->timer_count, replay->timer_room);
    replay->timers[replay->timer_count++] =
        (crn_timer){.lane = lane,
                    .block = schedule->beats->block,
                    .at_end = schedule->beats->at_end,
                    .noted = noted,
                    .period = schedule->period,
                    .phase = schedule->phase,
                    .longest = noted ? 0 : longest_wait(schedule)};
    if (!noted) {
        replay->facts.beats += schedule->count;
        crn_replay_note_timer(replay, schedule->beats->block, schedule->period);
    }
    return &replay->timers[replay->timer_count - 1];
}

/* Adds a limited rate. Its first wait ends as recorded. */
static void add_limit(crn_replay *replay, const schedule *schedule, uint32_t lane)
{
    crn_timer *timer = add_timer(replay, schedule, lane, false);
    timer->relative = true;
    timer->phase = (double)(schedule->beats->time - replay->origin);
}

/* Adds a lane's timer if the beats are those of one. Sets `*maybe` and `*maybe_block` to the period
 * and block of a possible timer. */
static void judge(crn_replay *replay, uint32_t lane, schedule *schedule, double *maybe,
                  uint32_t *maybe_block)
{
    uint32_t block = schedule->beats->block;
    double noted = schedule->beats->at_end && replay->period ? (double)replay->period[block] : 0;
    if (noted > 0) {
        schedule->period = noted;
        fit(schedule, replay->origin);
        add_timer(replay, schedule, lane, true);
        return;
    }
    if (schedule->count < LEAST_BEATS || replay->rest[block] || !is_steady(schedule))
        return;
    fit(schedule, replay->origin);
    verdict verdict = verdict_on(schedule);
    if (verdict == TIMER)
        add_timer(replay, schedule, lane, false);
    else if (verdict == LIMIT && schedule->beats->at_end)
        add_limit(replay, schedule, lane);
    else if (verdict == MAYBE_TIMER && !*maybe)
        *maybe = schedule->period, *maybe_block = block;
}

/* ---- lanes ---- */

static uint32_t collect(crn_replay *replay, uint32_t lane, uint8_t *over, beat *beats)
{
    uint32_t count = 0;
    uint64_t last = replay->origin;
    crn_event event;
    crn_walk walk = crn_walk_lane(replay, lane, over);
    while (crn_walk_next(&walk, &event)) {
        bool known = event.kind == CRN_EVENT_POINT;
        if (event.kind == CRN_EVENT_BEGIN)
            known = crn_replay_job_of(replay, event.which) != CRN_NONE ||
                    crn_replay_begin_gate(replay, event.which) ||
                    crn_replay_hold(replay, event.which);
        if (event.kind == CRN_EVENT_END && event.owner != event.which)
            known = true; /* not the innermost span: the time before is not its own */
        if (!known)
            beats[count++] = (beat){.block = crn_replay_block(replay, event.which),
                                    .at_end = event.kind == CRN_EVENT_END,
                                    .time = event.time,
                                    .slack = event.time - last};
        last = event.time;
    }
    crn_walk_free(&walk);
    return count;
}

static void plan_lane(crn_replay *replay, uint32_t lane, uint8_t *over)
{
    uint32_t spans = replay->lane_first[lane + 1] - replay->lane_first[lane];
    beat *beats = crn_calloc(2 * (size_t)spans + 1, sizeof *beats);
    uint32_t count = collect(replay, lane, over, beats);
    double *figures = crn_calloc(3 * ((size_t)count + 1), sizeof *figures);
    if (count)
        qsort(beats, count, sizeof *beats, compare_beats);
    uint32_t before = replay->timer_count, maybe_block = 0;
    double maybe = 0;
    for (uint32_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && beats[next].block == beats[first].block &&
                               beats[next].at_end == beats[first].at_end;
             next++)
            ;
        judge(replay, lane,
              &(schedule){.beats = beats + first,
                          .count = next - first,
                          .late = figures,
                          .before = figures + count + 1,
                          .scratch = figures + 2 * ((size_t)count + 1)},
              &maybe, &maybe_block);
    }
    /* A timer of the lane makes other events steady, too. */
    if (maybe > 0 && replay->timer_count == before)
        crn_replay_doubt(replay, CRN_DOUBT_STEADY, maybe_block, maybe_block, maybe);
    crn_free(figures);
    crn_free(beats);
}

void crn_plan_timers(crn_replay *replay)
{
    uint8_t *over = crn_walk_bits(replay);
    for (uint32_t lane = 0; lane < replay->trace->lane_count; lane++)
        if (replay->lanes[lane].pool == CRN_NONE &&
            replay->lane_first[lane + 1] > replay->lane_first[lane])
            plan_lane(replay, lane, over);
    crn_free(over);
}

uint32_t crn_replay_timer(const crn_replay *replay, uint32_t lane, uint32_t block, bool at_end)
{
    uint32_t low = 0, high = replay->timer_count;
    uint64_t key = (uint64_t)block * 2 + at_end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const crn_timer *timer = &replay->timers[middle];
        bool before = timer->lane != lane ? timer->lane < lane
                                          : (uint64_t)timer->block * 2 + timer->at_end < key;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == replay->timer_count)
        return CRN_NONE;
    const crn_timer *timer = &replay->timers[low];
    bool found = timer->lane == lane && timer->block == block && timer->at_end == at_end;
    return found ? low : CRN_NONE;
}
