/* SPDX-License-Identifier: MIT
 *
 * Places and expands markers after GCC's GIMPLE optimisations: first puts moved leaves in place;
 * after the check (check.cc), replaces markers by code.
 */
#include "plugin.h"

#include "cfghooks.h"
#include "cfgloop.h"

namespace {

gcall *call_behind(gimple_stmt_iterator place)
{
    for (; !gsi_end_p(place); gsi_next(&place))
        if (is_gimple_call(gsi_stmt(place)))
            return as_a<gcall *>(gsi_stmt(place));
    return NULL;
}

/* Returns true if the callee certainly enters, and so takes the frame that a tail call gives up. */
bool replaces(const gcall *call)
{
    tree callee = gimple_call_fndecl(call);
    return callee && crn_is_known_profiled(callee);
}

void change(gimple_stmt_iterator *place, crn_marker marker)
{
    gimple *before = gsi_stmt(*place);
    gimple *after = crn_marker_make(marker, crn_marker_site(before), crn_marker_height(before),
                                    gimple_location(before));
    gsi_replace(place, after, false);
}

/* Places a leave that tail.cc moved before its call. The leave stays there if GCC made the call a
 * jump; otherwise it goes behind the call. If GCC made self-recursion a loop, no call is left: the
 * leave stays, and the function's own enter follows. */
void place_moved(gimple_stmt_iterator *place)
{
    gcall *call = call_behind(*place);
    if (!call || gimple_call_tail_p(call)) {
        change(place, !call || replaces(call) ? CRN_MARKER_TAIL : CRN_MARKER_LEAVE);
        gsi_next(place);
        return;
    }
    gimple *marker = gsi_stmt(*place);
    gimple *leave = crn_marker_make(CRN_MARKER_LEAVE, crn_marker_site(marker),
                                    crn_marker_height(marker), gimple_location(marker));
    gsi_remove(place, true);
    gimple_stmt_iterator behind = gsi_for_stmt(call);
    gimple_stmt_iterator next = behind;
    for (gsi_next(&next); !gsi_end_p(next) && crn_marker_of(gsi_stmt(next)) == CRN_MARKER_LEAVE;
         gsi_next(&next))
        behind = next;
    gsi_insert_after(&behind, leave, GSI_SAME_STMT);
}

} // namespace

void crn_place_moved_leaves(void)
{
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i);) {
        crn_marker marker = crn_marker_of(gsi_stmt(i));
        if (marker == CRN_MARKER_MOVED)
            place_moved(&i);
        else
            gsi_next(&i);
    }
}

namespace {

gimple *code_of(const gimple *marker)
{
    tree height = crn_marker_height(marker), site = crn_marker_site(marker);
    switch (crn_marker_of(marker)) {
    case CRN_MARKER_ENTER:
        return crn_emit_enter(site, height);
    case CRN_MARKER_TAIL:
        return crn_emit_tail(height);
    case CRN_MARKER_RESTORE:
        return crn_emit_restore(height);
    default:
        return crn_emit_leave(height, site);
    }
}

/* Returns the statement that jumps to the label where the marker's code must run. */
gimple *test_of(const gimple *marker, tree label)
{
    tree height = crn_marker_height(marker);
    return crn_saved_caller_slot(height) ? crn_emit_switch(label)
                                         : crn_emit_leave_inline(height, label);
}

/* Replaces the marker by the statement of test_of, and puts the marker's code into a basic block
 * that GCC places out of the way. */
void expand_aside(basic_block block, gimple *marker)
{
    gimple *code = code_of(marker);
    edge on = split_block(block, marker);
    basic_block aside = create_empty_bb(block);
    gimple_stmt_iterator place = gsi_last_bb(block);
    gsi_replace(&place, test_of(marker, gimple_block_label(aside)), false);
    place = gsi_last_bb(aside);
    gsi_insert_after(&place, code, GSI_NEW_STMT);
    on->probability = profile_probability::very_likely();
    make_edge(block, aside, 0)->probability = profile_probability::very_unlikely();
    make_single_succ_edge(aside, on->dest, EDGE_FALLTHRU);
    aside->count = block->count.apply_probability(profile_probability::very_unlikely());
    if (current_loops && block->loop_father)
        add_bb_to_loop(aside, block->loop_father);
    free_dominance_info(CDI_DOMINATORS);
    free_dominance_info(CDI_POST_DOMINATORS);
}

/* Expands a marker; inserts the look-up of counters behind an enter that returns them. Returns
 * false if it split the basic block, so that the rest is in another one. */
bool expand(gimple_stmt_iterator *place)
{
    gimple *marker = gsi_stmt(*place);
    tree counters = crn_marker_counters(marker);
    if (counters)
        gsi_insert_after(place, crn_emit_counters(crn_marker_tree(marker), counters),
                         GSI_SAME_STMT);
    tree height = crn_marker_height(marker);
    bool aside = crn_saved_caller_slot(height) ||
                 (crn_marker_of(marker) == CRN_MARKER_LEAVE && crn_leaves_inline(height));
    if (!crn_by_calls() && aside) {
        expand_aside(gimple_bb(marker), marker);
        return false;
    }
    gsi_replace(place, code_of(marker), false);
    return true;
}

/* Returns true if a later leave makes this one redundant: a leave of a pushed frame drops
 * everything above it, and any other leave sets the current context. */
bool is_covered(gimple_stmt_iterator place)
{
    if (crn_chosen.verify || crn_marker_of(gsi_stmt(place)) != CRN_MARKER_LEAVE)
        return false;
    gsi_next_nondebug(&place);
    return !gsi_end_p(place) && crn_marker_of(gsi_stmt(place)) == CRN_MARKER_LEAVE;
}

const pass_data expand_data = {
    GIMPLE_PASS, "cairn_expand",  OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0,
    0,           TODO_update_ssa,
};

class expand_pass : public gimple_opt_pass {
  public:
    explicit expand_pass(gcc::context *context) : gimple_opt_pass(expand_data, context)
    {
    }
    unsigned execute(function *function) override
    {
        crn_tree_count(function);
        crn_leaf_begin(function);
        crn_storage_begin(function);
        basic_block block;
        FOR_EACH_BB_FN(block, function)
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i);) {
            if (is_covered(i)) {
                gsi_remove(&i, true);
                continue;
            }
            if (crn_marker_of(gsi_stmt(i)) != CRN_MARKER_NONE && !expand(&i))
                break;
            gsi_next(&i);
        }
        crn_storage_end();
        return 0;
    }
};

} // namespace

opt_pass *crn_pass_expand(gcc::context *context)
{
    return new expand_pass(context);
}
