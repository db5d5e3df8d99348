/* SPDX-License-Identifier: MIT
 *
 * thread.h - what one thread can know of another of its process without disturbing it.
 */
#ifndef CRN_PLAT_THREAD_H
#define CRN_PLAT_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* The clock of the processor time of a thread, which any thread of its process may read.
 * Never 0. Signal safe. */
clockid_t crn_thread_clock(pid_t thread);

/* Reads it, in nanoseconds. False when the thread is no more. Signal safe. */
bool crn_thread_time(clockid_t clock, uint64_t *ns);

/* The processor time of the calling thread. Signal safe. */
uint64_t crn_thread_own_time(void);

/* Whether the thread has a processor or waits for one, and for nothing else. True also where
 * the system does not say. Opens a file for a moment. */
bool crn_thread_is_runnable(pid_t thread);

/* Whether it is certain that the process has no other thread; one that has just been joined may
 * still be there. Signal safe. */
bool crn_thread_is_alone(void);

/* Whether the process's first thread has ended, and so many others are left, of whom the caller is
 * one. False where the system does not say. Opens no file, does not allocate. */
bool crn_thread_are_last(unsigned count);

/* How many processors the calling thread may run on; at least 1. */
unsigned crn_thread_cores(void);

/* The calling thread would rather run soon than long, as far as the system takes wishes. */
void crn_thread_be_prompt(void);

/* From now on the calling thread has a table of descriptors of its own, which is empty: what
 * it opens takes no number from the program, and what the program closes stays open nowhere.
 * False where the system cannot do that. */
bool crn_thread_leave_files(void);

#endif
