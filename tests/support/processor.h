/* SPDX-License-Identifier: MIT
 *
 * processor.h - how much of a processor the calling thread got: where it had little, the schedule
 * of the machine decides what samples show.
 */
#ifndef TESTS_SUPPORT_PROCESSOR_H
#define TESTS_SUPPORT_PROCESSOR_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

/* Returns how long this thread was runnable without a processor, in ns; 0 if the kernel does not
 * say. */
static inline uint64_t waited_for_processor(void)
{
    uint64_t ran = 0, waited = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file && fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
        waited = 0;
    if (file)
        fclose(file);
    return waited;
}

#endif
