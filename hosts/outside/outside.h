/* SPDX-License-Identifier: MIT
 *
 * outside.h - samples other processes by native call path, from outside. docs/SAMPLING.md explains
 * how, and when this sampler is used.
 *
 * The kernel (perf_event_open) samples the processor time of each thread: it copies registers and
 * the upper part of the stack, which is unwound here. Nothing is injected and no thread is stopped.
 * Where perf_event_open is not allowed, threads of a process that runs already are stopped for each
 * sample. For wall time, /proc tells where threads sleep.
 */
#ifndef CRN_OUTSIDE_OUTSIDE_H
#define CRN_OUTSIDE_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct crn_outside crn_outside;

typedef struct crn_outside_options {
    pid_t process;
    bool begins;         /* the process has yet to exec the program: sampling begins then */
    const char *output;  /* the capture */
    const char *command; /* command line for reports; NULL: the process's own */
    const char *labels;  /* "key=value" lines, or NULL */
    uint64_t period_ns;  /* of processor time between two samples of a thread */
} crn_outside_options;

/* Begins to sample the process and the children that it makes from now on. If that is impossible,
 * returns NULL, with the reason in `why`. The calling process can have only one at a time. */
crn_outside *crn_outside_begin(const crn_outside_options *options, char *why, size_t size);

/* Samples until all processes have ended, `for_ns` is over (0: no limit) or crn_outside_stop is
 * called. */
void crn_outside_run(crn_outside *outside, uint64_t for_ns);

/* Lets crn_outside_run return. Signal safe. Thread: any. */
void crn_outside_stop(crn_outside *outside);

/* Completes the capture and frees everything. */
void crn_outside_end(crn_outside *outside);

/* Stops of threads for samples, made where the kernel allows no events. */
typedef struct crn_outside_stops {
    uint64_t count, total_ns, longest_ns; /* a stop counts from the request on */
} crn_outside_stops;

/* Returns what stops have cost so far; zeros where the kernel gives samples. */
crn_outside_stops crn_outside_stopped(const crn_outside *outside);

/* Returns the number of samples so far. */
uint64_t crn_outside_samples(const crn_outside *outside);

#endif
