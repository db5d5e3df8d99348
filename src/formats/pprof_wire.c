/* SPDX-License-Identifier: MIT
 *
 * The wire format of pprof's top-level message, and recognition of pprof files.
 */
#include <cairn/cairn.h>
#include <string.h>

#include "formats/pprof.h"

bool crn_pprof_damaged(crn_pprof_reader *reader, const char *what)
{
    return crn_error_set(
        reader->error, CAIRN_E_FORMAT, "%s: not a pprof profile: %s at byte %llu%s",
        crn_source_name(reader->source), what,
        (unsigned long long)crn_source_offset(reader->source), crn_source_of_what(reader->source));
}

/* Reads a number. Returns false with an error; at the end of the file, if `may_end`, with code
 * 0. */
static bool read_varint(crn_pprof_reader *reader, uint64_t *value, bool may_end)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const char *byte = crn_source_bytes(reader->source, 1, reader->error);
        if (!byte)
            return reader->error->code == CAIRN_OK && !(may_end && shift == 0)
                       ? crn_pprof_damaged(reader, "cut short")
                       : false;
        *value |= (uint64_t)(*byte & 0x7f) << shift;
        if (!(*byte & 0x80))
            return true;
    }
    return crn_pprof_damaged(reader, "a number that is too long");
}

bool crn_pprof_next(crn_pprof_reader *reader, crn_pprof_field *field)
{
    uint64_t tag;
    if (!read_varint(reader, &tag, true))
        return false;
    field->number = (uint32_t)(tag >> 3);
    field->wire = tag & 7;
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return crn_pprof_damaged(reader, "an invalid field number");
    if (field->wire == CRN_WIRE_VARINT || field->wire == CRN_WIRE_BYTES)
        return read_varint(reader, &field->value, false);
    if (field->wire != CRN_WIRE_64 && field->wire != CRN_WIRE_32)
        return crn_pprof_damaged(reader, "an invalid field type");
    field->value = 0;
    return crn_source_skip(reader->source, field->wire == CRN_WIRE_64 ? 8 : 4, reader->error);
}

const uint8_t *crn_pprof_bytes(crn_pprof_reader *reader, const crn_pprof_field *field)
{
    if (field->value > CRN_PPROF_FIELD_MAX) {
        crn_pprof_damaged(reader, "a field that is too long");
        return NULL;
    }
    if (field->value == 0)
        return (const uint8_t *)"";
    const char *bytes = crn_source_bytes(reader->source, (size_t)field->value, reader->error);
    if (!bytes && reader->error->code == CAIRN_OK)
        crn_pprof_damaged(reader, "cut short");
    return (const uint8_t *)bytes;
}

void *crn_pprof_message(crn_pprof_reader *reader, const crn_pprof_field *field,
                        const ProtobufCMessageDescriptor *kind)
{
    const uint8_t *bytes = crn_pprof_bytes(reader, field);
    if (!bytes)
        return NULL;
    void *message = protobuf_c_message_unpack(kind, NULL, (size_t)field->value, bytes);
    if (!message)
        crn_pprof_damaged(reader, "an invalid message");
    return message;
}

bool crn_pprof_skip(crn_pprof_reader *reader, const crn_pprof_field *field)
{
    return field->wire != CRN_WIRE_BYTES ||
           crn_source_skip(reader->source, field->value, reader->error);
}

/* Reads a varint. Returns its end; NULL if it does not end before `end`. */
static const char *peek_varint(const char *at, const char *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        *value |= (uint64_t)(*at & 0x7f) << shift;
        if (!(*at++ & 0x80))
            return at;
    }
    return NULL;
}

/* Returns true if this field of Profile is a message or a string. */
static bool is_message(uint64_t number)
{
    return number <= CRN_PPROF_STRING || number == CRN_PPROF_PERIOD_TYPE ||
           number == CRN_PPROF_LAST;
}

/* Requires a byte below 8, which text lacks, and pprof's fields at the begin. */
bool crn_pprof_recognise(const char *head, size_t length)
{
    bool binary = false;
    const char *at = head, *end = head + length;
    for (size_t i = 0; i < length; i++)
        binary = binary || (head[i] >= 0 && head[i] < 8);
    for (unsigned fields = 0; binary && at < end && fields < 64; fields++) {
        uint64_t tag, size = 0;
        if (!(at = peek_varint(at, end, &tag)))
            return fields > 0 && length >= 4096;
        uint64_t number = tag >> 3, wire = tag & 7;
        bool known = wire == CRN_WIRE_BYTES || wire == CRN_WIRE_VARINT || wire == CRN_WIRE_64 ||
                     wire == CRN_WIRE_32;
        bool fits = number == CRN_PPROF_COMMENT || number > CRN_PPROF_LAST ||
                    (wire == CRN_WIRE_BYTES) == is_message(number);
        if (number == 0 || number > 64 || !known || !fits)
            return false;
        if (wire == CRN_WIRE_64 || wire == CRN_WIRE_32)
            size = wire == CRN_WIRE_64 ? 8 : 4;
        else if (!(at = peek_varint(at, end, &size)))
            return fields > 0 && length >= 4096;
        else if (wire == CRN_WIRE_VARINT)
            size = 0;
        at = size <= (uint64_t)(end - at) ? at + size : end;
    }
    return binary;
}
