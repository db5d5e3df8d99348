/* SPDX-License-Identifier: MIT
 *
 * hidden_thread.h - a thread that the C library does not know. While the C library knows of one
 * thread alone, it locks no stream (putc), and allocates and counts references without atomic
 * instructions (__libc_single_threaded). A thread of pthread_create ends that for good.
 *
 * The kernel treats a hidden thread as any other. What runs on it must not
 *
 * - allocate, or use streams, pthread functions, dlopen and the like: the C library holds no locks
 *   against the thread, and does not know its descriptor;
 * - use thread-local variables but those that exist when a program starts ("initial-exec").
 *
 * Functions that only make a system call are allowed, as is errno. The C library's setuid() and the
 * like do not reach the thread, so before such a call it must end.
 */
#ifndef CRN_PLAT_HIDDEN_THREAD_H
#define CRN_PLAT_HIDDEN_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct crn_hidden_thread {
    uint32_t exists; /* the kernel stores 0 at the thread's end; atomic */
    int number;      /* thread id */
    char *memory;    /* its stack and thread-local variables; NULL: freed */
    size_t size;
} crn_hidden_thread;

/* Returns true if hidden threads can be made, and the C library knows of one thread alone. */
bool crn_hidden_thread_is_useful(void);

/* Starts run(data) with the signal mask of the caller, on a stack of `stack_size` bytes. The struct
 * must stay where it is. Returns false if it cannot. */
bool crn_hidden_thread_start(crn_hidden_thread *thread, size_t stack_size, void *(*run)(void *),
                             void *data);

/* Waits for the thread's end, at most until `until` (CLOCK_MONOTONIC, ns; 0: without limit), and
 * frees its memory. Returns false if the thread goes on. */
bool crn_hidden_thread_join(crn_hidden_thread *thread, uint64_t until);

/* Frees the memory of a parent's thread in a child of fork, which has no such thread. Does nothing
 * after a join. */
void crn_hidden_thread_forget(crn_hidden_thread *thread);

#endif
