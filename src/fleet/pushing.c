/* SPDX-License-Identifier: MIT */
#include "fleet/pushing.h"

void crn_pushing_row(const crn_pushing *pushing, crn_rows *rows)
{
    crn_rows_text(rows, pushing->service);
    crn_rows_number(rows, pushing->day, 2);
    crn_rows_id(rows, &pushing->ids.run);
}

bool crn_pushing_send(crn_pushing *pushing, const char *into, crn_rows *rows, bool last)
{
    if (!last && rows->size < CRN_BATCH_BYTES)
        return true;
    if (!crn_database_insert(pushing->database, into, rows, pushing->error))
        return false;
    pushing->sum->rows += rows->count;
    pushing->sum->bytes += rows->size;
    crn_rows_clear(rows);
    return true;
}

void crn_pushing_did(crn_pushing *pushing, uint64_t done)
{
    pushing->done += done;
    if (pushing->options->progress)
        pushing->options->progress(pushing->done, pushing->total);
}
