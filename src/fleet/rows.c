/* SPDX-License-Identifier: MIT */
#include "fleet/rows.h"

#include <string.h>

#include "base/memory.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "RowBinary is little-endian");

enum { ROOM_FIRST = 1 << 16 };

void crn_rows_put(crn_rows *rows, const void *bytes, size_t size)
{
    if (rows->room - rows->size < size) {
        rows->room = rows->room ? rows->room * 2 : ROOM_FIRST;
        if (rows->room < rows->size + size)
            rows->room = rows->size + size;
        rows->bytes = crn_realloc(rows->bytes, rows->room, 1);
    }
    if (size)
        memcpy(rows->bytes + rows->size, bytes, size);
    rows->size += size;
}

void crn_rows_number(crn_rows *rows, uint64_t number, size_t size)
{
    crn_rows_put(rows, &number, size);
}

void crn_rows_real(crn_rows *rows, double number)
{
    crn_rows_put(rows, &number, sizeof number);
}

void crn_rows_id(crn_rows *rows, const crn_fleet_id *id)
{
    crn_rows_put(rows, id->bytes, sizeof id->bytes);
}

/* Writes a length as LEB128, as in Protocol Buffers. */
void crn_rows_length(crn_rows *rows, uint64_t length)
{
    uint8_t bytes[10];
    size_t size = 0;
    for (; length >= 0x80; length >>= 7)
        bytes[size++] = (uint8_t)(length | 0x80);
    bytes[size++] = (uint8_t)length;
    crn_rows_put(rows, bytes, size);
}

void crn_rows_text(crn_rows *rows, const char *text)
{
    size_t length = strlen(text);
    crn_rows_length(rows, length);
    crn_rows_put(rows, text, length);
}

void crn_rows_end(crn_rows *rows)
{
    rows->count++;
}

void crn_rows_clear(crn_rows *rows)
{
    rows->size = rows->count = 0;
}

void crn_rows_free(crn_rows *rows)
{
    crn_free(rows->bytes);
    *rows = (crn_rows){0};
}

bool crn_answer_more(const crn_answer *answer)
{
    return !answer->bad && answer->at < answer->size;
}

static const uint8_t *take(crn_answer *answer, size_t size)
{
    if (answer->bad || answer->size - answer->at < size) {
        answer->bad = true;
        return NULL;
    }
    answer->at += size;
    return answer->bytes + answer->at - size;
}

uint64_t crn_answer_number(crn_answer *answer, size_t size)
{
    uint64_t number = 0;
    const uint8_t *bytes = take(answer, size);
    if (bytes)
        memcpy(&number, bytes, size);
    return number;
}

double crn_answer_real(crn_answer *answer)
{
    double number = 0;
    const uint8_t *bytes = take(answer, sizeof number);
    if (bytes)
        memcpy(&number, bytes, sizeof number);
    return number;
}

crn_fleet_id crn_answer_id(crn_answer *answer)
{
    crn_fleet_id id = {{0}};
    const uint8_t *bytes = take(answer, sizeof id.bytes);
    if (bytes)
        memcpy(id.bytes, bytes, sizeof id.bytes);
    return id;
}

uint64_t crn_answer_length(crn_answer *answer, size_t least)
{
    uint64_t length = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = take(answer, 1);
        if (!byte)
            return 0;
        length |= (uint64_t)(*byte & 0x7f) << shift;
        if (*byte & 0x80)
            continue;
        if (length <= (answer->size - answer->at) / (least ? least : 1))
            return length;
        break;
    }
    answer->bad = true;
    return 0;
}

const char *crn_answer_text(crn_answer *answer, size_t *length)
{
    *length = crn_answer_length(answer, 1);
    const uint8_t *bytes = take(answer, *length);
    if (bytes)
        return (const char *)bytes;
    *length = 0;
    return "";
}

const char *crn_answer_intern(crn_answer *answer, crn_interning *texts)
{
    size_t length;
    const char *text = crn_answer_text(answer, &length);
    return crn_intern(texts, text, length);
}

char *crn_answer_copy(crn_answer *answer)
{
    size_t length;
    const char *text = crn_answer_text(answer, &length);
    char *copy = crn_calloc(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

void crn_answer_free(crn_answer *answer)
{
    crn_free(answer->bytes);
    *answer = (crn_answer){0};
}
