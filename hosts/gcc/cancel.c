/* SPDX-License-Identifier: MIT
 *
 * Threads that may be cancelled anywhere: pthread_setcanceltype before that of the C library.
 */
#ifndef CRN_STATIC
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "runtime.h"

/* A thread that may be cancelled anywhere must not end in the midst of the runtime, with locks that
 * it holds: as where a handler may jump out, signals wait until that is over. */
CAIRN_API int pthread_setcanceltype(int type, int *before)
{
    static int (*known)(int, int *); /* atomic */
    int (*real)(int, int *) = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!real) {
        void *found = dlsym(RTLD_NEXT, "pthread_setcanceltype");
        __builtin_memcpy(&real, &found, sizeof real);
        __atomic_store_n(&known, real, __ATOMIC_RELAXED);
    }
    if (type == PTHREAD_CANCEL_ASYNCHRONOUS)
        __atomic_store_n(&crn_site_jumps, true, __ATOMIC_RELAXED);
    return real ? real(type, before) : ENOSYS;
}

#endif
