/* SPDX-License-Identifier: MIT */
#include "runtime/sample_moments.h"

#include "base/memory.h"
#include "runtime/stream.h"

enum {
    CHUNK = 512,            /* samples in a chunk, whose size must be a multiple of a page */
    MOST = 64 * 1024 * 1024 /* bytes of samples in a lane */
};

typedef struct crn_sample_space {
    crn_stream space;
    crn_disk_sample *next, *end;
} crn_sample_space;

static crn_sample_space *make(cairn_lane *lane)
{
    crn_sample_space *samples = crn_try_calloc(1, sizeof *samples);
    crn_stream_plan plan = {.kind = CRN_SECTION_SAMPLES,
                            .lane = lane->number,
                            .chunk_size = CHUNK * sizeof(crn_disk_sample),
                            .most = MOST,
                            .ahead = 1};
    if (samples && !crn_stream_open(&samples->space, &lane->profile->capture, &plan)) {
        crn_free(samples);
        return NULL;
    }
    return samples;
}

/* Takes space for a sample. Returns NULL without space. */
static crn_disk_sample *take(crn_sample_space *samples)
{
    if (samples->next == samples->end) {
        samples->next = (crn_disk_sample *)(void *)crn_stream_take_alone(&samples->space);
        samples->end = samples->next ? samples->next + CHUNK : NULL;
    }
    return samples->next ? samples->next++ : NULL;
}

static bool put(cairn_lane *lane, uint64_t at, uint32_t record, uint32_t cpu)
{
    if (crn_lane_is_buried(lane))
        return false;
    if (!lane->samples)
        lane->samples = make(lane);
    crn_disk_sample *sample = lane->samples ? take(lane->samples) : NULL;
    if (!sample)
        return false;
    sample->record = record;
    sample->cpu = cpu;
    __atomic_store_n(&sample->at, at, __ATOMIC_RELEASE);
    return true;
}

bool crn_sample_moments_put(cairn_lane *lane, cairn_context context, uint64_t at, uint64_t cpu)
{
    bool good = at != 0;
    for (; good && cpu > UINT32_MAX; cpu -= UINT32_MAX)
        good = put(lane, at, context, UINT32_MAX); /* the file has 32 bits for `cpu` */
    return good && put(lane, at, context, (uint32_t)cpu);
}

void crn_sample_moments_change(cairn_lane *lane, uint64_t at, uint32_t thread)
{
    put(lane, at, 0, thread);
}

void crn_sample_moments_free(cairn_lane *lane)
{
    if (lane->samples)
        crn_stream_close(&lane->samples->space);
    crn_free(lane->samples);
    lane->samples = NULL;
}
