/* SPDX-License-Identifier: MIT
 *
 * The sampling thread. It changes no figures of the profile. In each round it *requests* a sample
 * of each lane: it stores the readings of the clocks in the lane and sends the lane's owner, a
 * thread, to the slow path. The context cannot change before the owner's next event. There the
 * owner charges the time up to the request to the context that was current. If the owner has no
 * event for a whole round, the sampling thread writes the time that will be charged to the file, as
 * a *promise*. docs/SAMPLING.md derives the accuracy.
 */
#include <sys/prctl.h>

#include "plat/thread.h"
#include "runtime/runtime.h"
#include "runtime/span.h"

enum {
    HEARTBEAT_NS = 125000000, /* ns between rounds while nothing is sampled or no lane has events */
    CALIBRATE_NS = 10000000   /* ns between calibrations of the clock */
};

/* Stores a word that other threads or processes read. */
#define PUT(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)

static bool samples_by_thread(const cairn_profile *profile)
{
    return profile->wall == CAIRN_WALL_SAMPLED ||
           (profile->cpu != CAIRN_CPU_OFF && profile->how_sampled == CAIRN_SAMPLER_THREAD);
}

/* ---- processor time ---- */

/* Returns true if the thread is running or ready, so that processor time may be charged. Updates
 * `*cpu`. A thread whose clock advances between two readings runs. Any other thread waits or was
 * preempted, perhaps by the sampling thread; only the kernel knows which. To ask the kernel opens a
 * file, so a sampling thread that shares the program's file table does not ask, and returns true.
 */
static bool computes(const cairn_lane *lane, clockid_t clock, uint64_t *cpu)
{
    uint64_t again;
    if (!crn_thread_time(clock, &again))
        return false;
    bool goes_on = again > *cpu;
    *cpu = again;
    return goes_on || !lane->profile->sampler.helper.apart ||
           crn_thread_is_runnable(__atomic_load_n(&lane->thread_id, __ATOMIC_RELAXED));
}

/* Adds the metric "ready" unless the profile has it. Returns true if the profile has it now. Called
 * when a thread first has ready time, so captures in which no thread lacked a core do not have the
 * metric. If another thread holds the profile's lock, returns false at once, and the next round
 * tries again. */
static bool has_ready_metric(cairn_profile *profile)
{
    if (profile->ready)
        return true;
    if (!crn_futex_lock_try(&profile->lock))
        return false;
    cairn_metric metric = crn_profile_find_metric(profile, "ready");
    if (metric == CAIRN_METRIC_MAX)
        metric = crn_profile_add_metric(profile, "ready", "nanoseconds");
    crn_futex_lock_give(&profile->lock);
    if (metric != CAIRN_METRIC_MAX)
        __atomic_store_n(&profile->ready, metric, __ATOMIC_RELEASE);
    return metric != CAIRN_METRIC_MAX;
}

/* Adds the thread's ready time since the last reading. The first reading of a thread adds nothing:
 * the thread may have used another lane until then. */
static void look_at_ready(cairn_lane *lane)
{
    uint64_t ready;
    pid_t thread = __atomic_load_n(&lane->thread_id, __ATOMIC_RELAXED);
    if (!lane->profile->sampler.helper.apart || !crn_thread_ready_time(thread, &ready))
        return;
    bool known = thread == lane->ready_thread;
    lane->ready_thread = thread;
    if (known && ready > lane->seen_ready) {
        if (!has_ready_metric(lane->profile))
            return;
        PUT(lane->ready, lane->ready + ready - lane->seen_ready);
    }
    lane->seen_ready = ready;
}

/* Returns the thread's processor time if it is to be charged up to now, otherwise 0: the thread
 * waits, or has used none since the last round. */
static uint64_t look_at_cpu(cairn_lane *lane, clockid_t clock)
{
    uint64_t cpu;
    if (!crn_thread_time(clock, &cpu))
        return 0;
    bool same = cpu == lane->seen_cpu;
    PUT(lane->seen_cpu, cpu);
    if (!same) /* the kernel adds ready time only when the thread gets a core */
        look_at_ready(lane);
    return !same && computes(lane, clock, &cpu) ? cpu : 0;
}

/* ---- promises ---- */

/* Returns which of the lane's two promises to use for `record`: the last if it is for `record`,
 * otherwise an unused one. Returns NULL if both are for other records, and the owner has not
 * charged them yet. */
static crn_disk_promise *promise_for(crn_disk_lane *disk, uint32_t record)
{
    crn_disk_promise *last = &disk->promises[disk->promises[1].clock != 0];
    if (!last->clock || last->record == record)
        return last;
    return last == disk->promises ? last + 1 : NULL;
}

/* Writes a promise to the file: the current context will be charged up to `clock`. The owner may
 * have been preempted within an enter, and change the context when it continues. It then still
 * charges the promised time to the promised context. */
static void promise(cairn_lane *lane, cairn_strand *running, uint64_t clock)
{
    if (__atomic_load_n(&running->records, __ATOMIC_RELAXED)) /* only the owner can look up the
                                                                 context of a stack of blocks */
        return;
    crn_disk_lane *disk = lane->disk;
    uint32_t record = crn_record_at(__atomic_load_n(&running->hot.current, __ATOMIC_RELAXED));
    crn_disk_promise *promise = promise_for(disk, record);
    if (!promise)
        return;
    __atomic_exchange_n(&disk->promises_changed, disk->promises_changed + 1, __ATOMIC_ACQ_REL);
    PUT(promise->clock, clock);
    PUT(promise->cpu, __atomic_load_n(&lane->pending.cpu, __ATOMIC_RELAXED));
    PUT(promise->record, record);
    __atomic_store_n(&disk->promises_changed, disk->promises_changed + 1, __ATOMIC_RELEASE);
    PUT(lane->promises, true);
}

/* Returns true if the lane's owner has had no event since the last round. */
static bool waits(cairn_lane *lane)
{
    if (lane->profile->wall != CAIRN_WALL_EXACT)
        return __atomic_load_n(&lane->pending.clock, __ATOMIC_RELAXED) != 0;
    uint64_t stamp = __atomic_load_n(&lane->disk->stamp, __ATOMIC_RELAXED);
    bool same = stamp == lane->seen_stamp;
    lane->seen_stamp = stamp;
    return same;
}

/* ---- rounds ---- */

/* Stores a request for a sample. Stores the clock last: it makes the request valid. */
static void request(cairn_lane *lane, uint64_t clock, uint64_t cpu, crn_round *round)
{
    if (cpu)
        PUT(lane->pending.cpu, cpu);
    if (!__atomic_load_n(&lane->pending.clock, __ATOMIC_RELAXED)) {
        round->asked++;
        PUT(lane->first_pending.cpu, __atomic_load_n(&lane->pending.cpu, __ATOMIC_RELAXED));
        PUT(lane->first_pending.clock, clock);
    }
    __atomic_store_n(&lane->pending.clock, clock, __ATOMIC_RELEASE);
}

/* Requests a sample. The caller has locked the lane's time, so that its owner is still the thread
 * whose clock was read. Does nothing if the owner has not noticed yet that recording was switched
 * on or off: then the owner charges the time up to the switch itself. */
static void ask_locked(cairn_lane *lane, uint64_t cpu, crn_round *round)
{
    cairn_strand *running = __atomic_load_n(&lane->running, __ATOMIC_ACQUIRE);
    uint64_t clock = crn_clock_now(lane->profile->tsc);
    if (!running || !crn_lane_is_on(lane))
        return;
    bool waited = waits(lane);
    bool samples = samples_by_thread(lane->profile);
    if (samples)
        request(lane, clock, cpu, round);
    if (waited)
        promise(lane, running, clock);
    if (!samples && !waited)
        return;
    /* The owner may have switched to another strand meanwhile. It sees what was stored above, or
     * this thread sees that strand. With exact time, events see a promise only if their strand is
     * armed. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    running = __atomic_load_n(&lane->running, __ATOMIC_ACQUIRE);
    if (running)
        crn_strand_arm(running);
}

/* Requests a sample of the lane if it has a current strand. Skips the lane in this round if its
 * time is locked. */
static void ask(cairn_lane *lane, crn_round *round)
{
    const cairn_profile *profile = lane->profile;
    clockid_t thread = __atomic_load_n(&lane->thread_clock, __ATOMIC_ACQUIRE);
    if (!thread || !__atomic_load_n(&lane->running, __ATOMIC_RELAXED))
        return;
    round->running++;
    uint64_t cpu = 0;
    if (profile->cpu != CAIRN_CPU_OFF && profile->how_sampled == CAIRN_SAMPLER_THREAD)
        cpu = look_at_cpu(lane, thread);
    if (!crn_lane_try_lock(lane))
        return;
    if (__atomic_load_n(&lane->thread_clock, __ATOMIC_RELAXED) == thread)
        ask_locked(lane, cpu, round);
    crn_lane_unlock(lane);
}

static crn_round go_round(cairn_profile *profile)
{
    crn_round round = {0};
    if (crn_profile_mode(profile) == CRN_MODE_OFF)
        return round;
    cairn_lane *lane = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE);
    for (; lane; lane = lane->next)
        ask(lane, &round);
    return round;
}

/* ---- periods ---- */

/* Returns the time to the next round, in ns: HEARTBEAT_NS if nothing is sampled or the sampler
 * sleeps, otherwise random. A random gap is uniformly distributed from 0.5 to 1.5 periods, so that
 * a periodic program is not always sampled at the same point. If processor time is measured, it is
 * exponentially distributed: otherwise contexts that begin after a wait would be charged too
 * little. */
static uint64_t gap(const cairn_profile *profile, crn_sampler *sampler)
{
    if (!samples_by_thread(profile) || sampler->sleeps)
        return HEARTBEAT_NS;
    return (uint64_t)(crn_sampler_gap(profile, &sampler->random) * (double)sampler->period_ns);
}

/* Figures for the cost of sampling: processor time of this thread, and the number of requests, each
 * of which costs a lane's owner some time. */
typedef struct costs {
    uint64_t rounds, asked, running; /* since the last adaptation */
    uint64_t cpu;                    /* this thread's processor time at the last adaptation, ns */
} costs;

/* Adapts the period, so that sampling costs at most a share `sample_overhead` of the time of the
 * running lanes. Moves it only a quarter of the way, because a few slow rounds mean little. */
static void adapt(cairn_profile *profile, costs *costs)
{
    enum { ENOUGH = 64 };
    crn_sampler *sampler = &profile->sampler;
    if (costs->rounds < ENOUGH)
        return;
    uint64_t cpu = crn_thread_own_time();
    PUT(profile->capture.header->sampler_ns, cpu);
    double spent = (double)(cpu - costs->cpu) + (double)costs->asked * sampler->sample_ns;
    double lanes = (double)(costs->running > costs->rounds ? costs->running : costs->rounds);
    double wanted = spent / (lanes * profile->sample_overhead);
    *costs = (struct costs){.cpu = cpu};
    if (!(profile->sample_overhead > 0))
        return;
    double least = (double)profile->sample_period_ns;
    double most = least > HEARTBEAT_NS ? least : HEARTBEAT_NS;
    wanted = wanted < least ? least : wanted > most ? most : wanted;
    sampler->period_ns = (uint64_t)((3 * (double)sampler->period_ns + wanted) / 4);
}

/* ---- the thread ---- */

/* Adds a round to the capture's statistics. */
static void account(cairn_profile *profile, uint64_t now, uint64_t *last)
{
    crn_disk_header *header = profile->capture.header;
    PUT(header->rounds, header->rounds + 1);
    PUT(header->rounds_ns, header->rounds_ns + now - *last);
    *last = now;
}

/* State of the thread from round to round. */
typedef struct state {
    uint64_t next; /* moment of the next round; CLOCK_MONOTONIC, ns */
    uint64_t last; /* moment of the last round */
    bool woken;    /* an event ended the sampler's sleep in the gap before this round */
    costs costs;
} state;

/* Rearms timers, if the profile samples by timers. Stops them if the program has taken their
 * signal. */
static void look_at_timers(cairn_profile *profile)
{
    if (profile->how_sampled != CAIRN_SAMPLER_TIMER || profile->sampler.stopped_timers)
        return;
    if (crn_timers_are_ours()) {
        crn_timers_go_on();
        return;
    }
    profile->sampler.stopped_timers = true;
    crn_profile_stop(profile, CAIRN_E_THREAD);
    crn_threads_lock();
    for (cairn_lane *lane = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE); lane;
         lane = lane->next)
        crn_timer_stop(lane);
    crn_threads_unlock();
}

/* Counts a round, adapts the period, and lets the sampler sleep if no lane has had events for long.
 * Does not count a gap in which the sampler slept. */
static void after_round(cairn_profile *profile, const crn_round *round, state *state, uint64_t now)
{
    crn_sampler *sampler = &profile->sampler;
    if (sampler->sleeps && round->asked)
        crn_sampler_resume(profile);
    else if (!sampler->sleeps && !state->woken)
        account(profile, now, &state->last);
    state->last = now;
    state->woken = false;
    if (sampler->sleeps)
        return;
    state->costs.rounds++;
    state->costs.asked += round->asked;
    state->costs.running += round->running;
    adapt(profile, &state->costs);
    crn_sampler_rest(profile, !round->asked);
}

/* Waits for the next round. Returns false if the thread must end. If an event ended the sleep of
 * the sampler, also waits for the rest of the gap in which the event happened (idle.c). */
static bool wait_for_round(cairn_profile *profile, state *state)
{
    crn_sampler *sampler = &profile->sampler;
    state->next += gap(profile, sampler);
    bool goes_on = crn_helper_wait(&sampler->helper, state->next);
    if (goes_on && !sampler->helper.hidden)
        crn_preparer_start_if_wanted(profile);
    if (goes_on && !sampler->sleeps) /* it may have been woken for the preparer: wait on */
        goes_on = crn_helper_wait(&sampler->helper, state->next);
    if (!goes_on)
        return false;
    if (!sampler->sleeps || !crn_sampler_was_woken(profile, crn_clock_monotonic(), &state->next))
        return true;
    state->woken = true;
    goes_on = crn_helper_wait(&sampler->helper, state->next);
    crn_sampler_resume(profile);
    return goes_on;
}

static void *run(void *data)
{
    cairn_profile *profile = data;
    crn_sampler *sampler = &profile->sampler;
    bool samples = samples_by_thread(profile);
    prctl(PR_SET_TIMERSLACK, 1000ul);
    uint64_t calibrated = 0;
    state state = {.next = crn_clock_monotonic(), .costs.cpu = crn_thread_own_time()};
    state.last = state.next;
    while (wait_for_round(profile, &state)) {
        crn_round round = go_round(profile);
        uint64_t now = crn_clock_monotonic();
        if (samples)
            after_round(profile, &round, &state, now);
        if (now - calibrated > CALIBRATE_NS) {
            look_at_timers(profile);
            crn_profile_moment(profile);
            calibrated = now;
        }
        if (now > state.next + sampler->period_ns) /* skip the rounds that this one was late for */
            state.next = now;
    }
    /* If the program has ended, wakes the preparer, which must end, too. */
    PUT(profile->preparer_sleeps, false);
    crn_helper_wake(&profile->preparer);
    return NULL;
}

cairn_error crn_sampler_start(cairn_profile *profile)
{
    crn_sampler *sampler = &profile->sampler;
    sampler->period_ns = profile->sample_period_ns;
    sampler->random = profile->seed;
    crn_sampler_resume(profile);
    static const char name[] = "cairn-sampler";
    int file = crn_capture_file_in_memory(&profile->capture);
    if (crn_profile_may_hide(profile, CRN_HIDES_SAMPLER) &&
        crn_helper_start_hidden(&sampler->helper, name, run, profile))
        return CAIRN_OK;
    bool started = profile->cpu != CAIRN_CPU_OFF /* the thread then opens files of /proc */
                       ? crn_helper_start_apart(&sampler->helper, name, file, run, profile)
                       : crn_helper_start(&sampler->helper, name, run, profile);
    return started ? CAIRN_OK : CAIRN_E_THREAD;
}

bool crn_sampler_pause(cairn_profile *profile)
{
    crn_sampler *sampler = &profile->sampler;
    int number = sampler->helper.out_of_sight.number;
    sampler->paused = crn_sampler_is_hidden(profile);
    if (sampler->paused) {
        crn_helper_stop(&sampler->helper);
        crn_thread_wait_until_gone(number);
    }
    return sampler->paused;
}

void crn_sampler_go_on(cairn_profile *profile, const sigset_t *mask)
{
    if (!profile->sampler.paused)
        return;
    profile->sampler.paused = false;
    if (crn_sampler_start(profile) == CAIRN_OK)
        crn_helper_set_mask(&profile->sampler.helper, mask);
    else
        crn_profile_stop(profile, CAIRN_E_THREAD);
}
