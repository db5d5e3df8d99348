/* SPDX-License-Identifier: MIT
 *
 * rows.h - ClickHouse's RowBinary format: rows to insert, and the rows of an answer.
 *
 * Values are bytes with a length, never SQL text, so that no name can become a part of a query.
 * Format: https://clickhouse.com/docs/en/interfaces/formats#rowbinary
 */
#ifndef CRN_FLEET_ROWS_H
#define CRN_FLEET_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/interning.h"

/* Id of a block, a context or a run: 16 bytes of a hash of its content (ids.h). */
typedef struct crn_fleet_id {
    uint8_t bytes[16];
} crn_fleet_id;

/* ---- rows to insert; zero it, free it with crn_rows_free ---- */

typedef struct crn_rows {
    uint8_t *bytes;
    size_t size, room, count; /* count: number of rows; crn_rows_end adds 1 */
} crn_rows;

void crn_rows_put(crn_rows *rows, const void *bytes, size_t size);
void crn_rows_number(crn_rows *rows, uint64_t number, size_t size); /* in `size` bytes, 1 to 8 */
void crn_rows_real(crn_rows *rows, double number);
void crn_rows_id(crn_rows *rows, const crn_fleet_id *id);
void crn_rows_length(crn_rows *rows, uint64_t length); /* of an array whose items follow */
void crn_rows_text(crn_rows *rows, const char *text);
void crn_rows_end(crn_rows *rows);
void crn_rows_clear(crn_rows *rows); /* keeps the memory */
void crn_rows_free(crn_rows *rows);

/* ---- rows of an answer, which may be hostile: each read checks its bounds ---- */

typedef struct crn_answer {
    uint8_t *bytes; /* owned */
    size_t size, at;
    bool bad; /* a read went beyond the end; it and all later reads return 0 */
} crn_answer;

/* Returns true if another row follows. */
bool crn_answer_more(const crn_answer *answer);
uint64_t crn_answer_number(crn_answer *answer, size_t size);
double crn_answer_real(crn_answer *answer);
crn_fleet_id crn_answer_id(crn_answer *answer);
/* Reads the length of an array. Elements of `least` bytes each must fit in the answer. */
uint64_t crn_answer_length(crn_answer *answer, size_t least);
/* Returns a text of `*length` bytes, not NUL-terminated, valid until crn_answer_free. */
const char *crn_answer_text(crn_answer *answer, size_t *length);
/* Reads a text, and returns the interned one, which `texts` owns. */
const char *crn_answer_intern(crn_answer *answer, crn_interning *texts);
/* Reads a text. Returns a NUL-terminated copy, up to the text's first NUL; free it with
 * crn_free. */
char *crn_answer_copy(crn_answer *answer);
void crn_answer_free(crn_answer *answer);

#endif
