/* SPDX-License-Identifier: MIT
 *
 * hostile.h - a capture with some spans, of which single fields become something else. What is read
 * of it must be sound, and the same to those that read in place.
 */
#ifndef TESTS_SUPPORT_HOSTILE_H
#define TESTS_SUPPORT_HOSTILE_H

#include <cairn/span.h>

#include "capture/format.h"
#include "spans/spans.h"
#include "support/scratch.h"

enum { SPANS = 8 };

/* On lane 0: span 0, in it 1 to 3; 4 to 7 beside it, with an attribute. On lane 1: one that lane 0
 * asked for in 0. Returns the path, which is put in `path`. */
const char *fresh(char path[SCRATCH_PATH], cairn_span_policy policy);

/* Where in the file a section of a lane begins. */
uint64_t offset_of(const char *path, crn_section_kind kind, uint32_t lane);

/* Bytes of the file, from it or to it. */
void transfer(const char *path, uint64_t offset, void *bytes, size_t size, bool write);

/* An item of a section, which is written back when the loop that changes it is over. */
typedef struct change {
    const char *path;
    uint64_t offset;
    size_t size;
    bool over;
    union {
        cairn_priv_span span;
        crn_disk_detail detail;
        crn_disk_histogram histogram;
        crn_disk_block block;
        crn_disk_key key;
    } item;
} change;

void change_begin(change *its, const char *path, crn_section_kind kind, uint32_t lane,
                  uint64_t number, size_t size);
void change_end(change *its);

#define CHANGE(path, kind, lane, number, type, name)                                               \
    change_begin(&changed, path, kind, lane, number, sizeof(type));                                \
    for (type *name = &changed.item.name; !changed.over; change_end(&changed))

extern change changed;

/* The trace of a file that is read at all, sound. */
crn_trace *trace_of(const char *path);

#endif
