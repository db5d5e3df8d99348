/* SPDX-License-Identifier: MIT
 *
 * source.h - a foreign file that is read from front to back, gzipped or not, perhaps twice.
 */
#ifndef CRN_FORMATS_SOURCE_H
#define CRN_FORMATS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What a gzip bomb may unpack to. Here and elsewhere in this folder, tests make the limits
 * small to reach them. */
#ifndef CRN_SOURCE_BYTES_MAX
#define CRN_SOURCE_BYTES_MAX ((uint64_t)16 << 30)
#endif
/* What may come through a pipe, which is copied: a stream without end would fill the disk. */
#ifndef CRN_SOURCE_PIPE_MAX
#define CRN_SOURCE_PIPE_MAX ((uint64_t)4 << 30)
#endif
/* The longest line of a text format. */
#ifndef CRN_SOURCE_LINE_MAX
#define CRN_SOURCE_LINE_MAX ((size_t)64 << 20)
#endif

/* How much is read at a time. */
#ifndef CRN_SOURCE_READ_SIZE
#define CRN_SOURCE_READ_SIZE (1 << 18)
#endif

typedef struct crn_source crn_source;

/* Opens a file; "-" is standard input. What cannot be read twice, such as a pipe, is
 * first copied to a temporary file. Devices are none. */
crn_source *crn_source_open(const char *path, crn_error *error);
/* Takes over the file descriptor of a regular file. `name` is for messages. */
crn_source *crn_source_from(int descriptor, const char *name, crn_error *error);
void crn_source_close(crn_source *source);

const char *crn_source_name(const crn_source *source);

/* The first bytes, unpacked, a few thousand if there are as many. Does not move the
 * position. NULL if there are none. The error says why there are few, if the file is damaged. */
const char *crn_source_head(crn_source *source, size_t *length, crn_error *error);

/* Goes back to the beginning. */
bool crn_source_rewind(crn_source *source, crn_error *error);

/* The next `length` bytes, valid until the next call. NULL: at the end of the file, with
 * error->code 0 if nothing was left; or it is damaged, or cut short, or too long. */
const char *crn_source_bytes(crn_source *source, size_t length, crn_error *error);

/* Skips bytes. False as crn_source_bytes. */
bool crn_source_skip(crn_source *source, uint64_t length, crn_error *error);

/* The next line without its end, NUL-terminated, writable, valid until the next call. */
char *crn_source_line(crn_source *source, size_t *length, crn_error *error);

/* How many bytes of the file itself were read, and how many there are: for progress. */
void crn_source_position(const crn_source *source, uint64_t *done, uint64_t *total);
/* How many bytes were handed out since the beginning. */
uint64_t crn_source_offset(const crn_source *source);
/* How many lines crn_source_line gave since the beginning. */
uint64_t crn_source_line_number(const crn_source *source);

#endif
