/* SPDX-License-Identifier: MIT
 *
 * Decides how a function's frame is stored. Most functions save their caller's node offset in the
 * machine's stack frame, like the return address. That takes fewer instructions than a push, and
 * the next event need not load a top of stack that a push has just stored.
 *
 * A function to which control can return by jumps or exceptions cannot rely on the current
 * context, because functions that were left that way ran no leave. Its frame is pushed on the
 * strand's stack, with its own context above it, the *guard*. So are the frames of a function that
 * has several, because others were inlined into it.
 */
#include "plugin.h"

static crn_storage storage;
static tree slot; /* variable with the current function's saved caller */

namespace {

/* The markers that the function has. */
struct census {
    unsigned entered = 0;                  /* number of enters */
    bool restored = false, others = false; /* others: some marker has another height than `own` */
    tree own = NULL_TREE;                  /* height of the first marker */

    void take(gimple *statement);
};

/* Returns true if crn_emit_go defines the height: it is the saved caller of a counter tree's
 * node. */
bool is_of_go(tree height)
{
    return TREE_CODE(height) == SSA_NAME && crn_is_go(SSA_NAME_DEF_STMT(height));
}

void census::take(gimple *statement)
{
    crn_marker marker = crn_marker_of(statement);
    if (marker == CRN_MARKER_NONE)
        return;
    tree height = crn_marker_height(statement);
    restored |= marker == CRN_MARKER_RESTORE;
    entered += marker == CRN_MARKER_ENTER;
    if (!own)
        own = height;
    others |= height != own && !is_of_go(height);
}

/* Returns true under the address sanitizer, which lays out frames itself. */
bool lays_out_frames(void)
{
    return flag_sanitize & (SANITIZE_ADDRESS | SANITIZE_HWADDRESS);
}

/* Makes the variable for a saved caller. It is volatile, so that GCC gives it a place in the frame;
 * not addressable, because -fstack-protector-strong would then protect the function. */
tree slot_make(void)
{
    tree made = create_tmp_var(long_long_integer_type_node, "cairn_caller");
    TREE_THIS_VOLATILE(made) = 1;
    TREE_SIDE_EFFECTS(made) = 1;
    DECL_SOURCE_LOCATION(made) = BUILTINS_LOCATION;
    return made;
}

} // namespace

void crn_storage_begin(function *function)
{
    census census;
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        census.take(gsi_stmt(i));
    bool saved = !census.restored && census.entered == 1 && !census.others && !crn_by_calls();
    storage = saved ? CRN_SAVED_CALLER : CRN_PUSHED;
    slot = saved && crn_chosen.standby && !lays_out_frames() ? slot_make() : NULL_TREE;
}

void crn_storage_end(void)
{
    storage = CRN_PUSHED;
    slot = NULL_TREE;
}

crn_storage crn_storage_of(tree height)
{
    return is_of_go(height) ? CRN_SAVED_CALLER : storage;
}

tree crn_saved_caller_slot(tree height)
{
    return is_of_go(height) ? NULL_TREE : slot;
}
