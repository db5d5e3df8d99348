/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <sys/syscall.h>

#include "sample.h"

int crn_sample_signal;
uint64_t crn_sample_named;
pid_t crn_sample_ending_thread;
uint64_t crn_sample_used_before;
__thread bool crn_sample_filtered __attribute__((tls_model("initial-exec")));
long (*crn_sample_real_call)(long, long, long, long, long, long, long);

void crn_sample_find_call(void)
{
    if (!crn_sample_real_call)
        *(void **)&crn_sample_real_call = dlsym(RTLD_NEXT, "syscall");
}

bool crn_sample_signal_is_named(int number)
{
    return __atomic_load_n(&crn_sample_named, __ATOMIC_RELAXED) >> (number - 1) & 1;
}

int crn_sample_mask(int how, const sigset_t *set, sigset_t *old)
{
    static int (*real)(int, const sigset_t *, sigset_t *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_sigmask");
    return real(how, set, old);
}

void crn_sample_leave(int status)
{
    crn_sample_find_call();
    for (;;)
        crn_sample_real_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

uint64_t crn_sample_clock(clockid_t clock)
{
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        return 0;
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
