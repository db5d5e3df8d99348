/* SPDX-License-Identifier: MIT */
#include "span_source.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "base/sampled_path.h"
#include "cli/common/cli.h"
#include "cli/common/figure.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/terminal.h"
#include "query/query.h"
#include "spans/spans.h"

/* Returns why spans had no space, and what to do. Merged captures lack the cause. */
static const char *why_none(const crn_span_source *source)
{
    const char *by = crn_profile_note(source->profile, "out_of_space", "");
    if (strcmp(by, "disk") == 0)
        return "the disk was full, or a quota reached; free space, or record elsewhere with -o";
    if (strcmp(by, "file_limit") == 0)
        return "the file limit was reached; record with a higher --file-limit";
    return "there was no space; record with a higher file limit, or where the disk has more space";
}

static void say_none(const crn_span_source *source)
{
    if (source->trace && source->trace->skipped)
        crn_cli_fail("%s: has no spans: none of %" PRIu64
                     " trees was sampled; record with a higher --span-rate",
                     source->path, source->trace->trees_skipped);
    else if (source->trace && source->trace->dropped)
        crn_cli_fail("%s: all of its spans were dropped (%" PRIu64 "): %s", source->path,
                     source->trace->dropped, why_none(source));
    else
        crn_cli_fail("%s: has no spans; a program records them with cairn_span_begin and the "
                     "option \"spans\" of its profile, see cairn-spans(1)",
                     source->path);
}

bool crn_span_source_open(crn_span_source *source, const char *path)
{
    return crn_span_source_open_all(source, (char *const *)&path, 1);
}

bool crn_span_source_open_all(crn_span_source *source, char *const *paths, size_t count)
{
    *source = (crn_span_source){.path = paths[0]};
    source->profile = crn_cli_load_spans(paths, count, false, &source->trace);
    if (!source->profile)
        return false;
    const crn_trace *trace = source->trace;
    if (!trace || !trace->span_count) {
        say_none(source);
        return false;
    }
    for (uint32_t s = 0; s < trace->span_count; s++)
        source->open += trace->spans[s].open;
    source->spans = crn_spans_make(trace, source->profile->block_count);
    return true;
}

bool crn_span_source_open_sampled(crn_span_source *source, char *const *paths, size_t count)
{
    char **all = crn_calloc(2 * count, sizeof *all);
    size_t used = count;
    for (size_t i = 0; i < count; i++) {
        char *beside = crn_sampled_path(paths[i]);
        bool given = false;
        all[i] = paths[i];
        for (size_t k = 0; k < count; k++)
            given |= crn_output_is_same(beside, paths[k]);
        if (!given && access(beside, R_OK) == 0)
            all[used++] = beside;
        else
            crn_free(beside);
    }
    bool good = crn_span_source_open_all(source, all, used);
    source->path = paths[0];
    for (size_t i = count; i < used; i++)
        crn_free(all[i]);
    crn_free(all);
    return good;
}

void crn_span_source_close(crn_span_source *source)
{
    crn_spans_free(source->spans);
    crn_trace_free(source->trace);
    crn_profile_free(source->profile);
}

uint8_t *crn_span_source_named(const crn_span_source *source, const char *name)
{
    uint32_t count = source->trace->span_count;
    uint8_t *kept = crn_calloc(source->profile->block_count, 1);
    uint8_t *chosen = crn_calloc(count + (size_t)1, 1);
    bool any = false;
    for (uint32_t b = 0; b < source->profile->block_count; b++)
        kept[b] = strcmp(source->profile->blocks[b].name, name) == 0;
    for (uint32_t s = 0; s < count; s++)
        any |= chosen[s] = kept[crn_span_block(source->spans, s)];
    crn_free(kept);
    if (any)
        return chosen;
    crn_free(chosen);
    crn_cli_fail("%s: has no span of a block \"%s\"; cairn spans --top 0 lists all blocks",
                 source->path, name);
    return NULL;
}

uint8_t *crn_span_source_where(const crn_span_source *source, const char *expression)
{
    crn_error error = {0};
    crn_progress_begin("%s: choosing spans", crn_cli_name);
    uint8_t *chosen = crn_query_select(source->profile, source->trace, expression, &error);
    crn_progress_end();
    if (!chosen) {
        crn_cli_fail("--where: %s", error.message);
        return NULL;
    }
    if (memchr(chosen, 1, source->trace->span_count))
        return chosen;
    crn_free(chosen);
    crn_cli_fail("%s: no span satisfies: %.200s", source->path, expression);
    return NULL;
}

const crn_block_info *crn_span_source_block(const crn_span_source *source, uint32_t span)
{
    return &source->profile->blocks[crn_span_block(source->spans, span)];
}

/* ---- warnings about missing data ---- */

static void warn(FILE *out, uint64_t count, const char *one, const char *many)
{
    char text[CRN_FIGURE_SIZE];
    if (count)
        fprintf(out, "%s %s\n", crn_figure_alone(text, "", count), count == 1 ? one : many);
}

/* Counts orphaned spans, except those whose parent is in another process. */
static uint64_t orphans_of(const crn_trace *trace)
{
    uint64_t orphans = 0;
    uint32_t remote = 0;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        bool elsewhere = remote < trace->remote_count && trace->remotes[remote].span == s;
        remote += elsewhere;
        orphans +=
            trace->spans[s].orphaned && trace->spans[s].parent == CRN_SPAN_NONE && !elsewhere;
    }
    return orphans;
}

void crn_span_source_warn(FILE *out, const crn_span_source *source)
{
    const crn_trace *trace = source->trace;
    crn_terminal_style(out, CRN_STYLE_WARM);
    const char *stray = crn_profile_note(source->profile, "stray", NULL);
    if (stray)
        fprintf(
            out,
            "a scope ended on another thread than it began, or across co_await, and is recorded "
            "too long: first %s; use an asynchronous span (cairn/async.h)\n",
            stray);
    const char *by = crn_profile_note(source->profile, "out_of_space", "");
    uint64_t known = trace->limited + trace->late;
    if (strcmp(by, "disk") == 0)
        warn(out, trace->limited, "span was dropped: the disk was full",
             "spans were dropped: the disk was full");
    else if (strcmp(by, "file_limit") == 0)
        warn(out, trace->limited, "span was dropped at the file limit",
             "spans were dropped at the file limit");
    else if (crn_profile_note_number(source->profile, "merged")) /* lacks the cause */
        known = trace->late;
    else
        warn(out, trace->limited, "span was dropped at the span limit",
             "spans were dropped at the span limit");
    warn(out, trace->late, "span was dropped: space for it was not ready in time",
         "spans were dropped: space for them was not ready in time");
    warn(out, trace->dropped > known ? trace->dropped - known : 0,
         "span was dropped for lack of space", "spans were dropped for lack of space");
    const char *asynchronous = crn_profile_note(source->profile, "async_dropped", "0");
    warn(out, strtoull(asynchronous, NULL, 10),
         "asynchronous span was dropped: too many were open at once",
         "asynchronous spans were dropped: too many were open at once");
    warn(out, trace->recycled, "earlier span was overwritten by later ones",
         "earlier spans were overwritten by later ones");
    warn(out, trace->skipped, "span was not sampled (--span-rate)",
         "spans were not sampled (--span-rate)");
    warn(out, trace->details_dropped, "attribute or edge was dropped for lack of space",
         "attributes and edges were dropped for lack of space");
    warn(out, source->open, "span has not ended: its time goes up to the capture's last moment",
         "spans have not ended: their time goes up to the capture's last moment");
    warn(out, orphans_of(trace), "span has a parent that is not in the capture",
         "spans have a parent that is not in the capture");
    warn(out, trace->dangling, "edge leads to a span that is not in the capture",
         "edges lead to spans that are not in the capture");
    crn_trace_clocks clocks = crn_trace_clocks_of(trace);
    warn(out, trace->process_count > 1 ? clocks.missing : 0,
         "span was requested by another process whose capture is not included",
         "spans were requested by other processes whose captures are not included");
    warn(out, clocks.early,
         "span begins before the span that requested it: clocks differ, see cairn-merge(1)",
         "spans begin before the spans that requested them: clocks differ, see cairn-merge(1)");
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

/* ---- words ---- */

void crn_words_add(crn_words *words, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size =
        vsnprintf(words->text + words->used, sizeof words->text - words->used, format, arguments);
    va_end(arguments);
    if (size > 0)
        words->used += (size_t)size;
    if (words->used >= sizeof words->text)
        words->used = sizeof words->text - 1;
}

void crn_words_span(crn_words *words, const crn_span_source *source, uint32_t span)
{
    const crn_span *its = &source->trace->spans[span];
    crn_words_add(words, "%.200s", crn_span_source_block(source, span)->name);
    if (its->iteration != CAIRN_ITERATION_NONE)
        crn_words_add(words, " #%" PRId64, its->iteration);
}

void crn_words_attributes(crn_words *words, const crn_span_source *source, uint32_t span)
{
    uint32_t count;
    const crn_attribute *attribute = crn_trace_attributes(source->trace, span, &count);
    for (; count; count--, attribute++) {
        crn_words_add(words, "  %.64s=", source->trace->keys[attribute->key]);
        switch (attribute->kind) {
        case CRN_ATTRIBUTE_INTEGER:
            crn_words_add(words, "%" PRId64, attribute->value.integer);
            break;
        case CRN_ATTRIBUTE_NUMBER:
            crn_words_add(words, "%g", attribute->value.number);
            break;
        default:
            crn_words_add(words, "%.200s", attribute->value.text);
            break;
        }
    }
}

void crn_words_path(crn_words *words, const crn_span_source *source, uint32_t span)
{
    const crn_glyphs *glyphs = crn_terminal_get()->glyphs;
    uint32_t path[CRN_SPANS_ANCESTORS], length = 0, at = span;
    while (at != CRN_SPAN_NONE && length < CRN_SPANS_ANCESTORS) {
        path[length++] = at;
        at = source->trace->spans[at].parent;
    }
    if (at != CRN_SPAN_NONE || (length && source->trace->spans[path[length - 1]].orphaned))
        crn_words_add(words, "%s ", glyphs->ellipsis);
    while (length--) {
        crn_words_span(words, source, path[length]);
        if (length)
            crn_words_add(words,
                          source->trace->spans[path[length - 1]].handed_off ? " %s* " : " %s ",
                          glyphs->arrow);
    }
}

bool crn_words_has_handoff(const crn_span_source *source, uint32_t span)
{
    for (uint32_t i = 0; span != CRN_SPAN_NONE && i < CRN_SPANS_ANCESTORS; i++) {
        if (source->trace->spans[span].handed_off)
            return true;
        span = source->trace->spans[span].parent;
    }
    return false;
}
