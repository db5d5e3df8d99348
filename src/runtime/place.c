/* SPDX-License-Identifier: MIT
 *
 * Makes the blocks, keys and texts of places at first use; begins and ends scopes.
 */
#include <cairn/scope.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/names.h"
#include "runtime/runtime.h"
#include "runtime/span.h"

static const char *string_at(const cairn_profile *profile, uint32_t offset)
{
    return profile->strings.base + offset;
}

/* ---- blocks by place; under the profile's lock ---- */

typedef struct wanted {
    const cairn_profile *profile;
    const cairn_block_info *info;
} wanted;

static uint64_t hash_of(const char *name, const char *file, uint32_t line)
{
    uint64_t hash = crn_names_mix(line, name, strlen(name));
    return crn_names_mix(hash, file, strlen(file));
}

static const crn_disk_block *block_at(const cairn_profile *profile, cairn_block block)
{
    return (const crn_disk_block *)profile->blocks.base + block;
}

static bool is_block(const void *context, uint32_t number)
{
    const wanted *wanted = context;
    const crn_disk_block *block = block_at(wanted->profile, number);
    return block->line == wanted->info->line &&
           strcmp(string_at(wanted->profile, block->name), wanted->info->name) == 0 &&
           strcmp(string_at(wanted->profile, block->file), wanted->info->file) == 0;
}

static uint64_t hash_of_block(const void *context, uint32_t number)
{
    const cairn_profile *profile = context;
    const crn_disk_block *block = block_at(profile, number);
    return hash_of(string_at(profile, block->name), string_at(profile, block->file), block->line);
}

static cairn_block find_or_add(cairn_profile *profile, const cairn_block_info *info)
{
    cairn_block_info whole = *info;
    whole.file = info->file ? info->file : "";
    uint64_t hash = hash_of(whole.name, whole.file, whole.line);
    cairn_block block =
        crn_names_find(&profile->places, hash, is_block, &(wanted){profile, &whole});
    if (block)
        return block;
    block = crn_profile_add_block(profile, &whole);
    if (block)
        crn_names_add(&profile->places, hash, block, hash_of_block, profile);
    return block;
}

cairn_block cairn_block_once(cairn_profile *profile, const cairn_block_info *info)
{
    return crn_profile_make_block(profile, info, find_or_add);
}

/* ---- texts by content; under the profile's lock ---- */

typedef struct wanted_text {
    const cairn_profile *profile;
    const char *text;
} wanted_text;

static bool is_text(const void *context, uint32_t number)
{
    const wanted_text *wanted = context;
    return strcmp(string_at(wanted->profile, number), wanted->text) == 0;
}

static uint64_t hash_of_text(const void *context, uint32_t number)
{
    const char *text = string_at(context, number);
    return crn_names_mix(0, text, strlen(text));
}

/* Returns `text`, or its first CAIRN_TEXT_MAX bytes in `kept` if it is longer. */
static const char *shorten(const char *text, char kept[CAIRN_TEXT_MAX + 1])
{
    if (strnlen(text, CAIRN_TEXT_MAX + 1) <= CAIRN_TEXT_MAX)
        return text;
    memcpy(kept, text, CAIRN_TEXT_MAX);
    kept[CAIRN_TEXT_MAX] = 0;
    return kept;
}

cairn_text cairn_text_add(cairn_profile *profile, const char *text)
{
    char kept[CAIRN_TEXT_MAX + 1];
    if (!profile || !text || !*text)
        return CAIRN_TEXT_NONE;
    int saved = errno;
    text = shorten(text, kept);
    bool ready = crn_profile_is_ready(profile);
    crn_profile_lock(profile);
    uint64_t hash = crn_names_mix(0, text, strlen(text));
    cairn_text found =
        ready ? crn_names_find(&profile->texts, hash, is_text, &(wanted_text){profile, text}) : 0;
    if (ready && !found) {
        found = crn_profile_string(profile, text);
        if (found)
            crn_names_add(&profile->texts, hash, found, hash_of_text, profile);
    }
    crn_profile_unlock(profile);
    errno = saved;
    return found;
}

/* ---- places ---- */

static cairn_profile *profile_of(const cairn_strand *strand)
{
    return crn_lane_of(strand)->profile;
}

/* Returns false for abandoned lanes (fork.c), which record nothing. */
static bool has_profile(const cairn_strand *strand)
{
    return !crn_lane_is_buried(crn_lane_of(strand));
}

/* Caches a number in the place, with the id that says for which profile it is valid. */
static void remember(cairn_place *place, const cairn_profile *profile, uint32_t number)
{
    __atomic_store_n(&place->known, (uint64_t)profile->names << 32 | number, __ATOMIC_RELAXED);
}

cairn_block cairn_priv_place_block(cairn_strand *strand, cairn_place *place)
{
    if (!has_profile(strand))
        return CAIRN_BLOCK_ROOT;
    cairn_profile *profile = profile_of(strand);
    cairn_block_info info = {.name = place->name, .file = place->file, .line = place->line};
    cairn_block block = cairn_block_once(profile, &info);
    remember(place, profile, block);
    return block;
}

/* Returns the first key with that name, or CAIRN_KEY_MAX. Under the profile's lock. */
static cairn_key find_key(const cairn_profile *profile, const char *name)
{
    const crn_disk_key *keys = (const crn_disk_key *)profile->keys.base;
    for (cairn_key i = 0; i < profile->key_count; i++)
        if (strcmp(string_at(profile, keys[i].name), name) == 0)
            return i;
    return CAIRN_KEY_MAX;
}

cairn_key cairn_priv_place_key(cairn_strand *strand, cairn_place *place)
{
    if (!has_profile(strand))
        return CAIRN_KEY_MAX;
    cairn_profile *profile = profile_of(strand);
    crn_profile_lock(profile);
    cairn_key key = find_key(profile, place->name);
    crn_profile_unlock(profile);
    if (key == CAIRN_KEY_MAX)
        key = cairn_key_add(profile, place->name);
    remember(place, profile, key);
    return key;
}

cairn_text cairn_priv_place_text(cairn_strand *strand, cairn_place *place)
{
    if (!has_profile(strand))
        return CAIRN_TEXT_NONE;
    cairn_profile *profile = profile_of(strand);
    cairn_text text = cairn_text_add(profile, place->name);
    remember(place, profile, text);
    return text;
}

/* ---- scopes ---- */

void cairn_priv_scope_end(cairn_strand *strand, size_t height)
{
    const cairn_priv_strand *s = &strand->hot;
    if (cairn_strand_depth(strand) == height + 1 && s->open[-1].height <= height)
        cairn_span_end(strand);
    else
        cairn_strand_unwind(strand, height);
}

/* Returns true if the scope is on the own strand of another thread, which began it. Counts that as
 * misuse, and the first time notes the scope's name and place. */
bool cairn_priv_scope_strays(const cairn_scope *scope)
{
    enum { TEXT_MAX = 1024 };
    static int noted;
    const cairn_lane *lane = crn_lane_of(scope->strand);
    if (crn_lane_is_buried(lane) || !__atomic_load_n(&lane->of_thread, __ATOMIC_RELAXED) ||
        __atomic_load_n(&lane->owner, __ATOMIC_RELAXED) == crn_thread_self())
        return false;
    cairn_strand *own = cairn_thread_strand();
    if (!own || crn_lane_is_buried(crn_lane_of(own)))
        return true;
    CAIRN_PRIV_ADD(crn_lane_of(own)->disk->misuses, 1);
    if (__atomic_exchange_n(&noted, 1, __ATOMIC_RELAXED))
        return true;
    char text[TEXT_MAX];
    const cairn_place *place = scope->place;
    snprintf(text, sizeof text, "\"%s\" of %s:%u", place ? place->name : "a scope",
             place && place->file ? place->file : "?", place ? place->line : 0);
    cairn_profile_note(profile_of(own), "stray", text);
    return true;
}

/* Sets the strand's `aim`, so that attributes go to the scope's span even if that span is not the
 * innermost one. Returns false if the calling thread cannot use the scope. */
bool cairn_priv_scope_aim(const cairn_scope *scope)
{
    cairn_strand *strand = scope->strand;
    if (!strand || (strand != cairn_priv_thread_strand && cairn_priv_scope_strays(scope)))
        return false;
    if (!strand->open_spans)
        return true;
    const cairn_priv_open *open = strand->hot.open - 1;
    if (open->height == scope->height && !crn_open_is_adoption(open->span))
        return true;
    strand->aim = CRN_AIM_NOWHERE;
    for (; open > strand->open_spans && open->height >= scope->height; open--)
        if (open->height == scope->height && crn_open_is_recorded(open->span))
            strand->aim = open->span;
    return true;
}

void cairn_priv_scope_aim_end(const cairn_scope *scope)
{
    if (scope->strand)
        scope->strand->aim = 0;
}

void cairn_priv_adoption_begin(cairn_adoption *adoption, cairn_strand *strand,
                               const cairn_handoff *handoff)
{
    *adoption = (cairn_adoption){strand, crn_strand_depth(strand)};
    crn_handoff_adopt(strand, handoff);
}

/* Ends an adoption, after everything above it on the stack. */
void cairn_priv_adoption_end(const cairn_adoption *adoption)
{
    if (crn_strand_depth(adoption->strand) > adoption->height + 1)
        cairn_strand_unwind(adoption->strand, adoption->height + 1);
    cairn_handoff_leave(adoption->strand);
}

cairn_scope cairn_priv_scope_begin_named(cairn_strand *strand, const char *name, int64_t iteration)
{
    cairn_scope scope = {strand, 0, NULL};
    if (!strand)
        return scope;
    cairn_block block = CAIRN_BLOCK_ROOT;
    if (has_profile(strand))
        block = cairn_block_once(profile_of(strand), &(cairn_block_info){.name = name});
    scope.height = cairn_strand_mark(strand);
    cairn_span_begin(strand, block, iteration);
    return scope;
}
