/* SPDX-License-Identifier: MIT
 *
 * Exact ranks by radix selection, without sorting.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "spans/rank_search.h"
#include "spans/span_store.h"

uint64_t crn_rank_place(double share, uint64_t count)
{
    double rank = ceil(share * (double)count);
    return rank < 1 ? 0 : (uint64_t)rank - 1;
}

enum { TOP_BITS = 12, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* Returns the value at `place`, from 0, in ascending order by radix selection: moves the values
 * with the right digit to the front, then looks at the next digit. */
static uint64_t at_place(uint64_t *values, uint64_t count, uint64_t place, int shift)
{
    while (count > 1 && shift > 0) {
        uint64_t counts[DIGITS] = {0}, kept = 0, digit = 0;
        shift = shift > DIGIT_BITS ? shift - DIGIT_BITS : 0;
        for (uint64_t i = 0; i < count; i++)
            counts[values[i] >> shift & (DIGITS - 1)]++;
        for (; digit < DIGITS - 1 && place >= counts[digit]; digit++)
            place -= counts[digit];
        for (uint64_t i = 0; i < count; i++)
            if ((values[i] >> shift & (DIGITS - 1)) == digit)
                values[kept++] = values[i];
        count = kept;
    }
    return count ? values[0] : 0;
}

void crn_store_ranks(const uint64_t *values, uint64_t count, const double *shares, uint64_t *ranks,
                     int rank_count)
{
    uint64_t most = 0, counts[1 << TOP_BITS] = {0};
    for (uint64_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    int width = most ? 64 - __builtin_clzll(most) : 1;
    int shift = width > TOP_BITS ? width - TOP_BITS : 0;
    for (uint64_t i = 0; i < count; i++)
        counts[values[i] >> shift]++;
    for (int r = 0; r < rank_count; r++) {
        uint64_t place = crn_rank_place(shares[r], count), digit = 0, kept = 0;
        for (; digit < (1 << TOP_BITS) - 1 && place >= counts[digit]; digit++)
            place -= counts[digit];
        if (!shift) {
            ranks[r] = count ? digit : 0;
            continue;
        }
        uint64_t *same = crn_calloc(counts[digit], sizeof *same);
        for (uint64_t i = 0; i < count; i++)
            if (values[i] >> shift == digit)
                same[kept++] = values[i];
        ranks[r] = at_place(same, kept, place, shift);
        crn_free(same);
    }
}

/* ---- values that come twice ---- */

void crn_rank_keep(crn_rank_search *search, uint64_t value)
{
    if (search->count < CRN_RANK_FEW) {
        enum { AT_FIRST = 4 }; /* a capture may have a million blocks with a span each */
        uint32_t kept = (uint32_t)search->count++;
        if (kept == search->room) {
            search->room = kept ? kept * 2 : AT_FIRST;
            search->few = crn_realloc(search->few, search->room, sizeof *search->few);
        }
        search->few[kept] = value;
        return;
    }
    search->buckets = crn_calloc(CRN_RANK_BUCKETS, sizeof *search->buckets);
    for (uint64_t i = 0; i < search->count; i++)
        search->buckets[crn_rank_bucket(search->few[i])]++;
    crn_free(search->few);
    search->few = NULL;
    crn_rank_count(search, value);
}

/* Finds the bucket of the value at `place`. */
static crn_rank_near find_near(const crn_rank_search *search, uint64_t place)
{
    uint32_t bucket = 0;
    for (; place >= search->buckets[bucket]; bucket++)
        place -= search->buckets[bucket];
    uint32_t bits = crn_rank_bucket_bits(bucket);
    uint64_t top = bucket - ((uint64_t)bits << CRN_RANK_FINE_BITS);
    crn_rank_near near = {.low = top << bits, .place = place};
    if (!bits)
        return near;
    near.width = UINT64_C(1) << bits;
    near.count = search->buckets[bucket];
    near.values = crn_calloc(near.count, sizeof *near.values);
    return near;
}

bool crn_rank_find(crn_rank_search *search, const double *shares, int ranks)
{
    bool more = false;
    if (search->few)
        qsort(search->few, search->count, sizeof *search->few, crn_order_uint64);
    for (int r = 0; r < ranks && search->count; r++) {
        uint64_t place = crn_rank_place(shares[r], search->count);
        search->near[r] =
            search->few ? (crn_rank_near){.low = search->few[place]} : find_near(search, place);
        more |= search->near[r].values != NULL;
    }
    return more;
}

void crn_rank_end(crn_rank_search *search, uint64_t *values, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        crn_rank_near *near = &search->near[r];
        values[r] = near->low;
        if (near->filled) {
            uint64_t place = near->place < near->filled ? near->place : near->filled - 1;
            int bits = __builtin_ctzll(near->width);
            values[r] = at_place(near->values, near->filled, place, bits);
        }
        crn_free(near->values);
    }
    crn_free(search->few);
    crn_free(search->buckets);
    *search = (crn_rank_search){0};
}
