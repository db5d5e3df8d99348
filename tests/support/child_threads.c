/* SPDX-License-Identifier: MIT
 *
 * child_threads.c - pthread_create for children of fork (ld's --wrap; only in builds with the
 * thread sanitizer).
 *
 * The thread sanitizer takes the parent's threads for threads of the child, and aborts if two
 * threads have one id. The ids are addresses on the threads' stacks, and the C library gives a
 * child's first threads the stacks of the parent's. So they get stacks of their own, which exist
 * until the child ends.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *data);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *data);

static pid_t began; /* the last process that was started by exec; atomic */

__attribute__((constructor)) static void begin(void)
{
    __atomic_store_n(&began, getpid(), __ATOMIC_RELAXED);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *data)
{
    enum { STACK_SIZE = 8 << 20 };
    if (getpid() == __atomic_load_n(&began, __ATOMIC_RELAXED))
        return __real_pthread_create(thread, attributes, run, data);
    int detached = PTHREAD_CREATE_JOINABLE;
    if (attributes)
        pthread_attr_getdetachstate(attributes, &detached);
    void *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pthread_attr_t own;
    pthread_attr_init(&own);
    pthread_attr_setdetachstate(&own, detached);
    if (stack != MAP_FAILED)
        pthread_attr_setstack(&own, stack, STACK_SIZE);
    int failure = __real_pthread_create(thread, &own, run, data);
    pthread_attr_destroy(&own);
    return failure;
}
