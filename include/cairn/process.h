/* SPDX-License-Identifier: MIT
 *
 * process.h - the process's own profile, for programs that do not open one themselves.
 *
 * `cairn run ./program`, or CAIRN_OUT=FILE in its environment, requests a profile. It is opened by
 * the first call that needs it. Each thread gets a lane and a strand when it first asks, which end
 * with the thread. The capture is closed when the process ends by exit or by returning from main.
 * Without CAIRN_OUT there is no profile and no file.
 *
 * Further variables, which `cairn run` sets from its options, are described in cairn-run(1). %p in
 * CAIRN_OUT is the process id.
 *
 * Child processes inherit CAIRN_OUT. If the file is being written by another running process, or
 * was written since CAIRN_SINCE (ns of CLOCK_REALTIME, set by `cairn run`), the process uses
 * x.PID.cairn beside x.cairn, as a child of fork does. Processes that start at once serialise on a
 * lock (flock) on the directory while they choose; a process waits at most half a second for it.
 *
 * Late events are harmless: what destructors and other threads do after the profile is closed is
 * not recorded. A thread that runs while the process ends keeps what it has recorded, but its time
 * since its last sample is lost. exit() in a signal handler that interrupted Cairn leaves the
 * capture as a kill would.
 */
#ifndef CAIRN_PROCESS_H
#define CAIRN_PROCESS_H

#include "cairn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the process's own profile, opening it if needed; NULL if the process is not profiled, the
 * capture cannot be made, or it is closed already. Do not close it. Waits while another thread
 * opens it. Thread: any. Not signal safe. */
CAIRN_API cairn_profile *cairn_process_profile(void);

/* Read by cairn_thread_strand: this thread's strand, NULL until it exists; and a flag that no
 * thread will get one. */
CAIRN_API extern __thread cairn_strand *cairn_priv_thread_strand
    __attribute__((tls_model("initial-exec")));
CAIRN_API extern int cairn_priv_process_off;
CAIRN_API cairn_strand *cairn_priv_thread_begin(void);

/* Returns this thread's own strand in that profile, NULL without one, which costs two predictable
 * branches. It is the only strand of a lane named like the thread. Both are closed when the thread
 * ends, after the destructors of thread-local objects and all but the last rounds of
 * pthread_key_create destructors; afterwards this returns NULL. Always NULL in sources that are
 * compiled with CAIRN_DISABLE (scope.h). Not signal safe. */
CAIRN_PRIV_INLINE cairn_strand *cairn_thread_strand(void)
{
#ifdef CAIRN_DISABLE
    return NULL;
#else
    cairn_strand *strand = cairn_priv_thread_strand;
    if (__builtin_expect(strand != NULL, 1) ||
        __builtin_expect(CAIRN_PRIV_READ(cairn_priv_process_off), 1))
        return strand;
    return cairn_priv_thread_begin();
#endif
}

#ifdef __cplusplus
}
#endif

#endif
