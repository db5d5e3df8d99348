/* SPDX-License-Identifier: MIT
 *
 * debug_info.h - functions, and what was inlined into them, of a file's DWARF.
 *
 * libdw's own look-ups rest on an index that clang does not write (.debug_aranges), and
 * walk a whole unit for each address. Here each unit that is asked for is walked once.
 */
#ifndef CRN_SYMBOLS_DEBUG_INFO_H
#define CRN_SYMBOLS_DEBUG_INFO_H

#include <elfutils/libdw.h>
#include <stdint.h>

/* Deeper inlining than this is cut: a file can claim any. */
enum { CRN_INLINES_MAX = 64 };

typedef struct crn_debug_info crn_debug_info;

/* Never NULL. The DWARF stays the caller's. */
crn_debug_info *crn_debug_info_open(Dwarf *dwarf);
void crn_debug_info_close(crn_debug_info *info);

/* The function that the address (as the DWARF counts them) is in, then what is inlined
 * there, inwards (nothing at its first instruction): their definitions, which concrete instances
 * refer to. Returns how many; 0 if the address is in no function. */
uint32_t crn_debug_info_find(crn_debug_info *info, uint64_t address,
                             Dwarf_Die dies[CRN_INLINES_MAX]);

#endif
