/* SPDX-License-Identifier: MIT
 *
 * bits.h - bitmaps, for flags by span that must take less than a byte each.
 */
#ifndef CRN_EXPLAIN_BITS_H
#define CRN_EXPLAIN_BITS_H

#include <stdbool.h>

#include "base/memory.h"

/* Returns a bitmap with all bits clear. Free it with crn_free. */
static inline uint64_t *crn_bits_new(uint32_t count)
{
    return crn_calloc(count / 64 + (size_t)1, sizeof(uint64_t));
}

static inline void crn_bits_set(uint64_t *bits, uint32_t at)
{
    bits[at / 64] |= (uint64_t)1 << at % 64;
}

static inline bool crn_bits_has(const uint64_t *bits, uint32_t at)
{
    return bits[at / 64] >> at % 64 & 1;
}

/* Returns the first set bit >= from of a bitmap with `count` bits; `count` after the last. */
static inline uint32_t crn_bits_next(const uint64_t *bits, uint32_t from, uint32_t count)
{
    if (from >= count)
        return count;
    uint64_t word = bits[from / 64] >> from % 64;
    if (word)
        return from + (uint32_t)__builtin_ctzll(word);
    for (uint32_t at = from / 64 + 1; at <= (count - 1) / 64; at++)
        if (bits[at])
            return at * 64 + (uint32_t)__builtin_ctzll(bits[at]);
    return count;
}

#endif
