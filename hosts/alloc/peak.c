/* SPDX-License-Identifier: MIT
 *
 * Live bytes by context at the process's peak.
 *
 * All threads add their changes to one total, each when its change exceeds a small part of the
 * total. When the total passes the last peak by 1/256, a new *moment* begins: a global number goes
 * up. A lane whose own number is lower copies the live bytes of its contexts before it changes
 * any: until then they are as they were at the moment. It copies only contexts that changed since
 * its last copy, so a moment costs no more than the allocations before it. docs/ALLOC.md has the
 * error bounds.
 */
#include <string.h>

#include "alloc.h"

enum {
    STEP = 256,  /* a moment at each growth by 1/256 */
    SLACK = 512, /* several lanes together may hold back 1/512 of the peak, */
    FLOOR = 8192 /* or this many bytes, if that is more */
};

crn_peak_data crn_peak_now = {.moment = 1};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Data that threads change often. A cache line of its own. */
static struct {
    int64_t total; /* atomic */
    int64_t last;  /* the total at the last moment; atomic, changes under the lock */
    int lanes;     /* number of lanes; atomic */
} __attribute__((aligned(64))) all;

/* Stores a limit if it has changed: a store takes the cache line away from all other threads. */
static void put(int64_t *limit, int64_t value)
{
    if (__atomic_load_n(limit, __ATOMIC_RELAXED) != value)
        __atomic_store_n(limit, value, __ATOMIC_RELAXED);
}

/* Sets how many bytes a lane may keep out of the total. With several lanes it is a small part of
 * the peak, as a lane whose thread waits adds nothing. A single lane may keep out growth up to the
 * next moment, and any decrease. */
static void share(void)
{
    int64_t peak = __atomic_load_n(&all.last, __ATOMIC_RELAXED);
    int64_t missing = peak + peak / STEP - __atomic_load_n(&all.total, __ATOMIC_RELAXED);
    int64_t slack = peak / SLACK;
    int count = __atomic_load_n(&all.lanes, __ATOMIC_RELAXED);
    if (count > 1)
        slack = (slack > FLOOR ? slack : FLOOR) / count;
    else if (slack < missing)
        slack = missing;
    put(&crn_peak_now.most, slack);
    put(&crn_peak_now.least, count > 1 ? -slack : INT64_MIN);
}

void crn_peak_lanes(int change)
{
    pthread_mutex_lock(&lock);
    __atomic_add_fetch(&all.lanes, change, __ATOMIC_RELAXED);
    share();
    pthread_mutex_unlock(&lock);
}

void crn_peak_retract(crn_lane *lane)
{
    int64_t told = __atomic_exchange_n(&lane->told, 0, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&all.total, told, __ATOMIC_RELAXED);
}

void crn_peak_again(void)
{
    pthread_mutex_lock(&lock);
    __atomic_store_n(&all.last, 0, __ATOMIC_RELAXED);
    share();
    pthread_mutex_unlock(&lock);
}

void crn_peak_restart(void)
{
    pthread_mutex_init(&lock, NULL);
    memset(&all, 0, sizeof all);
    crn_peak_now.most = crn_peak_now.least = 0;
}

/* ---- copies ---- */

static void copy(crn_lane *lane, cairn_context context)
{
    crn_tally *tally = &lane->tallies[context];
    if (tally->peak == tally->live)
        return;
    /* A decrease is charged modulo 2^64. */
    uint64_t more = tally->live - tally->peak;
    if (lane->resting_peaks)
        CAIRN_PRIV_ADD(lane->resting_peaks[context], more);
    else
        lane->calls->context_charge(lane->lane, context, lane->metrics[CRN_COUNT_PEAK], more);
    tally->peak = tally->live;
}

void crn_peak_settle(crn_lane *lane)
{
    uint32_t now = __atomic_load_n(&crn_peak_now.moment, __ATOMIC_ACQUIRE);
    if (lane->moment == now || lane->off)
        return;
    if (lane->changed_all)
        for (cairn_context context = CAIRN_CONTEXT_ROOT; context < lane->tally_count; context++)
            copy(lane, context);
    else
        for (size_t i = 0; i < lane->changed_count; i++)
            copy(lane, lane->changed[i]);
    lane->changed_all = false;
    lane->changed_count = 0;
    lane->moment = now;
}

void crn_peak_note(crn_lane *lane, cairn_context context)
{
    enum { FIRST = CRN_FIRST_SIZE(1024, 1) };
    lane->tallies[context].moment = lane->moment;
    if (lane->changed_count == lane->changed_capacity) {
        size_t capacity = lane->changed_capacity ? lane->changed_capacity * 2 : FIRST;
        uint32_t *changed = crn_pages_grow(lane->changed, lane->changed_capacity * sizeof *changed,
                                           capacity * sizeof *changed);
        if (!changed) {
            lane->changed_all = true;
            return;
        }
        lane->changed = changed;
        lane->changed_capacity = capacity;
    }
    lane->changed[lane->changed_count++] = context;
}

/* ---- moments ---- */

static void declare(int64_t reached)
{
    pthread_mutex_lock(&lock);
    if (reached > all.last) {
        __atomic_store_n(&all.last, reached, __ATOMIC_RELAXED);
        __atomic_store_n(&crn_peak_now.moment, crn_peak_now.moment + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

/* Adds the lane's unflushed bytes to the total. If that exceeds the last peak by more than 1/`step`
 * of it (0: by any amount), a new moment of peak memory begins. */
static void flush(crn_lane *lane, int64_t step)
{
    __atomic_add_fetch(&lane->told, lane->unflushed, __ATOMIC_RELAXED);
    int64_t now = __atomic_add_fetch(&all.total, lane->unflushed, __ATOMIC_RELAXED);
    lane->unflushed = 0;
    int64_t before = __atomic_load_n(&all.last, __ATOMIC_RELAXED);
    if (now > before + (step ? before / step : 0)) {
        declare(now);
        crn_peak_settle(lane);
    }
    share();
}

uint64_t crn_peak_live(const crn_lane *lane)
{
    int64_t live = __atomic_load_n(&all.total, __ATOMIC_RELAXED) + lane->unflushed;
    return live > 0 ? (uint64_t)live : 0;
}

void crn_peak_check(crn_lane *lane)
{
    flush(lane, STEP);
}

void crn_peak_flush(crn_lane *lane)
{
    flush(lane, 0);
}
