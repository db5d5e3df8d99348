/* SPDX-License-Identifier: MIT
 *
 * inlines.h - lists the functions inlined into a function, and finds those at an address.
 */
#ifndef CRN_SYMBOLS_INLINES_H
#define CRN_SYMBOLS_INLINES_H

#include <elfutils/libdw.h>
#include <stdint.h>

typedef struct crn_inline {
    uint64_t low, high; /* addresses, `high` excluded */
    Dwarf_Die die;      /* the inlined instance */
    uint32_t depth;     /* of nesting, lexical blocks included */
    uint32_t outer;     /* index + 1 in `inlines` of the instance around it; 0 if it has none */
} crn_inline;

typedef struct crn_inlines {
    crn_inline *inlines; /* sorted by low, outer ones first */
    uint32_t count, capacity;
} crn_inlines;

crn_inlines crn_inlines_make(Dwarf_Die *function);
void crn_inlines_free(crn_inlines *inlines);

/* Returns the innermost instance at an address; NULL if no function is inlined there. */
const crn_inline *crn_inlines_find(const crn_inlines *inlines, uint64_t address);

#endif
