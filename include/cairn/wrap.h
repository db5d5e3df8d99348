/* SPDX-License-Identifier: MIT
 *
 * wrap.h - hand-offs (span.h) through code that cannot be changed: thread pools, event loops,
 * pthread_create.
 *
 *     cairn_work work = cairn_wrap(convert_image, image);
 *     pool_push(pool, work.run, work.argument);              in place of convert_image, image
 *
 * convert_image then counts below the caller of cairn_wrap, wherever it runs, and its spans are
 * children of the span that is open at cairn_wrap. Jobs that throw C++ exceptions through the pool
 * need cairn::wrap of cairn.hpp, which allocates nothing.
 *
 * Everything here is for the process's own profile (process.h). Without one, the arguments are
 * returned unchanged, nothing is allocated, and cairn_pthread_create is pthread_create. Thread:
 * any.
 */
#ifndef CAIRN_WRAP_H
#define CAIRN_WRAP_H

#include <pthread.h>

#include "process.h"
#include "span.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The function and argument to give to a pool. */
typedef struct cairn_work {
    void (*run)(void *argument);
    void *argument;
} cairn_work;

/* Wraps a job that runs at most once. Allocates about 80 bytes, which are freed before the job
 * runs. If the pool drops the job, free them with cairn_wrap_drop. */
CAIRN_PRIV_API cairn_work cairn_wrap(void (*run)(void *argument), void *argument);

/* Wraps a job that may run many times, also in parallel: a job pushed to n workers, or a registered
 * callback. Free it with cairn_wrap_drop. */
CAIRN_PRIV_API cairn_work cairn_wrap_shared(void (*run)(void *argument), void *argument);

/* Frees a wrapped job that is not running and will not run again. Does nothing for a job that was
 * not wrapped. Does not call `run`. */
CAIRN_PRIV_API void cairn_wrap_drop(cairn_work work);

/* Creates a thread that works for its creator: its whole run is a span of the block `name` (NULL:
 * "thread"; copied). Returns the result of pthread_create. */
CAIRN_PRIV_API int cairn_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                        void *(*run)(void *argument), void *argument,
                                        const char *name);

/* Joins a thread, and records that the caller's innermost open span waited for it. Records nothing
 * for a thread that cairn_pthread_create did not make. (A thread of cairn_pthread_create that is
 * joined with pthread_join or detached later leaves about 130 bytes until its pthread_t is reused;
 * a child of fork frees these.) */
CAIRN_PRIV_API int cairn_pthread_join(pthread_t thread, void **result);

#ifdef CAIRN_DISABLE
CAIRN_PRIV_INLINE cairn_work cairn_wrap(void (*run)(void *argument), void *argument)
{
    const cairn_work work = {run, argument};
    return work;
}

CAIRN_PRIV_INLINE cairn_work cairn_wrap_shared(void (*run)(void *argument), void *argument)
{
    return cairn_wrap(run, argument);
}

CAIRN_PRIV_INLINE void cairn_wrap_drop(cairn_work work)
{
    (void)work;
}

CAIRN_PRIV_INLINE int cairn_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                           void *(*run)(void *argument), void *argument,
                                           const char *name)
{
    (void)name;
    return pthread_create(thread, attributes, run, argument);
}

CAIRN_PRIV_INLINE int cairn_pthread_join(pthread_t thread, void **result)
{
    return pthread_join(thread, result);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
