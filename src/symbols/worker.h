/* SPDX-License-Identifier: MIT
 *
 * worker.h - reads files in a child process that answers over a pipe, so that a hostile file can
 * only end or delay the child.
 */
#ifndef CRN_SYMBOLS_WORKER_H
#define CRN_SYMBOLS_WORKER_H

#include "symbols/addresses.h"
#include "symbols/module.h"

/* Functions that get the answers, in the order of modules and addresses. */
typedef struct crn_symbols_sink {
    void *data;
    /* Gets the state of a module; again with CRN_MODULE_DAMAGED if the child ended while it read
     * the module. */
    void (*module)(void *data, const crn_module *module, crn_module_state state);
    /* Gets the module's next function. Functions are numbered from 0 in this order. */
    void (*function)(void *data, const char *name, const char *file, uint32_t line,
                     uint32_t column);
    /* Gets the functions at an address, outermost first; none if none are known. `line` is that of
     * the address in the innermost function's file; 0 if not known. */
    void (*address)(void *data, const crn_module *module, const crn_address *address,
                    const uint32_t *functions, uint32_t count, uint32_t line);
} crn_symbols_sink;

/* Looks up all addresses. Skips those in files that cannot be read. */
void crn_symbols_ask(const crn_addresses *addresses, const crn_symbols_sink *sink);

#endif
