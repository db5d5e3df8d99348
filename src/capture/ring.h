/* SPDX-License-Identifier: MIT
 *
 * ring.h - reads the spans of a lane that overwrites its oldest ones (--spans=last), and their
 * details, as if they were a plain list: ordered by begin, numbered from 1.
 *
 * The file may be live, damaged or malicious. Parts that were overwritten while they were read are
 * left out. References to missing spans become "none".
 */
#ifndef CRN_CAPTURE_RING_H
#define CRN_CAPTURE_RING_H

#include "capture/reader.h"

/* Consecutive spans. */
typedef struct crn_ring_part {
    uint64_t part;  /* number among all parts that the lane ever used, from 0 */
    uint32_t first; /* number of its first span in the list */
    uint32_t count;
} crn_ring_part;

typedef struct crn_ring {
    uint32_t half; /* number of parts in half a round of span numbers */
    uint32_t part_count;
    crn_ring_part *parts; /* in order */
    crn_bytes spans;      /* cairn_priv_span; missing parents are CRN_SPAN_GONE */
    crn_bytes details;    /* crn_disk_detail, of spans in the list */
} crn_ring;

/* Reads the ring of a lane; a lane without one has no parts. Subtracts the bytes of its sections,
 * used or not, from `left`, the bytes of the file that are not taken yet. */
bool crn_ring_read(const crn_reader *reader, uint32_t lane, uint64_t *left, crn_ring *ring,
                   crn_error *error);
void crn_ring_free(crn_ring *ring);

/* Returns the position of the first span of the list among all that the lane ever recorded, from 0.
 * The others follow without gaps. */
uint64_t crn_ring_place(const crn_ring *ring);

/* Returns the number in the list of the span at this position; 0: not in the list. */
uint32_t crn_ring_number(const crn_ring *ring, uint64_t place);

/* Marks parts as unused that were overwritten since the section was read. `bytes` has the parts in
 * file order. */
void crn_ring_settle(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                     crn_bytes *bytes);

#endif
