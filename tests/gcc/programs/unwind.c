/* SPDX-License-Identifier: MIT
 *
 * Unwinds from the functions that Enter and Leave call in the runtime: each backtrace must reach
 * main. Run with exact time, which makes each event call the runtime.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unwind.h>

#include <cairn/host.h>
#include <cairn/hot.h>

#include "noipa.h"

#ifdef __clang__
#define UNSEEN __attribute__((no_instrument_function, xray_never_instrument))
#else
#define UNSEEN __attribute__((no_instrument_function))
#endif

static volatile int inside, looks, lost;

int main(void);

UNSEEN static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *found)
{
    if (_Unwind_GetRegionStart(context) == (_Unwind_Ptr)main)
        *(int *)found = 1;
    return _URC_NO_REASON;
}

UNSEEN static void look_for_main(void)
{
    int found = 0;
    if (!inside)
        return;
    _Unwind_Backtrace(look, &found);
    looks++;
    lost += !found;
}

/* Replaces a function of libcairn: unwinds, then calls the real one. */
#define BEFORE(name, parameters, arguments)                                                        \
    UNSEEN void name parameters                                                                    \
    {                                                                                              \
        static void(*real) parameters;                                                             \
        if (!real)                                                                                 \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                             \
        look_for_main();                                                                           \
        real arguments;                                                                            \
    }
BEFORE(cairn_priv_enter, (cairn_priv_strand * strand, cairn_block block), (strand, block))
BEFORE(cairn_priv_replace, (cairn_priv_strand * strand, cairn_block block), (strand, block))
BEFORE(cairn_priv_leave, (cairn_priv_strand * strand), (strand))
BEFORE(cairn_strand_unwind, (cairn_strand * strand, cairn_mark mark), (strand, mark))

/* The same for those that are called first, with exact time. Every second time they say that they
 * have done nothing; then the functions of hot.h charge the time, and call no others. */
#define BEFORE_EXACT(type, name, parameters, arguments)                                            \
    UNSEEN type name parameters                                                                    \
    {                                                                                              \
        static type(*real) parameters;                                                             \
        static int turn;                                                                           \
        if (!real)                                                                                 \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                             \
        look_for_main();                                                                           \
        return ++turn % 2 ? 0 : real arguments;                                                    \
    }
BEFORE_EXACT(bool, cairn_priv_exact_step,
             (cairn_priv_strand * strand, cairn_block block, size_t frames),
             (strand, block, frames))
BEFORE_EXACT(bool, cairn_priv_exact_charge, (cairn_priv_strand * strand), (strand))

/* Called by Enter for the counters of inlined functions. */
UNSEEN uint64_t *cairn_priv_tree_counters(cairn_strand *strand, uint32_t tree)
{
    static uint64_t *(*real)(cairn_strand *, uint32_t);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "cairn_priv_tree_counters");
    look_for_main();
    return real(strand, tree);
}

UNSEEN KEPT int unseen(int n)
{
    return n;
}

/* All call something before they leave, so that they push a frame. Otherwise the slow path would be
 * called from behind the function, where it has no unwind information. */
KEPT int leaf(int n)
{
    int same = unseen(n);
    OPAQUE(same);
    return same + 1;
}

static int same(int n)
{
    OPAQUE(n);
    return n;
}

KEPT int calls(int n)
{
    int sum = leaf(same(n));
    OPAQUE(sum);
    return leaf(sum) + 1;
}

KEPT int jumps(int n)
{
    return calls(unseen(n) + 1);
}

static int (*volatile anyone)(int) = calls;

KEPT int jumps_anywhere(int n)
{
    return anyone(unseen(n) + 1);
}

int main(void)
{
    enum { ROUNDS = 10, LOOKS_LEAST = 60 };
    volatile int sum = 0;
    inside = 1;
    for (int i = 0; i < ROUNDS; i++)
        sum += calls(1) + jumps(2) + jumps_anywhere(3);
    inside = 0;
    printf("%d of %d did not come to main\n", lost, looks);
    return sum != 17 * ROUNDS || lost || looks < LOOKS_LEAST;
}
