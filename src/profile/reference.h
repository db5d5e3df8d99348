/* SPDX-License-Identifier: MIT
 *
 * reference.h - how users name blocks, in every command.
 *
 * Tried in this order: "#12" is block 12; a name; "name@file:line", where the file may be the end
 * of a path, and line or name may be missing; a name with its lexical parents, "Tak.tak1"; the
 * beginning of a name. If several blocks match, the error lists them; if none does, the error
 * lists similar names.
 */
#ifndef CRN_PROFILE_REFERENCE_H
#define CRN_PROFILE_REFERENCE_H

#include "profile/sequence.h"

enum { CRN_REFERENCE_SIZE = 256 };

/* Finds a block. Errors: CAIRN_E_READ if there is none, CAIRN_E_ARGUMENT if there are several. */
bool crn_reference_block(const crn_profile *profile, const char *text, size_t length,
                         uint32_t *block, crn_error *error);

/* Parses blocks separated by commas, callers first. A comma can be part of a name, as in "f(int,
 * int)": then the whole name must be given. */
bool crn_reference_sequence(const crn_profile *profile, const char *text, crn_sequence *sequence,
                            crn_error *error);

/* Writes a short reference to the block. Names that do not fit, or that cannot be typed between
 * quotes, become "#12". */
void crn_reference_spell(const crn_profile *profile, uint32_t block,
                         char spelling[CRN_REFERENCE_SIZE]);

#endif
