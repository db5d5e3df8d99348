/* SPDX-License-Identifier: MIT
 *
 * writer.h - checks whether the process that writes a capture still exists.
 */
#ifndef CRN_CLI_COMMON_WRITER_H
#define CRN_CLI_COMMON_WRITER_H

#include <sys/types.h>

typedef enum crn_writer {
    CRN_WRITER_RUNS,
    CRN_WRITER_SUSPENDED, /* stopped by a signal */
    CRN_WRITER_GONE       /* has ended, or executes another program */
} crn_writer;

/* Returns the state of process `pid`; GONE unless it has the file `inode` mapped, as a pid may be
 * reused. Where that cannot be checked, the process is assumed to have it mapped. */
crn_writer crn_writer_of(long pid, ino_t inode);

#endif
