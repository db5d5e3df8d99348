/* SPDX-License-Identifier: MIT
 *
 * Graphs that a lane had in ancestor processes. Compiled hosts save callers as node offsets in
 * machine frames, which cannot be found at a fork. So a saved caller is translated when its frame
 * is left, for which only the links of the old graph are needed.
 */
#include "base/memory.h"
#include "runtime/runtime.h"
#include "runtime/translation.h"

struct crn_old_graph {
    uint64_t tag; /* graph tag of the old graph */
    crn_section section;
    const crn_link *links;
    uint32_t used;
    crn_translation translation; /* to the present graph */
    struct crn_old_graph *next;
};

bool crn_old_graph_add(cairn_lane *lane, uint64_t tag, const crn_graph *graph,
                       const crn_section *links)
{
    /* The older graphs' translations lead to the graph that is now replaced. */
    for (struct crn_old_graph *old = lane->old_graphs; old; old = old->next)
        crn_translation_free(&old->translation);
    if (!graph->hot.inline_cache && !lane->old_graphs) /* no compiled host saves callers */
        return false;
    struct crn_old_graph *old = crn_try_calloc(1, sizeof *old);
    if (!old)
        return false;
    *old = (struct crn_old_graph){.tag = tag,
                                  .section = *links,
                                  .links = graph->links,
                                  .used = graph->used,
                                  .next = lane->old_graphs};
    lane->old_graphs = old;
    return true;
}

void crn_old_graphs_free(cairn_lane *lane)
{
    for (struct crn_old_graph *next; lane->old_graphs; lane->old_graphs = next) {
        next = lane->old_graphs->next;
        crn_translation_free(&lane->old_graphs->translation);
        crn_section_close(&lane->old_graphs->section);
        crn_free(lane->old_graphs);
    }
}

uint32_t crn_old_graph_translate(cairn_lane *lane, uint64_t tag, uint32_t record)
{
    struct crn_old_graph *old = lane->old_graphs;
    while (old && old->tag != tag)
        old = old->next;
    return old ? crn_translate_record(&old->translation, old->links, old->used, &lane->graph,
                                      record)
               : 0;
}
