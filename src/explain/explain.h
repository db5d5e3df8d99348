/* SPDX-License-Identifier: MIT
 *
 * explain.h - why spans took as long as they did: which attributes or children long spans have, and
 * which spans the end of a run waited for.
 *
 * Other folders include this header and no other of this folder.
 */
#ifndef CRN_EXPLAIN_EXPLAIN_H
#define CRN_EXPLAIN_EXPLAIN_H

#include "explain/critical.h"
#include "explain/f_test.h"
#include "explain/latency_parts.h"
#include "explain/sampled_functions.h"
#include "explain/variance.h"

#endif
