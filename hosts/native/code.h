/* SPDX-License-Identifier: MIT
 *
 * code.h - blocks of machine code. docs/ALLOC.md explains how reports find functions.
 */
#ifndef CRN_NATIVE_CODE_H
#define CRN_NATIVE_CODE_H

#include <cairn/cairn.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns true for the path of a jitdump file. A language runtime that writes such a file maps a
 * page of it as code, so that profilers find the file. */
bool crn_code_is_dump(const char *path);

/* Sets the profile that blocks are added to. Call it once, before the first block. */
void crn_code_begin(cairn_profile *profile);
/* Returns the block of an address of code. Tags the address with the block (crn_unwind_tag). */
cairn_block crn_code_block(uintptr_t address);
/* Returns the block "[no unwind information]". */
cairn_block crn_code_nothing(void);
/* Lock the table of blocks, so that no thread changes it during a fork. */
void crn_code_lock(void);
void crn_code_unlock(void);

#endif
