/* SPDX-License-Identifier: MIT */
#include "fleet/fetching.h"

#include <errno.h>
#include <string.h>

bool crn_fetching_ask(const crn_fetching *fetching, crn_sql *sql, crn_answer *answer)
{
    bool good = crn_database_query(fetching->database, sql->text, answer, fetching->error);
    crn_sql_free(sql);
    return good;
}

void crn_fetching_service(const crn_fetching *fetching, crn_sql *sql)
{
    const char *service = fetching->filter ? fetching->filter->service : fetching->service;
    crn_sql_add(sql, service ? "service = " : "1");
    if (service)
        crn_sql_literal(sql, service);
}

void crn_fetching_run(const crn_fetching *fetching, crn_sql *sql)
{
    if (fetching->filter) {
        crn_fleet_filter_runs(fetching->filter, sql);
        return;
    }
    crn_fetching_service(fetching, sql);
    crn_sql_add(sql, " AND run = ");
    crn_sql_id(sql, &fetching->run);
}

bool crn_fetching_end(const crn_fetching *fetching, crn_answer *answer, bool good)
{
    good = good && !answer->bad;
    crn_answer_free(answer);
    return good || crn_error_set(fetching->error, EIO,
                                 "the run is not complete in the database, or "
                                 "its rows are damaged; push its capture again");
}

uint32_t crn_fetching_number(crn_interning *numbers, uint32_t count, const crn_fleet_id *id)
{
    uint32_t number = crn_intern_number(numbers, (const char *)id->bytes, sizeof id->bytes);
    return number < count ? number : UINT32_MAX;
}

uint32_t crn_fetching_block(const crn_fetching *fetching, const crn_fleet_id *id)
{
    return crn_fetching_number(fetching->block_numbers, fetching->raw.block_count, id);
}
