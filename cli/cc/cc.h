/* SPDX-License-Identifier: MIT
 *
 * cc.h - what a command line of gcc's asks for.
 */
#ifndef CRN_CLI_CC_CC_H
#define CRN_CLI_CC_CC_H

#include <stdbool.h>

typedef struct crn_cc_job {
    bool compiles;     /* something goes through the compiler proper */
    bool links;        /* a program or a shared object is made, with the usual libraries */
    bool is_static;    /* without a loader */
    bool is_shared;    /* a shared object is made */
    bool is_bare;      /* the program names its libraries itself */
    const char *fixed; /* an option that takes a register which Enter and Leave need; NULL: none */
} crn_cc_job;

/* The command line with the words of those files of arguments (@file) that have an option of which
 * `is_ours` says so in place of their names: gcc would read them by itself. Nothing is to be freed.
 */
char **crn_cc_words(int argc, char **argv, bool (*is_ours)(const char *word));

/* `words` are gcc's arguments, ended by NULL. Files of arguments (@file) are read as gcc does. */
crn_cc_job crn_cc_read(char *const *words);

#endif
