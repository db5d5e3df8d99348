/* SPDX-License-Identifier: MIT
 *
 * save.h - a capture that is being made of what is in memory.
 */
#ifndef CRN_SPANS_SAVE_H
#define CRN_SPANS_SAVE_H

#include "capture/writer.h"
#include "spans/trace.h"

typedef struct crn_saving {
    const crn_profile *profile;
    crn_capture capture;
    crn_section strings, blocks, metrics, notes, links, records;
    cairn_error error; /* the first */
} crn_saving;

/* Appends to a section that there is one of; where. */
uint32_t crn_save_put(crn_saving *saving, crn_section *section, const void *bytes, size_t size);
uint32_t crn_save_string(crn_saving *saving, const char *text);

/* Adds what a trace holds. The first lane is there already. */
void crn_save_trace(crn_saving *saving, const crn_trace *trace);

#endif
