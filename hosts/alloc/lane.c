/* SPDX-License-Identifier: MIT
 *
 * Threads and their lanes. A thread gets a lane with its first allocation that is counted, and
 * gives it back when it ends. libcairn then gives the lane to the next thread, and the crn_lane
 * goes with it.
 */
#include <string.h>
#include <sys/prctl.h>

#include "alloc.h"

enum { LANES_MOST = 1 << CRN_LANE_BITS };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static crn_lane *numbered[LANES_MOST];
static uint32_t lane_count;  /* highest number in use; 0 is no lane */
static uint32_t lane_parent; /* lanes up to this number belong to the parent process */
static pthread_key_t key;
static int opening; /* threads that look for a lane; the profile is not closed meanwhile; atomic */

/* Lane of all threads that have no lane of their own. */
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static crn_lane *shared;

/* In a child of fork: libcairn's lanes that the child keeps: the forking thread's and the shared
 * one. */
static cairn_lane *inherited, *inherited_shared;

static const cairn_priv_alloc_calls own_calls = {
    sizeof own_calls,       cairn_strand_lane,        cairn_lane_profile,  cairn_strand_context,
    cairn_context_counters, cairn_context_charge,     cairn_metric_add,    cairn_priv_generation,
    cairn_priv_changes,     cairn_priv_lane_follower, cairn_priv_catch_up, cairn_priv_memory_begin,
    cairn_priv_memory_show, cairn_profile_note,
};

/* ---- making lanes ---- */

static bool is_closed(const crn_lane *lane)
{
    return __atomic_load_n(&lane->closed, __ATOMIC_ACQUIRE);
}

crn_lane *crn_alloc_lane_numbered(uint32_t number)
{
    crn_lane *lane = __atomic_load_n(&numbered[number], __ATOMIC_ACQUIRE);
    if (!lane || number <= lane_parent || is_closed(lane))
        return NULL;
    return lane;
}

/* Returns a lane with its tables, all zero; NULL without memory. */
static crn_lane *allocate(void)
{
    const size_t edges = CRN_EDGE_CACHE * sizeof(crn_cached_edge);
    const size_t origins = CRN_ORIGIN_CHUNKS * sizeof(crn_origin *);
    const size_t translations = CRN_TRANSLATIONS * sizeof(crn_translation);
    crn_lane *lane = crn_pages(sizeof *lane);
    if (!lane)
        return NULL;
    lane->edge_cache = crn_pages(edges);
    lane->origins = crn_pages(origins);
    lane->translations = crn_pages(translations);
    if (lane->edge_cache && lane->origins && lane->translations)
        lane->stack = crn_alloc_stack_new();
    if (lane->stack)
        return lane;
    crn_pages_free(lane->edge_cache, edges);
    crn_pages_free(lane->origins, origins);
    crn_pages_free(lane->translations, translations);
    crn_pages_free(lane, sizeof *lane);
    return NULL;
}

/* Returns the generation of a new lane: the newest that another lane of the profile has noticed.
 * With the profile's own, a reset that no lane has noticed yet would seem noticed, and retract_all
 * would not reset the peak. Called under the lock. */
static uint64_t first_generation(const uint64_t *now)
{
    uint64_t generation = 0;
    for (uint32_t i = lane_parent + 1; i <= lane_count; i++)
        if (numbered[i]->generation_now == now && numbered[i]->generation > generation &&
            !is_closed(numbered[i]))
            generation = numbered[i]->generation;
    return generation ? generation : __atomic_load_n(now, __ATOMIC_ACQUIRE);
}

/* Called by libcairn before it frees the cairn_lane. Takes no lock, as the caller may have some. */
static void closed(cairn_priv_follower *follower)
{
    crn_lane *lane = (crn_lane *)follower;
    __atomic_store_n(&lane->closed, true, __ATOMIC_RELEASE);
    if (lane->number > lane_parent)
        crn_peak_retract(lane);
}

/* Called under the lock. */
static crn_lane *new_lane(cairn_lane *of, const cairn_priv_alloc_calls *calls,
                          const cairn_metric metrics[CRN_METRICS], bool of_program)
{
    if (lane_count + 1 == LANES_MOST)
        return NULL;
    crn_lane *lane = allocate();
    if (!lane)
        return NULL;
    lane->lane = of;
    lane->calls = calls;
    memcpy(lane->metrics, metrics, sizeof lane->metrics);
    lane->of_program = of_program;
    lane->changes_now = calls->changes(calls->lane_profile(of));
    lane->generation_now = calls->generation(calls->lane_profile(of));
    lane->generation = first_generation(lane->generation_now);
    lane->number = ++lane_count;
    lane->random = crn_sample_seed * 0x632be59bd9b4e019u + lane->number * 0x9e6c63d0876a9a47u;
    __atomic_store_n(&numbered[lane->number], lane, __ATOMIC_RELEASE);
    return lane;
}

crn_lane *crn_alloc_lane_new(cairn_lane *of, const cairn_priv_alloc_calls *calls,
                             const cairn_metric metrics[CRN_METRICS])
{
    pthread_mutex_lock(&lock);
    crn_lane *lane = new_lane(of, calls, metrics, true);
    pthread_mutex_unlock(&lock);
    if (lane) {
        lane->follower.closed = closed;
        *calls->lane_follower(of) = &lane->follower;
    }
    return lane;
}

/* In a child of fork the cairn_lane may still have the parent's crn_lane, which is not returned. */
crn_lane *crn_alloc_lane_known(cairn_lane *of, const cairn_priv_alloc_calls *calls)
{
    crn_lane *lane = (crn_lane *)*calls->lane_follower(of);
    return lane && lane->number > lane_parent ? lane : NULL;
}

/* Returns the crn_lane of a lane of native stacks; makes it if there is none. NULL without memory.
 * Called under the lock. */
static crn_lane *lane_of(cairn_lane *of)
{
    for (uint32_t i = lane_count; i > lane_parent; i--)
        if (numbered[i]->lane == of && !numbered[i]->of_program)
            return numbered[i];
    return new_lane(of, &own_calls, crn_metrics_here, false);
}

/* Called under the lock when a lane notices a reset. Takes the bytes of lanes that have not noticed
 * it out of the total: these lanes may never allocate again. The first lane to notice the reset
 * also sets the peak to 0. */
static void retract_all(const crn_lane *lane, uint64_t generation)
{
    bool first = true;
    for (uint32_t i = lane_parent + 1; i <= lane_count; i++) {
        crn_lane *other = numbered[i];
        if (other->generation_now != lane->generation_now || is_closed(other))
            continue;
        if (other->generation == generation)
            first = false;
        else
            crn_peak_retract(other);
    }
    if (first)
        crn_peak_again();
}

/* Sets the lane's live bytes to 0, after a reset that gave the profile this generation. */
static void forget(crn_lane *lane, uint64_t generation)
{
    pthread_mutex_lock(&lock);
    retract_all(lane, generation);
    lane->generation = generation;
    if (lane->tallies)
        memset(lane->tallies, 0, lane->tally_count * sizeof *lane->tallies);
    lane->unflushed = 0;
    lane->changed_count = 0;
    lane->changed_all = false;
    pthread_mutex_unlock(&lock);
}

void crn_alloc_lane_attend(crn_lane *lane)
{
    lane->changes = __atomic_load_n(lane->changes_now, __ATOMIC_ACQUIRE);
    /* catch_up zeroes the columns of libcairn's lane. */
    uint64_t generation = lane->calls->catch_up(lane->lane);
    if (generation != lane->generation)
        forget(lane, generation);
    lane->off = !lane->calls->context_counters(lane->lane, lane->metrics[0], CAIRN_CONTEXT_ROOT);
    lane->capacity = 0; /* the counters are looked up again */
    if (lane->off)
        crn_alloc_stop_if_full();
}

/* ---- lanes of the program that a thread follows, and those that rest ---- */

static uint32_t followed; /* number of lanes that a thread follows */

void crn_alloc_lane_begin(crn_lane *lane)
{
    pthread_mutex_lock(&lock);
    followed++;
    lane->resting_peaks = NULL;
    pthread_mutex_unlock(&lock);
}

/* Copies the live bytes of the profile's resting lanes, which are as they were at the last moment
 * of peak memory. `profile` is the address of its generation, which tells it from others. Called
 * under the lock: no thread begins to follow the lanes meanwhile, and the profile is still open. */
static void settle_resting(const uint64_t *profile)
{
    static const uint64_t *settled; /* profile that was settled last, and for which moment */
    static uint32_t moment;
    uint32_t now = __atomic_load_n(&crn_peak_now.moment, __ATOMIC_ACQUIRE);
    if (settled == profile && moment == now)
        return;
    for (uint32_t i = lane_parent + 1; i <= lane_count; i++) {
        crn_lane *lane = numbered[i];
        if (lane->generation_now == profile && !is_closed(lane) && lane->resting_peaks &&
            crn_alloc_lane_up_to_date(lane))
            crn_peak_settle(lane);
    }
    settled = profile;
    moment = now;
}

void crn_alloc_lane_rest(crn_lane *lane)
{
    uint64_t *peaks = lane->tally_count && !lane->off
                          ? lane->calls->context_counters(lane->lane, lane->metrics[CRN_COUNT_PEAK],
                                                          lane->tally_count - 1)
                          : NULL;
    pthread_mutex_lock(&lock);
    lane->strand = NULL;
    lane->resting_peaks = peaks;
    if (!--followed)
        settle_resting(lane->generation_now);
    pthread_mutex_unlock(&lock);
}

/* ---- lanes of native stacks ---- */

/* Opens a lane of native stacks. In a child of fork, takes *inherited_one first if it is not NULL.
 * Returns NULL if no lane can be opened. */
static crn_lane *open_lane(cairn_lane **inherited_one, const char *name)
{
    cairn_lane *of = *inherited_one ? *inherited_one : cairn_lane_open(crn_profile_here, name);
    if (!of)
        return NULL;
    *inherited_one = NULL;
    pthread_mutex_lock(&lock);
    crn_lane *lane = lane_of(of);
    pthread_mutex_unlock(&lock);
    if (!lane) {
        cairn_lane_close(of);
        return NULL;
    }
    crn_peak_lanes(1);
    return lane;
}

/* ---- threads ---- */

static void thread_ends(void *data)
{
    crn_lane *lane = data;
    crn_alloc_notice_child();
    crn_here.busy = (uintptr_t)__builtin_frame_address(0);
    crn_here.ended = true;
    if (crn_here.lane == lane)
        crn_here.lane = NULL;
    crn_here.native = NULL;
    __atomic_add_fetch(&opening, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&crn_alloc_state_now, __ATOMIC_SEQ_CST) == CRN_ALLOC_ON &&
        lane->number > lane_parent) {
        crn_alloc_lane_listen(lane);
        crn_peak_flush(lane);
        crn_peak_settle(lane);
        crn_peak_lanes(-1);
        cairn_lane_close(lane->lane);
    }
    __atomic_sub_fetch(&opening, 1, __ATOMIC_SEQ_CST);
    crn_here.busy = 0;
}

static void set_busy(crn_lane *lane)
{
    if (lane)
        __atomic_store_n(&lane->busy, true, __ATOMIC_SEQ_CST);
}

/* Threads run code after their key destructors: libc frees the stacks of other threads, and
 * destructors of other libraries may come after ours. Such a thread cannot be told from a living
 * one, so what a thread without a lane frees is charged to a shared lane. The lane has no owner in
 * libcairn: the owner's thread descriptor would be gone before the lane is closed. */
static crn_lane *open_shared(void)
{
    crn_lane *lane = open_lane(&inherited_shared, "threads that only free, or are ending");
    if (!lane)
        return NULL;
    cairn_lane_hand_over(lane->lane);
    crn_alloc_stack_begin_unknown(lane->stack);
    return lane;
}

crn_lane *crn_alloc_lane_shared(void)
{
    pthread_mutex_lock(&shared_lock);
    if (!shared && crn_profile_here)
        shared = open_shared();
    if (!shared) {
        pthread_mutex_unlock(&shared_lock);
        return NULL;
    }
    crn_alloc_stack_forget(shared->stack);
    set_busy(shared);
    return shared;
}

void crn_alloc_lane_shared_done(crn_lane *lane)
{
    __atomic_store_n(&lane->busy, false, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&shared_lock);
}

static crn_lane *begin_thread(void)
{
    char name[17] = "";
    prctl(PR_GET_NAME, name);
    crn_lane *lane = open_lane(&inherited, name);
    if (!lane) {
        crn_here.ended = true;
        return NULL;
    }
    crn_alloc_stack_begin(lane->stack);
    pthread_setspecific(key, lane);
    crn_here.lane = crn_here.native = lane;
    crn_here.left = crn_sample_gap(&lane->random);
    set_busy(lane);
    return lane;
}

/* Returns the lane that `find` finds; NULL if nothing is recorded. `opening` keeps the profile open
 * meanwhile. */
static crn_lane *find_lane(crn_lane *find(void))
{
    crn_lane *lane = NULL;
    __atomic_add_fetch(&opening, 1, __ATOMIC_SEQ_CST);
    if (crn_profile_here && __atomic_load_n(&crn_alloc_state_now, __ATOMIC_SEQ_CST) == CRN_ALLOC_ON)
        lane = find();
    __atomic_sub_fetch(&opening, 1, __ATOMIC_SEQ_CST);
    return lane;
}

crn_lane *crn_alloc_lane_first(void)
{
    return find_lane(crn_here.ended ? crn_alloc_lane_shared : begin_thread);
}

crn_lane *crn_alloc_lane_to_free(void)
{
    return find_lane(crn_alloc_lane_shared);
}

bool crn_alloc_lanes_rest(void)
{
    bool rest = __atomic_load_n(&opening, __ATOMIC_SEQ_CST) == 0;
    pthread_mutex_lock(&lock);
    for (uint32_t i = lane_parent + 1; i <= lane_count && rest; i++)
        rest = !__atomic_load_n(&numbered[i]->busy, __ATOMIC_ACQUIRE);
    pthread_mutex_unlock(&lock);
    return rest;
}

void crn_alloc_lanes_each(void (*each)(crn_lane *lane))
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = lane_parent + 1; i <= lane_count; i++)
        if (!numbered[i]->of_program)
            each(numbered[i]);
    pthread_mutex_unlock(&lock);
}

/* ---- fork ---- */

static void before_fork(void)
{
    crn_here.busy = (uintptr_t)__builtin_frame_address(0);
    pthread_mutex_lock(&shared_lock);
    pthread_mutex_lock(&lock);
    crn_code_lock();
    crn_unwind_lock();
}

static void unlock_all(void)
{
    crn_unwind_unlock();
    crn_code_unlock();
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&shared_lock);
    crn_here.busy = 0;
}

/* Allocations of the parent are not counted in the child: the child's lanes get new numbers.
 * libcairn lets the forking thread keep its cairn_lane. */
static void after_in_child(void)
{
    if (crn_here.native)
        inherited = crn_here.native->lane;
    if (shared)
        inherited_shared = shared->lane;
    lane_parent = lane_count;
    followed = 0;
    shared = NULL;
    opening = 0;
    crn_here.lane = crn_here.native = NULL;
    crn_here.left = 0;
    crn_peak_restart();
    unlock_all();
}

bool crn_alloc_lanes_open(void)
{
    return pthread_key_create(&key, thread_ends) == 0 &&
           pthread_atfork(before_fork, unlock_all, after_in_child) == 0;
}
