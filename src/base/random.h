/* SPDX-License-Identifier: MIT
 *
 * random.h - the splitmix64 generator.
 */
#ifndef CRN_BASE_RANDOM_H
#define CRN_BASE_RANDOM_H

#include <stdint.h>

/* Scrambles the bits of a number. */
static inline uint64_t crn_random_mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint64_t crn_random_next(uint64_t *state)
{
    return crn_random_mix(*state += 0x9e3779b97f4a7c15u);
}

/* Returns a random number below `limit`. */
static inline uint64_t crn_random_below(uint64_t *state, uint64_t limit)
{
    return (uint64_t)((unsigned __int128)crn_random_next(state) * limit >> 64);
}

#endif
