/* SPDX-License-Identifier: MIT
 *
 * Exact quantiles of durations in little memory. Sorts the durations of blocks with few spans. For
 * other blocks a histogram finds the bucket of each rank; only these buckets' values are kept and
 * sorted.
 */
#include "spans/span_figures.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "spans/rank_search.h"

enum { RANKS = 2, FEW = CRN_RANK_FEW, BUCKETS = CRN_RANK_BUCKETS };

static const double shares[RANKS] = {0.5, 0.99};

/* The search for one block's ranks. */
typedef struct rank_search {
    uint64_t *values; /* of a block with few spans: the durations; with many: numbers of spans by
                         bucket */
    uint64_t *near[RANKS]; /* of many spans: the durations in the rank's bucket; NULL: not needed */
    uint32_t filled[RANKS], bucket[RANKS];
    uint64_t place[RANKS]; /* position of each rank in its bucket */
} rank_search;

/* One or two passes over the spans, for the blocks from `first` to before `last`. */
typedef struct turn {
    const crn_spans *spans;
    const uint8_t *kept;
    crn_span_row *rows; /* by block */
    uint32_t first, last;
    rank_search *rank_search; /* by block of this turn */
} turn;

static uint32_t ended(const crn_span_row *row)
{
    return row->count - row->open;
}

typedef void visit(rank_search *rank_search, const crn_span_row *row, uint64_t duration);

static void each_span(const turn *turn, visit *visit)
{
    const crn_trace *trace = turn->spans->trace;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t block = crn_span_block(turn->spans, s);
        if (block < turn->first || block >= turn->last || trace->spans[s].open ||
            !crn_span_is_chosen(turn->spans, s) || (turn->kept && !turn->kept[block]))
            continue;
        visit(&turn->rank_search[block - turn->first], &turn->rows[block],
              crn_span_duration(turn->spans, s));
    }
}

static void count_span(rank_search *rank_search, const crn_span_row *row, uint64_t duration)
{
    if (ended(row) <= FEW)
        rank_search->values[rank_search->filled[0]++] = duration;
    else
        rank_search->values[crn_rank_bucket(duration - row->min)]++;
}

static void take_near(rank_search *rank_search, const crn_span_row *row, uint64_t duration)
{
    uint32_t bucket = ended(row) <= FEW ? UINT32_MAX : crn_rank_bucket(duration - row->min);
    for (int r = 0; r < RANKS; r++)
        if (bucket == rank_search->bucket[r] && rank_search->near[r])
            rank_search->near[r][rank_search->filled[r]++] = duration;
}

static void set_rank(crn_span_row *row, int rank, uint64_t value)
{
    *(rank ? &row->p99 : &row->median) = value;
}

/* Sets the ranks of a block with few spans; finds the ranks' buckets of a block with many. Returns
 * true if the values in a bucket must be collected in a second pass over the spans. */
static bool find_buckets(rank_search *rank_search, crn_span_row *row)
{
    bool more = false;
    if (ended(row) <= FEW)
        qsort(rank_search->values, ended(row), sizeof *rank_search->values, crn_order_uint64);
    for (int r = 0; r < RANKS; r++) {
        uint64_t place = crn_rank_place(shares[r], ended(row));
        if (ended(row) <= FEW) {
            set_rank(row, r, rank_search->values[place]);
            continue;
        }
        uint32_t bucket = 0;
        for (; place >= rank_search->values[bucket]; bucket++)
            place -= rank_search->values[bucket];
        rank_search->bucket[r] = bucket;
        rank_search->place[r] = place;
        set_rank(row, r, row->min + bucket);
        if (!crn_rank_bucket_bits(bucket))
            continue;
        rank_search->near[r] =
            crn_calloc(rank_search->values[bucket], sizeof *rank_search->near[r]);
        more = true;
    }
    return more;
}

static void settle(rank_search *rank_search, crn_span_row *row)
{
    for (int r = 0; r < RANKS; r++) {
        if (!rank_search->near[r])
            continue;
        qsort(rank_search->near[r], rank_search->filled[r], sizeof *rank_search->near[r],
              crn_order_uint64);
        set_rank(row, r, rank_search->near[r][rank_search->place[r]]);
        crn_free(rank_search->near[r]);
    }
}

static void take_turn(turn *turn)
{
    bool more = false;
    uint32_t blocks = turn->last - turn->first;
    turn->rank_search = crn_calloc(blocks, sizeof *turn->rank_search);
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t count = ended(&turn->rows[turn->first + b]);
        if (count)
            turn->rank_search[b].values =
                crn_calloc(count <= FEW ? count : BUCKETS, sizeof(uint64_t));
    }
    each_span(turn, count_span);
    for (uint32_t b = 0; b < blocks; b++)
        if (turn->rank_search[b].values)
            more |= find_buckets(&turn->rank_search[b], &turn->rows[turn->first + b]);
    if (more)
        each_span(turn, take_near);
    for (uint32_t b = 0; b < blocks; b++) {
        settle(&turn->rank_search[b], &turn->rows[turn->first + b]);
        crn_free(turn->rank_search[b].values);
    }
    crn_free(turn->rank_search);
}

void crn_span_ranks(const crn_spans *spans, const uint8_t *kept, crn_span_row *rows,
                    uint32_t blocks)
{
    /* memory of a turn, in words: one for each eight spans, and 16 Ki more */
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
