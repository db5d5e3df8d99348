/* SPDX-License-Identifier: MIT
 *
 * Finds the entry (FDE) of an address in the sorted index that linkers make (.eh_frame_hdr), and
 * reads entries.
 */
#include "unwind/tables.h"

enum {
    PE_ABSOLUTE = 0x00,
    PE_ULEB128 = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SIGNED = 0x08,
    PE_PC_RELATIVE = 0x10,
    PE_DATA_RELATIVE = 0x30,
    PE_OMIT = 0xff,
    PE_TABLE = PE_DATA_RELATIVE | PE_SIGNED | PE_UDATA4
};

crn_unwind_bytes crn_unwind_block(crn_unwind_bytes *bytes)
{
    uint64_t length = crn_unwind_unsigned(bytes);
    crn_unwind_bytes block = *bytes;
    if (bytes->bad || length > bytes->end - bytes->at)
        block.bad = bytes->bad = true;
    else
        bytes->at = block.end = bytes->at + length;
    return block;
}

/* ---- encoded pointers ---- */

uintptr_t crn_unwind_pointer(crn_unwind_bytes *bytes, unsigned encoding, uintptr_t data)
{
    uintptr_t base = 0, value;
    if ((encoding & 0x70) == PE_PC_RELATIVE)
        base = bytes->at;
    else if ((encoding & 0x70) == PE_DATA_RELATIVE)
        base = data;
    else if (encoding & 0x70)
        bytes->bad = true;
    switch (encoding & 0x0f) {
    case PE_ABSOLUTE:
    case PE_UDATA8:
    case PE_UDATA8 | PE_SIGNED:
        value = crn_unwind_fixed(bytes, 8);
        break;
    case PE_UDATA4:
        value = crn_unwind_fixed(bytes, 4);
        break;
    case PE_UDATA4 | PE_SIGNED:
        value = (uintptr_t)crn_unwind_fixed_signed(bytes, 4);
        break;
    case PE_UDATA2:
        value = crn_unwind_fixed(bytes, 2);
        break;
    case PE_UDATA2 | PE_SIGNED:
        value = (uintptr_t)crn_unwind_fixed_signed(bytes, 2);
        break;
    case PE_ULEB128:
        value = crn_unwind_unsigned(bytes);
        break;
    default:
        bytes->bad = true;
        return 0;
    }
    return base + value;
}

/* ---- the index ---- */

typedef struct indexed {
    int32_t start, table; /* offsets from the index */
} indexed;

/* Returns the address of the FDE with the highest start at or below `address`; 0 if the index has
 * none. */
static uintptr_t find_entry(const crn_unwind_module *module, uintptr_t address)
{
    if (!module->index)
        return 0;
    uintptr_t end = module->index_end;
    if (!end)
        end = crn_unwind_segment_end(module, module->index);
    crn_unwind_bytes bytes = {module->index, end, end == 0};
    unsigned version = (unsigned)crn_unwind_fixed(&bytes, 1);
    unsigned frame = (unsigned)crn_unwind_fixed(&bytes, 1);
    unsigned number = (unsigned)crn_unwind_fixed(&bytes, 1);
    unsigned table = (unsigned)crn_unwind_fixed(&bytes, 1);
    if (bytes.bad || version != 1 || table != PE_TABLE || number == PE_OMIT)
        return 0;
    if (frame != PE_OMIT)
        crn_unwind_pointer(&bytes, frame, module->index);
    size_t high = crn_unwind_pointer(&bytes, number, module->index), low = 0;
    if (bytes.bad || high > (bytes.end - bytes.at) / sizeof(indexed) || bytes.at % 4)
        return 0;
    const indexed *entries = (const indexed *)bytes.at;
    while (low < high) { /* finds the first entry above the address */
        size_t middle = low + (high - low) / 2;
        if (module->index + (uintptr_t)(intptr_t)entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? module->index + (uintptr_t)(intptr_t)entries[low - 1].table : 0;
}

/* ---- entries ---- */

/* Reads the length of an entry and returns the bytes that follow; `bad` if the module does not hold
 * them, or at the end mark of .eh_frame (length 0). */
static crn_unwind_bytes open_entry(const crn_unwind_module *module, uintptr_t at)
{
    uintptr_t end =
        at >= module->start && at < module->end ? crn_unwind_segment_end(module, at) : 0;
    crn_unwind_bytes bytes = {at, end, end == 0};
    uint64_t length = crn_unwind_fixed(&bytes, 4);
    if (length == 0xffffffff)
        length = crn_unwind_fixed(&bytes, 8);
    if (bytes.bad || length == 0 || length > bytes.end - bytes.at)
        bytes.bad = true;
    else
        bytes.end = bytes.at + length;
    return bytes;
}

/* Reads the augmentation of a CIE: `letters` say which data follow. */
static void read_augmentation(crn_unwind_bytes *bytes, const char *letters, crn_unwind_entry *entry)
{
    entry->augmented = *letters == 'z';
    if (!entry->augmented) {
        bytes->bad |= *letters != 0;
        return;
    }
    uint64_t length = crn_unwind_unsigned(bytes);
    if (bytes->bad || length > bytes->end - bytes->at) {
        bytes->bad = true;
        return;
    }
    uintptr_t after = bytes->at + length;
    while (*++letters) {
        if (*letters == 'R')
            entry->encoding = (unsigned)crn_unwind_fixed(bytes, 1);
        else if (*letters == 'L')
            crn_unwind_fixed(bytes, 1);
        else if (*letters == 'P')
            crn_unwind_pointer(bytes, (unsigned)crn_unwind_fixed(bytes, 1) & 0x0f, 0);
        else if (*letters == 'S')
            entry->signal = true;
        else if (*letters != 'B')
            bytes->bad = true;
    }
    bytes->at = after;
}

/* Reads the CIE at `at`. Returns false if it is damaged or of another version. */
static bool read_common(const crn_unwind_module *module, uintptr_t at, crn_unwind_entry *entry)
{
    crn_unwind_bytes bytes = open_entry(module, at);
    uint64_t id = crn_unwind_fixed(&bytes, 4);
    unsigned version = (unsigned)crn_unwind_fixed(&bytes, 1);
    const char *letters = (const char *)bytes.at;
    while (crn_unwind_fixed(&bytes, 1) != 0)
        ;
    if (bytes.bad || id != 0 || (version != 1 && version != 3))
        return false;
    entry->code_align = crn_unwind_unsigned(&bytes);
    entry->data_align = crn_unwind_signed(&bytes);
    entry->return_register =
        version == 1 ? crn_unwind_fixed(&bytes, 1) : crn_unwind_unsigned(&bytes);
    entry->encoding = PE_ABSOLUTE;
    entry->signal = false;
    read_augmentation(&bytes, letters, entry);
    entry->common_program = bytes;
    return !bytes.bad;
}

bool crn_unwind_entry_read(const crn_unwind_module *module, uintptr_t at, crn_unwind_entry *entry,
                           uintptr_t *size)
{
    *entry = (crn_unwind_entry){0};
    crn_unwind_bytes bytes = open_entry(module, at);
    uintptr_t here = bytes.at;
    uint64_t back = crn_unwind_fixed(&bytes, 4);
    if (bytes.bad || back == 0 || !read_common(module, here - back, entry))
        return false;
    entry->start = crn_unwind_pointer(&bytes, entry->encoding, 0);
    *size = crn_unwind_pointer(&bytes, entry->encoding & 0x0f, 0);
    if (entry->augmented)
        crn_unwind_block(&bytes);
    entry->program = bytes;
    return !bytes.bad;
}

bool crn_unwind_entry_find(uintptr_t address, crn_unwind_entry *entry)
{
    crn_unwind_module module;
    if (!crn_unwind_module_find(address, &module))
        return false;
    uintptr_t at = find_entry(&module, address), size = 0;
    if (!at || !crn_unwind_entry_read(&module, at, entry, &size))
        return false;
    entry->size = size;
    return address - entry->start < size;
}
