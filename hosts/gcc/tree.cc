/* SPDX-License-Identifier: MIT
 *
 * Replaces enter and leave of inlined functions by counters. While an inlined function calls
 * nothing, it need not be entered: one instruction counts its call. Around each call that remains,
 * the inlined functions that contain it are entered together, and left together.
 *
 * This is possible only if the innermost inlined function at each point is the same on all paths
 * (places.h). Otherwise enter and leave stay. `which` is the index of a node of places.h: a
 * function inlined at one place. Such functions become numbered nodes of a counter tree
 * (tree_code.cc) if they are entered or make calls.
 *
 * A *stretch* is code without branches, and without calls that may not return. One addition counts
 * all calls of a node in a stretch.
 */
#include "places.h"

namespace {

enum { NODES_MOST = 4096 };

/* A function inlined at one place. */
struct use {
    int number;  /* number of its node in the counter tree; 0: it needs none */
    int stretch; /* index in `stretches` of the last one that calls it; -1: none */
};

class counting {
  public:
    counting(tree own, crn_places &places);
    void change();

  private:
    tree own; /* the function's site */
    crn_places &places;
    auto_vec<use> uses;      /* indexed like `places` */
    auto_vec<gimple *> dead; /* assignments that took the place of enters */
    auto_vec<crn_tree_node> made_nodes;
    auto_vec<crn_stretch> stretches;
    hash_map<gimple *, unsigned> calls; /* from a node's first enter in a stretch to the index in
                                           `stretches` */
    tree made;                          /* variable that describes the counter tree */
    tree counters;                      /* variable with the address of the counters */
    tree height;                        /* variable with the height of the function's own frame */
    struct {
        gimple *leave; /* the leave after the call */
        tree caller;
        int which;
    } last = {}; /* the last call in this basic block for which a node was made current; that node
                    may stay current until the next call */

    void need(int which);
    void number();
    void take_call(gimple *enter, int which, unsigned stretch);
    void take_calls();
    void count(gimple_stmt_iterator *place, int which);
    void begin(gimple_stmt_iterator *place);
    tree go(gimple_stmt_iterator *place, int which);
    void surround(gimple_stmt_iterator place, int which);
    void take_back_leave();
    void change(basic_block block);
    void change_marker(gimple_stmt_iterator *place, int now, int next, bool *jumps);
};

counting::counting(tree own, crn_places &places)
    : own(own), places(places), made(NULL_TREE), counters(NULL_TREE), height(NULL_TREE)
{
    for (unsigned i = 0; i < places.length(); i++)
        uses.safe_push({0, -1});
}

/* Returns true for calls that run no code of the program. */
bool runs_no_program_code(gcall *call)
{
    if (crn_is_of_machine(call) || gimple_call_flags(call) & (ECF_CONST | ECF_PURE))
        return true;
    tree callee = gimple_call_fndecl(call);
    if (!callee || !fndecl_built_in_p(callee, BUILT_IN_NORMAL))
        return false;
    cgraph_node *known = cgraph_node::get(callee);
    if (known && known->definition)
        return false;
    switch (DECL_FUNCTION_CODE(callee)) {
    case BUILT_IN_UNWIND_RESUME:
    case BUILT_IN_MEMCPY:
    case BUILT_IN_MEMMOVE:
    case BUILT_IN_MEMSET:
    case BUILT_IN_MEMPCPY:
    case BUILT_IN_STRCPY:
    case BUILT_IN_STRNCPY:
    case BUILT_IN_STRCAT:
    case BUILT_IN_STPCPY:
        return true;
    default:
        return false;
    }
}

/* Notes that an inlined function, and each that it is inlined into, needs a node. */
void counting::need(int which)
{
    for (; which > 0 && !uses[which].number; which = places[which].above)
        uses[which].number = 1;
}

/* Finds the functions that need nodes, and numbers them. */
void counting::number()
{
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    {
        int now = places.at(block);
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
            now = places.step(now, gsi_stmt(i));
            if (now > 0)
                need(now);
        }
    }
    for (unsigned i = 1; i < places.length(); i++) {
        if (!uses[i].number)
            continue;
        made_nodes.safe_push({places[i].site, (unsigned)uses[places[i].above].number, 0});
        uses[i].number = made_nodes.length();
    }
}

/* Counts a call of an inlined function in the stretch with that number. */
void counting::take_call(gimple *enter, int which, unsigned stretch)
{
    use &called = uses[which];
    if (called.stretch >= 0 && stretches[called.stretch].number == stretch) {
        stretches[called.stretch].times++;
        return;
    }
    called.stretch = stretches.length();
    calls.put(enter, called.stretch);
    stretches.safe_push({(unsigned)called.number, stretch, 1});
}

/* Returns true for statements that may not return: calls that run the program's code, and assembler
 * statements that are no markers. */
bool ends_stretch(gimple *statement)
{
    gcall *call = dyn_cast<gcall *>(statement);
    return call ? !runs_no_program_code(call)
                : is_a<gasm *>(statement) && crn_marker_of(statement) == CRN_MARKER_NONE;
}

void counting::take_calls()
{
    unsigned stretch = 0;
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    {
        int now = places.at(block);
        stretch++;
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
            now = places.step(now, gsi_stmt(i));
            if (now > 0 && crn_marker_of(gsi_stmt(i)) == CRN_MARKER_ENTER)
                take_call(gsi_stmt(i), now, stretch);
            stretch += ends_stretch(gsi_stmt(i));
        }
    }
}

/* Removes an enter. If it is the node's first in a stretch, inserts the addition of all calls there
 * to the node's counter, unless the node shares another one's. */
void counting::count(gimple_stmt_iterator *place, int which)
{
    gimple *enter = gsi_stmt(*place);
    tree unused = crn_marker_height(enter);
    gimple *nothing = gimple_build_assign(unused, build_zero_cst(TREE_TYPE(unused)));
    unsigned number = uses[which].number;
    const unsigned *call = made_nodes[number - 1].same ? NULL : calls.get(enter);
    if (call)
        gsi_insert_before(place, crn_emit_count(counters, number, stretches[*call].times),
                          GSI_SAME_STMT);
    gsi_replace(place, nothing, false);
    dead.safe_push(nothing);
}

/* Makes the function's own enter look up the address of the counters. */
void counting::begin(gimple_stmt_iterator *place)
{
    tree found = make_ssa_name(TREE_TYPE(counters));
    tree own_height = crn_marker_height(gsi_stmt(*place));
    gsi_replace(place, crn_marker_counted(gsi_stmt(*place), made, found), false);
    gsi_insert_after(place, gimple_build_assign(height, own_height), GSI_NEW_STMT);
    gsi_insert_after(place, gimple_build_assign(counters, found), GSI_NEW_STMT);
}

/* Makes the node current before a call. Returns the caller, which the leave after the call makes
 * current again. */
tree counting::go(gimple_stmt_iterator *place, int which)
{
    tree caller = make_ssa_name(long_long_integer_type_node);
    gsi_insert_before(place, crn_emit_go(made, counters, uses[which].number, caller),
                      GSI_SAME_STMT);
    return caller;
}

/* Makes the node current before a call, and leaves it after the call. If the call before this
 * one was made in the same node, and nothing in between needs another context, the node stays
 * current. */
void counting::surround(gimple_stmt_iterator place, int which)
{
    gcall *call = as_a<gcall *>(gsi_stmt(place));
    bool is_current = last.leave && last.which == which;
    if (is_current)
        take_back_leave();
    tree caller = is_current ? last.caller : go(&place, which);
    gimple *leave =
        crn_marker_make(CRN_MARKER_LEAVE, places[which].site, caller, gimple_location(call));
    last = {};
    if (!stmt_ends_bb_p(call)) {
        gsi_insert_after(&place, leave, GSI_SAME_STMT);
        last = {leave, caller, which};
        return;
    }
    edge on = find_fallthru_edge(gimple_bb(call)->succs);
    if (on)
        gsi_insert_on_edge(on, leave);
}

void counting::take_back_leave()
{
    gimple_stmt_iterator place = gsi_for_stmt(last.leave);
    gsi_remove(&place, true);
}

/* Removes or replaces a marker. `now`, `next`: indices of the innermost inlined functions before
 * and after it. `*jumps` is true between the first and the last marker of a tail call. */
void counting::change_marker(gimple_stmt_iterator *place, int now, int next, bool *jumps)
{
    gimple *marker = gsi_stmt(*place);
    switch (crn_marker_of(marker)) {
    case CRN_MARKER_ENTER:
        if (next)
            count(place, next);
        else
            begin(place);
        break;
    case CRN_MARKER_RESTORE:
        last = {};
        if (next)
            gsi_replace(place,
                        crn_marker_make(CRN_MARKER_RESTORE, own, height, gimple_location(marker)),
                        false);
        break;
    case CRN_MARKER_TAIL: /* a call may have several: the innermost function's is the first */
        if (now && !*jumps)
            go(place, now);
        *jumps = now;
        /* fall through */
    default:
        if (!now) {
            if (last.leave && crn_marker_of(marker) == CRN_MARKER_LEAVE)
                take_back_leave(); /* this leave sets the current context anyway */
            last = {};
            break;
        }
        gsi_remove(place, true);
        return;
    }
    gsi_next(place);
}

void counting::change(basic_block block)
{
    int now = places.at(block);
    bool jumps = false;
    last = {};
    for (gimple_stmt_iterator i = gsi_start_bb(block);
         now != crn_places::UNKNOWN && !gsi_end_p(i);) {
        gimple *statement = gsi_stmt(i);
        if (crn_marker_of(statement) != CRN_MARKER_NONE) {
            int next = places.step(now, statement);
            change_marker(&i, now, next, &jumps);
            now = next;
            continue;
        }
        gimple_stmt_iterator place = i;
        gsi_next(&i); /* advances before anything is inserted behind the statement */
        if (!ends_stretch(statement))
            continue;
        if (is_gimple_call(statement) && now > 0)
            surround(place, now);
        else
            last = {};
    }
}

void counting::change()
{
    number();
    if (made_nodes.length() > NODES_MOST)
        return;
    take_calls();
    crn_share_counters(stretches, &made_nodes);
    made = crn_tree_make(made_nodes);
    counters = create_tmp_reg(ptr_type_node, "cairn_counters");
    height = create_tmp_reg(long_long_integer_type_node, "cairn_height");
    auto_vec<basic_block> blocks;
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    blocks.safe_push(block);
    for (basic_block each : blocks)
        change(each);
    for (gimple *each : dead)
        if (has_zero_uses(gimple_assign_lhs(each))) {
            gimple_stmt_iterator place = gsi_for_stmt(each);
            gsi_remove(&place, true);
            release_defs(each);
        }
    gsi_commit_edge_inserts();
}

/* Returns the site of the function's own enter, which no branch precedes. NULL if there is none. */
tree own_site(function *function)
{
    if (!crn_is_entered(function->decl))
        return NULL_TREE;
    basic_block block = single_succ(ENTRY_BLOCK_PTR_FOR_FN(function));
    for (;;) {
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
            if (crn_marker_of(gsi_stmt(i)) == CRN_MARKER_ENTER)
                return crn_marker_site(gsi_stmt(i));
        if (!single_succ_p(block) || single_succ(block) == EXIT_BLOCK_PTR_FOR_FN(function))
            return NULL_TREE;
        block = single_succ(block);
    }
}

/* Returns true if the function calls Cairn, as scopes and spans do. The context of an open scope or
 * span is below that of the inlined function, which must therefore be entered. */
bool has_scopes(function *function)
{
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
        gcall *call = dyn_cast<gcall *>(gsi_stmt(i));
        if (call && crn_is_of_cairn(call))
            return true;
    }
    return false;
}

} // namespace

void crn_tree_count(function *function)
{
    if (crn_chosen.frames || crn_chosen.small || crn_by_calls() || has_scopes(function))
        return;
    tree own = own_site(function);
    if (!own)
        return;
    crn_places places(own);
    if (places.find())
        counting(own, places).change();
}
