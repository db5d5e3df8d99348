/* SPDX-License-Identifier: MIT
 *
 * rank_search.h - exact ranks of values that the caller passes twice, in little memory. Few values
 * are kept. For more a histogram finds the bucket of each rank, and only the values in these
 * buckets are kept when the values come again.
 */
#ifndef CRN_SPANS_RANK_SEARCH_H
#define CRN_SPANS_RANK_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CRN_RANK_FINE_BITS = 6,
    CRN_RANK_BUCKETS = (64 - CRN_RANK_FINE_BITS + 1) << CRN_RANK_FINE_BITS,
    CRN_RANK_FEW = 4096, /* more values than these are counted */
    CRN_RANKS_MAX = 3
};

/* Returns the bucket of a value. Values below 1 << CRN_RANK_FINE_BITS are exact; above, each power
 * of two has 1 << CRN_RANK_FINE_BITS buckets of equal width. */
static inline uint32_t crn_rank_bucket(uint64_t value)
{
    uint32_t shift = 63 - CRN_RANK_FINE_BITS -
                     (uint32_t)__builtin_clzll(value | UINT64_C(1) << CRN_RANK_FINE_BITS);
    return (shift << CRN_RANK_FINE_BITS) + (uint32_t)(value >> shift);
}

/* Returns the number of low bits in which the values of a bucket differ. */
static inline uint32_t crn_rank_bucket_bits(uint32_t bucket)
{
    return bucket < 2 << CRN_RANK_FINE_BITS ? 0 : (bucket >> CRN_RANK_FINE_BITS) - 1;
}

/* Returns the position, from 0, of the nearest rank: of the first value for which at least `share`
 * of all values are not greater. */
uint64_t crn_rank_place(double share, uint64_t count);

/* The values in the bucket of one rank. */
typedef struct crn_rank_near {
    uint64_t low, width; /* of the bucket; width 0: the rank is known from the first pass */
    uint64_t place;      /* of the rank in the bucket */
    uint64_t count, filled;
    uint64_t *values; /* NULL: not needed */
} crn_rank_near;

/* A search, zeroed at first. */
typedef struct crn_rank_search {
    uint64_t count;
    uint64_t *few;     /* the values, while they are few */
    uint64_t *buckets; /* numbers of values by bucket; NULL while they are few */
    uint32_t room;     /* of `few` */
    crn_rank_near near[CRN_RANKS_MAX];
} crn_rank_search;

/* Keeps a value while there are few. */
void crn_rank_keep(crn_rank_search *search, uint64_t value);

/* First pass: adds a value. */
static inline void crn_rank_count(crn_rank_search *search, uint64_t value)
{
    if (!search->buckets) {
        crn_rank_keep(search, value);
        return;
    }
    search->count++;
    search->buckets[crn_rank_bucket(value)]++;
}

/* After the first pass: finds the ranks' buckets. Returns true if the values must come again. */
bool crn_rank_find(crn_rank_search *search, const double *shares, int ranks);

/* Second pass: takes a value. More values, or other ones, do no harm. */
static inline void crn_rank_take(crn_rank_search *search, uint64_t value)
{
    for (int r = 0; r < CRN_RANKS_MAX; r++) {
        crn_rank_near *near = &search->near[r];
        if (value - near->low < near->width && near->filled < near->count)
            near->values[near->filled++] = value;
    }
}

/* Sets `values` to the ranks, to 0 without values, and frees the search. */
void crn_rank_end(crn_rank_search *search, uint64_t *values, int ranks);

#endif
