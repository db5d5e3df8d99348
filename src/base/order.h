/* SPDX-License-Identifier: MIT
 *
 * order.h - the order of two numbers, for sorting.
 */
#ifndef CRN_BASE_ORDER_H
#define CRN_BASE_ORDER_H

#include <stdint.h>

/* Compares two numbers for qsort: -1 if `a` is less, 1 if it is greater, else 0. The greatest come
 * first with the operands exchanged. Further keys follow with ?: where the ones before are equal:
 * CRN_ORDER(a->time, b->time) ?: CRN_ORDER(a->lane, b->lane). */
#define CRN_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Compare the numbers of an array, for qsort. */
static inline int crn_order_uint32(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return CRN_ORDER(*a, *b);
}

static inline int crn_order_uint64(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return CRN_ORDER(*a, *b);
}

static inline int crn_order_double(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return CRN_ORDER(*a, *b);
}

#endif
