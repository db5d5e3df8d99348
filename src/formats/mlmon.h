/* SPDX-License-Identifier: MIT
 *
 * mlmon.h - what a program compiled by MLton prints for @MLton show-sources --, and lines and
 * numbers of both files.
 */
#ifndef CRN_FORMATS_MLMON_H
#define CRN_FORMATS_MLMON_H

#include "formats/source.h"

enum { CRN_MLMON_ROWS_MAX = 1 << 20, CRN_MLMON_MAGIC_SIZE = 32 };

typedef struct crn_mlmon_sequence {
    uint32_t *sources; /* by number */
    uint32_t count;
} crn_mlmon_sequence;

/* A function of the program; the compiler may have made several of one that is written once. */
typedef struct crn_mlmon_source {
    uint32_t name, successors; /* numbers of a text and of a sequence: whom it may call */
} crn_mlmon_source;

typedef struct crn_mlmon_names {
    char magic[CRN_MLMON_MAGIC_SIZE];
    uint32_t count, source_count, sequence_count;
    char **texts; /* "Calc.eval<tab>prog.sml: 44" */
    crn_mlmon_source *sources;
    crn_mlmon_sequence *sequences;
} crn_mlmon_names;

/* Reads and checks all of it. On an error returns false and sets `*error`; free it all the same. */
bool crn_mlmon_names_read(crn_mlmon_names *names, crn_source *source, crn_error *error);
void crn_mlmon_names_free(crn_mlmon_names *names);

/* Sets the error "FILE, line N: WHAT". Returns false. */
bool crn_mlmon_fail(const crn_source *source, const char *what, crn_error *error);
/* Returns the next line; NULL and an error if there is none. */
char *crn_mlmon_line(crn_source *source, crn_error *error);
/* Reads a line with one number, of rows that follow. */
bool crn_mlmon_count(crn_source *source, uint32_t *count, crn_error *error);
/* Reads up to `most` numbers of a line. Returns how many there are; -1 if anything else is there.
 */
int crn_mlmon_numbers(const char *line, uint64_t *numbers, int most);

#endif
