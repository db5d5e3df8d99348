/* SPDX-License-Identifier: MIT
 *
 * soak_begin.c - stands in for start.c of hosts/alloc in builds with a sanitizer, where nothing is
 * interposed: begins to record when the first lane is followed.
 */
#include "alloc/alloc.h"

bool crn_start_following(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool begun, can;
    pthread_mutex_lock(&lock);
    if (!begun && (can = crn_record_open() && crn_alloc_lanes_open())) {
        crn_filter_all();
        __atomic_store_n(&crn_alloc_state_now, CRN_ALLOC_ON, __ATOMIC_RELEASE);
    }
    begun = true;
    pthread_mutex_unlock(&lock);
    return can;
}
