/* SPDX-License-Identifier: MIT */
#include "symbols/addresses.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"

#define MODULE_NOTE "module "

bool crn_address_parse(const crn_block_info *block, uint64_t *offset)
{
    const char *name = block->name;
    if (name[0] != '0' || name[1] != 'x' || !strchr(block->file, '/') || block->line)
        return false;
    size_t digits = strspn(name + 2, "0123456789abcdef");
    if (!digits || digits > 16 || name[2 + digits])
        return false;
    *offset = strtoull(name + 2, NULL, 16);
    return *offset != 0;
}

/* Returns the notes about modules, sorted by key. */
static const crn_note **module_notes(const crn_profile *profile, size_t *count)
{
    const crn_note **notes = crn_calloc(profile->note_count + 1, sizeof *notes);
    *count = 0;
    for (size_t i = 0; i < profile->note_count; i++)
        if (strncmp(profile->notes[i].key, MODULE_NOTE, strlen(MODULE_NOTE)) == 0)
            notes[(*count)++] = &profile->notes[i];
    qsort(notes, *count, sizeof *notes, crn_note_compare);
    return notes;
}

static int compare_paths(const void *key, const void *note)
{
    return strcmp(key, (*(const crn_note *const *)note)->key + strlen(MODULE_NOTE));
}

typedef struct found {
    const char *path;
    crn_address address;
} found;

static int compare_found(const void *left, const void *right)
{
    const found *a = left, *b = right;
    int paths = a->path == b->path ? 0 : strcmp(a->path, b->path);
    return paths
               ?: CRN_ORDER(a->address.offset, b->address.offset)
               ?: CRN_ORDER(a->address.block, b->address.block);
}

static found *find_all(const crn_profile *profile, uint32_t *count)
{
    found *all = crn_calloc(profile->block_count + (size_t)1, sizeof *all);
    *count = 0;
    for (uint32_t b = 1; b < profile->block_count; b++) {
        uint64_t offset;
        if (crn_address_parse(&profile->blocks[b], &offset))
            all[(*count)++] = (found){profile->blocks[b].file, {offset, b}};
    }
    qsort(all, *count, sizeof *all, compare_found);
    return all;
}

crn_addresses crn_addresses_find(const crn_profile *profile)
{
    uint32_t found_count;
    size_t note_count;
    const crn_note **notes = module_notes(profile, &note_count);
    found *all = note_count ? find_all(profile, &found_count) : NULL;
    if (!all)
        found_count = 0;
    crn_addresses addresses = {
        .all = crn_calloc(found_count + (size_t)1, sizeof *addresses.all),
        .modules = crn_calloc(note_count + 1, sizeof *addresses.modules),
    };
    for (uint32_t start = 0, end; start < found_count; start = end) {
        const char *path = all[start].path;
        for (end = start; end < found_count && strcmp(all[end].path, path) == 0;)
            end++;
        const crn_note **note = bsearch(path, notes, note_count, sizeof *notes, compare_paths);
        if (!note)
            continue; /* a block of a host, whose name only looks like an address */
        crn_module *module = &addresses.modules[addresses.module_count++];
        *module = (crn_module){path, (*note)->value, addresses.all + addresses.count, end - start};
        for (uint32_t i = start; i < end; i++)
            addresses.all[addresses.count++] = all[i].address;
    }
    crn_free(all);
    crn_free(notes);
    return addresses;
}

void crn_addresses_free(crn_addresses *addresses)
{
    crn_free(addresses->modules);
    crn_free(addresses->all);
    *addresses = (crn_addresses){0};
}
