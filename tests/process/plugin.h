/* SPDX-License-Identifier: MIT
 *
 * plugin.h - the interface of process_plugin_*.so; the program finds it with dlsym.
 */
#ifndef TESTS_PROCESS_PLUGIN_H
#define TESTS_PROCESS_PLUGIN_H

#include <stdbool.h>

#include <cairn/cairn.h>

#define PLUGIN_API __attribute__((visibility("default")))

/* `options` is NULL for no profile. False if it cannot be opened. */
PLUGIN_API bool plugin_begin(const cairn_options *options, bool keep_stacks_only);

/* A lane for the calling thread; calls of "work" there. */
PLUGIN_API void plugin_begin_thread(void);
PLUGIN_API void plugin_work(unsigned rounds);
PLUGIN_API void plugin_end(void);

#endif
