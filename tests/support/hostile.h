/* SPDX-License-Identifier: MIT
 *
 * hostile.h - captures with spans in which single fields are changed. The readers must return
 * valid data, the same in memory and in place.
 */
#ifndef TESTS_SUPPORT_HOSTILE_H
#define TESTS_SUPPORT_HOSTILE_H

#include <cairn/span.h>

#include "capture/format.h"
#include "spans/spans.h"
#include "support/scratch.h"

enum { SPANS = 8 };

/* Writes a capture. Lane 0: span 0, with children 1 to 3; 4 to 7 beside it, with an attribute. Lane
 * 1: a span that span 0 asked for. Returns `path`. */
const char *fresh(char path[SCRATCH_PATH], cairn_span_policy policy);

/* Returns the offset of a lane's section in the file. */
uint64_t offset_of(const char *path, crn_section_kind kind, uint32_t lane);

/* Reads or writes bytes of the file. */
void transfer(const char *path, uint64_t offset, void *bytes, size_t size, bool write);

/* An item of a section, restored at the end of the loop that changes it. */
typedef struct change {
    const char *path;
    uint64_t offset;
    size_t size;
    bool over;
    union {
        cairn_priv_span span;
        crn_disk_detail detail;
        crn_disk_histogram histogram;
        crn_disk_off_core off_core;
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

/* Loads the trace and checks its invariants; the file must be readable. */
crn_trace *trace_of(const char *path);

#endif
