/* SPDX-License-Identifier: MIT
 *
 * ring.h - reads the ring of a lane (--spans=last): its spans, and their details, as a list ordered
 * by begin and numbered from 1.
 *
 * The file may be live, damaged or malicious. The list lacks parts that were overwritten during the
 * read. Details of missing spans are dropped; missing parents become CRN_SPAN_GONE.
 */
#ifndef CRN_CAPTURE_RING_H
#define CRN_CAPTURE_RING_H

#include "capture/reader.h"

/* A part of the ring: consecutive spans. */
typedef struct crn_ring_part {
    uint64_t part;  /* number among all parts that the lane has used, from 0 */
    uint32_t first; /* the first span's number in the list */
    uint32_t count;
} crn_ring_part;

typedef struct crn_ring {
    uint32_t half; /* parts in half a round of span numbers */
    uint32_t part_count;
    crn_ring_part *parts; /* oldest first */
    crn_bytes spans;      /* cairn_priv_span; missing parents are CRN_SPAN_GONE */
    crn_bytes details;    /* crn_disk_detail, of spans in the list */
} crn_ring;

/* Reads the ring of a lane; without a ring, part_count is 0. Subtracts the size of the ring's
 * sections from `*left`: all lanes together must not exceed the file. Returns false on an error. */
bool crn_ring_read(const crn_reader *reader, uint32_t lane, uint64_t *left, crn_ring *ring,
                   crn_error *error);
void crn_ring_free(crn_ring *ring);

/* Returns the place of the list's first span among all spans that the lane has recorded, from 0.
 * The other spans follow without gaps. */
uint64_t crn_ring_place(const crn_ring *ring);

/* Returns the number in the list of the span at `place` among all that the lane has recorded; 0 if
 * the list lacks it. */
uint32_t crn_ring_number(const crn_ring *ring, uint64_t place);

/* `bytes` is a copy of a ring's section. Marks those of its parts as unused that were overwritten
 * or given up since the copy was made. */
void crn_ring_settle(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                     crn_bytes *bytes);

#endif
