/* SPDX-License-Identifier: MIT
 *
 * Options of cairn run, as a program's libcairn reads them: --span-limit is CAIRN_SPAN_LIMIT.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run.h"

/* `option` ends at '=' or the end. */
static char *variable_of(const char *option)
{
    static const char prefix[] = "CAIRN_";
    char *name = crn_calloc(sizeof prefix + strlen(option), 1), *at = name + sizeof prefix - 1;
    strcpy(name, prefix);
    for (; *option && *option != '='; option++)
        *at++ = *option == '-' ? '_' : (char)toupper((unsigned char)*option);
    return name;
}

/* What an option without a value says. */
static const char *usual_value(const char *option)
{
    static const char *const values[][2] = {{"cpu", "sampled"}, {"spans", "first"}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(option, values[i][0]) == 0)
            return values[i][1];
    return "on";
}

void crn_run_set(const char *option)
{
    if (strcmp(option, "exact") == 0) /* all are */
        return;
    char *name = variable_of(option);
    const char *equals = strchr(option, '=');
    setenv(name, equals ? equals + 1 : usual_value(option), 1);
    crn_free(name);
    /* As for Lua programs: what is counted is the clock there. */
    if (strncmp(option, "ticks", 5) == 0) {
        setenv("CAIRN_WALL", "off", 0);
        setenv("CAIRN_SPANS", "off", 0);
    }
}

void crn_run_set_labels(const crn_run *run)
{
    char *labels = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&labels, &size);
    for (size_t i = 0; stream && i < run->label_count; i++)
        fprintf(stream, "%s\n", run->labels[i]);
    if (stream && fclose(stream) == 0 && size)
        setenv("CAIRN_LABELS", labels, 1);
    free(labels);
}
