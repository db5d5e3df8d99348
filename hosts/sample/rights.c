/* SPDX-License-Identifier: MIT
 *
 * Calls that change a process's rights or its place among namespaces. libc applies some of them to
 * all threads, and aborts if a call fails in one thread alone; the kernel refuses others to
 * processes with several threads. So the collector ends before each call, and a new one begins
 * after it with the calling thread's rights and namespaces.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/types.h>

#include "sample.h"

/* Defines a function that pauses the collector around libc's. */
#define ALONE(name, parameters, arguments)                                                         \
    EXPORT int name parameters;                                                                    \
    int name parameters                                                                            \
    {                                                                                              \
        static int(*real) parameters;                                                              \
        if (!real)                                                                                 \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                             \
        sigset_t mask;                                                                             \
        bool paused = crn_sample_pause(&mask);                                                     \
        int result = real arguments;                                                               \
        crn_sample_go_on(paused, &mask);                                                           \
        return result;                                                                             \
    }

ALONE(setuid, (uid_t user), (user))
ALONE(setgid, (gid_t group), (group))
ALONE(seteuid, (uid_t user), (user))
ALONE(setegid, (gid_t group), (group))
ALONE(setreuid, (uid_t real_user, uid_t user), (real_user, user))
ALONE(setregid, (gid_t real_group, gid_t group), (real_group, group))
ALONE(setresuid, (uid_t real_user, uid_t user, uid_t saved), (real_user, user, saved))
ALONE(setresgid, (gid_t real_group, gid_t group, gid_t saved), (real_group, group, saved))
ALONE(setgroups, (size_t count, const gid_t *groups), (count, groups))
ALONE(initgroups, (const char *user, gid_t group), (user, group))
ALONE(capset, (void *header, const void *data), (header, data))
ALONE(unshare, (int what), (what))
ALONE(chroot, (const char *path), (path)) /* there may be no /proc inside */
ALONE(setns, (int file, int what), (file, what))
