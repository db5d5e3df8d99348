/* SPDX-License-Identifier: MIT
 *
 * program.c - uses mutexes, condition variables and semaphores in ways that `cairn run --locks`
 * must record, and must not change. Prints what each call returned. Built with CAIRN, it has spans
 * of its own around some of them.
 *
 * Where a thread has to wait, the other one goes on only once the kernel says that it sleeps.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef CAIRN
#include <cairn/scope.h>
#else
#define CAIRN_SCOPE(...) ((void)0)
#endif

enum { ROUNDS = 20 };

/* Named in the dynamic symbol table. */
pthread_mutex_t first_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t second_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
sem_t tokens, go;

static pid_t sleeper; /* atomic */

/* Waits until the other thread sleeps, in a call that it has announced. */
static void until_it_sleeps(void)
{
    for (;;) {
        char path[64], text[256] = "";
        pid_t thread = __atomic_load_n(&sleeper, __ATOMIC_ACQUIRE);
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
        int file = thread ? open(path, O_RDONLY) : -1;
        if (file >= 0) {
            ssize_t got = read(file, text, sizeof text - 1);
            close(file);
            const char *state = got > 0 ? strrchr(text, ')') : NULL;
            if (state && state[1] == ' ' && state[2] == 'S')
                break;
        }
        usleep(200);
    }
    __atomic_store_n(&sleeper, 0, __ATOMIC_RELEASE);
}

static void announce(void)
{
    __atomic_store_n(&sleeper, gettid(), __ATOMIC_RELEASE);
}

/* ---- a mutex that is held when the other thread asks ---- */

static void *ask(void *data)
{
    for (int i = 0; i < ROUNDS; i++) {
        sem_wait(&go);
        announce();
        {
            CAIRN_SCOPE("ask");
            pthread_mutex_lock(&first_mutex);
        }
        pthread_mutex_unlock(&first_mutex);
        sem_post(&tokens);
    }
    return data;
}

static void contend(void)
{
    pthread_t other;
    sem_init(&tokens, 0, 0);
    sem_init(&go, 0, 0);
    pthread_create(&other, NULL, ask, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&first_mutex);
        sem_post(&go);
        until_it_sleeps();
        pthread_mutex_unlock(&first_mutex);
        sem_wait(&tokens);
    }
    pthread_join(other, NULL);
    puts("contended");
}

/* ---- holds that do not nest, with each other and with a span ---- */

static void cross(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&first_mutex);
        pthread_mutex_lock(&second_mutex);
        pthread_mutex_unlock(&first_mutex);
        {
            CAIRN_SCOPE("inside");
            pthread_mutex_unlock(&second_mutex);
            pthread_mutex_lock(&first_mutex);
        }
        pthread_mutex_unlock(&first_mutex);
    }
    puts("crossed");
}

/* ---- a condition variable ---- */

static int turns;

static void *wait_for_turns(void *data)
{
    pthread_mutex_lock(&first_mutex);
    for (int i = 0; i < ROUNDS; i++) {
        announce();
        while (turns <= i)
            pthread_cond_wait(&turned, &first_mutex);
    }
    pthread_mutex_unlock(&first_mutex);
    return data;
}

static void take_turns(void)
{
    pthread_t other;
    pthread_create(&other, NULL, wait_for_turns, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        until_it_sleeps();
        pthread_mutex_lock(&first_mutex);
        turns++;
        if (i % 2)
            pthread_cond_signal(&turned);
        else
            pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&first_mutex);
    }
    pthread_join(other, NULL);
    printf("turns %d\n", turns);
}

/* ---- results ---- */

static struct timespec soon(clockid_t clock)
{
    struct timespec until;
    clock_gettime(clock, &until);
    until.tv_nsec += 2000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

static pthread_mutex_t of_kind(int kind)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind);
    pthread_mutex_init(&mutex, &attributes);
    return mutex;
}

static void *try_it(void *data)
{
    struct timespec real = soon(CLOCK_REALTIME), monotonic = soon(CLOCK_MONOTONIC);
    printf("tried %d", pthread_mutex_trylock(data));
    printf(" %d", pthread_mutex_timedlock(data, &real));
    printf(" %d\n", pthread_mutex_clocklock(data, CLOCK_MONOTONIC, &monotonic));
    return NULL;
}

static void posted_by_signal(int number)
{
    (void)number;
    sem_post(&tokens);
}

static void print_results(void)
{
    pthread_mutex_t recursive = of_kind(PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_t checked = of_kind(PTHREAD_MUTEX_ERRORCHECK);
    struct timespec until = soon(CLOCK_REALTIME), later = soon(CLOCK_MONOTONIC);
    pthread_t other;
    errno = 77;
    printf("recursive %d %d", pthread_mutex_lock(&recursive), pthread_mutex_trylock(&recursive));
    printf(" %d %d", pthread_mutex_unlock(&recursive), pthread_mutex_unlock(&recursive));
    printf(" %d\n", pthread_mutex_unlock(&recursive));
    printf("checked %d %d", pthread_mutex_lock(&checked), pthread_mutex_lock(&checked));
    pthread_create(&other, NULL, try_it, &checked);
    pthread_join(other, NULL);
    printf("timeout %d", pthread_cond_timedwait(&turned, &checked, &until));
    printf(" %d", pthread_cond_clockwait(&turned, &checked, CLOCK_MONOTONIC, &later));
    printf(" %d", pthread_mutex_unlock(&checked));
    printf(" %d\n", pthread_mutex_unlock(&checked));
    printf("errno %d\n", errno);
    sem_init(&tokens, 0, 1);
    errno = 0;
    printf("semaphore %d", sem_trywait(&tokens));
    printf(" %d", sem_trywait(&tokens));
    printf(" %d", errno);
    until = soon(CLOCK_REALTIME);
    printf(" %d", sem_timedwait(&tokens, &until));
    printf(" %d\n", errno);
    signal(SIGUSR1, posted_by_signal);
    raise(SIGUSR1);
    printf("signal %d\n", sem_wait(&tokens));
}

/* ---- interruptions at any instruction, long enough for others to wait in vain ---- */

static timer_t interrupts;

static void interrupt_soon(void)
{
    const struct itimerspec once = {.it_value = {.tv_nsec = 100000}};
    timer_settime(interrupts, 0, &once, NULL);
}

static void stay_away(int number)
{
    static const struct timespec while_the_other_runs = {.tv_nsec = 2000000};
    (void)number;
    nanosleep(&while_the_other_runs, NULL);
    interrupt_soon();
}

/* Interrupts the calling thread again and again. */
static void begin_interrupts(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};
    signal(SIGUSR2, stay_away);
    event._sigev_un._tid = gettid();
    timer_create(CLOCK_MONOTONIC, &event, &interrupts);
    interrupt_soon();
}

static void end_interrupts(void)
{
    timer_delete(interrupts);
}

enum { INTERRUPTED_POSTS = 20000 };
sem_t hurried; /* named in the dynamic symbol table, too */

static void *take_hurried(void *data)
{
    for (int i = 0; i < INTERRUPTED_POSTS; i++)
        sem_wait(&hurried);
    return data;
}

static void post_interrupted(void)
{
    pthread_t other;
    sem_init(&hurried, 0, 0);
    pthread_create(&other, NULL, take_hurried, NULL);
    begin_interrupts();
    for (int i = 0; i < INTERRUPTED_POSTS; i++) {
        for (int value = 200; value > 100; sem_getvalue(&hurried, &value))
            ; /* no more than are recorded */
        sem_post(&hurried);
    }
    end_interrupts();
    pthread_join(other, NULL);
    puts("interrupted");
}

/* ---- children, cancellation, many ---- */

static void give_up(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

static void *be_cancelled(void *data)
{
    pthread_mutex_lock(&second_mutex);
    pthread_cleanup_push(give_up, &second_mutex);
    announce();
    for (;;)
        pthread_cond_wait(&turned, &second_mutex);
    pthread_cleanup_pop(1);
    return data;
}

/* Signals without a thread that waits, after one was cancelled. */
static void signal_nobody(void)
{
    pthread_t other;
    pthread_create(&other, NULL, be_cancelled, NULL);
    until_it_sleeps();
    pthread_cancel(other);
    pthread_join(other, NULL);
    for (int i = 0; i < ROUNDS; i++)
        pthread_cond_signal(&turned);
}

/* ---- semaphores that two threads use for the first time at once ---- */

enum { FRESH = 400 };
static sem_t fresh[FRESH];
static int turn; /* atomic; semaphore that both threads may use */

static void *post_fresh(void *data)
{
    for (int i = 0; i < FRESH; i++) {
        __atomic_store_n(&turn, i, __ATOMIC_RELEASE);
        sem_post(&fresh[i]);
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) == i)
            sched_yield();
    }
    return data;
}

static void take_fresh(void)
{
    pthread_t other;
    for (int i = 0; i < FRESH; i++)
        sem_init(&fresh[i], 0, 0);
    turn = -1;
    pthread_create(&other, NULL, post_fresh, NULL);
    begin_interrupts();
    for (int i = 0; i < FRESH; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != i)
            sched_yield();
        sem_wait(&fresh[i]);
        __atomic_store_n(&turn, -1, __ATOMIC_RELEASE);
    }
    end_interrupts();
    pthread_join(other, NULL);
}

static void be_odd(void)
{
    enum { MANY = 2000 };
    pthread_t other;
    void *result;
    pthread_create(&other, NULL, be_cancelled, NULL);
    until_it_sleeps();
    pthread_cancel(other);
    pthread_join(other, &result);
    printf("cancelled %d, lock %d\n", result == PTHREAD_CANCELED,
           pthread_mutex_trylock(&second_mutex));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_unlock(&second_mutex);
        pthread_mutex_lock(&second_mutex);
        pthread_mutex_unlock(&second_mutex);
        _exit(3);
    }
    int status;
    waitpid(child, &status, 0);
    pthread_mutex_unlock(&second_mutex);
    pthread_mutex_t *many = calloc(MANY, sizeof *many);
    for (int i = 0; i < MANY; i++) {
        pthread_mutex_init(&many[i], NULL);
        pthread_mutex_lock(&many[i]);
    }
    for (int i = 0; i < MANY; i++)
        pthread_mutex_unlock(&many[i]);
    for (int i = 0; i < MANY; i++)
        if (pthread_mutex_lock(&many[i]) == 0)
            pthread_mutex_unlock(&many[i]);
    free(many);
    printf("child %d\n", WEXITSTATUS(status));
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"contend", contend},  {"cross", cross},
                 {"turns", take_turns}, {"results", print_results},
                 {"odd", be_odd},       {"nobody", signal_nobody},
                 {"fresh", take_fresh}, {"interrupted", post_interrupted}};
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (count < 2 || strcmp(arguments[1], parts[i].name) == 0)
            parts[i].run();
    return 0;
}
