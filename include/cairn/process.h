/* SPDX-License-Identifier: MIT
 *
 * process.h - the process's own profile, for programs that do not open one themselves.
 *
 * `cairn run ./program`, or CAIRN_OUT=FILE in its environment, requests a profile. The first call
 * that needs the profile opens it. Each thread gets a lane and a strand at its first
 * cairn_thread_strand; they end with the thread. The capture is closed when the process ends by
 * exit or by returning from main. Without CAIRN_OUT there is no profile and no file.
 *
 * cairn-run(1) describes further variables, which `cairn run` sets from its options. %p in
 * CAIRN_OUT stands for the process id.
 *
 * Child processes inherit CAIRN_OUT. If another running process writes x.cairn, or if x.cairn was
 * begun after CAIRN_SINCE (ns of CLOCK_REALTIME, set by `cairn run`), the process uses x.PID.cairn,
 * as a child of fork does. Processes that start at once serialise on a lock (flock) on the
 * directory while they choose; a process waits at most half a second for it.
 *
 * Late events are harmless: events of destructors and other threads after the profile is closed are
 * not recorded. The capture keeps what a thread recorded that still runs when the process ends, but
 * not its time since its last sample. exit() in a signal handler that interrupted Cairn leaves the
 * capture as a kill would.
 */
#ifndef CAIRN_PROCESS_H
#define CAIRN_PROCESS_H

#include "cairn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the process's own profile, opening it if needed; NULL if the process is not profiled, or
 * its capture cannot be made or is closed already. Do not close the profile. Waits while another
 * thread opens it. Thread: any. Not signal safe. */
CAIRN_API cairn_profile *cairn_process_profile(void);

/* Read by cairn_thread_strand: this thread's strand, NULL until it exists; and a flag, 1 while no
 * thread gets a strand: without a profile, between periods (host.h), after the profile's end. */
CAIRN_API extern __thread cairn_strand *cairn_priv_thread_strand
    __attribute__((tls_model("initial-exec")));
CAIRN_API extern int cairn_priv_process_off;
/* Opens this thread's strand; NULL if the thread gets none. */
CAIRN_API cairn_strand *cairn_priv_thread_begin(void);

/* Returns this thread's own strand in the process's profile. Returns NULL without a profile, at the
 * cost of two predictable branches. The strand is the only one of a lane named like the thread, or
 * like an earlier thread if it reuses that one's lane (cairn_lane_open). Both are closed when the
 * thread ends, after the destructors of thread-local objects and all but the last two rounds of
 * pthread_key_create destructors; then the function returns NULL. With CAIRN_DISABLE (scope.h) it
 * always returns NULL. Not signal safe. */
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
