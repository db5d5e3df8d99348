/* SPDX-License-Identifier: MIT
 *
 * frames.c - 600 frames as spans: each decodes for 1.5 ms of processor time; one in ten also asks a
 * worker to blend, which takes 6 ms, and waits for it. Prints "done" and the sum of what its
 * threads used, ns. With an argument: 200 frames, and a new thread for each job, which takes 40 ms.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cairn/scope.h>

#include "../support/clock.h"

enum { FRAMES = 600, FRAMES_OF_THREADS = 200, SLOW_EVERY = 10, US = 1000 };

static volatile uint64_t sink;
static sem_t asked, done;
static cairn_handoff request;
static int over;
static uint64_t blend_ns = 6000 * US;

/* Uses the processor for so long. */
static inline __attribute__((always_inline)) void spin(uint64_t ns)
{
    uint64_t until = own_cpu() + ns;
    while (own_cpu() < until)
        for (int i = 0; i < 2000; i++)
            sink += (uint64_t)i;
}

__attribute__((noinline)) static void decode(void)
{
    spin(1500 * US);
    sink++;
}

__attribute__((noinline)) static void blend(void)
{
    spin(blend_ns);
    sink++;
}

static void *work(void *data)
{
    (void)data;
    while (sem_wait(&asked) == 0 && !over) {
        CAIRN_ADOPT(request);
        CAIRN_SCOPE("job");
        blend();
        sem_post(&done);
    }
    return (void *)(uintptr_t)own_cpu();
}

static void *work_once(void *data)
{
    (void)data;
    CAIRN_ADOPT(request);
    CAIRN_SCOPE("job");
    blend();
    return (void *)(uintptr_t)own_cpu();
}

/* A new thread for each job. */
static void run_threads(void)
{
    uint64_t sum = 0;
    blend_ns = 40000 * US;
    for (int i = 0; i < FRAMES_OF_THREADS; i++) {
        CAIRN_SCOPE("frame", .iteration = i);
        decode();
        if (i % SLOW_EVERY == 3) {
            pthread_t worker;
            void *of_worker;
            request = cairn_handoff_take(cairn_thread_strand());
            pthread_create(&worker, NULL, work_once, NULL);
            pthread_join(worker, &of_worker);
            sum += (uintptr_t)of_worker;
        }
    }
    printf("done %llu\n", (unsigned long long)(own_cpu() + sum));
}

int main(int argc, char **argv)
{
    (void)argv;
    pthread_t worker;
    void *of_worker;
    if (argc > 1) {
        run_threads();
        return 0;
    }
    sem_init(&asked, 0, 0);
    sem_init(&done, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    for (int i = 0; i < FRAMES; i++) {
        CAIRN_SCOPE("frame", .iteration = i);
        decode();
        if (i % SLOW_EVERY == 3) {
            request = cairn_handoff_take(cairn_thread_strand());
            sem_post(&asked);
            sem_wait(&done);
        }
    }
    over = 1;
    sem_post(&asked);
    pthread_join(worker, &of_worker);
    printf("done %llu\n", (unsigned long long)(own_cpu() + (uintptr_t)of_worker));
    return 0;
}
