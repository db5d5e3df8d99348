/* SPDX-License-Identifier: MIT
 *
 * What is inlined need not be entered where it calls nothing: its calls are a counter, one
 * instruction, and nobody can tell the difference. So in a function with a frame of its own the
 * frames of all that was inlined go. Where a call is made, all that it is inlined into is entered
 * at once, just before, and left behind it.
 *
 * At each place it is known what the function is in by then: a node of the tree of what was inlined
 * into what, the same on all ways to the place. Where that is not so, frames stay.
 */
#include "plugin.h"

#include "cfganal.h"

namespace {

enum state { UNKNOWN = -1, OUTSIDE = -2, FAILED = -3 }; /* else a node; 0: the function itself */
enum { DEPTH_MOST = 1000, NODES_MOST = 4096, ROUNDS_MOST = 100 };

struct node {
    tree site;
    int above, depth;
    int first, next; /* what is inlined into it: a list; -1: none */
    int number;      /* in the end; 0: it is not needed */
    int stretch;     /* where it was called last: an index; -1: nowhere */
};

class counting {
  public:
    explicit counting(tree own);
    ~counting();
    bool find();
    void change();

  private:
    tree own; /* site */
    auto_vec<node> nodes;
    auto_vec<int> heights; /* by SSA name: whose; -1 */
    int *before;           /* by block: where it begins in */
    auto_vec<gimple *> dead;
    auto_vec<crn_tree_node> made_nodes;
    auto_vec<crn_stretch> stretches;
    hash_map<gimple *, unsigned> calls; /* the first in its stretch: its index */
    tree made, counters, height;
    struct {
        gimple *leave;
        tree ran;
        int which;
    } last = {}; /* call in the same block that was surrounded, if its node might as well run on */

    int child(int above, tree site);
    int of_height(tree height, int left);
    int meet(int one, int other);
    int enter(int now, gimple *mark);
    int leave(int now, gimple *mark);
    int step(int now, gimple *statement);
    int pass(basic_block block);
    bool round(const int *order, int count);
    bool is_whole(const int *order, int count);

    void use(int which);
    void number();
    void take_call(gimple *enter, int which, unsigned stretch);
    void take_calls();
    void count(gimple_stmt_iterator *place, int which);
    void begin(gimple_stmt_iterator *place);
    tree go(gimple_stmt_iterator *place, int which);
    void surround(gimple_stmt_iterator place, int which);
    void take_back_leave();
    void change(basic_block block);
    void change_mark(gimple_stmt_iterator *place, int now, int next, bool *jumps);
};

counting::counting(tree own)
    : own(own), before(XNEWVEC(int, last_basic_block_for_fn(cfun))), made(NULL_TREE),
      counters(NULL_TREE), height(NULL_TREE)
{
    nodes.safe_push({own, 0, 0, -1, -1, 0, -1});
    heights.safe_grow(num_ssa_names);
    for (int &each : heights)
        each = UNKNOWN;
    for (int i = 0; i < last_basic_block_for_fn(cfun); i++)
        before[i] = UNKNOWN;
}

counting::~counting()
{
    XDELETEVEC(before);
}

/* ---- what each place is in ---- */

int counting::child(int above, tree site)
{
    for (int i = nodes[above].first; i >= 0; i = nodes[i].next)
        if (nodes[i].site == site)
            return i;
    if (nodes.length() >= 4 * NODES_MOST || nodes[above].depth >= DEPTH_MOST)
        return FAILED;
    int made = nodes.length();
    nodes.safe_push({site, above, nodes[above].depth + 1, -1, nodes[above].first, 0, -1});
    nodes[above].first = made;
    return made;
}

int counting::of_height(tree height, int left)
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

/* What ends in the same way may have been made one, whatever it was inlined into: then that is not
 * known any more. */
int counting::meet(int one, int other)
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

int counting::enter(int now, gimple *mark)
{
    tree site = crn_mark_site(mark);
    int entered = now == OUTSIDE ? site == own ? 0 : (int)FAILED : child(now, site);
    heights[SSA_NAME_VERSION(crn_mark_height(mark))] = entered;
    return entered;
}

int counting::leave(int now, gimple *mark)
{
    if (now == OUTSIDE || nodes[now].site != crn_mark_site(mark))
        return FAILED;
    return now ? nodes[now].above : (int)OUTSIDE;
}

int counting::step(int now, gimple *statement)
{
    if (now == FAILED || now == UNKNOWN)
        return now;
    switch (crn_mark_of(statement)) {
    case CRN_MARK_NONE:
        return now;
    case CRN_MARK_ENTER:
        return enter(now, statement);
    case CRN_MARK_LEAVE:
    case CRN_MARK_TAIL:
        return leave(now, statement);
    case CRN_MARK_RESTORE:
        return of_height(crn_mark_height(statement), 8);
    default:
        return FAILED;
    }
}

/* From the block's beginning to its end. */
int counting::pass(basic_block block)
{
    int now = before[block->index];
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        now = step(now, gsi_stmt(i));
    return now;
}

/* Whether anything was learned. */
bool counting::round(const int *order, int count)
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

/* Where a height is not that of what the place is in, or not known, frames are needed. */
bool counting::is_whole(const int *order, int count)
{
    for (int i = 0; i < count; i++) {
        basic_block block = BASIC_BLOCK_FOR_FN(cfun, order[i]);
        int now = before[block->index];
        bool jumps = false;
        for (gimple_stmt_iterator s = gsi_start_bb(block); !gsi_end_p(s); gsi_next(&s)) {
            int next = step(now, gsi_stmt(s));
            if (next == FAILED || (next == UNKNOWN && now != UNKNOWN))
                return false;
            crn_mark mark = crn_mark_of(gsi_stmt(s));
            if (mark == CRN_MARK_TAIL)
                jumps = now > 0; /* the function's own follows in the same block */
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

bool counting::find()
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

/* ---- what becomes of it ---- */

/* What is known to call nothing of the program's. */
bool calls_nobody(gcall *call)
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

void counting::use(int which)
{
    for (; which > 0 && !nodes[which].number; which = nodes[which].above)
        nodes[which].number = 1;
}

/* Those that were only thought of on the way get no number. */
void counting::number()
{
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    {
        int now = before[block->index];
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
            now = step(now, gsi_stmt(i));
            if (now > 0)
                use(now);
        }
    }
    for (unsigned i = 1; i < nodes.length(); i++) {
        if (!nodes[i].number)
            continue;
        made_nodes.safe_push({nodes[i].site, (unsigned)nodes[nodes[i].above].number, 0});
        nodes[i].number = made_nodes.length();
    }
}

void counting::take_call(gimple *enter, int which, unsigned stretch)
{
    node &called = nodes[which];
    if (called.stretch >= 0 && stretches[called.stretch].number == stretch) {
        stretches[called.stretch].times++;
        return;
    }
    called.stretch = stretches.length();
    calls.put(enter, called.stretch);
    stretches.safe_push({(unsigned)called.number, stretch, 1});
}

/* What is called may not come back. */
bool ends_stretch(gimple *statement)
{
    gcall *call = dyn_cast<gcall *>(statement);
    return call ? !calls_nobody(call)
                : is_a<gasm *>(statement) && crn_mark_of(statement) == CRN_MARK_NONE;
}

void counting::take_calls()
{
    unsigned stretch = 0;
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    {
        int now = before[block->index];
        stretch++;
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
            now = step(now, gsi_stmt(i));
            if (now > 0 && crn_mark_of(gsi_stmt(i)) == CRN_MARK_ENTER)
                take_call(gsi_stmt(i), now, stretch);
            stretch += ends_stretch(gsi_stmt(i));
        }
    }
}

void counting::count(gimple_stmt_iterator *place, int which)
{
    gimple *enter = gsi_stmt(*place);
    tree unused = crn_mark_height(enter);
    gimple *nothing = gimple_build_assign(unused, build_zero_cst(TREE_TYPE(unused)));
    unsigned number = nodes[which].number;
    const unsigned *call = made_nodes[number - 1].same ? NULL : calls.get(enter);
    if (call)
        gsi_insert_before(place, crn_emit_count(counters, number, stretches[*call].times),
                          GSI_SAME_STMT);
    gsi_replace(place, nothing, false);
    dead.safe_push(nothing);
}

/* At the function's own Enter. */
void counting::begin(gimple_stmt_iterator *place)
{
    tree found = make_ssa_name(TREE_TYPE(counters));
    tree own_height = crn_mark_height(gsi_stmt(*place));
    gsi_replace(place, crn_mark_counted(gsi_stmt(*place), made, found), false);
    gsi_insert_after(place, gimple_build_assign(height, own_height), GSI_NEW_STMT);
    gsi_insert_after(place, gimple_build_assign(counters, found), GSI_NEW_STMT);
}

/* From here on what runs is the node. Gives what ran, for the Leave behind the call. */
tree counting::go(gimple_stmt_iterator *place, int which)
{
    tree ran = make_ssa_name(long_long_integer_type_node);
    gsi_insert_before(place, crn_emit_go(made, counters, nodes[which].number, ran), GSI_SAME_STMT);
    return ran;
}

/* The node that ran in the call before still does, if nothing between them has to know better. */
void counting::surround(gimple_stmt_iterator place, int which)
{
    gcall *call = as_a<gcall *>(gsi_stmt(place));
    bool runs = last.leave && last.which == which;
    if (runs)
        take_back_leave();
    tree ran = runs ? last.ran : go(&place, which);
    gimple *leave = crn_mark_make(CRN_MARK_LEAVE, nodes[which].site, ran, gimple_location(call));
    last = {};
    if (!stmt_ends_bb_p(call)) {
        gsi_insert_after(&place, leave, GSI_SAME_STMT);
        last = {leave, ran, which};
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

void counting::change_mark(gimple_stmt_iterator *place, int now, int next, bool *jumps)
{
    gimple *mark = gsi_stmt(*place);
    switch (crn_mark_of(mark)) {
    case CRN_MARK_ENTER:
        if (next)
            count(place, next);
        else
            begin(place);
        break;
    case CRN_MARK_RESTORE:
        last = {};
        if (next)
            gsi_replace(place, crn_mark_make(CRN_MARK_RESTORE, own, height, gimple_location(mark)),
                        false);
        break;
    case CRN_MARK_TAIL: /* the first of several tells what the call takes the place of */
        if (now && !*jumps)
            go(place, now);
        *jumps = now;
        /* fall through */
    default:
        if (!now) {
            if (last.leave && crn_mark_of(mark) == CRN_MARK_LEAVE)
                take_back_leave(); /* what runs from here on is told anyway */
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
    int now = before[block->index];
    bool jumps = false;
    last = {};
    for (gimple_stmt_iterator i = gsi_start_bb(block); now != UNKNOWN && !gsi_end_p(i);) {
        gimple *statement = gsi_stmt(i);
        if (crn_mark_of(statement) != CRN_MARK_NONE) {
            int next = step(now, statement);
            change_mark(&i, now, next, &jumps);
            now = next;
            continue;
        }
        gimple_stmt_iterator place = i;
        gsi_next(&i); /* not what is put behind the call */
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
    crn_find_alike(stretches, &made_nodes);
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

/* The site of the function's own frame, if something else is entered, too. */
tree own_site(function *function)
{
    bool others = false;
    tree own = NULL_TREE;
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        others |= crn_mark_of(gsi_stmt(i)) == CRN_MARK_ENTER;
    if (!others || !crn_is_entered(function->decl))
        return NULL_TREE;
    block = single_succ(ENTRY_BLOCK_PTR_FOR_FN(function));
    for (;;) {
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
            if (crn_mark_of(gsi_stmt(i)) == CRN_MARK_ENTER)
                return crn_mark_site(gsi_stmt(i));
        if (!single_succ_p(block) || single_succ(block) == EXIT_BLOCK_PTR_FOR_FN(function))
            return own;
        block = single_succ(block);
    }
}

/* What is called in a scope that is marked by hand is called there, inlined or not, and where the
 * scope itself is inlined it is open until its end. */
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
    counting counting(own);
    if (counting.find())
        counting.change();
}
