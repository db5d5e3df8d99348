/* SPDX-License-Identifier: MIT
 *
 * cc.h - what a command line of gcc's asks for.
 */
#ifndef CRN_CLI_CC_H
#define CRN_CLI_CC_H

#include <stdbool.h>

typedef struct crn_cc_job {
    bool compiles;  /* something goes through the compiler proper */
    bool links;     /* a program or a shared object is made, with the usual libraries */
    bool is_static; /* without a loader */
    bool is_shared; /* a shared object is made */
} crn_cc_job;

/* `words` are gcc's arguments, ended by NULL. Files of arguments (@file) are read as gcc does. */
crn_cc_job crn_cc_read(char *const *words);

#endif
