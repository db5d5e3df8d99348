/* SPDX-License-Identifier: MIT
 *
 * cc.h - what a gcc command line asks for.
 */
#ifndef CRN_CLI_CC_CC_H
#define CRN_CLI_CC_CC_H

#include <stdbool.h>

typedef struct crn_cc_job {
    bool compiles;     /* compiles something */
    bool links;        /* links a program or shared object with the usual libraries */
    bool is_static;    /* without a loader */
    bool is_shared;    /* links a shared object */
    bool is_bare;      /* the default libraries are not used */
    const char *fixed; /* an option that takes away a register which enter and leave need; NULL:
                          none */
} crn_cc_job;

/* Returns the command line with the words of those argument files (@file) that contain an option of
 * ours, as gcc would read the files itself. Nothing needs to be freed. */
char **crn_cc_words(int argc, char **argv, bool (*is_ours)(const char *word));

/* Parses gcc's arguments, NULL-terminated; argument files (@file) are read as gcc does. */
crn_cc_job crn_cc_read(char *const *words);

/* --lean: functions with this share of all calls are counted, not entered. */
#define CRN_LEAN_SHARE 0.99

/* Returns an open file for the plugin, with the functions of the capture that --lean counts; on an
 * error prints a message and returns -1. */
int crn_cc_lean_list(const char *capture);

#endif
