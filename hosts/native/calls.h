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

/* Returns true if a signal or a debugger has stopped the thread, whatever call it is in. */
bool crn_thread_is_stopped(pid_t thread);

/* Returns the block "[NAME]" of a system call in which a thread sleeps, with the file of its first
 * argument where it has one; "[page fault]" or "[stopped]" for a thread that sleeps in none (`call`
 * is negative); 0 if it does not sleep any more. From one thread only. */
cairn_block crn_call_block(cairn_profile *profile, pid_t thread, long call, uintptr_t first);

#endif
