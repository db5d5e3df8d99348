/* SPDX-License-Identifier: MIT
 *
 * Reads the items of a query.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/common/cli.h"
#include "view.h"

const char *crn_view_text(const crn_view_query *query, const char *key)
{
    for (size_t i = 0; i < query->count; i++)
        if (strcmp(query->items[i].key, key) == 0)
            return query->items[i].value;
    return NULL;
}

const char *crn_view_some_text(const crn_view_query *query, const char *key)
{
    const char *text = crn_view_text(query, key);
    return text && *text ? text : NULL;
}

bool crn_view_number(const crn_view_query *query, const char *key, uint64_t otherwise,
                     uint64_t most, uint64_t *number)
{
    const char *text = crn_view_text(query, key);
    char *end;
    *number = otherwise;
    if (!text)
        return true;
    if (*text >= '0' && *text <= '9') {
        *number = strtoull(text, &end, 10);
        if (!*end && *number <= most)
            return true;
    }
    crn_cli_fail("\"%.40s\" is not a valid %s; write a whole number up to %llu", text, key,
                 (unsigned long long)most);
    return false;
}

crn_view_file *crn_view_file_of(crn_view *view, const crn_view_query *query)
{
    uint64_t number;
    if (!crn_view_number(query, "file", 0, CRN_VIEW_FILES_MAX, &number))
        return NULL;
    if (number >= view->file_count) {
        crn_cli_fail("there is no file %llu", (unsigned long long)number);
        return NULL;
    }
    return &view->files[number];
}
