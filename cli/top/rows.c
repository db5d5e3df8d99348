/* SPDX-License-Identifier: MIT
 *
 * Adds, filters and identifies rows, for all views.
 */
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "top.h"

crn_top_row *crn_top_rows_add(crn_top_rows *rows)
{
    if (!(rows->count & (rows->count - 1))) /* full: capacities are powers of two */
        rows->rows =
            crn_realloc(rows->rows, rows->count ? (size_t)rows->count * 2 : 1, sizeof *rows->rows);
    crn_top_row *row = &rows->rows[rows->count++];
    *row = (crn_top_row){0};
    return row;
}

void crn_top_rows_free(crn_top_rows *rows)
{
    crn_free(rows->rows);
    crn_profile_free(rows->owned);
    crn_free(rows->source);
    *rows = (crn_top_rows){0};
}

bool crn_top_matches(const crn_top_choice *choice, const crn_block_info *block)
{
    return !*choice->filter || strcasestr(block->name, choice->filter) ||
           strcasestr(block->file, choice->filter);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

uint64_t crn_top_identity(uint64_t context, const crn_block_info *block)
{
    uint64_t hash = hash_text(hash_text(context ^ 0xcbf29ce484222325u, block->name), block->file);
    hash = (hash ^ ((uint64_t)block->column << 32 | block->line)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    return hash ? hash : 1;
}
