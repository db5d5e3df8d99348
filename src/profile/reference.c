/* SPDX-License-Identifier: MIT */
#include "profile/reference.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "base/path.h"

/* Limits: on the blocks that an error lists; on the bytes of a name that is compared for
 * similarity; on the commas in the name of a block in a sequence. */
enum { LISTED = 5, SIMILAR_LENGTH = 48, JOINED_PIECES = 16 };

typedef struct text {
    const char *start;
    size_t length;
} text;

/* Returns true if a block matches `wanted`, in one way of naming blocks. */
typedef bool match(const crn_profile *profile, uint32_t block, text wanted);

static bool text_is(text wanted, const char *other)
{
    return strlen(other) == wanted.length && memcmp(wanted.start, other, wanted.length) == 0;
}

static bool match_name(const crn_profile *profile, uint32_t block, text wanted)
{
    return text_is(wanted, profile->blocks[block].name);
}

static bool match_prefix(const crn_profile *profile, uint32_t block, text wanted)
{
    return strncmp(profile->blocks[block].name, wanted.start, wanted.length) == 0;
}

static bool match_qualified(const crn_profile *profile, uint32_t block, text wanted)
{
    while (!match_name(profile, block, wanted)) {
        const crn_block_info *info = &profile->blocks[block];
        size_t size = strlen(info->name);
        if (!info->parent || info->parent >= profile->block_count || wanted.length < size + 1 ||
            wanted.start[wanted.length - size - 1] != '.' ||
            memcmp(wanted.start + wanted.length - size, info->name, size) != 0)
            return false;
        wanted.length -= size + 1;
        block = info->parent;
    }
    return true;
}

/* Removes ":123" from the end of `wanted`; sets `*number` to 123. */
static bool take_number(text *wanted, uint32_t *number)
{
    size_t digits = 0;
    while (digits < wanted->length && digits < 9 &&
           isdigit((unsigned char)wanted->start[wanted->length - digits - 1]))
        digits++;
    if (!digits || digits == wanted->length || wanted->start[wanted->length - digits - 1] != ':')
        return false;
    *number = (uint32_t)strtoul(wanted->start + wanted->length - digits, NULL, 10);
    wanted->length -= digits + 1;
    return true;
}

static bool file_is(const char *file, text wanted)
{
    size_t size = strlen(file);
    if (size < wanted.length ||
        memcmp(file + size - wanted.length, wanted.start, wanted.length) != 0)
        return false;
    return size == wanted.length || file[size - wanted.length - 1] == '/';
}

static bool match_place(const crn_profile *profile, uint32_t block, text wanted)
{
    const crn_block_info *info = &profile->blocks[block];
    const char *at = memrchr(wanted.start, '@', wanted.length);
    if (!at)
        return false;
    text name = {wanted.start, (size_t)(at - wanted.start)};
    text file = {at + 1, wanted.length - name.length - 1};
    uint32_t numbers[2], count = 0;
    while (count < 2 && take_number(&file, &numbers[count]))
        count++;
    bool line = count == 0 || info->line == numbers[count - 1];
    bool column = count < 2 || info->column == numbers[0];
    return line && column && file.length && (!name.length || text_is(name, info->name)) &&
           file_is(info->file, file);
}

static bool match_similar(const crn_profile *profile, uint32_t block, text wanted)
{
    const char *name = profile->blocks[block].name;
    size_t length = strnlen(name, SIMILAR_LENGTH + 1);
    if (!wanted.length || wanted.length > SIMILAR_LENGTH)
        return false;
    char copy[SIMILAR_LENGTH + 1];
    memcpy(copy, wanted.start, wanted.length);
    copy[wanted.length] = 0;
    if (wanted.length > 2 && strcasestr(name, copy))
        return true;
    size_t allowed = wanted.length > 3 ? 2 : 1;
    if (length > SIMILAR_LENGTH || length > wanted.length + allowed ||
        wanted.length > length + allowed)
        return false;

    /* Levenshtein distance, row by row. */
    size_t row[SIMILAR_LENGTH + 1];
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 1; i <= wanted.length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            int a = tolower((unsigned char)copy[i - 1]), b = tolower((unsigned char)name[j - 1]);
            size_t best = diagonal + (a != b);
            diagonal = row[j];
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = diagonal + 1 < best ? diagonal + 1 : best;
        }
    }
    return row[length] <= allowed;
}

/* Returns the number of blocks that match; stores the first LISTED in `found`. */
static uint32_t find(const crn_profile *profile, match *match, text wanted, uint32_t found[LISTED])
{
    uint32_t count = 0;
    for (uint32_t b = 0; b < profile->block_count; b++) {
        if (!match(profile, b, wanted))
            continue;
        if (count < LISTED)
            found[count] = b;
        count++;
    }
    return count;
}

static void list_blocks(const crn_profile *profile, const uint32_t *found, uint32_t count,
                        char *list, size_t size)
{
    size_t used = 0;
    list[0] = 0;
    for (uint32_t i = 0; i < count && i < LISTED && used < size; i++) {
        char spelling[CRN_REFERENCE_SIZE];
        crn_reference_spell(profile, found[i], spelling);
        const char *joint = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        used += (size_t)snprintf(list + used, size - used, "%s%.60s", joint, spelling);
    }
    if (count > LISTED && used < size)
        snprintf(list + used, size - used, " or %u others", count - LISTED);
}

static bool number_block(const crn_profile *profile, text wanted, uint32_t *block)
{
    char digits[12] = "";
    if (wanted.length < 2 || wanted.length > 11 || wanted.start[0] != '#')
        return false;
    memcpy(digits, wanted.start + 1, wanted.length - 1);
    if (strspn(digits, "0123456789") != wanted.length - 1)
        return false;
    unsigned long number = strtoul(digits, NULL, 10);
    *block = (uint32_t)number;
    return number < profile->block_count;
}

bool crn_reference_block(const crn_profile *profile, const char *start, size_t length,
                         uint32_t *block, crn_error *error)
{
    static match *const matches[] = {match_name, match_place, match_qualified, match_prefix};
    text wanted = {start, length};
    int shown = length > 80 ? 80 : (int)length;
    uint32_t found[LISTED];
    char list[384];

    if (number_block(profile, wanted, block))
        return true;
    for (size_t i = 0; length && i < sizeof matches / sizeof *matches; i++) {
        uint32_t count = find(profile, matches[i], wanted, found);
        if (count == 1) {
            *block = found[0];
            return true;
        }
        if (count) {
            list_blocks(profile, found, count, list, sizeof list);
            return crn_error_set(error, CAIRN_E_ARGUMENT, "\"%.*s\" is ambiguous; write %s", shown,
                                 start, list);
        }
    }
    uint32_t count = find(profile, match_similar, wanted, found);
    if (!count)
        return crn_error_set(error, CAIRN_E_READ,
                             "there is no block \"%.*s\"; the report lists what there is", shown,
                             start);
    list_blocks(profile, found, count, list, sizeof list);
    return crn_error_set(error, CAIRN_E_READ, "there is no block \"%.*s\"; did you mean %s?", shown,
                         start, list);
}

/* ---- sequences ---- */

static size_t piece_end(const char *start, size_t from)
{
    return from + strcspn(start + from, ",");
}

static text trim(const char *start, size_t end)
{
    while (end && isspace((unsigned char)*start))
        start++, end--;
    while (end && isspace((unsigned char)start[end - 1]))
        end--;
    return (text){start, end};
}

/* Returns the longest run of comma-separated pieces that is the name of a block; if no run is, the
 * first piece. Sets `*end` to the position after it. */
static text next_piece(const crn_profile *profile, const char *start, size_t *end)
{
    uint32_t found[LISTED];
    size_t longest = *end = piece_end(start, 0);
    for (int i = 0; i < JOINED_PIECES && start[*end]; i++) {
        *end = piece_end(start, *end + 1);
        if (find(profile, match_name, trim(start, *end), found))
            longest = *end;
    }
    *end = longest;
    return trim(start, longest);
}

bool crn_reference_sequence(const crn_profile *profile, const char *start, crn_sequence *sequence,
                            crn_error *error)
{
    *sequence = (crn_sequence){0};
    for (;;) {
        if (sequence->length == CRN_SEQUENCE_MAX) {
            crn_sequence_free(sequence);
            return crn_error_set(error, CAIRN_E_ARGUMENT, "a sequence has at most %d blocks",
                                 CRN_SEQUENCE_MAX);
        }
        size_t end;
        text piece = next_piece(profile, start, &end);
        sequence->blocks =
            crn_realloc(sequence->blocks, sequence->length + 1, sizeof *sequence->blocks);
        if (!crn_reference_block(profile, piece.start, piece.length,
                                 &sequence->blocks[sequence->length], error)) {
            crn_sequence_free(sequence);
            return false;
        }
        sequence->length++;
        if (!start[end])
            return true;
        start += end + 1;
    }
}

/* ---- spelling ---- */

static uint32_t count_name(const crn_profile *profile, const char *name)
{
    uint32_t found[LISTED];
    return find(profile, match_name, (text){name, strlen(name)}, found);
}

void crn_reference_spell(const crn_profile *profile, uint32_t block,
                         char spelling[CRN_REFERENCE_SIZE])
{
    const crn_block_info *info = &profile->blocks[block];
    const char *file = crn_path_name(info->file);
    size_t size = CRN_REFERENCE_SIZE;
    bool typeable = true;
    for (const char *c = info->name; *c; c++)
        typeable &= (unsigned char)*c >= ' ' && *c != 0x7f && *c != '\'';
    if (typeable && (size_t)snprintf(spelling, size, "%s", info->name) < size &&
        count_name(profile, info->name) == 1)
        return;
    uint32_t found[LISTED];
    for (int i = 0; typeable && *file && i < 3; i++) {
        int length = i == 0 ? snprintf(spelling, size, "%s@%s:%u", info->name, file, info->line)
                     : i == 1
                         ? snprintf(spelling, size, "%s@%s:%u", info->name, info->file, info->line)
                         : snprintf(spelling, size, "%s@%s:%u:%u", info->name, info->file,
                                    info->line, info->column);
        if ((size_t)length < size &&
            find(profile, match_place, (text){spelling, (size_t)length}, found) == 1)
            return;
    }
    snprintf(spelling, size, "#%u", block);
}
