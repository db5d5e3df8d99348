/* SPDX-License-Identifier: MIT
 *
 * wrap.h - hand-offs (span.h) where the code between who asks for work and who does it cannot be
 * changed: pools of threads, event loops, pthread_create.
 *
 *     cairn_work work = cairn_wrap(convert_image, image);
 *     pool_push(pool, work.run, work.argument);              instead of convert_image, image
 *
 * What convert_image does counts below what called cairn_wrap, wherever it runs, and its spans are
 * children of the one that was open there.
 *
 * A job that throws C++ exceptions through the pool is for cairn::wrap of cairn.hpp, which needs
 * no memory either.
 *
 * All of it is for the process's own profile (process.h). Where that is not, what is returned is
 * what was given, nothing is allocated, and cairn_pthread_create is pthread_create. Thread: any.
 */
#ifndef CAIRN_WRAP_H
#define CAIRN_WRAP_H

#include <pthread.h>

#include "process.h"
#include "span.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to give a pool: a function and its argument. */
typedef struct cairn_work {
    void (*run)(void *argument);
    void *argument;
} cairn_work;

/* For a job that runs once, or not at all: what is allocated for it is freed before it runs. If the
 * pool drops the job, cairn_wrap_drop frees it; else it stays allocated, some 80 bytes. */
CAIRN_API cairn_work cairn_wrap(void (*run)(void *argument), void *argument);

/* For a job that may run many times, on many threads at once: one call that is pushed to n
 * workers, a callback that stays registered. Stays allocated until cairn_wrap_drop. */
CAIRN_API cairn_work cairn_wrap_shared(void (*run)(void *argument), void *argument);

/* Frees what wrapping has allocated: of a job that will not run, or not again, and does not run
 * just now. What was wrapped by nobody may be given, too. `run` itself is not called. */
CAIRN_API void cairn_wrap_drop(cairn_work work);

/* pthread_create for a thread whose work is its creator's. All that it does is a span of the block
 * `name` (NULL: "thread"; copied). Returns what pthread_create does. */
CAIRN_API int cairn_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                   void *(*run)(void *argument), void *argument, const char *name);

/* pthread_join, after which the innermost open span of the caller waited for the span of that
 * thread. For threads that cairn_pthread_create has made, and any others, of which nothing is
 * noted, also when they have the pthread_t that such a thread once had. (A thread that is made
 * with the one function and then joined with pthread_join, or detached, leaves some 130 bytes,
 * until another one gets its pthread_t. In a child of fork none are left.) */
CAIRN_API int cairn_pthread_join(pthread_t thread, void **result);

#ifdef __cplusplus
}
#endif

#endif
