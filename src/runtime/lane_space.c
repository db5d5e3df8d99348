/* SPDX-License-Identifier: MIT
 *
 * Makes lanes, grows their memory in the capture, and frees them.
 */
#include <errno.h>

#include <cairn/alloc.h>

#include "base/memory.h"
#include "capture/loss.h"
#include "runtime/off_core.h"
#include "runtime/sample_moments.h"
#include "runtime/siblings.h"
#include "runtime/span.h"

void crn_lane_unmap_header(cairn_lane *lane)
{
    crn_capture_release(lane->header_page, CRN_PAGE);
    lane->header_page = NULL;
}

/* Maps the lane's header a second time, at an address that stays the same for the sampler when
 * `links` moves. */
static cairn_error map_header(cairn_lane *lane)
{
    lane->header_page = crn_capture_reserve(&lane->profile->capture, CRN_PAGE);
    int file = crn_capture_file(&lane->profile->capture);
    if (lane->header_page &&
        crn_capture_map(lane->header_page, 0, file, lane->links.chunks[0].offset, CRN_PAGE)) {
        lane->disk = (crn_disk_lane *)lane->header_page;
        return CAIRN_OK;
    }
    crn_lane_unmap_header(lane);
    return CAIRN_E_MAP;
}

void crn_lane_detach_header(cairn_lane *lane)
{
    if (lane->header_page)
        crn_address_detach(lane->header_page, crn_capture_file(&lane->profile->capture),
                           lane->links.chunks[0].offset, CRN_PAGE);
}

/* Makes space for `records` records, and in the column of CPU time, so that charging CPU time never
 * allocates. Even after an error sets all addresses, because arrays may have moved. */
static bool grow_lane(crn_graph *graph, uint64_t records)
{
    cairn_lane *lane = graph->storage;
    int saved = errno;
    crn_futex_lock_take(&lane->moving);
    cairn_error error =
        crn_section_grow(&lane->links, sizeof(crn_disk_lane) + records * sizeof(crn_link));
    if (!error)
        error = crn_section_grow(&lane->records, records * sizeof(cairn_priv_record));
    if (!error && lane->profile->cpu != CAIRN_CPU_OFF)
        error = crn_column_grow(lane, CAIRN_METRIC_CPU, records);
    if (lane->links.base && !lane->header_page) {
        cairn_error unmapped = map_header(lane);
        error = error ? error : unmapped;
    }
    errno = saved;
    if (lane->header_page) {
        graph->links = (crn_link *)(lane->links.base + sizeof(crn_disk_lane));
        graph->published = &lane->disk->used;
    }
    graph->hot.base = lane->records.base;
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next)
        crn_strand_copy_addresses(strand);
    graph->hot.names = lane->profile->names;
    crn_futex_lock_give(&lane->moving);
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
    lane->moving = (crn_futex_lock){0};
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
    if (lane->follower)
        lane->follower->closed(lane->follower);
    free_strands(lane->spare);
    crn_redirect_forget(lane);
    crn_spans_close(lane);
    crn_off_core_free(lane);
    crn_sample_moments_free(lane);
    crn_free(lane->foreign);
    crn_counted_free(lane->counted);
    crn_old_graphs_free(lane);
    crn_graph_close(&lane->graph);
    crn_lane_unmap_header(lane);
    crn_section_close(&lane->links);
    crn_section_close(&lane->records);
    crn_columns_close(lane);
    crn_free(lane);
}

/* When recording ends, helper threads are halted. Then a lock's holder is the thread itself, which
 * a signal handler that ends the process has interrupted. */
bool crn_lane_is_unlocked(cairn_lane *lane)
{
    if (__atomic_load_n(&lane->locked, __ATOMIC_RELAXED) || !crn_futex_lock_try(&lane->moving))
        return false;
    crn_futex_lock_give(&lane->moving);
    return true;
}
