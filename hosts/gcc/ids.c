/* SPDX-License-Identifier: MIT
 *
 * Changes of the process's user, groups and namespaces. The C library changes users and groups in
 * each thread that it knows, and the kernel refuses some changes of namespaces to a process with
 * several threads. So a hidden sampling thread ends before the change and begins anew with what was
 * changed. Nothing here allocates, because handlers of signals may make such changes.
 */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <unistd.h>

#include <cairn/host.h>

#include "interpose.h"
#include "plat/own_calls.h"
#include "runtime.h"

#define CHANGE(name, types, values)                                                                \
    CAIRN_API int name types                                                                       \
    {                                                                                              \
        CRN_REAL(__typeof__(name), name);                                                          \
        sigset_t mask;                                                                             \
        bool paused = cairn_priv_process_pause_thread(&mask);                                      \
        int result = real values;                                                                  \
        if (paused)                                                                                \
            cairn_priv_process_resume_thread(false, &mask);                                        \
        return result;                                                                             \
    }

CHANGE(setuid, (uid_t user), (user))
CHANGE(seteuid, (uid_t user), (user))
CHANGE(setreuid, (uid_t real_user, uid_t user), (real_user, user))
CHANGE(setresuid, (uid_t real_user, uid_t user, uid_t saved), (real_user, user, saved))
CHANGE(setgid, (gid_t group), (group))
CHANGE(setegid, (gid_t group), (group))
CHANGE(setregid, (gid_t real_group, gid_t group), (real_group, group))
CHANGE(setresgid, (gid_t real_group, gid_t group, gid_t saved), (real_group, group, saved))
CHANGE(setgroups, (size_t count, const gid_t *groups), (count, groups))
CHANGE(initgroups, (const char *user, gid_t group), (user, group))

/* The first call shows whether the kernel minds the hidden thread: it refuses, by EINVAL or for
 * time namespaces by EUSERS, before it changes anything. Most namespaces may be changed beside it,
 * and in a new one for processes the thread could not begin anew. */
#define CHANGE_ALONE(name, types, values)                                                          \
    CAIRN_API int name types                                                                       \
    {                                                                                              \
        CRN_REAL(__typeof__(name), name);                                                          \
        int result = real values;                                                                  \
        sigset_t mask;                                                                             \
        if (result == 0 || (errno != EINVAL && errno != EUSERS) ||                                 \
            !cairn_priv_process_pause_thread(&mask))                                               \
            return result;                                                                         \
        result = real values;                                                                      \
        cairn_priv_process_resume_thread(false, &mask);                                            \
        return result;                                                                             \
    }

CHANGE_ALONE(unshare, (int namespaces), (namespaces))
CHANGE_ALONE(setns, (int file, int kind), (file, kind))

typedef int set_function(uid_t user);

/* The name of this library's setuid that no other library can take. */
extern set_function own_setuid
    __attribute__((CRN_COPY_ATTRIBUTES(setuid) alias("setuid"), visibility("hidden")));

/* Functions that a hidden thread calls: those from `fcntl64` on only the host's thread, which
 * writes to the capture. */
static const char *const called[] = {"clock_gettime",
                                     "prctl",
                                     "stat",
                                     "open",
                                     "open64",
                                     "read",
                                     "close",
                                     "readlink",
                                     "kill",
                                     "sched_yield",
                                     "strtol",
                                     "getpid",
                                     "gettid",
                                     "_exit",
                                     "stat64",
                                     "__errno_location",
                                     "pthread_setcancelstate",
                                     "fcntl64",
                                     "fstat64",
                                     "getrlimit64",
                                     "mmap64",
                                     "mprotect",
                                     "mremap",
                                     "munmap",
                                     "madvise",
                                     "pwrite64",
                                     "pwritev64v2",
                                     "snprintf",
                                     "__snprintf_chk",
                                     "getauxval",
                                     "_dl_find_object"};
enum { CALLED_BY_SAMPLER = 17, CALLED = sizeof called / sizeof *called };
static size_t called_most = CALLED_BY_SAMPLER;

static bool may_hide(void)
{
    void *found = dlsym(RTLD_DEFAULT, "setuid");
    set_function *used;
    __builtin_memcpy(&used, &found, sizeof used);
    return used == own_setuid && crn_calls_c_library(RTLD_DEFAULT, called, called_most);
}

void crn_site_hide_thread(bool of_host)
{
    called_most = of_host ? CALLED : CALLED_BY_SAMPLER;
    cairn_priv_process_hide_thread(may_hide, of_host);
}
