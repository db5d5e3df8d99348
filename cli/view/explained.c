/* SPDX-License-Identifier: MIT
 *
 * Explains blocks: on request, and in advance if they have many spans.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cli/explain/explain.h"
#include "profile/profile.h"
#include "view.h"

enum { EXPLAIN_TOP = 12 };

/* Returns a bitmap of the block's spans, without those of other blocks with its name. */
static uint64_t *spans_of(const crn_span_source *source, uint32_t block, uint32_t *count)
{
    uint64_t *chosen = crn_bits_new(source->trace->span_count);
    for (uint32_t s = 0; s < source->trace->span_count; s++)
        if (crn_span_block(source->spans, s) == block) {
            crn_bits_set(chosen, s);
            ++*count;
        }
    return chosen;
}

/* Frees the replay before very many spans are explained: both at once would need too much
 * memory. */
static void make_room(crn_view *view, crn_view_file *file, uint32_t count)
{
    enum { FEW = 1 << 22, PART = 4 };
    if (file->trace->span_count <= FEW || count <= file->trace->span_count / PART)
        return;
    file->no_replay = true; /* so that a thread does not begin one */
    while (file->preparing)
        pthread_cond_wait(&view->looked, &view->lock);
    crn_view_replay_clear(file);
    malloc_trim(0);
}

void crn_view_explanation_write(FILE *out, crn_view *view, crn_view_file *file, uint32_t block,
                                const crn_view_choice *choice)
{
    crn_span_source source = {.path = file->path,
                              .profile = file->plain,
                              .trace = choice ? choice->trace : file->trace,
                              .spans = choice ? choice->spans : file->spans};
    uint32_t count = 0;
    uint64_t *chosen = spans_of(&source, block, &count);
    if (view)
        make_room(view, file, count);
    crn_explain_report report = {
        .source = &source, .block = file->plain->blocks[block].name, .top = EXPLAIN_TOP};
    crn_explain_run(out, &report, chosen, crn_explain_json);
    crn_free(chosen);
}

/* Returns the explanation of all spans of a block; free it with free. NULL if out of memory. */
static char *explanation_of(crn_view_file *file, uint32_t block)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    crn_view_explanation_write(out, NULL, file, block, NULL);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

void crn_view_explain_ahead(crn_view *view, crn_view_file *file)
{
    enum { MANY = 1 << 15 }; /* fewer spans take some hundredths of a second */
    crn_view_sums *sums = file->sums;
    char **explained = crn_calloc(file->plain->block_count, sizeof *explained);
    pthread_mutex_lock(&view->lock);
    sums->explained = explained;
    sums->explained_count = file->plain->block_count;
    for (uint32_t i = 0; i < sums->table.count && view->serving && !file->replay_wanted; i++) {
        uint32_t block = sums->table.rows[i].block;
        if (sums->table.rows[i].count <= MANY)
            continue;
        pthread_mutex_unlock(&view->lock);
        char *text = explanation_of(file, block);
        pthread_mutex_lock(&view->lock);
        explained[block] = text;
    }
    pthread_mutex_unlock(&view->lock);
}
