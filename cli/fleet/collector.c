/* SPDX-License-Identifier: MIT
 *
 * Sends captures to other tools' servers: an OTLP collector (traces and profiles), Pyroscope.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/progress.h"
#include "cli/common/terminal.h"
#include "fleet.h"
#include "formats/formats.h"
#include "formats/otlp_wire.h"
#include "symbols/symbols.h"

typedef enum collector_kind { NONE, OTLP, PYROSCOPE } collector_kind;

/* Schemes of addresses, and what replaces them for HTTP. */
static const struct {
    const char *scheme, *http;
    collector_kind kind;
} schemes[] = {{"otlp://", "http://", OTLP},
               {"otlps://", "https://", OTLP},
               {"pyroscope://", "http://", PYROSCOPE},
               {"pyroscopes://", "https://", PYROSCOPE}};

struct crn_collector {
    collector_kind kind;
    crn_post *post;
};

bool crn_collector_is(const char *url)
{
    for (size_t i = 0; url && i < sizeof schemes / sizeof *schemes; i++)
        if (strncmp(url, schemes[i].scheme, strlen(schemes[i].scheme)) == 0)
            return true;
    return false;
}

crn_collector *crn_collector_open(const crn_fleet_given *given)
{
    char *address = crn_calloc(strlen(given->url) + 16, 1);
    crn_collector *collector = crn_calloc(1, sizeof *collector);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncmp(given->url, schemes[i].scheme, strlen(schemes[i].scheme)) == 0) {
            sprintf(address, "%s%s", schemes[i].http, given->url + strlen(schemes[i].scheme));
            collector->kind = schemes[i].kind;
        }
    size_t length = strlen(address);
    if (length && address[length - 1] == '/')
        address[length - 1] = '\0';
    /* Header for a server that needs a token, such as "Authorization: Bearer ...". */
    collector->post =
        crn_post_open(address, getenv("CAIRN_COLLECTOR_HEADER"), (unsigned)given->retry_s);
    crn_free(address);
    return collector;
}

void crn_collector_close(crn_collector *collector)
{
    if (!collector)
        return;
    crn_post_close(collector->post);
    crn_free(collector);
}

/* ---- OTLP ---- */

typedef struct sending {
    crn_post *post;
    const char *path;
    size_t requests;
    crn_error error;
} sending;

static bool send_part(void *data, const void *bytes, size_t size)
{
    sending *sending = data;
    sending->requests++;
    return crn_post_send(sending->post, sending->path, "application/x-protobuf", bytes, size, false,
                         &sending->error);
}

/* Returns OTLP's name for a label; the label's own if OTLP has none. */
static const char *attribute_name(const char *label)
{
    static const char *const names[][2] = {
        {"service", "service.name"}, {"version", "service.version"}, {"host", "host.name"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(label, names[i][0]) == 0)
            return names[i][1];
    return label;
}

/* Makes attributes of the labels. For a repeated key the first value counts. */
static size_t attributes_of(const crn_fleet_labels *labels, crn_otlp_attribute *attributes)
{
    size_t count = 0;
    for (size_t i = 0; i < labels->count; i++) {
        bool again = false;
        for (size_t j = 0; j < i; j++)
            again |= strcmp(labels->list[i].key, labels->list[j].key) == 0;
        if (!again)
            attributes[count++] =
                (crn_otlp_attribute){attribute_name(labels->list[i].key), labels->list[i].value};
    }
    return count;
}

static bool send_otlp(crn_collector *collector, const crn_fleet_labels *labels,
                      const crn_profile *profile, const crn_trace *trace, size_t *requests,
                      crn_error *error)
{
    crn_otlp_attribute attributes[CRN_FLEET_LABELS];
    sending sending = {.post = collector->post, .path = "/v1/traces"};
    crn_otlp_options options = {.attributes = attributes,
                                .attribute_count = attributes_of(labels, attributes),
                                .part = send_part,
                                .data = &sending};
    bool good = !trace->span_count || crn_otlp_traces(profile, trace, &options);
    sending.path = "/v1development/profiles";
    good = good && crn_otlp_profiles(profile, &options);
    *requests = sending.requests;
    *error = sending.error;
    return good;
}

/* ---- Pyroscope ---- */

/* Makes "service{version=1.2,host=a}". Replaces braces and quotes within by "_". */
static char *application_of(const crn_fleet_labels *labels)
{
    char *text = NULL;
    size_t size = 0, shown = 0;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "%s{",
            crn_push_label_of(&(crn_push_options){labels->list, labels->count, NULL, NULL},
                              "service", "cairn"));
    for (size_t i = 0; i < labels->count; i++)
        if (strcmp(labels->list[i].key, "service") != 0)
            fprintf(out, "%s%s=%s", shown++ ? "," : "", labels->list[i].key, labels->list[i].value);
    fclose(out);
    for (char *c = text + strcspn(text, "{") + 1; *c; c++)
        if (strchr("{}\"", *c))
            *c = '_';
    char *whole = crn_calloc(size + 2, 1);
    sprintf(whole, "%s}", text);
    free(text);
    return whole;
}

/* Sends pprof, which Pyroscope takes. */
static bool send_pprof(crn_collector *collector, const char *path, const crn_profile *profile,
                       crn_error *error)
{
    crn_export_options options = {.metric = crn_metric_default(profile), .times = true};
    FILE *file = tmpfile();
    bool good = file && crn_pprof_write(profile, &options, file, error);
    long size = good && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *bytes = size > 0 ? crn_calloc((size_t)size, 1) : NULL;
    if (bytes) {
        rewind(file);
        good = fread(bytes, 1, (size_t)size, file) == (size_t)size &&
               crn_post_send(collector->post, path, "application/octet-stream", bytes, (size_t)size,
                             true, error);
    } else if (good || !file) {
        good = crn_error_set(error, 1, "a temporary file cannot be written; is TMPDIR full?");
    }
    crn_free(bytes);
    if (file)
        fclose(file);
    return good;
}

static bool send_pyroscope(crn_collector *collector, const crn_fleet_labels *labels,
                           const crn_profile *profile, crn_error *error)
{
    int64_t began = 0, length = 0;
    crn_export_span(profile, &began, &length);
    char *application = application_of(labels);
    char *name = crn_post_escape(collector->post, application);
    size_t size = strlen(name) + 200;
    char *path = crn_calloc(size, 1);
    snprintf(path, size, "/ingest?name=%s&from=%" PRId64 "&until=%" PRId64 "&format=pprof", name,
             began / 1000000000, (began + length) / 1000000000 + 1);
    bool good = send_pprof(collector, path, profile, error);
    crn_free(path);
    crn_free(name);
    crn_free(application);
    return good;
}

/* ---- captures ---- */

bool crn_collector_send(crn_collector *collector, crn_fleet_labels *labels, const char *path,
                        crn_error *error)
{
    size_t requests = 1, own = labels->count;
    crn_trace *trace = NULL;
    crn_profile *recorded = crn_trace_load_with_profile(path, &trace, error), *shown = recorded;
    if (recorded && crn_symbols_wanted(recorded))
        shown = crn_symbols_resolve(recorded, NULL, NULL);
    bool good = recorded != NULL;
    if (good) {
        crn_fleet_labels_add_own(labels, shown);
        good = collector->kind == OTLP
                   ? send_otlp(collector, labels, shown, trace, &requests, error)
                   : send_pyroscope(collector, labels, shown, error);
        labels->count = own;
    }
    if (good)
        crn_terminal_format(stdout, "%s: sent in %zu request%s, %" PRIu32 " spans\n", path,
                            requests, requests == 1 ? "" : "s",
                            collector->kind == OTLP ? trace->span_count : 0);
    crn_trace_free(trace);
    if (shown != recorded)
        crn_profile_free(shown);
    crn_profile_free(recorded);
    return good;
}
