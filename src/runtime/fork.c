/* SPDX-License-Identifier: MIT
 *
 * A child of fork keeps its parent's stacks and goes on, but must not write into its
 * parent's capture: its mappings become private copies, and nothing counts any more.
 */
#include "runtime/runtime.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cairn_profile *profiles;

static void detach_lane(cairn_lane *lane)
{
    crn_section_detach(&lane->links);
    crn_section_detach(&lane->records);
    for (int i = 0; i < (int)CAIRN_METRIC_MAX; i++)
        if (lane->columns[i])
            crn_section_detach(lane->columns[i]);
    __atomic_store_n(&lane->graph.hot.tick_mode, CAIRN_PRIV_TICKS_OFF, __ATOMIC_RELAXED);
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next)
        crn_strand_arm(strand);
}

static void detach(cairn_profile *profile)
{
    crn_capture_detach(&profile->capture);
    crn_section_detach(&profile->strings);
    crn_section_detach(&profile->blocks);
    crn_section_detach(&profile->metrics);
    crn_section_detach(&profile->notes);
    pthread_mutex_init(&profile->lock, NULL);
    profile->sampler.running = false;
    profile->mode = CRN_MODE_OFF;
    profile->stopped = CAIRN_E_FORKED;
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next)
        detach_lane(lane);
}

static void before(void)
{
    pthread_mutex_lock(&lock);
}

static void after_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void after_in_child(void)
{
    for (cairn_profile *profile = profiles; profile; profile = profile->next)
        detach(profile);
    pthread_mutex_unlock(&lock);
}

static void watch(void)
{
    pthread_atfork(before, after_in_parent, after_in_child);
}

void crn_fork_add(cairn_profile *profile)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
    pthread_mutex_lock(&lock);
    profile->next = profiles;
    profiles = profile;
    pthread_mutex_unlock(&lock);
}

void crn_fork_remove(cairn_profile *profile)
{
    pthread_mutex_lock(&lock);
    cairn_profile **place = &profiles;
    while (*place && *place != profile)
        place = &(*place)->next;
    if (*place)
        *place = profile->next;
    pthread_mutex_unlock(&lock);
}
