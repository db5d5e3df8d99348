/* SPDX-License-Identifier: MIT */
#include "base/sampled_path.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"

char *crn_sampled_path(const char *capture)
{
    static const char suffix[] = ".cairn", sampled[] = ".sampled";
    size_t length = strlen(capture), end = sizeof suffix - 1;
    bool has = crn_path_ends(capture, suffix);
    size_t size = length + sizeof sampled + sizeof suffix;
    char *path = crn_calloc(size, 1);
    snprintf(path, size, "%.*s%s%s", (int)(length - (has ? end : 0)), capture, sampled, suffix);
    return path;
}

char *crn_sampled_path_instead(const char *capture)
{
    char *sampled = access(capture, F_OK) == 0 ? NULL : crn_sampled_path(capture);
    if (sampled && access(sampled, F_OK) == 0)
        return sampled;
    crn_free(sampled);
    return NULL;
}
