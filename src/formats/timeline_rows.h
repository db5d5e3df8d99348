/* SPDX-License-Identifier: MIT
 *
 * timeline_rows.h - assigns spans of a timeline to rows and orders them by time.
 */
#ifndef CRN_FORMATS_TIMELINE_ROWS_H
#define CRN_FORMATS_TIMELINE_ROWS_H

#include "formats/timeline.h"

/* Sets rows, row and order. */
void crn_timeline_find_rows(crn_timeline *timeline);

#endif
