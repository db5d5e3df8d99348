/* SPDX-License-Identifier: MIT
 *
 * Reads a capture and sends it, with labels.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/figure.h"
#include "cli/common/progress.h"
#include "cli/common/terminal.h"
#include "fleet.h"
#include "metrics.h"
#include "symbols/symbols.h"

/* ---- labels ---- */

static bool label_add(crn_fleet_labels *labels, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return crn_cli_fail("label \"%s\": write KEY=VALUE", text) == CRN_EXIT_OK;
    if (labels->count == CRN_FLEET_LABELS)
        return crn_cli_fail("more than %d labels", CRN_FLEET_LABELS) == CRN_EXIT_OK;
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
    if (labels->count + 2 > CRN_FLEET_LABELS)
        return crn_cli_fail("more than %d labels", CRN_FLEET_LABELS - 2) == CRN_EXIT_OK;
    return true;
}

/* The program's name: the first word of its command, without folders. */
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

void crn_fleet_labels_add_own(crn_fleet_labels *labels, const crn_profile *profile)
{
    labels->list[labels->count++] = (crn_push_label){"service", service_of(labels, profile)};
    labels->list[labels->count++] = (crn_push_label){"host", labels->host};
}

/* ---- captures ---- */

typedef struct loaded {
    crn_profile *recorded, *shown; /* may be the same */
    crn_span_store *spans;
} loaded;

static void unload(loaded *loaded)
{
    if (loaded->shown != loaded->recorded)
        crn_profile_free(loaded->shown);
    crn_profile_free(loaded->recorded);
    crn_store_close(loaded->spans);
}

static bool load(loaded *loaded, const char *path, crn_error *error)
{
    *loaded = (struct loaded){.recorded = crn_profile_load(path, error)};
    loaded->shown = loaded->recorded;
    if (!loaded->recorded)
        return false;
    loaded->spans = crn_store_open_whole(path, error);
    if (loaded->spans && crn_symbols_wanted(loaded->recorded))
        loaded->shown = crn_symbols_resolve(loaded->recorded, NULL, NULL);
    return loaded->spans != NULL;
}

bool crn_fleet_send(crn_database *database, crn_fleet_labels *labels, const char *path,
                    crn_push_state *state, crn_fleet_sent *sent, crn_error *error)
{
    loaded loaded;
    size_t own = labels->count;
    bool good = load(&loaded, path, error);
    if (good) {
        crn_fleet_labels_add_own(labels, loaded.shown);
        crn_push_options options = {labels->list, labels->count, state, crn_progress_at};
        good = crn_push(database, loaded.shown, loaded.recorded, loaded.spans, &options, &sent->sum,
                        error);
        snprintf(sent->service, sizeof sent->service, "%s",
                 crn_push_label_of(&options, "service", ""));
        if (good && sent->metrics) {
            crn_metrics_lines_free(sent->metrics);
            *sent->metrics = crn_metrics_lines_make(loaded.shown, loaded.recorded, loaded.spans,
                                                    labels, path);
        }
        sent->recording =
            strcmp(crn_profile_note(loaded.recorded, "state", "recording"), "recording") == 0;
        labels->count = own;
    }
    unload(&loaded);
    return good;
}

void crn_fleet_print_sent(FILE *out, const char *path, const crn_fleet_sent *sent)
{
    char run[33], figure[CRN_FIGURE_SIZE];
    crn_terminal_format(out, "%s: run %s of %s, %" PRIu64 " rows, %s\n", path,
                        crn_fleet_id_text(run, &sent->sum.run), sent->service, sent->sum.rows,
                        crn_figure_alone(figure, CRN_UNIT_BYTES, sent->sum.bytes));
}
