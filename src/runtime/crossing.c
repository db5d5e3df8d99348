/* SPDX-License-Identifier: MIT
 *
 * The tag of a lane's graph, and the lane's caches that translate contexts of other lanes to
 * records of its own graph.
 */
#include "base/memory.h"
#include "runtime/siblings.h"
#include "runtime/translation.h"

/* Returns the tag, which is in the upper 32 bits. As FACTOR is odd, graphs have different tags if
 * the lower 32 bits of their serial numbers differ. MASK makes a tag differ from numbers that
 * programs usually store, because a leave without an enter takes any word in the function's frame
 * for a saved caller. */
uint64_t crn_graph_tag(const cairn_lane *lane)
{
    enum { FACTOR = 0x5bd1e995, MASK = 0x2b7e1516 };
    return ((lane->serial * FACTOR) ^ MASK) << 32;
}

/* A cache that translates contexts of another lane to records of this lane with the same path. */
struct crn_crossing {
    uint64_t from; /* serial number of the other lane */
    crn_translation translation;
    crn_crossing *next;
};

crn_translation *crn_crossing_find(const cairn_lane *from, cairn_lane *to)
{
    crn_crossing *found = to->crossings;
    while (found && found->from != from->serial)
        found = found->next;
    if (!found) {
        found = crn_try_calloc(1, sizeof *found);
        if (!found)
            return NULL;
        found->from = from->serial;
        found->next = to->crossings;
        to->crossings = found;
    }
    return &found->translation;
}

void crn_redirect_forget(cairn_lane *lane)
{
    static uint64_t serial;
    lane->serial = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next)
        strand->hot.graph_tag = crn_graph_tag(lane);
    for (crn_crossing *next; lane->crossings; lane->crossings = next) {
        next = lane->crossings->next;
        crn_translation_free(&lane->crossings->translation);
        crn_free(lane->crossings);
    }
}
