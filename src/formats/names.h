/* SPDX-License-Identifier: MIT
 *
 * names.h - what frames are called in formats where the name is all that tells one block
 * from another.
 *
 * pprof and flame graphs add up whatever has the same name. So a block is called by its
 * name alone where no other has it; else with the blocks that it is written inside of
 * (Tak.tak1.tak2); else with its file and line, then its column, then its number. Bytes
 * that are not UTF-8, which no format takes, become U+FFFD.
 */
#ifndef CRN_FORMATS_NAMES_H
#define CRN_FORMATS_NAMES_H

#include "profile/profile.h"

typedef struct crn_names {
    uint32_t count;
    char **labels;  /* by block; NULL for a block that no context is of */
    uint32_t *used; /* the blocks that contexts are of, in order */
    uint32_t used_count;
} crn_names;

void crn_names_open(crn_names *names, const crn_profile *profile);
void crn_names_close(crn_names *names);

/* `text` as UTF-8, to be freed with crn_free. */
char *crn_names_utf8(const char *text);

/* `text` as a string of JSON with its quotes, to be freed with crn_free. */
char *crn_names_json(const char *text);

#endif
