/* SPDX-License-Identifier: MIT
 *
 * formats.h - profiles in the formats of other tools, one file a format.
 *
 * Writers stream: memory grows with the number of contexts, never with the length of
 * what is written. The same profile gives the same bytes. Readers trust nothing in the
 * file, stream it, and canonicalise its stacks by the graph.
 * docs/FORMATS.md says what each format keeps and loses.
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

/* How much is done; may be NULL. */
typedef void crn_format_progress(uint64_t done, uint64_t total);

typedef struct crn_export_options {
    int metric; /* the one to write (folded) or to show first; see crn_export_metric */
    bool times; /* wall time, and when and how long it ran: what differs from run to run */
    crn_format_progress *progress;
} crn_export_options;

typedef struct crn_import_options {
    const char *metric; /* folded: what its numbers are; NULL is "samples" */
    crn_format_progress *progress;
} crn_import_options;

/* Writes the profile. False: `error` says why, and what is in `out` is of no use. */
typedef bool crn_format_write(const crn_profile *profile, const crn_export_options *options,
                              FILE *out, crn_error *error);
crn_format_write crn_folded_write;
crn_format_write crn_pprof_write;
crn_format_write crn_speedscope_write;

/* Writes single executions. A trace without spans is written as such. */
typedef bool crn_format_write_trace(const crn_profile *profile, const crn_trace *trace,
                                    const crn_export_options *options, FILE *out, crn_error *error);
crn_format_write_trace crn_chrome_write;
crn_format_write_trace crn_otlp_write;
crn_format_write_trace crn_perfetto_write;

/* Reads the whole source, from its beginning. NULL: `error` says why. */
typedef crn_profile *crn_format_read(crn_source *source, const crn_import_options *options,
                                     crn_error *error);
crn_format_read crn_folded_read;
crn_format_read crn_perf_read;
crn_format_read crn_pprof_read;

/* Whether a file that begins with these bytes is likely to be of the format. To be asked
 * in this order: pprof, perf, folded. */
typedef bool crn_format_recognise(const char *head, size_t length);
crn_format_recognise crn_folded_recognise;
crn_format_recognise crn_perf_recognise;
crn_format_recognise crn_pprof_recognise;

/* ---- what writers share ---- */

/* Whether it is a time, which differs from run to run. */
bool crn_export_is_time(uint32_t metric);

/* What most would look at first; not wall time if times are left out. */
int crn_export_metric(const crn_profile *profile, bool times);

/* The metrics to write, in order: calls, then those that hold something. Returns how many. */
uint32_t crn_export_metrics(const crn_profile *profile, bool times,
                            uint32_t metrics[CRN_METRIC_MAX]);

/* Nothing is charged to the context. */
bool crn_export_is_empty(const crn_profile *profile, const uint32_t *metrics, uint32_t count,
                         uint32_t context);

/* Most blocks that the paths of all contexts may add up to in formats that write each path
 * out (pprof, folded): 4 billion, some 12 GB of pprof before it is compressed. */
#ifndef CRN_EXPORT_FRAMES_MAX
#define CRN_EXPORT_FRAMES_MAX ((uint64_t)1 << 32)
#endif
bool crn_export_check_size(const crn_profile *profile, const char *format, crn_error *error);

/* The notes worth telling, in the order of their keys; without `times` not those on when
 * and how long it ran, and what else differs from run to run. To be freed with crn_free. */
const crn_note **crn_export_notes(const crn_profile *profile, bool times, size_t *count);

/* When it began, in nanoseconds since 1970, and how long it took; 0 if not known. */
void crn_export_span(const crn_profile *profile, int64_t *began, int64_t *duration);

/* False, with the reason: an errno. */
bool crn_export_failed(crn_error *error, int reason);

/* ---- what readers share ---- */

/* Gives each line of the source to `read`, from its beginning, until one is refused. */
typedef bool crn_format_line(void *data, char *line, size_t length, crn_error *error);
bool crn_import_lines(crn_source *source, const crn_import_options *options, crn_format_line *read,
                      void *data, crn_error *error);

/* Ends the building. NULL if what was built is not `good`. */
crn_profile *crn_import_end(crn_profile_builder *builder, bool good);

#endif
