/* SPDX-License-Identifier: MIT
 *
 * lean.h - functions that `cairn cc --lean` counts in the context around them, without entering
 * them.
 */
#ifndef CRN_PROFILE_LEAN_H
#define CRN_PROFILE_LEAN_H

#include "profile/model.h"

/* Calls of functions that are counted, and of those that are entered but might be counted. */
typedef struct crn_lean {
    uint64_t counted, entered;
    uint32_t functions; /* that are counted and ran */
} crn_lean;

crn_lean crn_lean_of(const crn_profile *profile);

/* Adds a warning if so many calls were entered that the program was slower than it need be: the run
 * that chose the functions called others. `path`: the capture's, with which to choose anew. */
void crn_lean_warn(crn_profile *profile, const char *path);

#endif
