/* SPDX-License-Identifier: MIT
 *
 * Finds leaf functions, and inlined functions that call nothing. While such a function runs, only a
 * signal handler can use the strand's stack, and the handler leaves the stack as it was. So enter
 * pushes no frame, and the caller's node offset stays in a register.
 */
#include "plugin.h"

#include "builtins.h"

/* Maps the height of each frame that is not pushed to the variable that holds the strand. This and
 * the file's other variables describe the function that is being compiled. */
static hash_map<tree, tree> *strands;

/* Returns true if the program defines the function, even if it is named like a builtin one. */
static bool is_of_program(tree function)
{
    cgraph_node *own = cgraph_node::get(function);
    return own && own->definition;
}

bool crn_is_of_machine(const gcall *call)
{
    tree callee = gimple_call_fndecl(call);
    return gimple_call_internal_p(call) ||
           (callee && is_inexpensive_builtin(callee) && !is_of_program(callee));
}

/* Returns true for calls of C library functions that only read and write memory: they call and
 * throw nothing. */
static bool is_of_memory(gcall *call)
{
    static const built_in_function functions[] = {
        BUILT_IN_MEMCPY, BUILT_IN_MEMMOVE, BUILT_IN_MEMSET,  BUILT_IN_MEMCMP, BUILT_IN_MEMCHR,
        BUILT_IN_STRLEN, BUILT_IN_STRCMP,  BUILT_IN_STRNCMP, BUILT_IN_STRCHR, BUILT_IN_STRRCHR,
        BUILT_IN_STRCPY, BUILT_IN_STRNCPY, BUILT_IN_STRSTR,  BUILT_IN_STRSPN, BUILT_IN_STRCSPN};
    for (built_in_function function : functions)
        if (gimple_call_builtin_p(call, function))
            return !is_of_program(gimple_call_fndecl(call));
    return false;
}

/* Returns true if the statement calls nothing that could be profiled. */
static bool is_quiet(gimple *statement)
{
    crn_marker marker = crn_marker_of(statement);
    if (marker != CRN_MARKER_NONE)
        return marker == CRN_MARKER_ENTER || marker == CRN_MARKER_LEAVE;
    if (is_a<gasm *>(statement))
        return crn_is_count(statement);
    gcall *call = dyn_cast<gcall *>(statement);
    return !call || crn_is_of_machine(call) || is_of_memory(call);
}

static bool calls_nothing(function *function)
{
    if (function->can_throw_non_call_exceptions || function->has_nonlocal_label ||
        function->calls_setjmp)
        return false;
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    {
        if (bb_has_eh_pred(block))
            return false;
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
            if (!is_quiet(gsi_stmt(i)))
                return false;
    }
    return true;
}

/* Returns true if the function certainly makes a call that is no jump, and therefore gets no red
 * zone from GCC. Calls of builtin functions do not count: they may become instructions. */
static bool calls_surely(function *function)
{
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
        gcall *call = dyn_cast<gcall *>(gsi_stmt(i));
        if (call && !gimple_call_internal_p(call) && !gimple_call_tail_p(call) &&
            !gimple_call_builtin_p(call))
            return true;
    }
    return false;
}

/* Calls `visit` with the height of each marker of a kind. */
static void visit_markers(function *function, crn_marker wanted, void visit(tree height))
{
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        if (crn_marker_of(gsi_stmt(i)) == wanted)
            visit(crn_marker_height(gsi_stmt(i)));
}

static bool all_known; /* each leave's height is in `strands` */
static bool has_call;  /* the function certainly has no red zone */
static bool is_leaf;   /* the current function certainly calls no profiled function */
static unsigned frame_count;

static void add(tree height)
{
    strands->put(height, make_ssa_name(long_long_integer_type_node));
}

static void count_frame(tree)
{
    frame_count++;
}

static void check_known(tree height)
{
    all_known &= strands->get(height) != NULL;
}

/* ---- inlined functions ---- */

enum { BLOCKS_MOST = 64 }; /* limit of the search for the leaves of one frame, in basic blocks */

/* Returns true if nothing but leaves uses the height. */
static bool is_only_left(tree height)
{
    gimple *use;
    imm_use_iterator uses;
    FOR_EACH_IMM_USE_STMT(use, uses, height)
    if (!is_gimple_debug(use) && crn_marker_of(use) != CRN_MARKER_LEAVE)
        return false;
    return true;
}

/* Scans a basic block from `place` on. Returns 1 if the frame is left there, -1 if something is
 * called before, otherwise 0. */
static int look_for_leave(gimple_stmt_iterator place, tree height)
{
    for (; !gsi_end_p(place); gsi_next(&place)) {
        if (crn_marker_of(gsi_stmt(place)) == CRN_MARKER_LEAVE &&
            crn_marker_height(gsi_stmt(place)) == height)
            return 1;
        if (!is_quiet(gsi_stmt(place)))
            return -1;
    }
    return 0;
}

/* Adds the block's successors that have not been seen to `work`. Returns false if the search must
 * be given up. */
static bool push_next(basic_block block, auto_vec<basic_block> &work, auto_bitmap &seen)
{
    edge out;
    edge_iterator edges;
    FOR_EACH_EDGE(out, edges, block->succs)
    {
        if (out->flags & EDGE_COMPLEX || out->dest == EXIT_BLOCK_PTR_FOR_FN(cfun))
            return false;
        if (bitmap_set_bit(seen, out->dest->index))
            work.safe_push(out->dest);
    }
    return EDGE_COUNT(block->succs) > 0 && work.length() < BLOCKS_MOST;
}

/* Returns true if nothing is called between the enter and each leave of the same frame. */
static bool calls_nothing_inside(gimple *enter)
{
    tree height = crn_marker_height(enter);
    if (!is_only_left(height))
        return false;
    auto_vec<basic_block> work;
    auto_bitmap seen;
    gimple_stmt_iterator place = gsi_for_stmt(enter);
    gsi_next(&place);
    int found = look_for_leave(place, height);
    if (found == 0 && !push_next(gimple_bb(enter), work, seen))
        return false;
    for (unsigned count = 0; found >= 0 && !work.is_empty(); count++) {
        basic_block block = work.pop();
        found = count < BLOCKS_MOST ? look_for_leave(gsi_start_bb(block), height) : -1;
        if (found == 0 && !push_next(block, work, seen))
            return false;
    }
    return found >= 0;
}

static void add_inlined(function *function)
{
    if (function->can_throw_non_call_exceptions)
        return;
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        if (crn_marker_of(gsi_stmt(i)) == CRN_MARKER_ENTER && calls_nothing_inside(gsi_stmt(i)))
            add(crn_marker_height(gsi_stmt(i)));
}

void crn_leaf_begin(function *function)
{
    if (!strands)
        strands = new hash_map<tree, tree>;
    strands->empty();
    has_call = calls_surely(function);
    if (crn_by_calls())
        return;
    frame_count = 0;
    visit_markers(function, CRN_MARKER_ENTER, count_frame);
    is_leaf = calls_nothing(function);
    if (crn_chosen.lean)
        return;
    if (!is_leaf) {
        add_inlined(function);
        return;
    }
    if (crn_chosen.standby && frame_count == 1) /* it saves its caller (saved_caller.cc) */
        return;
    visit_markers(function, CRN_MARKER_ENTER, add);
    /* A height that is a PHI of others is not in `strands`. */
    all_known = true;
    visit_markers(function, CRN_MARKER_LEAVE, check_known);
    if (!all_known)
        strands->empty();
}

tree crn_leaf_strand(tree height)
{
    tree *strand = strands->get(height);
    return strand ? *strand : NULL_TREE;
}

bool crn_calls_nothing(void)
{
    return is_leaf;
}

bool crn_may_have_red_zone(void)
{
    return !has_call;
}
