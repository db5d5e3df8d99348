/* SPDX-License-Identifier: MIT
 *
 * cc.h - what a gcc command line asks for.
 */
#ifndef CRN_CLI_CC_CC_H
#define CRN_CLI_CC_CC_H

#include <stdbool.h>

typedef struct crn_cc_job {
    bool compiles;     /* compiles at least one source */
    bool links;        /* links a program or shared object with the usual libraries */
    bool is_static;    /* links without a dynamic loader */
    bool is_shared;    /* links a shared object */
    bool is_bare;      /* links without the default libraries */
    const char *fixed; /* an option that reserves a register of enter and leave; or NULL */
} crn_cc_job;

/* Returns the command line. Replaces an argument file (@file) by its words, read as gcc does, if
 * one of them is an option of Cairn. Nothing needs to be freed. */
char **crn_cc_words(int argc, char **argv, bool (*is_ours)(const char *word));

/* Parses gcc's arguments, NULL-terminated. Reads argument files (@file) as gcc does. */
crn_cc_job crn_cc_read(char *const *words);

/* --lean counts, and does not enter, the most called functions up to this share of calls. */
#define CRN_LEAN_SHARE 0.999

/* Returns a file descriptor for the plugin: the list of functions of the capture that --lean
 * counts. On an error prints a message and returns -1. */
int crn_cc_lean_list(const char *capture);

#endif
