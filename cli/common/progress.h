/* SPDX-License-Identifier: MIT
 *
 * progress.h - a line on the terminal while long work goes on.
 *
 * Nothing is shown unless stderr is a terminal and the work takes longer than half a
 * second. Begin and end pair up and do not nest. The line is gone when the work ends.
 */
#ifndef CRN_CLI_COMMON_PROGRESS_H
#define CRN_CLI_COMMON_PROGRESS_H

#include <stdint.h>

/* printf-like: what is being done, such as "reading a.cairn". */
void crn_progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* How much of it is done; need not be called. Cheap enough for every item. */
void crn_progress_at(uint64_t done, uint64_t total);
void crn_progress_end(void);

#endif
