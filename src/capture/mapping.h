/* SPDX-License-Identifier: MIT
 *
 * mapping.h - maps a capture to read sections without copying them.
 *
 * It is for large sections that are read repeatedly. The file may be live, damaged or hostile:
 * check every number at each use. Parts that are truncated meanwhile read as zeros.
 */
#ifndef CRN_CAPTURE_MAPPING_H
#define CRN_CAPTURE_MAPPING_H

#include "capture/reader.h"

typedef struct crn_mapping {
    const char *base; /* NULL: the file could not be mapped */
    uint64_t size;
    struct crn_mapped *entry; /* in the list of mappings; NULL: not mapped */
} crn_mapping;

/* Maps the whole capture. The mapping does not move until it is closed. */
void crn_mapping_open(crn_mapping *mapping, const crn_reader *reader);
void crn_mapping_close(crn_mapping *mapping);

/* Gives the mapping's pages back to the system. Later reads come from the file again, or from the
 * page cache. */
void crn_mapping_rest(const crn_mapping *mapping);

/* Consecutive items of a section. */
typedef struct crn_part {
    const char *data; /* aligned to a word */
    uint64_t count;
} crn_part;

typedef struct crn_parts {
    uint64_t count;
    crn_part *parts;
    char *copy; /* owned; NULL if the parts are in the mapping */
} crn_parts;

/* Finds the items of a lane's section. `item` is the size of one in bytes, a multiple of a word.
 * Copies the items into one part if a chunk does not consist of whole items or is not aligned to a
 * word, or if `mapping` is NULL or not mapped. Returns false if the copy cannot be made. */
bool crn_mapping_section(const crn_mapping *mapping, const crn_reader *reader,
                         crn_section_kind kind, uint32_t lane, uint64_t item, crn_parts *parts,
                         crn_error *error);
void crn_parts_free(crn_parts *parts);

#endif
