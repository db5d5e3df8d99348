/* SPDX-License-Identifier: MIT
 *
 * Finds the module of an address, and reads its program headers and build id.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/unwind.h"

/* Weak: glibc before 2.35 lacks the function, and then no loaded module is found. It takes no lock,
 * so it can be called inside malloc. */
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

/* ---- modules of other processes ---- */

enum { ADDED_MOST = 1 << 14 };
static crn_unwind_module *added; /* sorted by start */
static size_t added_count;

bool crn_unwind_module_add(const crn_unwind_module *module)
{
    if (!added) {
        void *pages = mmap(NULL, ADDED_MOST * sizeof *added, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (pages == MAP_FAILED)
            return false;
        added = pages;
    }
    if (added_count == ADDED_MOST)
        return false;
    size_t at = added_count++;
    for (; at && added[at - 1].start > module->start; at--)
        added[at] = added[at - 1];
    added[at] = *module;
    return true;
}

static bool find_added(uintptr_t address, crn_unwind_module *module)
{
    size_t low = 0, high = added_count;
    while (low < high) { /* finds the first module that starts above the address */
        size_t middle = low + (high - low) / 2;
        if (added[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || address >= added[low - 1].end)
        return false;
    *module = added[low - 1];
    return true;
}

/* ---- all modules ---- */

/* Returns the program headers if they are in the first page, where all linkers put them; else NULL
 * and a count of 0. For the program itself returns those that the kernel names, because for a
 * static program module->start is not the begin of the file. */
static const ElfW(Phdr) * headers_of(const crn_unwind_module *module, size_t *count)
{
    if (!*module->name && getauxval(AT_PHENT) == sizeof(ElfW(Phdr))) {
        *count = getauxval(AT_PHNUM);
        return (const ElfW(Phdr) *)getauxval(AT_PHDR);
    }
    const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)module->start;
    *count = 0;
    if (module->end - module->start < sizeof *file || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
        file->e_phentsize != sizeof(ElfW(Phdr)) || file->e_phoff > CRN_UNWIND_PAGE ||
        file->e_phoff + file->e_phnum * sizeof(ElfW(Phdr)) > CRN_UNWIND_PAGE ||
        file->e_phoff % sizeof(uintptr_t))
        return NULL;
    *count = file->e_phnum;
    return (const ElfW(Phdr) *)(module->start + file->e_phoff);
}

/* Widens the bounds to all segments. For a file with holes between its segments, the loader returns
 * only the bounds of the segment that holds the address. */
static void widen(crn_unwind_module *module)
{
    size_t count;
    const ElfW(Phdr) *headers = headers_of(module, &count);
    for (size_t i = 0; i < count; i++) {
        uintptr_t start = module->bias + headers[i].p_vaddr, end = start + headers[i].p_memsz;
        if (headers[i].p_type != PT_LOAD)
            continue;
        module->start = start < module->start ? start : module->start;
        module->end = end > module->end ? end : module->end;
    }
}

bool crn_unwind_module_find(uintptr_t address, crn_unwind_module *module)
{
    struct dl_find_object found;
    if (!_dl_find_object || _dl_find_object((void *)address, &found) != 0)
        return find_added(address, module);
    module->start = (uintptr_t)found.dlfo_map_start;
    module->end = (uintptr_t)found.dlfo_map_end;
    module->bias = found.dlfo_link_map->l_addr;
    module->name = found.dlfo_link_map->l_name ? found.dlfo_link_map->l_name : "";
    module->index = (uintptr_t)found.dlfo_eh_frame;
    module->index_end = 0;
    if (module->index && (module->index < module->start || module->index >= module->end))
        widen(module);
    return true;
}

uintptr_t crn_unwind_segment_end(const crn_unwind_module *module, uintptr_t address)
{
    size_t count;
    crn_unwind_module copy; /* its headers are not trusted */
    const ElfW(Phdr) *headers = headers_of(module, &count);
    uintptr_t most = find_added(address, &copy) ? copy.end : UINTPTR_MAX;
    for (size_t i = 0; i < count; i++) {
        uintptr_t start = module->bias + headers[i].p_vaddr, end = start + headers[i].p_memsz;
        if (headers[i].p_type == PT_LOAD && (headers[i].p_flags & PF_R) && address >= start &&
            address < end)
            return end < most ? end : most;
    }
    return 0;
}

static size_t id_of_notes(uintptr_t at, uintptr_t end, uint8_t bytes[CRN_UNWIND_BUILD_ID])
{
    while (at % 4 == 0 && at < end && end - at >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
        uintptr_t name = at + sizeof *note;
        uintptr_t content = name + ((uint64_t)note->n_namesz + 3) / 4 * 4;
        uintptr_t next = content + ((uint64_t)note->n_descsz + 3) / 4 * 4;
        if (next > end)
            return 0;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp((const char *)name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 &&
            note->n_descsz <= CRN_UNWIND_BUILD_ID) {
            memcpy(bytes, (const void *)content, note->n_descsz);
            return note->n_descsz;
        }
        at = next;
    }
    return 0;
}

size_t crn_unwind_build_id(const crn_unwind_module *module, uint8_t bytes[CRN_UNWIND_BUILD_ID])
{
    size_t count, size = 0;
    const ElfW(Phdr) *headers = headers_of(module, &count);
    for (size_t i = 0; i < count && size == 0; i++) {
        uintptr_t at = module->bias + headers[i].p_vaddr;
        uintptr_t end = crn_unwind_segment_end(module, at);
        if (headers[i].p_type == PT_NOTE && end && headers[i].p_memsz <= end - at)
            size = id_of_notes(at, at + headers[i].p_memsz, bytes);
    }
    return size;
}

void crn_unwind_build_id_text(const crn_unwind_module *module,
                              char text[2 * CRN_UNWIND_BUILD_ID + 1])
{
    uint8_t id[CRN_UNWIND_BUILD_ID];
    size_t size = crn_unwind_build_id(module, id);
    text[0] = '\0';
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}

const char *crn_unwind_module_path(const crn_unwind_module *module, char program[PATH_MAX])
{
    if (*module->name)
        return module->name;
    ssize_t length = readlink("/proc/thread-self/exe", program, PATH_MAX - 1);
    program[length > 0 ? length : 0] = '\0';
    return program;
}
