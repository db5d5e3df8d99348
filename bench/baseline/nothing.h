/* SPDX-License-Identifier: MIT
 *
 * nothing.h - functions with the profiler's signatures that do nothing, in a file of their
 * own so that they are called: what a loop of events costs by itself.
 */
#ifndef BENCH_BASELINE_NOTHING_H
#define BENCH_BASELINE_NOTHING_H

#include <stdint.h>

void nothing_enter(void *profile, uint32_t block);
void nothing_replace(void *profile, uint32_t block);
void nothing_leave(void *profile);
void nothing_tick(void *profile, uint32_t count);
void nothing(void);

#endif
