/* SPDX-License-Identifier: MIT
 *
 * worker.h - files are read in a child process, which answers over a pipe. What is in a
 * file can then end or hold up the child at most, not the tool.
 */
#ifndef CRN_SYMBOLS_WORKER_H
#define CRN_SYMBOLS_WORKER_H

#include "symbols/addresses.h"
#include "symbols/module.h"

/* Told in the order of modules and their addresses. */
typedef struct crn_symbols_sink {
    void *data;
    /* What became of a module; called again with CRN_MODULE_DAMAGED if reading it failed later. */
    void (*module)(void *data, const crn_module *module, crn_module_state state);
    /* The module's next function; they are numbered from 0 in this order. */
    void (*function)(void *data, const char *name, const char *file, uint32_t line,
                     uint32_t column);
    /* The functions at an address, inwards; none if nothing is known of it. */
    void (*address)(void *data, const crn_module *module, const crn_address *address,
                    const uint32_t *functions, uint32_t count);
} crn_symbols_sink;

/* Asks for all addresses. Those of a file that cannot be read are not answered. */
void crn_symbols_ask(const crn_addresses *addresses, const crn_symbols_sink *sink);

#endif
