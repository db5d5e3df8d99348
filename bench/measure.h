/* SPDX-License-Identifier: MIT
 *
 * measure.h - times, and statistics of them.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/* Nanoseconds from some fixed moment. */
double measure_now(void);

/* Returns the nanoseconds of processor time of this process. Other programs affect it less than
 * elapsed time. */
double measure_processor(void);

/* As measure_processor, for this thread. */
double measure_thread(void);

/* Returns the processor's time stamp counter. */
static inline uint64_t measure_stamp(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t stamp;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(stamp));
    return stamp;
#else
#error "the time stamp counter of this machine is not known here"
#endif
}

/* Returns the nanoseconds, by one of the clocks above, in which the counter is read twice: the mean
 * of `count` times. */
double measure_two_stamps(double (*clock)(void), int count);

/* Returns how often the kernel has preempted this process. */
long measure_interruptions(void);

/* Numbers, as many as are added. Start from a zeroed struct. */
typedef struct measure_series {
    double *values;
    size_t count, room;
} measure_series;

void measure_add(measure_series *series, double value);
void measure_clear(measure_series *series);
double measure_mean(const measure_series *series);

/* Sorts numbers, the smallest first. */
void measure_sort(double *values, size_t count);

/* The value below which `fraction` of the series lies; 0.5 is the median. Sorts a copy. */
double measure_quantile(const measure_series *series, double fraction);

/* Prints a result as bench/run reads it: name, median, smallest, largest, and a remark, with
 * tabs between. */
void measure_print(const char *name, const measure_series *series, const char *remark, ...)
    __attribute__((format(printf, 3, 4)));

/* The compiler must take `value` as changed here, and as used. */
#define MEASURE_OPAQUE(value) __asm__ volatile("" : "+r"(value))

#endif
