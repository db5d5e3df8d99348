/* SPDX-License-Identifier: MIT
 *
 * formats.h - export and import of other tools' formats, one file a format.
 *
 * Writers stream: memory is proportional to the number of contexts, not to the output. The same
 * profile gives the same bytes. Readers treat files as hostile, stream them, and canonicalise
 * stacks with the graph. docs/FORMATS.md describes what each format keeps and loses.
 */
#ifndef CRN_FORMATS_FORMATS_H
#define CRN_FORMATS_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/source.h"
#include "profile/profile.h"
#include "spans/spans.h"

/* Formats for export: NAME, file suffix, second suffix or NULL. crn_NAME_write writes contexts or
 * spans. The first format is the default. A file name that fits two suffixes is of the format that
 * is listed first. */
#define CRN_FORMATS_OF_CONTEXTS(X)                                                                 \
    X(pprof, ".pb.gz", NULL)                                                                       \
    X(folded, ".folded", NULL)                                                                     \
    X(speedscope, ".speedscope.json", NULL)
#define CRN_FORMATS_OF_SPANS(X)                                                                    \
    X(perfetto, ".pftrace", ".perfetto-trace")                                                     \
    X(otlp, ".otlp.json", NULL)                                                                    \
    X(chrome, ".json", NULL)

/* Formats for import by crn_NAME_read, in the order in which they are tried. */
#define CRN_FORMATS_READ(X)                                                                        \
    X(pprof)                                                                                       \
    X(cpuprofile)                                                                                  \
    X(mlmon)                                                                                       \
    X(callgrind)                                                                                   \
    X(perf)                                                                                        \
    X(folded)

/* Item of a list of names: in an array; in a text. */
#define CRN_FORMAT_NAME(name, ...) #name,
#define CRN_FORMAT_WORD(name, ...) #name ", "

/* Reports progress; may be NULL. */
typedef void crn_format_progress(uint64_t done, uint64_t total);

typedef struct crn_export_options {
    int metric; /* folded: the metric to write; others: the one to show first */
    bool times; /* include wall time, start and duration, which differ from run to run */
    crn_format_progress *progress;
} crn_export_options;

typedef struct crn_import_options {
    const char *metric;  /* folded: the metric that the numbers are; NULL: "samples" */
    crn_source *sources; /* mlmon: the program's output of @MLton show-sources --; required */
    bool split;          /* mlmon: each copy that the compiler made of a function is a block */
    crn_format_progress *progress;
} crn_import_options;

/* Writes the profile. On an error returns false and sets `*error`; the output is then
 * incomplete. */
typedef bool crn_format_write(const crn_profile *profile, const crn_export_options *options,
                              FILE *out, crn_error *error);
#define CRN_FORMAT_DECLARE(name, suffix, other) crn_format_write crn_##name##_write;
CRN_FORMATS_OF_CONTEXTS(CRN_FORMAT_DECLARE)
#undef CRN_FORMAT_DECLARE

/* Writes spans. A trace without spans is valid. */
typedef bool crn_format_write_trace(const crn_profile *profile, const crn_trace *trace,
                                    const crn_export_options *options, FILE *out, crn_error *error);
#define CRN_FORMAT_DECLARE(name, suffix, other) crn_format_write_trace crn_##name##_write;
CRN_FORMATS_OF_SPANS(CRN_FORMAT_DECLARE)
#undef CRN_FORMAT_DECLARE

/* Reads the whole source from its begin. On an error returns NULL and sets `*error`. */
typedef crn_profile *crn_format_read(crn_source *source, const crn_import_options *options,
                                     crn_error *error);

/* Returns true if a file that begins with these bytes is probably of the format. */
typedef bool crn_format_recognise(const char *head, size_t length);

#define CRN_FORMAT_DECLARE(name)                                                                   \
    crn_format_read crn_##name##_read;                                                             \
    crn_format_recognise crn_##name##_recognise;
CRN_FORMATS_READ(CRN_FORMAT_DECLARE)
#undef CRN_FORMAT_DECLARE

/* ---- shared by writers ---- */

/* Returns the metric to show first; if `times` is false, not a metric of time. */
int crn_export_metric(const crn_profile *profile, bool times);

/* Lists the metrics to write: those with any cost, without metrics of time if `times` is false;
 * calls if no metric remains. Returns their number. */
uint32_t crn_export_metrics(const crn_profile *profile, bool times,
                            uint32_t metrics[CRN_METRIC_MAX]);

/* Returns true if none of `metrics` is charged to the context itself. */
bool crn_export_is_empty(const crn_profile *profile, const uint32_t *metrics, uint32_t count,
                         uint32_t context);

/* Limit on the total length of all paths, for formats that write out each path (pprof, folded): 4
 * billion blocks, about 12 GB of pprof before compression. */
#ifndef CRN_EXPORT_FRAMES_MAX
#define CRN_EXPORT_FRAMES_MAX ((uint64_t)1 << 32)
#endif
/* Returns false and sets `*error` above the limit. */
bool crn_export_check_size(const crn_profile *profile, const char *format, crn_error *error);

/* Returns the notes to export, sorted by key, without those that every capture has and, if `times`
 * is false, those that differ from run to run. Free the array with crn_free. */
const crn_note **crn_export_notes(const crn_profile *profile, bool times, size_t *count);

/* Sets start (ns since 1970) and duration (ns); 0 if not known. */
void crn_export_span(const crn_profile *profile, int64_t *began, int64_t *duration);

/* Sets `*error` from an errno and returns false. */
bool crn_export_failed(crn_error *error, int reason);

/* ---- shared by readers ---- */

/* Calls `read` for each line, from the begin, until it returns false. Returns false on an error,
 * and if `read` did. */
typedef bool crn_format_line(void *data, char *line, size_t length, crn_error *error);
bool crn_import_lines(crn_source *source, const crn_import_options *options, crn_format_line *read,
                      void *data, crn_error *error);

/* Ends the builder. Returns its profile; frees it and returns NULL unless `good`. */
crn_profile *crn_import_end(crn_profile_builder *builder, bool good);

#endif
