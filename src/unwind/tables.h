/* SPDX-License-Identifier: MIT
 *
 * tables.h - bounds-checked reading of .eh_frame.
 */
#ifndef CRN_UNWIND_TABLES_H
#define CRN_UNWIND_TABLES_H

#include "unwind/unwind.h"

/* A cursor over bytes. Reading past the end gives 0 and sets `bad`. */
typedef struct crn_unwind_bytes {
    uintptr_t at, end;
    bool bad;
} crn_unwind_bytes;

static inline uint64_t crn_unwind_fixed(crn_unwind_bytes *bytes, size_t size)
{
    uint64_t value = 0;
    if (bytes->bad || bytes->end - bytes->at < size) {
        bytes->bad = true;
        return 0;
    }
    __builtin_memcpy(&value, (const void *)bytes->at, size);
    bytes->at += size;
    return value;
}

static inline int64_t crn_unwind_fixed_signed(crn_unwind_bytes *bytes, size_t size)
{
    unsigned shift = 64 - 8 * (unsigned)size;
    return (int64_t)(crn_unwind_fixed(bytes, size) << shift) >> shift;
}

static inline uint64_t crn_unwind_leb128(crn_unwind_bytes *bytes, bool is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = crn_unwind_fixed(bytes, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && (byte & 0x40))
        value |= ~(uint64_t)0 << shift;
    return value;
}

/* Reads a number in ULEB128. */
static inline uint64_t crn_unwind_unsigned(crn_unwind_bytes *bytes)
{
    return crn_unwind_leb128(bytes, false);
}

static inline int64_t crn_unwind_signed(crn_unwind_bytes *bytes)
{
    return (int64_t)crn_unwind_leb128(bytes, true);
}

/* Reads a size and returns a cursor over that many bytes, which it skips. */
crn_unwind_bytes crn_unwind_block(crn_unwind_bytes *bytes);

/* Reads a pointer in an encoding of .eh_frame (DW_EH_PE_*). `data` is the base of data-relative
 * encodings. */
uintptr_t crn_unwind_pointer(crn_unwind_bytes *bytes, unsigned encoding, uintptr_t data);

/* Entry of a function: its FDE together with the CIE that it refers to. */
typedef struct crn_unwind_entry {
    uintptr_t start; /* the function's first address */
    uintptr_t size;  /* in bytes; set by crn_unwind_entry_find */
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    unsigned encoding; /* DW_EH_PE_* of the entry's addresses */
    bool augmented, signal;
    crn_unwind_bytes common_program, program;
} crn_unwind_entry;

/* Finds the entry of an address. Returns false if no function has an entry there, or if the entry
 * is damaged. */
bool crn_unwind_entry_find(uintptr_t address, crn_unwind_entry *entry);

/* Reads the FDE at address `at` of .eh_frame; sets `*size` to the function's size. Returns false
 * for a CIE or a damaged entry. */
bool crn_unwind_entry_read(const crn_unwind_module *module, uintptr_t at, crn_unwind_entry *entry,
                           uintptr_t *size);

/* Result of a DWARF expression: register + offset, or the offset alone if `reg` is -1. If `stored`,
 * that is the address at which the value is stored, to which `after` is added. */
typedef struct crn_unwind_value {
    int reg;
    int64_t offset;
    bool stored;
    int64_t after;
} crn_unwind_value;

enum { CRN_UNWIND_RBP = 6, CRN_UNWIND_RSP = 7, CRN_UNWIND_RIP = 16 };

/* Evaluates an expression for code at `address`. Returns false for forms that compilers and linkers
 * do not use. */
bool crn_unwind_evaluate(crn_unwind_bytes expression, uintptr_t address, crn_unwind_value *value);

#endif
