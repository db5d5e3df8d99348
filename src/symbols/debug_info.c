/* SPDX-License-Identifier: MIT */
#include "symbols/debug_info.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "symbols/inlines.h"

/* Limits on nested types and namespaces, and on overlapping ranges; real ones are small. */
enum { NESTING_MAX = 64, OVERLAPS_MAX = 8 };

typedef struct range {
    uint64_t low, high;
    uint32_t unit;
    Dwarf_Die die;        /* of a function; of a unit `die` and `inlines` are unused */
    crn_inlines *inlines; /* NULL until first used */
} range;

typedef struct ranges {
    range *ranges; /* sorted by low once complete */
    size_t count, capacity;
} ranges;

typedef enum walk {
    WALK_NONE,
    WALK_NAMESPACES, /* where compilers put functions with code */
    WALK_ALL         /* also in local classes and nested functions: takes much longer */
} walk;

typedef struct unit {
    Dwarf_Die die;
    walk walked;
    ranges functions;
} unit;

struct crn_debug_info {
    unit *units;
    uint32_t unit_count, unit_capacity;
    ranges ranges; /* of units */
};

static int compare(const void *left, const void *right)
{
    const range *a = left, *b = right;
    return CRN_ORDER(a->low, b->low) ?: CRN_ORDER(b->high, a->high); /* outer ranges first */
}

static void sort(ranges *ranges)
{
    if (ranges->count)
        qsort(ranges->ranges, ranges->count, sizeof *ranges->ranges, compare);
}

/* Adds the address ranges of an entry. */
static void add_ranges(ranges *ranges, Dwarf_Die *die, uint32_t unit)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t offset = 0;
    while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
        if (low >= high)
            continue;
        CRN_GROW(ranges->ranges, ranges->count, ranges->capacity);
        ranges->ranges[ranges->count++] = (range){low, high, unit, *die, NULL};
    }
}

/* Returns the innermost range that contains the address, which is the one with the highest begin;
 * NULL if none does. */
static range *find_range(ranges *ranges, uint64_t address)
{
    size_t low = CRN_UP_TO(ranges->ranges, ranges->count, low, address);
    for (int back = 0; low > 0 && back < OVERLAPS_MAX; back++, low--)
        if (address < ranges->ranges[low - 1].high)
            return &ranges->ranges[low - 1];
    return NULL;
}

static bool is_walked_into(int tag, walk how)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
        return true;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
        return how == WALK_ALL;
    default:
        return false;
    }
}

static void add_functions(ranges *functions, Dwarf_Die *parent, uint32_t unit, walk how,
                          int nesting)
{
    Dwarf_Die die;
    if (nesting > NESTING_MAX || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram)
            add_ranges(functions, &die, unit);
        if (is_walked_into(tag, how))
            add_functions(functions, &die, unit, how, nesting + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static void free_functions(ranges *functions)
{
    for (size_t i = 0; i < functions->count; i++) {
        if (functions->ranges[i].inlines)
            crn_inlines_free(functions->ranges[i].inlines);
        crn_free(functions->ranges[i].inlines);
    }
    functions->count = 0;
}

static void walk_unit(crn_debug_info *info, uint32_t number, walk how)
{
    unit *unit = &info->units[number];
    if (unit->walked >= how)
        return;
    unit->walked = how;
    free_functions(&unit->functions);
    add_functions(&unit->functions, &unit->die, number, how, 0);
    sort(&unit->functions);
}

/* Adds a unit. The entry `covers` has its address ranges: the unit's own entry, or its skeleton. */
static void add_unit(crn_debug_info *info, Dwarf_Die *die, Dwarf_Die *covers)
{
    CRN_GROW(info->units, info->unit_count, info->unit_capacity);
    uint32_t number = info->unit_count++;
    info->units[number] = (unit){.die = *die};
    size_t before = info->ranges.count;
    add_ranges(&info->ranges, covers, number);
    if (info->ranges.count != before)
        return;
    walk_unit(info, number, WALK_NAMESPACES); /* the unit does not list its ranges */
    add_functions(&info->ranges, die, number, WALK_NAMESPACES, 0);
}

crn_debug_info *crn_debug_info_open(Dwarf *dwarf)
{
    crn_debug_info *info = crn_calloc(1, sizeof *info);
    Dwarf_CU *cu = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die, split;
    while (dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, &split) == 0) {
        if (type == DW_UT_compile)
            add_unit(info, &die, &die);
        else if (type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_compile_unit)
            add_unit(info, &split, &die); /* -gsplit-dwarf, and the .dwo exists */
    }
    sort(&info->ranges);
    return info;
}

void crn_debug_info_close(crn_debug_info *info)
{
    for (uint32_t i = 0; i < info->unit_count; i++) {
        free_functions(&info->units[i].functions);
        crn_free(info->units[i].functions.ranges);
    }
    crn_free(info->units);
    crn_free(info->ranges.ranges);
    crn_free(info);
}

/* Returns true at the function's first instruction, before any inlined function begins. No call
 * returns to it. */
static bool is_entry(Dwarf_Die *function, uint64_t address)
{
    Dwarf_Addr entry;
    return dwarf_entrypc(function, &entry) == 0 && entry == address;
}

/* Returns the entry with the name and source location of an instance. */
static Dwarf_Die definition_of(Dwarf_Die die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
        dwarf_formref_die(&attribute, &origin))
        return origin;
    return die;
}

uint32_t crn_debug_info_find(crn_debug_info *info, uint64_t address,
                             Dwarf_Die dies[CRN_INLINES_MAX])
{
    range *covers = find_range(&info->ranges, address);
    range *function = NULL;
    for (walk how = WALK_NAMESPACES; covers && !function && how <= WALK_ALL; how++) {
        walk_unit(info, covers->unit, how);
        function = find_range(&info->units[covers->unit].functions, address);
    }
    if (!function)
        return 0;
    if (!function->inlines) {
        function->inlines = crn_calloc(1, sizeof *function->inlines);
        *function->inlines = crn_inlines_make(&function->die);
    }
    const crn_inlines *inlines = function->inlines;
    const crn_inline *inner =
        is_entry(&function->die, address) ? NULL : crn_inlines_find(inlines, address);
    const crn_inline *at;
    uint32_t count = 1;
    for (at = inner; at; at = at->outer ? &inlines->inlines[at->outer - 1] : NULL)
        count++;
    uint32_t place = count;
    for (at = inner; at; at = at->outer ? &inlines->inlines[at->outer - 1] : NULL)
        if (--place < CRN_INLINES_MAX)
            dies[place] = definition_of(at->die);
    dies[0] = definition_of(function->die);
    return count < CRN_INLINES_MAX ? count : CRN_INLINES_MAX;
}
