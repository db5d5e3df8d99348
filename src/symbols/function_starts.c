/* SPDX-License-Identifier: MIT */
#include "symbols/function_starts.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"

/* Header of the index (Linux Standard Base, "The .eh_frame_hdr section"), with the only encodings
 * that linkers write. */
typedef struct header {
    uint8_t version, frame_encoding, count_encoding, table_encoding;
    int32_t frame;
    uint32_t count;
} header;

typedef struct entry {
    int32_t start, frame; /* relative to the section */
} entry;

enum { VERSION = 1, FRAME_PC_RELATIVE = 0x1b, COUNT_32 = 0x03, TABLE_DATA_RELATIVE = 0x3b };

/* Returns the bytes of .eh_frame_hdr; NULL if the file has none. */
static Elf_Data *find_index(Elf *elf, uint64_t *address)
{
    size_t names;
    GElf_Shdr section;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    for (Elf_Scn *at = elf_nextscn(elf, NULL); at; at = elf_nextscn(elf, at)) {
        const char *name =
            gelf_getshdr(at, &section) ? elf_strptr(elf, names, section.sh_name) : "";
        if (!name || strcmp(name, ".eh_frame_hdr") != 0 || section.sh_type == SHT_NOBITS)
            continue;
        *address = section.sh_addr;
        return elf_rawdata(at, NULL);
    }
    return NULL;
}

crn_function_starts crn_function_starts_make(Elf *elf)
{
    crn_function_starts starts = {0};
    uint64_t address;
    Elf_Data *data = find_index(elf, &address);
    header header;
    if (!data || !data->d_buf || data->d_size < sizeof header)
        return starts;
    memcpy(&header, data->d_buf, sizeof header);
    if (header.version != VERSION || header.frame_encoding != FRAME_PC_RELATIVE ||
        header.count_encoding != COUNT_32 || header.table_encoding != TABLE_DATA_RELATIVE ||
        header.count > (data->d_size - sizeof header) / sizeof(entry))
        return starts;
    starts.starts = crn_calloc(header.count + (size_t)1, sizeof *starts.starts);
    const char *at = (const char *)data->d_buf + sizeof header;
    for (; starts.count < header.count; at += sizeof(entry)) {
        entry entry;
        memcpy(&entry, at, sizeof entry);
        starts.starts[starts.count++] = address + (uint64_t)(int64_t)entry.start;
    }
    qsort(starts.starts, starts.count, sizeof *starts.starts, crn_order_uint64);
    return starts;
}

void crn_function_starts_free(crn_function_starts *starts)
{
    crn_free(starts->starts);
    *starts = (crn_function_starts){0};
}

const uint64_t *crn_function_starts_find(const crn_function_starts *starts, uint64_t address)
{
    size_t low = CRN_NUMBERS_UP_TO(starts->starts, starts->count, address);
    return low ? &starts->starts[low - 1] : NULL;
}
