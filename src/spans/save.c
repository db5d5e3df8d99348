/* SPDX-License-Identifier: MIT
 *
 * Writes a profile as a capture with one lane, whose records are the contexts. save_trace.c adds
 * spans.
 */
#include <stdlib.h>
#include <string.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "graph/graph.h"
#include "spans/save.h"

static uint32_t put_file(crn_saving *saving, const char *file, const char **last, uint32_t *place)
{
    if (file != *last) { /* consecutive blocks often have the same file. Strings are interned, so
                            equal ones have equal addresses */
        *last = file;
        *place = crn_save_string(saving, file);
    }
    return *place;
}

static void put_tables(crn_saving *saving)
{
    const crn_profile *profile = saving->profile;
    const char *last = NULL;
    uint32_t place = 0;
    crn_save_put(saving, &saving->strings, "", 1);
    for (uint32_t b = 0; b < profile->block_count && !saving->error; b++) {
        const crn_block_info *info = &profile->blocks[b];
        crn_disk_block block = {.name = crn_save_string(saving, info->name),
                                .file = put_file(saving, info->file, &last, &place),
                                .line = info->line,
                                .column = info->column,
                                .parent = info->parent,
                                .flags = info->flags};
        crn_save_put(saving, &saving->blocks, &block, sizeof block);
    }
    for (uint32_t m = 0; m < profile->metric_count; m++) {
        crn_disk_metric metric = {crn_save_string(saving, profile->metrics[m].name),
                                  crn_save_string(saving, profile->metrics[m].unit)};
        crn_save_put(saving, &saving->metrics, &metric, sizeof metric);
    }
    for (size_t n = 0; n < profile->note_count; n++) {
        crn_disk_note note = {crn_save_string(saving, profile->notes[n].key),
                              crn_save_string(saving, profile->notes[n].value)};
        crn_save_put(saving, &saving->notes, &note, sizeof note);
    }
}

static uint64_t value(const crn_profile *profile, uint32_t metric, uint32_t context)
{
    return profile->values[metric] ? profile->values[metric][context] : 0;
}

/* Writes context c as record c + 1, and the edges that add no context as the records after
 * these. */
static void put_graph(crn_saving *saving)
{
    const crn_profile *profile = saving->profile;
    uint64_t used = (uint64_t)profile->context_count + profile->edge_count + CRN_RECORD_ROOT;
    if (!saving->error && used > UINT32_MAX / CRN_RECORD_WORDS)
        saving->error = CAIRN_E_LIMIT;
    if (!saving->error)
        saving->error =
            crn_section_grow(&saving->links, sizeof(crn_disk_lane) + used * sizeof(crn_link));
    if (!saving->error)
        saving->error = crn_section_grow(&saving->records, used * sizeof(cairn_priv_record));
    if (saving->error)
        return;
    crn_link *links = (crn_link *)(saving->links.base + sizeof(crn_disk_lane));
    cairn_priv_record *records = (cairn_priv_record *)saving->records.base;
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint32_t block = profile->block[c], from = c ? profile->parent[c] + 1 : 0;
        if (block && block == profile->folded_block)
            block = CAIRN_BLOCK_FOLDED;
        links[c + 1] = (crn_link){.from = from,
                                  .target = c + 1,
                                  .block = block,
                                  .depth = c ? links[from].depth + 1 : 1,
                                  .wall = value(profile, CRN_METRIC_WALL, c)};
        records[c + 1].calls = profile->calls_tree[c];
        records[c + 1].ticks = value(profile, CRN_METRIC_TICKS, c);
    }
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        uint32_t record = profile->context_count + 1 + e;
        links[record] = (crn_link){.from = edge->from + 1,
                                   .target = edge->target + 1,
                                   .block = links[edge->target + 1].block,
                                   .depth = edge->folded ? CRN_ALIAS_FOLDED : CRN_ALIAS_CYCLE};
        records[record].calls = edge->calls;
    }
    crn_disk_lane *lane = (crn_disk_lane *)saving->links.base;
    lane->strands = profile->calls_tree[0];
    lane->used = used;
}

static void put_column(crn_saving *saving, uint32_t metric)
{
    const crn_profile *profile = saving->profile;
    if (saving->error || !profile->values[metric])
        return;
    crn_section column;
    crn_section_open(&column, &saving->capture, CRN_SECTION_COLUMN, (uint16_t)metric, 0);
    saving->error = crn_section_grow(&column, (profile->context_count + (uint64_t)1) * 8);
    if (!saving->error)
        memcpy(column.base + 8, profile->values[metric], profile->context_count * (uint64_t)8);
    crn_section_close(&column);
}

static void put_header(crn_saving *saving)
{
    const crn_profile *profile = saving->profile;
    crn_disk_header *header = saving->capture.header;
    header->clock_kind = CRN_CLOCK_MONOTONIC;
    header->tick_period = strtoull(crn_profile_note(profile, "tick_period", "1"), NULL, 10);
    header->path_limit = UINT32_MAX;
    header->context_budget = UINT32_MAX;
}

bool crn_profile_save(const crn_profile *profile, const char *path, crn_error *error)
{
    return crn_trace_save(profile, NULL, path, error);
}

bool crn_trace_save(const crn_profile *profile, const crn_trace *trace, const char *path,
                    crn_error *error)
{
    crn_saving saving = {.profile = profile};
    cairn_error created = crn_capture_create(&saving.capture, path, UINT64_MAX);
    if (created)
        return crn_error_set(error, (int)created, "%s: %s", path, cairn_error_text(created));
    struct {
        crn_section *section;
        crn_section_kind kind;
    } sections[] = {{&saving.strings, CRN_SECTION_STRINGS}, {&saving.blocks, CRN_SECTION_BLOCKS},
                    {&saving.metrics, CRN_SECTION_METRICS}, {&saving.notes, CRN_SECTION_NOTES},
                    {&saving.links, CRN_SECTION_LANE},      {&saving.records, CRN_SECTION_RECORDS}};
    enum { COUNT = sizeof sections / sizeof *sections };
    for (int i = 0; i < COUNT; i++)
        crn_section_open(sections[i].section, &saving.capture, sections[i].kind, 0, 0);
    put_header(&saving);
    put_tables(&saving);
    put_graph(&saving);
    for (uint32_t m = CAIRN_METRIC_CPU; m < profile->metric_count; m++)
        put_column(&saving, m);
    if (trace)
        crn_save_trace(&saving, trace);
    for (int i = 0; i < COUNT; i++)
        crn_section_close(sections[i].section);
    saving.capture.header->state = CRN_STATE_CLOSED;
    if (!saving.error)
        saving.error = crn_capture_publish(&saving.capture);
    crn_capture_close(&saving.capture, CRN_STATE_CLOSED);
    if (!saving.error)
        return true;
    return crn_error_set(error, (int)saving.error, "%s: %s", path, cairn_error_text(saving.error));
}
