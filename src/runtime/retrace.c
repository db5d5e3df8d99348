/* SPDX-License-Identifier: MIT */
#include "runtime/retrace.h"

#include <string.h>

#include "base/memory.h"

static bool reserve(uint32_t **array, uint32_t *size, uint64_t needed)
{
    if (needed <= *size)
        return true;
    uint64_t grown = *size + (uint64_t)*size / 2;
    grown = grown < needed + 16 ? needed + 16 : grown;
    if (grown > UINT32_MAX)
        return false;
    uint32_t *larger = crn_try_realloc(*array, grown, sizeof *larger);
    if (!larger)
        return false;
    memset(larger + *size, 0, (grown - *size) * sizeof *larger);
    *array = larger;
    *size = (uint32_t)grown;
    return true;
}

uint32_t crn_retrace_record(crn_retrace *retrace, const crn_link *links, uint32_t used,
                            crn_graph *to, uint32_t record)
{
    if (record >= used || !reserve(&retrace->map, &retrace->size, used))
        return 0;
    uint32_t length = 0;
    record = links[record].target;
    retrace->map[CRN_RECORD_ROOT] = CRN_RECORD_ROOT;
    for (; !retrace->map[record]; record = links[record].from) {
        if (!reserve(&retrace->chain, &retrace->room, length + (uint64_t)1))
            return 0;
        retrace->chain[length++] = record;
    }
    uint32_t at = retrace->map[record];
    while (length) {
        record = retrace->chain[--length];
        at = retrace->map[record] = crn_graph_follow(to, at, links[record].block);
    }
    return at;
}

void crn_retrace_free(crn_retrace *retrace)
{
    crn_free(retrace->map);
    crn_free(retrace->chain);
    *retrace = (crn_retrace){0};
}
