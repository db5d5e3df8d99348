/* SPDX-License-Identifier: MIT
 *
 * --branch: counts how often each outcome of a branch is taken. Each outcome is a block named
 * <true>, <false> or <case>, entered and left where the outcome begins. The events are inserted
 * before all optimisation, so that the outcomes are those of the source.
 */
#include "plugin.h"

namespace {

void count_outcome(edge outcome, const char *name, location_t place)
{
    if (outcome->flags & EDGE_COMPLEX)
        return;
    tree site = crn_site_make(name, place, cfun->decl);
    tree height = make_ssa_name(long_long_integer_type_node);
    gsi_insert_on_edge(outcome, crn_marker_make(CRN_MARKER_ENTER, site, height, place));
    gsi_insert_on_edge(outcome, crn_marker_make(CRN_MARKER_LEAVE, site, height, place));
}

/* Returns the source location of a case, or of its switch. */
location_t place_of(edge outcome, const gimple *last)
{
    for (gimple_stmt_iterator i = gsi_start_bb(outcome->dest); !gsi_end_p(i); gsi_next(&i))
        if (gimple_code(gsi_stmt(i)) != GIMPLE_LABEL &&
            gimple_location(gsi_stmt(i)) != UNKNOWN_LOCATION)
            return gimple_location(gsi_stmt(i));
    return gimple_location(last);
}

void count_outcomes(basic_block block)
{
    const gimple *last = last_stmt(block);
    if (!last || (gimple_code(last) != GIMPLE_COND && gimple_code(last) != GIMPLE_SWITCH))
        return;
    edge outcome;
    edge_iterator outcomes;
    FOR_EACH_EDGE(outcome, outcomes, block->succs)
    {
        if (outcome->flags & EDGE_TRUE_VALUE)
            count_outcome(outcome, "<true>", gimple_location(last));
        else if (outcome->flags & EDGE_FALSE_VALUE)
            count_outcome(outcome, "<false>", gimple_location(last));
        else
            count_outcome(outcome, "<case>", place_of(outcome, last));
    }
}

const pass_data branch_data = {
    GIMPLE_PASS,
    "cairn_branch",
    OPTGROUP_NONE,
    TV_NONE,
    PROP_cfg | PROP_ssa,
    0,
    0,
    0,
    TODO_update_ssa_only_virtuals,
};

class branch_pass : public gimple_opt_pass {
  public:
    explicit branch_pass(gcc::context *context) : gimple_opt_pass(branch_data, context)
    {
    }
    bool gate(function *function) override
    {
        return crn_chosen.branch && crn_is_profiled(function->decl);
    }
    unsigned execute(function *function) override
    {
        basic_block block;
        FOR_EACH_BB_FN(block, function)
        count_outcomes(block);
        gsi_commit_edge_inserts();
        return 0;
    }
};

} // namespace

opt_pass *crn_pass_branch(gcc::context *context)
{
    return new branch_pass(context);
}
