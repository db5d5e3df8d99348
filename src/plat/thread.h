/* SPDX-License-Identifier: MIT
 *
 * thread.h - facts about threads of the process, read without disturbing them, and settings of the
 * calling thread.
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

/* Reads a clock of crn_thread_clock, in nanoseconds. Returns false if the thread has ended. Signal
 * safe. */
bool crn_thread_time(clockid_t clock, uint64_t *ns);

/* Returns the processor time of the calling thread in nanoseconds. Signal safe. */
uint64_t crn_thread_own_time(void);

/* Returns true if the thread is running or ready, or if its state is unknown. Opens and closes a
 * file. */
bool crn_thread_is_runnable(pid_t thread);

/* Reads the thread's total ready time in nanoseconds. The kernel adds to it when the thread gets a
 * core. Returns false if the system does not count it. Opens and closes a file.
 */
bool crn_thread_ready_time(pid_t thread, uint64_t *ns);

/* Returns true if the process has exactly `others` threads besides the calling one. Returns false
 * if that is unknown, and perhaps shortly after a join. Signal safe. */
bool crn_thread_is_alone(unsigned others);

/* Returns true if the main thread has ended and exactly `count` other threads are left, including
 * the caller; false if unknown. Opens no file, does not allocate. Works on hidden threads
 * (hidden_thread.h). */
bool crn_thread_are_last(unsigned count);

/* Returns the exit status of the main thread, which has ended; 0 if it is unknown or a signal
 * killed the thread. Opens a file. */
int crn_thread_first_exit_status(void);

/* Waits until the kernel has removed a thread that has ended or is about to: until then the kernel
 * refuses unshare() and setns() as in a process with two threads. At most about a second. */
void crn_thread_wait_until_gone(int number);

/* Returns the number of processors that the calling thread may run on; at least 1. */
unsigned crn_thread_cores(void);

/* Asks the kernel to schedule the calling thread sooner, in shorter time slices, as far as
 * permitted. */
void crn_thread_be_prompt(void);

/* Gives the calling thread an empty file descriptor table of its own: the thread's files take no
 * numbers from the program's, and the thread keeps no file open that the program closes. Returns
 * false if the system cannot do this. */
bool crn_thread_leave_files(void);

/* Like crn_thread_leave_files, but the table keeps `file`. */
bool crn_thread_leave_files_but(int file);

#endif
