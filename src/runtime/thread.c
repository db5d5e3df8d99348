/* SPDX-License-Identifier: MIT
 *
 * The owner thread of a lane. A change is noticed when an event comes from another thread, and is
 * exact if the host calls cairn_lane_hand_over. A thread that ends gives up its lanes: its last
 * period is charged even if the host does not close them.
 */
#include <errno.h>
#include <unistd.h>

#include "plat/thread.h"
#include "runtime/runtime.h"

/* Protects the threads' lists of lanes, and changes of ownership. Taken before the locks of
 * profiles and captures. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static bool has_key;

static __thread crn_thread self __attribute__((tls_model("initial-exec")));

crn_thread *crn_thread_self(void)
{
    return &self;
}

/* ---- under the lock ---- */

static void unlink_lane(cairn_lane *lane)
{
    cairn_lane **place = &lane->owner->lanes;
    while (*place != lane)
        place = &(*place)->next_owned;
    *place = lane->next_owned;
}

/* Sends the next thread to the slow path, where it finds that the lane has no owner. */
static void let_go(cairn_lane *lane)
{
    if (!crn_lane_waits(lane))
        crn_lane_charge_rest(lane);
    crn_timer_stop(lane);
    unlink_lane(lane);
    crn_lane_lock(lane); /* so that the sampler does not store what it has just read of this
                            thread */
    __atomic_store_n(&lane->thread_clock, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->pending.clock, 0, __ATOMIC_RELAXED);
    crn_lane_unlock(lane);
    __atomic_store_n(&lane->owner, NULL, __ATOMIC_RELEASE);
    if (lane->running)
        crn_strand_arm(lane->running);
}

/* Without a timer, time is charged when ownership ends, and the report says so. */
static void start_timer(cairn_lane *lane)
{
    cairn_profile *profile = lane->profile;
    if (profile->cpu != CAIRN_CPU_OFF && profile->how_sampled == CAIRN_SAMPLER_TIMER &&
        !lane->timer && !crn_timer_start(lane))
        crn_profile_stop(profile, CAIRN_E_THREAD);
}

static void take(cairn_lane *lane)
{
    bool moved = lane->owner != NULL; /* it changed threads without cairn_lane_hand_over */
    if (moved) {
        crn_timer_stop(lane);
        unlink_lane(lane);
    }
    lane->next_owned = self.lanes;
    self.lanes = lane;
    __atomic_store_n(&lane->owner, &self, __ATOMIC_RELEASE);
    crn_lane_begin_time(lane, moved ? lane->disk->stamp : crn_clock_now(lane->profile->tsc));
    start_timer(lane);
}

/* ---- end of a thread ---- */

static void end(void *data)
{
    (void)data;
    int saved = errno;
    self.told = false;
    cairn_priv_strand_aside();
    pthread_mutex_lock(&lock);
    while (self.lanes)
        let_go(self.lanes);
    pthread_mutex_unlock(&lock);
    cairn_priv_strand_back();
    errno = saved;
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, end) == 0;
}

/* Sets the thread-specific value, so that the destructor runs. */
static void be_told_of_end(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    self.told = true;
    if (has_key)
        pthread_setspecific(key, &self);
}

/* ---- for the rest of the runtime ---- */

void crn_lane_begin_time(cairn_lane *lane, uint64_t clock)
{
    if (!self.id)
        self.id = gettid();
    if (lane->forked) /* its graph is the parent's still, and the sampler must not look at it */
        return;
    uint64_t cpu = lane->profile->cpu != CAIRN_CPU_OFF ? crn_thread_own_time() : 0;
    crn_lane_lock(lane);
    /* The sampler may have shown time after the last owner charged the rest of its own. */
    crn_lane_charge_waits(lane);
    __atomic_store_n(&lane->pending.clock, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->pending.cpu, 0, __ATOMIC_RELAXED);
    if (clock > lane->disk->stamp)
        __atomic_store_n(&lane->disk->stamp, clock, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->disk->cpu_stamp, cpu, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->thread_id, self.id, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->thread_clock, crn_thread_clock(self.id), __ATOMIC_RELEASE);
    crn_lane_unlock(lane);
    crn_sampler_wake(lane->profile);
}

void crn_lane_begin_child(cairn_lane *lane, uint64_t clock)
{
    crn_lane_begin_time(lane, clock);
    __atomic_store_n(&lane->disk->cpu_stamp, 0, __ATOMIC_RELAXED);
    if (lane->owner)
        start_timer(lane);
}

void crn_lane_own(cairn_lane *lane)
{
    if (__atomic_load_n(&lane->owner, __ATOMIC_RELAXED) == &self)
        return;
    int saved = errno;
    if (!self.told)
        be_told_of_end();
    if (__atomic_load_n(&lane->owner, __ATOMIC_RELAXED))
        crn_lane_settle_moved(lane);
    cairn_priv_strand_aside();
    pthread_mutex_lock(&lock);
    take(lane);
    pthread_mutex_unlock(&lock);
    cairn_priv_strand_back();
    errno = saved;
}

/* Forgets the calling thread, or one that has ended. */
void crn_lane_forget_thread(cairn_lane *lane)
{
    if (lane->owner == &self)
        unlink_lane(lane);
    crn_timer_forget(lane);
    lane->owner = NULL;
    __atomic_store_n(&lane->thread_clock, 0, __ATOMIC_RELAXED);
}

void crn_lane_let_go(cairn_lane *lane)
{
    cairn_priv_strand_aside();
    pthread_mutex_lock(&lock);
    if (lane->owner)
        let_go(lane);
    pthread_mutex_unlock(&lock);
    cairn_priv_strand_back();
}

uint64_t crn_lane_cpu_now(const cairn_lane *lane)
{
    uint64_t cpu = 0;
    if (lane->profile->cpu == CAIRN_CPU_OFF || !lane->owner)
        return 0;
    if (lane->owner == &self)
        return crn_thread_own_time();
    /* In a child of fork, a lane has no owner until its first event. */
    clockid_t thread = __atomic_load_n(&lane->thread_clock, __ATOMIC_ACQUIRE);
    return thread && crn_thread_time(thread, &cpu) ? cpu : 0;
}

void cairn_lane_hand_over(cairn_lane *lane)
{
    if (!lane || !lane->open)
        return;
    int saved = errno;
    crn_lane_let_go(lane);
    errno = saved;
}

/* ---- fork ---- */

void crn_threads_lock(void)
{
    pthread_mutex_lock(&lock);
}

void crn_threads_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

bool crn_threads_lock_is_obtainable(void)
{
    return crn_lock_is_obtainable(&lock);
}

/* Other threads do not exist here, and this one has another id. */
void crn_threads_begin_child(void)
{
    crn_timers_begin_child();
    self.id = 0;
    pthread_mutex_unlock(&lock);
}

void crn_threads_begin_unseen(void)
{
    crn_timers_begin_child();
    self.id = 0;
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
