/* SPDX-License-Identifier: MIT
 *
 * otlp_wire.h - writes OTLP in protobuf as several requests, each small enough for an OpenTelemetry
 * collector: ExportTraceServiceRequest, ExportProfilesServiceRequest (v1development).
 */
#ifndef CRN_FORMATS_OTLP_WIRE_H
#define CRN_FORMATS_OTLP_WIRE_H

#include "profile/profile.h"
#include "spans/spans.h"

typedef struct crn_otlp_attribute {
    const char *key, *value;
} crn_otlp_attribute;

typedef struct crn_otlp_options {
    const crn_otlp_attribute *attributes; /* of the resource, including service.name */
    size_t attribute_count;
    /* Called with each request. Returns false to stop. */
    bool (*part)(void *data, const void *bytes, size_t size);
    void *data;
} crn_otlp_options;

/* Return false if `part` did. Bytes that are not UTF-8 become U+FFFD. */
bool crn_otlp_traces(const crn_profile *profile, const crn_trace *trace,
                     const crn_otlp_options *options);
bool crn_otlp_profiles(const crn_profile *profile, const crn_otlp_options *options);

#endif
