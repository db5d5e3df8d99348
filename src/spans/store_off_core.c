/* SPDX-License-Identifier: MIT
 *
 * Reads the periods off core when a store is opened.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "spans/store_opening.h"

/* Returns the index of the lane with a number, CRN_SPAN_NONE if the store lacks it. */
static uint32_t lane_of(const crn_span_store *store, uint32_t number)
{
    size_t low = CRN_NUMBERS_BELOW(store->lane_numbers, store->lane_count, number);
    return low < store->lane_count && store->lane_numbers[low] == number ? (uint32_t)low
                                                                         : CRN_SPAN_NONE;
}

/* Adds an entry. Clamps its times to its period, which those of a damaged file may exceed. An entry
 * without an end is a wait up to the last moment in the capture. Returns true if it has an end. */
static bool add(crn_store_opening *opening, uint32_t lane, const crn_disk_off_core *disk,
                uint64_t last)
{
    crn_span_store *store = opening->store;
    uint64_t end = __atomic_load_n(&disk->end, __ATOMIC_ACQUIRE);
    crn_off_core entry = {.lane = lane,
                          .woken_by =
                              disk->woken_by ? lane_of(store, disk->woken_by - 1) : CRN_SPAN_NONE,
                          .begin = crn_store_monotonic(opening, disk->begin)};
    entry.end = end ? crn_store_monotonic(opening, end) : last;
    entry.end = entry.end > entry.begin ? entry.end : entry.begin;
    uint64_t length = entry.end - entry.begin;
    entry.ready = !end ? 0 : disk->ready < length ? disk->ready : length;
    entry.waiting =
        end && disk->waiting < length - entry.ready ? disk->waiting : length - entry.ready;
    CRN_GROW(store->off_core, store->off_core_count, opening->off_core_room);
    store->off_core[store->off_core_count++] = entry;
    return end != 0;
}

/* Ends an entry without an end where the next one begins: it ended while the capture was copied. */
static void end_before(crn_off_core *open, const crn_off_core *next)
{
    if (next->begin < open->begin || next->begin >= open->end)
        return;
    open->end = next->begin;
    open->waiting = open->end - open->begin;
}

static int compare_begins(const void *left, const void *right)
{
    const crn_off_core *a = left, *b = right;
    return CRN_ORDER(a->begin, b->begin) ?: CRN_ORDER(a->end, b->end);
}

bool crn_store_read_off_core(crn_store_opening *opening, uint32_t lane)
{
    crn_parts *parts;
    crn_span_store *store = opening->store;
    const crn_disk_header *header = &opening->reader->header;
    uint64_t last = crn_store_monotonic(opening, header->last[header->moments & 1].monotonic_ns);
    uint32_t first = store->off_core_count;
    bool open = false; /* the entry before has no end */
    if (!crn_store_section(opening, CRN_SECTION_OFF_CORE, lane, sizeof(crn_disk_off_core), &parts))
        return false;
    for (uint64_t i = 0; i < parts->count; i++) {
        const crn_disk_off_core *entries = (const void *)parts->parts[i].data;
        uint64_t most = UINT32_MAX - (uint64_t)1 - store->off_core_count, at = 0;
        most = parts->parts[i].count < most ? parts->parts[i].count : most;
        while (at < most && __atomic_load_n(&entries[at].begin, __ATOMIC_ACQUIRE)) {
            bool ended = add(opening, lane, &entries[at++], last);
            crn_store_touch(store, sizeof *entries);
            crn_off_core *added = &store->off_core[store->off_core_count - 1];
            if (open)
                end_before(added - 1, added);
            open = !ended;
        }
        if (at < parts->parts[i].count)
            break;
    }
    if (store->off_core_count > first)
        qsort(store->off_core + first, store->off_core_count - first, sizeof *store->off_core,
              compare_begins);
    store->cpu_known |= store->off_core_count > first;
    return true;
}
