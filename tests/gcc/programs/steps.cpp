// SPDX-License-Identifier: MIT
//
// Single-steps a function that catches, and one that ends by a tail call: after each instruction a
// SIGTRAP handler runs, which pushes frames because it catches exceptions.
#include <cstdio>

#include "single_step.h"

KEPT int trap_deeper(int n)
{
    try {
        return n > 0 ? trap_deeper(n - 1) + trap_leaf(n) : trap_leaf(n);
    } catch (int) {
        return 0;
    }
}

KEPT void handle_trap(int n)
{
    try {
        trapped = trap_leaf(n) + trap_deeper(3);
    } catch (int) {
        trapped = 0;
    }
}

KEPT void thrower(int n)
{
    seen = seen + n;
    throw n;
}

KEPT int in_catch(int n)
{
    return seen + n;
}

KEPT int behind(int n)
{
    return seen - n;
}

// Nothing is thrown while single-stepping.
KEPT int catches(int n)
{
    end_steps();
    int result = 0;
    try {
        thrower(n);
    } catch (int) {
        result = in_catch(n);
    }
    return result + behind(n);
}

KEPT int target(int n)
{
    end_steps();
    return seen + n;
}

KEPT int goes_by_tail(int n)
{
    seen = seen + n;
    return target(n);
}

KEPT int calls_tail(int n)
{
    begin_steps();
    int result = goes_by_tail(n);
    OPAQUE(result);
    return result + behind(n);
}

KEPT int calls_catch(int n)
{
    begin_steps();
    int result = catches(n);
    OPAQUE(result);
    return result + behind(n);
}

int main()
{
    struct sigaction action = {};
    action.sa_handler = handle_trap;
    sigaction(SIGTRAP, &action, nullptr);
    int sum = 0;
    for (int i = 0; i < TIMES; i++) {
        warming = i < WARM;
        sum += calls_catch(1) + calls_tail(1);
    }
    std::printf("%d\n", sum);
    return 0;
}
