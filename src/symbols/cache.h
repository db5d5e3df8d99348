/* SPDX-License-Identifier: MIT
 *
 * cache.h - what has been asked about addresses is kept, for a profile that is read again and
 * again while its program runs.
 */
#ifndef CRN_SYMBOLS_CACHE_H
#define CRN_SYMBOLS_CACHE_H

#include "symbols/symbols.h"
#include "symbols/worker.h"

/* As crn_symbols_ask, but only what the cache does not hold is looked up, and is in it
 * afterwards. A file that could not be read is not tried again. */
void crn_symbols_cache_ask(crn_symbols_cache *cache, const crn_addresses *addresses,
                           const crn_symbols_sink *sink);

#endif
