/* SPDX-License-Identifier: MIT
 *
 * Where the frames of a function are. Most need not be on the strand's stack: who called is kept by
 * the function itself, as its return address is. That is a few instructions less, and what follows
 * need not wait for a stack that grows and shrinks in memory.
 *
 * A function that control comes back to by other means than returns cannot rely on what runs then:
 * those that were left so have not said that they are over. Its frame is on the stack, and above it
 * what it runs: the *guard*.
 */
#include "plugin.h"

static crn_where where;

namespace {

/* What marks there are. */
struct census {
    unsigned entered = 0;
    bool restored = false, others = false;
    tree own = NULL_TREE; /* what is entered first */

    void take(gimple *statement);
};

/* Of what a call is inlined into: who ran is kept, too, until the call is over. */
bool is_of_go(tree height)
{
    return TREE_CODE(height) == SSA_NAME && crn_is_go(SSA_NAME_DEF_STMT(height));
}

void census::take(gimple *statement)
{
    crn_mark mark = crn_mark_of(statement);
    if (mark == CRN_MARK_NONE)
        return;
    tree height = crn_mark_height(statement);
    restored |= mark == CRN_MARK_RESTORE;
    entered += mark == CRN_MARK_ENTER;
    if (!own)
        own = height;
    others |= height != own && !is_of_go(height);
}

} // namespace

void crn_kept_begin(function *function)
{
    census census;
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        census.take(gsi_stmt(i));
    where = CRN_PUSHED;
    if (census.restored)
        where = CRN_GUARDED;
    else if (census.entered == 1 && !census.others && !crn_by_calls())
        where = CRN_KEPT;
}

void crn_kept_end(void)
{
    where = CRN_PUSHED;
}

crn_where crn_where_is(tree height)
{
    return is_of_go(height) ? CRN_KEPT : where;
}
