/* SPDX-License-Identifier: MIT
 *
 * source_text.h - reads a source file that a capture names.
 */
#ifndef CRN_CLI_COMMON_SOURCE_TEXT_H
#define CRN_CLI_COMMON_SOURCE_TEXT_H

#include <stddef.h>

/* Returns the text of a regular file of at most 4 MiB, NUL-terminated; free it with crn_free. Does
 * not follow a symbolic link: resolve the path first. On an error returns NULL and a reason that
 * completes "is not shown: ...". */
char *crn_source_text(const char *path, size_t *size, const char **reason);

#endif
