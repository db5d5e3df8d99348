/* SPDX-License-Identifier: MIT
 *
 * random.h - pseudo-random numbers, the same on every machine (splitmix64, Steele, Lea and Flood
 * 2014).
 */
#ifndef TESTS_SUPPORT_RANDOM_H
#define TESTS_SUPPORT_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

typedef struct random_source {
    uint64_t state;
} random_source;

static inline uint64_t random_next(random_source *random)
{
    return crn_random_next(&random->state);
}

/* A number below `bound`, which is not 0. */
static inline uint32_t random_below(random_source *random, uint32_t bound)
{
    return (uint32_t)((random_next(random) >> 32) * bound >> 32);
}

/* True `numerator` times in `denominator`. */
static inline bool random_chance(random_source *random, uint32_t numerator, uint32_t denominator)
{
    return random_below(random, denominator) < numerator;
}

#endif
