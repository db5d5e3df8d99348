/* SPDX-License-Identifier: MIT
 *
 * source_text.h - reads a source file that a capture names.
 */
#ifndef CRN_CLI_COMMON_SOURCE_TEXT_H
#define CRN_CLI_COMMON_SOURCE_TEXT_H

#include <stddef.h>

/* Returns the text of a regular file of at most 4 MiB, ended by NUL; free it with crn_free. A
 * symbolic link is not followed: resolve the path first. NULL and a reason, which completes "is not
 * shown: ...", if it cannot be read. */
char *crn_source_text(const char *path, size_t *size, const char **reason);

#endif
