/* SPDX-License-Identifier: MIT
 *
 * names.h - unique names for blocks in formats where the name is all that distinguishes them.
 *
 * pprof and flame graphs merge equal names. A unique name is used alone. Other names get lexical
 * parents (Tak.tak1.tak2), then file and line, then the column, then the block's number, until they
 * are unique. Invalid UTF-8 becomes U+FFFD.
 */
#ifndef CRN_FORMATS_NAMES_H
#define CRN_FORMATS_NAMES_H

#include <stdio.h>

#include "profile/profile.h"

typedef struct crn_names {
    uint32_t count;
    char **labels;  /* by block; NULL for blocks without contexts */
    uint32_t *used; /* the blocks with contexts, ascending */
    uint32_t used_count;
} crn_names;

void crn_names_open(crn_names *names, const crn_profile *profile);
void crn_names_close(crn_names *names);

/* Returns `text` as a quoted JSON string, with escapes for unsafe characters (base/text.h); free it
 * with crn_free. */
char *crn_names_json(const char *text);
void crn_names_put_json(FILE *out, const char *text);

#endif
