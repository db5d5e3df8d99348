/* SPDX-License-Identifier: MIT
 *
 * Asynchronous cancellation: interposes pthread_setcanceltype.
 */
#ifndef CRN_STATIC
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "runtime.h"

/* A thread with asynchronous cancellation must not end inside of the runtime, where it can hold
 * locks. So signals are held back there, as for programs that can jump out of handlers. */
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
