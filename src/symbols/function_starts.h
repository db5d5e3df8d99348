/* SPDX-License-Identifier: MIT
 *
 * function_starts.h - where functions begin in a file that has lost their names: the index
 * for unwinding, .eh_frame_hdr, is not stripped, as the program itself needs it.
 */
#ifndef CRN_SYMBOLS_FUNCTION_STARTS_H
#define CRN_SYMBOLS_FUNCTION_STARTS_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

typedef struct crn_function_starts {
    uint64_t *starts; /* as the file was linked, sorted */
    size_t count;     /* 0 where there is no index, or none that is understood */
} crn_function_starts;

crn_function_starts crn_function_starts_make(Elf *elf);
void crn_function_starts_free(crn_function_starts *starts);

/* Where the function begins that the address is in, most likely; NULL if nothing is known. */
const uint64_t *crn_function_starts_find(const crn_function_starts *starts, uint64_t address);

#endif
