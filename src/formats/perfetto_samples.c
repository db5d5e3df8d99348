/* SPDX-License-Identifier: MIT
 *
 * Samples of processor time of a Perfetto trace, with their stacks.
 */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/perfetto.h"

enum {
    MODE_USER = 2,
    FRAMES_MOST =
        1024 /* of a stack; further outer ones are left out, as a damaged file can have any path */
};

typedef struct putting {
    crn_perfetto *perfetto;
    const crn_samples *samples;
    uint8_t *named;   /* by block: its name and frame were written */
    uint8_t *written; /* by path: it was written */
    uint64_t *frames; /* of a path */
    size_t room;
} putting;

static uint32_t block_of(const putting *putting, uint32_t path)
{
    uint32_t block = putting->samples->paths[path].block;
    return block < putting->perfetto->timeline->profile->block_count ? block : 0;
}

/* Interns the name of a block, and a frame of that name, under the block's number + 1. */
static void put_frame(putting *putting, uint32_t block)
{
    Perfetto__Protos__InternedString name = PERFETTO__PROTOS__INTERNED_STRING__INIT;
    Perfetto__Protos__InternedString *names = &name;
    Perfetto__Protos__Frame frame = PERFETTO__PROTOS__FRAME__INIT, *frames = &frame;
    Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
    char *text = crn_text_copy(putting->perfetto->timeline->profile->blocks[block].name, false);
    name.has_iid = name.has_str = frame.has_iid = frame.has_function_name_id = true;
    name.iid = frame.iid = frame.function_name_id = block + (uint64_t)1;
    name.str = (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)text};
    data.n_function_names = data.n_frames = 1;
    data.function_names = &names;
    data.frames = &frames;
    crn_perfetto_put_interned(putting->perfetto, &data, false);
    crn_free(text);
    putting->named[block] = 1;
}

/* Interns a path under its number + 1. */
static void put_path(putting *putting, uint32_t path)
{
    Perfetto__Protos__Callstack stack = PERFETTO__PROTOS__CALLSTACK__INIT, *stacks = &stack;
    Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
    size_t length = 0;
    for (uint32_t p = path; p != CRN_PATH_NONE && length < FRAMES_MOST;
         p = putting->samples->paths[p].caller)
        length++;
    if (length > putting->room) {
        putting->room = length * 2;
        putting->frames = crn_realloc(putting->frames, putting->room, sizeof *putting->frames);
    }
    size_t at = length;
    for (uint32_t p = path; at; p = putting->samples->paths[p].caller) {
        uint32_t block = block_of(putting, p);
        if (!putting->named[block])
            put_frame(putting, block);
        putting->frames[--at] = block + (uint64_t)1;
    }
    stack.has_iid = true;
    stack.iid = path + (uint64_t)1;
    stack.n_frame_ids = length;
    stack.frame_ids = putting->frames;
    data.n_callstacks = 1;
    data.callstacks = &stacks;
    crn_perfetto_put_interned(putting->perfetto, &data, false);
    putting->written[path] = 1;
}

static void put_sample(putting *putting, const crn_sample *sample)
{
    const crn_timeline *timeline = putting->perfetto->timeline;
    uint32_t lane = timeline->same_thread[sample->lane];
    Perfetto__Protos__PerfSample perf = PERFETTO__PROTOS__PERF_SAMPLE__INIT;
    Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    if (!putting->written[sample->path])
        put_path(putting, sample->path);
    perf.has_pid = perf.has_tid = perf.has_callstack_iid = perf.has_cpu_mode = true;
    perf.pid = timeline->process_numbers[timeline->process[lane]];
    perf.tid = timeline->threads[lane];
    perf.callstack_iid = sample->path + (uint64_t)1;
    perf.cpu_mode = MODE_USER;
    packet.has_timestamp = packet.has_sequence_flags = true;
    packet.timestamp = putting->perfetto->base + sample->at;
    packet.sequence_flags = CRN_PERFETTO_STATE_NEEDED;
    packet.perf_sample = &perf;
    crn_perfetto_put(putting->perfetto, &packet);
}

void crn_perfetto_put_samples(crn_perfetto *perfetto)
{
    const crn_samples *samples = &perfetto->timeline->trace->samples;
    putting putting = {.perfetto = perfetto, .samples = samples};
    if (!samples->count)
        return;
    putting.named = crn_calloc(perfetto->timeline->profile->block_count + (size_t)1, 1);
    putting.written = crn_calloc(samples->path_count, 1);
    for (uint32_t s = 0; s < samples->count; s++)
        put_sample(&putting, &samples->list[s]);
    crn_free(putting.named);
    crn_free(putting.written);
    crn_free(putting.frames);
}
