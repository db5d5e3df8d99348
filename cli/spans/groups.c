/* SPDX-License-Identifier: MIT
 *
 * Prints the groups of `cairn spans --by`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/terminal.h"
#include "cli/common/texts.h"
#include "spans.h"

static const char *const names[] = {
    [CRN_GROUP_BY_ITERATION] = "iteration", [CRN_GROUP_BY_PARENT_ITERATION] = "parent-iteration",
    [CRN_GROUP_BY_PARENT] = "parent",       [CRN_GROUP_BY_PATH] = "path",
    [CRN_GROUP_BY_LANE] = "lane",           [CRN_GROUP_BY_ATTRIBUTE] = NULL};

/* Appends ", width, image": the keys of the spans' attributes, each once. */
static void list_keys(crn_words *words, const crn_trace *trace)
{
    for (uint32_t k = 0; k < trace->key_count && words->used < 400; k++) {
        bool again = false;
        for (uint32_t other = 0; other < k && !again; other++)
            again = trace->keys[other] == trace->keys[k];
        if (!again)
            crn_words_add(words, ", %.64s", trace->keys[k]);
    }
}

bool crn_spans_group_by(const crn_span_source *source, const char *by, crn_group_by *kind,
                        const char **attribute)
{
    static const char prefix[] = "attribute:"; /* for an attribute called like a fixed name */
    bool attributes = strncmp(by, prefix, sizeof prefix - 1) == 0;
    *attribute = attributes ? by + sizeof prefix - 1 : by;
    *kind = CRN_GROUP_BY_ATTRIBUTE;
    for (int i = 0; i < CRN_GROUP_BY_ATTRIBUTE && !attributes; i++)
        if (strcmp(by, names[i]) == 0) {
            *kind = (crn_group_by)i;
            return true;
        }
    for (uint32_t k = 0; k < source->trace->key_count; k++)
        if (strcmp(source->trace->keys[k], *attribute) == 0)
            return true;
    crn_words words = {.used = 0};
    words.text[0] = 0;
    list_keys(&words, source->trace);
    crn_cli_fail(
        "%s: there is no attribute \"%s\"; --by takes iteration, parent-iteration, parent, "
        "path, lane%s",
        source->path, *attribute, words.text);
    return false;
}

/* ---- in words ---- */

static void add_numbers(crn_words *words, const crn_span_group *group)
{
    char text[CRN_FIGURE_SIZE];
    crn_words_add(words, "%s", crn_texts_number(text, group->low));
    if (group->low != group->high || group->values > 1)
        crn_words_add(words, "%s%s", crn_terminal_get()->glyphs->to,
                      crn_texts_number(text, group->high));
}

/* Appends "main → foo → run_in_jobserver", at most the last CRN_SPANS_ANCESTORS blocks. */
static void add_path(crn_words *words, const crn_spans_report *report, uint32_t node)
{
    const crn_glyphs *glyphs = crn_terminal_get()->glyphs;
    const crn_path_node *nodes = report->groups.paths.nodes;
    uint32_t blocks[CRN_SPANS_ANCESTORS], length = 0;
    for (; node && length < CRN_SPANS_ANCESTORS; node = nodes[node].parent)
        blocks[length++] = nodes[node].block;
    if (node)
        crn_words_add(words, "%s %s ", glyphs->ellipsis, glyphs->arrow);
    while (length--)
        crn_words_add(words, "%.200s%s%s%s", report->source.profile->blocks[blocks[length]].name,
                      length ? " " : "", length ? glyphs->arrow : "", length ? " " : "");
}

static void add_group(crn_words *words, const crn_spans_report *report, const crn_span_group *group)
{
    const crn_span_source *source = &report->source;
    switch (group->kind) {
    case CRN_GROUP_NUMBERS:
        add_numbers(words, group);
        break;
    case CRN_GROUP_TEXT:
        crn_words_add(words, "%.300s", group->text);
        break;
    case CRN_GROUP_BLOCK:
        crn_words_add(words, "%.200s", source->profile->blocks[group->id].name);
        break;
    case CRN_GROUP_PATH:
        add_path(words, report, group->id);
        break;
    case CRN_GROUP_LANE:
        if (*source->trace->lanes[group->id])
            crn_words_add(words, "%.200s", source->trace->lanes[group->id]);
        else
            crn_words_add(words, "lane %" PRIu32, group->id + 1);
        break;
    case CRN_GROUP_OTHER:
        crn_words_add(words, "(%" PRIu32 " other value%s)", group->values,
                      group->values == 1 ? "" : "s");
        break;
    default:
        crn_words_add(words, "(none)");
        break;
    }
}

/* ---- the table ---- */

static const crn_block_info *name_of(const crn_spans_report *report, const void *context,
                                     const crn_span_row *row, uint32_t at)
{
    static crn_block_info info;
    static crn_words words;
    words.text[words.used = 0] = 0;
    if (!context)
        crn_words_add(&words, "%.200s  ", report->source.profile->blocks[row->block].name);
    add_group(&words, report, &report->groups.groups[at]);
    info = (crn_block_info){.name = words.text, .file = ""};
    return &info;
}

void crn_spans_groups_text(FILE *out, const crn_spans_report *report)
{
    const crn_span_groups *groups = &report->groups;
    crn_span_table table = {.count = groups->count, .self = groups->self};
    bool others = false, open_ends = false, one = true;
    table.rows = crn_calloc(groups->count + (size_t)1, sizeof *table.rows);
    memcpy(table.edges, groups->edges, sizeof table.edges);
    for (uint32_t g = 0; g < groups->count; g++) {
        table.rows[g] = groups->groups[g].row;
        one = one && groups->groups[g].block == groups->groups[0].block;
        others |= groups->groups[g].kind == CRN_GROUP_OTHER;
        open_ends |= groups->groups[g].open_end;
    }
    /* If all groups have one block, the title names it, not each row. */
    char title[256];
    if (one)
        snprintf(title, sizeof title, "%.100s of %.100s", report->by,
                 report->source.profile->blocks[groups->groups[0].block].name);
    else
        snprintf(title, sizeof title, "block  %.100s", report->by);
    crn_spans_rows(out, report, &table, table.count, title, name_of, one ? groups : NULL);
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (open_ends)
        fputs("ranges: the upper end belongs to the next one\n", out);
    if (groups->hidden_blocks)
        fprintf(out, "%" PRIu32 " more span name%s: --top 0 shows all\n", groups->hidden_blocks,
                groups->hidden_blocks == 1 ? "" : "s");
    else if (others)
        fputs("other values: --top 0 shows each\n", out);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
    crn_free(table.rows);
}
