/* SPDX-License-Identifier: MIT
 *
 * Makes the sorted index of .eh_frame that linkers leave out of static programs.
 */
#include <stdlib.h>
#include <string.h>

#include "unwind/tables.h"

enum { PE_DATA_RELATIVE_4 = 0x3b, PE_UDATA4 = 0x03, PE_OMIT = 0xff };

/* .eh_frame_hdr without the address of .eh_frame. */
typedef struct frame_index {
    uint8_t version, frames, number, table;
    uint32_t count;
    struct pair {
        int32_t start, entry; /* offsets from the index */
    } pairs[];
} frame_index;

static int by_start(const void *one, const void *other)
{
    int32_t a = ((const struct pair *)one)->start, b = ((const struct pair *)other)->start;
    return a < b ? -1 : a > b;
}

/* Adds a pair to `made` for each FDE, unless `made` is NULL. Returns the number of FDEs. */
static size_t each_entry(const crn_unwind_module *module, uintptr_t start, uintptr_t end,
                         frame_index *made)
{
    size_t count = 0;
    uint32_t length;
    for (uintptr_t at = start; end - at >= 2 * sizeof length; at += sizeof length + length) {
        crn_unwind_entry entry;
        uintptr_t size;
        memcpy(&length, (const void *)at, sizeof length);
        if (length == 0 || length == UINT32_MAX || length > end - at - sizeof length)
            break;
        if (!crn_unwind_entry_read(module, at, &entry, &size) || !size)
            continue;
        if (made)
            made->pairs[count] = (struct pair){(int32_t)(entry.start - (uintptr_t)made),
                                               (int32_t)(at - (uintptr_t)made)};
        count++;
    }
    return count;
}

size_t crn_unwind_index_size(const crn_unwind_module *module, uintptr_t start, uintptr_t end)
{
    return sizeof(frame_index) + each_entry(module, start, end, NULL) * sizeof(struct pair);
}

void crn_unwind_index_make(const crn_unwind_module *module, uintptr_t start, uintptr_t end,
                           void *to)
{
    frame_index *made = to;
    *made = (frame_index){
        .version = 1, .frames = PE_OMIT, .number = PE_UDATA4, .table = PE_DATA_RELATIVE_4};
    made->count = (uint32_t)each_entry(module, start, end, made);
    qsort(made->pairs, made->count, sizeof *made->pairs, by_start);
}
