/* SPDX-License-Identifier: MIT
 *
 * cairn report --html: writes the page of cairn view and the profile as one file.
 * viewer/src/embedded.ts reads it; docs/VIEW.md has the layout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "cli/common/output.h"
#include "cli/report/report.h"
#include "profile/profile.h"
#include "view.h"

/* ---- packing ---- */

typedef struct packed {
    unsigned char *data;
    size_t size, room;
} packed;

static void put_bytes(packed *all, const void *data, size_t size)
{
    if (all->room - all->size < size) {
        all->room = (all->room + size) * 2;
        all->data = crn_realloc(all->data, all->room, 1);
    }
    memcpy(all->data + all->size, data, size);
    all->size += size;
}

/* Writes a number as LEB128: seven bits a byte, the lowest first; a byte's top bit says that more
 * follow. */
static void put_number(packed *all, uint64_t number)
{
    unsigned char bytes[10];
    size_t size = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[size++] = (unsigned char)(number | 0x80);
    bytes[size++] = (unsigned char)number;
    put_bytes(all, bytes, size);
}

static void put_json(packed *all, json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
    size_t length = text ? strlen(text) : 0;
    json_decref(json);
    put_number(all, length);
    if (text)
        put_bytes(all, text, length);
    free(text);
}

/* Writes answers about spans, and sources. */
static void put_stored(packed *all, const crn_report *report)
{
    size_t size;
    char *text = crn_view_stored(report, &size);
    put_number(all, size);
    if (text)
        put_bytes(all, text, size);
    free(text);
}

static json_t *blocks_json(const crn_profile *profile)
{
    json_t *blocks = json_array();
    for (uint32_t b = 0; b < profile->block_count; b++) {
        const crn_block_info *info = &profile->blocks[b];
        json_t *row = json_array();
        json_array_append_new(row, crn_json_text(info->name));
        json_array_append_new(row, crn_json_text(info->file));
        json_array_append_new(row, crn_json_number(info->line));
        json_array_append_new(row, crn_json_number(info->column));
        char *outer = crn_nesting_outer(profile, b);
        if (*outer)
            json_array_append_new(row, crn_json_text(outer));
        crn_free(outer);
        json_array_append_new(blocks, row);
    }
    return blocks;
}

/* Writes the contexts column by column: similar values side by side compress best. */
static void put_contexts(packed *all, const crn_profile *profile)
{
    put_number(all, profile->context_count);
    for (uint32_t c = 1; c < profile->context_count; c++)
        put_number(all, c - profile->parent[c]);
    for (uint32_t c = 1; c < profile->context_count; c++)
        put_number(all, profile->block[c]);
    for (uint32_t c = 0; c < profile->context_count; c++)
        put_number(all, profile->calls_tree[c]);
    put_number(all, profile->edge_count);
    uint32_t last = 0;
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        put_number(all, edge->from - last);
        put_number(all, edge->target);
        put_number(all, edge->calls);
        put_number(all, edge->folded);
        last = edge->from;
    }
}

static void put_metrics(packed *all, const crn_profile *profile)
{
    for (uint32_t m = 0; m < profile->metric_count; m++) {
        bool there = m != CRN_METRIC_CALLS && !crn_metric_empty(profile, m);
        put_number(all, there);
        for (uint32_t c = 0; there && c < profile->context_count; c++)
            put_number(all, profile->values[m][c]);
    }
}

/* Returns `cairn report --json` without rows, with facts for the page. */
static json_t *head_json(const crn_report *report)
{
    char *text = NULL;
    size_t size = 0;
    crn_report head = *report;
    head.view = CRN_VIEW_FLAT;
    head.focused = false;
    head.top = 1;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return json_object();
    crn_report_json(out, &head);
    fclose(out);
    json_t *json = json_loadb(text, size, 0, NULL);
    free(text);
    json_object_del(json, "flat");
    json_object_del(json, "hidden");
    json_object_set_new(json, "calls_counted", json_boolean(crn_calls_counted(report->profile)));
    json_object_set_new(json, "measured", crn_view_measured_json(report));
    json_object_set_new(
        json, "metric",
        crn_json_text(report->profile->metrics[crn_metric_default(report->profile)].name));
    return json ? json : json_object();
}

/* ---- the file ---- */

static void write_base64(FILE *file, const unsigned char *data, size_t size)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t three = (uint32_t)data[i] << 16;
        three |= i + 1 < size ? (uint32_t)data[i + 1] << 8 : 0;
        three |= i + 2 < size ? data[i + 2] : 0;
        putc(letters[three >> 18], file);
        putc(letters[three >> 12 & 63], file);
        putc(i + 1 < size ? letters[three >> 6 & 63] : '=', file);
        putc(i + 2 < size ? letters[three & 63] : '=', file);
    }
}

static bool write_packed(FILE *file, const packed *all)
{
    uLongf size = compressBound(all->size);
    unsigned char *small = crn_calloc(size, 1);
    bool good = compress2(small, &size, all->data, all->size, 9) == Z_OK;
    if (good)
        write_base64(file, small, size);
    crn_free(small);
    return good;
}

static bool write_page(FILE *file, const packed *all)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
          "'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
          "form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>cairn</title>\n<style>\n",
          file);
    fwrite(crn_page_built.style, 1, crn_page_built.style_size, file);
    fputs("</style>\n<div id=\"page\"><p class=\"loading\" role=\"status\">Reading the "
          "profile…</p></div>\n<script type=\"text/plain\" id=\"profile\">",
          file);
    bool good = write_packed(file, all);
    fputs("</script>\n<script>\n", file);
    fwrite(crn_page_built.script, 1, crn_page_built.script_size, file);
    fputs("</script>\n</html>\n", file);
    return good && !ferror(file);
}

bool crn_view_html_write(FILE *out, const crn_report *report)
{
    packed all = {0};
    put_json(&all, head_json(report));
    put_json(&all, blocks_json(report->profile));
    put_contexts(&all, report->profile);
    put_metrics(&all, report->profile);
    put_stored(&all, report);
    bool good = write_page(out, &all);
    crn_free(all.data);
    return good;
}

int crn_report_html(const crn_report *report, const char *path)
{
    crn_output output;
    if (!crn_page_built.script_size)
        return crn_cli_fail("this cairn was built without the page: install nodejs and npm, and "
                            "rebuild it with -Dviewer=enabled");
    if (!crn_output_open(&output, path, report->path))
        return CRN_EXIT_BAD;
    bool good = crn_view_html_write(output.file, report);
    if (!good)
        crn_cli_fail("%s: it could not be written", path);
    return crn_output_close(&output, good) ? CRN_EXIT_OK : CRN_EXIT_BAD;
}
