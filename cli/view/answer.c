/* SPDX-License-Identifier: MIT
 *
 * Makes a reply of a request: parses the path, runs the answer, and captures its output.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "view.h"

/* ---- answers ---- */

/* Runs the answer. Returns its output; free it with free. On an error returns NULL and sets
 * `message`. */
static char *answer_text(crn_view *view, const crn_view_query *query, crn_view_answer *answer,
                         size_t *size, char *message, size_t message_size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    snprintf(message, message_size, "the request failed");
    if (!out)
        return NULL;
    crn_cli_catch(message, message_size);
    bool good = answer(out, view, query) && !ferror(out);
    crn_cli_catch(NULL, 0);
    if (fclose(out) == 0 && good)
        return text;
    free(text);
    return NULL;
}

/* ---- cached answers ---- */

/* Returns a cache key: the request, and the generations of all files. Lengths precede texts, so
 * that different requests have different keys. */
static char *key_of(const crn_view *view, const crn_view_query *query)
{
    char *key = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&key, &size);
    if (!text)
        return NULL;
    fputs(query->route, text);
    for (size_t i = 0; i < query->count; i++)
        fprintf(text, "&%zu:%s=%zu:%s", strlen(query->items[i].key), query->items[i].key,
                strlen(query->items[i].value), query->items[i].value);
    for (size_t i = 0; i < view->file_count; i++)
        fprintf(text, " %u", view->files[i].generation);
    if (fclose(text) == 0)
        return key;
    free(key);
    return NULL;
}

static bool kept_find(const crn_view *view, const char *key, crn_view_reply *reply)
{
    for (int i = 0; key && i < CRN_VIEW_KEPT; i++) {
        const crn_view_kept *kept = &view->kept[i];
        if (!kept->key || strcmp(kept->key, key) != 0)
            continue;
        reply->body = malloc(kept->size + 1);
        if (!reply->body)
            return false;
        memcpy(reply->body, kept->body, kept->size);
        reply->size = kept->size;
        return true;
    }
    return false;
}

static void kept_free(crn_view *view, unsigned place)
{
    crn_view_kept *kept = &view->kept[place % CRN_VIEW_KEPT];
    view->kept_size -= kept->size;
    free(kept->key);
    free(kept->body);
    *kept = (crn_view_kept){0};
}

/* Stores an answer in place of the oldest ones. Takes ownership of the key. */
static void kept_put(crn_view *view, char *key, const crn_view_reply *reply)
{
    char *body = reply->size <= CRN_VIEW_KEPT_SIZE / 2 ? malloc(reply->size + 1) : NULL;
    if (!key || !body) {
        free(key);
        free(body);
        return;
    }
    memcpy(body, reply->body, reply->size);
    kept_free(view, view->kept_next);
    for (unsigned i = 1; view->kept_size + reply->size > CRN_VIEW_KEPT_SIZE; i++)
        kept_free(view, view->kept_next + i);
    view->kept_size += reply->size;
    view->kept[view->kept_next++ % CRN_VIEW_KEPT] = (crn_view_kept){key, body, reply->size};
}

void crn_view_kept_clear(crn_view *view)
{
    for (unsigned i = 0; i < CRN_VIEW_KEPT; i++)
        kept_free(view, i);
}

crn_view_reply crn_view_reply_problem(unsigned status, const char *text)
{
    crn_view_reply reply = {.status = status, .type = "application/json", .owned = true};
    json_t *error = json_object();
    json_object_set_new(error, "error", crn_json_text(text));
    reply.body = json_dumps(error, JSON_COMPACT);
    reply.size = reply.body ? strlen(reply.body) : 0;
    json_decref(error);
    return reply;
}

crn_view_reply crn_view_reply_json(crn_view *view, const crn_view_query *query,
                                   crn_view_answer *answer)
{
    char message[1024];
    crn_view_reply reply = {.status = 200, .type = "application/json", .owned = true};
    pthread_mutex_lock(&view->lock);
    /* The list of captures and a database change by themselves; opening a file changes the list. */
    bool cached = answer != crn_view_captures && strcmp(query->route, "open") != 0 &&
                  strncmp(query->route, "fleet", 5) != 0;
    char *key = cached ? key_of(view, query) : NULL;
    if (!kept_find(view, key, &reply)) {
        reply.body = answer_text(view, query, answer, &reply.size, message, sizeof message);
        if (reply.body) {
            kept_put(view, key, &reply);
            key = NULL;
        }
    }
    if (answer == crn_view_explain || answer == crn_view_whatif)
        malloc_trim(0); /* the answer freed much, between other allocations */
    pthread_mutex_unlock(&view->lock);
    free(key);
    return reply.body ? reply : crn_view_reply_problem(400, message);
}

static const struct route {
    const char *name;
    crn_view_answer *answer;
} routes[] = {
    {"captures", crn_view_captures},
    {"blocks", crn_view_blocks},
    {"report", crn_view_report},
    {"measured", crn_view_measured},
    {"steps", crn_view_steps},
    {"sequences", crn_view_sequences},
    {"match", crn_view_match},
    {"flame", crn_view_flame},
    {"graph", crn_view_graph},
    {"source", crn_view_source},
    {"diff", crn_view_diff},
    {"diff-flame", crn_view_diff_flame},
    {"why", crn_view_why},
    {"explain", crn_view_explain},
    {"latency", crn_view_latency},
    {"whatif", crn_view_whatif},
    {"spans", crn_view_spans},
    {"span", crn_view_span},
    {"span-flame", crn_view_span_flame},
    {"timeline", crn_view_timeline},
    {"counters", crn_view_counters},
    {"moments", crn_view_moments},
    {"iterations", crn_view_iterations},
    {"sql", crn_view_sql},
    {"schema", crn_view_schema},
    {"fleet", crn_view_fleet},
    {"fleet-ask", crn_view_fleet_ask},
    {"fleet-diff", crn_view_fleet_diff},
    {"fleet-open", crn_view_fleet_open},
};

/* ---- the page ---- */

static const char page[] =
    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta name=\"referrer\" content=\"no-referrer\">\n"
    "<title>cairn</title>\n<link rel=\"icon\" href=\"data:,\">\n"
    "<link rel=\"stylesheet\" href=\"page.css\">\n"
    "<div id=\"page\"><p class=\"loading\" role=\"status\">Reading the capture…</p></div>\n"
    "<script src=\"page.js\"></script>\n</html>\n";

static crn_view_reply reply_fixed(const char *type, const void *body, size_t size)
{
    return (crn_view_reply){
        .status = 200, .type = type, .body = (char *)(uintptr_t)body, .size = size};
}

static crn_view_reply reply_error(unsigned status, const char *text)
{
    crn_view_reply reply = reply_fixed("text/plain; charset=utf-8", text, strlen(text));
    reply.status = status;
    return reply;
}

/* Compares in constant time, to reveal nothing. */
static bool is_token(const crn_view *view, const char *text)
{
    unsigned char different = 0;
    for (int i = 0; i < CRN_VIEW_TOKEN; i++) {
        if (!text[i])
            return false;
        different |= (unsigned char)(text[i] ^ view->token[i]);
    }
    return !different;
}

bool crn_view_has_token(const crn_view *view, const char *path, const char **rest)
{
    if (*path != '/' || !is_token(view, path + 1) || path[1 + CRN_VIEW_TOKEN] != '/')
        return false;
    *rest = path + 2 + CRN_VIEW_TOKEN;
    return true;
}

crn_view_reply crn_view_reply_to(crn_view *view, const char *path, crn_view_query *query)
{
    static const char no_token[] =
        "This address is incomplete: use the one that cairn view printed.\n";
    if (!crn_view_has_token(view, path, &path))
        return reply_error(403, no_token);
    if (view->page && !*path)
        return reply_fixed("text/html; charset=utf-8", page, sizeof page - 1);
    if (view->page && strcmp(path, "page.js") == 0)
        return reply_fixed("text/javascript; charset=utf-8", crn_page_built.script,
                           crn_page_built.script_size);
    if (view->page && strcmp(path, "page.css") == 0)
        return reply_fixed("text/css; charset=utf-8", crn_page_built.style,
                           crn_page_built.style_size);
    if (strncmp(path, "api/", 4) == 0) {
        query->route = path + 4;
        if (strcmp(query->route, "export") == 0)
            return crn_view_export(view, query);
        for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
            if (strcmp(query->route, routes[i].name) == 0)
                return crn_view_reply_json(view, query, routes[i].answer);
    }
    return reply_error(404, "Not found.\n");
}
