/* SPDX-License-Identifier: MIT */
#include "profile/instances.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"

/* ---- names ---- */

/* Returns the position after the bracket that closes the bracket at `text`; the end of the text if
 * unclosed. strip() handles operators with brackets ("operator<", "operator()"). */
static const char *skip_brackets(const char *text)
{
    int depth = 0;
    for (; *text; text++) {
        if (strchr("<([{", *text))
            depth++;
        else if (strchr(">)]}", *text) && !(*text == '>' && text[-1] == '-') && --depth == 0)
            return text + 1;
    }
    return text;
}

static const char *operator_end(const char *text)
{
    static const char word[] = "operator";
    if (strncmp(text, word, sizeof word - 1) != 0)
        return NULL;
    const char *sign = text + sizeof word - 1;
    if (strncmp(sign, "()", 2) == 0 || strncmp(sign, "[]", 2) == 0)
        return sign + 2;
    size_t length = strspn(sign, "<>=-+*/%!&|^~,");
    return length ? sign + length : NULL;
}

/* Returns true if the text begins with a suffix that compilers append to clones. */
static bool is_clone(const char *text)
{
    static const char *const ends[] = {".part.",     ".constprop.", ".isra.",        ".cold",
                                       ".lto_priv.", ".simdclone.", ".target_clone."};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strncmp(text, ends[i], strlen(ends[i])) == 0)
            return true;
    return false;
}

/* Returns the end of an operator or "(anonymous namespace)" at `text`, whose brackets belong to the
 * name; NULL for other text. */
static const char *kept_end(const char *text, bool word_begins)
{
    static const char anonymous[] = "(anonymous namespace)";
    if (strncmp(text, anonymous, sizeof anonymous - 1) == 0)
        return text + sizeof anonymous - 1;
    return word_begins ? operator_end(text) : NULL;
}

/* Strips a name: "f<int>(int) [clone .part.0]" becomes "f". Keeps a name in brackets, such as
 * "[gc]" or "<gc>". Free it with crn_free. */
static char *strip(const char *name)
{
    char *stripped = crn_strdup(name), *to = stripped;
    while (*name && !is_clone(name)) {
        bool word_begins = to == stripped || !(isalnum((unsigned char)to[-1]) || to[-1] == '_');
        const char *end = kept_end(name, word_begins);
        if (end) {
            while (name < end)
                *to++ = *name++;
        } else if (strchr("<([", *name)) { /* "{lambda(int)#1}" becomes "{lambda#1}" */
            name = skip_brackets(name);
        } else {
            *to++ = *name++;
        }
    }
    while (to > stripped && to[-1] == ' ')
        to--;
    if (to > stripped) /* otherwise the copy is still the whole name */
        *to = 0;
    return stripped;
}

/* Returns a copy of the profile in which equal blocks are one block. */
static crn_profile *rebuild(const crn_profile *profile)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_profile_builder_add(builder, profile);
    for (size_t i = 0; i < profile->note_count; i++)
        crn_profile_builder_note(builder, profile->notes[i].key, profile->notes[i].value);
    return crn_profile_builder_end(builder);
}

/* Returns the part of a stripped name after the last "::" or "." before a name: "Calc.eval" gives
 * "eval", "f.0" stays. */
static const char *last_part(const char *name)
{
    const char *last = name;
    for (const char *at = name; *at; at++) {
        bool colons = at[0] == ':' && at[1] == ':';
        const char *next = at + (colons ? 2 : 1);
        if ((colons || *at == '.') && at > name &&
            (isalpha((unsigned char)*next) || *next == '_' || *next == '~'))
            last = next;
    }
    return last;
}

crn_profile *crn_names_shorten(const crn_profile *profile)
{
    crn_profile renamed = *profile; /* shares all but `blocks` with the original */
    char **stripped = crn_calloc(profile->block_count, sizeof *stripped);
    renamed.blocks = crn_calloc(profile->block_count, sizeof *renamed.blocks);
    for (uint32_t b = 0; b < profile->block_count; b++) {
        renamed.blocks[b] = profile->blocks[b];
        stripped[b] = strip(profile->blocks[b].name);
        renamed.blocks[b].name = last_part(stripped[b]);
        renamed.blocks[b].parent = 0;
    }
    crn_profile *made = rebuild(&renamed);
    for (uint32_t b = 0; b < profile->block_count; b++)
        crn_free(stripped[b]);
    crn_free((void *)stripped);
    crn_free(renamed.blocks);
    return made;
}

/* ---- blocks ---- */

typedef struct place {
    const crn_block_info *info;
    uint32_t block;
    char *name; /* stripped */
} place;

static int compare_places(const void *left, const void *right)
{
    const place *a = left, *b = right;
    return strcmp(a->info->file, b->info->file)
               ?: CRN_ORDER(a->info->line, b->info->line)
               ?: CRN_ORDER(a->info->column, b->info->column)
               ?: strcmp(a->name, b->name)
               ?: CRN_ORDER(a->block, b->block);
}

static bool is_same(const place *a, const place *b)
{
    return a->info->line == b->info->line && a->info->column == b->info->column &&
           strcmp(a->info->file, b->info->file) == 0 && strcmp(a->name, b->name) == 0;
}

/* Lists the blocks that may be instances, sorted by place and stripped name. */
static uint32_t list_places(const crn_profile *profile, const uint8_t *apart, place *places)
{
    uint32_t count = 0;
    for (uint32_t b = 1; b < profile->block_count; b++) {
        const crn_block_info *info = &profile->blocks[b];
        if (*info->file && info->line && !(apart && apart[b]))
            places[count++] = (place){info, b, strip(info->name)};
    }
    qsort(places, count, sizeof *places, compare_places);
    return count;
}

/* Maps all instances to the first, and gives them its stripped name and lexical parent. */
static void join(crn_block_info *blocks, uint32_t *first_of, const place *places, uint32_t count)
{
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && is_same(&places[i], &places[next]); next++)
            ;
        for (uint32_t k = i; next - i > 1 && k < next; k++) {
            first_of[places[k].block] = places[i].block;
            blocks[places[k].block].name = places[i].name;
            blocks[places[k].block].parent = places[i].info->parent;
        }
    }
}

crn_profile *crn_instances_merge(const crn_profile *profile, const uint8_t *apart)
{
    place *places = crn_calloc(profile->block_count, sizeof *places);
    uint32_t count = list_places(profile, apart, places);
    crn_profile joined = *profile; /* shares all but `blocks` with the original */
    uint32_t *first_of = crn_calloc(profile->block_count, sizeof *first_of);
    joined.blocks = crn_calloc(profile->block_count, sizeof *joined.blocks);
    for (uint32_t b = 0; b < profile->block_count; b++) {
        joined.blocks[b] = profile->blocks[b];
        first_of[b] = b;
    }
    join(joined.blocks, first_of, places, count);
    for (uint32_t b = 0; b < profile->block_count; b++)
        joined.blocks[b].parent = first_of[joined.blocks[b].parent];
    crn_profile *merged = rebuild(&joined);
    for (uint32_t i = 0; i < count; i++)
        crn_free(places[i].name);
    crn_free(places);
    crn_free(first_of);
    crn_free(joined.blocks);
    return merged;
}
