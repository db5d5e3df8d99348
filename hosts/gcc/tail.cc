/* SPDX-License-Identifier: MIT
 *
 * Finds calls that would be tail calls without the leaves after them, and moves these leaves before
 * the call, which gets a return of its own. --inlined needs this pass: it inserts leaves before GCC
 * looks for tail calls. expand.cc moves leaves back behind calls that did not become jumps.
 */
#include "plugin.h"

#include "cfghooks.h"
#include "cfgloop.h"

namespace {

/* A call with the leaves and the return after it. */
class tail {
  public:
    bool find(basic_block block);
    void move();

  private:
    gcall *call = NULL;
    greturn *end = NULL;
    auto_vec<gimple *> leaves;
    auto_vec<edge> path; /* edges from the call's block to the return's */

    bool follow(tree value);
    bool pass(gimple *statement, tree *value);
    tree height_before(const gimple *leave);
};

bool is_copy(gimple *statement)
{
    return gimple_assign_ssa_name_copy_p(statement);
}

bool does_nothing(const gimple *statement)
{
    return is_gimple_debug(statement) || gimple_clobber_p(statement) ||
           gimple_code(statement) == GIMPLE_LABEL || gimple_code(statement) == GIMPLE_NOP ||
           gimple_code(statement) == GIMPLE_PREDICT;
}

/* Returns true if the statement may be between the call and the return. `*value`: the name of the
 * call's result, which a copy changes. */
bool tail::pass(gimple *statement, tree *value)
{
    if (does_nothing(statement))
        return true;
    if (crn_marker_of(statement) == CRN_MARKER_LEAVE) {
        leaves.safe_push(statement);
        return true;
    }
    if (!is_copy(statement))
        return false;
    if (*value && gimple_assign_rhs1(statement) == *value)
        *value = gimple_assign_lhs(statement);
    return true;
}

/* Returns the value's name after the edge, where a PHI node may give it a new one. */
tree through(edge into, tree value)
{
    for (gphi_iterator i = gsi_start_phis(into->dest); value && !gsi_end_p(i); gsi_next(&i))
        if (PHI_ARG_DEF_FROM_EDGE(i.phi(), into) == value)
            return PHI_RESULT(i.phi());
    return value;
}

/* Follows the path from the call to a return. Returns false if it branches, contains another
 * statement, or returns something else than `value`. */
bool tail::follow(tree value)
{
    gimple_stmt_iterator i = gsi_for_stmt(call);
    for (gsi_next(&i);; gsi_next(&i)) {
        while (gsi_end_p(i)) {
            basic_block block = path.is_empty() ? gimple_bb(call) : path.last()->dest;
            if (!single_succ_p(block) || single_succ_edge(block)->flags & EDGE_COMPLEX ||
                single_succ(block) == EXIT_BLOCK_PTR_FOR_FN(cfun) ||
                path.length() > (unsigned)n_basic_blocks_for_fn(cfun))
                return false;
            path.safe_push(single_succ_edge(block));
            value = through(path.last(), value);
            i = gsi_start_bb(path.last()->dest);
        }
        end = dyn_cast<greturn *>(gsi_stmt(i));
        if (end)
            return !gimple_return_retval(end) || gimple_return_retval(end) == value;
        if (!pass(gsi_stmt(i), &value))
            return false;
    }
}

/* Finds the tail call at the end of a basic block. */
bool tail::find(basic_block block)
{
    gimple_stmt_iterator i = gsi_last_bb(block);
    while (!gsi_end_p(i) &&
           (does_nothing(gsi_stmt(i)) || is_copy(gsi_stmt(i)) || is_a<greturn *>(gsi_stmt(i)) ||
            crn_marker_of(gsi_stmt(i)) == CRN_MARKER_LEAVE))
        gsi_prev(&i);
    call = gsi_end_p(i) ? NULL : dyn_cast<gcall *>(gsi_stmt(i));
    return call && !gimple_call_internal_p(call) && !stmt_ends_bb_p(call) &&
           !(gimple_call_flags(call) & (ECF_NORETURN | ECF_RETURNS_TWICE)) &&
           !crn_must_stay(call) && follow(gimple_call_lhs(call)) && !leaves.is_empty();
}

/* Returns the name that the height of a leave has at the call. */
tree tail::height_before(const gimple *leave)
{
    tree height = crn_marker_height(leave);
    for (unsigned i = path.length(); i-- > 0 && TREE_CODE(height) == SSA_NAME;) {
        gphi *join = dyn_cast<gphi *>(SSA_NAME_DEF_STMT(height));
        if (join && gimple_bb(join) == path[i]->dest)
            height = PHI_ARG_DEF_FROM_EDGE(join, path[i]);
    }
    return height;
}

/* Moves the leaves before the call, and ends its basic block with a copy of the return. */
void tail::move()
{
    gimple_stmt_iterator before = gsi_for_stmt(call);
    for (gimple *leave : leaves)
        gsi_insert_before(&before,
                          crn_marker_make(CRN_MARKER_MOVED, crn_marker_site(leave),
                                          height_before(leave), gimple_location(leave)),
                          GSI_SAME_STMT);
    basic_block own = gimple_bb(call);
    for (gimple *leave : leaves)
        if (gimple_bb(leave) == own) {
            gimple_stmt_iterator place = gsi_for_stmt(leave);
            gsi_remove(&place, true);
        }
    if (path.is_empty())
        return;
    basic_block rest = split_block(own, call)->dest;
    tree value = gimple_return_retval(end);
    if (value && TREE_CODE(value) == SSA_NAME)
        value = gimple_call_lhs(call);
    greturn *made = gimple_build_return(value);
    gimple_set_location(made, gimple_location(end));
    remove_edge(single_succ_edge(rest));
    gimple_stmt_iterator last = gsi_last_bb(rest);
    gsi_insert_after(&last, made, GSI_NEW_STMT);
    make_single_succ_edge(rest, EXIT_BLOCK_PTR_FOR_FN(cfun), 0);
}

const pass_data tail_data = {
    GIMPLE_PASS,
    "cairn_tail",
    OPTGROUP_NONE,
    TV_NONE,
    PROP_cfg | PROP_ssa,
    0,
    0,
    0,
    TODO_update_ssa_only_virtuals | TODO_cleanup_cfg,
};

class tail_pass : public gimple_opt_pass {
  public:
    explicit tail_pass(gcc::context *context) : gimple_opt_pass(tail_data, context)
    {
    }
    bool gate(function *function) override
    {
        return flag_optimize_sibling_calls && !function->calls_setjmp &&
               !function->has_nonlocal_label;
    }
    unsigned execute(function *function) override
    {
        auto_vec<basic_block> blocks;
        basic_block block;
        bool moved = false;
        FOR_EACH_BB_FN(block, function)
        blocks.safe_push(block);
        for (basic_block each : blocks) {
            tail found;
            if (!found.find(each))
                continue;
            found.move();
            moved = true;
        }
        if (moved) {
            free_dominance_info(CDI_DOMINATORS);
            free_dominance_info(CDI_POST_DOMINATORS);
            if (current_loops)
                loops_state_set(LOOPS_NEED_FIXUP);
        }
        return 0;
    }
};

} // namespace

opt_pass *crn_pass_tail(gcc::context *context)
{
    return new tail_pass(context);
}
