/* SPDX-License-Identifier: MIT
 *
 * Each thread gets its strand when it begins, so that Enter has not to ask for one: without a
 * profile it is three instructions. The main thread begins with this library, which is before the
 * constructors of all that needs it; others begin in pthread_create, or C11's thrd_create, which
 * this library stands before. A program that is linked statically calls __wrap_pthread_create and
 * __wrap_thrd_create instead (`cairn cc` tells the linker so).
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "runtime.h"

typedef void *run_function(void *argument);

typedef int create_function(pthread_t *thread, const pthread_attr_t *attributes, run_function *run,
                            void *argument);

typedef int create_c11_function(thrd_t *thread, thrd_start_t run, void *argument);

typedef struct beginning {
    run_function *run;
    thrd_start_t run_c11;
    void *argument;
} beginning;

/* The thread sanitizer stands before us: what begins a thread for it runs after what does for us,
 * and nothing may be allocated before. Its programs have no strands but the main thread's. */
extern void __tsan_init(void) __attribute__((weak));

/* NULL: the thread begins as it would without us. */
static beginning *prepare(beginning wanted)
{
    beginning *own =
        !__tsan_init && cairn_process_profile() ? cairn_priv_calloc(1, sizeof *own) : NULL;
    if (own)
        *own = wanted;
    return own;
}

static beginning begin(void *data)
{
    beginning own = *(beginning *)data;
    cairn_priv_free(data);
    crn_site_begin_thread();
    return own;
}

static void *run_posix(void *data)
{
    beginning own = begin(data);
    return own.run(own.argument);
}

static int run_c11(void *data)
{
    beginning own = begin(data);
    return own.run_c11(own.argument);
}

static int create(create_function *real, pthread_t *thread, const pthread_attr_t *attributes,
                  run_function *run, void *argument)
{
    beginning *own = prepare((beginning){.run = run, .argument = argument});
    if (!own)
        return real(thread, attributes, run, argument);
    int failure = real(thread, attributes, run_posix, own);
    if (failure)
        cairn_priv_free(own);
    return failure;
}

static int create_c11(create_c11_function *real, thrd_t *thread, thrd_start_t run, void *argument)
{
    beginning *own = prepare((beginning){.run_c11 = run, .argument = argument});
    if (!own)
        return real(thread, run, argument);
    int result = real(thread, run_c11, own);
    if (result != thrd_success)
        cairn_priv_free(own);
    return result;
}

#ifdef CRN_STATIC

extern create_function __real_pthread_create __attribute__((weak));
create_function __wrap_pthread_create;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, run_function *run,
                          void *argument)
{
    return create(__real_pthread_create, thread, attributes, run, argument);
}

extern create_c11_function __real_thrd_create; /* nothing else may ask for it */
create_c11_function __wrap_thrd_create;

int __wrap_thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
    return create_c11(__real_thrd_create, thread, run, argument);
}

#else

/* What comes behind us by that name; NULL: nothing does. `known` is atomic. */
static void *find_real(void **known, const char *name)
{
    void *real = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!real) {
        real = dlsym(RTLD_NEXT, name);
        __atomic_store_n(known, real, __ATOMIC_RELAXED);
    }
    return real;
}

CAIRN_API int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, run_function *run,
                             void *argument)
{
    static void *known;
    void *found = find_real(&known, "pthread_create");
    create_function *real;
    __builtin_memcpy(&real, &found, sizeof real);
    return real ? create(real, thread, attributes, run, argument) : EAGAIN;
}

CAIRN_API int thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
    static void *known;
    void *found = find_real(&known, "thrd_create");
    create_c11_function *real;
    __builtin_memcpy(&real, &found, sizeof real);
    return real ? create_c11(real, thread, run, argument) : thrd_error;
}

#endif
