/* SPDX-License-Identifier: MIT
 *
 * Reads a capture and adds it, with its labels, to a batch.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/figure.h"
#include "cli/common/progress.h"
#include "cli/common/terminal.h"
#include "fleet.h"
#include "metrics.h"
#include "symbols/symbols.h"

typedef struct loaded {
    crn_profile *recorded, *shown; /* `shown`: with functions in place of addresses */
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
    *loaded = (struct loaded){.spans = crn_store_open_whole(path, error)};
    if (loaded->spans) /* read before the profile, which then has their blocks */
        loaded->recorded = loaded->shown = crn_profile_load(path, error);
    if (loaded->recorded && crn_symbols_wanted(loaded->recorded))
        loaded->shown = crn_symbols_resolve(loaded->recorded, NULL, NULL);
    return loaded->recorded != NULL;
}

bool crn_fleet_send(crn_push_batch *batch, crn_fleet_labels *labels, const char *path,
                    crn_push_state *state, crn_fleet_sent *sent, crn_error *error)
{
    loaded loaded;
    crn_fleet_labels beside = {.count = 0};
    crn_progress_begin("%s: sending %s", crn_cli_name, path);
    bool good = sent->read = load(&loaded, path, error);
    if (good) {
        labels = crn_fleet_labels_read(&beside, path) ? &beside : labels;
        size_t given = labels->count;
        crn_fleet_labels_add_own(labels, loaded.shown);
        crn_push_options options = {labels->list, labels->count, state, crn_progress_at};
        snprintf(sent->service, sizeof sent->service, "%s",
                 crn_push_label_of(&options, "service", ""));
        sent->recording = crn_cli_is_recording(loaded.recorded);
        sent->spans = loaded.spans->count;
        good = crn_push(batch, loaded.shown, loaded.recorded, loaded.spans, &options, &sent->sum,
                        error);
        if (good && sent->metrics) {
            crn_metrics_lines_free(sent->metrics);
            *sent->metrics =
                crn_metrics_lines_make(loaded.shown, loaded.recorded, loaded.spans, labels, path);
        }
        labels->count = given;
    }
    crn_progress_end();
    crn_free(beside.texts);
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
