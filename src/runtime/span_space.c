/* SPDX-License-Identifier: MIT
 *
 * Storage of a lane's spans and of their details (attributes, hand-offs, waits): two streams of
 * chunks (stream.h). A thread, the *preparer*, prepares chunks before they are needed.
 */
#include <sys/mman.h>

#include "base/limits.h"
#include "base/memory.h"
#include "plat/thread.h"
#include "runtime/span.h"

enum {
    SLEEP_NS = 500000000, /* period of the preparer after more than QUIET rounds with nothing to do,
                             when it sleeps */
    QUIET = 32,
    IDLE_NS = 2000000, /* its period while there is nothing to prepare */
    BUSY_NS = 500000,  /* its period after it prepared chunks */
    HALF = CRN_STREAM_CHUNKS / 2,
    LANES_FEW = 32,          /* the first LANES_FEW lanes get several chunks at their first span */
    LANES_MOST = 0xffffe,    /* lanes from this number on record no spans: span names cannot hold
                                it */
    RING_DEFAULT = 64 << 20, /* bytes: limit of a ring for which no limit was asked */
    LIMIT_LEAST = 1024 * 1024, /* bytes: a lower limit is raised to this */
    SPAN_CHUNK = CAIRN_PRIV_SPAN_CHUNK * sizeof(cairn_priv_span),
    DETAIL_CHUNK = CRN_RING_DETAILS * sizeof(crn_disk_detail)
};

_Static_assert((int)CAIRN_PRIV_SPAN_CHUNK == (int)CRN_RING_SPANS, "a chunk is a part of a ring");
_Static_assert((uint64_t)CRN_STREAM_CHUNKS *CAIRN_PRIV_SPAN_CHUNK < CRN_SPAN_GONE, "numbers");

/* Takes a chunk. Wakes the preparer if it sleeps or was not wanted before, and for the first chunk
 * of a lane, which will soon need more. */
static char *take_from(cairn_lane *lane, crn_stream *stream)
{
    cairn_profile *profile = lane->profile;
    /* A hidden sampling thread starts no preparer. */
    bool alone = profile->sampler.helper.hidden || profile->lacks_preparer;
    char *chunk = alone ? crn_stream_take_alone(stream) : crn_stream_take(stream);
    if (chunk && ((stream->taken == 1 && lane->number < LANES_FEW) ||
                  !__atomic_load_n(&profile->preparer_wanted, __ATOMIC_RELAXED) ||
                  __atomic_exchange_n(&profile->preparer_sleeps, false, __ATOMIC_RELAXED)))
        crn_preparer_wake(profile);
    return chunk;
}

/* ---- spans ---- */

/* Begins one of the two halves of a ring's span numbers, which wrap around. Open spans that already
 * have a number of this half were overwritten: marks them as gone. Makes details go into a new
 * chunk, because each chunk of details belongs to one half. */
static void begin_half(cairn_lane *lane, uint64_t half)
{
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next)
        for (cairn_priv_open *open = strand->open_spans; open && open < strand->hot.open; open++) {
            uint32_t part = (open->span - 1) / CAIRN_PRIV_SPAN_CHUNK;
            if (crn_open_is_recorded(open->span) && part / HALF == half % 2)
                open->span = CRN_SPAN_GONE;
        }
    lane->detail = lane->detail_end = NULL;
}

/* Takes the lane's next chunk of spans. Returns false if no chunk is ready. */
static bool take_chunk(cairn_lane *lane)
{
    cairn_priv_spans *spans = &lane->graph.hot.spans;
    crn_stream *stream = &lane->spans;
    uint64_t number = stream->taken, given = stream->given;
    cairn_priv_span *chunk = (cairn_priv_span *)(void *)take_from(lane, stream);
    /* Counts the spans of chunks that take_from gave up as overwritten, now that readers ignore
     * these chunks, and before an open span among them ends. */
    CAIRN_PRIV_ADD(lane->disk->spans_recycled,
                   (stream->given - given) * (CAIRN_PRIV_SPAN_CHUNK - 1));
    if (!chunk)
        return false;
    uint32_t first = stream->ring; /* a ring's chunk begins with a header of the size of a span */
    spans->used = (uint32_t)(number % CRN_STREAM_CHUNKS) * CAIRN_PRIV_SPAN_CHUNK + first;
    spans->next = chunk + first;
    lane->spans_end = chunk + CAIRN_PRIV_SPAN_CHUNK;
    if (stream->ring && number && number % HALF == 0)
        begin_half(lane, number / HALF);
    return true;
}

static void count_dropped(cairn_lane *lane)
{
    bool late = !__atomic_load_n(&lane->spans.ended, __ATOMIC_RELAXED);
    lane->disk->spans_dropped++;
    lane->disk->spans_late += late;
    lane->disk->spans_limited += !late;
}

cairn_priv_span *crn_spans_take(cairn_lane *lane, uint32_t *number)
{
    cairn_priv_spans *spans = &lane->graph.hot.spans;
    if (spans->next == lane->spans_end && !take_chunk(lane)) {
        count_dropped(lane);
        return NULL;
    }
    *number = ++spans->used;
    return spans->next++;
}

cairn_priv_span *crn_spans_at(const cairn_lane *lane, uint32_t number)
{
    uint32_t place = number - 1;
    return &lane->graph.hot.spans
                .chunks[place / CAIRN_PRIV_SPAN_CHUNK][place % CAIRN_PRIV_SPAN_CHUNK];
}

/* ---- details ---- */

static crn_disk_detail *next_detail(cairn_lane *lane)
{
    if (lane->detail == lane->detail_end) {
        lane->detail = (crn_disk_detail *)(void *)take_from(lane, &lane->details);
        lane->detail_end = lane->detail ? lane->detail + CRN_RING_DETAILS : NULL;
        if (lane->detail && lane->details.ring) {
            crn_disk_ring *ring = (crn_disk_ring *)(void *)lane->detail++;
            __atomic_store_n(&ring->before, (uint32_t)((lane->spans.taken - 1) / HALF),
                             __ATOMIC_RELAXED);
        }
    }
    if (lane->detail)
        return lane->detail++;
    lane->disk->details_dropped++;
    return NULL;
}

/* Stores the kind last: it makes the detail valid. */
void crn_spans_put_detail(cairn_lane *lane, crn_disk_detail detail)
{
    crn_disk_detail *place = next_detail(lane);
    if (!place)
        return;
    place->span = detail.span;
    place->key = detail.key;
    place->value = detail.value;
    place->more = detail.more;
    __atomic_store_n(&place->kind, detail.kind, __ATOMIC_RELEASE);
}

/* ---- begin and end ---- */

static uint64_t limit_of(const cairn_profile *profile, bool ring)
{
    uint64_t limit = profile->span_limit;
    if (!limit)
        return ring ? RING_DEFAULT : 0;
    return limit < LIMIT_LEAST ? LIMIT_LEAST : limit;
}

static bool open_records(cairn_lane *lane)
{
    cairn_profile *profile = lane->profile;
    bool ring = profile->span_policy == CAIRN_SPANS_KEEP_LAST;
    crn_stream_plan spans = {.kind = ring ? CRN_SECTION_SPAN_RING : CRN_SECTION_SPANS,
                             .lane = lane->number,
                             .chunk_size = SPAN_CHUNK,
                             .most = limit_of(profile, ring),
                             .ring = ring,
                             .modest = lane->number >= LANES_FEW};
    crn_stream_plan details = spans;
    details.kind = ring ? CRN_SECTION_DETAIL_RING : CRN_SECTION_DETAILS;
    details.chunk_size = DETAIL_CHUNK;
    if (!crn_stream_open(&lane->spans, &profile->capture, &spans) ||
        !crn_stream_open(&lane->details, &profile->capture, &details))
        return false;
    lane->graph.hot.spans.chunks = (cairn_priv_span **)(void *)lane->spans.chunks;
    return true;
}

bool crn_spans_open(cairn_lane *lane)
{
    const cairn_profile *profile = lane->profile;
    lane->span_random = profile->seed + lane->number * 0xd6e8feb86659fd93u +
                        profile->child.forks * 0xa0761d6478bd642fu;
    if (profile->spans && lane->number < LANES_MOST && !open_records(lane))
        return false;
    if (profile->span_histograms)
        lane->histograms = crn_histograms_new(lane);
    return lane->histograms || !profile->span_histograms;
}

void crn_spans_close(cairn_lane *lane)
{
    crn_stream_close(&lane->spans);
    crn_stream_close(&lane->details);
    crn_histograms_free(lane->histograms);
    lane->histograms = NULL;
    lane->graph.hot.spans = (cairn_priv_spans){0};
    lane->spans_end = NULL;
    lane->detail = lane->detail_end = NULL;
}

/* ---- preparing ---- */

/* Returns the lane's stream with the fewest ready chunks among those that want more, if they are
 * fewer than `*stock`; sets `*stock` to their number. Otherwise returns NULL. */
static crn_stream *needy_of(cairn_lane *lane, uint64_t *stock)
{
    crn_stream *const streams[] = {&lane->spans, &lane->details};
    crn_stream *found = NULL;
    for (int i = 0; i < 2; i++)
        if (crn_stream_wants(streams[i]) && crn_stream_stock(streams[i]) < *stock) {
            found = streams[i];
            *stock = crn_stream_stock(found);
        }
    return found;
}

/* Returns the first chunk of a modest stream; NULL for other streams and before the chunk is
 * taken. */
static const void *first_if_modest(const crn_stream *stream)
{
    bool is_taken = stream->modest && __atomic_load_n(&stream->taken, __ATOMIC_ACQUIRE);
    return is_taken ? stream->chunks[0] : NULL;
}

/* Clears `modest` in streams whose first chunk is half full. Lanes beyond the first LANES_FEW start
 * with one chunk for each stream, as there may be thousands of lanes. */
static void look_at_modest(cairn_lane *lane)
{
    if (!__atomic_load_n(&lane->details.open, __ATOMIC_ACQUIRE))
        return;
    const cairn_priv_span *spans = first_if_modest(&lane->spans);
    if (spans)
        lane->spans.modest =
            !__atomic_load_n(&spans[CAIRN_PRIV_SPAN_CHUNK / 2].start, __ATOMIC_RELAXED);
    const crn_disk_detail *details = first_if_modest(&lane->details);
    if (details)
        lane->details.modest =
            !__atomic_load_n(&details[CRN_RING_DETAILS / 2].kind, __ATOMIC_RELAXED);
}

/* Prepares chunks until no stream wants more. Looks for the stream with the fewest ready chunks
 * each time, because lanes take chunks meanwhile. Returns true if it prepared any. */
static bool prepare_lanes(cairn_profile *profile)
{
    cairn_lane *first = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE);
    uint64_t now = crn_clock_monotonic();
    bool any = false;
    for (cairn_lane *lane = first; lane; lane = lane->next) {
        look_at_modest(lane);
        crn_stream_look(&lane->spans, now);
        crn_stream_look(&lane->details, now);
    }
    for (;;) {
        uint64_t stock = UINT64_MAX;
        crn_stream *needy = NULL;
        for (cairn_lane *lane = first; lane; lane = lane->next) {
            crn_stream *found = needy_of(lane, &stock);
            needy = found ? found : needy;
        }
        if (!needy || !crn_stream_prepare(needy))
            return any;
        any = true;
    }
}

static void *prepare(void *data)
{
    cairn_profile *profile = data;
    uint64_t wait = BUSY_NS;
    unsigned quiet = 0; /* consecutive rounds without a wake-up or anything to prepare */
    crn_thread_be_prompt();
    while (crn_helper_wait(&profile->preparer, crn_clock_monotonic() + wait)) {
        bool any = prepare_lanes(profile);
        bool woken = !__atomic_load_n(&profile->preparer_sleeps, __ATOMIC_RELAXED);
        quiet = any || (woken && quiet > QUIET) ? 0 : quiet + 1;
        __atomic_store_n(&profile->preparer_sleeps, quiet > QUIET, __ATOMIC_RELAXED);
        wait = any ? BUSY_NS : quiet > QUIET ? SLEEP_NS : IDLE_NS;
        if (profile->wall == CAIRN_WALL_OFF && profile->cpu == CAIRN_CPU_OFF)
            crn_profile_moment(profile); /* otherwise the sampling thread calibrates the clock */
    }
    return NULL;
}

static bool start_preparer(cairn_profile *profile)
{
    return crn_helper_start(&profile->preparer, "cairn-space", prepare, profile);
}

/* A sampling thread with a file table of its own cannot start the preparer, which would share that
 * table. Where the host's thread stays hidden, no preparer is started; children of fork have no
 * thread of the host. */
bool crn_preparer_start(cairn_profile *profile)
{
    const crn_helper *sampler = &profile->sampler.helper;
    __atomic_store_n(&profile->preparer_wanted, false, __ATOMIC_RELAXED);
    profile->lacks_preparer = !sampler->running && !profile->child.ancestor_count &&
                              crn_profile_may_hide(profile, CRN_HIDES_HOST);
    return profile->lacks_preparer || (sampler->running && !sampler->kept) ||
           start_preparer(profile);
}

void crn_preparer_wake(cairn_profile *profile)
{
    bool first = !__atomic_exchange_n(&profile->preparer_wanted, true, __ATOMIC_RELEASE);
    if (first && !crn_helper_runs(&profile->preparer))
        crn_helper_wake(&profile->sampler.helper);
    crn_helper_wake(&profile->preparer);
}

void crn_preparer_start_if_wanted(cairn_profile *profile)
{
    if (!__atomic_load_n(&profile->preparer_wanted, __ATOMIC_RELAXED) ||
        crn_helper_runs(&profile->preparer))
        return;
    if (start_preparer(profile))
        profile->preparer.mask = profile->sampler.helper.mask;
}

/* ---- releasing unused space ---- */

typedef struct in_use {
    cairn_lane **lanes; /* closed lanes by number; NULL: no closed lane has the number */
    uint32_t count;
} in_use;

/* Returns how many bytes of a chunk of the file a lane has used, for crn_capture_trim. */
static uint64_t bytes_of_chunk(const void *data, const crn_disk_chunk *chunk)
{
    const in_use *in_use = data;
    if (chunk->lane >= in_use->count || !in_use->lanes[chunk->lane])
        return chunk->size;
    const cairn_lane *lane = in_use->lanes[chunk->lane];
    const crn_stream *stream;
    uint64_t unused = 0; /* bytes of the last chunk that are not used */
    switch (chunk->kind) {
    case CRN_SECTION_SPANS:
        unused = (uint64_t)(lane->spans_end - lane->graph.hot.spans.next);
        unused *= sizeof(cairn_priv_span);
        stream = &lane->spans;
        break;
    case CRN_SECTION_SPAN_RING:
        stream = &lane->spans;
        break;
    case CRN_SECTION_DETAILS:
        unused = (uint64_t)(lane->detail_end - lane->detail) * sizeof(crn_disk_detail);
        stream = &lane->details;
        break;
    case CRN_SECTION_DETAIL_RING:
        stream = &lane->details;
        break;
    case CRN_SECTION_HISTOGRAMS:
        if (!lane->histograms)
            return chunk->size;
        stream = crn_histograms_space(lane->histograms);
        break;
    default:
        return chunk->size;
    }
    /* The process may end in a signal handler that interrupted a change of the two pointers. */
    if (unused > stream->identity.size)
        unused = 0;
    uint64_t used = crn_stream_used(stream) - unused;
    uint64_t left = used > chunk->place ? used - chunk->place : 0;
    return left < chunk->size ? left : chunk->size;
}

/* Returns true if the lane has space that can be unused. Most lanes have no spans. */
static bool has_streams(const cairn_lane *lane)
{
    return lane->spans.made || lane->details.made || lane->histograms;
}

uint64_t crn_spans_trim(cairn_profile *profile)
{
    in_use in_use = {.count = profile->lane_count};
    const cairn_lane *any = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE);
    while (any && !has_streams(any))
        any = any->next;
    if (!any)
        return UINT64_MAX;
    /* Uses mmap: the process may end in a signal handler that interrupted malloc. */
    size_t size = in_use.count * sizeof *in_use.lanes;
    void *table = size
                      ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : MAP_FAILED;
    if (table == MAP_FAILED)
        return UINT64_MAX;
    in_use.lanes = table;
    for (cairn_lane *lane = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE); lane;
         lane = lane->next)
        if (lane->number < in_use.count && !lane->disk->open)
            in_use.lanes[lane->number] = lane;
    uint64_t end = crn_capture_trim(&profile->capture, bytes_of_chunk, &in_use);
    munmap(table, size);
    return end;
}
