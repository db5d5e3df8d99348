/* SPDX-License-Identifier: MIT
 *
 * The server: libmicrohttpd on the loopback interface. Requests must name this host and be short;
 * only an upload has a body.
 */
#include <microhttpd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "late/late.h"
#include "view.h"

/* Connections without the secret time out after STRANGER_SECONDS. */
enum { CONNECTIONS = 512, STRANGER_SECONDS = 3, IDLE_SECONDS = 120, MEMORY = 32 * 1024 };
enum { FORBIDDEN = 403 };

/* Scripts and styles come from this server only; nothing comes from elsewhere. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; "
                             "img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
                             "form-action 'none'; frame-ancestors 'none'";

/* Returns true if the request names this server as host. Another site's name can resolve to
 * 127.0.0.1 (DNS rebinding), but requests still carry that name. Browsers omit the scheme's default
 * port. */
static bool is_host(const crn_view *view, const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    enum { PORT_OF_SCHEME = 80 };
    char right[64];
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        snprintf(right, sizeof right, "%s:%u", names[i], view->port);
        if (strcmp(host, right) == 0 ||
            (view->port == PORT_OF_SCHEME && strcmp(host, names[i]) == 0))
            return true;
    }
    return false;
}

/* Returns true unless another site's page sent the request. That page could not read the answer,
 * but the request may have effects. */
static bool is_origin(const crn_view *view, const char *origin)
{
    static const char scheme[] = "http://";
    return !origin || (strncmp(origin, scheme, sizeof scheme - 1) == 0 &&
                       is_host(view, origin + sizeof scheme - 1));
}

static enum MHD_Result item_add(void *data, enum MHD_ValueKind kind, const char *key,
                                const char *value)
{
    (void)kind;
    crn_view_query *query = data;
    if (query->count < CRN_VIEW_ITEMS_MAX)
        query->items[query->count] = (crn_view_item){key, value ? value : ""};
    query->count++;
    return MHD_YES;
}

static crn_view_reply refuse(unsigned status, const char *text)
{
    return (crn_view_reply){.status = status,
                            .type = "text/plain; charset=utf-8",
                            .body = (char *)(uintptr_t)text,
                            .size = strlen(text)};
}

static crn_view_reply reply_to(crn_view *view, struct MHD_Connection *connection, const char *path,
                               const char *method)
{
    crn_view_query query = {0};
    const char *host =
        CRN_MICROHTTPD(MHD_lookup_connection_value)(connection, MHD_HEADER_KIND, "Host");
    const char *origin =
        CRN_MICROHTTPD(MHD_lookup_connection_value)(connection, MHD_HEADER_KIND, "Origin");
    if (!is_host(view, host) || !is_origin(view, origin))
        return refuse(403, "This server answers only requests to 127.0.0.1 and localhost.\n");
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return refuse(405, "Only GET is supported.\n");
    CRN_MICROHTTPD(MHD_get_connection_values)(connection, MHD_GET_ARGUMENT_KIND, item_add, &query);
    if (query.count > CRN_VIEW_ITEMS_MAX)
        return refuse(414, "The query has too many parts.\n");
    crn_view_reply reply = crn_view_reply_to(view, path, &query);
    if (reply.status != FORBIDDEN)
        CRN_MICROHTTPD(MHD_set_connection_option)
    (connection, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)IDLE_SECONDS);
    return reply;
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, crn_view_reply *reply)
{
    struct MHD_Response *response = CRN_MICROHTTPD(MHD_create_response_from_buffer)(
        reply->size, reply->body, reply->owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response) {
        if (reply->owned)
            free(reply->body);
        return MHD_NO;
    }
    CRN_MICROHTTPD(MHD_add_response_header)(response, "Content-Type", reply->type);
    if (*reply->file_name) {
        char text[sizeof reply->file_name + 32];
        snprintf(text, sizeof text, "attachment; filename=\"%s\"", reply->file_name);
        CRN_MICROHTTPD(MHD_add_response_header)(response, "Content-Disposition", text);
    }
    CRN_MICROHTTPD(MHD_add_response_header)(response, "Content-Security-Policy", policy);
    CRN_MICROHTTPD(MHD_add_response_header)(response, "X-Content-Type-Options", "nosniff");
    CRN_MICROHTTPD(MHD_add_response_header)(response, "Referrer-Policy", "no-referrer");
    CRN_MICROHTTPD(MHD_add_response_header)
    (response, "Cross-Origin-Resource-Policy", "same-origin");
    CRN_MICROHTTPD(MHD_add_response_header)(response, "Cross-Origin-Opener-Policy", "same-origin");
    CRN_MICROHTTPD(MHD_add_response_header)(response, "Cache-Control", "no-store");
    enum MHD_Result result =
        CRN_MICROHTTPD(MHD_queue_response)(connection, reply->status, response);
    CRN_MICROHTTPD(MHD_destroy_response)(response);
    return result;
}

/* The state of one request, which libmicrohttpd keeps between the calls that pass its parts. */
typedef struct request {
    const char *refusal;     /* why its address is refused; or NULL */
    crn_view_upload *upload; /* upload in progress; or NULL */
} request;

/* Begins "POST /TOKEN/api/open?name=NAME", whose body is a file. Requires an Origin, which browsers
 * always send with such requests. */
static enum MHD_Result upload_begin(crn_view *view, struct MHD_Connection *connection,
                                    const char *path, request **state)
{
    const char *host =
        CRN_MICROHTTPD(MHD_lookup_connection_value)(connection, MHD_HEADER_KIND, "Host");
    const char *origin =
        CRN_MICROHTTPD(MHD_lookup_connection_value)(connection, MHD_HEADER_KIND, "Origin");
    const char *name =
        CRN_MICROHTTPD(MHD_lookup_connection_value)(connection, MHD_GET_ARGUMENT_KIND, "name");
    const char *size =
        CRN_MICROHTTPD(MHD_lookup_connection_value)(connection, MHD_HEADER_KIND, "Content-Length");
    crn_view_reply reply;
    bool token = crn_view_has_token(view, path, &path);
    if (!is_host(view, host) || !is_origin(view, origin))
        reply = refuse(403, "This server answers only requests to 127.0.0.1 and localhost.\n");
    else if (!token || strcmp(path, "api/open") != 0)
        reply = refuse(405, "Only GET is supported here.\n");
    else if (!origin)
        reply = refuse(403, "Files are taken from the page only.\n");
    else if (size && strtoull(size, NULL, 10) > CRN_VIEW_UPLOAD_MAX)
        reply = refuse(413, "The file is too large; name it on the command line of cairn view.\n");
    else {
        CRN_MICROHTTPD(MHD_set_connection_option)
        (connection, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)IDLE_SECONDS);
        *state = crn_calloc(1, sizeof **state);
        (*state)->upload = crn_view_upload_begin(view, name ? name : "");
        return MHD_YES;
    }
    return send_reply(connection, &reply);
}

static void request_ended(void *data, struct MHD_Connection *connection, void **state,
                          enum MHD_RequestTerminationCode how)
{
    (void)data;
    (void)connection;
    (void)how;
    request *request = *state;
    if (!request || request->refusal)
        return;
    if (request->upload)
        crn_view_upload_abort(request->upload);
    crn_free(request);
}

/* Called before an address is decoded. Returns the refusal of one that is too long or has an
 * encoded NUL; otherwise NULL. */
static void *address_seen(void *data, const char *address, struct MHD_Connection *connection)
{
    (void)data;
    (void)connection;
    static request too_long = {.refusal = "The address is too long.\n"};
    static request cut = {.refusal = "The address contains a NUL byte.\n"};
    return strlen(address) > CRN_VIEW_QUERY_MAX ? &too_long : strstr(address, "%00") ? &cut : NULL;
}

static enum MHD_Result request_came(void *data, struct MHD_Connection *connection, const char *path,
                                    const char *method, const char *version, const char *upload,
                                    size_t *upload_size, void **state)
{
    (void)version;
    crn_view_reply reply;
    request *request = *state;
    if (request && request->upload && *upload_size) {
        crn_view_upload_add(request->upload, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (request && request->upload) {
        reply = crn_view_upload_end(request->upload);
        request->upload = NULL;
    } else if (request)
        reply = refuse(414, request->refusal);
    else if (strcmp(method, MHD_HTTP_METHOD_POST) == 0)
        return upload_begin(data, connection, path, (struct request **)state);
    else if (*upload_size)
        return MHD_NO;
    else
        reply = reply_to(data, connection, path, method);
    return send_reply(connection, &reply);
}

struct MHD_Daemon *crn_view_listen(crn_view *view, unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct MHD_Daemon *daemon = CRN_MICROHTTPD(MHD_start_daemon)(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, (uint16_t)port, NULL, NULL, request_came,
        view, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)STRANGER_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_URI_LOG_CALLBACK,
        address_seen, NULL, MHD_OPTION_NOTIFY_COMPLETED, request_ended, NULL, MHD_OPTION_END);
    if (!daemon) {
        crn_cli_fail("cannot listen at 127.0.0.1:%u; is the port taken? --port names another",
                     port);
        return NULL;
    }
    const union MHD_DaemonInfo *info =
        CRN_MICROHTTPD(MHD_get_daemon_info)(daemon, MHD_DAEMON_INFO_BIND_PORT);
    view->port = info ? info->port : port;
    return daemon;
}

void crn_view_stop(struct MHD_Daemon *daemon)
{
    CRN_MICROHTTPD(MHD_stop_daemon)(daemon);
}
