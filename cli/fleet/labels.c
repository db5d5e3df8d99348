/* SPDX-License-Identifier: MIT
 *
 * Labels of runs: from the command line, the environment, and a file beside a capture.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "fleet.h"

enum { FILE_MAX = 1 << 16 };

static bool label_add(crn_fleet_labels *labels, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return crn_cli_fail("label \"%s\": write KEY=VALUE", text) == CRN_EXIT_OK;
    if (labels->count == CRN_FLEET_LABELS - 2)
        return crn_cli_fail("more than %d labels", CRN_FLEET_LABELS - 2) == CRN_EXIT_OK;
    *equals = '\0';
    labels->list[labels->count++] = (crn_push_label){text, equals + 1};
    return true;
}

/* Adds labels of the command line, then of CAIRN_LABELS. For a repeated key the first counts. */
bool crn_fleet_labels_take(crn_fleet_labels *labels, const crn_list *given)
{
    const char *environment = getenv("CAIRN_LABELS");
    char *rest = NULL;
    for (size_t i = 0; i < given->count; i++)
        if (!label_add(labels, given->list[i]))
            return false;
    labels->texts = crn_strdup(environment ? environment : "");
    for (char *text = strtok_r(labels->texts, ",", &rest); text; text = strtok_r(NULL, ",", &rest))
        if (!label_add(labels, text))
            return false;
    gethostname(labels->host, sizeof labels->host - 1);
    return true;
}

/* Returns the program's name: the first word of its command, without folders. */
static const char *service_of(crn_fleet_labels *labels, const crn_profile *profile)
{
    const char *command = crn_profile_note(profile, "command", "unknown");
    size_t length = strcspn(command, " ");
    const char *slash = memrchr(command, '/', length);
    const char *name = slash ? slash + 1 : command;
    snprintf(labels->service, sizeof labels->service, "%.*s",
             (int)(length - (size_t)(name - command)), name);
    return labels->service;
}

static void add_missing(crn_fleet_labels *labels, const char *key, const char *value)
{
    for (size_t i = 0; i < labels->count; i++)
        if (strcmp(labels->list[i].key, key) == 0)
            return;
    labels->list[labels->count++] = (crn_push_label){key, value};
}

void crn_fleet_labels_add_own(crn_fleet_labels *labels, const crn_profile *profile)
{
    add_missing(labels, "service", service_of(labels, profile));
    add_missing(labels, "host", labels->host);
}

/* ---- the file beside a capture ---- */

char *crn_fleet_labels_path(const char *capture)
{
    size_t size = strlen(capture) + sizeof ".labels";
    char *path = crn_calloc(size, 1);
    snprintf(path, size, "%s.labels", capture);
    return path;
}

/* Writes a key or value. A line is KEY=VALUE, with \n for a newline and \\ for
 * a backslash. */
static void write_text(FILE *file, const char *text)
{
    for (; *text; text++)
        if (*text == '\n' || *text == '\\')
            fputs(*text == '\n' ? "\\n" : "\\\\", file);
        else
            fputc(*text, file);
}

bool crn_fleet_labels_write(const crn_fleet_labels *labels, const char *capture)
{
    char *path = crn_fleet_labels_path(capture);
    FILE *file = fopen(path, "wxe");
    for (size_t i = 0; file && i < labels->count; i++) {
        write_text(file, labels->list[i].key);
        fputc('=', file);
        write_text(file, labels->list[i].value);
        fputc('\n', file);
    }
    bool good = file && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (!good)
        crn_cli_fail("%s: %s", path, strerror(errno));
    if (file)
        fclose(file);
    crn_free(path);
    return good;
}

static void unescape(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++)
        if (*at == '\\' && at[1])
            *to++ = *++at == 'n' ? '\n' : *at;
        else
            *to++ = *at;
    *to = '\0';
}

bool crn_fleet_labels_read(crn_fleet_labels *labels, const char *capture)
{
    char *path = crn_fleet_labels_path(capture), *rest = NULL;
    FILE *file = fopen(path, "re");
    crn_free(path);
    if (!file)
        return false;
    labels->texts = crn_calloc(FILE_MAX + 1, 1);
    if (!fread(labels->texts, 1, FILE_MAX, file))
        labels->texts[0] = '\0';
    fclose(file);
    gethostname(labels->host, sizeof labels->host - 1);
    for (char *line = strtok_r(labels->texts, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        unescape(line);
        label_add(labels, line);
    }
    return true;
}
