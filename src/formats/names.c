/* SPDX-License-Identifier: MIT */
#include "formats/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/text.h"

/* Limit on lexical parents in a name. */
enum { PARENTS_MAX = 32 };

/* Writes the escape of a character; above U+FFFF, two surrogates. */
static char *put_escape(char *to, uint32_t character)
{
    if (character < 0x10000)
        return to + sprintf(to, "\\u%04x", (unsigned)character);
    character -= 0x10000;
    return to + sprintf(to, "\\u%04x\\u%04x", 0xd800 + (unsigned)(character >> 10),
                        0xdc00 + (unsigned)(character & 0x3ff));
}

/* One byte becomes at most six: \\u001f. */
char *crn_names_json(const char *text)
{
    char *json = crn_calloc(strlen(text) * 6 + 3, 1), *to = json;
    *to++ = '"';
    while (*text) {
        uint32_t character;
        size_t length = crn_text_decode(text, &character);
        if (*text == '"' || *text == '\\')
            *to++ = '\\';
        if (!length)
            to = stpcpy(to, "\xef\xbf\xbd");
        else if (crn_text_is_unsafe(character))
            to = put_escape(to, character);
        else
            to = mempcpy(to, text, length);
        text += length ? length : 1;
    }
    *to = '"';
    return json;
}

void crn_names_put_json(FILE *out, const char *text)
{
    char *quoted = crn_names_json(text);
    fputs(quoted, out);
    crn_free(quoted);
}

/* Prints a block's name after those of its lexical parents, up to a name that begins with its
 * parent's. */
static void print_qualified(FILE *out, const crn_profile *profile, uint32_t block)
{
    uint32_t chain[PARENTS_MAX], length = 0;
    for (uint32_t at = block; length < PARENTS_MAX && profile->blocks[at].parent;) {
        uint32_t parent = profile->blocks[at].parent;
        if (parent >= profile->block_count || parent == at)
            break;
        const char *name = profile->blocks[parent].name;
        if (strncmp(profile->blocks[at].name, name, strlen(name)) == 0)
            break;
        chain[length++] = at = parent;
    }
    while (length > 0)
        fprintf(out, "%s.", profile->blocks[chain[--length]].name);
    fputs(profile->blocks[block].name, out);
}

enum { LEVEL_NAME, LEVEL_PARENTS, LEVEL_LINE, LEVEL_COLUMN, LEVEL_NUMBER, LEVEL_COUNT };

static char *label_make(const crn_profile *profile, uint32_t block, int level)
{
    const crn_block_info *info = &profile->blocks[block];
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    if (level == LEVEL_NAME)
        fputs(info->name, out);
    else
        print_qualified(out, profile, block);
    if (level >= LEVEL_LINE && *info->file) {
        fprintf(out, " %s:%u", info->file, info->line);
        if (level >= LEVEL_COLUMN && info->column)
            fprintf(out, ":%u", info->column);
    }
    if (level >= LEVEL_NUMBER)
        fprintf(out, " #%u", block);
    fclose(out);
    char *label = crn_text_copy(*text ? text : "[unnamed]", false);
    free(text);
    return label;
}

static int compare(const void *left, const void *right, void *labels)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return strcmp(((char **)labels)[a], ((char **)labels)[b]) ?: CRN_ORDER(a, b);
}

/* Gives blocks with equal labels the longer label of `level`. Returns true if there were any. */
static bool lengthen(crn_names *names, const crn_profile *profile, uint32_t *order, int level)
{
    bool shared = false;
    uint32_t count = names->used_count;
    qsort_r(order, count, sizeof *order, compare, names->labels);
    for (uint32_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count; end++)
            if (strcmp(names->labels[order[begin]], names->labels[order[end]]) != 0)
                break;
        if (end - begin < 2)
            continue;
        shared = true;
        for (uint32_t i = begin; i < end; i++) {
            crn_free(names->labels[order[i]]);
            names->labels[order[i]] = label_make(profile, order[i], level);
        }
    }
    return shared;
}

void crn_names_open(crn_names *names, const crn_profile *profile)
{
    *names = (crn_names){.count = profile->block_count};
    names->labels = crn_calloc(profile->block_count + 1, sizeof *names->labels);
    names->used = crn_calloc(profile->block_count + 1, sizeof *names->used);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint32_t block = profile->block[c];
        if (!names->labels[block])
            names->labels[block] = label_make(profile, block, LEVEL_NAME);
    }
    for (uint32_t b = 0; b < profile->block_count; b++)
        if (names->labels[b])
            names->used[names->used_count++] = b;
    uint32_t *order = crn_calloc(names->used_count + 1, sizeof *order);
    memcpy(order, names->used, names->used_count * sizeof *order);
    for (int level = LEVEL_PARENTS; level < LEVEL_COUNT; level++)
        if (!lengthen(names, profile, order, level))
            break;
    crn_free(order);
}

void crn_names_close(crn_names *names)
{
    for (uint32_t b = 0; b < names->count; b++)
        crn_free(names->labels[b]);
    crn_free(names->labels);
    crn_free(names->used);
    *names = (crn_names){0};
}
