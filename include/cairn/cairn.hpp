/* SPDX-License-Identifier: MIT
 *
 * cairn.hpp - scopes for C++.
 *
 *     cairn::thread here(profile, "worker");           // a lane and a strand for this thread
 *     ...
 *     cairn::scope scope(here.strand(), block);        // entered now, left where it ends
 *
 * A scope leaves whatever is on the stack above it, too: frames that an exception passed,
 * or that C code entered and did not leave. NULL profiles and strands are no-ops, as in C.
 */
#ifndef CAIRN_HPP
#define CAIRN_HPP

#include "cairn.h"

namespace cairn
{

/* Enters `block`; leaves it at the end of the C++ scope, also when an exception passes.
 * Thread: the strand's. */
class scope
{
  public:
    scope(cairn_strand *strand, cairn_block block) noexcept
        : strand_(strand), mark_(cairn_strand_mark(strand))
    {
        cairn_enter(strand, block);
    }

    ~scope()
    {
        cairn_strand_unwind(strand_, mark_);
    }

    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

  private:
    cairn_strand *strand_;
    cairn_mark mark_;
};

/* A lane with one strand, for as long as the object lives: one for each thread. The
 * profile has to live longer. */
class thread
{
  public:
    explicit thread(cairn_profile *profile, const char *name = nullptr) noexcept
        : lane_(cairn_lane_open(profile, name)), strand_(cairn_strand_open(lane_))
    {
    }

    ~thread()
    {
        cairn_lane_close(lane_);
    }

    thread(const thread &) = delete;
    thread &operator=(const thread &) = delete;

    cairn_strand *strand() const noexcept
    {
        return strand_;
    }

  private:
    cairn_lane *lane_;
    cairn_strand *strand_;
};

} // namespace cairn

#endif
