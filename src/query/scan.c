/* SPDX-License-Identifier: MIT */
#include "query/scan.h"

#include <string.h>

#include "base/memory.h"

static bool parent_of(const crn_scan *scan, int64_t *value)
{
    uint32_t parent = crn_store_parent(scan->capture->store, scan->piece, crn_scan_local(scan));
    *value = (int64_t)scan->capture->span + parent;
    return parent != CRN_SPAN_NONE;
}

bool crn_scan_value(const crn_scan *scan, crn_spans_column column, int64_t *value)
{
    const crn_query_capture *capture = scan->capture;
    const cairn_priv_span *span = scan->span;
    *value = 0;
    switch (column) {
    case CRN_SPANS_ID:
        *value = scan->id;
        return true;
    case CRN_SPANS_ITERATION:
        *value = span->iteration;
        return *value != CAIRN_ITERATION_NONE;
    case CRN_SPANS_START:
        *value = (int64_t)crn_store_start(capture->store, span);
        return true;
    case CRN_SPANS_END:
        *value = (int64_t)crn_store_end(capture->store, span);
        return true;
    case CRN_SPANS_DURATION:
        *value = (int64_t)crn_store_duration(capture->store, span);
        return true;
    case CRN_SPANS_SELF:
        crn_store_covered(capture->store);
        *value = (int64_t)crn_store_self(capture->store, span, crn_scan_local(scan));
        return true;
    case CRN_SPANS_CPU:
        crn_store_cpu(capture->store);
        *value = capture->store->cpu ? (int64_t)capture->store->cpu[crn_scan_local(scan)] : -1;
        return *value >= 0;
    case CRN_SPANS_READY:
        crn_store_cpu(capture->store);
        *value = capture->store->ready ? (int64_t)capture->store->ready[crn_scan_local(scan)] : -1;
        return *value >= 0;
    case CRN_SPANS_PARENT:
        return parent_of(scan, value);
    case CRN_SPANS_LANE:
        *value = (int64_t)capture->lane + scan->piece->lane;
        return true;
    case CRN_SPANS_OPEN:
        *value = span->end == 0;
        return true;
    case CRN_SPANS_HANDED_OFF: {
        const crn_span_move *move =
            capture->store->moved ? crn_store_move(capture->store, crn_scan_local(scan)) : NULL;
        *value = move && move->handed_off;
        return true;
    }
    case CRN_SPANS_BLOCK:
        *value = (int64_t)capture->block + crn_scan_block(scan);
        return true;
    case CRN_SPANS_CAPTURE:
        *value = capture - scan->query->captures;
        return true;
    default:
        return false;
    }
}

/* ---- conditions ---- */

static bool holds(char op, int64_t value, int64_t than)
{
    switch (op) {
    case '=':
        return value == than;
    case '<':
        return value < than;
    case '>':
        return value > than;
    case '(':
        return value <= than;
    case ')':
        return value >= than;
    default:
        return true;
    }
}

bool crn_scan_is_wanted(const crn_scan *scan)
{
    if (scan->names && !scan->names[scan->capture->name_rank[crn_scan_block(scan)]])
        return false;
    for (uint32_t i = 0; i < scan->condition_count; i++) {
        const crn_condition *condition = &scan->conditions[i];
        int64_t value;
        bool there = crn_scan_value(scan, condition->column, &value);
        if (condition->op == '0' ? there : !there || !holds(condition->op, value, condition->value))
            return false;
    }
    return true;
}

/* Returns false if no span of the piece can match: its range of starts, its blocks or its lane
 * exclude that. */
static bool piece_is_wanted(const crn_scan *scan, uint64_t blocks)
{
    const crn_span_piece *piece = scan->piece;
    const crn_span_store *store = scan->capture->store;
    if (!(piece->blocks & blocks))
        return false;
    int64_t earliest = (int64_t)crn_store_moment(store, piece->earliest);
    int64_t latest = (int64_t)crn_store_moment(store, piece->latest);
    for (uint32_t i = 0; i < scan->condition_count; i++) {
        const crn_condition *condition = &scan->conditions[i];
        if (condition->column == CRN_SPANS_LANE && condition->op != '0' &&
            !holds(condition->op, (int64_t)scan->capture->lane + piece->lane, condition->value))
            return false;
        if (condition->column != CRN_SPANS_START)
            continue;
        bool low = condition->op == '<' || condition->op == '(';
        bool high = condition->op == '>' || condition->op == ')';
        if ((low && !holds(condition->op, earliest, condition->value)) ||
            (high && !holds(condition->op, latest, condition->value)))
            return false;
    }
    return true;
}

/* Returns a bitmap, modulo 64, of a capture's wanted blocks: all if the root is wanted, which
 * stands for unknown blocks. */
static uint64_t blocks_wanted(const crn_scan *scan)
{
    const crn_query_capture *capture = scan->capture;
    uint64_t found = 0;
    bool asked = scan->names != NULL;
    for (uint32_t i = 0; i < scan->condition_count; i++)
        asked |= scan->conditions[i].column == CRN_SPANS_BLOCK && scan->conditions[i].op == '=';
    if (!asked)
        return ~UINT64_C(0);
    for (uint32_t b = 0; b < capture->block_limit; b++) {
        bool wanted = !scan->names || scan->names[capture->name_rank[capture->blocks[b]]];
        for (uint32_t i = 0; i < scan->condition_count && wanted; i++)
            if (scan->conditions[i].column == CRN_SPANS_BLOCK)
                wanted = holds(scan->conditions[i].op, (int64_t)capture->block + capture->blocks[b],
                               scan->conditions[i].value);
        if (wanted && b == 0)
            return ~UINT64_C(0);
        if (wanted)
            found |= UINT64_C(1) << (b & 63);
    }
    return found;
}

/* ---- in file order ---- */

void crn_scan_go_to(crn_scan *scan, uint32_t id)
{
    scan->id = id;
    scan->capture =
        scan->query->count == 1 ? scan->query->captures : CRN_CAPTURE_OF(scan->query, span, id);
    scan->piece = crn_store_piece(scan->capture->store, crn_scan_local(scan));
    scan->span = &scan->piece->spans[crn_scan_local(scan) - scan->piece->first];
}

/* Moves to the first span of the first wanted piece from the current piece on, in this capture or a
 * later capture. */
static void enter_piece(crn_scan *scan)
{
    for (;;) {
        const crn_span_store *store = scan->capture->store;
        while (scan->piece_number < store->piece_count) {
            scan->piece = &store->pieces[scan->piece_number];
            if (piece_is_wanted(scan, scan->blocks)) {
                scan->span = scan->piece->spans;
                scan->id = scan->capture->span + scan->piece->first;
                scan->end = scan->id + scan->piece->count;
                return;
            }
            scan->piece_number++;
        }
        if (scan->capture + 1 == scan->query->captures + scan->query->count) {
            scan->ended = true;
            return;
        }
        scan->capture++;
        scan->blocks = blocks_wanted(scan);
        scan->piece_number = 0;
    }
}

void crn_scan_step(crn_scan *scan)
{
    scan->span++;
    if (++scan->id < scan->end)
        return;
    scan->piece_number++;
    enter_piece(scan);
}

void crn_scan_skip_unwanted(crn_scan *scan)
{
    if (!scan->condition_count && !scan->names)
        return;
    while (!scan->ended && !crn_scan_is_wanted(scan))
        crn_scan_step(scan);
}

void crn_scan_enter_file(crn_scan *scan)
{
    scan->blocks = blocks_wanted(scan);
    enter_piece(scan);
    crn_scan_skip_unwanted(scan);
}
