/* SPDX-License-Identifier: MIT
 *
 * The idle sampler. After QUIET rounds without an event on any lane, the sampling thread sleeps: it
 * makes only a few rounds a second, to update the file for its readers, until the next event wakes
 * it.
 *
 * Samples must come as if sampling had gone on: if a gap between samples began with the event, no
 * sample would ever come right after the event. So the age of the last sample before the event and
 * the time from the event to the next sample are drawn as for a renewal process that has run for
 * long. The context that was current during the sleep is charged up to that last sample; the
 * context cannot have changed since the last round.
 */
#include "runtime/runtime.h"

enum { QUIET = 16 };

/* ---- random gaps, in periods ---- */

/* Returns a uniform random number in [0, 1). */
static double uniform(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (double)(*random >> 11) * 0x1p-53;
}

/* Returns an exponential random number with mean 1, by von Neumann's method: draws uniform numbers
 * while they decrease, and uses the first if their count is odd; otherwise adds 1 to the result and
 * starts again. */
static double exponential(uint64_t *random)
{
    for (unsigned whole = 0;; whole++) {
        double first = uniform(random), last = first, next;
        unsigned count = 1;
        while ((next = uniform(random)) < last) {
            last = next;
            count++;
        }
        if (count % 2)
            return whole + first;
    }
}

double crn_sampler_gap(const cairn_profile *profile, uint64_t *random)
{
    return profile->cpu == CAIRN_CPU_OFF ? 0.5 + uniform(random) : exponential(random);
}

/* Splits the gap that contains a random moment into the parts before and after that moment. A
 * random moment is more often in a long gap, so a uniform gap is accepted in proportion to its
 * length. Both parts of an exponential gap are exponential. */
static void split_gap(const cairn_profile *profile, uint64_t *random, double *before, double *after)
{
    if (profile->cpu != CAIRN_CPU_OFF) {
        *before = exponential(random);
        *after = exponential(random);
        return;
    }
    double gap;
    do
        gap = 0.5 + uniform(random);
    while (uniform(random) * 1.5 > gap);
    *before = gap * uniform(random);
    *after = gap - *before;
}

/* ---- the sampling thread ---- */

/* Returns true if each lane with a current strand still has a request, which its next event will
 * find. */
static bool are_all_asked(const cairn_profile *profile)
{
    if (crn_profile_mode(profile) == CRN_MODE_OFF)
        return true;
    const cairn_lane *lane = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE);
    for (; lane; lane = lane->next)
        if (__atomic_load_n(&lane->running, __ATOMIC_RELAXED) &&
            __atomic_load_n(&lane->thread_clock, __ATOMIC_RELAXED) && crn_lane_is_on(lane) &&
            !__atomic_load_n(&lane->pending.clock, __ATOMIC_RELAXED))
            return false;
    return true;
}

void crn_sampler_rest(cairn_profile *profile, bool quiet)
{
    crn_sampler *sampler = &profile->sampler;
    sampler->quiet = quiet ? sampler->quiet + 1 : 0;
    if (sampler->sleeps || sampler->quiet < QUIET)
        return;
    double before, after, period = (double)sampler->period_ns;
    split_gap(profile, &sampler->random, &before, &after);
    /* Atomic: a thread that ended the previous sleep may still read `age`. */
    __atomic_store_n(&sampler->age, (uint64_t)(before * period * profile->clock_per_ns),
                     __ATOMIC_RELAXED);
    sampler->rest_ns = (uint64_t)(after * period);
    __atomic_store_n(&sampler->last_before, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&sampler->sleeps, true, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* either are_all_asked sees the event, or the event's
                                                thread sees `sleeps` */
    if (!are_all_asked(profile))
        crn_sampler_resume(profile);
}

void crn_sampler_resume(cairn_profile *profile)
{
    profile->sampler.quiet = 0;
    __atomic_store_n(&profile->sampler.sleeps, false, __ATOMIC_RELEASE);
}

bool crn_sampler_was_woken(const cairn_profile *profile, uint64_t now, uint64_t *next)
{
    const crn_sampler *sampler = &profile->sampler;
    uint64_t before = __atomic_load_n(&sampler->last_before, __ATOMIC_ACQUIRE);
    if (!before)
        return false;
    uint64_t event = before + sampler->age, clock = crn_clock_now(profile->tsc);
    double passed = clock > event ? (double)(clock - event) / profile->clock_per_ns : 0;
    *next = now + sampler->rest_ns - (uint64_t)passed;
    return true;
}

/* ---- the program's threads ---- */

/* Wakes the sampler. Returns the moment of the last sample before the event that woke it first. */
static uint64_t wake(cairn_profile *profile, uint64_t clock)
{
    crn_sampler *sampler = &profile->sampler;
    uint64_t before = clock - __atomic_load_n(&sampler->age, __ATOMIC_RELAXED), none = 0;
    if (!__atomic_compare_exchange_n(&sampler->last_before, &none, before, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return none;
    crn_helper_wake(&sampler->helper);
    return before;
}

/* The fence is the counterpart of that in crn_sampler_rest. */
static bool sleeps(const cairn_profile *profile)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&profile->sampler.sleeps, __ATOMIC_ACQUIRE);
}

void crn_sampler_wake(cairn_profile *profile)
{
    if (sleeps(profile))
        wake(profile, crn_clock_now(profile->tsc));
}

void crn_sampler_catch_up(cairn_lane *lane, bool own, uint64_t *clock, uint64_t *cpu)
{
    cairn_profile *profile = lane->profile;
    if (!sleeps(profile))
        return;
    /* `seen_cpu` is read before the sampler wakes, because the sampler's next round sets it. */
    uint64_t seen = __atomic_load_n(&lane->seen_cpu, __ATOMIC_ACQUIRE);
    uint64_t now = crn_clock_now(profile->tsc), before = wake(profile, now);
    if (before > *clock)
        *clock = before;
    if (!own || profile->cpu == CAIRN_CPU_OFF || profile->how_sampled != CAIRN_SAMPLER_THREAD)
        return;
    /* If the thread has run without a pause since `before`, its CPU time then was `used - age`. A
     * result up to `seen` was reached before the last round, perhaps in another context. */
    uint64_t used = crn_lane_cpu_now(lane);
    uint64_t age = now > before ? (uint64_t)((double)(now - before) / profile->clock_per_ns) : 0;
    if (used > age && used - age > seen && used - age > *cpu)
        *cpu = used - age;
}
