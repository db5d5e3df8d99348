/* SPDX-License-Identifier: MIT */
#include "metrics.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "late/late.h"

enum { CALLS, TIME, SPANS, FUNCTIONS_MAX = 50, CONNECTIONS = 16, IDLE_SECONDS = 10 };

static const struct {
    const char *name, *type, *help;
} families[CRN_METRICS_FAMILIES] = {
    {"cairn_calls_total", "counter", "Calls of a function."},
    {"cairn_self_seconds_total", "counter", "Time in a function, without its callees."},
    {"cairn_span_seconds", "summary", "Durations of spans that ended."}};

/* ---- lines ---- */

/* Prints a label with its value, in which it escapes quotes, backslashes and newlines. */
static void put_value(FILE *out, const char *name, const char *text)
{
    char *valid = crn_text_copy(text, false);
    fprintf(out, "%s=\"", name);
    for (const char *c = valid; *c; c++)
        if (*c == '\n')
            fputs("\\n", out);
        else
            fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    fputc('"', out);
    crn_free(valid);
}

typedef struct writer {
    const crn_profile *profile, *recorded;
    const crn_fleet_labels *labels;
    const char *capture;
} writer;

static void put_labels(const writer *writer, FILE *out, const char *function)
{
    static const char *const names[] = {"service", "version", "host"};
    const crn_push_options options = {writer->labels->list, writer->labels->count, NULL, NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        put_value(out, names[i], crn_push_label_of(&options, names[i], ""));
        fputc(',', out);
    }
    put_value(out, "capture", writer->capture);
    fputc(',', out);
    put_value(out, "function", function);
}

typedef struct ranked {
    uint64_t cost;
    uint32_t block;
} ranked;

static int by_cost(const void *one, const void *other)
{
    const ranked *a = one, *b = other;
    return CRN_ORDER(b->cost, a->cost) ?: CRN_ORDER(a->block, b->block);
}

/* Prints lines of a metric. Functions with equal names share a line. */
static void put_functions(const writer *writer, FILE *out, uint32_t metric, const char *name,
                          double scale)
{
    const crn_profile *profile = writer->profile;
    crn_block_cost cost = crn_block_cost_make(profile, metric, NULL);
    crn_interning *names = crn_interning_new();
    ranked *sums = crn_calloc(profile->block_count, sizeof *sums);
    uint32_t count = 0;
    for (uint32_t b = 1; b < profile->block_count; b++) { /* skips the root */
        const char *its = profile->blocks[b].name;
        uint32_t number = crn_intern_number(names, its, strlen(its));
        if (number == count)
            sums[count++].block = b;
        sums[number].cost += cost.self[b];
    }
    qsort(sums, count, sizeof *sums, by_cost);
    for (uint32_t i = 0; i < count && i < FUNCTIONS_MAX && sums[i].cost; i++) {
        fprintf(out, "%s{", name);
        put_labels(writer, out, profile->blocks[sums[i].block].name);
        fprintf(out, "} %.17g\n", (double)sums[i].cost * scale);
    }
    crn_free(sums);
    crn_interning_free(names);
    crn_block_cost_free(&cost);
}

static void put_durations(const writer *writer, FILE *out, uint32_t block, const uint64_t *values,
                          uint64_t count)
{
    static const double shares[] = {0.5, 0.99};
    const char *name = families[SPANS].name, *function = writer->recorded->blocks[block].name;
    uint64_t ranks[2], sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += values[i];
    crn_store_ranks(values, count, shares, ranks, 2);
    for (int i = 0; i < 2; i++) {
        fprintf(out, "%s{", name);
        put_labels(writer, out, function);
        fprintf(out, ",quantile=\"%g\"} %.9f\n", shares[i], (double)ranks[i] / 1e9);
    }
    fprintf(out, "%s_sum{", name);
    put_labels(writer, out, function);
    fprintf(out, "} %.9f\n%s_count{", (double)sum / 1e9, name);
    put_labels(writer, out, function);
    fprintf(out, "} %" PRIu64 "\n", count);
}

static void put_spans(const writer *writer, FILE *out, const crn_span_store *store)
{
    uint32_t blocks = writer->recorded->block_count;
    uint64_t *first = crn_calloc(blocks + (size_t)1, sizeof *first);
    uint64_t *values = crn_calloc(store->count + (size_t)1, sizeof *values);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t p = 0; p < store->piece_count; p++)
            for (uint32_t i = 0; i < store->pieces[p].count; i++) {
                crn_span span =
                    crn_store_span_in(store, &store->pieces[p], store->pieces[p].first + i);
                if (span.open || span.block >= blocks)
                    continue;
                if (pass == 0)
                    first[span.block + 1]++;
                else
                    values[first[span.block]++] = span.end - span.start;
            }
        for (uint32_t b = 0; pass == 0 && b < blocks; b++)
            first[b + 1] += first[b];
    }
    for (uint32_t b = 0; b < blocks; b++) { /* `first` has each block's end now */
        uint64_t begin = b ? first[b - 1] : 0;
        if (first[b] > begin)
            put_durations(writer, out, b, values + begin, first[b] - begin);
    }
    crn_free(values);
    crn_free(first);
}

crn_metrics_lines crn_metrics_lines_make(const crn_profile *profile, const crn_profile *recorded,
                                         const crn_span_store *spans,
                                         const crn_fleet_labels *labels, const char *capture)
{
    writer writer = {profile, recorded, labels, crn_path_name(capture)};
    crn_metrics_lines lines = {0};
    for (int family = 0; family < CRN_METRICS_FAMILIES; family++) {
        size_t size = 0;
        FILE *out = open_memstream(&lines.families[family], &size);
        if (!out)
            continue;
        if (family == CALLS)
            put_functions(&writer, out, CRN_METRIC_CALLS, families[CALLS].name, 1);
        else if (family == TIME && profile->values[CRN_METRIC_WALL])
            put_functions(&writer, out, CRN_METRIC_WALL, families[TIME].name, 1e-9);
        else if (family == SPANS && spans->count)
            put_spans(&writer, out, spans);
        fclose(out);
    }
    return lines;
}

void crn_metrics_lines_free(crn_metrics_lines *lines)
{
    for (int family = 0; family < CRN_METRICS_FAMILIES; family++)
        free(lines->families[family]);
    *lines = (crn_metrics_lines){0};
}

/* ---- the server ---- */

struct crn_metrics_server {
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock;
    char *text;
    size_t size;
};

/* Returns true if the Host header names this machine. Another site's name can resolve to 127.0.0.1
 * (DNS rebinding), but its requests still carry that name. */
static bool is_host(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(host, names[i], length) == 0 && (!host[length] || host[length] == ':'))
            return true;
    }
    return false;
}

static enum MHD_Result answer(void *data, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    crn_metrics_server *server = data;
    (void)version;
    (void)upload;
    (void)upload_size;
    (void)state;
    bool good =
        strcmp(method, MHD_HTTP_METHOD_GET) == 0 && strcmp(path, "/metrics") == 0 &&
        is_host(CRN_MICROHTTPD(MHD_lookup_connection_value)(connection, MHD_HEADER_KIND, "Host"));
    pthread_mutex_lock(&server->lock);
    struct MHD_Response *response = CRN_MICROHTTPD(MHD_create_response_from_buffer)(
        good ? server->size : 0, server->text, MHD_RESPMEM_MUST_COPY);
    pthread_mutex_unlock(&server->lock);
    if (!response)
        return MHD_NO;
    CRN_MICROHTTPD(MHD_add_response_header)
    (response, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    enum MHD_Result result =
        CRN_MICROHTTPD(MHD_queue_response)(connection, good ? 200 : 404, response);
    CRN_MICROHTTPD(MHD_destroy_response)(response);
    return result;
}

crn_metrics_server *crn_metrics_serve(unsigned port)
{
    crn_metrics_server *server = crn_calloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    pthread_mutex_init(&server->lock, NULL);
    server->text = crn_strdup("");
    server->daemon = CRN_MICROHTTPD(MHD_start_daemon)(
        MHD_USE_INTERNAL_POLLING_THREAD, (uint16_t)port, NULL, NULL, answer, server,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
    if (server->daemon)
        return server;
    crn_cli_fail("port %u of 127.0.0.1 cannot be listened at; is it in use?", port);
    crn_metrics_stop(server);
    return NULL;
}

void crn_metrics_stop(crn_metrics_server *server)
{
    if (!server)
        return;
    if (server->daemon)
        CRN_MICROHTTPD(MHD_stop_daemon)(server->daemon);
    crn_free(server->text);
    crn_free(server);
}

void crn_metrics_set(crn_metrics_server *server, const crn_metrics_lines *const *lines,
                     size_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    for (int family = 0; family < CRN_METRICS_FAMILIES; family++) {
        fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", families[family].name, families[family].help,
                families[family].name, families[family].type);
        for (size_t i = 0; i < count; i++)
            if (lines[i]->families[family])
                fputs(lines[i]->families[family], out);
    }
    fclose(out);
    char *copy = crn_strdup(text);
    free(text);
    pthread_mutex_lock(&server->lock);
    crn_free(server->text);
    server->text = copy;
    server->size = size;
    pthread_mutex_unlock(&server->lock);
}
