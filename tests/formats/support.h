/* SPDX-License-Identifier: MIT
 *
 * support.h - profiles made by hand, files in memory, and figures as text.
 */
#ifndef TESTS_FORMATS_SUPPORT_H
#define TESTS_FORMATS_SUPPORT_H

#include "formats/formats.h"

/* A profile of random stacks: recursion that folds, blocks of equal names, names that are
 * hard to write, calls, ticks, wall, bytes, charges to the root. The same for the same seed. */
crn_profile *support_random(uint64_t seed, uint32_t stacks);

/* A profile of one path of so many blocks, each of which was called once. */
crn_profile *support_path(uint32_t length);

/* A source of these bytes. */
crn_source *support_source(const void *bytes, size_t size);

/* Returns the output of `write` for the profile, with a NUL after it. Free it. Fails the test on
 * error. */
char *support_write(crn_format_write *write, const crn_profile *profile,
                    const crn_export_options *options, size_t *size);

/* Returns the profile that `read` makes of the bytes, or NULL and an error with a message. Fails
 * the test on an inconsistent profile or an empty message. */
crn_profile *support_read(crn_format_read *read, const void *bytes, size_t size, const char *metric,
                          crn_error *error);

/* Returns a line for each context with a cost: its path, in labels that tell blocks apart, and its
 * figures. Sorted; free it. With `metric`, only that metric. */
char *support_figures(const crn_profile *profile, const char *metric);

/* A metric's sum over all contexts. */
uint64_t support_total(const crn_profile *profile, const char *metric);

/* The context at a path "a;b;c" of block names; fails the test if there is none. */
uint32_t support_context(const crn_profile *profile, const char *path);
uint64_t support_value(const crn_profile *profile, const char *path, const char *metric);

/* The block of this name; fails the test if there is none. */
const crn_block_info *support_block(const crn_profile *profile, const char *name);

#endif
