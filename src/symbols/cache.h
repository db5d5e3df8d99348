/* SPDX-License-Identifier: MIT
 *
 * cache.h - caches the functions of addresses, for profiles that are read repeatedly while their
 * program runs.
 */
#ifndef CRN_SYMBOLS_CACHE_H
#define CRN_SYMBOLS_CACHE_H

#include "symbols/symbols.h"
#include "symbols/worker.h"

/* Like crn_symbols_ask, but looks up only addresses that the cache lacks, and adds them to it. Does
 * not try files again that could not be read. */
void crn_symbols_cache_ask(crn_symbols_cache *cache, const crn_addresses *addresses,
                           const crn_symbols_sink *sink);

#endif
