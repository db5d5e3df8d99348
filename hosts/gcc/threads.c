/* SPDX-License-Identifier: MIT
 *
 * Each thread gets its strand when it starts, so that enter need not open one: in a thread without
 * a strand, enter is four instructions. The main thread gets its strand when this library is
 * initialized (hold.c), before the constructors of code that is linked with the library. Other
 * threads start in pthread_create or C11's thrd_create, which this library interposes. Statically
 * linked programs call __wrap_pthread_create and __wrap_thrd_create (`cairn cc` passes --wrap to
 * the linker).
 */
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include <cairn/host.h>

#include "interpose.h"
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

/* In programs with the thread sanitizer, the sanitizer's pthread_create calls this file's. So
 * begin() would run before the sanitizer has prepared the new thread, when nothing may be
 * allocated. Only the main thread of such a program has a strand. */
extern void __tsan_init(void) __attribute__((weak));

/* Allocates what a new thread needs at its begin. Returns NULL if the thread gets no strand:
 * without a profile or memory, with the thread sanitizer, and for threads of the runtime. */
static beginning *prepare(beginning wanted)
{
    beginning *own = NULL;
    if (!__tsan_init && !cairn_priv_thread_is_creating() && cairn_process_profile())
        own = cairn_priv_calloc(1, sizeof *own);
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

/* From the program's first thread on, the C library must know the runtime's. */
static void show(void)
{
    sigset_t mask;
    if (!cairn_priv_thread_is_creating() && cairn_priv_process_pause_thread(&mask))
        cairn_priv_process_resume_thread(true, &mask);
}

static int create(create_function *real, pthread_t *thread, const pthread_attr_t *attributes,
                  run_function *run, void *argument)
{
    show();
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
    show();
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

extern create_c11_function __real_thrd_create; /* the linker defines it */
create_c11_function __wrap_thrd_create;

int __wrap_thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
    return create_c11(__real_thrd_create, thread, run, argument);
}

#else

CAIRN_API int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, run_function *run,
                             void *argument)
{
    static void *known;
    void *found = crn_next_definition(&known, "pthread_create");
    create_function *real;
    __builtin_memcpy(&real, &found, sizeof real);
    return real ? create(real, thread, attributes, run, argument) : EAGAIN;
}

CAIRN_API int thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
    static void *known;
    void *found = crn_next_definition(&known, "thrd_create");
    create_c11_function *real;
    __builtin_memcpy(&real, &found, sizeof real);
    return real ? create_c11(real, thread, run, argument) : thrd_error;
}

#endif
