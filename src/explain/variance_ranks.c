/* SPDX-License-Identifier: MIT
 *
 * Quantiles without an array of values: each pass over the spans looks the values up and finds 16
 * more bits of each quantile.
 */
#include <math.h>
#include <string.h>

#include "explain/variance.h"

enum { DIGIT_BITS = 16, DIGITS = 1 << DIGIT_BITS, RANKS_MAX = 8 };

/* ---- nearest rank ---- */

/* The search for one rank: `high` are the leading bits found so far, `rank` is the rank, from 1,
 * among values with these bits. */
typedef struct rank_search {
    uint64_t high, rank;
    uint32_t *counts; /* of values with these bits, by their next 16 bits */
} rank_search;

static void find_digit(rank_search *rank_search)
{
    uint64_t passed = 0;
    uint32_t digit = 0;
    while (digit + 1 < DIGITS && passed + rank_search->counts[digit] < rank_search->rank)
        passed += rank_search->counts[digit++];
    rank_search->rank -= passed;
    rank_search->high = rank_search->high << DIGIT_BITS | digit;
}

static void find_digits(const crn_explained *explained, rank_search *all, int count, unsigned shift)
{
    for (int i = 0; i < count; i++)
        memset(all[i].counts, 0, DIGITS * sizeof *all[i].counts);
    CRN_EACH_EXPLAINED(s, explained)
    {
        uint64_t took = crn_explained_length(explained, s);
        uint64_t high = shift + DIGIT_BITS < 64 ? took >> (shift + DIGIT_BITS) : 0;
        for (int i = 0; i < count; i++)
            all[i].counts[took >> shift & (DIGITS - 1)] += high == all[i].high;
    }
    for (int i = 0; i < count; i++)
        find_digit(&all[i]);
}

void crn_explain_ranks(const crn_explained *explained, const double *shares, uint64_t *ranks,
                       int rank_count)
{
    rank_search all[RANKS_MAX];
    uint64_t longest = 0;
    if (!explained->count)
        return;
    CRN_EACH_EXPLAINED(s, explained)
    {
        uint64_t took = crn_explained_length(explained, s);
        longest = took > longest ? took : longest;
    }
    for (int i = 0; i < rank_count; i++) {
        double rank = ceil(shares[i] * explained->count);
        all[i] = (rank_search){.rank = rank < 1 ? 1 : (uint64_t)rank,
                               .counts = crn_calloc(DIGITS, sizeof *all[i].counts)};
    }
    unsigned shift = 64;
    while (shift > DIGIT_BITS && longest >> (shift - DIGIT_BITS) == 0)
        shift -= DIGIT_BITS;
    while (shift) {
        shift -= DIGIT_BITS;
        find_digits(explained, all, rank_count, shift);
    }
    for (int i = 0; i < rank_count; i++) {
        ranks[i] = all[i].high;
        crn_free(all[i].counts);
    }
}

/* ---- spans that make half of the variance ---- */

/* Returns a deviation's squared value as an integer with the same order. */
static uint64_t square_of(const crn_explained *explained, uint32_t span, double mean,
                          double *square)
{
    double deviation = (double)crn_explained_length(explained, span) - mean;
    uint64_t bits;
    *square = deviation * deviation;
    memcpy(&bits, square, sizeof bits);
    return bits;
}

typedef struct bucket {
    uint32_t count;
    double sum;
} bucket;

static void fill(const crn_explained *explained, double mean, uint64_t high, unsigned shift,
                 bucket *buckets)
{
    memset(buckets, 0, DIGITS * sizeof *buckets);
    CRN_EACH_EXPLAINED(s, explained)
    {
        double square;
        uint64_t bits = square_of(explained, s, mean, &square);
        if (shift + DIGIT_BITS < 64 && bits >> (shift + DIGIT_BITS) != high)
            continue;
        bucket *its = &buckets[bits >> shift & (DIGITS - 1)];
        its->count++;
        its->sum += square;
    }
}

uint32_t crn_explain_half(const crn_explained *explained, double mean, double sum)
{
    double left = sum / 2;
    uint64_t high = 0;
    uint32_t half = 0;
    bucket *buckets = left > 0 ? crn_calloc(DIGITS, sizeof *buckets) : NULL;
    /* Takes whole buckets, largest values first, until the next one exceeds what is left; then
     * divides that bucket further. In the last pass its values are equal: takes single ones. */
    for (unsigned shift = 64; shift && left > 0;) {
        shift -= DIGIT_BITS;
        fill(explained, mean, high, shift, buckets);
        uint32_t digit = DIGITS - 1;
        for (; digit && left > buckets[digit].sum; digit--) {
            left -= buckets[digit].sum;
            half += buckets[digit].count;
        }
        high = high << DIGIT_BITS | digit;
        if (shift)
            continue;
        double each = buckets[digit].count ? buckets[digit].sum / buckets[digit].count : 0;
        double more = each > 0 ? ceil(left / each) : 0;
        half += more < buckets[digit].count ? (uint32_t)more : buckets[digit].count;
    }
    crn_free(buckets);
    return half;
}
