/* SPDX-License-Identifier: MIT
 *
 * lean.h - counted functions: `cairn cc --lean` does not enter them, but counts their calls in the
 * caller's context.
 */
#ifndef CRN_PROFILE_LEAN_H
#define CRN_PROFILE_LEAN_H

#include "profile/model.h"

/* Calls of counted functions, and of functions that are entered but could be counted. */
typedef struct crn_lean {
    uint64_t counted, entered;
    uint32_t functions; /* number of counted functions that ran */
} crn_lean;

crn_lean crn_lean_of(const crn_profile *profile);

/* Adds a warning if many calls entered functions that could be counted: `cairn cc --lean` chose the
 * functions from a run with other calls. The warning names `path`, this capture, for a new
 * choice. */
void crn_lean_warn(crn_profile *profile, const char *path);

#endif
