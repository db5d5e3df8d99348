/* SPDX-License-Identifier: MIT
 *
 * writer.h - the process that writes a capture which was not closed: whether it is there.
 */
#ifndef CRN_CLI_COMMON_WRITER_H
#define CRN_CLI_COMMON_WRITER_H

#include <sys/types.h>

typedef enum crn_writer {
    CRN_WRITER_RUNS,
    CRN_WRITER_SUSPENDED, /* a signal has stopped it */
    CRN_WRITER_GONE       /* it was killed, or became another program */
} crn_writer;

/* Of process `pid` that should have the file `inode` mapped: its number may be another's by
 * now. What cannot be seen of a process is believed. */
crn_writer crn_writer_of(long pid, ino_t inode);

#endif
