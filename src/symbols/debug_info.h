/* SPDX-License-Identifier: MIT
 *
 * debug_info.h - finds functions, and functions inlined into them, in DWARF.
 *
 * libdw's own lookups need .debug_aranges, which clang does not write, and walk a whole unit for
 * each address. Here each unit is walked once, when it is first needed.
 */
#ifndef CRN_SYMBOLS_DEBUG_INFO_H
#define CRN_SYMBOLS_DEBUG_INFO_H

#include <elfutils/libdw.h>
#include <stdint.h>

/* Limit on the functions at an address: a damaged file can have any depth of inlining. */
enum { CRN_INLINES_MAX = 64 };

typedef struct crn_debug_info crn_debug_info;

/* Never returns NULL. `dwarf` must outlive the result. */
crn_debug_info *crn_debug_info_open(Dwarf *dwarf);
void crn_debug_info_close(crn_debug_info *info);

/* Finds the function at an address (in DWARF's address space), then the functions inlined there,
 * outermost first; at the function's first instruction only the function. Sets `dies` to their
 * definitions, to which instances refer. Returns their number; 0 if the address is in no
 * function. */
uint32_t crn_debug_info_find(crn_debug_info *info, uint64_t address,
                             Dwarf_Die dies[CRN_INLINES_MAX]);

#endif
