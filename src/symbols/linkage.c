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

/* Limits for all sections together: a hostile file may have many headers of one section. */
enum { RELOCATIONS_MAX = 1 << 24, SLOTS_MAX = CRN_LINKAGE_MAX / SMALL_ENTRY_SIZE };

/* A word of the global offset table that the dynamic linker sets to a function's address. */
typedef struct slot {
    uint64_t address;
    const char *name;  /* NULL: not known */
    uint64_t resolver; /* as in crn_linkage_entry */
} slot;

typedef struct slots {
    slot *list; /* sorted by address */
    size_t count, capacity;
    size_t relocations; /* that were read */
} slots;

/* ---- slots ---- */

/* Adds the slot of a relocation, if it is one of a function. `names`: index of the section with the
 * symbols' names. */
static void add_slot(slots *slots, Elf *elf, const GElf_Rela *relocation, Elf_Data *symbols,
                     size_t names)
{
    GElf_Sym symbol;
    slot slot = {.address = relocation->r_offset};
    uint64_t type = GELF_R_TYPE(relocation->r_info);
    if (type == R_X86_64_IRELATIVE)
        slot.resolver = (uint64_t)relocation->r_addend;
    else if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && symbols &&
             gelf_getsym(symbols, (int)GELF_R_SYM(relocation->r_info), &symbol))
        slot.name = elf_strptr(elf, names, symbol.st_name);
    bool known = slot.resolver || (slot.name && *slot.name);
    if (!known || slots->count == SLOTS_MAX)
        return;
    CRN_GROW(slots->list, slots->count, slots->capacity);
    slots->list[slots->count++] = slot;
}

static void add_slots(slots *slots, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    GElf_Shdr symbols_header = {0};
    Elf_Scn *symbols_section = header->sh_link ? elf_getscn(elf, header->sh_link) : NULL;
    Elf_Data *relocations = elf_getdata(section, NULL), *symbols = NULL;
    if (symbols_section && gelf_getshdr(symbols_section, &symbols_header))
        symbols = elf_getdata(symbols_section, NULL);
    GElf_Rela relocation;
    for (int i = 0; relocations && slots->relocations < RELOCATIONS_MAX &&
                    gelf_getrela(relocations, i, &relocation);
         i++, slots->relocations++)
        add_slot(slots, elf, &relocation, symbols, symbols_header.sh_link);
}

static int compare_slots(const void *left, const void *right)
{
    const slot *a = left, *b = right;
    return CRN_ORDER(a->address, b->address);
}

static slots read_slots(Elf *elf)
{
    slots slots = {0};
    GElf_Shdr header;
    for (Elf_Scn *at = elf_nextscn(elf, NULL); at; at = elf_nextscn(elf, at))
        if (gelf_getshdr(at, &header) && header.sh_type == SHT_RELA && header.sh_flags & SHF_ALLOC)
            add_slots(&slots, elf, at, &header);
    if (slots.count)
        qsort(slots.list, slots.count, sizeof *slots.list, compare_slots);
    return slots;
}

static slot find_slot(const slots *slots, uint64_t address)
{
    size_t below = CRN_BELOW(slots->list, slots->count, address, address);
    bool found = below < slots->count && slots->list[below].address == address;
    return found ? slots->list[below] : (slot){0};
}

/* ---- entries ---- */

/* Returns the address of the slot from which an entry's jump reads its target; 0 if the entry does
 * not begin with such a jump, as the one that calls the dynamic linker. */
static uint64_t decode(const uint8_t *code, size_t size, uint64_t address)
{
    static const uint8_t branch_target[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    enum { BOUNDED = 0xf2, JUMP_SIZE = 6 };                          /* bnd; jmp *offset(%rip) */
    size_t at = 0;
    if (size >= sizeof branch_target && memcmp(code, branch_target, sizeof branch_target) == 0)
        at = sizeof branch_target;
    if (at < size && code[at] == BOUNDED)
        at++;
    if (size - at < JUMP_SIZE || code[at] != 0xff || code[at + 1] != 0x25)
        return 0;
    int32_t offset;
    memcpy(&offset, code + at + 2, sizeof offset);
    return address + at + JUMP_SIZE + (uint64_t)(int64_t)offset;
}

static void add_entry(crn_linkage *linkage, size_t *capacity, crn_linkage_entry entry)
{
    CRN_GROW(linkage->entries, linkage->count, *capacity);
    linkage->entries[linkage->count++] = entry;
}

/* Adds the entries of a section of the table. */
static void add_section(crn_linkage *linkage, size_t *capacity, const slots *slots,
                        Elf_Scn *section, const GElf_Shdr *header)
{
    size_t step = header->sh_entsize == SMALL_ENTRY_SIZE ? SMALL_ENTRY_SIZE : ENTRY_SIZE;
    const Elf_Data *data = slots->count ? elf_rawdata(section, NULL) : NULL;
    if (!data || !data->d_buf) {
        uint64_t high = header->sh_addr + header->sh_size;
        add_entry(linkage, capacity, (crn_linkage_entry){header->sh_addr, high, NULL, 0});
        return;
    }
    for (size_t at = 0; at < data->d_size; at += step) {
        size_t size = data->d_size - at < step ? data->d_size - at : step;
        uint64_t low = header->sh_addr + at;
        slot its = find_slot(slots, decode((const uint8_t *)data->d_buf + at, size, low));
        add_entry(linkage, capacity, (crn_linkage_entry){low, low + size, its.name, its.resolver});
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
    size_t names, capacity = 0, left = CRN_LINKAGE_MAX;
    GElf_Ehdr file;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) != 0 || !gelf_getehdr(elf, &file))
        return linkage;
    slots slots = file.e_machine == EM_X86_64 ? read_slots(elf) : (struct slots){0};
    for (Elf_Scn *at = elf_nextscn(elf, NULL); at; at = elf_nextscn(elf, at)) {
        const char *name =
            gelf_getshdr(at, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (!name || strncmp(name, ".plt", 4) != 0 || header.sh_type != SHT_PROGBITS ||
            !(header.sh_flags & SHF_ALLOC) || header.sh_size > left)
            continue;
        left -= header.sh_size;
        add_section(&linkage, &capacity, &slots, at, &header);
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
