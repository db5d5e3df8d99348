/* SPDX-License-Identifier: MIT
 *
 * host_thread.h - pauses the host's thread (cairn_priv_host_thread_start).
 */
#ifndef CRN_RUNTIME_HOST_THREAD_H
#define CRN_RUNTIME_HOST_THREAD_H

#include "runtime/runtime.h"

/* Returns true if the process has such a thread, and it is hidden. */
bool crn_host_thread_is_hidden(void);

/* Do for the host's thread what crn_sampler_pause and crn_sampler_go_on do for the sampling thread.
 * The second one does nothing if the first one has paused no thread. */
bool crn_host_thread_pause(void);
void crn_host_thread_go_on(const sigset_t *mask);

#endif
