/* SPDX-License-Identifier: MIT
 *
 * path.h - the ends of file names.
 */
#ifndef CRN_BASE_PATH_H
#define CRN_BASE_PATH_H

#include <stdbool.h>
#include <string.h>

/* Returns what follows the last slash: the name without its folder. */
static inline const char *crn_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Returns true if the text ends with `suffix`, and has more before it. */
static inline bool crn_path_ends(const char *text, const char *suffix)
{
    size_t length = strlen(text), end = strlen(suffix);
    return length > end && strcmp(text + length - end, suffix) == 0;
}

#endif
