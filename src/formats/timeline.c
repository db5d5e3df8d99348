/* SPDX-License-Identifier: MIT */
#include "formats/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/text.h"
#include "formats/names.h"

/* ---- arrows ---- */

/* Lists the arrows: hand-offs first, sorted by the span that was handed off; then the trace's edges
 * in their order. */
static void find_arrows(crn_timeline *timeline)
{
    const crn_trace *trace = timeline->trace;
    uint64_t room = (uint64_t)trace->edge_count + 1;
    for (uint32_t s = 0; s < trace->span_count; s++)
        room += trace->spans[s].handed_off && trace->spans[s].parent != CRN_SPAN_NONE;
    timeline->arrows = crn_calloc(room, sizeof *timeline->arrows);
    for (uint32_t s = 0, handoff = 0; s < trace->span_count; s++) {
        if (!trace->spans[s].handed_off || trace->spans[s].parent == CRN_SPAN_NONE)
            continue;
        crn_arrow arrow = {trace->spans[s].parent, s, CRN_ARROW_HANDOFF, 0};
        while (handoff < trace->handoff_count && trace->handoffs[handoff].span < s)
            handoff++;
        if (handoff < trace->handoff_count && trace->handoffs[handoff].span == s)
            arrow.taken = trace->handoffs[handoff].taken;
        timeline->arrows[timeline->arrow_count++] = arrow;
    }
    timeline->handoff_count = timeline->arrow_count;
    for (uint32_t e = 0; e < trace->edge_count; e++)
        timeline->arrows[timeline->arrow_count++] = (crn_arrow){
            .from = trace->edges[e].to,
            .to = trace->edges[e].from,
            .kind = trace->edges[e].kind == CRN_EDGE_WAITS ? CRN_ARROW_WAITS : CRN_ARROW_FOLLOWS};
}

/* Sorts the arrows by the span that they leave (counting sort). */
static void sort_leaving(crn_timeline *timeline)
{
    uint32_t spans = timeline->trace->span_count;
    uint32_t *first = crn_calloc((size_t)spans + 2, sizeof *first);
    timeline->leaving = crn_calloc((size_t)timeline->arrow_count + 1, sizeof *timeline->leaving);
    for (uint32_t a = 0; a < timeline->arrow_count; a++)
        first[timeline->arrows[a].from + 2]++;
    for (uint32_t s = 2; s < spans + 2; s++)
        first[s] += first[s - 1];
    for (uint32_t a = 0; a < timeline->arrow_count; a++)
        timeline->leaving[first[timeline->arrows[a].from + 1]++] = a;
    timeline->leaving_first = first;
}

uint32_t crn_timeline_handoff(const crn_timeline *timeline, uint32_t span, uint32_t *arrow)
{
    *arrow = CRN_BELOW(timeline->arrows, timeline->handoff_count, to, span);
    return *arrow < timeline->handoff_count && timeline->arrows[*arrow].to == span;
}

uint32_t crn_timeline_arriving(const crn_timeline *timeline, uint32_t span, uint32_t *first)
{
    uint32_t handoffs = timeline->handoff_count, count = timeline->arrow_count - handoffs;
    *first = handoffs + (uint32_t)CRN_BELOW(timeline->arrows + handoffs, count, to, span);
    uint32_t end = *first;
    while (end < timeline->arrow_count && timeline->arrows[end].to == span)
        end++;
    return end - *first;
}

/* ---- names ---- */

uint32_t crn_timeline_block(const crn_timeline *timeline, uint32_t span)
{
    uint32_t block = timeline->trace->spans[span].block;
    return block < timeline->profile->block_count ? block : 0;
}

const char *crn_timeline_name(const crn_timeline *timeline, uint32_t span)
{
    return timeline->names[crn_timeline_block(timeline, span)];
}

bool crn_timeline_cpu(const crn_timeline *timeline, uint32_t span, uint64_t *cpu)
{
    *cpu = timeline->trace->cpu ? timeline->trace->cpu[span] : UINT64_MAX;
    return *cpu != UINT64_MAX;
}

static char *name_of(const char *text, const char *otherwise)
{
    return crn_text_copy(*text ? text : otherwise, false);
}

/* Returns a row's name: "worker", "worker (2)"; a lane without a name has its number. */
static char *row_name(const crn_timeline *timeline, uint32_t row)
{
    uint32_t lane = timeline->rows[row].lane, number = timeline->rows[row].number;
    uint32_t in_process = lane;
    if (timeline->trace->process_count)
        in_process -= timeline->trace->processes[timeline->process[lane]].first_lane;
    char numbered[32];
    snprintf(numbered, sizeof numbered, "lane %u", in_process);
    char *name = name_of(timeline->trace->lanes[lane], numbered);
    if (number) {
        size_t size = strlen(name) + 16;
        name = crn_realloc(name, size, 1);
        snprintf(name + strlen(name), 16, " (%u)", number + 1);
    }
    return name;
}

const char **crn_timeline_lane_names(const crn_timeline *timeline)
{
    size_t count = (size_t)timeline->trace->lane_count + 1;
    const char **names = (const char **)crn_calloc(count, sizeof *names);
    for (uint32_t r = 0; r < timeline->row_count; r++)
        if (timeline->rows[r].number == 0) /* a lane's further rows hold its overlapping spans */
            names[timeline->rows[r].lane] = timeline->row_names[r];
    return names;
}

static void find_names(crn_timeline *timeline)
{
    const crn_profile *profile = timeline->profile;
    const crn_trace *trace = timeline->trace;
    timeline->names = crn_calloc(profile->block_count, sizeof *timeline->names);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        char **name = &timeline->names[crn_timeline_block(timeline, s)];
        if (!*name)
            *name = name_of(profile->blocks[crn_timeline_block(timeline, s)].name, "[unnamed]");
    }
    timeline->keys = crn_calloc((size_t)trace->key_count + 1, sizeof *timeline->keys);
    for (uint32_t k = 0; k < trace->key_count; k++)
        timeline->keys[k] = name_of(trace->keys[k], "[unnamed]");
    timeline->row_names = crn_calloc((size_t)timeline->row_count + 1, sizeof *timeline->row_names);
    for (uint32_t r = 0; r < timeline->row_count; r++)
        timeline->row_names[r] = row_name(timeline, r);
}

/* ---- processes ---- */

/* Viewers merge processes with equal pids, and pids of several machines can be equal. Duplicates
 * get numbers above any system's pids. */
static uint32_t number_of(const crn_timeline *timeline, uint32_t process)
{
    enum { PID_LIMIT = 1 << 22 };
    const crn_trace_process *processes = timeline->trace->processes;
    uint32_t number = processes[process].number;
    bool taken = number == 0 || number >= PID_LIMIT;
    for (uint32_t p = 0; p < process && !taken; p++)
        taken = processes[p].number == number;
    return taken ? PID_LIMIT + process : number;
}

static void find_processes(crn_timeline *timeline)
{
    const crn_trace *trace = timeline->trace;
    timeline->process_count = trace->process_count ? trace->process_count : 1;
    uint32_t count = timeline->process_count;
    timeline->process_names = crn_calloc(count, sizeof *timeline->process_names);
    timeline->process_numbers = crn_calloc(count, sizeof *timeline->process_numbers);
    timeline->process = crn_calloc((size_t)trace->lane_count + 1, sizeof *timeline->process);
    const char *command = crn_profile_note(timeline->profile, "command", "");
    for (uint32_t p = 0; p < count; p++) {
        const char *name = trace->process_count ? trace->processes[p].name : command;
        timeline->process_names[p] = name_of(name, "program");
        timeline->process_numbers[p] = trace->process_count ? number_of(timeline, p) : 1;
    }
    for (uint32_t lane = 0, process = 0; lane < trace->lane_count; lane++) {
        while (process + 1 < trace->process_count &&
               trace->processes[process + 1].first_lane <= lane)
            process++;
        timeline->process[lane] = process;
    }
}

/* A lane whose thread is known. */
typedef struct known_thread {
    uint32_t thread, lane;
} known_thread;

static int compare_threads(const void *left, const void *right)
{
    const known_thread *a = left, *b = right;
    return CRN_ORDER(a->thread, b->thread) ?: CRN_ORDER(a->lane, b->lane);
}

static void find_threads(crn_timeline *timeline)
{
    enum { NOT_OF_KERNEL = 1 << 30 }; /* the kernel gives ids up to 2^22 */
    const crn_trace *trace = timeline->trace;
    uint32_t count = 0, others = trace->threads ? NOT_OF_KERNEL : 0;
    known_thread *known = crn_calloc(trace->lane_count + (size_t)1, sizeof *known);
    timeline->threads = crn_calloc(trace->lane_count + (size_t)1, sizeof *timeline->threads);
    timeline->same_thread =
        crn_calloc(trace->lane_count + (size_t)1, sizeof *timeline->same_thread);
    for (uint32_t lane = 0; lane < trace->lane_count; lane++) {
        timeline->threads[lane] = others + lane + 1;
        timeline->same_thread[lane] = lane;
        if (trace->threads && trace->threads[lane] && trace->threads[lane] < NOT_OF_KERNEL)
            known[count++] = (known_thread){trace->threads[lane], lane};
    }
    qsort(known, count, sizeof *known, compare_threads);
    for (uint32_t k = 0, first = 0; k < count; k++) {
        first = known[k].thread == known[first].thread ? first : k;
        timeline->same_thread[known[k].lane] = known[first].lane;
        if (k == first)
            timeline->threads[known[k].lane] = known[k].thread;
    }
    crn_free(known);
}

/* ---- entry ---- */

void crn_timeline_open(crn_timeline *timeline, const crn_profile *profile, const crn_trace *trace)
{
    *timeline = (crn_timeline){.profile = profile, .trace = trace};
    find_processes(timeline);
    find_threads(timeline);
    crn_timeline_find_rows(timeline);
    find_names(timeline);
    find_arrows(timeline);
    sort_leaving(timeline);
}

static void free_texts(char **texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        crn_free(texts[i]);
    crn_free(texts);
}

void crn_timeline_close(crn_timeline *timeline)
{
    free_texts(timeline->names, timeline->profile->block_count);
    free_texts(timeline->keys, timeline->trace->key_count);
    free_texts(timeline->row_names, timeline->row_count);
    free_texts(timeline->process_names, timeline->process_count);
    crn_free(timeline->process_numbers);
    crn_free(timeline->process);
    crn_free(timeline->threads);
    crn_free(timeline->same_thread);
    crn_free(timeline->rows);
    crn_free(timeline->row);
    crn_free(timeline->order);
    crn_free(timeline->arrows);
    crn_free(timeline->leaving_first);
    crn_free(timeline->leaving);
    *timeline = (crn_timeline){0};
}
