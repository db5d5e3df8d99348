/* SPDX-License-Identifier: MIT */
#include "symbols/linkage.h"

#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"

enum { ENTRY_SIZE = 16, SMALL_ENTRY_SIZE = 8 }; /* bytes; .plt.got may have the smaller ones */
enum { SECTION_MAX = 16 << 20 };                /* bytes; a larger section is one entry */

/* A word of the global offset table that the dynamic linker sets to a function's address. */
typedef struct slot {
    uint64_t address;
    const char *name;
} slot;

typedef struct slots {
    slot *list;
    size_t count, capacity;
} slots;

static int compare_slots(const void *left, const void *right)
{
    const slot *a = left, *b = right;
    return CRN_ORDER(a->address, b->address);
}

/* ---- slots ---- */

static void add_slots(slots *slots, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    GElf_Shdr symbols_header;
    Elf_Scn *symbols_section = elf_getscn(elf, header->sh_link);
    Elf_Data *relocations = elf_getdata(section, NULL);
    Elf_Data *symbols = symbols_section ? elf_getdata(symbols_section, NULL) : NULL;
    if (!relocations || !symbols || !gelf_getshdr(symbols_section, &symbols_header))
        return;
    GElf_Rela relocation;
    for (int i = 0; gelf_getrela(relocations, i, &relocation); i++) {
        GElf_Sym symbol;
        uint64_t type = GELF_R_TYPE(relocation.r_info);
        if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
            !gelf_getsym(symbols, (int)GELF_R_SYM(relocation.r_info), &symbol))
            continue;
        const char *name = elf_strptr(elf, symbols_header.sh_link, symbol.st_name);
        if (!name || !*name)
            continue;
        CRN_GROW(slots->list, slots->count, slots->capacity);
        slots->list[slots->count++] = (slot){relocation.r_offset, name};
    }
}

static slots read_slots(Elf *elf)
{
    slots slots = {0};
    GElf_Shdr header;
    for (Elf_Scn *at = elf_nextscn(elf, NULL); at; at = elf_nextscn(elf, at))
        if (gelf_getshdr(at, &header) && header.sh_type == SHT_RELA)
            add_slots(&slots, elf, at, &header);
    if (slots.count)
        qsort(slots.list, slots.count, sizeof *slots.list, compare_slots);
    return slots;
}

static const char *find_slot(const slots *slots, uint64_t address)
{
    size_t below = CRN_BELOW(slots->list, slots->count, address, address);
    return below < slots->count && slots->list[below].address == address ? slots->list[below].name
                                                                         : NULL;
}

/* ---- entries ---- */

/* Sets `*slot` to the address from which an entry's jump reads its target. Returns false if the
 * entry does not begin with such a jump, as the one that calls the dynamic linker. */
static bool decode(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot)
{
    static const uint8_t branch_target[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    enum { BOUNDED = 0xf2, JUMP_SIZE = 6 };                          /* bnd; jmp *offset(%rip) */
    size_t at = 0;
    if (size >= sizeof branch_target && memcmp(code, branch_target, sizeof branch_target) == 0)
        at = sizeof branch_target;
    if (at < size && code[at] == BOUNDED)
        at++;
    if (size - at < JUMP_SIZE || code[at] != 0xff || code[at + 1] != 0x25)
        return false;
    int32_t offset;
    memcpy(&offset, code + at + 2, sizeof offset);
    *slot = address + at + JUMP_SIZE + (uint64_t)(int64_t)offset;
    return true;
}

static void add_entry(crn_linkage *linkage, size_t *capacity, crn_linkage_entry entry)
{
    CRN_GROW(linkage->entries, linkage->count, *capacity);
    linkage->entries[linkage->count++] = entry;
}

static void add_entries(crn_linkage *linkage, size_t *capacity, const slots *slots,
                        const GElf_Shdr *header, const Elf_Data *data)
{
    size_t step = header->sh_entsize == SMALL_ENTRY_SIZE ? SMALL_ENTRY_SIZE : ENTRY_SIZE;
    for (size_t at = 0; at < data->d_size; at += step) {
        size_t size = data->d_size - at < step ? data->d_size - at : step;
        uint64_t low = header->sh_addr + at, slot;
        bool jumps = decode((const uint8_t *)data->d_buf + at, size, low, &slot);
        add_entry(linkage, capacity,
                  (crn_linkage_entry){low, low + size, jumps ? find_slot(slots, slot) : NULL});
    }
}

static int compare_entries(const void *left, const void *right)
{
    const crn_linkage_entry *a = left, *b = right;
    return CRN_ORDER(a->low, b->low);
}

crn_linkage crn_linkage_make(Elf *elf)
{
    crn_linkage linkage = {0};
    size_t names, capacity = 0;
    GElf_Ehdr file;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) != 0 || !gelf_getehdr(elf, &file))
        return linkage;
    bool decodes = file.e_machine == EM_X86_64;
    slots slots = decodes ? read_slots(elf) : (struct slots){0};
    for (Elf_Scn *at = elf_nextscn(elf, NULL); at; at = elf_nextscn(elf, at)) {
        const char *name =
            gelf_getshdr(at, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (!name || strncmp(name, ".plt", 4) != 0 || header.sh_type != SHT_PROGBITS)
            continue;
        bool fits = decodes && header.sh_size <= SECTION_MAX;
        const Elf_Data *data = fits ? elf_rawdata(at, NULL) : NULL;
        if (data && data->d_buf)
            add_entries(&linkage, &capacity, &slots, &header, data);
        else
            add_entry(&linkage, &capacity,
                      (crn_linkage_entry){header.sh_addr, header.sh_addr + header.sh_size, NULL});
    }
    if (linkage.count)
        qsort(linkage.entries, linkage.count, sizeof *linkage.entries, compare_entries);
    crn_free(slots.list);
    return linkage;
}

void crn_linkage_free(crn_linkage *linkage)
{
    crn_free(linkage->entries);
    *linkage = (crn_linkage){0};
}

const crn_linkage_entry *crn_linkage_find(const crn_linkage *linkage, uint64_t address)
{
    size_t up_to = CRN_UP_TO(linkage->entries, linkage->count, low, address);
    const crn_linkage_entry *entry = up_to ? &linkage->entries[up_to - 1] : NULL;
    return entry && address < entry->high ? entry : NULL;
}
