/* SPDX-License-Identifier: MIT
 *
 * cache.h - caches looked-up addresses, for profiles that are read repeatedly while their program
 * runs.
 */
#ifndef CRN_SYMBOLS_CACHE_H
#define CRN_SYMBOLS_CACHE_H

#include "symbols/symbols.h"
#include "symbols/worker.h"

/* Like crn_symbols_ask, but looks up only what the cache lacks, and adds it. Files that could not
 * be read are not tried again. */
void crn_symbols_cache_ask(crn_symbols_cache *cache, const crn_addresses *addresses,
                           const crn_symbols_sink *sink);

#endif
