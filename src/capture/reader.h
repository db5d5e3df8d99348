/* SPDX-License-Identifier: MIT
 *
 * reader.h - reads captures, live or not, without trusting them.
 *
 * All data are copied, because the program keeps writing.
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
    crn_disk_chunk *chunks; /* sorted by kind, lane, metric and place; each lies within the file */
    size_t chunk_count;
    bool truncated; /* the file is shorter than its header says */
} crn_reader;

/* Bytes of a section. */
typedef struct crn_bytes {
    char *data;
    uint64_t size;
    bool whole; /* nothing is missing */
} crn_bytes;

/* Opens a capture and reads its directory. */
bool crn_reader_open(crn_reader *reader, const char *path, crn_error *error);

/* The same for an open file, which stays the caller's. `name` is for messages. */
bool crn_reader_open_file(crn_reader *reader, int file, const char *name, crn_error *error);

/* Reads the header and the directories again: a live capture grows. */
bool crn_reader_refresh(crn_reader *reader, crn_error *error);

void crn_reader_close(crn_reader *reader);

/* Reads up to `most` bytes of a section into memory that the caller frees. A missing section is
 * empty. Returns false without memory or on a read error. */
bool crn_reader_section(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                        uint16_t metric, uint64_t most, crn_bytes *bytes, crn_error *error);

/* Like crn_reader_section, for a lane's section: subtracts its size from `*left`. Lanes that claim
 * the same bytes would otherwise all be read. */
bool crn_reader_lane_section(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                             uint16_t metric, uint64_t most, uint64_t *left, crn_bytes *bytes,
                             crn_error *error);

/* Reads up to `most` records of a lane, likewise. Those of format version 1 have fewer cached
 * callees: they are converted, without callees. */
bool crn_reader_records(const crn_reader *reader, uint32_t lane, uint64_t most, uint64_t *left,
                        crn_bytes *bytes, crn_error *error);

/* Returns the size of a section in bytes. */
uint64_t crn_reader_size(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                         uint16_t metric);

/* Like crn_reader_section, from offset `from` on: for sections too large to copy at once. */
bool crn_reader_part(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                     uint16_t metric, uint64_t from, uint64_t most, crn_bytes *bytes,
                     crn_error *error);

/* Returns the first chunk of a section; if the section is missing, a chunk of another one. */
size_t crn_reader_find(const crn_reader *reader, crn_section_kind kind, uint32_t lane);

/* Reads one word of a section as it is now; 0 if it is missing. */
bool crn_reader_word(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                     uint16_t metric, uint64_t place, uint64_t *word, crn_error *error);

/* Returns the current number of resets. */
uint64_t crn_reader_generation(const crn_reader *reader);

/* Moves `*lane` to the next lane at or after it. Returns false if there is none. */
bool crn_reader_lane(const crn_reader *reader, uint32_t *lane);

/* Returns the string at an offset; "" if none begins there. An offset into the middle of a string
 * is invalid: otherwise a table of n bytes could have n²/2 bytes of strings. */
const char *crn_string_at(const crn_bytes *strings, uint64_t offset);

/* Returns ns per unit of the capture's clock. */
double crn_reader_clock_scale(const crn_reader *reader);

/* Converts units of the clock to ns, rounded. Clamped to 2^62, which damaged files can exceed. */
static inline uint64_t crn_clock_time(uint64_t units, double scale)
{
    double time = (double)units * scale + 0.5;
    if (scale == 1)
        return units;
    return time < 0x1p62 ? (uint64_t)time : UINT64_C(1) << 62;
}

#endif
