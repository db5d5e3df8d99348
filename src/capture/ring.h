/* SPDX-License-Identifier: MIT
 *
 * ring.h - the spans of a lane of which the last are kept, and their details, read as if they
 * were all that there ever were: in the order of their begins, with numbers that count from 1.
 *
 * The file may be live, damaged or hostile: a part that was cleared while it was read is left out,
 * and what names a span that is not there any more names none.
 */
#ifndef CRN_CAPTURE_RING_H
#define CRN_CAPTURE_RING_H

#include "capture/reader.h"

/* Consecutive spans. */
typedef struct crn_ring_part {
    uint64_t part;  /* of the lane's spans ever, from 0 */
    uint32_t first; /* number of its first one here */
    uint32_t count;
} crn_ring_part;

typedef struct crn_ring {
    uint32_t half; /* parts that make up half of a round of numbers */
    uint32_t part_count;
    crn_ring_part *parts; /* in order */
    crn_bytes spans;      /* cairn_priv_span; a parent that is not there is CRN_SPAN_GONE */
    crn_bytes details;    /* crn_disk_detail, of spans that are there */
} crn_ring;

/* Reads those of a lane; one that keeps none so has no parts. Takes the bytes of its sections, used
 * or not, from those that are `left` of the file. */
bool crn_ring_read(const crn_reader *reader, uint32_t lane, uint64_t *left, crn_ring *ring,
                   crn_error *error);
void crn_ring_free(crn_ring *ring);

/* The place of its first span among all that the lane ever had, from 0; those of the others
 * follow. */
uint64_t crn_ring_place(const crn_ring *ring);

/* The number here of the span at this place; 0 if it is not here. */
uint32_t crn_ring_number(const crn_ring *ring, uint64_t place);

/* Parts of a section, in the order of the file, that have made room since it was read are marked as
 * not used. */
void crn_ring_settle(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                     crn_bytes *bytes);

#endif
