/* SPDX-License-Identifier: MIT
 *
 * started.c - pthread_create that returns after the new thread has started (ld's --wrap; only in
 * builds with the address sanitizer).
 *
 * A new thread first uses that sanitizer's allocator. gcc 12's leaves its locks locked in a child
 * of fork, which then hangs. After their start, a profile's threads allocate nothing, so tests may
 * fork beside them.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

typedef struct beginning {
    void *(*run)(void *);
    void *data;
    sem_t begun;
} beginning;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *data);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *data);

static void *begin(void *data)
{
    beginning *beginning = data;
    void *(*run)(void *) = beginning->run;
    void *its_data = beginning->data;
    sem_post(&beginning->begun);
    return run(its_data);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *data)
{
    int saved = errno, cancel;
    beginning beginning = {.run = run, .data = data};
    sem_init(&beginning.begun, 0, 0);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int failure = __real_pthread_create(thread, attributes, begin, &beginning);
    while (!failure && sem_wait(&beginning.begun) != 0)
        ;
    pthread_setcancelstate(cancel, NULL);
    sem_destroy(&beginning.begun);
    errno = saved;
    return failure;
}
