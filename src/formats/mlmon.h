/* SPDX-License-Identifier: MIT
 *
 * mlmon.h - reads the names that a program compiled by MLton prints for @MLton show-sources --;
 * reads lines and numbers of these and of mlmon.out.
 */
#ifndef CRN_FORMATS_MLMON_H
#define CRN_FORMATS_MLMON_H

#include "formats/source.h"

enum { CRN_MLMON_ROWS_MAX = 1 << 20, CRN_MLMON_MAGIC_SIZE = 32 };

typedef struct crn_mlmon_sequence {
    uint32_t *sources; /* numbers of sources */
    uint32_t count;
} crn_mlmon_sequence;

/* A function in the compiled program. If the compiler made several copies of a function in the
 * source code, each copy is one of these, and they have the same name. */
typedef struct crn_mlmon_source {
    uint32_t name, successors; /* indices into texts; into sequences: whom it may call */
} crn_mlmon_source;

typedef struct crn_mlmon_names {
    char magic[CRN_MLMON_MAGIC_SIZE];
    uint32_t count, source_count, sequence_count;
    char **texts; /* "Calc.eval<tab>prog.sml: 44" */
    crn_mlmon_source *sources;
    crn_mlmon_sequence *sequences;
} crn_mlmon_names;

/* Reads and checks `source`. On an error returns false and sets `*error`. Free `names` in both
 * cases. */
bool crn_mlmon_names_read(crn_mlmon_names *names, crn_source *source, crn_error *error);
void crn_mlmon_names_free(crn_mlmon_names *names);

/* Sets the error "FILE, line N: WHAT". Returns false. */
bool crn_mlmon_fail(const crn_source *source, const char *what, crn_error *error);
/* Returns the next line. Returns NULL and sets an error at the end of the file. */
char *crn_mlmon_line(crn_source *source, crn_error *error);
/* Reads a line with one number: how many rows follow. */
bool crn_mlmon_count(crn_source *source, uint32_t *count, crn_error *error);
/* Reads the numbers of a line. Returns their count; -1 if there are more than `most` or other
 * text. */
int crn_mlmon_numbers(const char *line, uint64_t *numbers, int most);

#endif
