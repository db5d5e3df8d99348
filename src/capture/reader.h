/* SPDX-License-Identifier: MIT
 *
 * reader.h - reads captures, live or complete, and trusts nothing in them.
 *
 * It copies all data, because the program may still write.
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
    bool truncated;  /* the file is shorter than its header says */
    uint32_t waited; /* ms that were waited for the program to complete a write */
} crn_reader;

/* A copy of bytes of a section. */
typedef struct crn_bytes {
    char *data;
    uint64_t size;
    bool whole; /* all requested bytes are there */
} crn_bytes;

/* Opens a capture and reads its header and directories. */
bool crn_reader_open(crn_reader *reader, const char *path, crn_error *error);

/* Does the same for an open file, which messages call `name`. crn_reader_close closes the file,
 * unless the caller sets reader->file to -1 before. On an error the file stays open. */
bool crn_reader_open_file(crn_reader *reader, int file, const char *name, crn_error *error);

/* Reads the header and the directories again if the program may still record. A program makes a
 * thing before it refers to it. So a reader copies what refers, refreshes, and then reads what is
 * referred to. On an error the reader can only be closed. */
bool crn_reader_refresh(crn_reader *reader, crn_error *error);

void crn_reader_close(crn_reader *reader);

/* Reads up to `most` bytes of a section into bytes->data, which the caller frees. A missing section
 * is empty. Returns false if out of memory, on a read error, or if the section's chunks overlap. */
bool crn_reader_section(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                        uint16_t metric, uint64_t most, crn_bytes *bytes, crn_error *error);

/* Like crn_reader_section, for a lane's section. Subtracts the section's size from `*left`, and
 * fails if less is left: lanes of a hostile file can claim the same bytes. */
bool crn_reader_lane_section(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                             uint16_t metric, uint64_t most, uint64_t *left, crn_bytes *bytes,
                             crn_error *error);

/* Reads up to `most` records of a lane, as crn_reader_lane_section does. Converts records of format
 * version 1 and packed ones, without their callees; packed ones have no block either. */
bool crn_reader_records(const crn_reader *reader, uint32_t lane, uint64_t most, uint64_t *left,
                        crn_bytes *bytes, crn_error *error);

/* Returns the size of a section in bytes. */
uint64_t crn_reader_size(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                         uint16_t metric);

/* Like crn_reader_section, but reads from offset `from` of the section on: for sections too large
 * to copy at once. */
bool crn_reader_part(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                     uint16_t metric, uint64_t from, uint64_t most, crn_bytes *bytes,
                     crn_error *error);

/* Returns the index of a section's first chunk. If the section is missing, returns the index of a
 * chunk of another section, or chunk_count. */
size_t crn_reader_find(const crn_reader *reader, crn_section_kind kind, uint32_t lane);

/* Reads the current value of one word of a section, at offset `place`; 0 if the section lacks the
 * word. Returns false on a read error. */
bool crn_reader_word(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                     uint16_t metric, uint64_t place, uint64_t *word, crn_error *error);

/* Returns the capture's current generation; if it cannot be read, the one in `header`. */
uint64_t crn_reader_generation(const crn_reader *reader);

/* Reads the figures of one generation; lanes of others have none. Begins anew if called again. */
typedef bool crn_generation_read(void *data, uint64_t generation, crn_error *error);

/* Calls `read` with the capture's generation, and again if a reset came meanwhile: figures from
 * before and after must not mix. Returns what `read` does. */
bool crn_reader_in_generation(const crn_reader *reader, crn_generation_read *read, void *data,
                              crn_error *error);

/* Sets `*lane` to the first existing lane from `*lane` on. Returns false if no lane follows. */
bool crn_reader_lane(const crn_reader *reader, uint32_t *lane);

/* Returns the string that begins at an offset; "" if no string begins there. Offsets into the
 * middle of a string are invalid: with them, n bytes could be n²/2 bytes of strings. */
const char *crn_string_at(const crn_bytes *strings, uint64_t offset);

/* Returns ns per unit of the capture's clock; 1 if the clock counts ns or its rate is
 * implausible. */
double crn_reader_clock_scale(const crn_reader *reader);

/* Converts units of the clock to ns, rounded. Clamps to 2^62, which damaged files can exceed,
 * unless `scale` is 1. */
static inline uint64_t crn_clock_time(uint64_t units, double scale)
{
    double time = (double)units * scale + 0.5;
    if (scale == 1)
        return units;
    return time < 0x1p62 ? (uint64_t)time : UINT64_C(1) << 62;
}

#endif
