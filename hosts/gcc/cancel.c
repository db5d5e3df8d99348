/* SPDX-License-Identifier: MIT
 *
 * Asynchronous cancellation: interposes pthread_setcanceltype.
 */
#ifndef CRN_STATIC
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "interpose.h"
#include "runtime.h"

/* A thread with asynchronous cancellation must not end inside of the runtime, where it can hold
 * locks. The C library's signal for cancellation cannot be deferred, so from now on signals are
 * blocked while a strand is held. */
CAIRN_API int pthread_setcanceltype(int type, int *before)
{
    static void *known;
    void *next = crn_next_definition(&known, "pthread_setcanceltype");
    int (*real)(int, int *);
    memcpy(&real, &next, sizeof real);
    if (type == PTHREAD_CANCEL_ASYNCHRONOUS)
        crn_site_block_when_held();
    return real ? real(type, before) : ENOSYS;
}

#endif
