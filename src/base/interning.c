/* SPDX-License-Identifier: MIT */
#include "base/interning.h"

#include <string.h>

#include "base/memory.h"

/* Strings are stored in arenas, which never move. The table holds the strings' numbers plus one. */
enum { ARENA_SIZE = 64 * 1024 };

typedef struct arena {
    struct arena *next;
    size_t used, size;
    char bytes[];
} arena;

typedef struct entry {
    const char *text;
    size_t length;
    uint32_t hash;
} entry;

struct crn_interning {
    arena *arenas;
    entry *entries;
    uint32_t count, capacity;
    uint32_t *table;
    uint32_t table_mask;
};

static uint32_t hash_of(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 32);
}

crn_interning *crn_interning_new(void)
{
    crn_interning *interning = crn_calloc(1, sizeof *interning);
    interning->table_mask = 255;
    interning->table = crn_calloc(interning->table_mask + 1, sizeof *interning->table);
    return interning;
}

void crn_interning_free(crn_interning *interning)
{
    if (!interning)
        return;
    for (arena *next, *a = interning->arenas; a; a = next) {
        next = a->next;
        crn_free(a);
    }
    crn_free(interning->entries);
    crn_free(interning->table);
    crn_free(interning);
}

static const char *copy(crn_interning *interning, const char *text, size_t length)
{
    arena *a = interning->arenas;
    if (!a || a->size - a->used < length + 1) {
        size_t size = length + 1 > ARENA_SIZE ? length + 1 : ARENA_SIZE;
        a = crn_calloc(1, sizeof *a + size);
        a->size = size;
        a->next = interning->arenas;
        interning->arenas = a;
    }
    char *place = a->bytes + a->used;
    memcpy(place, text, length);
    place[length] = 0;
    a->used += length + 1;
    return place;
}

static void grow_table(crn_interning *interning)
{
    uint32_t mask = interning->table_mask * 2 + 1;
    uint32_t *table = crn_calloc((size_t)mask + 1, sizeof *table);
    for (uint32_t i = 0; i < interning->count; i++) {
        uint32_t slot = interning->entries[i].hash & mask;
        while (table[slot])
            slot = (slot + 1) & mask;
        table[slot] = i + 1;
    }
    crn_free(interning->table);
    interning->table = table;
    interning->table_mask = mask;
}

uint32_t crn_intern_number(crn_interning *interning, const char *text, size_t length)
{
    uint32_t hash = hash_of(text, length);
    uint32_t slot = hash & interning->table_mask;
    for (; interning->table[slot]; slot = (slot + 1) & interning->table_mask) {
        const entry *e = &interning->entries[interning->table[slot] - 1];
        if (e->hash == hash && e->length == length && crn_is_same(e->text, text, length))
            return interning->table[slot] - 1;
    }
    CRN_GROW(interning->entries, interning->count, interning->capacity);
    uint32_t number = interning->count++;
    interning->entries[number] = (entry){copy(interning, text, length), length, hash};
    interning->table[slot] = number + 1;
    if (interning->count > interning->table_mask / 4 * 3)
        grow_table(interning);
    return number;
}

const char *crn_intern(crn_interning *interning, const char *text, size_t length)
{
    /* not in one expression: crn_intern_number may move the entries */
    uint32_t number = crn_intern_number(interning, text, length);
    return interning->entries[number].text;
}
