/* SPDX-License-Identifier: MIT
 *
 * mapping.h - sections of a capture where they are: in the file, mapped, not copied.
 *
 * For what is too large to be copied and is read again and again. The reader's rule holds: the
 * file may be live, damaged or hostile, so every number in it is checked where it is used, each
 * time. A file that somebody cuts meanwhile reads as zeros from there on.
 *
 * Mappings are opened and closed by one thread at a time.
 */
#ifndef CRN_CAPTURE_MAPPING_H
#define CRN_CAPTURE_MAPPING_H

#include "capture/reader.h"

typedef struct crn_mapping {
    const char *base; /* NULL: it cannot be mapped */
    uint64_t size;
    struct crn_mapping *next; /* of all that are open */
} crn_mapping;

/* Maps all of a capture. It stays where it is in memory until it is closed. */
void crn_mapping_open(crn_mapping *mapping, const crn_reader *reader);
void crn_mapping_close(crn_mapping *mapping);

/* Consecutive items of a section. */
typedef struct crn_part {
    const char *data; /* aligned as a word */
    uint64_t count;
} crn_part;

typedef struct crn_parts {
    uint64_t count;
    crn_part *parts;
    char *copy; /* where they could not be used as they are; owned */
} crn_parts;

/* The items of `item` bytes, a multiple of a word, that a lane's section consists of. Where
 * chunks are not of whole items, or `mapping` is NULL or not mapped, they are one part that is a
 * copy. */
bool crn_mapping_section(const crn_mapping *mapping, const crn_reader *reader,
                         crn_section_kind kind, uint32_t lane, uint64_t item, crn_parts *parts,
                         crn_error *error);
void crn_parts_free(crn_parts *parts);

#endif
