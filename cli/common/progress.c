/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "terminal.h"

enum { FIRST_MS = 500, EVERY_MS = 200 };

static struct {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool running, ending;
    char what[256];
    _Atomic uint64_t done, total;
} progress = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void show(unsigned elapsed_ms)
{
    uint64_t total = atomic_load_explicit(&progress.total, memory_order_relaxed);
    uint64_t done = atomic_load_explicit(&progress.done, memory_order_relaxed);
    if (total)
        fprintf(stderr, "\r\033[K%s  %.0f %%", progress.what, 100.0 * (double)done / (double)total);
    else
        fprintf(stderr, "\r\033[K%s  %u s", progress.what, elapsed_ms / 1000);
    fflush(stderr);
}

static void *work(void *unused)
{
    (void)unused;
    unsigned elapsed = 0;
    bool shown = false;
    pthread_mutex_lock(&progress.mutex);
    while (!progress.ending) {
        unsigned wait = shown ? EVERY_MS : FIRST_MS;
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += wait * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        if (pthread_cond_timedwait(&progress.wake, &progress.mutex, &until) == 0)
            continue;
        elapsed += wait;
        shown = true;
        show(elapsed);
    }
    pthread_mutex_unlock(&progress.mutex);
    if (shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    return NULL;
}

void crn_progress_begin(const char *format, ...)
{
    if (progress.running || !isatty(STDERR_FILENO))
        return;
    va_list arguments;
    va_start(arguments, format);
    char what[sizeof progress.what];
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    crn_terminal_fit(progress.what, sizeof progress.what, what, 0, false);
    progress.ending = false;
    progress.done = progress.total = 0;

    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.wake, &attributes);
    pthread_condattr_destroy(&attributes);
    progress.running = pthread_create(&progress.thread, NULL, work, NULL) == 0;
}

void crn_progress_at(uint64_t done, uint64_t total)
{
    atomic_store_explicit(&progress.done, done, memory_order_relaxed);
    atomic_store_explicit(&progress.total, total, memory_order_relaxed);
}

void crn_progress_end(void)
{
    if (!progress.running)
        return;
    pthread_mutex_lock(&progress.mutex);
    progress.ending = true;
    pthread_cond_signal(&progress.wake);
    pthread_mutex_unlock(&progress.mutex);
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.wake);
    progress.running = false;
}
