/* SPDX-License-Identifier: MIT */
#include "convert.h"

#include <stdio.h>
#include <string.h>

static int find_format(const crn_convert *convert, const char *name)
{
    for (int i = 0; convert->formats[i]; i++)
        if (strcmp(convert->formats[i], name) == 0)
            return i;
    return -1;
}

/* "pprof, perf or folded" */
static void list_formats(const crn_convert *convert, char *list, size_t size)
{
    *list = '\0';
    for (int i = 0; convert->formats[i]; i++) {
        const char *joint = i == 0 ? "" : convert->formats[i + 1] ? ", " : " or ";
        size_t used = strlen(list);
        snprintf(list + used, size - used, "%s%s", joint, convert->formats[i]);
    }
}

error_t crn_convert_parse(crn_convert *convert, int key, char *value, struct argp_state *state)
{
    char list[128];
    if (key == convert->format_key) {
        convert->format = find_format(convert, value);
        list_formats(convert, list, sizeof list);
        if (convert->format < 0)
            argp_error(state, "there is no format \"%s\": %s", value, list);
        return 0;
    }
    switch (key) {
    case 'o':
        convert->output = value;
        return 0;
    case 'm':
        convert->metric = value;
        return 0;
    case ARGP_KEY_ARG:
        if (convert->input)
            return ARGP_ERR_UNKNOWN;
        convert->input = value;
        return 0;
    case ARGP_KEY_END:
        if (!convert->input)
            argp_error(state, "say which %s to %s",
                       strcmp(convert->verb, "export") == 0 ? "capture" : "file", convert->verb);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}
