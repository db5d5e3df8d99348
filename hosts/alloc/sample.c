/* SPDX-License-Identifier: MIT
 *
 * Sampling by bytes. Each requested byte is sampled with the same small probability (a Poisson
 * process over whole bytes). An allocation is counted if one of its bytes is sampled; its weight
 * is the inverse of that probability. docs/ALLOC.md shows that this is unbiased.
 */
#include <stdio.h>
#include <string.h>

#include "alloc.h"

double crn_sample_mean;
bool crn_sampled;
uint64_t crn_sample_seed;

void crn_sample_mean_text(char text[32])
{
    if (crn_sampled)
        snprintf(text, 32, "%.0f", crn_sample_mean);
    else
        strcpy(text, "exact");
}

/* Returns the next random number (splitmix64). */
static uint64_t next(uint64_t *random)
{
    uint64_t z = *random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Returns ln x for x in (0, 1], without libm, which the program may not have. */
static double natural_log(double x)
{
    const double ln2 = 0.693147180559945309;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1023 << 52;
    memcpy(&x, &bits, sizeof x); /* in [1, 2) */
    double s = (x - 1) / (x + 1), square = s * s, sum = 0;
    for (int k = 35; k >= 1; k -= 2) /* artanh s, s at most 1/3 */
        sum = sum * square + 1.0 / k;
    return 2 * s * sum + exponent * ln2;
}

/* Returns 1 - exp(-x) for x > 0, precise also for tiny x. */
static double chance_within(double x)
{
    int doublings = 0;
    if (x > 64)
        return 1;
    while (x > 0x1p-6) {
        x /= 2;
        doublings++;
    }
    double result = 0; /* exp(-x) - 1 as a power series */
    for (int k = 9; k >= 1; k--)
        result = -x / k * (1 + result);
    for (; doublings; doublings--)
        result *= result + 2;
    return -result;
}

/* Maps a random number to (0, 1]. */
static double fraction(uint64_t number)
{
    return (double)((number >> 11) + 1) * 0x1p-53;
}

uint64_t crn_sample_gap(uint64_t *random)
{
    if (!crn_sampled)
        return 0;
    return (uint64_t)(-natural_log(fraction(next(random))) * crn_sample_mean) + 1;
}

/* Rounds up with a probability that makes the mean of the result `number`. */
static bool up_at_random(double number, uint64_t dice)
{
    return fraction(dice) <= number - (double)(uint64_t)number;
}

crn_live crn_sample_round(crn_live block, uint64_t *random)
{
    double size = (double)crn_live_size(block);
    if (!crn_sampled || size == 0)
        return block;
    double chance = chance_within(size / crn_sample_mean);
    if (up_at_random(size / chance, next(random)))
        block.owner |= CRN_LIVE_MORE_BYTES;
    if (up_at_random(1 / chance, next(random)))
        block.owner |= CRN_LIVE_MORE_OBJECTS;
    return block;
}

crn_weight crn_sample_weigh(crn_live block)
{
    double size = (double)crn_live_size(block);
    if (!crn_sampled || size == 0)
        return (crn_weight){(uint64_t)size, 1};
    double chance = chance_within(size / crn_sample_mean);
    return (crn_weight){(uint64_t)(size / chance) + !!(block.owner & CRN_LIVE_MORE_BYTES),
                        (uint64_t)(1 / chance) + !!(block.owner & CRN_LIVE_MORE_OBJECTS)};
}
