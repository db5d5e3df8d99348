/* SPDX-License-Identifier: MIT
 *
 * Finds out whether the collector may be a thread that the C library does not know. Functions that
 * run on the collector make no calls of the C library but those in docs/SAMPLING.md, "Calls of
 * libc on hidden threads".
 */
#include <dlfcn.h>
#include <stddef.h>

#include <cairn/host.h>

#include "plat/hidden_thread.h"
#include "plat/own_calls.h"
#include "sample.h"

static const char *const called[] = {"__errno_location",
                                     "_dl_find_object",
                                     "clock_gettime",
                                     "close",
                                     "fallocate64",
                                     "fcntl64",
                                     "fstat64",
                                     "ftruncate64",
                                     "getauxval",
                                     "getpid",
                                     "getrandom",
                                     "getrlimit64",
                                     "gettid",
                                     "ioctl",
                                     "kill",
                                     "lseek64",
                                     "lstat64",
                                     "madvise",
                                     "memfd_create",
                                     "mmap64",
                                     "mprotect",
                                     "mremap",
                                     "munmap",
                                     "open",
                                     "open64",
                                     "pread64",
                                     "process_vm_readv",
                                     "pthread_setcancelstate",
                                     "pwrite64",
                                     "pwritev64v2",
                                     "read",
                                     "readlink",
                                     "rename",
                                     "sched_yield",
                                     "sigfillset",
                                     "snprintf",
                                     "stat64",
                                     "strtol",
                                     "strtoull",
                                     "unlink",
                                     "__snprintf_chk"};

/* Functions that this library defines, which call the C library's own. */
static const char *const replaced[] = {"syscall", "pthread_sigmask"};

/* Returns true if calls of the function come to this library. */
static bool comes_here(const char *name)
{
    Dl_info own, used;
    void *function = dlsym(RTLD_DEFAULT, name);
    return function && dladdr(function, &used) && dladdr(called, &own) &&
           used.dli_fbase == own.dli_fbase;
}

bool crn_sample_may_hide(void)
{
    return crn_hidden_thread_is_useful() && cairn_priv_bus_is_caught() && comes_here("setuid") &&
           comes_here("syscall") &&
           crn_calls_c_library(RTLD_NEXT, replaced, sizeof replaced / sizeof *replaced) &&
           crn_calls_c_library(RTLD_DEFAULT, called, sizeof called / sizeof *called);
}
