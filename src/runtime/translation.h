/* SPDX-License-Identifier: MIT
 *
 * translation.h - translates contexts of one graph to another graph by path.
 */
#ifndef CRN_RUNTIME_TRANSLATION_H
#define CRN_RUNTIME_TRANSLATION_H

#include "graph/graph.h"

/* A cache of translated contexts. Initialise it with zeros. */
typedef struct crn_translation {
    uint32_t *map; /* by record of the first graph: record in the second graph; 0: not cached */
    uint32_t size;
    uint32_t *chain; /* for the path of a context, innermost first */
    uint32_t capacity;
} crn_translation;

/* Returns the record in `to` for the path of a record's context, adding it if needed. `links` are
 * those of the first graph, `used` is their number. Counts no calls. Returns 0 without memory.
 * Takes time only for contexts that are not cached; never recurses. */
uint32_t crn_translate_record(crn_translation *translation, const crn_link *links, uint32_t used,
                              crn_graph *to, uint32_t record);
void crn_translation_free(crn_translation *translation);

#endif
