/* SPDX-License-Identifier: MIT
 *
 * Files to save from the page: the page in one file, as of cairn report --html, and pprof, as of
 * cairn export. The page itself makes pictures.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cli/common/cli.h"
#include "formats/formats.h"
#include "view.h"

static bool write_html(FILE *out, const crn_report *report)
{
    return crn_view_html_write(out, report);
}

static bool write_pprof(FILE *out, const crn_report *report)
{
    crn_error error = {0};
    crn_export_options options = {.metric = crn_export_metric(report->profile, true),
                                  .times = true};
    if (crn_pprof_write(report->profile, &options, out, &error))
        return true;
    crn_cli_fail("%s", error.message);
    return false;
}

static const struct target {
    const char *name, *suffix, *type;
    bool (*write)(FILE *out, const crn_report *report);
} targets[] = {
    {"html", ".html", "text/html; charset=utf-8", write_html},
    {"pprof", ".pb.gz", "application/gzip", write_pprof},
};

/* Sets the file's name: that of `path` without folder and suffix, with safe characters only. */
static void name_file(crn_view_reply *reply, const char *path, const char *suffix)
{
    const char *name = crn_path_name(path);
    size_t length = strcspn(name, "."), most = sizeof reply->file_name - 16;
    length = length < most ? length : most;
    snprintf(reply->file_name, sizeof reply->file_name, "%.*s%s", (int)length, name, suffix);
    for (char *at = reply->file_name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
            *at = '_';
}

/* Reads the file into the body. Returns false on an error. */
static bool take_body(crn_view_reply *reply, FILE *file)
{
    long size = fflush(file) == 0 && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size < 0 || fseek(file, 0, SEEK_SET) != 0)
        return false;
    reply->body = malloc((size_t)size + 1);
    reply->size = (size_t)size;
    return reply->body && fread(reply->body, 1, reply->size, file) == reply->size;
}

/* Sets the body; on an error prints a message and leaves it NULL. Writes into a file, which pprof's
 * writer needs. */
static void fill(crn_view *view, const crn_view_query *query, const struct target *target,
                 crn_view_reply *reply)
{
    crn_report report;
    crn_view_file *file;
    FILE *out = tmpfile();
    if (!out) {
        crn_cli_fail("no temporary file can be made: %s", strerror(errno));
        return;
    }
    bool good = crn_view_report_begin(view, query, &report, &file) && target->write(out, &report) &&
                take_body(reply, out);
    if (good) {
        name_file(reply, report.path, target->suffix);
    } else {
        free(reply->body);
        reply->body = NULL;
    }
    crn_view_report_end(&report);
    fclose(out);
}

crn_view_reply crn_view_export(crn_view *view, const crn_view_query *query)
{
    static char message[1024];
    const char *to = crn_view_text(query, "to");
    const struct target *target = NULL;
    for (size_t i = 0; to && i < sizeof targets / sizeof *targets; i++)
        if (strcmp(to, targets[i].name) == 0)
            target = &targets[i];
    crn_view_reply reply = {.status = 200, .owned = true};
    pthread_mutex_lock(&view->lock);
    snprintf(message, sizeof message, "%s", target ? "the export failed" : "to is html or pprof");
    if (target) {
        reply.type = target->type;
        crn_cli_catch(message, sizeof message);
        fill(view, query, target, &reply);
        crn_cli_catch(NULL, 0);
    }
    pthread_mutex_unlock(&view->lock);
    if (!reply.body)
        reply = (crn_view_reply){.status = 400,
                                 .type = "text/plain; charset=utf-8",
                                 .body = message,
                                 .size = strlen(message)};
    return reply;
}
