/* SPDX-License-Identifier: MIT
 *
 * progress.h - a progress line on the terminal.
 *
 * Shown only if stderr is a terminal and the work takes longer than half a second. Calls of begin
 * and end must pair and not nest. The line disappears at the end.
 */
#ifndef CRN_CLI_COMMON_PROGRESS_H
#define CRN_CLI_COMMON_PROGRESS_H

#include <stdint.h>

/* printf-like: the activity, such as "reading a.cairn". */
void crn_progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reports how much is done; optional. Cheap enough for every item. */
void crn_progress_at(uint64_t done, uint64_t total);
void crn_progress_end(void);

#endif
