/* SPDX-License-Identifier: MIT
 *
 * reader.h - read a capture, live or not, trusting nothing in it.
 *
 * What is read is a copy: the program that writes it goes on meanwhile.
 */
#ifndef CRN_CAPTURE_READER_H
#define CRN_CAPTURE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "capture/format.h"

typedef struct crn_reader {
    int file;
    uint64_t file_size;
    crn_disk_header header; /* a copy */
    crn_disk_chunk *chunks; /* by kind, lane, metric and place; each lies in the file */
    size_t chunk_count;
    bool truncated; /* the file is shorter than its header says */
} crn_reader;

/* A section's bytes. */
typedef struct crn_bytes {
    char *data;
    uint64_t size;
    bool whole; /* all that should be there is */
} crn_bytes;

/* Opens a capture and reads its directory. */
bool crn_reader_open(crn_reader *reader, const char *path, crn_error *error);

/* The same for an open file, which stays the caller's. `name` is for messages. */
bool crn_reader_open_file(crn_reader *reader, int file, const char *name, crn_error *error);
void crn_reader_close(crn_reader *reader);

/* Reads up to `most` bytes of a section into memory that the caller frees. A section that
 * is not there is empty. False when there is no memory or the file cannot be read. */
bool crn_reader_section(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                        uint16_t metric, uint64_t most, crn_bytes *bytes, crn_error *error);

/* As crn_reader_section, for what is one lane's: takes its bytes from those that are `left` of the
 * file. Lanes that say that they have the same bytes would all be read. */
bool crn_reader_lane_section(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                             uint16_t metric, uint64_t most, uint64_t *left, crn_bytes *bytes,
                             crn_error *error);

/* How many bytes of a section there are. */
uint64_t crn_reader_size(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                         uint16_t metric);

/* As crn_reader_section, but for what is before `from`: for sections that are too large to be
 * copied at once. */
bool crn_reader_part(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                     uint16_t metric, uint64_t from, uint64_t most, crn_bytes *bytes,
                     crn_error *error);

/* The first of a section's chunks, in the order of their places; one that is not of the section
 * if it has none. */
size_t crn_reader_find(const crn_reader *reader, crn_section_kind kind, uint32_t lane);

/* One word of a section, as it is now; 0 if there is none at that place. */
bool crn_reader_word(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                     uint16_t metric, uint64_t place, uint64_t *word, crn_error *error);

/* How often the figures were reset, as the file says now. */
uint64_t crn_reader_generation(const crn_reader *reader);

/* The next lane at or after `lane`; false if there is none. */
bool crn_reader_lane(const crn_reader *reader, uint32_t *lane);

/* The string at an offset into the strings; "" where none begins. What begins within another one is
 * none: a table of n bytes would have up to n²/2 of them. */
const char *crn_string_at(const crn_bytes *strings, uint64_t offset);

/* Nanoseconds per unit of the capture's clock. */
double crn_reader_clock_scale(const crn_reader *reader);

/* Time in units of the clock as nanoseconds, to the nearest one. Damaged files have more of it than
 * there is: it ends at 2^62 where the units are not nanoseconds. */
static inline uint64_t crn_clock_time(uint64_t units, double scale)
{
    double time = (double)units * scale + 0.5;
    if (scale == 1)
        return units;
    return time < 0x1p62 ? (uint64_t)time : UINT64_C(1) << 62;
}

#endif
