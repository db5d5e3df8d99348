/* SPDX-License-Identifier: MIT
 *
 * source.h - reads another tool's file from begin to end, gzipped or not, several times if needed.
 */
#ifndef CRN_FORMATS_SOURCE_H
#define CRN_FORMATS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Limit on unpacked bytes, against gzip bombs. Tests lower the limits of this folder. */
#ifndef CRN_SOURCE_BYTES_MAX
#define CRN_SOURCE_BYTES_MAX ((uint64_t)16 << 30)
#endif
/* Limit on unpacked bytes per packed byte, checked above CRN_SOURCE_RATIO_FROM unpacked bytes.
 * Profiles as text reach 10 to 50. */
#ifndef CRN_SOURCE_RATIO_MAX
#define CRN_SOURCE_RATIO_MAX 100
#endif
#ifndef CRN_SOURCE_RATIO_FROM
#define CRN_SOURCE_RATIO_FROM ((uint64_t)64 << 20)
#endif
/* Time to wait for a writer of a named pipe, in milliseconds. */
#ifndef CRN_SOURCE_WRITER_MS
#define CRN_SOURCE_WRITER_MS 5000
#endif
/* Limit on bytes from a pipe, which is copied to a file. */
#ifndef CRN_SOURCE_PIPE_MAX
#define CRN_SOURCE_PIPE_MAX ((uint64_t)4 << 30)
#endif
/* Limit on a line of a text format. */
#ifndef CRN_SOURCE_LINE_MAX
#define CRN_SOURCE_LINE_MAX ((size_t)64 << 20)
#endif

/* Bytes per read. */
#ifndef CRN_SOURCE_READ_SIZE
#define CRN_SOURCE_READ_SIZE (1 << 18)
#endif

typedef struct crn_source crn_source;

/* Opens a file; "-" is standard input. Copies a pipe, which cannot be read twice, to a temporary
 * file. Refuses devices, and named pipes without a writer. */
crn_source *crn_source_open(const char *path, crn_error *error);
/* Takes ownership of a descriptor of a regular file. `name` is for messages. */
crn_source *crn_source_from(int descriptor, const char *name, crn_error *error);
void crn_source_close(crn_source *source);

const char *crn_source_name(const crn_source *source);

/* Returns the first bytes, unpacked, without moving the position: 4,096 or more, if the file has as
 * many. Returns NULL and sets `*error` if there are none. Sets `*error` also if a damaged file has
 * fewer. */
const char *crn_source_head(crn_source *source, size_t *length, crn_error *error);

/* Moves the position to the begin. */
bool crn_source_rewind(crn_source *source, crn_error *error);

/* Returns the next `length` bytes, valid until the next call. Returns NULL with error->code 0 at
 * the end of the file; NULL with an error if it is damaged, cut short or too long. */
const char *crn_source_bytes(crn_source *source, size_t length, crn_error *error);

/* Skips bytes. Returns false with an error if the file has fewer. */
bool crn_source_skip(crn_source *source, uint64_t length, crn_error *error);

/* Returns the next line without its end, NUL-terminated, writable, valid until the next call; NULL
 * as crn_source_bytes. */
char *crn_source_line(crn_source *source, size_t *length, crn_error *error);

/* Sets the number of bytes read of the file, before unpacking, and the file's size. */
void crn_source_position(const crn_source *source, uint64_t *done, uint64_t *total);
/* Returns the number of unpacked bytes consumed since the begin. */
uint64_t crn_source_offset(const crn_source *source);
/* Returns what such a number of bytes is of, for messages: " of the unpacked data"; "" if the file
 * is not packed. */
const char *crn_source_of_what(const crn_source *source);
/* Returns the number of lines read by crn_source_line since the begin. */
uint64_t crn_source_line_number(const crn_source *source);

#endif
