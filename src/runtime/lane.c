/* SPDX-License-Identifier: MIT
 *
 * Lanes and strands.
 */
#include <errno.h>

#include "base/memory.h"
#include "runtime/runtime.h"
#include "runtime/siblings.h"
#include "runtime/span.h"
#include "runtime/stack.h"

enum { KEPT_STACK = 1024 }; /* entries that a closed strand keeps for the next one */

/* ---- memory ---- */

static crn_section *column_of(cairn_lane *lane, cairn_metric metric)
{
    if (!lane->columns[metric]) {
        crn_section *column = crn_try_calloc(1, sizeof *column);
        if (!column)
            return NULL;
        crn_section_open(column, &lane->profile->capture, CRN_SECTION_COLUMN, (uint16_t)metric,
                         lane->number);
        lane->columns[metric] = column;
    }
    return lane->columns[metric];
}

static cairn_error grow_column(cairn_lane *lane, cairn_metric metric, uint64_t records)
{
    crn_section *column = column_of(lane, metric);
    return column ? crn_section_grow(column, records * sizeof(uint64_t)) : CAIRN_E_MEMORY;
}

/* Maps the lane's header a second time, for the sampler: `links` may move meanwhile. */
static cairn_error map_face(cairn_lane *lane)
{
    lane->face = crn_address_reserve(CRN_PAGE);
    int file = crn_capture_file(&lane->profile->capture);
    if (lane->face && crn_address_map(lane->face, file, lane->links.chunks[0].offset, CRN_PAGE)) {
        lane->disk = (crn_disk_lane *)lane->face;
        return CAIRN_OK;
    }
    crn_lane_release_face(lane);
    return CAIRN_E_MAP;
}

void crn_lane_release_face(cairn_lane *lane)
{
    crn_address_release(lane->face, CRN_PAGE);
    lane->face = NULL;
}

void crn_lane_detach_face(cairn_lane *lane)
{
    if (lane->face)
        crn_address_detach(lane->face, crn_capture_file(&lane->profile->capture),
                           lane->links.chunks[0].offset, CRN_PAGE);
}

/* Grows the column of processor time with the graph, so that charging never allocates. */
static bool grow_lane(crn_graph *graph, uint64_t records)
{
    cairn_lane *lane = graph->storage;
    int saved = errno;
    pthread_mutex_lock(&lane->moving);
    cairn_error error =
        crn_section_grow(&lane->links, sizeof(crn_disk_lane) + records * sizeof(crn_link));
    if (!error)
        error = crn_section_grow(&lane->records, records * sizeof(cairn_priv_record));
    if (!error && lane->profile->cpu != CAIRN_CPU_OFF)
        error = grow_column(lane, CAIRN_METRIC_CPU, records);
    if (lane->links.base && !lane->face) {
        cairn_error unmapped = map_face(lane);
        error = error ? error : unmapped;
    }
    errno = saved;
    if (lane->face) {
        graph->links = (crn_link *)(lane->links.base + sizeof(crn_disk_lane));
        graph->published = &lane->disk->used;
    }
    graph->hot.base = lane->records.base;
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next)
        strand->hot.base = graph->hot.base;
    graph->hot.names = lane->profile->names;
    pthread_mutex_unlock(&lane->moving);
    if (error) {
        crn_profile_stop(lane->profile, error);
        return false;
    }
    uint64_t links = (lane->links.mapped - sizeof(crn_disk_lane)) / sizeof(crn_link);
    uint64_t hot = lane->records.mapped / sizeof(cairn_priv_record);
    graph->capacity = (uint32_t)(links < hot ? links : hot);
    return true;
}

cairn_lane *crn_lane_new(cairn_profile *profile)
{
    cairn_lane *lane = crn_try_calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    lane->profile = profile;
    lane->number = profile->lane_count;
    pthread_mutex_init(&lane->moving, NULL);
    crn_section_open(&lane->links, &profile->capture, CRN_SECTION_LANE, 0, lane->number);
    crn_section_open(&lane->records, &profile->capture, CRN_SECTION_RECORDS, 0, lane->number);
    lane->graph = (crn_graph){.grow = grow_lane,
                              .storage = lane,
                              .path_limit = profile->path_limit,
                              .context_budget = profile->context_budget,
                              .alias_budget = profile->context_budget};
    if (!crn_graph_open(&lane->graph) || !crn_spans_open(lane)) {
        crn_lane_free(lane);
        return NULL;
    }
    crn_ticks_begin(lane);
    crn_redirect_forget(lane);
    lane->disk->generation = profile->generation;
    profile->lane_count++;
    lane->next = profile->lanes;
    __atomic_store_n(&profile->lanes, lane, __ATOMIC_RELEASE);
    return lane;
}

static void free_strands(cairn_strand *strand)
{
    for (cairn_strand *next; strand; strand = next) {
        next = strand->next;
        crn_free(strand->stack);
        crn_strand_spans_free(strand);
        crn_free(strand);
    }
}

void crn_lane_free(cairn_lane *lane)
{
    if (crn_lane_is_buried(lane))
        return;
    free_strands(lane->spare);
    crn_redirect_forget(lane);
    crn_spans_close(lane);
    pthread_mutex_destroy(&lane->moving);
    crn_free(lane->foreign);
    crn_counted_free(lane->counted);
    crn_old_graphs_free(lane);
    crn_graph_close(&lane->graph);
    crn_lane_release_face(lane);
    crn_section_close(&lane->links);
    crn_section_close(&lane->records);
    for (int i = 0; i < (int)CAIRN_METRIC_MAX; i++) {
        if (lane->columns[i])
            crn_section_close(lane->columns[i]);
        crn_free(lane->columns[i]);
    }
    crn_free(lane);
}

/* After space has run out, hosts' metrics stay as they are, so that allocated and freed memory
 * refer to the same moment. */
void crn_lane_charge(cairn_lane *lane, uint32_t record, cairn_metric metric, uint64_t amount)
{
    if (metric >= CAIRN_METRIC_USER && cairn_profile_status(lane->profile) == CAIRN_E_SPACE)
        return;
    int saved = errno;
    cairn_error error = grow_column(lane, metric, record + (uint64_t)1);
    errno = saved;
    if (error) {
        crn_profile_stop(lane->profile, error);
        lane->disk->dropped++;
        return;
    }
    CAIRN_PRIV_ADD(((uint64_t *)lane->columns[metric]->base)[record], amount);
}

/* ---- lanes ---- */

/* Returns a closed lane for reuse, so that thousands of short-lived threads need only as many
 * graphs as ran at once. Under the profile's lock. */
static cairn_lane *reuse_lane(cairn_profile *profile)
{
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next)
        if (!lane->open)
            return lane;
    return NULL;
}

static cairn_lane *open_lane(cairn_profile *profile, const char *name, bool reuse)
{
    if (!profile || !crn_profile_is_ready(profile))
        return NULL;
    int saved = errno;
    crn_profile_lock(profile);
    cairn_lane *lane = reuse ? reuse_lane(profile) : NULL;
    if (!lane)
        lane = crn_lane_new(profile);
    if (lane) {
        if (!lane->disk->name)
            lane->disk->name = crn_profile_string(profile, name);
        lane->open = true;
        __atomic_store_n(&lane->of_thread, false, __ATOMIC_RELAXED);
        lane->disk->open = 1;
        __atomic_store_n(&lane->turned, __atomic_load_n(&profile->turned, __ATOMIC_ACQUIRE),
                         __ATOMIC_RELAXED);
        lane->changes_seen = __atomic_load_n(&profile->changes, __ATOMIC_ACQUIRE);
    }
    crn_profile_unlock(profile);
    if (lane)
        crn_lane_own(lane);
    else
        crn_profile_stop(profile, CAIRN_E_MEMORY);
    errno = saved;
    return lane;
}

cairn_lane *cairn_lane_open(cairn_profile *profile, const char *name)
{
    return open_lane(profile, name, true);
}

cairn_lane *crn_lane_open_new(cairn_profile *profile, const char *name)
{
    return open_lane(profile, name, false);
}

/* Returns true if the lane waits for its first event in a child of fork. */
bool crn_lane_waits(const cairn_lane *lane)
{
    return lane->forked && __atomic_load_n(&lane->profile->child.waiting, __ATOMIC_ACQUIRE);
}

void cairn_lane_close(cairn_lane *lane)
{
    if (!lane || !lane->open)
        return;
    crn_redirect_close_lane(lane);
    crn_lane_let_go(lane);
    while (lane->strands)
        cairn_strand_close(lane->strands);
    lane->disk->open = 0;
    crn_profile_lock(lane->profile);
    lane->open = false;
    crn_profile_unlock(lane->profile);
}

/* ---- strands ---- */

static cairn_strand *strand_memory(cairn_lane *lane)
{
    cairn_strand *strand = lane->spare;
    if (strand) {
        lane->spare = strand->next;
    } else {
        strand = crn_try_calloc(1, sizeof *strand);
        if (!strand)
            return NULL;
        strand->hot.lane = &lane->graph.hot;
    }
    if (!strand->stack && !crn_strand_grow(strand)) {
        strand->next = lane->spare;
        lane->spare = strand;
        return NULL;
    }
    return strand;
}

/* The first strand of the list has no previous one. */
static void link_strand(cairn_lane *lane, cairn_strand *strand)
{
    strand->previous = NULL;
    strand->next = lane->strands;
    if (lane->strands)
        lane->strands->previous = strand;
    lane->strands = strand;
}

static void unlink_strand(cairn_lane *lane, cairn_strand *strand)
{
    if (strand->next)
        strand->next->previous = strand->previous;
    if (strand->previous)
        strand->previous->next = strand->next;
    else
        lane->strands = strand->next;
    strand->next = lane->spare;
    lane->spare = strand;
}

void crn_lane_run(cairn_lane *lane, cairn_strand *strand)
{
    __atomic_store_n(&lane->running, strand, __ATOMIC_RELEASE);
    crn_sampler_wake(lane->profile);
}

cairn_strand *cairn_strand_open(cairn_lane *lane)
{
    if (!lane)
        return NULL;
    cairn_strand *strand = strand_memory(lane);
    if (!strand) {
        crn_profile_stop(lane->profile, CAIRN_E_MEMORY);
        return NULL;
    }
    strand->hot.top = strand->hot.bottom = strand->stack + 1;
    crn_strand_spans_begin(strand);
    CAIRN_PRIV_PUT(strand->hot.current, CRN_RECORD_ROOT * CRN_RECORD_WORDS);
    strand->lost = 0;
    strand->open = true;
    crn_lane_own(lane);
    crn_lane_settle(lane);
    strand->hot.graph_tag = crn_graph_tag(lane); /* tag of the present graph */
    if (!lane->strands)                          /* nothing ran on the lane until now */
        crn_lane_begin_time(lane, crn_clock_now(lane->profile->tsc));
    link_strand(lane, strand);
    if (!lane->running && !crn_redirect_someone_runs(lane))
        crn_lane_run(lane, strand);
    crn_strand_rest(strand);
    if (crn_profile_mode(lane->profile) != CRN_MODE_OFF) {
        CAIRN_PRIV_ADD(crn_graph_record(&lane->graph, CRN_RECORD_ROOT)->calls, 1);
        lane->disk->strands++;
    }
    return strand;
}

/* Returns true if the root was replaced: the replacement remains when everything else has been
 * left. */
static bool root_was_replaced(cairn_strand *strand)
{
    if (strand->records)
        return strand->at_root != CAIRN_BLOCK_ROOT;
    cairn_lane *lane = crn_lane_of(strand);
    if (crn_lane_is_buried(lane) || lane->graph.hot.inline_cache) /* a compiled host may have saved
                                                                     callers */
        return false;
    uint32_t bottom =
        cairn_strand_depth(strand) ? crn_record_at(strand->stack[1]) : crn_strand_record(strand);
    return crn_graph_target(&lane->graph, bottom) != CRN_RECORD_ROOT;
}

void cairn_strand_close(cairn_strand *strand)
{
    if (!strand || !strand->open)
        return;
    cairn_lane *lane = crn_lane_of(strand);
    if (strand->away || strand->origin || strand->paused)
        crn_redirect_close(strand);
    bool last = !strand->next && !strand->previous;
    bool charged = !lane->owner || crn_lane_waits(lane);
    if (!charged && last)
        crn_lane_charge_rest(lane);
    else if (!charged)
        crn_lane_settle(lane);
    if (lane->running == strand)
        __atomic_store_n(&lane->running, NULL, __ATOMIC_RELEASE);
    if (root_was_replaced(strand))
        lane->disk->misuses++;
    crn_spans_unwind(strand, 0);
    if (strand->records)
        crn_stack_end(strand);
    strand->open = false;
    if (strand->end - strand->stack > KEPT_STACK) {
        crn_free(strand->stack);
        strand->stack = strand->end = NULL;
    }
    crn_strand_arm(strand);
    unlink_strand(lane, strand);
}

void cairn_strand_switch(cairn_strand *strand)
{
    if (!strand)
        return;
    cairn_lane *lane = crn_lane_of(strand);
    if (lane->home || lane->silent || __atomic_load_n(&lane->stand_ins, __ATOMIC_RELAXED)) {
        crn_redirect_switch(strand);
        return;
    }
    if (lane->running == strand)
        return;
    crn_lane_own(lane);
    crn_lane_settle(lane);
    crn_lane_run(lane, strand);
    crn_strand_rest(strand);
}

size_t cairn_strand_depth(const cairn_strand *strand)
{
    if (!strand)
        return 0;
    size_t held =
        strand->records ? crn_stack_held(strand) : (size_t)(strand->hot.top - strand->stack) - 1;
    return held + strand->lost;
}

cairn_mark cairn_strand_mark(const cairn_strand *strand)
{
    return cairn_strand_depth(strand);
}

void cairn_strand_unwind(cairn_strand *strand, cairn_mark mark)
{
    if (!strand)
        return;
    if (strand->records) {
        crn_stack_unwind(strand, mark);
        return;
    }
    size_t depth = cairn_strand_depth(strand);
    if (mark > depth)
        crn_lane_of(strand)->disk->misuses++;
    if (mark >= depth)
        return;
    crn_lane_settle(crn_lane_of(strand));
    crn_spans_unwind(strand, mark);
    size_t held = depth - strand->lost;
    if (mark >= held) {
        strand->lost = mark - held;
        return;
    }
    strand->lost = 0;
    strand->hot.top = strand->stack + 1 + mark;
    CAIRN_PRIV_PUT(strand->hot.current, *strand->hot.top);
}
