/* SPDX-License-Identifier: MIT
 *
 * reference.h - how users name blocks, in every command.
 *
 * The functions try, in this order: "#12", block 12; a name; "name@file:line", where the file may
 * be the end of a path, a column may follow, and name or line may be missing; a name with its
 * lexical parents, "Tak.tak1"; the beginning of a name. If several blocks match, the error lists
 * them; if no block matches, it lists similar names.
 */
#ifndef CRN_PROFILE_REFERENCE_H
#define CRN_PROFILE_REFERENCE_H

#include "profile/sequence.h"

enum { CRN_REFERENCE_SIZE = 256 };

/* Finds a block. Errors: CAIRN_E_READ if no block matches, CAIRN_E_ARGUMENT if several do. */
bool crn_reference_block(const crn_profile *profile, const char *text, size_t length,
                         uint32_t *block, crn_error *error);

/* Parses references separated by commas, callers first. A name that contains commas, such as
 * "f(int, int)", must be complete. */
bool crn_reference_sequence(const crn_profile *profile, const char *text, crn_sequence *sequence,
                            crn_error *error);

/* Writes a short reference to the block: "#12" if its name does not fit, cannot be typed between
 * quotes, or is ambiguous even with its file and line. */
void crn_reference_spell(const crn_profile *profile, uint32_t block,
                         char spelling[CRN_REFERENCE_SIZE]);

#endif
