/* SPDX-License-Identifier: MIT */
#include "runtime/translation.h"

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

uint32_t crn_translate_record(crn_translation *translation, const crn_link *links, uint32_t used,
                              crn_graph *to, uint32_t record)
{
    if (record >= used || !reserve(&translation->map, &translation->size, used))
        return 0;
    uint32_t length = 0;
    record = links[record].target;
    translation->map[0] = translation->map[CRN_RECORD_ROOT] = CRN_RECORD_ROOT;
    for (; !translation->map[record]; record = links[record].from) {
        if (!reserve(&translation->chain, &translation->capacity, length + (uint64_t)1))
            return 0;
        translation->chain[length++] = record;
    }
    uint32_t at = translation->map[record];
    while (length) {
        record = translation->chain[--length];
        at = translation->map[record] = crn_graph_follow(to, at, links[record].block);
    }
    return at;
}

void crn_translation_free(crn_translation *translation)
{
    crn_free(translation->map);
    crn_free(translation->chain);
    *translation = (crn_translation){0};
}
