/* SPDX-License-Identifier: MIT
 *
 * Asynchronous cancellation: interposes pthread_setcanceltype.
 *
 * A thread with asynchronous cancellation must not end inside of the runtime, where it can hold
 * locks. The C library's signal for cancellation cannot be deferred, so once a thread has such a
 * type, signals are blocked while a strand is held. That is not enough: the runtime disables
 * cancellation around what it does with files, and a thread that was cancelled meanwhile ends where
 * cancellation is enabled again, still under the runtime's locks. (glibc 2.36 then also returns 0
 * from pthread_join in place of PTHREAD_CANCELED.) So the type is *deferred* while a strand is
 * held.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "interpose.h"
#include "runtime.h"

#ifndef CRN_STATIC

static int real_type(int type, int *before)
{
    static void *known;
    void *next = crn_next_definition(&known, "pthread_setcanceltype");
    int (*real)(int, int *);
    memcpy(&real, &next, sizeof real);
    return real ? real(type, before) : ENOSYS;
}

static bool is_used; /* a thread has or had asynchronous cancellation; atomic */

CAIRN_API int pthread_setcanceltype(int type, int *before)
{
    if (type == PTHREAD_CANCEL_ASYNCHRONOUS) {
        crn_site_block_when_held();
        __atomic_store_n(&is_used, true, __ATOMIC_RELAXED);
    }
    return real_type(type, before);
}

bool crn_site_defer_cancellation(void)
{
    int before = PTHREAD_CANCEL_DEFERRED;
    if (__atomic_load_n(&is_used, __ATOMIC_RELAXED))
        real_type(PTHREAD_CANCEL_DEFERRED, &before);
    return before == PTHREAD_CANCEL_ASYNCHRONOUS;
}

void crn_site_cancel_again(void)
{
    real_type(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
}

#else

bool crn_site_defer_cancellation(void)
{
    return false;
}

void crn_site_cancel_again(void)
{
}

#endif
