/* SPDX-License-Identifier: MIT
 *
 * Finds libc's functions. Those of condition variables have two versions. The newer one is used
 * here, as programs use it that are not decades old.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include "locks.h"

static void *find(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static void *find_newer(const char *name)
{
#if defined(__x86_64__)
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    if (found)
        return found;
#endif
    return find(name);
}

const crn_real *crn_locks_real(void)
{
    static crn_real real;
    static bool found; /* atomic; threads that look functions up at the same time find the same */
    if (__builtin_expect(__atomic_load_n(&found, __ATOMIC_ACQUIRE), 1))
        return &real;
    *(void **)&real.trylock = find("pthread_mutex_trylock");
    *(void **)&real.timedlock = find("pthread_mutex_timedlock");
    *(void **)&real.clocklock = find("pthread_mutex_clocklock");
    *(void **)&real.unlock = find("pthread_mutex_unlock");
    *(void **)&real.wait = find_newer("pthread_cond_wait");
    *(void **)&real.timedwait = find_newer("pthread_cond_timedwait");
    *(void **)&real.clockwait = find("pthread_cond_clockwait");
    *(void **)&real.signal = find_newer("pthread_cond_signal");
    *(void **)&real.broadcast = find_newer("pthread_cond_broadcast");
    *(void **)&real.sem_wait = find("sem_wait");
    *(void **)&real.sem_trywait = find("sem_trywait");
    *(void **)&real.sem_timedwait = find("sem_timedwait");
    *(void **)&real.sem_clockwait = find("sem_clockwait");
    *(void **)&real.sem_post = find("sem_post");
    *(void **)&real.sem_init = find("sem_init");
    *(void **)&real.lock = find("pthread_mutex_lock");
    __atomic_store_n(&found, true, __ATOMIC_RELEASE);
    return &real;
}
