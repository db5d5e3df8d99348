/* SPDX-License-Identifier: MIT
 *
 * Passes options of cairn run to libcairn as environment variables: --span-limit is
 * CAIRN_SPAN_LIMIT.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run.h"

/* Returns the name of an option's variable. `option` ends at '=' or NUL. */
static char *variable_of(const char *option)
{
    static const char prefix[] = "CAIRN_";
    char *name = crn_calloc(sizeof prefix + strlen(option), 1), *at = name + sizeof prefix - 1;
    strcpy(name, prefix);
    for (; *option && *option != '='; option++)
        *at++ = *option == '-' ? '_' : (char)toupper((unsigned char)*option);
    return name;
}

void crn_run_set(const char *option)
{
    if (strcmp(option, "exact") == 0) /* native programs are always exact */
        return;
    char *name = variable_of(option);
    const char *equals = strchr(option, '=');
    setenv(name, equals ? equals + 1 : "", 1);
    crn_free(name);
    /* As in Lua programs, --ticks turns off the wall clock and spans by default. */
    if (strncmp(option, "ticks", 5) == 0) {
        setenv("CAIRN_WALL", "off", 0);
        setenv("CAIRN_SPANS", "off", 0);
    }
}

char *crn_run_labels(const crn_list *labels)
{
    size_t size = 1;
    for (size_t i = 0; i < labels->count; i++)
        size += strlen(labels->list[i]) + 1;
    char *lines = crn_calloc(size, 1);
    for (size_t i = 0; i < labels->count; i++)
        strcat(strcat(lines, labels->list[i]), "\n");
    return lines;
}

void crn_run_check_label(struct argp_state *state, const char *label)
{
    if (!strchr(label, '=') || *label == '=')
        argp_error(state, "--label needs KEY=VALUE, not \"%s\"", label);
}
