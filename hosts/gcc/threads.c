/* SPDX-License-Identifier: MIT
 *
 * Each thread gets its strand when it begins, so that Enter has not to ask for one: without a
 * profile it is three instructions. The main thread begins with this library, which is before the
 * constructors of all that needs it; others begin in pthread_create, which this library stands
 * before. A program that is linked statically calls __wrap_pthread_create instead (`cairn cc`
 * tells the linker so).
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime.h"

typedef void *run_function(void *argument);

typedef int create_function(pthread_t *thread, const pthread_attr_t *attributes, run_function *run,
                            void *argument);

typedef struct beginning {
    run_function *run;
    void *argument;
} beginning;

/* The thread sanitizer stands before us: what begins a thread for it runs after what does for us,
 * and nothing may be allocated before. Its programs have no strands but the main thread's. */
extern void __tsan_init(void) __attribute__((weak));

static void *begin(void *data)
{
    beginning own = *(beginning *)data;
    free(data);
    crn_site_begin_thread();
    return own.run(own.argument);
}

static int create(create_function *real, pthread_t *thread, const pthread_attr_t *attributes,
                  run_function *run, void *argument)
{
    beginning *own = !__tsan_init && cairn_process_profile() ? malloc(sizeof *own) : NULL;
    if (!own)
        return real(thread, attributes, run, argument);
    *own = (beginning){run, argument};
    int failure = real(thread, attributes, begin, own);
    if (failure)
        free(own);
    return failure;
}

#ifdef CRN_STATIC

extern create_function __real_pthread_create __attribute__((weak));
create_function __wrap_pthread_create;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, run_function *run,
                          void *argument)
{
    return create(__real_pthread_create, thread, attributes, run, argument);
}

#else

static create_function *find_real(void)
{
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    create_function *real;
    __builtin_memcpy(&real, &found, sizeof real);
    return real;
}

CAIRN_API int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, run_function *run,
                             void *argument)
{
    static create_function *known; /* atomic */
    create_function *real = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!real) {
        real = find_real();
        __atomic_store_n(&known, real, __ATOMIC_RELAXED);
    }
    return real ? create(real, thread, attributes, run, argument) : EAGAIN;
}

#endif
