/* SPDX-License-Identifier: MIT
 *
 * jobs.c - foo and bar both have convert_image run in a pool of threads. By function alone the
 * pool has all of the cost; with a hand-off each of the two has its own.
 *
 *     cairn run ./jobs && cairn spans --slowest --block convert_image jobs.cairn
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* names of threads */
#endif
#include <pthread.h>
#include <stdint.h>

#include <cairn/scope.h>

enum { WORKERS = 2, ROOM = 16 };

typedef struct job {
    const char *image;
    int rows;
    int64_t number;
    cairn_handoff asked; /* by whom, and where */
} job;

static struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job jobs[ROOM];
    int pushed, taken, done;
    int closed;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static volatile uint32_t pixels;

static void convert_image(const job *job)
{
    CAIRN_FUNCTION(.iteration = job->number);
    CAIRN_SCOPE_TEXT("image", job->image);
    for (int i = 0; i < job->rows * 100000; i++)
        pixels = pixels * 1664525 + 1013904223;
}

static void *work(void *name)
{
    pthread_setname_np(pthread_self(), name);
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        while (queue.taken == queue.pushed && !queue.closed)
            pthread_cond_wait(&queue.changed, &queue.lock);
        if (queue.taken == queue.pushed)
            break;
        job job = queue.jobs[queue.taken++ % ROOM];
        pthread_mutex_unlock(&queue.lock);
        {
            CAIRN_ADOPT(job.asked); /* what is done here is the submitter's */
            convert_image(&job);
        }
        pthread_mutex_lock(&queue.lock);
        queue.done++;
        pthread_cond_broadcast(&queue.changed);
    }
    pthread_mutex_unlock(&queue.lock);
    return NULL;
}

/* Has the pool convert `count` images, and waits for them. */
static void run_in_jobserver(const char *image, int rows, int count)
{
    CAIRN_FUNCTION();
    pthread_mutex_lock(&queue.lock);
    for (int i = 0; i < count; i++)
        queue.jobs[queue.pushed++ % ROOM] =
            (job){image, rows, i, cairn_handoff_take(cairn_thread_strand())};
    pthread_cond_broadcast(&queue.changed);
    while (queue.done < queue.pushed)
        pthread_cond_wait(&queue.changed, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
}

static void foo(void)
{
    CAIRN_FUNCTION();
    run_in_jobserver("foo_image.jpg", 200, WORKERS);
}

static void bar(void)
{
    CAIRN_FUNCTION();
    run_in_jobserver("bar_image.jpg", 4, WORKERS);
}

int main(void)
{
    pthread_t workers[WORKERS];
    static char names[WORKERS][16] = {"worker 1", "worker 2"};
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, names[i]);
    {
        CAIRN_FUNCTION();
        foo();
        bar();
    }
    pthread_mutex_lock(&queue.lock);
    queue.closed = 1;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
