/* SPDX-License-Identifier: MIT
 *
 * Finds out whether the collector may be a thread that the C library does not know. Functions that
 * run on the collector make no calls of the C library but those in docs/SAMPLING.md, "Calls of
 * libc on the collector".
 */
#include <dlfcn.h>
#include <stddef.h>

#include <cairn/host.h>

#include "plat/hidden_thread.h"
#include "plat/own_calls.h"
#include "sample.h"

static const char *const called[] = {
    "clock_gettime", "close",       "fallocate64", "fcntl64",  "fstat64",       "ftruncate64",
    "getrlimit64",   "kill",        "lseek64",     "madvise",  "mmap64",        "mprotect",
    "mremap",        "munmap",      "open",        "open64",   "pread64",       "process_vm_readv",
    "pwrite64",      "pwritev64v2", "read",        "readlink", "rename",        "sched_yield",
    "snprintf",      "stat64",      "strtoull",    "unlink",   "__snprintf_chk"};

/* Returns true if the program's changes of users come to this library. */
static bool is_asked_of_rights(void)
{
    Dl_info own, used;
    void *function = dlsym(RTLD_DEFAULT, "setuid");
    return function && dladdr(function, &used) && dladdr(called, &own) &&
           used.dli_fbase == own.dli_fbase;
}

bool crn_sample_may_hide(void)
{
    return crn_hidden_thread_is_useful() && cairn_priv_bus_is_caught() && is_asked_of_rights() &&
           crn_calls_c_library(called, sizeof called / sizeof *called);
}
