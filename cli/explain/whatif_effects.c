/* SPDX-License-Identifier: MIT
 *
 * Fills the table of savings by block: each cell is a replay, on all processors.
 */
#include <pthread.h>
#include <unistd.h>

#include "cli/common/cli.h"
#include "cli/common/progress.h"
#include "whatif.h"

typedef struct filling {
    crn_effects *effects;
    uint32_t next, done; /* cells begun and finished; atomic */
} filling;

static void fill(filling *filling, bool shows)
{
    crn_outcome outcome = {.begins = NULL};
    uint32_t cells = filling->effects->count * CRN_EFFECTS;
    for (;;) {
        uint32_t cell = __atomic_fetch_add(&filling->next, 1, __ATOMIC_RELAXED);
        if (cell >= cells)
            break;
        crn_effects_fill(filling->effects, cell, &outcome);
        uint32_t done = __atomic_add_fetch(&filling->done, 1, __ATOMIC_RELAXED);
        if (shows)
            crn_progress_at(done, cells);
    }
    crn_outcome_free(&outcome);
}

static void *fill_beside(void *data)
{
    fill(data, false);
    return NULL;
}

void crn_whatif_fill(crn_effects *effects)
{
    enum { MOST_HELPERS = 15 };
    pthread_t helpers[MOST_HELPERS];
    long processors = sysconf(_SC_NPROCESSORS_ONLN), count = 0;
    filling filling = {.effects = effects};
    crn_progress_begin("%s: replaying with each block faster", crn_cli_name);
    while (count + 1 < processors && count < MOST_HELPERS &&
           pthread_create(&helpers[count], NULL, fill_beside, &filling) == 0)
        count++;
    fill(&filling, true);
    while (count)
        pthread_join(helpers[--count], NULL);
    crn_progress_end();
    crn_effects_sort(effects);
}
