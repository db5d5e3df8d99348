/* SPDX-License-Identifier: MIT
 *
 * Charges exact wall time for hosts that have not saved vector and x87 registers. The file is
 * compiled for general registers alone, and calls no function.
 */
#include "runtime/exact.h"

#include <cairn/host.h>

/* Returns true if the profile's clock is the time stamp counter. Any other clock is read by a
 * function of libc, which this file must not call. */
static inline bool can_read_clock(const cairn_strand *strand)
{
    return crn_lane_of(strand)->profile->tsc;
}

uint64_t cairn_priv_exact_step(cairn_priv_strand *priv, cairn_block block, size_t frames)
{
    cairn_strand *strand = (cairn_strand *)priv;
    return can_read_clock(strand) ? crn_exact_step(strand, block, frames) : 0;
}

bool cairn_priv_exact_charge(cairn_priv_strand *priv)
{
    cairn_strand *strand = (cairn_strand *)priv;
    return can_read_clock(strand) && crn_exact_charge(strand);
}
