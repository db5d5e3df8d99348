/* SPDX-License-Identifier: MIT
 *
 * random.h - numbers that are the same in each run.
 */
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include <stdint.h>

/* Returns a number from 0 to `limit` - 1. Start from any `*state`. */
static inline uint32_t below(uint64_t *state, uint32_t limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % limit);
}

#endif
