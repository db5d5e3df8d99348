/* SPDX-License-Identifier: MIT
 *
 * function_starts.h - finds where functions begin in a stripped file, from the unwind index
 * .eh_frame_hdr, which programs need at run time.
 */
#ifndef CRN_SYMBOLS_FUNCTION_STARTS_H
#define CRN_SYMBOLS_FUNCTION_STARTS_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

typedef struct crn_function_starts {
    uint64_t *starts; /* addresses in the linked file, sorted */
    size_t count;     /* 0 if the file has no index in a known encoding */
} crn_function_starts;

crn_function_starts crn_function_starts_make(Elf *elf);
void crn_function_starts_free(crn_function_starts *starts);

/* Returns the last begin at or below an address, probably of the function there; NULL if no
 * function begins below it. */
const uint64_t *crn_function_starts_find(const crn_function_starts *starts, uint64_t address);

#endif
