/* SPDX-License-Identifier: MIT
 *
 * calls.h - blocks of the system calls in which threads wait.
 */
#ifndef CRN_NATIVE_CALLS_H
#define CRN_NATIVE_CALLS_H

#include <cairn/cairn.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns the block "[NAME]" of a system call, with the file of its first argument where it has
 * one. `process` is that of the thread which waits, or the thread itself. From one thread only. */
cairn_block crn_call_block(cairn_profile *profile, pid_t process, long call, uintptr_t first);

#endif
