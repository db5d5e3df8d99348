/* SPDX-License-Identifier: MIT
 *
 * The ranks of each block's durations, in little memory: blocks with few spans are sorted, and of
 * one with many only what lies near to a rank, which counting by buckets finds.
 */
#include "spans/span_ranks.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

enum { RANKS = 2, FEW = 4096 };
enum { FINE_BITS = 6, BUCKETS = (64 - FINE_BITS + 1) << FINE_BITS };

static const double shares[RANKS] = {0.5, 0.99};

/* What is looked for in one block. */
typedef struct sought {
    uint64_t *values; /* those of few spans; of many how often each bucket, then those near */
    uint64_t *near[RANKS];
    uint32_t filled[RANKS], bucket[RANKS];
    uint64_t place[RANKS]; /* of the rank, among all; then in its bucket */
} sought;

typedef struct turn {
    const crn_spans *spans;
    const uint8_t *kept;
    crn_span_row *rows; /* by block */
    uint32_t first, last;
    sought *sought; /* by block of the turn */
} turn;

static uint32_t ended(const crn_span_row *row)
{
    return row->count - row->open;
}

/* Exact below 1 << FINE_BITS; then so many of equal width to each power of two. */
static uint32_t bucket_of(uint64_t value)
{
    uint32_t shift = value >> FINE_BITS ? 63 - FINE_BITS - (uint32_t)__builtin_clzll(value) : 0;
    if (value >> FINE_BITS == 0)
        return (uint32_t)value;
    return ((shift + 1) << FINE_BITS) + (uint32_t)(value >> shift) - (1 << FINE_BITS);
}

static bool is_exact(uint32_t bucket)
{
    return bucket < 2 << FINE_BITS;
}

static int compare_times(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Nearest rank: of which `share` of all are no more. */
static uint64_t place_of(double share, uint32_t count)
{
    double rank = ceil(share * count);
    return rank < 1 ? 0 : (uint64_t)rank - 1;
}

typedef void visit(sought *sought, const crn_span_row *row, uint64_t duration);

static void each_span(const turn *turn, visit *visit)
{
    const crn_trace *trace = turn->spans->trace;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t block = crn_span_block(turn->spans, s);
        if (block < turn->first || block >= turn->last || trace->spans[s].open ||
            !crn_span_is_chosen(turn->spans, s) || (turn->kept && !turn->kept[block]))
            continue;
        visit(&turn->sought[block - turn->first], &turn->rows[block],
              crn_span_duration(turn->spans, s));
    }
}

static void count_span(sought *sought, const crn_span_row *row, uint64_t duration)
{
    if (ended(row) <= FEW)
        sought->values[sought->filled[0]++] = duration;
    else
        sought->values[bucket_of(duration - row->min)]++;
}

static void take_near(sought *sought, const crn_span_row *row, uint64_t duration)
{
    uint32_t bucket = ended(row) <= FEW ? UINT32_MAX : bucket_of(duration - row->min);
    for (int r = 0; r < RANKS; r++)
        if (bucket == sought->bucket[r] && sought->near[r])
            sought->near[r][sought->filled[r]++] = duration;
}

static void set_rank(crn_span_row *row, int rank, uint64_t value)
{
    *(rank ? &row->p99 : &row->median) = value;
}

/* Those of few spans; of many in which bucket they are. Returns whether that is not enough. */
static bool narrow_down(sought *sought, crn_span_row *row)
{
    bool more = false;
    if (ended(row) <= FEW)
        qsort(sought->values, ended(row), sizeof *sought->values, compare_times);
    for (int r = 0; r < RANKS; r++) {
        uint64_t place = place_of(shares[r], ended(row));
        if (ended(row) <= FEW) {
            set_rank(row, r, sought->values[place]);
            continue;
        }
        uint32_t bucket = 0;
        for (; place >= sought->values[bucket]; bucket++)
            place -= sought->values[bucket];
        sought->bucket[r] = bucket;
        sought->place[r] = place;
        set_rank(row, r, row->min + bucket);
        if (is_exact(bucket))
            continue;
        sought->near[r] = crn_calloc(sought->values[bucket], sizeof *sought->near[r]);
        more = true;
    }
    return more;
}

static void settle(sought *sought, crn_span_row *row)
{
    for (int r = 0; r < RANKS; r++) {
        if (!sought->near[r])
            continue;
        qsort(sought->near[r], sought->filled[r], sizeof *sought->near[r], compare_times);
        set_rank(row, r, sought->near[r][sought->place[r]]);
        crn_free(sought->near[r]);
    }
}

static void take_turn(turn *turn)
{
    bool more = false;
    uint32_t blocks = turn->last - turn->first;
    turn->sought = crn_calloc(blocks, sizeof *turn->sought);
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t count = ended(&turn->rows[turn->first + b]);
        if (count)
            turn->sought[b].values = crn_calloc(count <= FEW ? count : BUCKETS, sizeof(uint64_t));
    }
    each_span(turn, count_span);
    for (uint32_t b = 0; b < blocks; b++)
        if (turn->sought[b].values)
            more |= narrow_down(&turn->sought[b], &turn->rows[turn->first + b]);
    if (more)
        each_span(turn, take_near);
    for (uint32_t b = 0; b < blocks; b++) {
        settle(&turn->sought[b], &turn->rows[turn->first + b]);
        crn_free(turn->sought[b].values);
    }
    crn_free(turn->sought);
}

void crn_span_ranks(const crn_spans *spans, const uint8_t *kept, crn_span_row *rows,
                    uint32_t blocks)
{
    /* A word for each eighth span, but some room at least. */
    uint64_t most = spans->trace->span_count / 8 + ((uint64_t)16 << 10);
    turn turn = {.spans = spans, .kept = kept, .rows = rows};
    for (; turn.first < blocks; turn.first = turn.last) {
        uint64_t words = 0, count = 0;
        for (turn.last = turn.first; turn.last < blocks; turn.last++) {
            count = ended(&rows[turn.last]);
            words += count <= FEW ? count : BUCKETS;
            if (words > most && turn.last > turn.first)
                break;
        }
        take_turn(&turn);
    }
}
