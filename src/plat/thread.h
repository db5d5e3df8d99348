/* SPDX-License-Identifier: MIT
 *
 * thread.h - facts about other threads of the process, read without disturbing them.
 */
#ifndef CRN_PLAT_THREAD_H
#define CRN_PLAT_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Returns the clock of a thread's processor time, which any thread of the process may read. Never
 * 0. Signal safe. */
clockid_t crn_thread_clock(pid_t thread);

/* Reads this clock, in nanoseconds. Returns false if the thread has ended. Signal safe. */
bool crn_thread_time(clockid_t clock, uint64_t *ns);

/* Returns the processor time of the calling thread in nanoseconds. Signal safe. */
uint64_t crn_thread_own_time(void);

/* Returns true if the thread runs or waits only for a processor, also if that is unknown. Opens and
 * closes a file. */
bool crn_thread_is_runnable(pid_t thread);

/* Reads the time that the thread has been ready to run without a core, in nanoseconds. It grows
 * when the thread gets a core. Returns false if the system does not say. Opens and closes a file.
 */
bool crn_thread_ready_time(pid_t thread, uint64_t *ns);

/* Returns true if the process certainly has no other thread. Can return false for a short time
 * after a join. Signal safe. */
bool crn_thread_is_alone(void);

/* Returns true if the main thread has ended and exactly `count` others are left, including the
 * caller. False if unknown. Opens no file, does not allocate. */
bool crn_thread_are_last(unsigned count);

/* Returns the exit status of the main thread, which has ended; 0 if unknown. Opens a file. */
int crn_thread_first_exit_status(void);

/* Returns the number of processors that the calling thread may run on; at least 1. */
unsigned crn_thread_cores(void);

/* Asks the kernel to schedule the calling thread sooner, in shorter time slices, as far as
 * permitted. */
void crn_thread_be_prompt(void);

/* Gives the calling thread a file descriptor table of its own, which is empty: its files use no
 * number of the program's, and files that the program closes are not kept open. Returns false if
 * the system cannot do this. */
bool crn_thread_leave_files(void);

/* The same, but the table has one file, under its number. */
bool crn_thread_leave_files_but(int file);

#endif
