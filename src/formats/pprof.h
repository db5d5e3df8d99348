/* SPDX-License-Identifier: MIT
 *
 * pprof.h - internals of the pprof reader: fields of the top-level message, and the tables that
 * samples refer to.
 */
#ifndef CRN_FORMATS_PPROF_H
#define CRN_FORMATS_PPROF_H

#include "formats/formats.h"
#include "formats/stacks.h"
#include "profile.pb-c.h"

/* Field numbers of Profile. */
enum {
    CRN_PPROF_SAMPLE_TYPE = 1,
    CRN_PPROF_SAMPLE = 2,
    CRN_PPROF_MAPPING = 3,
    CRN_PPROF_LOCATION = 4,
    CRN_PPROF_FUNCTION = 5,
    CRN_PPROF_STRING = 6,
    CRN_PPROF_TIME = 9,
    CRN_PPROF_DURATION = 10,
    CRN_PPROF_PERIOD_TYPE = 11,
    CRN_PPROF_COMMENT = 13,
    CRN_PPROF_DEFAULT_TYPE = 14,
    CRN_PPROF_LAST = 16 /* the last published one: sets of labels */
};

/* Wire types. */
enum { CRN_WIRE_VARINT = 0, CRN_WIRE_64 = 1, CRN_WIRE_BYTES = 2, CRN_WIRE_32 = 5 };

/* Limits in bytes: of all tables; of one parsed field. */
#ifndef CRN_PPROF_TABLES_MAX
#define CRN_PPROF_TABLES_MAX ((uint64_t)1 << 30)
#endif
#ifndef CRN_PPROF_FIELD_MAX
#define CRN_PPROF_FIELD_MAX ((uint64_t)64 << 20)
#endif
/* Limits on the frames of a stack, on inlined frames of a location, and on comments and their
 * bytes. */
#ifndef CRN_PPROF_FRAMES_MAX
#define CRN_PPROF_FRAMES_MAX ((size_t)1 << 24)
#endif
enum { CRN_PPROF_LINES_MAX = 1024, CRN_PPROF_COMMENTS_MAX = 1 << 20 };

/* A growable array. */
typedef struct crn_pprof_table {
    void *items;
    size_t count, capacity;
} crn_pprof_table;

/* A location. Its frames are lines[first_line, first_line + line_count), innermost first. */
typedef struct crn_pprof_location {
    uint64_t id, address, mapping;
    size_t first_line, line_count;
} crn_pprof_location;

typedef struct crn_pprof_line {
    uint64_t function;
    int64_t column; /* in cairn's files, of the function; in others, of the call; 0 if not known */
    uint32_t block; /* set by crn_pprof_resolve */
} crn_pprof_line;

typedef struct crn_pprof_type {
    int64_t type, unit;
    uint32_t metric; /* set by crn_pprof_resolve */
    uint64_t scale;  /* of wall and cpu: nanoseconds per unit of the file; otherwise 1 */
    uint64_t sum;
} crn_pprof_type;

typedef struct crn_pprof_reader {
    crn_source *source;
    const crn_import_options *options;
    crn_error *error;
    crn_profile_builder *builder;
    crn_stacks stacks;
    uint64_t table_bytes;
    crn_pprof_table strings; /* offsets into text */
    crn_pprof_table text;
    crn_pprof_table functions, mappings, locations, lines, types, comments;
    int64_t began, duration; /* nanoseconds; 0 if not known */
    int64_t default_type;    /* index of a string */
    bool own;                /* written by cairn */
    /* Numbers: samples; and, for warnings, values below 0, frames without a function or location,
     * samples with labels, types beyond CRN_METRIC_MAX. */
    uint64_t samples, negative, missing, labelled, lost_types;
} crn_pprof_reader;

typedef struct crn_pprof_field {
    uint32_t number;
    unsigned wire;
    uint64_t value; /* of a varint, its number; of bytes, their length */
} crn_pprof_field;

/* ---- pprof_wire.c ---- */

/* Sets the error (what, and where in the file) and returns false. */
bool crn_pprof_damaged(crn_pprof_reader *reader, const char *what);

/* Reads the next field's tag, and its number or length. Returns false with error code 0 at the end
 * of the file; false with an error if the file is damaged. */
bool crn_pprof_next(crn_pprof_reader *reader, crn_pprof_field *field);

/* Returns the bytes of a length-delimited field, valid until the next read; NULL on an error. */
const uint8_t *crn_pprof_bytes(crn_pprof_reader *reader, const crn_pprof_field *field);

/* Returns the field's bytes unpacked as a message; free with protobuf_c_message_free_unpacked. NULL
 * on an error. */
void *crn_pprof_message(crn_pprof_reader *reader, const crn_pprof_field *field,
                        const ProtobufCMessageDescriptor *kind);

/* Skips the field. */
bool crn_pprof_skip(crn_pprof_reader *reader, const crn_pprof_field *field);

/* ---- pprof_tables.c ---- */

/* Adds a field to the tables, or skips it, in the first pass. */
bool crn_pprof_collect(crn_pprof_reader *reader, const crn_pprof_field *field);

/* Makes blocks, metrics and notes from the tables, between the passes. */
void crn_pprof_resolve(crn_pprof_reader *reader);

/* Returns a string by index; "" for an invalid index. */
const char *crn_pprof_string(const crn_pprof_reader *reader, int64_t number);

/* Returns the location with an id; NULL if the file has none. */
const crn_pprof_location *crn_pprof_location_find(const crn_pprof_reader *reader, uint64_t id);

void crn_pprof_tables_free(crn_pprof_reader *reader);

/* Convert the name of a metric to pprof's, and back. Only names of memory metrics differ. */
const char *crn_pprof_type_of(const char *metric);
const char *crn_pprof_metric_of(const char *type, const char *unit);

/* Orders the metrics of a memory profile as pprof's heap profiles do. Leaves out freed objects and
 * bytes, which are allocated minus live ones. Returns the new number of metrics. */
uint32_t crn_pprof_heap_order(const crn_profile *profile, uint32_t *metrics, uint32_t count);

#endif
