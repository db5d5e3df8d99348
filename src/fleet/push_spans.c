/* SPDX-License-Identifier: MIT
 *
 * Sends spans with their attributes, and the edges between them, in the order of the capture.
 */
#include "base/memory.h"
#include "fleet/pushing.h"

/* Values of a span's attributes: one array for each column. */
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

/* Spans are numbered within their lanes, from 1; 0 is none. */
static void put_name(crn_rows *rows, const crn_span_store *store, uint32_t span)
{
    uint32_t lane = span == CRN_SPAN_NONE ? 0 : crn_store_piece(store, span)->lane;
    crn_rows_number(rows, lane, 4);
    crn_rows_number(rows, span == CRN_SPAN_NONE ? 0 : span - store->lane_first[lane] + 1, 4);
}

static void put_span(crn_rows *rows, const crn_pushing *pushing, const crn_fleet_id *blocks,
                     uint32_t block_count, crn_span_store *store, const crn_span_piece *piece,
                     uint32_t number)
{
    crn_span span = crn_store_span_in(store, piece, number);
    const crn_span_move *move =
        crn_store_is_moved(store, number) ? crn_store_move(store, number) : NULL;
    crn_pushing_row(pushing, rows);
    put_name(rows, store, number);
    crn_rows_number(rows, span.start, 8);
    crn_rows_number(rows, span.end - span.start, 8);
    crn_rows_number(rows, span.open, 1);
    crn_rows_number(rows, store->cpu ? store->cpu[number] : UINT64_MAX, 8);
    crn_rows_id(rows, &blocks[span.block < block_count ? span.block : 0]);
    put_name(rows, store, span.parent);
    crn_rows_number(rows, span.handed_off, 1);
    crn_rows_number(rows, move ? move->taken : 0, 8);
    crn_rows_number(rows, move ? move->adoption : 0, 2);
    crn_rows_number(rows, (uint64_t)span.iteration, 8);
    crn_rows_real(rows, crn_store_weight(store, number));
    put_attributes(rows, store, number);
    crn_rows_end(rows);
}

static bool push_rows(crn_pushing *pushing, const crn_profile *recorded, crn_span_store *store)
{
    static const char into[] =
        "spans (service, day, run, lane, span, start, duration, open, cpu, block, parent_lane, "
        "parent, handed_off, taken, adoption, iteration, weight, attributes.key, attributes.kind, "
        "attributes.integer, attributes.number, attributes.text)";
    crn_fleet_id *blocks = crn_fleet_block_ids(recorded);
    crn_rows rows = {0};
    bool good = true;
    for (uint32_t p = 0; good && p < store->piece_count; p++) {
        const crn_span_piece *piece = &store->pieces[p];
        for (uint32_t i = 0; i < piece->count; i++)
            put_span(&rows, pushing, blocks, recorded->block_count, store, piece, piece->first + i);
        good = crn_pushing_send(pushing, into, &rows, p + 1 == store->piece_count);
        crn_pushing_did(pushing, piece->count);
    }
    crn_rows_free(&rows);
    crn_free(blocks);
    return good;
}

static bool push_span_edges(crn_pushing *pushing, const crn_span_store *store)
{
    static const char into[] =
        "span_edges (service, day, run, lane, span, to_lane, to_span, kind, at)";
    crn_rows rows = {0};
    bool good = true;
    for (uint32_t e = 0; good && e < store->edge_count; e++) {
        const crn_span_edge *edge = &store->edges[e];
        crn_pushing_row(pushing, &rows);
        put_name(&rows, store, edge->from);
        put_name(&rows, store, edge->to);
        crn_rows_number(&rows, edge->kind, 1);
        crn_rows_number(&rows, edge->at, 8);
        crn_rows_end(&rows);
        good = crn_pushing_send(pushing, into, &rows, e + 1 == store->edge_count);
    }
    crn_rows_free(&rows);
    return good;
}

/* Blocks that only spans have are known by their own rows. */
static bool push_span_blocks(crn_pushing *pushing, const crn_profile *recorded)
{
    crn_pushing own = *pushing;
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
        return true;
    if (store->cpu_known)
        crn_store_cpu(store);
    crn_store_attributes(store);
    return push_span_blocks(pushing, recorded) && push_rows(pushing, recorded, store) &&
           push_span_edges(pushing, store);
}
