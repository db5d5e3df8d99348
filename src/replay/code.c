/* SPDX-License-Identifier: MIT
 *
 * Encodes operations as bytes.
 */
#include <string.h>

#include "base/memory.h"
#include "replay/program.h"

static void put_number(crn_code *code, uint64_t number)
{
    for (; number > 0x7f; number >>= 7)
        code->bytes[code->size++] = (uint8_t)(number | 0x80);
    code->bytes[code->size++] = (uint8_t)number;
}

void crn_code_put(crn_code *code, crn_op_kind kind, uint64_t number, uint64_t amount)
{
    if (code->room - code->size < CRN_CODE_LONGEST) {
        code->room = code->room ? code->room + code->room / 2 : 4 * CRN_CODE_LONGEST;
        code->bytes = crn_realloc(code->bytes, code->room, 1);
    }
    uint64_t small = number < CRN_CODE_SMALL ? number : CRN_CODE_SMALL;
    code->bytes[code->size++] = (uint8_t)(small << 4 | kind);
    if (small == CRN_CODE_SMALL)
        put_number(code, number - small);
    if (kind == CRN_OP_WORK) {
        put_number(code, amount);
    } else if (kind == CRN_OP_LOOP) {
        memcpy(code->bytes + code->size, &amount, sizeof amount);
        code->size += sizeof amount;
    }
}

void crn_code_trim(crn_code *code)
{
    code->bytes = crn_realloc(code->bytes, code->size, 1);
    code->room = code->size;
}

void crn_code_free(crn_code *code)
{
    crn_free(code->bytes);
    *code = (crn_code){0};
}
