/* SPDX-License-Identifier: MIT
 *
 * What a single-file page has besides the profile: the server's answers about spans, in limited
 * detail, and sources. viewer/src/stored.ts reads it: docs/VIEW.md.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "formats/names.h"
#include "profile/profile.h"
#include "view.h"

/* Limits: bars of the timeline, single spans, blocks with answers of their own, points of
 * iterations, rows of tables, bytes of sources. */
enum { BARS = 16000, SPANS = 2000, BLOCKS = 12, POINTS = 2000, ROWS = 200, SOURCES = 3 << 19 };
enum { MANY = 1 << 20, FEW_BLOCKS = 2 }; /* with more spans than MANY, FEW_BLOCKS are explained */

/* ---- spans ---- */

/* Prints a member: the answer to a query with up to two items; null if that fails. */
static void put_answer(FILE *out, crn_view *view, const char *name, crn_view_answer *answer,
                       const crn_view_item items[2])
{
    crn_view_query query = {.route = name};
    for (; query.count < 2 && items[query.count].key; query.count++)
        query.items[query.count] = items[query.count];
    fprintf(out, "\"%s\":", name);
    if (!answer(out, view, &query))
        fputs("null", out);
}

/* Prints an object with a member for each of the first `most` blocks: the answer to a query with
 * the items `key`=`sign`BLOCK and `other`. */
static void put_by_block(FILE *out, crn_view *view, const crn_span_table *table,
                         crn_view_answer *answer, const char *key, const char *sign,
                         crn_view_item other, uint32_t most)
{
    putc('{', out);
    for (uint32_t i = 0; i < table->count && i < most; i++) {
        char name[16], value[16];
        snprintf(name, sizeof name, "%" PRIu32, table->rows[i].block);
        snprintf(value, sizeof value, "%s%" PRIu32, sign, table->rows[i].block);
        fputs(i ? ",\n" : "\n", out);
        put_answer(out, view, name, answer, (crn_view_item[]){{key, value}, other});
    }
    putc('}', out);
}

static bool crn_view_slowest(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_view_query slowest = *query;
    slowest.items[slowest.count++] = (crn_view_item){"view", "slowest"};
    return crn_view_spans(out, view, &slowest);
}

static void put_single_spans(FILE *out, crn_view *view, const uint32_t *spans, uint32_t count)
{
    fputs(",\n\"span\":{", out);
    for (uint32_t i = 0; i < count && i < SPANS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%" PRIu32, spans[i]);
        fputs(i ? ",\n" : "\n", out);
        put_answer(out, view, name, crn_view_span, (crn_view_item[]){{"id", name}, {NULL, NULL}});
    }
    putc('}', out);
}

/* Prints answers about spans; by block for the costliest only. */
static void put_spans(FILE *out, crn_view *view, crn_view_file *file)
{
    char rows[16], points[16];
    uint32_t count;
    const crn_span_table *table = &crn_view_sums_of(view, file, CRN_SUM_FIRST)->table;
    snprintf(rows, sizeof rows, "%d", ROWS);
    snprintf(points, sizeof points, "%d", POINTS);
    fprintf(out, ",\n\"count\":%" PRIu32 ",\n\"first\":%" PRIu32 ",\n\"timeline\":",
            file->trace->span_count, file->sums->first);
    uint32_t *spans = crn_view_timeline_whole(out, file, BARS, &count);
    put_single_spans(out, view, spans, count);
    crn_free(spans);
    fputs(",\n", out);
    put_answer(out, view, "counters", crn_view_counters,
               (crn_view_item[]){{"pixels", "2000"}, {NULL, NULL}});
    fputs(",\n", out);
    put_answer(out, view, "moments", crn_view_moments,
               (crn_view_item[]){{NULL, NULL}, {NULL, NULL}});
    fputs(",\n", out);
    put_answer(out, view, "spans", crn_view_spans, (crn_view_item[]){{"top", "0"}, {NULL, NULL}});
    fputs(",\n", out);
    put_answer(out, view, "missing", crn_view_spans,
               (crn_view_item[]){{"view", "missing"}, {"top", rows}});
    fputs(",\n", out);
    put_answer(out, view, "slowest", crn_view_slowest,
               (crn_view_item[]){{"top", rows}, {NULL, NULL}});
    fputs(",\n", out);
    put_answer(out, view, "span-flame", crn_view_span_flame,
               (crn_view_item[]){{"width", "20000"}, {NULL, NULL}});
    fputs(",\n\"slowest_of\":", out);
    put_by_block(out, view, table, crn_view_slowest, "block", "#", (crn_view_item){"top", rows},
                 BLOCKS);
    fputs(",\n\"iterations\":", out);
    put_by_block(out, view, table, crn_view_iterations, "of", "", (crn_view_item){"points", points},
                 BLOCKS);
    fputs(",\n\"explain\":", out);
    bool many = file->trace->span_count > MANY; /* each explanation takes seconds */
    put_by_block(out, view, table, crn_view_explain, "block", "", (crn_view_item){NULL, NULL},
                 many ? FEW_BLOCKS : BLOCKS);
}

/* Loads the file's spans, if any. They refer to the capture's blocks as recorded. */
static void read_spans(crn_view *view, const crn_report *report)
{
    crn_error error;
    crn_view_file *file = &view->files[view->file_count];
    *file = (crn_view_file){.path = report->path};
    file->profile = file->plain = crn_profile_load(report->path, &error);
    if (!file->plain)
        return;
    view->file_count = 1;
    crn_view_file_look(view, file);
}

/* ---- sources ---- */

typedef struct source {
    const char *name;
    uint64_t self;
} source;

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const source *)left)->name, ((const source *)right)->name);
}

static int compare_costs(const void *left, const void *right)
{
    const source *a = left, *b = right;
    return CRN_ORDER(b->self, a->self) ?: strcmp(a->name, b->name);
}

/* Lists the files of blocks, the one with the most self cost first. */
static source *list_sources(const crn_profile *profile, uint32_t *count)
{
    uint32_t blocks = profile->block_count;
    source *all = crn_calloc((size_t)blocks + 1, sizeof *all);
    crn_block_cost cost = crn_block_cost_make(profile, crn_metric_default(profile), NULL);
    *count = 0;
    for (uint32_t b = 1; b < blocks; b++)
        if (*profile->blocks[b].file)
            all[(*count)++] = (source){profile->blocks[b].file, cost.self[b]};
    qsort(all, *count, sizeof *all, compare_names);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        if (kept && strcmp(all[kept - 1].name, all[i].name) == 0)
            all[kept - 1].self += all[i].self;
        else
            all[kept++] = all[i];
    }
    qsort(all, kept, sizeof *all, compare_costs);
    *count = kept;
    crn_block_cost_free(&cost);
    return all;
}

static void put_sources(FILE *out, const crn_view *view, const crn_profile *profile)
{
    uint32_t count;
    size_t total = 0;
    source *all = list_sources(profile, &count);
    json_t *json = json_object();
    for (uint32_t i = 0; i < count; i++) {
        size_t size = 0;
        const char *reason;
        char *text = crn_view_source_text(view, all[i].name, &size, &reason);
        for (size_t at = 0; text && at < size; at++)
            text[at] = text[at] ? text[at] : '?';
        if (text && total + size <= SOURCES) {
            char *name = crn_text_copy(all[i].name, false);
            json_object_set_new(json, name, crn_json_text(text));
            crn_free(name);
            total += size;
        }
        crn_free(text);
    }
    crn_json_write(out, json);
    crn_free(all);
}

/* ---- entry ---- */

static void put_all(FILE *out, crn_view *view, const crn_report *report, bool sources)
{
    fputs("{\"sources\":", out);
    if (sources)
        put_sources(out, view, report->profile);
    else
        fputs("{}", out);
    if (view->file_count && view->files[0].trace)
        put_spans(out, view, &view->files[0]);
    fputs("}", out);
}

char *crn_view_stored(const crn_report *report, size_t *size)
{
    static crn_view view = {.lock = PTHREAD_MUTEX_INITIALIZER, .looked = PTHREAD_COND_INITIALIZER};
    char *text = NULL, *folder = realpath(".", NULL), message[256];
    *size = 0;
    FILE *out = open_memstream(&text, size);
    if (folder) {
        view.sources = &folder;
        view.source_count = 1;
    }
    if (out) {
        crn_cli_catch(message, sizeof message); /* a failed answer is null */
        read_spans(&view, report);
        put_all(out, &view, report, folder);
        crn_cli_catch(NULL, 0);
        fclose(out);
    }
    view.sources = NULL; /* `folder` is local */
    view.source_count = 0;
    free(folder);
    if (view.file_count)
        crn_view_file_close(&view.files[0]);
    view.file_count = 0;
    return text;
}
