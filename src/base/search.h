/* SPDX-License-Identifier: MIT
 *
 * search.h - binary search in arrays of numbers, or of structs by one of their members, in
 * ascending order.
 */
#ifndef CRN_BASE_SEARCH_H
#define CRN_BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size in bytes of a number, which must be a uint32_t or a uint64_t. */
#define CRN_SEARCHED(number) _Generic(number, uint32_t : 4, uint64_t : 8)

/* Returns the number of elements of `list` whose member is below `wanted`: the index of the first
 * element that is not below. */
#define CRN_BELOW(list, count, member, wanted)                                                     \
    crn_search(list, count, sizeof *(list), offsetof(__typeof__(*(list)), member),                 \
               CRN_SEARCHED((list)->member), wanted, false)

/* Returns the number of elements whose member is at most `wanted`. */
#define CRN_UP_TO(list, count, member, wanted)                                                     \
    crn_search(list, count, sizeof *(list), offsetof(__typeof__(*(list)), member),                 \
               CRN_SEARCHED((list)->member), wanted, true)

/* Like CRN_BELOW and CRN_UP_TO, for arrays of numbers. */
#define CRN_NUMBERS_BELOW(list, count, wanted)                                                     \
    crn_search(list, count, sizeof *(list), 0, CRN_SEARCHED(*(list)), wanted, false)
#define CRN_NUMBERS_UP_TO(list, count, wanted)                                                     \
    crn_search(list, count, sizeof *(list), 0, CRN_SEARCHED(*(list)), wanted, true)

/* Returns the number of elements whose number, of `size` bytes at `offset`, is below `wanted`, or
 * at most `wanted` if `up_to`. */
static inline size_t crn_search(const void *list, size_t count, size_t stride, size_t offset,
                                size_t size, uint64_t wanted, bool up_to)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const void *at = (const char *)list + middle * stride + offset;
        uint64_t number = size == 4 ? *(const uint32_t *)at : *(const uint64_t *)at;
        if (number < wanted || (up_to && number == wanted))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
