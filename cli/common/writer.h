/* SPDX-License-Identifier: MIT
 *
 * writer.h - checks whether the process that writes an unclosed capture still exists.
 */
#ifndef CRN_CLI_COMMON_WRITER_H
#define CRN_CLI_COMMON_WRITER_H

#include <sys/types.h>

typedef enum crn_writer {
    CRN_WRITER_RUNS,
    CRN_WRITER_SUSPENDED, /* stopped by a signal */
    CRN_WRITER_GONE       /* killed, or it has become another program */
} crn_writer;

/* Checks that process `pid` has the file `inode` mapped, because the pid may have been reused. What
 * cannot be checked is assumed. */
crn_writer crn_writer_of(long pid, ino_t inode);

#endif
