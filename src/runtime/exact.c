/* SPDX-License-Identifier: MIT
 *
 * Charges exact wall time for hosts that have not saved vector and x87 registers. The file is
 * compiled for general registers alone, and calls no function.
 */
#include "runtime/exact.h"

#include <cairn/host.h>

bool cairn_priv_exact_step(cairn_priv_strand *strand, cairn_block block, size_t frames)
{
    return crn_exact_step((cairn_strand *)strand, block, frames);
}

bool cairn_priv_exact_charge(cairn_priv_strand *strand)
{
    return crn_exact_charge((cairn_strand *)strand);
}
