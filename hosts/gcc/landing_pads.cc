/* SPDX-License-Identifier: MIT
 *
 * Markers would keep landing pads alive, and a call with a landing pad is no tail call. So before
 * GCC removes empty pads, this pass removes the markers of pads that do nothing else.
 */
#include "plugin.h"

namespace {

/* Removes the exception edges that -fnon-call-exceptions gives to a marker. Returns true if there
 * were any: then basic blocks may have become unreachable. */
bool cannot_throw(gimple *marker)
{
    return remove_stmt_from_eh_lp(marker) && gimple_purge_dead_eh_edges(gimple_bb(marker));
}

bool may_be_skipped(const gimple *statement)
{
    return is_gimple_debug(statement) || gimple_clobber_p(statement) ||
           gimple_code(statement) == GIMPLE_LABEL;
}

/* Removes the restores from a landing pad that only passes the exception on. */
void let_pass(basic_block pad)
{
    auto_vec<gimple *> restores;
    const gimple *last = last_stmt(pad);
    if (!last || gimple_code(last) != GIMPLE_RESX)
        return;
    for (gimple_stmt_iterator i = gsi_start_bb(pad); gsi_stmt(i) != last; gsi_next(&i)) {
        if (crn_marker_of(gsi_stmt(i)) == CRN_MARKER_RESTORE)
            restores.safe_push(gsi_stmt(i));
        else if (!may_be_skipped(gsi_stmt(i)))
            return;
    }
    for (gimple *restore : restores) {
        gimple_stmt_iterator place = gsi_for_stmt(restore);
        gsi_remove(&place, true);
    }
}

const pass_data pads_data = {
    GIMPLE_PASS, "cairn_pads", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0,
};

class pads_pass : public gimple_opt_pass {
  public:
    explicit pads_pass(gcc::context *context) : gimple_opt_pass(pads_data, context)
    {
    }
    opt_pass *clone() override
    {
        return new pads_pass(m_ctxt);
    }
    bool gate(function *function) override
    {
        return function->eh && function->eh->region_tree;
    }
    unsigned execute(function *function) override
    {
        unsigned todo = 0;
        basic_block block;
        FOR_EACH_BB_FN(block, function)
        {
            for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
                if (crn_marker_of(gsi_stmt(i)) != CRN_MARKER_NONE && cannot_throw(gsi_stmt(i)))
                    todo |= TODO_cleanup_cfg;
            let_pass(block);
        }
        return todo;
    }
};

} // namespace

opt_pass *crn_pass_landing_pads(gcc::context *context)
{
    return new pads_pass(context);
}
