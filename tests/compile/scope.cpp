/* SPDX-License-Identifier: MIT
 *
 * Scopes under exceptions and threads: after each the stack is as it was, and what was
 * counted is what was called.
 */
#include <cairn/cairn.hpp>

#include <cstdio>
#include <stdexcept>
#include <thread>

static void fall(cairn_strand *strand, cairn_block block, int depth)
{
    cairn::scope scope(strand, block);
    cairn_enter(strand, block); /* as C code that an exception passes: never left */
    if (depth == 0)
        throw std::runtime_error("down");
    fall(strand, block, depth - 1);
}

static bool work(cairn_profile *profile, cairn_block block)
{
    cairn::thread here(profile, "worker");
    for (int i = 0; i < 100; i++) {
        cairn::scope outer(here.strand(), block);
        try {
            fall(here.strand(), block, 9);
        } catch (const std::runtime_error &) {
        }
        if (here.strand() && cairn_strand_depth(here.strand()) != 1)
            return false;
    }
    return cairn_strand_depth(here.strand()) == 0;
}

/* The same without counts: what is charged at the bottom of each fall goes to fall's context. */
static void fall_uncounted(cairn_stack *stack, cairn_block block, int depth)
{
    cairn::stack_scope scope(stack, block);
    cairn_stack_enter(stack, block);
    if (depth == 0) {
        cairn_stack_tick(stack, 1);
        throw std::runtime_error("down");
    }
    fall_uncounted(stack, block, depth - 1);
}

static bool work_uncounted(cairn_profile *profile, cairn_block block)
{
    cairn::stack here(profile, "uncounted");
    cairn_strand *strand = cairn_stack_strand(here.get());
    for (int i = 0; i < 100; i++) {
        cairn::stack_scope outer(here.get(), block);
        try {
            fall_uncounted(here.get(), block, 9);
        } catch (const std::runtime_error &) {
        }
        if (strand && cairn_strand_depth(strand) != 1)
            return false;
    }
    return cairn_strand_depth(strand) == 0;
}

int main()
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    cairn_profile *profile = nullptr;
    if (cairn_profile_open(&profile, &options) != CAIRN_OK)
        return 1;
    cairn_block_info info = {};
    info.name = "fall";
    cairn_block block = cairn_block_add(profile, &info);

    bool right[2] = {false, work(nullptr, block) && work_uncounted(nullptr, block)};
    std::thread other([&] { right[0] = work(profile, block); });
    bool here = work(profile, block) && work_uncounted(profile, block);
    other.join();

    cairn_view *view = nullptr;
    cairn_view_open(&view, profile);
    unsigned long long calls = cairn_view_calls(view, &block, 1);
    cairn_cost cost = {};
    here = here && cairn_view_find(view, &block, 1, &cost) && cost.ticks == 100;
    cairn_view_close(view);
    cairn_profile_close(profile);
    std::printf("%d %d %d %llu\n", here, right[0], right[1], calls);
    return 0;
}
