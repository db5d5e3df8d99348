/* SPDX-License-Identifier: MIT
 *
 * progress.h - a progress line on the terminal.
 *
 * The line appears if stderr is a terminal and the work takes longer than half a second; end
 * removes it. Calls of begin and end must pair and not nest.
 */
#ifndef CRN_CLI_COMMON_PROGRESS_H
#define CRN_CLI_COMMON_PROGRESS_H

#include <stdint.h>

/* Names the activity, like printf: "reading a.cairn". */
void crn_progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reports how much is done. Optional; cheap enough to call for each item. */
void crn_progress_at(uint64_t done, uint64_t total);
void crn_progress_end(void);

#endif
