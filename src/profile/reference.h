/* SPDX-License-Identifier: MIT
 *
 * reference.h - how people name blocks, in every command.
 *
 * In this order: "#12" is block 12; a name; "name@file:line", where the file may be the end
 * of a path, and line and name may be left out; a name with those it is written inside of,
 * "Tak.tak1"; the beginning of a name. What could be several blocks is an error that lists
 * them, what is none an error that lists those with similar names.
 */
#ifndef CRN_PROFILE_REFERENCE_H
#define CRN_PROFILE_REFERENCE_H

#include "profile/sequence.h"

enum { CRN_REFERENCE_SIZE = 256 };

/* The error's code is CAIRN_E_READ when there is no such block, CAIRN_E_ARGUMENT when there
 * are several. */
bool crn_reference_block(const crn_profile *profile, const char *text, size_t length,
                         uint32_t *block, crn_error *error);

/* Blocks with commas between them, callers first. A comma may be part of a name, as in
 * "f(int, int)": then the name must be whole. */
bool crn_reference_sequence(const crn_profile *profile, const char *text, crn_sequence *sequence,
                            crn_error *error);

/* A short reference that means just this block. Names that do not fit, or that nobody can
 * type between quotes, give "#12". */
void crn_reference_spell(const crn_profile *profile, uint32_t block,
                         char spelling[CRN_REFERENCE_SIZE]);

#endif
