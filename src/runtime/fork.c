/* SPDX-License-Identifier: MIT
 *
 * Fork handlers. A child must not write into its parent's capture: its mappings become private
 * copies, and it counts nothing until its first event, when it makes its own capture (child.c).
 * Most children only exec. Lanes of the forking thread continue. Lanes of other threads are
 * abandoned: their threads do not exist in the child, and their state may be inconsistent.
 */
#include <string.h>

#include "base/memory.h"
#include "capture/loss.h"
#include "runtime/runtime.h"
#include "runtime/siblings.h"
#include "runtime/span.h"

static crn_futex_lock lock;
static cairn_profile *profiles; /* list of all profiles; under lock */

static cairn_lane *graves; /* list of abandoned lanes, which are never freed */

/* ---- in the child ---- */

/* Makes the lane's mappings private. */
static void detach_lane(cairn_lane *lane)
{
    crn_lane_detach_header(lane);
    lane->locked = false; /* the sampler, which may have held it, is gone */
    crn_section_detach(&lane->links);
    crn_section_detach(&lane->records);
    for (int i = 0; i < (int)CAIRN_METRIC_MAX; i++)
        if (lane->columns[i])
            crn_section_detach(lane->columns[i]);
    crn_counted_detach(lane);
    crn_spans_forget(lane);
}

/* Sends the next event of each strand, ticks included, to the slow path. There the lane gets a
 * graph in the child's capture. */
static void make_wait(cairn_lane *lane)
{
    lane->forked = true;
    __atomic_store_n(&lane->thread_clock, 0, __ATOMIC_RELAXED); /* so that the sampler ignores the
                                                                   lane */
    lane->turned_cpu[0] = lane->turned_cpu[1] = 0;              /* readings of the parent's
                                                                   thread */
    crn_timer_forget(lane);
    lane->graph.hot.tick_left = -1;
    lane->graph.hot.host_counters_end = 0;
    __atomic_store_n(&lane->graph.hot.tick_mode, CAIRN_PRIV_TICKS_SAMPLED, __ATOMIC_RELAXED);
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next)
        crn_strand_arm(strand);
}

/* Abandons the lanes of other threads. */
static void abandon_others(cairn_profile *profile)
{
    for (cairn_lane **place = &profile->lanes; *place;) {
        cairn_lane *lane = *place;
        if (!lane->open || !lane->owner || lane->owner == crn_thread_self()) {
            place = &lane->next;
            continue;
        }
        *place = lane->next;
        crn_lane_abandon(lane);
        lane->next = graves;
        graves = lane;
    }
}

/* Adds the parent, whose span key the profile still has. If the list is full, merges the two oldest
 * ancestors into one without a key. */
static void add_ancestor(cairn_profile *profile)
{
    crn_child *child = &profile->child;
    if (child->ancestor_count == CRN_ANCESTORS) {
        memmove(child->ancestors, child->ancestors + 1,
                (CRN_ANCESTORS - 1) * sizeof *child->ancestors);
        child->ancestors[0].span_key = 0;
        child->ancestor_count--;
    }
    child->ancestors[child->ancestor_count++] = (crn_ancestor){.span_key = profile->span_key};
}

/* Separates the profile from the parent's capture. It is separate already if the parent is itself a
 * child of fork that has made no capture. */
static void detach(cairn_profile *profile)
{
    crn_capture_catch_in_child();
    abandon_others(profile);
    if (!profile->capture.detached) {
        crn_capture_detach(&profile->capture);
        crn_section_detach(&profile->strings);
        crn_section_detach(&profile->blocks);
        crn_section_detach(&profile->metrics);
        crn_section_detach(&profile->notes);
        crn_section_detach(&profile->keys);
        crn_section_detach(&profile->trees);
        for (cairn_lane *lane = profile->lanes; lane; lane = lane->next)
            detach_lane(lane);
        profile->child.sampler = profile->sampler.helper.running;
        profile->child.mode = profile->mode;
        profile->child.waiting = true;
        add_ancestor(profile);
    }
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next)
        lane->moving = (crn_futex_lock){0}; /* another thread may have held it */
    profile->sampler.helper.running = false;
    profile->preparer.running = false;
    /* Otherwise the child's sampler could start a preparer while take_over starts one. */
    profile->preparer_wanted = false;
    profile->off_core.running = false;
    profile->memory.busy = false;
    if (!profile->child.waiting) /* the parent could not make a capture after its own fork, so this
                                    process cannot either */
        return;
    profile->mode = CRN_MODE_OFF;
    profile->stopped = CAIRN_E_FORKED;
    profile->child.forks++;
    profile->child.forked = crn_profile_read_moment(profile);
    profile->child.ancestors[profile->child.ancestor_count - 1].until = profile->child.forked.clock;
    profile->changes++;
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next)
        make_wait(lane);
}

/* ---- children that no handler was called for ---- */

/* Points to a word that is 0 in a child for which fork's handlers were not called (a raw system
 * call made it), otherwise 1. watch_unseen puts the word on a page that the kernel zeroes in each
 * child, and the handlers set it to 1 again. */
static uint32_t seen = 1;
const uint32_t *cairn_priv_process_seen = &seen; /* atomic */

/* The thread is between fork's first and last handler. */
static __thread bool forking __attribute__((tls_model("initial-exec")));

/* Puts the word that cairn_priv_process_seen points to on a page that the kernel zeroes in each
 * child. If the system has no such pages, or no memory, the word is always 1. */
static void watch_unseen(void)
{
    enum { PAGE = 4096 };
    uint32_t *word = crn_try_sparse(PAGE);
    if (!word)
        return;
    *word = 1;
    if (crn_zero_in_children(word, PAGE))
        __atomic_store_n(&cairn_priv_process_seen, word, __ATOMIC_RELEASE);
    else
        crn_free_sparse(word, PAGE);
}

static void set_seen(void)
{
    *(uint32_t *)cairn_priv_process_seen = 1;
}

static void abandon_all(cairn_profile *profile)
{
    while (profile->lanes) {
        cairn_lane *lane = profile->lanes;
        profile->lanes = lane->next;
        crn_lane_abandon(lane);
        lane->next = graves;
        graves = lane;
    }
}

/* Abandons all lanes, so that the child records nothing: other threads may have held locks and been
 * changing memory. Calls only signal safe functions. */
bool crn_fork_begin_unseen(void)
{
    if (forking)
        return false;
    set_seen();
    crn_helpers_forget();
    lock = (crn_futex_lock){0};
    crn_siblings_begin_child();
    crn_timers_begin_child();
    crn_threads_begin_unseen();
    for (cairn_profile *profile = profiles; profile; profile = profile->next) {
        profile->lock = (crn_futex_lock){0};
        profile->capture.lock = (crn_futex_lock){0};
        detach(profile);
        profile->child.waiting = false;
        abandon_all(profile);
    }
    return true;
}

/* ---- handlers ---- */

void crn_profile_charge_own(cairn_profile *profile)
{
    cairn_lane *lane = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE);
    for (; lane; lane = lane->next)
        if (!profile->child.waiting &&
            __atomic_load_n(&lane->owner, __ATOMIC_RELAXED) == crn_thread_self())
            crn_lane_charge_rest(lane);
}

/* Charges the forking thread's time, and takes the locks: so at the fork no other thread holds one
 * of them or is changing what they protect. */
static void before(void)
{
    cairn_priv_strand_aside();
    forking = true;
    crn_siblings_lock();
    crn_futex_lock_take(&lock);
    crn_threads_lock();
    for (cairn_profile *profile = profiles; profile; profile = profile->next) {
        crn_profile_charge_own(profile);
        crn_futex_lock_take(&profile->lock);
        crn_futex_lock_take(&profile->capture.lock);
        if (!profile->capture.detached)
            memcpy(profile->child.used, profile->capture.header->used, sizeof profile->child.used);
    }
}

static void after_in_parent(void)
{
    for (cairn_profile *profile = profiles; profile; profile = profile->next) {
        profile->child.forks++;
        crn_futex_lock_give(&profile->capture.lock);
        crn_futex_lock_give(&profile->lock);
    }
    crn_threads_unlock();
    crn_futex_lock_give(&lock);
    crn_siblings_unlock();
    forking = false;
    cairn_priv_strand_back();
}

/* Releases the locks, which this thread took before the fork, and separates all profiles from the
 * parent's captures. */
static void after_in_child(void)
{
    set_seen();
    crn_helpers_forget();
    for (cairn_profile *profile = profiles; profile; profile = profile->next) {
        crn_futex_lock_give(&profile->capture.lock);
        crn_futex_lock_give(&profile->lock);
    }
    crn_timers_begin_child();
    crn_threads_begin_child();
    for (cairn_profile *profile = profiles; profile; profile = profile->next)
        detach(profile);
    crn_futex_lock_give(&lock);
    crn_siblings_unlock();
    forking = false;
    cairn_priv_strand_back();
}

static void watch(void)
{
    watch_unseen();
    pthread_atfork(before, after_in_parent, after_in_child);
}

void crn_fork_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
}

void crn_fork_add(cairn_profile *profile)
{
    crn_fork_watch();
    crn_futex_lock_take(&lock);
    profile->next = profiles;
    profiles = profile;
    crn_futex_lock_give(&lock);
}

void crn_fork_remove(cairn_profile *profile)
{
    crn_futex_lock_take(&lock);
    cairn_profile **place = &profiles;
    while (*place && *place != profile)
        place = &(*place)->next;
    if (*place)
        *place = profile->next;
    crn_futex_lock_give(&lock);
}
