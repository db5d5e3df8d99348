/* SPDX-License-Identifier: MIT
 *
 * waiting.c - interposes blocking calls that the kernel never restarts after a signal. These
 * versions block the sampler's signal until the call returns: the program sees no EINTR that it
 * would not see in lua5.4, and the pending sample then charges the waiting function. The kernel
 * restarts most other calls (SA_RESTART). cairn-run(1) names the remaining ones, which only C
 * modules would call.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

#define EXPORTED __attribute__((visibility("default")))

/* Defines `real`, the C library's function of this name. */
#define REAL(name)                                                                                 \
    static __typeof__(name) *real;                                                                 \
    if (!real)                                                                                     \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

/* Blocks the signal if this thread is sampled; `before` gets the previous mask. */
static bool hold(sigset_t *before)
{
    if (!crn_host_here->sampler)
        return false;
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPROF);
    return pthread_sigmask(SIG_BLOCK, &ours, before) == 0;
}

/* The body of a function: makes `call` while the signal is blocked, and returns its result. */
#define HELD(type, call)                                                                           \
    sigset_t before;                                                                               \
    bool held = hold(&before);                                                                     \
    type result = (call);                                                                          \
    if (held)                                                                                      \
        pthread_sigmask(SIG_SETMASK, &before, NULL);                                               \
    return result

/* Adds the sampler's signal to the mask of a call that sets one while it waits. */
static const sigset_t *with_ours(const sigset_t *mask, sigset_t *room)
{
    if (!mask || !crn_host_here->sampler)
        return mask;
    *room = *mask;
    sigaddset(room, SIGPROF);
    return room;
}

EXPORTED int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    REAL(nanosleep);
    HELD(int, real(wanted, left));
}

EXPORTED int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
                             struct timespec *left)
{
    REAL(clock_nanosleep);
    HELD(int, real(clock, flags, wanted, left));
}

EXPORTED int usleep(useconds_t wanted)
{
    REAL(usleep);
    HELD(int, real(wanted));
}

EXPORTED unsigned sleep(unsigned wanted)
{
    REAL(sleep);
    HELD(unsigned, real(wanted));
}

EXPORTED int poll(struct pollfd *files, nfds_t count, int timeout)
{
    REAL(poll);
    HELD(int, real(files, count, timeout));
}

EXPORTED int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout,
                   const sigset_t *mask)
{
    REAL(ppoll);
    sigset_t room;
    HELD(int, real(files, count, timeout, with_ours(mask, &room)));
}

EXPORTED int select(int count, fd_set *readable, fd_set *writable, fd_set *exceptional,
                    struct timeval *timeout)
{
    REAL(select);
    HELD(int, real(count, readable, writable, exceptional, timeout));
}

EXPORTED int pselect(int count, fd_set *readable, fd_set *writable, fd_set *exceptional,
                     const struct timespec *timeout, const sigset_t *mask)
{
    REAL(pselect);
    sigset_t room;
    HELD(int, real(count, readable, writable, exceptional, timeout, with_ours(mask, &room)));
}

EXPORTED int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
    REAL(epoll_wait);
    HELD(int, real(epoll, events, most, timeout));
}

EXPORTED int epoll_pwait(int epoll, struct epoll_event *events, int most, int timeout,
                         const sigset_t *mask)
{
    REAL(epoll_pwait);
    sigset_t room;
    HELD(int, real(epoll, events, most, timeout, with_ours(mask, &room)));
}
