/* SPDX-License-Identifier: MIT
 *
 * Sends spans with their attributes, and the edges between them, in the order of the capture.
 */
#include "base/memory.h"
#include "fleet/pushing.h"

static void note_open(crn_pushed_lane *lane, uint32_t number)
{
    CRN_GROW(lane->open, lane->open_count, lane->open_room);
    lane->open[lane->open_count++] = number;
}

/* Writes a span's attributes: an array for each column. */
static void put_attributes(crn_rows *rows, crn_span_store *store, uint32_t span)
{
    enum { KEY, KIND, INTEGER, NUMBER, TEXT, COLUMNS };
    uint32_t count, first = crn_store_attributes_of(store, span, &count);
    char text[CAIRN_TEXT_MAX + 1];
    for (int column = KEY; column < COLUMNS; column++) {
        crn_rows_length(rows, count);
        for (uint32_t i = 0; i < count; i++) {
            crn_attribute attribute = crn_store_attribute(store, first + i, text);
            int64_t integer = attribute.kind == CRN_ATTRIBUTE_INTEGER ? attribute.value.integer : 0;
            double number = attribute.kind == CRN_ATTRIBUTE_NUMBER ? attribute.value.number : 0;
            if (column == KEY)
                crn_rows_text(rows, store->keys[crn_store_key(store, first + i)]);
            else if (column == KIND)
                crn_rows_number(rows, attribute.kind, 1);
            else if (column == INTEGER)
                crn_rows_number(rows, (uint64_t)integer, 8);
            else if (column == NUMBER)
                crn_rows_real(rows, number);
            else
                crn_rows_text(rows,
                              attribute.kind == CRN_ATTRIBUTE_TEXT ? attribute.value.text : "");
        }
    }
}

static void put_span(const crn_pushing *pushing, const crn_fleet_id *blocks, uint32_t block_count,
                     crn_span_store *store, const crn_span_piece *piece, uint32_t number)
{
    crn_span span = crn_store_span_in(store, piece, number);
    const crn_span_move *move =
        crn_store_is_moved(store, number) ? crn_store_move(store, number) : NULL;
    crn_rows *rows = crn_pushing_row(pushing, CRN_BATCH_SPANS);
    crn_pushing_span(rows, store, number);
    crn_rows_number(rows, span.start, 8);
    crn_rows_number(rows, span.end - span.start, 8);
    crn_rows_number(rows, span.open, 1);
    crn_rows_number(rows, store->cpu ? store->cpu[number] : UINT64_MAX, 8);
    crn_rows_id(rows, &blocks[span.block < block_count ? span.block : 0]);
    crn_pushing_span(rows, store, span.parent);
    crn_rows_number(rows, span.handed_off, 1);
    crn_rows_number(rows, move ? move->taken : 0, 8);
    crn_rows_number(rows, move ? move->adoption : 0, 2);
    crn_rows_number(rows, (uint64_t)span.iteration, 8);
    crn_rows_real(rows, crn_store_weight(store, number));
    put_attributes(rows, store, number);
    crn_rows_end(rows);
}

/* Ids of the spans' blocks, by number. */
typedef struct span_blocks {
    crn_fleet_id *ids;
    uint32_t count;
} span_blocks;

/* Sends spans of a piece from number `first` on; notes open spans in the state. */
static bool push_piece(crn_pushing *pushing, const span_blocks *blocks, crn_span_store *store,
                       const crn_span_piece *piece, uint32_t first)
{
    uint32_t lane_first = store->lane_first[piece->lane];
    for (uint32_t i = first > piece->first ? first - piece->first : 0; i < piece->count; i++) {
        uint32_t number = piece->first + i;
        put_span(pushing, blocks->ids, blocks->count, store, piece, number);
        if (pushing->options->state && crn_store_span_in(store, piece, number).open)
            note_open(&pushing->options->state->lanes[piece->lane], number - lane_first);
    }
    crn_store_touch(store, 2 * piece->count * sizeof *piece->spans); /* with their details */
    crn_pushing_did(pushing, piece->count);
    return crn_pushing_send(pushing, CRN_BATCH_SPANS);
}

/* Sends again the spans of a lane that were open at the last push. */
static bool push_open(crn_pushing *pushing, const span_blocks *blocks, crn_span_store *store,
                      uint32_t lane)
{
    crn_pushed_lane *sent = &pushing->options->state->lanes[lane];
    uint32_t count = sent->open_count;
    sent->open_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = store->lane_first[lane] + sent->open[i];
        const crn_span_piece *piece = crn_store_piece(store, number);
        put_span(pushing, blocks->ids, blocks->count, store, piece, number);
        if (crn_store_span_in(store, piece, number).open)
            sent->open[sent->open_count++] = sent->open[i];
    }
    return crn_pushing_send(pushing, CRN_BATCH_SPANS);
}

/* Makes room for the store's lanes. Forgets what was sent of a lane that has fewer spans now. */
static void prepare_lanes(crn_push_state *state, const crn_span_store *store)
{
    if (store->lane_count > state->lane_count) {
        state->lanes = crn_realloc(state->lanes, store->lane_count, sizeof *state->lanes);
        for (; state->lane_count < store->lane_count; state->lane_count++)
            state->lanes[state->lane_count] = (crn_pushed_lane){0};
    }
    for (uint32_t lane = 0; lane < store->lane_count; lane++)
        if (state->lanes[lane].count > store->lane_first[lane + 1] - store->lane_first[lane])
            state->lanes[lane].count = state->lanes[lane].open_count = 0;
}

static bool push_rows(crn_pushing *pushing, const crn_profile *recorded, crn_span_store *store)
{
    crn_push_state *state = pushing->options->state;
    span_blocks blocks = {crn_fleet_block_ids(recorded), recorded->block_count};
    bool good = true;
    if (state)
        prepare_lanes(state, store);
    for (uint32_t lane = 0; state && good && lane < store->lane_count; lane++)
        good = push_open(pushing, &blocks, store, lane);
    for (uint32_t p = 0; good && p < store->piece_count; p++) {
        const crn_span_piece *piece = &store->pieces[p];
        uint32_t sent = state ? state->lanes[piece->lane].count : 0;
        good = push_piece(pushing, &blocks, store, piece, store->lane_first[piece->lane] + sent);
    }
    for (uint32_t lane = 0; state && lane < store->lane_count; lane++)
        state->lanes[lane].count = store->lane_first[lane + 1] - store->lane_first[lane];
    crn_free(blocks.ids);
    return good;
}

static bool push_span_edges(crn_pushing *pushing, const crn_span_store *store)
{
    crn_push_state *state = pushing->options->state;
    bool good = true;
    if (state && state->edge_count == store->edge_count)
        return true;
    for (uint32_t e = 0; good && e < store->edge_count; e++) {
        const crn_span_edge *edge = &store->edges[e];
        crn_rows *rows = crn_pushing_row(pushing, CRN_BATCH_SPAN_EDGES);
        crn_pushing_span(rows, store, edge->from);
        crn_pushing_span(rows, store, edge->to);
        crn_rows_number(rows, edge->kind, 1);
        crn_rows_number(rows, edge->at, 8);
        crn_rows_end(rows);
        good = crn_pushing_send(pushing, CRN_BATCH_SPAN_EDGES);
    }
    if (state)
        state->edge_count = store->edge_count;
    return good;
}

/* Sends the blocks that spans refer to, if spans have a profile of their own. */
static bool push_span_blocks(crn_pushing *pushing, const crn_profile *recorded)
{
    crn_pushing own = *pushing;
    crn_push_options options = *pushing->options;
    options.state = NULL; /* its rows have the other profile's block numbers */
    own.options = &options;
    if (recorded == pushing->profile)
        return true;
    own.profile = recorded;
    own.ids.blocks = crn_fleet_block_ids(recorded);
    bool good = crn_push_blocks(&own);
    crn_free(own.ids.blocks);
    return good;
}

bool crn_push_spans(crn_pushing *pushing, const crn_profile *recorded, crn_span_store *store)
{
    if (!store->count)
        return !store->more || !store->more->histogram_count ||
               (push_span_blocks(pushing, recorded) && crn_push_details(pushing, recorded, store));
    if (store->cpu_known)
        crn_store_cpu(store);
    crn_store_attributes(store);
    return push_span_blocks(pushing, recorded) && push_rows(pushing, recorded, store) &&
           push_span_edges(pushing, store) && crn_push_details(pushing, recorded, store);
}
