/* SPDX-License-Identifier: MIT
 *
 * profile.h - everything that works on a whole profile in memory: loads and merges captures, totals
 * and compares figures, selects blocks and sequences.
 *
 * Other folders include only this header of src/profile.
 */
#ifndef CRN_PROFILE_PROFILE_H
#define CRN_PROFILE_PROFILE_H

#include "profile/bottom_up.h"
#include "profile/call_graph.h"
#include "profile/capture_texts.h"
#include "profile/children.h"
#include "profile/compare.h"
#include "profile/diff.h"
#include "profile/figure_cache.h"
#include "profile/figures.h"
#include "profile/freeze.h"
#include "profile/instances.h"
#include "profile/interval.h"
#include "profile/lanes.h"
#include "profile/lean.h"
#include "profile/left_out.h"
#include "profile/live.h"
#include "profile/merge.h"
#include "profile/metric.h"
#include "profile/model.h"
#include "profile/nesting.h"
#include "profile/reference.h"
#include "profile/sampling.h"
#include "profile/sequence.h"
#include "profile/shown_graph.h"
#include "profile/since.h"
#include "profile/spread.h"
#include "profile/stack.h"
#include "profile/transform.h"
#include "profile/tree.h"
#include "profile/unfold.h"

#endif
