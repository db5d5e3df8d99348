/* SPDX-License-Identifier: MIT
 *
 * timeline_rows.h - the part of a time line that is about when: which row, in which order.
 */
#ifndef CRN_FORMATS_TIMELINE_ROWS_H
#define CRN_FORMATS_TIMELINE_ROWS_H

#include "formats/timeline.h"

/* Fills in rows, row and order. */
void crn_timeline_find_rows(crn_timeline *timeline);

#endif
