/* SPDX-License-Identifier: MIT
 *
 * save.h - writes a capture from a profile and a trace in memory.
 */
#ifndef CRN_SPANS_SAVE_H
#define CRN_SPANS_SAVE_H

#include <string.h>

#include "capture/writer.h"
#include "spans/trace.h"

typedef struct crn_saving {
    const crn_profile *profile;
    crn_capture capture;
    crn_section strings, blocks, metrics, notes, links, records;
    cairn_error error; /* the first error */
} crn_saving;

/* Appends to a section that a capture has only once. Returns the offset of the bytes. On an error
 * sets saving->error; after one, does nothing. */
static inline uint32_t crn_save_put(crn_saving *saving, crn_section *section, const void *bytes,
                                    size_t size)
{
    uint64_t place = 0;
    if (!saving->error)
        saving->error = crn_section_append(section, bytes, size, &place);
    if (!saving->error && place > UINT32_MAX)
        saving->error = CAIRN_E_LIMIT;
    return (uint32_t)place;
}

static inline uint32_t crn_save_string(crn_saving *saving, const char *text)
{
    return *text ? crn_save_put(saving, &saving->strings, text, strlen(text) + 1) : 0;
}

/* Adds the spans of a trace. Call it after lane 0 has its contexts. */
void crn_save_trace(crn_saving *saving, const crn_trace *trace);

#endif
