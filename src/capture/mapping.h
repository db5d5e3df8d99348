/* SPDX-License-Identifier: MIT
 *
 * mapping.h - reads sections of a capture in place, mapped in place of copied.
 *
 * For data that is too large to copy and is read repeatedly. The file may be live, damaged or
 * hostile: check every number at each use. A file that is truncated meanwhile reads as zeros.
 */
#ifndef CRN_CAPTURE_MAPPING_H
#define CRN_CAPTURE_MAPPING_H

#include "capture/reader.h"

typedef struct crn_mapping {
    const char *base; /* NULL: it cannot be mapped */
    uint64_t size;
    struct crn_mapping *next; /* list of open mappings */
} crn_mapping;

/* Maps the whole capture. The mapping does not move until it is closed. */
void crn_mapping_open(crn_mapping *mapping, const crn_reader *reader);
void crn_mapping_close(crn_mapping *mapping);

/* Gives the pages that were read back to the system. Whatever is read again comes from the file, or
 * the system's cache of it. */
void crn_mapping_rest(const crn_mapping *mapping);

/* Consecutive items of a section. */
typedef struct crn_part {
    const char *data; /* aligned to a word */
    uint64_t count;
} crn_part;

typedef struct crn_parts {
    uint64_t count;
    crn_part *parts;
    char *copy; /* owned copy, if the chunks could not be used in place */
} crn_parts;

/* Returns the items, `item` bytes each (a multiple of a word), of a lane's section. If chunks do
 * not consist of whole items, or `mapping` is NULL or not mapped, they are copied into one part. */
bool crn_mapping_section(const crn_mapping *mapping, const crn_reader *reader,
                         crn_section_kind kind, uint32_t lane, uint64_t item, crn_parts *parts,
                         crn_error *error);
void crn_parts_free(crn_parts *parts);

#endif
