/* SPDX-License-Identifier: MIT */
#include "symbols/inlines.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"

enum { NESTING_MAX = 128 };

static void add(crn_inlines *inlines, Dwarf_Die *die, uint32_t depth)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t offset = 0;
    while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
        if (low >= high || inlines->count == UINT32_MAX - 1)
            continue;
        CRN_GROW(inlines->inlines, inlines->count, inlines->capacity);
        inlines->inlines[inlines->count++] = (crn_inline){low, high, *die, depth, 0};
    }
}

static void gather(crn_inlines *inlines, Dwarf_Die *parent, uint32_t depth)
{
    Dwarf_Die die;
    if (depth > NESTING_MAX || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_inlined_subroutine)
            add(inlines, &die, depth);
        if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block)
            gather(inlines, &die, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static int compare(const void *left, const void *right)
{
    const crn_inline *a = left, *b = right;
    return CRN_ORDER(a->low, b->low)
               ?: CRN_ORDER(b->high, a->high)
               ?: CRN_ORDER(a->depth, b->depth);
}

crn_inlines crn_inlines_make(Dwarf_Die *function)
{
    crn_inlines inlines = {0};
    gather(&inlines, function, 0);
    if (inlines.count)
        qsort(inlines.inlines, inlines.count, sizeof *inlines.inlines, compare);
    /* Ranges nest or are disjoint, like blocks in source code. */
    uint32_t outer = 0;
    for (uint32_t i = 0; i < inlines.count; i++) {
        while (outer && inlines.inlines[outer - 1].high <= inlines.inlines[i].low)
            outer = inlines.inlines[outer - 1].outer;
        inlines.inlines[i].outer = outer;
        outer = i + 1;
    }
    return inlines;
}

void crn_inlines_free(crn_inlines *inlines)
{
    crn_free(inlines->inlines);
    *inlines = (crn_inlines){0};
}

const crn_inline *crn_inlines_find(const crn_inlines *inlines, uint64_t address)
{
    uint32_t low = CRN_UP_TO(inlines->inlines, inlines->count, low, address);
    while (low && address >= inlines->inlines[low - 1].high)
        low = inlines->inlines[low - 1].outer;
    return low ? &inlines->inlines[low - 1] : NULL;
}
