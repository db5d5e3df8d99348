/* SPDX-License-Identifier: MIT
 *
 * Matches the blocks of two profiles.
 *
 * Two blocks can only match if their lexical parents do, so matching goes from outer to inner
 * blocks, one level of nesting at a time. It ignores a moved source tree: a file that one profile
 * lacks matches the only file of the same base name that the other lacks. It also ignores a block's
 * own line in its name ("function <a.lua:12>").
 *
 * A second pass matches the remaining blocks. It ignores a lexical parent that only one of two
 * blocks has, and longer paths of the same file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/path.h"
#include "profile/diff.h"

typedef struct entry {
    const crn_block_info *info;
    char *name; /* owned */
    const char *file;
    uint32_t level;  /* depth of lexical nesting */
    uint32_t parent; /* the parent's number in the join */
    uint32_t block, side;
} entry;

static int compare_levels(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    return CRN_ORDER(a->level, b->level);
}

static int compare_alike(const entry *a, const entry *b)
{
    return strcmp(a->name, b->name) ?: strcmp(a->file, b->file) ?: CRN_ORDER(a->parent, b->parent);
}

static int compare_places(const entry *a, const entry *b)
{
    return CRN_ORDER(a->info->line, b->info->line) ?: CRN_ORDER(a->info->column, b->info->column);
}

static int compare_entries(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    return compare_alike(a, b)
               ?: compare_places(a, b)
               ?: CRN_ORDER(a->side, b->side)
               ?: CRN_ORDER(a->block, b->block);
}

/* Numbers blocks that are equal in name, file and parent: first pairs at the same line and column,
 * then the others in the order of lines. */
static void join_group(crn_block_join *join, const entry *group, size_t count)
{
    uint8_t *done = crn_calloc(count, sizeof *done);
    for (size_t i = 0; i + 1 < count; i++) {
        const entry *a = &group[i], *b = &group[i + 1];
        if (done[i] || a->side == b->side || compare_places(a, b) != 0)
            continue;
        join->numbers[a->side][a->block] = join->numbers[b->side][b->block] = join->count++;
        done[i] = done[i + 1] = 1;
    }
    size_t at[CRN_SIDES] = {0, 0};
    for (;;) {
        for (uint32_t side = 0; side < CRN_SIDES; side++)
            while (at[side] < count && (done[at[side]] || group[at[side]].side != side))
                at[side]++;
        if (at[0] == count && at[1] == count)
            break;
        for (uint32_t side = 0; side < CRN_SIDES; side++)
            if (at[side] < count)
                join->numbers[side][group[at[side]++].block] = join->count;
        join->count++;
    }
    crn_free(done);
}

static void join_level(crn_block_join *join, entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t parent = entries[i].info->parent;
        entries[i].parent =
            entries[i].level ? join->numbers[entries[i].side][parent] : CRN_DIFF_NONE;
    }
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t start = 0, end; start < count; start = end) {
        for (end = start + 1; end < count; end++)
            if (compare_alike(&entries[start], &entries[end]) != 0)
                break;
        join_group(join, entries + start, end - start);
    }
}

/* ---- files ---- */

typedef struct files {
    const char **names; /* sorted, without duplicates */
    size_t count;
} files;

static int compare_strings(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static files files_of(const crn_profile *profile)
{
    files files = {crn_calloc(profile->block_count, sizeof *files.names), profile->block_count};
    for (uint32_t b = 0; b < profile->block_count; b++)
        files.names[b] = profile->blocks[b].file;
    qsort(files.names, files.count, sizeof *files.names, compare_strings);
    size_t count = 1;
    for (size_t i = 1; i < files.count; i++)
        if (strcmp(files.names[i], files.names[count - 1]) != 0)
            files.names[count++] = files.names[i];
    files.count = count;
    return files;
}

static bool files_hold(const files *files, const char *name)
{
    return bsearch(&name, files->names, files->count, sizeof name, compare_strings) != NULL;
}

/* Returns the only file with base name `last` that is in `here` but not in `there`; NULL for no or
 * several such files. */
static const char *files_only(const files *here, const files *there, const char *last)
{
    const char *found = NULL;
    for (size_t i = 0; i < here->count; i++) {
        if (strcmp(crn_path_name(here->names[i]), last) != 0 || files_hold(there, here->names[i]))
            continue;
        if (found)
            return NULL;
        found = here->names[i];
    }
    return found;
}

/* Renames moved files in the later profile's entries as in the earlier profile. */
static void join_files(const crn_profile *before, const crn_profile *after, entry *entries)
{
    files old = files_of(before), new = files_of(after);
    const char **names = crn_calloc(new.count, sizeof *names);
    for (size_t i = 0; i < new.count; i++) {
        const char *last = crn_path_name(new.names[i]);
        names[i] = new.names[i];
        if (files_hold(&old, names[i]) || !files_only(&new, &old, last))
            continue;
        const char *other = files_only(&old, &new, last);
        names[i] = other ? other : names[i];
    }
    for (uint32_t b = 0; b < after->block_count; b++) {
        const char **place =
            bsearch(&entries[b].file, new.names, new.count, sizeof *new.names, compare_strings);
        entries[b].file = names[place - new.names];
    }
    crn_free(names);
    crn_free(old.names);
    crn_free(new.names);
}

/* ---- entry ---- */

/* Copies a block's name, without the block's line if it contains that. */
static char *name_without_line(const crn_block_info *info)
{
    char line[16];
    int length = snprintf(line, sizeof line, ":%u", info->line);
    char *name = crn_strdup(info->name), *found = info->line ? strstr(name, line) : NULL;
    if (found && !(found[length] >= '0' && found[length] <= '9'))
        memmove(found + 1, found + length, strlen(found + length) + 1);
    return name;
}

/* Makes the entries of a profile. A lexical parent that does not precede its child is ignored. */
static void put_entries(const crn_profile *profile, uint32_t side, entry *entries)
{
    for (uint32_t b = 0; b < profile->block_count; b++) {
        const crn_block_info *info = &profile->blocks[b];
        uint32_t level = info->parent && info->parent < b ? entries[info->parent].level + 1 : 0;
        entries[b] = (entry){.info = info,
                             .name = name_without_line(info),
                             .file = info->file,
                             .level = level,
                             .block = b,
                             .side = side};
    }
}

/* ---- blocks without an exact partner ---- */

/* Limits: on blocks of one name that are compared with each other; on rounds. */
enum { ALIKE_MAX = 256, ROUNDS_MAX = 32 };

/* Moves the entries without a partner to the front; returns their number. */
static size_t keep_left(const crn_block_join *join, entry *entries, size_t count)
{
    uint8_t *sides = crn_calloc(join->count, 1);
    for (size_t i = 0; i < count; i++)
        sides[join->numbers[entries[i].side][entries[i].block]] |= 1 << entries[i].side;
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        entry *its = &entries[i];
        if (sides[join->numbers[its->side][its->block]] == (1 << CRN_BEFORE | 1 << CRN_AFTER))
            continue;
        entry other = entries[left];
        entries[left++] = *its;
        *its = other;
    }
    crn_free(sides);
    return left;
}

/* Returns true if one path is the end of the other, after a slash. */
static bool are_same_file(const char *a, const char *b)
{
    size_t length = strlen(a), size = strlen(b);
    if (length < size)
        return are_same_file(b, a);
    const char *end = a + length - size;
    return strcmp(end, b) == 0 && (end == a || (size && end[-1] == '/'));
}

static bool may_match(const crn_block_join *join, const entry *a, const entry *b)
{
    const crn_block_info *one = a->info, *other = b->info;
    bool unknown = !*one->file || !*other->file; /* compiled without debug information */
    if (a->side == b->side || strcmp(a->name, b->name) != 0)
        return false;
    if (!unknown && (one->line != other->line || !are_same_file(a->file, b->file)))
        return false;
    return !a->level || !b->level ||
           join->numbers[a->side][one->parent] == join->numbers[b->side][other->parent];
}

/* Returns the only entry of the group that may match `a`; NULL for no or several such entries. */
static entry *only_match(const crn_block_join *join, const entry *a, entry *group, size_t count)
{
    entry *found = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!may_match(join, a, &group[i]))
            continue;
        if (found)
            return NULL;
        found = &group[i];
    }
    return found;
}

/* Matches entries of one name. Returns true if any matched. */
static bool join_alike(crn_block_join *join, entry *group, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count && count <= ALIKE_MAX; i++) {
        entry *a = &group[i];
        entry *b = a->side == CRN_BEFORE ? only_match(join, a, group, count) : NULL;
        if (!b || only_match(join, b, group, count) != a)
            continue;
        join->numbers[CRN_AFTER][b->block] = join->numbers[CRN_BEFORE][a->block];
        any = true;
    }
    return any;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const entry *)left)->name, ((const entry *)right)->name);
}

/* Matches entries without a partner, in rounds: parents that match allow their children to. */
static void join_left(crn_block_join *join, entry *entries, size_t count)
{
    bool any = true;
    for (int round = 0; any && round < ROUNDS_MAX; round++) {
        any = false;
        count = keep_left(join, entries, count);
        qsort(entries, count, sizeof *entries, compare_names);
        for (size_t start = 0, end; start < count; start = end) {
            for (end = start + 1; end < count; end++)
                if (compare_names(&entries[start], &entries[end]) != 0)
                    break;
            any |= join_alike(join, entries + start, end - start);
        }
    }
}

crn_block_join crn_block_join_make(const crn_profile *before, const crn_profile *after)
{
    crn_block_join join = {.numbers = {crn_calloc(before->block_count, sizeof(uint32_t)),
                                       crn_calloc(after->block_count, sizeof(uint32_t))}};
    size_t count = (size_t)before->block_count + after->block_count;
    entry *entries = crn_calloc(count, sizeof *entries);
    put_entries(before, CRN_BEFORE, entries);
    put_entries(after, CRN_AFTER, entries + before->block_count);
    join_files(before, after, entries + before->block_count);
    qsort(entries, count, sizeof *entries, compare_levels);
    for (size_t start = 0, end; start < count; start = end) {
        for (end = start + 1; end < count && entries[end].level == entries[start].level;)
            end++;
        join_level(&join, entries + start, end - start);
    }
    join_left(&join, entries, count);
    for (size_t i = 0; i < count; i++)
        crn_free(entries[i].name);
    crn_free(entries);
    return join;
}

void crn_block_join_free(crn_block_join *join)
{
    crn_free(join->numbers[CRN_BEFORE]);
    crn_free(join->numbers[CRN_AFTER]);
    *join = (crn_block_join){0};
}
