/* SPDX-License-Identifier: MIT
 *
 * fork_lock.h - holds a file's mutex across fork, so that it has no owner in the child.
 */
#ifndef CRN_HOSTS_GCC_FORK_LOCK_H
#define CRN_HOSTS_GCC_FORK_LOCK_H

#include <pthread.h>

#include <cairn/host.h>

/* Defines fork handlers and a constructor that registers them. The forking thread has no strand
 * while it holds the lock: otherwise an event in a signal handler would wait for the lock. */
#define CRN_LOCK_ACROSS_FORK(lock)                                                                 \
    static void before_fork(void)                                                                  \
    {                                                                                              \
        cairn_priv_strand_aside();                                                                 \
        pthread_mutex_lock(&(lock));                                                               \
    }                                                                                              \
    static void after_fork(void)                                                                   \
    {                                                                                              \
        pthread_mutex_unlock(&(lock));                                                             \
        cairn_priv_strand_back();                                                                  \
    }                                                                                              \
    __attribute__((constructor)) static void watch_forks(void)                                     \
    {                                                                                              \
        pthread_atfork(before_fork, after_fork, after_fork);                                       \
    }

#endif
