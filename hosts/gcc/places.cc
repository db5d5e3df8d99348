/* SPDX-License-Identifier: MIT
 *
 * See places.h.
 */
#include "places.h"

#include "cfganal.h"

enum { DEPTH_MOST = 1000, NODES_MOST = 16384, ROUNDS_MOST = 100 };

crn_places::crn_places(tree own) : own(own), before(XNEWVEC(int, last_basic_block_for_fn(cfun)))
{
    nodes.safe_push({own, 0, 0, -1, -1});
    heights.safe_grow(num_ssa_names);
    for (int &each : heights)
        each = UNKNOWN;
    for (int i = 0; i < last_basic_block_for_fn(cfun); i++)
        before[i] = UNKNOWN;
}

crn_places::~crn_places()
{
    XDELETEVEC(before);
}

/* Returns the node of the function that is inlined into `above`, and makes it if it is new. FAILED
 * if there would be too many. */
int crn_places::child(int above, tree site)
{
    for (int i = nodes[above].first; i >= 0; i = nodes[i].next)
        if (nodes[i].site == site)
            return i;
    if (nodes.length() >= NODES_MOST || nodes[above].depth >= DEPTH_MOST)
        return FAILED;
    int made = nodes.length();
    nodes.safe_push({site, above, nodes[above].depth + 1, -1, nodes[above].first});
    nodes[above].first = made;
    return made;
}

/* Returns the node whose frame has that height, which may be a PHI of others: nested at most `left`
 * deep. */
int crn_places::of_height(tree height, int left)
{
    if (TREE_CODE(height) != SSA_NAME || left == 0)
        return UNKNOWN;
    gphi *join = dyn_cast<gphi *>(SSA_NAME_DEF_STMT(height));
    if (!join)
        return heights[SSA_NAME_VERSION(height)];
    int all = UNKNOWN;
    for (unsigned i = 0; i < gimple_phi_num_args(join); i++) {
        int one = of_height(gimple_phi_arg_def(join, i), left - 1);
        if (one != UNKNOWN && all != UNKNOWN && one != all)
            return FAILED;
        all = one == UNKNOWN ? all : one;
    }
    return all;
}

/* Returns the node of a point where two paths meet. GCC may merge equal ends of different inlined
 * functions; the node is then their nearest common ancestor. */
int crn_places::meet(int one, int other)
{
    if (one == UNKNOWN || one == other)
        return other;
    if (other == UNKNOWN)
        return one;
    if (one < 0 || other < 0)
        return FAILED;
    while (one != other) {
        int *deeper = nodes[one].depth >= nodes[other].depth ? &one : &other;
        *deeper = nodes[*deeper].above;
    }
    return one;
}

int crn_places::enter(int now, gimple *marker)
{
    tree site = crn_marker_site(marker);
    int entered = now == OUTSIDE ? site == own ? 0 : (int)FAILED : child(now, site);
    heights[SSA_NAME_VERSION(crn_marker_height(marker))] = entered;
    return entered;
}

int crn_places::leave(int now, gimple *marker)
{
    if (now == OUTSIDE || nodes[now].site != crn_marker_site(marker))
        return FAILED;
    return now ? nodes[now].above : (int)OUTSIDE;
}

int crn_places::step(int now, gimple *statement)
{
    if (now == FAILED || now == UNKNOWN)
        return now;
    switch (crn_marker_of(statement)) {
    case CRN_MARKER_NONE:
        return now;
    case CRN_MARKER_ENTER:
        return enter(now, statement);
    case CRN_MARKER_LEAVE:
    case CRN_MARKER_TAIL:
        return leave(now, statement);
    case CRN_MARKER_RESTORE:
        return of_height(crn_marker_height(statement), 8);
    default:
        return FAILED;
    }
}

/* Returns the node at the end of a basic block. */
int crn_places::pass(basic_block block)
{
    int now = before[block->index];
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        now = step(now, gsi_stmt(i));
    return now;
}

/* Propagates nodes along each edge once. Returns true if anything changed. */
bool crn_places::round(const int *order, int count)
{
    bool learned = false;
    for (int i = 0; i < count; i++) {
        basic_block block = BASIC_BLOCK_FOR_FN(cfun, order[i]);
        int now = pass(block);
        edge out;
        edge_iterator edges;
        FOR_EACH_EDGE(out, edges, block->succs)
        {
            if (out->dest == EXIT_BLOCK_PTR_FOR_FN(cfun) || now == UNKNOWN)
                continue;
            int &there = before[out->dest->index];
            int met = there == FAILED || now == FAILED ? (int)FAILED : meet(there, now);
            learned |= met != there;
            there = met;
        }
    }
    return learned;
}

/* Returns true if counters can replace frames: the node is known at each point and matches the
 * heights; no inlined function calls one that returns twice; and a tail call in an inlined function
 * is one of the function itself, too. */
bool crn_places::is_whole(const int *order, int count)
{
    for (int i = 0; i < count; i++) {
        basic_block block = BASIC_BLOCK_FOR_FN(cfun, order[i]);
        int now = before[block->index];
        bool jumps = false;
        for (gimple_stmt_iterator s = gsi_start_bb(block); !gsi_end_p(s); gsi_next(&s)) {
            int next = step(now, gsi_stmt(s));
            if (next == FAILED || (next == UNKNOWN && now != UNKNOWN))
                return false;
            crn_marker marker = crn_marker_of(gsi_stmt(s));
            if (marker == CRN_MARKER_TAIL)
                jumps = now > 0; /* the function's own marker follows in the same basic block */
            gcall *call = dyn_cast<gcall *>(gsi_stmt(s));
            if (now > 0 && call && gimple_call_flags(call) & ECF_RETURNS_TWICE)
                return false;
            now = next;
        }
        if (jumps)
            return false;
    }
    return true;
}

bool crn_places::find()
{
    auto_vec<int> order;
    order.safe_grow(n_basic_blocks_for_fn(cfun));
    int count = pre_and_rev_post_order_compute_fn(cfun, NULL, order.address(), false);
    before[single_succ(ENTRY_BLOCK_PTR_FOR_FN(cfun))->index] = OUTSIDE;
    int rounds = 0;
    while (round(order.address(), count))
        if (++rounds == ROUNDS_MOST)
            return false;
    return nodes.length() > 1 && is_whole(order.address(), count);
}
