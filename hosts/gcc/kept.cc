/* SPDX-License-Identifier: MIT
 *
 * Where the frames of a function are. Most need not be on the strand's stack: who called is kept by
 * the function itself, as its return address is. That is a few instructions less, and what follows
 * need not wait for a stack that grows and shrinks in memory.
 *
 * A function that control comes back to by other means than returns cannot rely on what runs then:
 * those that were left so have not said that they are over. Its frame is on the stack, and above it
 * what it runs: the *guard*. So it is, too, where counters are written to, which a child of fork is
 * to have of those contexts that run.
 */
#include "plugin.h"

static crn_where where;

namespace {

/* What marks there are. */
struct census {
    unsigned entered = 0;
    bool restored = false, counted = false, others = false;
    tree own = NULL_TREE;

    void take(gimple *statement);
};

void census::take(gimple *statement)
{
    crn_mark mark = crn_mark_of(statement);
    if (mark == CRN_MARK_NONE) {
        counted |= crn_is_count(statement);
        return;
    }
    counted |= crn_mark_counters(statement) != NULL_TREE;
    restored |= mark == CRN_MARK_RESTORE;
    entered += mark == CRN_MARK_ENTER;
    if (!own)
        own = crn_mark_height(statement);
    others |= crn_mark_height(statement) != own;
}

} // namespace

void crn_kept_begin(function *function)
{
    census census;
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        census.take(gsi_stmt(i));
    if (census.restored || census.counted)
        where = CRN_GUARDED;
    else
        where = census.entered == 1 && !census.others && !crn_by_calls() ? CRN_KEPT : CRN_PUSHED;
}

void crn_kept_end(void)
{
    where = CRN_PUSHED;
}

crn_where crn_where_frames_are(void)
{
    return where;
}
