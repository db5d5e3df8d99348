/* SPDX-License-Identifier: MIT
 *
 * Prints the end of a table's row: name and source location of a block.
 */
#include <stdio.h>
#include <string.h>

#include <cairn/host.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "table.h"
#include "terminal.h"

enum { NAME_PAD_MAX = 44, PLACE_MIN = 20 };

/* Returns the lexical parents as "outer.", or "". Free it with crn_free. */
static char *around(const crn_table *table, const crn_block_info *block)
{
    const crn_profile *profile =
        crn_profile_has(table->profile, block) ? table->profile : table->other;
    if (!crn_profile_has(profile, block))
        return crn_strdup("");
    uint32_t outer[CRN_NESTING_MOST], first = 0;
    uint32_t count = crn_nesting_around(profile, (uint32_t)(block - profile->blocks), outer);
    size_t size = 1;
    for (uint32_t i = 0; i < count; i++) {
        size += strlen(profile->blocks[outer[i]].name) + 1;
        if (outer[i] == table->within)
            first = i + 1;
    }
    char *names = crn_calloc(size, 1), *end = names;
    for (uint32_t i = first; i < count; i++)
        end = stpcpy(stpcpy(end, profile->blocks[outer[i]].name), ".");
    return names;
}

static const char *mark_of(const crn_block_info *block)
{
    return block->flags & CAIRN_PRIV_BLOCK_COUNTED ? " (counted)" : "";
}

bool crn_table_is_measured(const crn_table *table)
{
    return table->name_width >= NAME_PAD_MAX;
}

void crn_table_measure(crn_table *table, const char *prefix, const crn_block_info *block,
                       const char *suffix)
{
    if (crn_table_is_measured(table))
        return;
    char *outer = around(table, block);
    size_t width = crn_terminal_width(prefix) + crn_terminal_width(outer) +
                   crn_terminal_width(block->name) + crn_terminal_width(suffix) +
                   strlen(mark_of(block));
    crn_free(outer);
    if (width > NAME_PAD_MAX)
        width = NAME_PAD_MAX;
    if (width > table->name_width)
        table->name_width = width;
}

static void place_of(const crn_table *table, const crn_block_info *block, char *place, size_t size)
{
    if (block->file[0] && block->line && block->column && table->exact)
        snprintf(place, size, "%s:%u:%u", block->file, block->line, block->column);
    else if (block->file[0] && block->line)
        snprintf(place, size, "%s:%u", block->file, block->line);
    else
        snprintf(place, size, "%s", block->file);
}

/* Returns the number of columns printed. */
static size_t print_name(FILE *out, const crn_table *table, const crn_block_info *block,
                         size_t limit)
{
    char *outer = around(table, block);
    size_t printed = crn_terminal_width(outer);
    if (limit && printed + crn_terminal_width(block->name) > limit)
        printed = 0;
    if (printed) {
        crn_terminal_style(out, CRN_STYLE_DIM);
        crn_terminal_text(out, outer, 0, false);
        crn_terminal_style(out, CRN_STYLE_PLAIN);
    }
    crn_free(outer);
    return printed + crn_terminal_text(out, block->name, limit ? limit - printed : 0, false);
}

/* Prints the location behind a name of `printed` columns. */
static void print_place(FILE *out, const crn_table *table, const char *place, size_t printed)
{
    size_t name_width = table->name_width; /* smaller on a narrow terminal */
    if (table->limit && name_width + PLACE_MIN > table->limit)
        name_width = table->limit > PLACE_MIN ? table->limit - PLACE_MIN : 0;
    size_t pad = CRN_TABLE_MARGIN + (printed < name_width ? name_width - printed : 0);
    if (table->limit && printed + pad + 8 > table->limit)
        return; /* too little space for a location */
    fprintf(out, "%*s", (int)pad, "");
    crn_terminal_style(out, CRN_STYLE_DIM);
    crn_terminal_text(out, place, table->limit ? table->limit - printed - pad : 0, true);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

void crn_row_block(FILE *out, crn_row *row, const char *prefix, const crn_block_info *block,
                   const char *suffix)
{
    const crn_table *table = row->table;
    char place[512];
    place_of(table, block, place, sizeof place);
    size_t fixed = crn_terminal_width(prefix) + crn_terminal_width(suffix) + strlen(mark_of(block));
    size_t limit = 0;
    if (table->limit)
        limit =
            table->limit > fixed + CRN_TABLE_NAME_MIN ? table->limit - fixed : CRN_TABLE_NAME_MIN;
    fprintf(out, "%*s", CRN_TABLE_MARGIN, "");
    crn_terminal_text(out, prefix, 0, false);
    size_t printed = fixed + print_name(out, table, block, limit);
    fputs(mark_of(block), out);
    crn_terminal_text(out, suffix, 0, false);
    if (*place)
        print_place(out, table, place, printed);
    putc('\n', out);
}

void crn_row_remark(FILE *out, crn_row *row, const char *prefix, const char *text)
{
    crn_row_blank(out, row);
    fprintf(out, "%*s", CRN_TABLE_MARGIN, "");
    crn_terminal_text(out, prefix, 0, false);
    crn_terminal_style(out, CRN_STYLE_DIM);
    fprintf(out, "%s\n", text);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}
