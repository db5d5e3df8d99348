/* SPDX-License-Identifier: MIT
 *
 * What it costs a running thread on this machine to be interrupted, with no work in the handler: no
 * sampler can take a sample for less. Two ways: the kernel's timer (an event of perf_event_open
 * that nobody reads), and a signal from another core. Prints µs an interrupt, the median of ROUNDS,
 * each beside the same loop without interrupts; "none" if the kernel gives no events.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, PERIOD_NS = 100000, TURNS = 400000000 };

static volatile unsigned long sink;
static volatile sig_atomic_t caught;
static bool done; /* atomic */
static pid_t thread;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Returns how much processor time the loop takes, ns. */
static double loop(void)
{
    uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned long i = 0; i < TURNS; i++)
        sink += i;
    return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
}

/* Sets `interrupts` to their number. Returns the loop's time, or 0 if the kernel gives no events.
 */
static double with_timer(double *interrupts)
{
    struct perf_event_attr event = {.size = sizeof event,
                                    .type = PERF_TYPE_SOFTWARE,
                                    .config = PERF_COUNT_SW_TASK_CLOCK,
                                    .sample_period = PERIOD_NS};
    int file = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, 0);
    if (file < 0)
        return 0;
    double took = loop();
    uint64_t counted = 0;
    if (read(file, &counted, sizeof counted) != sizeof counted)
        counted = 0;
    close(file);
    *interrupts = (double)counted / PERIOD_NS;
    return took;
}

static void catch (int number)
{
    (void)number;
    caught++;
}

/* Sends a signal once a period, without sleeping in between. */
static void *interrupt(void *data)
{
    for (uint64_t next = clock_ns(CLOCK_MONOTONIC); !__atomic_load_n(&done, __ATOMIC_RELAXED);)
        if (clock_ns(CLOCK_MONOTONIC) >= next) {
            syscall(SYS_tgkill, getpid(), thread, SIGUSR1);
            next += PERIOD_NS;
        }
    return data;
}

static double with_signals(double *interrupts)
{
    pthread_t sender;
    done = false;
    caught = 0;
    if (pthread_create(&sender, NULL, interrupt, NULL) != 0)
        return 0;
    double took = loop();
    *interrupts = (double)caught;
    __atomic_store_n(&done, true, __ATOMIC_RELAXED);
    pthread_join(sender, NULL);
    return took;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, double (*way)(double *interrupts))
{
    double us[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double interrupts = 0, alone = loop(), took = way(&interrupts);
        us[i] = interrupts > 0 ? (took - alone) / interrupts / 1000 : 0;
    }
    qsort(us, ROUNDS, sizeof *us, compare);
    if (us[0] > 0)
        printf("%s %.1f\n", name, us[ROUNDS / 2]);
    else
        printf("%s none\n", name);
}

int main(void)
{
    thread = (pid_t)syscall(SYS_gettid);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = catch, .sa_flags = SA_RESTART}, NULL);
    measure("timer", with_timer);
    measure("signal", with_signals);
    return 0;
}
