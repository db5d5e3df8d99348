/* SPDX-License-Identifier: MIT */
#include "runtime/names.h"

#include <string.h>

#include "base/limits.h"
#include "base/memory.h"

enum { NAMES_FIRST = CRN_FIRST(64, 2) };

uint64_t crn_names_mix(uint64_t hash, const void *bytes, uint64_t size)
{
    const char *at = bytes;
    hash ^= size;
    for (uint64_t word; size; size -= word) {
        uint64_t part = 0;
        word = size < sizeof part ? size : sizeof part;
        memcpy(&part, at, word);
        at += word;
        hash = (hash ^ part) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

uint32_t crn_names_find(const crn_names *names, uint64_t hash, crn_names_match *match,
                        const void *context)
{
    if (!names->slots)
        return 0;
    for (uint32_t at = (uint32_t)hash;; at++) {
        uint32_t number = names->slots[at & names->mask];
        if (!number || match(context, number))
            return number;
    }
}

static void put(crn_names *names, uint64_t hash, uint32_t number)
{
    uint32_t at = (uint32_t)hash;
    while (names->slots[at & names->mask])
        at++;
    names->slots[at & names->mask] = number;
}

static bool grow(crn_names *names, crn_names_hash *rehash, const void *context)
{
    crn_names old = *names;
    uint32_t room = old.slots ? (old.mask + 1) * 2 : NAMES_FIRST;
    uint32_t *slots = room ? crn_try_calloc(room, sizeof *slots) : NULL;
    if (!slots)
        return false;
    *names = (crn_names){slots, room - 1, old.count};
    for (uint32_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i])
            put(names, rehash(context, old.slots[i]), old.slots[i]);
    crn_free(old.slots);
    return true;
}

void crn_names_add(crn_names *names, uint64_t hash, uint32_t number, crn_names_hash *rehash,
                   const void *context)
{
    if (!names->slots || names->count >= names->mask / 2)
        if (!grow(names, rehash, context) && (!names->slots || names->count >= names->mask))
            return;
    put(names, hash, number);
    names->count++;
}

void crn_names_free(crn_names *names)
{
    crn_free(names->slots);
    *names = (crn_names){0};
}
