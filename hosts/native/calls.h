/* SPDX-License-Identifier: MIT
 *
 * calls.h - blocks of the system calls in which threads wait.
 */
#ifndef CRN_NATIVE_CALLS_H
#define CRN_NATIVE_CALLS_H

#include <cairn/cairn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads the stat file of a thread in /proc. Returns the letter of its state in `text`, with all
 * that follows it; NULL if the thread has ended. */
const char *crn_thread_stat(const char *path, char *text, size_t size);

/* Returns true if a signal or a debugger has stopped the thread, whatever call it is in. */
bool crn_thread_is_stopped(pid_t thread);

/* Returns the block "[NAME]" of the system call in which a thread sleeps; if the call waits for the
 * file of its first argument, with that file. A negative `call` is no system call: returns "[page
 * fault]" or "[stopped]"; 0 if the thread no longer sleeps. Call it from one thread only. */
cairn_block crn_call_block(cairn_profile *profile, pid_t thread, long call, uintptr_t first);

#endif
