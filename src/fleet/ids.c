/* SPDX-License-Identifier: MIT */
#include "fleet/ids.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/memory.h"

static const crn_fleet_id none;

static crn_fleet_id finish(const XXH3_state_t *state)
{
    crn_fleet_id id;
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
    memcpy(id.bytes, canonical.digest, sizeof id.bytes);
    return id;
}

/* Adds a text with its NUL, so that "a", "bc" and "ab", "c" differ. */
static void add_text(XXH3_state_t *state, const char *text)
{
    XXH3_128bits_update(state, text, strlen(text) + 1);
}

static crn_fleet_id block_id(const crn_block_info *block, const crn_fleet_id *parent)
{
    XXH3_state_t state;
    uint32_t place[2] = {block->line, block->column};
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    add_text(&state, block->name);
    add_text(&state, block->file);
    XXH3_128bits_update(&state, place, sizeof place);
    XXH3_128bits_update(&state, parent, sizeof *parent);
    return finish(&state);
}

/* Returns the ids of all blocks. A lexical parent can have any number, and parents in a hostile
 * file can be a cycle: a parent that is still being visited is ignored. */
crn_fleet_id *crn_fleet_block_ids(const crn_profile *profile)
{
    enum { NEW, ON_THE_WAY, DONE };
    uint32_t count = profile->block_count, *way = crn_calloc(count, sizeof *way);
    uint8_t *state = crn_calloc(count, 1);
    crn_fleet_id *ids = crn_calloc(count, sizeof *ids);
    for (uint32_t b = 0; b < count; b++) {
        uint32_t length = 0, at = b;
        for (; at < count && state[at] == NEW; at = profile->blocks[at].parent) {
            state[at] = ON_THE_WAY;
            way[length++] = at;
            if (!profile->blocks[at].parent)
                break;
        }
        while (length) {
            const crn_block_info *block = &profile->blocks[way[--length]];
            bool known = block->parent && block->parent < count && state[block->parent] == DONE;
            ids[way[length]] = block_id(block, known ? &ids[block->parent] : &none);
            state[way[length]] = DONE;
        }
    }
    crn_free(way);
    crn_free(state);
    return ids;
}

crn_fleet_id crn_fleet_bytes_hash(const void *bytes, size_t size)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, bytes, size);
    return finish(&state);
}

crn_fleet_id crn_fleet_ids_hash(const crn_fleet_id *ids, size_t count)
{
    return crn_fleet_bytes_hash(ids, count * sizeof *ids);
}

/* Returns the run's id. A capture with a trace_id keeps its id while it grows. */
static crn_fleet_id run_id(const crn_fleet_ids *ids, const crn_profile *profile)
{
    static const char *const keys[] = {"trace_id", "started", "process", "command"};
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        add_text(&state, crn_profile_note(profile, keys[i], ""));
    if (*crn_profile_note(profile, "trace_id", ""))
        return finish(&state);
    XXH3_128bits_update(&state, ids->contexts, profile->context_count * sizeof *ids->contexts);
    for (uint32_t m = 0; m < profile->metric_count; m++)
        if (profile->values[m])
            XXH3_128bits_update(&state, profile->values[m],
                                profile->context_count * sizeof **profile->values);
    for (size_t n = 0; n < profile->note_count; n++) {
        add_text(&state, profile->notes[n].key);
        add_text(&state, profile->notes[n].value);
    }
    return finish(&state);
}

void crn_fleet_ids_make(crn_fleet_ids *ids, const crn_profile *profile)
{
    ids->blocks = crn_fleet_block_ids(profile);
    ids->contexts = crn_calloc(profile->context_count, sizeof *ids->contexts);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        crn_fleet_id both[2] = {c ? ids->contexts[profile->parent[c]] : none,
                                ids->blocks[profile->block[c]]};
        ids->contexts[c] = crn_fleet_ids_hash(both, 2);
    }
    ids->run = run_id(ids, profile);
}

void crn_fleet_ids_free(crn_fleet_ids *ids)
{
    crn_free(ids->blocks);
    crn_free(ids->contexts);
    *ids = (crn_fleet_ids){0};
}
