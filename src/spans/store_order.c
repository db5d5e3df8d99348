/* SPDX-License-Identifier: MIT
 *
 * Arrays by span: allocation with huge pages, radix sort.
 */
#include "spans/store_opening.h"

#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"

/* Large allocations are fresh mappings, so their pages are untouched zeros. */
void *crn_store_array(size_t count, size_t size)
{
    enum { LARGE_PAGE = 2 << 20, LARGE = 16 * LARGE_PAGE };
    char *array = crn_calloc(count, size);
    uintptr_t end = (uintptr_t)array + count * size;
    size_t before = -(uintptr_t)array % LARGE_PAGE;
    if (count * size >= LARGE)
        madvise(array + before, (size_t)(end - (uintptr_t)array - before), MADV_HUGEPAGE);
    return array;
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

void crn_store_sort(uint32_t *spans, uint32_t count, const uint64_t *keys)
{
    uint64_t all = ~UINT64_C(0), any = 0;
    for (uint32_t i = 0; i < count; i++) {
        all &= keys[spans[i]];
        any |= keys[spans[i]];
    }
    uint64_t varies = count ? all ^ any : 0;
    uint32_t *from = spans, *to = varies ? crn_store_array(count, sizeof *to) : NULL, *spare = to;
    while (varies) {
        int shift = __builtin_ctzll(varies);
        uint32_t place[DIGITS + 1] = {0};
        for (uint32_t i = 0; i < count; i++)
            place[(keys[from[i]] >> shift & (DIGITS - 1)) + 1]++;
        for (int d = 0; d < DIGITS; d++)
            place[d + 1] += place[d];
        for (uint32_t i = 0; i < count; i++)
            to[place[keys[from[i]] >> shift & (DIGITS - 1)]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
        varies =
            shift + DIGIT_BITS < 64 ? varies >> (shift + DIGIT_BITS) << (shift + DIGIT_BITS) : 0;
    }
    if (from != spans)
        memcpy(spans, from, count * sizeof *spans);
    crn_free(spare);
}

/* ---- items by span ---- */

static uint32_t span_of(const void *items, uint32_t i, size_t size)
{
    uint32_t span;
    memcpy(&span, (const char *)items + i * size, sizeof span);
    return span;
}

void crn_order_by_span(void *items, uint32_t count, size_t size)
{
    uint32_t sorted = 1;
    while (sorted < count && span_of(items, sorted - 1, size) <= span_of(items, sorted, size))
        sorted++;
    if (sorted >= count)
        return;
    uint64_t *keys = crn_calloc(count, sizeof *keys);
    uint32_t *order = crn_calloc(count, sizeof *order);
    char *ordered = crn_calloc(count, size);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = span_of(items, i, size);
        order[i] = i;
    }
    crn_store_sort(order, count, keys);
    for (uint32_t i = 0; i < count; i++)
        memcpy(ordered + i * size, (const char *)items + order[i] * size, size);
    memcpy(items, ordered, count * size);
    crn_free(ordered);
    crn_free(order);
    crn_free(keys);
}

uint32_t crn_keep_last_by_span(void *items, uint32_t count, size_t size)
{
    char *at = items;
    uint32_t kept = 0;
    crn_order_by_span(items, count, size);
    for (uint32_t i = 0; i < count; i++) {
        if (kept && span_of(items, kept - 1, size) == span_of(items, i, size))
            kept--;
        memmove(at + kept++ * size, at + i * size, size);
    }
    return kept;
}
