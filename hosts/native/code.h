/* SPDX-License-Identifier: MIT
 *
 * code.h - blocks of machine code. docs/ALLOC.md explains how reports find functions.
 */
#ifndef CRN_NATIVE_CODE_H
#define CRN_NATIVE_CODE_H

#include <cairn/cairn.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns true if a file mapped as code is a jitdump file: the runtime maps a page of it, so that
 * profilers find it. */
bool crn_code_is_dump(const char *path);

/* Sets the profile that blocks are added to. Call it once, before the first block. */
void crn_code_begin(cairn_profile *profile);
/* Returns the block of an address of code. The address is tagged with it (crn_unwind_tag). */
cairn_block crn_code_block(uintptr_t address);
/* Returns the block "[no unwind information]". */
cairn_block crn_code_nothing(void);
/* Hold the table of code around a fork. */
void crn_code_lock(void);
void crn_code_unlock(void);

#endif
