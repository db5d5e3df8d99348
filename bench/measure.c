/* SPDX-License-Identifier: MIT
 *
 * measure.c - see measure.h.
 */
#include "measure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double measure_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double measure_processor(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

double measure_thread(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

double measure_two_stamps(double (*clock)(void), int count)
{
    uint64_t sum = 0;
    double start = clock();
    for (int i = 0; i < count; i++) {
        sum += measure_stamp();
        sum += measure_stamp();
    }
    double took = clock() - start;
    MEASURE_OPAQUE(sum);
    return took / count;
}

long measure_interruptions(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

void measure_add(measure_series *series, double value)
{
    if (series->count == series->room) {
        series->room = series->room * 2 + 16;
        series->values = realloc(series->values, series->room * sizeof(double));
        if (!series->values)
            abort();
    }
    series->values[series->count++] = value;
}

void measure_clear(measure_series *series)
{
    series->count = 0;
}

double measure_mean(const measure_series *series)
{
    double sum = 0;
    for (size_t i = 0; i < series->count; i++)
        sum += series->values[i];
    return series->count ? sum / (double)series->count : 0;
}

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void measure_sort(double *values, size_t count)
{
    qsort(values, count, sizeof(double), compare_numbers);
}

double measure_quantile(const measure_series *series, double fraction)
{
    size_t count = series->count;
    if (count == 0)
        return 0;
    double *sorted = malloc(count * sizeof(double));
    if (!sorted)
        abort();
    memcpy(sorted, series->values, count * sizeof(double));
    measure_sort(sorted, count);
    double position = fraction * (double)(count - 1);
    size_t below = (size_t)position;
    size_t above = below + 1 < count ? below + 1 : below;
    double value = sorted[below] + (position - (double)below) * (sorted[above] - sorted[below]);
    free(sorted);
    return value;
}

void measure_print(const char *name, const measure_series *series, const char *remark, ...)
{
    printf("%s\t%.6f\t%.6f\t%.6f\t", name, measure_quantile(series, 0.5),
           measure_quantile(series, 0), measure_quantile(series, 1));
    va_list arguments;
    va_start(arguments, remark);
    vprintf(remark, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
}
