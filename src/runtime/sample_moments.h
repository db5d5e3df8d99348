/* SPDX-License-Identifier: MIT
 *
 * sample_moments.h - the samples of a lane with their moments (cairn_sample_at).
 */
#ifndef CRN_RUNTIME_SAMPLE_MOMENTS_H
#define CRN_RUNTIME_SAMPLE_MOMENTS_H

#include "runtime/runtime.h"

/* Appends a sample of `cpu` ns at the moment `at` (ns of CLOCK_MONOTONIC) to the lane's section.
 * Returns false if there is no space, `at` is 0, or the lane was abandoned. Thread: the lane's. */
bool crn_sample_moments_put(cairn_lane *lane, cairn_context context, uint64_t at, uint64_t cpu);

/* Records that the lane describes another thread, with the kernel's id `thread`, from the moment
 * `at` on (ns of CLOCK_MONOTONIC). Thread: the lane's. */
void crn_sample_moments_change(cairn_lane *lane, uint64_t at, uint32_t thread);

/* Frees the lane's memory for samples; the capture keeps the samples. A child of fork calls it
 * because the samples are the parent's. */
void crn_sample_moments_free(cairn_lane *lane);

#endif
