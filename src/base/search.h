/* SPDX-License-Identifier: MIT
 *
 * search.h - binary search in sorted arrays, by a member of their elements.
 */
#ifndef CRN_BASE_SEARCH_H
#define CRN_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* The member's offset; it must have that type. */
#define CRN_SEARCHED(list, member, type)                                                           \
    _Generic((list)->member, type : offsetof(__typeof__(*(list)), member))

/* Returns the number of elements of `list` whose uint32_t member is below `wanted`: the index of
 * the first that is not. */
#define CRN_BELOW(list, count, member, wanted)                                                     \
    crn_search_below(list, count, sizeof *(list), CRN_SEARCHED(list, member, uint32_t), wanted)

/* Returns the number of elements whose uint64_t member is at most `wanted`. */
#define CRN_UP_TO(list, count, member, wanted)                                                     \
    crn_search_up_to(list, count, sizeof *(list), CRN_SEARCHED(list, member, uint64_t), wanted)

static inline uint32_t crn_search_below(const void *list, uint32_t count, size_t stride,
                                        size_t offset, uint32_t wanted)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (*(const uint32_t *)((const char *)list + middle * stride + offset) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static inline size_t crn_search_up_to(const void *list, size_t count, size_t stride, size_t offset,
                                      uint64_t wanted)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (*(const uint64_t *)((const char *)list + middle * stride + offset) <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
