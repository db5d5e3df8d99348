/* SPDX-License-Identifier: MIT
 *
 * Gives a child of fork a capture of its own at its first event. The first thread with an event
 * makes the capture and its tables. Then each thread begins its lanes anew, with graphs of just the
 * contexts on their stacks.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "capture/loss.h"
#include "runtime/off_core.h"
#include "runtime/runtime.h"
#include "runtime/siblings.h"
#include "runtime/span.h"
#include "runtime/stack.h"
#include "runtime/translation.h"

/* ---- the capture ---- */

/* Returns the path of a child's capture: x.PID.cairn for x.cairn; x.PID.2.cairn if an earlier
 * process had that pid. */
char *crn_child_path(const char *origin)
{
    enum { DIGITS = 64, TRIES = 100 };
    static const char suffix[] = ".cairn";
    size_t length = strlen(origin);
    char *path = crn_try_calloc(length + DIGITS, 1);
    if (!path)
        return NULL;
    const char *last = crn_path_ends(origin, suffix) ? suffix : "";
    int stem = (int)(length - strlen(last));
    struct stat status;
    snprintf(path, length + DIGITS, "%.*s.%d%s", stem, origin, (int)getpid(), last);
    for (int n = 2; lstat(path, &status) == 0 && n < TRIES; n++)
        snprintf(path, length + DIGITS, "%.*s.%d.%d%s", stem, origin, (int)getpid(), n, last);
    return path;
}

/* Stores the path of the first ancestor's capture, from which the paths of all children are made.
 * Returns false without memory. */
static bool keep_origin(cairn_profile *profile)
{
    const char *path = profile->capture.file.path;
    if (profile->in_memory || profile->child.origin)
        return true;
    if (path)
        profile->child.origin = crn_try_calloc(strlen(path) + 1, 1);
    if (!profile->child.origin)
        return false;
    strcpy(profile->child.origin, path);
    return true;
}

static cairn_error create(cairn_profile *profile, crn_capture *capture)
{
    uint64_t limit = profile->capture.limit;
    if (!keep_origin(profile))
        return CAIRN_E_MEMORY;
    if (profile->in_memory)
        return crn_capture_create(capture, NULL, limit);
    char *path = crn_child_path(profile->child.origin);
    cairn_error error = path ? crn_capture_create(capture, path, limit) : CAIRN_E_MEMORY;
    crn_free(path);
    return error;
}

/* Writes the child's header: copies the fields that describe the profile from the parent's header;
 * those that describe the file and its figures are new. */
static void write_header(cairn_profile *profile, const crn_disk_header *parent)
{
    crn_disk_header *own = profile->capture.header;
    crn_disk_header header = *parent;
    memcpy(header.magic, own->magic, sizeof header.magic);
    header.state = own->state;
    header.directory = own->directory;
    header.size = own->size;
    header.process = own->process;
    header.stopped_by = CAIRN_OK;
    header.refused = own->refused;
    header.generation = profile->generation;
    memset(header.used, 0, sizeof header.used);
    uint64_t since = crn_clock_monotonic() - profile->child.forked.monotonic_ns;
    header.started_unix_ns = crn_clock_realtime() - since;
    header.first = profile->child.forked;
    header.moments = 0;
    header.rounds = header.rounds_ns = header.sampler_ns = 0;
    *own = header;
    crn_profile_moment(profile);
}

/* Copies a table, as it was at the fork, to the child's capture. */
static void copy_table(cairn_profile *profile, crn_section *section, crn_section_kind kind)
{
    crn_section before = *section;
    uint64_t place;
    crn_section_open(section, &profile->capture, kind, 0, 0);
    uint64_t used = profile->child.used[kind];
    if (used) {
        cairn_error error = crn_section_append(section, before.base, used, &place);
        if (error)
            crn_profile_stop(profile, error);
    }
    crn_section_close(&before);
}

static void copy_tables(cairn_profile *profile, const crn_disk_header *parent, const char *path)
{
    char process[16];
    copy_table(profile, &profile->strings, CRN_SECTION_STRINGS);
    copy_table(profile, &profile->blocks, CRN_SECTION_BLOCKS);
    copy_table(profile, &profile->metrics, CRN_SECTION_METRICS);
    copy_table(profile, &profile->notes, CRN_SECTION_NOTES);
    copy_table(profile, &profile->keys, CRN_SECTION_KEYS);
    crn_trees_move(profile);
    snprintf(process, sizeof process, "%u", parent->process);
    crn_profile_add_note(profile, "parent", process);
    crn_profile_add_note(profile, "forked_from", path ? path : "");
    if (profile->spans)
        crn_ids_begin_child(profile);
}

/* Numbers open lanes anew; frees closed ones. */
static void number_lanes(cairn_profile *profile)
{
    profile->lane_count = 0;
    for (cairn_lane **place = &profile->lanes; *place;) {
        cairn_lane *lane = *place;
        if (lane->open) {
            lane->number = profile->lane_count++;
            place = &lane->next;
        } else {
            *place = lane->next;
            crn_lane_free(lane);
        }
    }
}

/* Makes the child's capture and continues the profile in it. Under the profile's lock. */
static cairn_error take_over(cairn_profile *profile)
{
    crn_capture parent = profile->capture, own;
    if (crn_capture_is_lost(&parent)) /* the tables are lost with it */
        return CAIRN_E_LOST;
    cairn_error error = create(profile, &own);
    if (error)
        return error;
    crn_capture_move(&profile->capture, &own);
    __atomic_store_n(&profile->stopped, CAIRN_OK, __ATOMIC_RELAXED);
    write_header(profile, parent.header);
    copy_tables(profile, parent.header, parent.file.path);
    number_lanes(profile);
    error = crn_capture_publish(&profile->capture);
    if (error)
        crn_profile_stop(profile, error);
    crn_capture_close(&parent, CRN_STATE_RECORDING);
    __atomic_store_n(&profile->mode, profile->child.mode, __ATOMIC_RELEASE);
    if (profile->child.sampler && crn_sampler_start(profile) != CAIRN_OK)
        crn_profile_stop(profile, CAIRN_E_THREAD);
    if ((profile->spans || profile->span_histograms) && !crn_preparer_start(profile))
        crn_profile_stop(profile, CAIRN_E_THREAD);
    if (profile->has_off_core && !crn_off_core_start(profile))
        crn_profile_stop(profile, CAIRN_E_THREAD);
    return CAIRN_OK;
}

bool crn_profile_is_ready(cairn_profile *profile)
{
    crn_child_begin(profile);
    return !profile->capture.detached;
}

/* Not inlined, because tests/alloc/libc_calls.py looks for its name in the machine code. */
__attribute__((noinline)) void crn_child_begin(cairn_profile *profile)
{
    if (!__atomic_load_n(&profile->child.waiting, __ATOMIC_ACQUIRE))
        return;
    int saved = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    crn_profile_lock(profile);
    if (profile->child.waiting) {
        cairn_error error = take_over(profile);
        if (error)
            __atomic_store_n(&profile->stopped, error, __ATOMIC_RELAXED);
        crn_profile_announce_change(profile);
        __atomic_store_n(&profile->child.waiting, false, __ATOMIC_RELEASE);
    }
    crn_profile_unlock(profile);
    pthread_setcancelstate(cancelling, NULL);
    errno = saved;
}

/* ---- lanes ---- */

/* Returns the node offset in the graph `to` for one in `from`; the root's without memory. */
static uint32_t node_offset_of(crn_translation *translation, const crn_graph *from, crn_graph *to,
                               uint64_t node_offset)
{
    uint32_t record = crn_record_at(node_offset);
    record = crn_translate_record(translation, from->links, from->used, to, record);
    return (record ? record : CRN_RECORD_ROOT) * CRN_RECORD_WORDS;
}

/* Translates the frames of a stack from the lane's old graph to its present one. */
static void move_strand(cairn_strand *strand, crn_translation *translation, const crn_graph *from)
{
    crn_graph *to = &crn_lane_of(strand)->graph;
    if (strand->records) {
        crn_stack_forget(strand);
        crn_strand_arm(strand);
        return;
    }
    for (uint32_t *frame = strand->stack + 1; frame < strand->hot.top; frame++)
        *frame = node_offset_of(translation, from, to, *frame);
    CAIRN_PRIV_PUT(strand->hot.current, node_offset_of(translation, from, to, strand->hot.current));
}

static bool open_graph(cairn_lane *lane, const crn_graph *before)
{
    crn_capture *capture = &lane->profile->capture;
    crn_section_open(&lane->links, capture, CRN_SECTION_LANE, 0, lane->number);
    crn_section_open(&lane->records, capture, CRN_SECTION_RECORDS, 0, lane->number);
    lane->graph = (crn_graph){.grow = before->grow,
                              .storage = lane,
                              .path_limit = before->path_limit,
                              .context_budget = before->context_budget,
                              .alias_budget = before->alias_budget};
    if (crn_graph_open(&lane->graph))
        return true;
    crn_section_close(&lane->links);
    crn_section_close(&lane->records);
    return false;
}

/* Begins the lane's figures; time counts from the fork. Each open strand counts as a call of the
 * root. */
static void begin_figures(cairn_lane *lane, uint32_t name)
{
    lane->disk->name = name;
    lane->disk->open = 1;
    lane->disk->generation = lane->profile->generation;
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next)
        lane->disk->strands++;
    crn_graph_record(&lane->graph, CRN_RECORD_ROOT)->calls = lane->disk->strands;
    crn_ticks_begin(lane);
    crn_lane_begin_child(lane, lane->profile->child.forked.clock);
}

/* Empties the cache that maps contexts of other lanes to records of this lane, because those are
 * records of its old graph. */
static void forget_foreign(cairn_lane *lane)
{
    crn_free(lane->foreign);
    lane->foreign = NULL;
    lane->foreign_mask = lane->foreign_count = 0;
}

void crn_child_begin_lane(cairn_lane *lane)
{
    crn_graph before = lane->graph;
    crn_section links = lane->links, records = lane->records;
    uint32_t name = lane->disk->name;
    crn_translation translation = {0};
    uint64_t tag = crn_graph_tag(lane);
    lane->forked = false;
    crn_columns_close(lane);
    forget_foreign(lane);
    crn_redirect_forget(lane);
    crn_lane_unmap_header(lane);
    bool opened = open_graph(lane, &before) && crn_spans_open(lane);
    if (opened) {
        crn_counted_move(lane, &translation, &before);
        for (cairn_strand *strand = lane->strands; strand; strand = strand->next)
            move_strand(strand, &translation, &before);
        lane->promises = false;
        begin_figures(lane, name); /* last, because from then on the sampler looks at the lane */
    }
    crn_translation_free(&translation);
    if (!opened || !crn_old_graph_add(lane, tag, &before, &links))
        crn_section_close(&links);
    crn_graph_close(&before);
    crn_section_close(&records);
    if (!opened)
        crn_lane_abandon(lane);
    else
        crn_lane_charge_now(lane);
}
