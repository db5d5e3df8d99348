/* SPDX-License-Identifier: MIT
 *
 * coroutine.c - maps lua_States to strands. There can be 100,000 at once and millions one after
 * the other, so records are found by hash and reused.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"

typedef struct crn_coroutine_table {
    crn_coroutine **slots;
    size_t mask;
    size_t count;
    crn_coroutine *free;
    crn_coroutine nobody; /* shared by all coroutines for which there was no memory */
    const crn_frame *nobody_frames[2];
} crn_coroutine_table;

enum {
    TABLE_START = CRN_FIRST_SIZE(64, 2),
    FRAMES_START = CRN_FIRST_SIZE(16, 2),
    FRAMES_KEPT = CRN_FIRST_SIZE(256, 4)
};

static size_t hash(const lua_State *L)
{
    return crn_code_hash(L);
}

static void frames_reset(crn_coroutine *coroutine)
{
    coroutine->top = coroutine->frames;
    coroutine->frames[0] = NULL;
}

bool crn_coroutines_open(crn_host *host)
{
    crn_coroutine_table *table = calloc(1, sizeof *table);
    if (!table)
        return false;
    table->slots = calloc(TABLE_START, sizeof *table->slots);
    if (!table->slots) {
        free(table);
        return false;
    }
    table->mask = TABLE_START - 1;
    table->nobody.frames = table->nobody_frames;
    table->nobody.limit = table->nobody_frames + 2;
    frames_reset(&table->nobody);
    host->coroutines = table;
    host->running = &table->nobody;
    return true;
}

void crn_coroutines_close(crn_host *host)
{
    crn_coroutine_table *table = host->coroutines;
    if (!table)
        return;
    for (size_t i = 0; i <= table->mask; i++)
        if (table->slots[i]) {
            free((void *)table->slots[i]->frames);
            free(table->slots[i]);
        }
    while (table->free) {
        crn_coroutine *next = table->free->next_free;
        free((void *)table->free->frames);
        free(table->free);
        table->free = next;
    }
    free((void *)table->slots);
    free(table);
    host->coroutines = NULL;
}

static crn_coroutine **slot_of(const crn_coroutine_table *table, const lua_State *L)
{
    size_t i = hash(L) & table->mask;
    while (table->slots[i] && table->slots[i]->L != L)
        i = (i + 1) & table->mask;
    return &table->slots[i];
}

static bool table_grow(crn_coroutine_table *table)
{
    size_t size = (table->mask + 1) * 2;
    crn_coroutine **old = table->slots;
    size_t old_mask = table->mask;
    crn_coroutine **slots = calloc(size, sizeof(crn_coroutine *));
    if (!slots)
        return false;
    table->slots = slots;
    table->mask = size - 1;
    for (size_t i = 0; i <= old_mask; i++)
        if (old[i])
            *slot_of(table, old[i]->L) = old[i];
    free((void *)old);
    return true;
}

/* Removes a record from the hash table and closes the gap in its probe chain. */
static void table_remove(crn_coroutine_table *table, const lua_State *L)
{
    size_t hole = (size_t)(slot_of(table, L) - table->slots);
    if (!table->slots[hole])
        return;
    for (size_t i = (hole + 1) & table->mask; table->slots[i]; i = (i + 1) & table->mask) {
        size_t home = hash(table->slots[i]->L) & table->mask;
        if (((i - home) & table->mask) >= ((i - hole) & table->mask)) {
            table->slots[hole] = table->slots[i];
            hole = i;
        }
    }
    table->slots[hole] = NULL;
    table->count--;
}

static crn_coroutine *record_new(crn_coroutine_table *table)
{
    crn_coroutine *coroutine = table->free;
    if (coroutine) {
        table->free = coroutine->next_free;
        const crn_frame **frames = coroutine->frames;
        const crn_frame **limit = coroutine->limit;
        memset(coroutine, 0, sizeof *coroutine);
        coroutine->frames = frames;
        coroutine->limit = limit;
        frames_reset(coroutine);
        return coroutine;
    }
    coroutine = calloc(1, sizeof *coroutine);
    if (!coroutine)
        return NULL;
    coroutine->frames = malloc(FRAMES_START * sizeof *coroutine->frames);
    if (!coroutine->frames) {
        free(coroutine);
        return NULL;
    }
    coroutine->limit = coroutine->frames + FRAMES_START;
    frames_reset(coroutine);
    return coroutine;
}

static void record_free(crn_coroutine_table *table, crn_coroutine *coroutine)
{
    /* Frees the memory of a very deep stack. */
    if (coroutine->limit - coroutine->frames > FRAMES_KEPT) {
        const crn_frame **frames =
            realloc((void *)coroutine->frames, FRAMES_START * sizeof *frames);
        if (frames) {
            coroutine->frames = frames;
            coroutine->limit = frames + FRAMES_START;
        }
    }
    coroutine->next_free = table->free;
    table->free = coroutine;
}

crn_coroutine *crn_coroutine_find(const crn_host *host, const lua_State *L)
{
    return *slot_of(host->coroutines, L);
}

crn_coroutine *crn_coroutine_record(crn_host *host, lua_State *L)
{
    crn_coroutine_table *table = host->coroutines;
    crn_coroutine **slot = slot_of(table, L);
    if (*slot)
        return *slot;
    if (table->count * 2 > table->mask) {
        if (!table_grow(table))
            return &table->nobody;
        slot = slot_of(table, L);
    }
    crn_coroutine *coroutine = record_new(table);
    if (!coroutine)
        return &table->nobody;
    coroutine->L = L;
    *slot = coroutine;
    table->count++;
    return coroutine;
}

crn_coroutine *crn_coroutine_get(crn_host *host, lua_State *L)
{
    crn_coroutine *coroutine = crn_coroutine_record(host, L);
    if (!coroutine->strand && coroutine->L)
        coroutine->strand = cairn_strand_open(host->lane);
    return coroutine;
}

void crn_coroutine_end(crn_host *host, crn_coroutine *coroutine)
{
    if (!coroutine->L || coroutine->L == host->main)
        return;
    cairn_strand_close(coroutine->strand);
    coroutine->strand = NULL;
    frames_reset(coroutine);
    if (coroutine->program_hook)
        return;
    table_remove(host->coroutines, coroutine->L);
    record_free(host->coroutines, coroutine);
}

void crn_coroutine_freed(crn_host *host, const lua_State *L)
{
    crn_coroutine *coroutine = crn_coroutine_find(host, L);
    if (!coroutine)
        return;
    if (host->running == coroutine)
        crn_coroutine_leave(host);
    coroutine->program_hook = NULL;
    crn_coroutine_end(host, coroutine);
}

void crn_coroutine_leave(crn_host *host)
{
    host->running = &host->coroutines->nobody;
}

void crn_coroutine_switch(crn_host *host, crn_coroutine *coroutine)
{
    if (host->mode == CRN_MODE_TICKS)
        crn_count_move(host, host->running, coroutine);
    host->running = coroutine;
    cairn_strand_switch(coroutine->strand);
}

bool crn_coroutine_grow(crn_coroutine *coroutine)
{
    const crn_frame **old = coroutine->frames;
    size_t size = (size_t)(coroutine->limit - old);
    if (!coroutine->L)
        return false;
    const crn_frame **frames = malloc(2 * size * sizeof *frames);
    if (!frames)
        return false;
    memcpy((void *)frames, (void *)old, size * sizeof *frames);
    coroutine->top = frames + (coroutine->top - old);
    coroutine->limit = frames + 2 * size;
    coroutine->frames = frames;
    free((void *)old);
    return true;
}
