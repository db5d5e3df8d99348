/* SPDX-License-Identifier: MIT
 *
 * started.c - fork while no other thread is within the address sanitizer's allocator or its list of
 * threads (ld's --wrap; only in builds with this sanitizer).
 *
 * gcc 12's sanitizer leaves the locks of both locked in a child of fork if another thread holds
 * them then, and the child hangs. Threads hold them as they begin, as they create threads, as they
 * name themselves, and as they allocate and free memory. So fork waits for those that do, and they
 * wait for fork. It does not wait for threads that end, which hold them, too: no test may fork
 * beside these.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>

/* Fork has it alone, and does not wait for ever beside threads that allocate all the time. */
static pthread_rwlock_t allocating = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void enter(void)
{
    int saved = errno;
    pthread_rwlock_rdlock(&allocating);
    errno = saved;
}

static void leave(void)
{
    pthread_rwlock_unlock(&allocating);
}

static void before_fork(void)
{
    pthread_rwlock_wrlock(&allocating);
}

/* The child's lock is made anew: waiting threads, which the child lacks, may be counted in it. */
static void in_child(void)
{
    allocating = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
}

/* Before the library's own handlers are added: those for fork's begin then run before this one, and
 * those for its end after it, so that they can allocate memory and create threads. */
__attribute__((constructor(101))) static void begin_handlers(void)
{
    pthread_atfork(before_fork, leave, in_child);
}

/* ---- memory ---- */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size)
{
    enter();
    void *memory = __real_malloc(size);
    leave();
    return memory;
}

void *__wrap_calloc(size_t count, size_t size)
{
    enter();
    void *memory = __real_calloc(count, size);
    leave();
    return memory;
}

void *__wrap_realloc(void *memory, size_t size)
{
    enter();
    void *moved = __real_realloc(memory, size);
    leave();
    return moved;
}

void __wrap_free(void *memory)
{
    enter();
    __real_free(memory);
    leave();
}

/* ---- threads ---- */

int __real_prctl(int option, ...);
int __wrap_prctl(int option, ...);

int __wrap_prctl(int option, ...)
{
    va_list list;
    unsigned long values[4];
    va_start(list, option);
    for (int i = 0; i < 4; i++) /* as the C library does, however many there are */
        values[i] = va_arg(list, unsigned long);
    va_end(list);
    enter();
    int result = __real_prctl(option, values[0], values[1], values[2], values[3]);
    leave();
    return result;
}

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

/* Returns after the new thread has begun. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *data)
{
    int saved = errno, cancel;
    beginning beginning = {.run = run, .data = data};
    sem_init(&beginning.begun, 0, 0);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    enter();
    int failure = __real_pthread_create(thread, attributes, begin, &beginning);
    while (!failure && sem_wait(&beginning.begun) != 0)
        ;
    leave();
    pthread_setcancelstate(cancel, NULL);
    sem_destroy(&beginning.begun);
    errno = saved;
    return failure;
}
