/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "trace.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 200 };

static const char *path_of(const char *name, char *full)
{
    return realpath(name && *name ? name : "/proc/self/exe", full) ? full : "?";
}

static void print_frame(const void *address)
{
    Dl_info info;
    struct link_map *map;
    char full[PATH_MAX];
    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP))
        return;
    printf(" %s+0x%lx", path_of(map->l_name, full),
           (unsigned long)((uintptr_t)address - map->l_addr));
}

APART void trace(unsigned long bytes, unsigned long freed, const void *inner)
{
    void *frames[DEPTH_MAX];
    int count = backtrace(frames, DEPTH_MAX);
    printf("%lu %lu", bytes, freed);
    while (--count > 0) /* the first is this function */
        print_frame(frames[count]);
    if (inner)
        print_frame(inner);
    putchar('\n');
}

static int print_module(struct dl_phdr_info *info, size_t size, void *data)
{
    char full[PATH_MAX];
    (void)size;
    (void)data;
    if (*info->dlpi_name && !strchr(info->dlpi_name, '/'))
        return 0; /* the kernel's */
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const char *at = (const char *)info->dlpi_addr + header->p_vaddr;
        const char *end = at + header->p_memsz;
        while (header->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *note = (const void *)at;
            const unsigned char *name = (const unsigned char *)(note + 1);
            const unsigned char *bytes = name + ((note->n_namesz + 3) & ~3u);
            at = (const char *)bytes + ((note->n_descsz + 3) & ~3u);
            if (note->n_type != NT_GNU_BUILD_ID || memcmp(name, "GNU", 4) != 0)
                continue;
            printf("module %s ", path_of(info->dlpi_name, full));
            for (unsigned b = 0; b < note->n_descsz; b++)
                printf("%02x", bytes[b]);
            putchar('\n');
        }
    }
    return 0;
}

void trace_modules(void)
{
    dl_iterate_phdr(print_module, NULL);
}
