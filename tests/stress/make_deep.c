/* SPDX-License-Identifier: MIT
 *
 * make_deep.c - writes a capture with one path of any length: make_deep CAPTURE DEPTH. Writes
 * graph records directly, because the runtime's path limit would fold the path.
 */
#include <stdio.h>
#include <stdlib.h>

#include "profile/profile.h"

enum { BLOCKS = 1000 };

/* Each block comes again after some thousand others: deep, wide in names, and recursive. */
static uint32_t block_at(uint32_t depth)
{
    return 1 + (uint32_t)(depth * (uint64_t)2654435761u >> 7) % BLOCKS;
}

static crn_profile *make(uint32_t depth)
{
    crn_graph graph = {.grow = crn_graph_grow_memory,
                       .path_limit = UINT32_MAX,
                       .context_budget = UINT32_MAX,
                       .alias_budget = UINT32_MAX};
    crn_records records;
    if (!crn_graph_open(&graph))
        return NULL;
    uint32_t record = CRN_RECORD_ROOT;
    crn_graph_record(&graph, record)->calls = 1;
    for (uint32_t i = 0; i < depth; i++) {
        record = crn_graph_graft(&graph, record, block_at(i));
        crn_graph_record(&graph, record)->calls = 1;
        crn_graph_record(&graph, record)->ticks = 1;
    }
    if (!crn_records_scan(&records, crn_graph_record(&graph, 0), graph.links, graph.used))
        return NULL;
    crn_profile *profile = crn_profile_new();
    for (uint32_t block = 1; block <= BLOCKS; block++) {
        char name[24];
        snprintf(name, sizeof(name), "b%u", block);
        crn_profile_put_block(profile, &(crn_block_info){.name = name, .file = "", .line = block});
    }
    crn_profile_put_records(profile, &records, 1);
    crn_records_free(&records);
    crn_graph_free_memory(&graph);
    return profile;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: make_deep CAPTURE DEPTH\n");
        return 2;
    }
    crn_error error = {0};
    crn_profile *profile = make((uint32_t)strtoul(argv[2], NULL, 10));
    if (!profile || !crn_profile_save(profile, argv[1], &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    crn_profile_free(profile);
    return 0;
}
