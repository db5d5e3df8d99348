/* SPDX-License-Identifier: MIT */
#include "spans/samples.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "spans/store_opening.h"

void crn_samples_free(crn_samples *samples)
{
    crn_free(samples->list);
    crn_free(samples->paths);
    crn_free(samples->changes);
    *samples = (crn_samples){0};
}

crn_samples crn_samples_copy(const crn_samples *samples)
{
    crn_samples copy = *samples;
    copy.list = crn_copied(samples->list, samples->count, sizeof *copy.list);
    copy.paths = crn_copied(samples->paths, samples->path_count, sizeof *copy.paths);
    copy.changes = crn_copied(samples->changes, samples->change_count, sizeof *copy.changes);
    return copy;
}

/* ---- making ---- */

void crn_samples_begin(crn_samples_making *making, crn_samples *to)
{
    *making = (crn_samples_making){.to = to};
    *to = (crn_samples){0};
}

void crn_samples_end(crn_samples_making *making)
{
    if (making->numbers)
        crn_interning_free(making->numbers);
    *making = (crn_samples_making){0};
}

static void put_path(crn_samples_making *making, crn_path path)
{
    crn_samples *to = making->to;
    CRN_GROW(to->paths, to->path_count, making->path_room);
    to->paths[to->path_count++] = path;
}

static void put_first_path(crn_samples_making *making)
{
    if (!making->to->path_count)
        put_path(making, (crn_path){CRN_PATH_NONE, 0});
}

uint32_t crn_samples_path(crn_samples_making *making, uint32_t caller, uint32_t block)
{
    crn_path path = {caller, block};
    put_first_path(making);
    if (!making->numbers)
        making->numbers = crn_interning_new();
    uint32_t number = crn_intern_number(making->numbers, (const char *)&path, sizeof path) + 1;
    if (number == making->to->path_count)
        put_path(making, path);
    return number;
}

void crn_samples_add(crn_samples_making *making, const crn_sample *sample)
{
    crn_samples *to = making->to;
    if (to->count == UINT32_MAX)
        return;
    put_first_path(making);
    CRN_GROW(to->list, to->count, making->room);
    to->list[to->count++] = *sample;
}

void crn_samples_change(crn_samples_making *making, const crn_thread_change *change)
{
    crn_samples *to = making->to;
    if (to->change_count == UINT32_MAX)
        return;
    CRN_GROW(to->changes, to->change_count, making->change_room);
    to->changes[to->change_count++] = *change;
}

/* Returns, by path of `from`, its path in `making`, with the path `above` as outermost callers.
 * Unless `first` is NULL, also replaces blocks as crn_samples_replace does. */
static uint32_t *map_paths(crn_samples_making *making, const crn_samples *from, uint32_t above,
                           const uint32_t *first, const uint32_t *blocks, uint32_t count)
{
    uint32_t *map = crn_calloc(from->path_count + (size_t)1, sizeof *map);
    map[CRN_PATH_NONE] = above;
    for (uint32_t p = 1; p < from->path_count; p++) {
        uint32_t block = from->paths[p].block;
        map[p] = map[from->paths[p].caller];
        if (!first)
            map[p] = crn_samples_path(making, map[p], block);
        else if (block < count)
            for (uint32_t i = first[block]; i < first[block + 1]; i++)
                map[p] = crn_samples_path(making, map[p], blocks[i]);
    }
    return map;
}

static void join(crn_samples_making *making, const crn_samples *from, uint32_t lane,
                 const uint32_t *paths)
{
    for (uint32_t s = 0; s < from->count; s++) {
        crn_sample sample = from->list[s];
        sample.path = paths[sample.path];
        sample.lane += lane;
        crn_samples_add(making, &sample);
    }
    for (uint32_t c = 0; c < from->change_count; c++) {
        crn_thread_change change = from->changes[c];
        change.lane += lane;
        crn_samples_change(making, &change);
    }
}

void crn_samples_join(crn_samples_making *making, const crn_samples *from, uint32_t lane)
{
    uint32_t *paths = map_paths(making, from, CRN_PATH_NONE, NULL, NULL, 0);
    join(making, from, lane, paths);
    crn_free(paths);
}

/* Replaces the paths. If `below`, makes `block` the outermost caller of all; for the rest see
 * map_paths. */
static void change_paths(crn_samples *samples, bool below, uint32_t block, const uint32_t *first,
                         const uint32_t *blocks, uint32_t count)
{
    crn_samples from = *samples;
    crn_samples_making making;
    if (!from.count)
        return;
    crn_samples_begin(&making, samples);
    uint32_t above = below ? crn_samples_path(&making, CRN_PATH_NONE, block) : CRN_PATH_NONE;
    uint32_t *paths = map_paths(&making, &from, above, first, blocks, count);
    join(&making, &from, 0, paths);
    crn_free(paths);
    crn_samples_end(&making);
    crn_samples_free(&from);
}

void crn_samples_replace(crn_samples *samples, const uint32_t *first, const uint32_t *blocks,
                         uint32_t count)
{
    change_paths(samples, false, 0, first, blocks, count);
}

void crn_samples_below(crn_samples *samples, uint32_t block)
{
    change_paths(samples, true, block, NULL, NULL, 0);
}

static int compare_changes(const void *left, const void *right)
{
    const crn_thread_change *a = left, *b = right;
    return CRN_ORDER(a->lane, b->lane)
               ?: CRN_ORDER(a->at, b->at)
               ?: CRN_ORDER(a->thread, b->thread);
}

static int compare(const void *left, const void *right)
{
    const crn_sample *a = left, *b = right;
    return CRN_ORDER(a->lane, b->lane)
               ?: CRN_ORDER(a->at, b->at)
               ?: CRN_ORDER(a->path, b->path)
               ?: CRN_ORDER(a->cpu, b->cpu);
}

void crn_samples_sort(crn_samples *samples)
{
    uint32_t sorted = 1;
    while (sorted < samples->count &&
           compare(&samples->list[sorted - 1], &samples->list[sorted]) <= 0)
        sorted++;
    if (sorted < samples->count)
        qsort(samples->list, samples->count, sizeof *samples->list, compare);
    if (samples->change_count)
        qsort(samples->changes, samples->change_count, sizeof *samples->changes, compare_changes);
}
