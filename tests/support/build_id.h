/* SPDX-License-Identifier: MIT
 *
 * build_id.h - reads the build id of a loaded file.
 */
#ifndef TESTS_SUPPORT_BUILD_ID_H
#define TESTS_SUPPORT_BUILD_ID_H

#include <elf.h>
#include <link.h>
#include <stdio.h>

enum { BUILD_ID_SIZE = 65 };

/* Writes the id in hexadecimal digits; leaves `id` as it is if the file has none. */
static inline void build_id_read(const struct dl_phdr_info *info, char id[BUILD_ID_SIZE])
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const char *at = (const char *)info->dlpi_addr + header->p_vaddr;
        const char *end = header->p_type == PT_NOTE ? at + header->p_memsz : at;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *note = (const void *)at;
            const unsigned char *bytes =
                (const unsigned char *)(note + 1) + ((note->n_namesz + 3) & ~3u);
            at = (const char *)bytes + ((note->n_descsz + 3) & ~3u);
            for (unsigned b = 0; note->n_type == NT_GNU_BUILD_ID && b < note->n_descsz && b < 32;
                 b++)
                snprintf(id + 2 * (size_t)b, 3, "%02x", bytes[b]);
        }
    }
}

#endif
