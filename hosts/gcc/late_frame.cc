/* SPDX-License-Identifier: MIT
 *
 * Late frames: pushed before the first call in place of at enter. Many functions have paths that
 * call nothing (the result is cached, there is nothing to do); on those they cost as little as
 * leaf functions.
 *
 * Until it is pushed, the frame is only what enter returned, as in count-only leaf functions. Where
 * paths with and without a pushed frame meet, a variable has its height, or 0.
 */
#include "plugin.h"

#include "sreal.h"

namespace {

/* Possible states of the frame at a point. */
enum { GONE = 1, LATE = 2, PUSHED = 4 };

/* The only frame of a function. */
class frame {
  public:
    explicit frame(function *of) : of(of)
    {
    }
    bool is_one();
    bool flow();
    bool goes_round();
    bool is_worth_it();
    void expand();
    tree is() const
    {
        return node_offset;
    }

  private:
    function *of;
    tree node_offset = NULL_TREE, strand = NULL_TREE, height = NULL_TREE;
    auto_vec<unsigned> known; /* by block: possible states at its begin */
    auto_vec<basic_block> work;
    bool odd = false;

    bool look(gimple *statement);
    unsigned step(unsigned now, gimple *statement);
    unsigned through(basic_block block);
    bool goes_round(basic_block block, auto_bitmap &on, auto_bitmap &over);
    void spread(basic_block block, unsigned now);
    double pushes(basic_block block);
    void expand_block(basic_block block);
    void expand_mark(gimple_stmt_iterator *place, unsigned now);
    void push(gimple_stmt_iterator *place, unsigned now);
    tree height_now(gimple_stmt_iterator *place);
};

/* Returns true for statements during which others may look at the stack or push. */
bool wants_frame(gimple *statement)
{
    return crn_mark_of(statement) == CRN_MARK_NONE && !crn_is_quiet(statement) &&
           !(is_gimple_call(statement) && gimple_call_tail_p(as_a<gcall *>(statement)));
}

/* Returns false if the frame cannot be late. */
bool frame::look(gimple *statement)
{
    crn_mark mark = crn_mark_of(statement);
    if (mark == CRN_MARK_NONE)
        return !is_a<gasm *>(statement);
    if (mark == CRN_MARK_ENTER && !node_offset && !crn_mark_counters(statement))
        node_offset = crn_mark_height(statement);
    else if (mark != CRN_MARK_LEAVE && mark != CRN_MARK_TAIL)
        return false;
    return true;
}

bool frame::is_one()
{
    if (of->can_throw_non_call_exceptions || of->has_nonlocal_label || of->calls_setjmp)
        return false;
    basic_block block;
    FOR_EACH_BB_FN(block, of)
    {
        if (bb_has_eh_pred(block))
            return false;
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
            if (!look(gsi_stmt(i)))
                return false;
    }
    FOR_EACH_BB_FN(block, of)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        if (crn_mark_of(gsi_stmt(i)) != CRN_MARK_NONE &&
            crn_mark_height(gsi_stmt(i)) != node_offset)
            return false;
    return node_offset != NULL_TREE;
}

/* ---- where to push ---- */

/* Returns the states after a statement. The frame must be there where it is left, and not where it
 * is entered. */
unsigned frame::step(unsigned now, gimple *statement)
{
    switch (crn_mark_of(statement)) {
    case CRN_MARK_ENTER:
        odd |= now != GONE;
        return LATE;
    case CRN_MARK_LEAVE:
    case CRN_MARK_TAIL:
        odd |= (now & GONE) != 0;
        return GONE;
    default:
        if (now == GONE || !wants_frame(statement))
            return now;
        odd |= (now & GONE) != 0;
        return PUSHED;
    }
}

/* The same for a block. */
unsigned frame::through(basic_block block)
{
    unsigned now = known[block->index];
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        if (!is_gimple_debug(gsi_stmt(i)))
            now = step(now, gsi_stmt(i));
    return now;
}

void frame::spread(basic_block block, unsigned now)
{
    edge out;
    edge_iterator edges;
    FOR_EACH_EDGE(out, edges, block->succs)
    {
        odd |= out->flags & EDGE_EH;
        unsigned &there = known[out->dest->index];
        if ((there | now) != there)
            work.safe_push(out->dest);
        there |= now;
    }
}

bool frame::flow()
{
    known.safe_grow_cleared(last_basic_block_for_fn(of), true);
    spread(ENTRY_BLOCK_PTR_FOR_FN(of), GONE);
    while (!work.is_empty() && !odd) {
        basic_block block = work.pop();
        if (block == EXIT_BLOCK_PTR_FOR_FN(of))
            continue;
        spread(block, through(block));
    }
    return !odd;
}

/* Returns true if there is a loop on which the frame is not pushed. */
bool frame::goes_round(basic_block block, auto_bitmap &on, auto_bitmap &over)
{
    if (block == EXIT_BLOCK_PTR_FOR_FN(of) || bitmap_bit_p(over, block->index))
        return false;
    if (!bitmap_set_bit(on, block->index))
        return true;
    edge out;
    edge_iterator edges;
    if (through(block) & LATE)
        FOR_EACH_EDGE(out, edges, block->succs)
    if (goes_round(out->dest, on, over))
        return true;
    bitmap_clear_bit(on, block->index);
    bitmap_set_bit(over, block->index);
    return false;
}

bool frame::goes_round()
{
    auto_bitmap on, over;
    return goes_round(single_succ(ENTRY_BLOCK_PTR_FOR_FN(of)), on, over);
}

/* Estimates how often the frame is pushed in the block per execution. */
double frame::pushes(basic_block block)
{
    unsigned now = known[block->index];
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
        unsigned before = now;
        if (!is_gimple_debug(gsi_stmt(i)))
            now = step(now, gsi_stmt(i));
        if (before & LATE && now == PUSHED)
            return block->count.to_sreal_scale(ENTRY_BLOCK_PTR_FOR_FN(of)->count).to_double();
    }
    return 0;
}

/* Returns false if every path leads to a call. */
bool frame::is_worth_it()
{
    static const double MOST = 0.97;
    double often = 0;
    basic_block block;
    FOR_EACH_BB_FN(block, of)
    if (known[block->index])
        often += pushes(block);
    return often < MOST;
}

/* ---- code ---- */

void put(gimple_stmt_iterator *place, gimple *statement)
{
    gsi_insert_before(place, statement, GSI_SAME_STMT);
}

tree frame::height_now(gimple_stmt_iterator *place)
{
    tree now = make_ssa_name(TREE_TYPE(height));
    put(place, gimple_build_assign(now, height));
    return now;
}

void frame::push(gimple_stmt_iterator *place, unsigned now)
{
    tree before = now & PUSHED ? height_now(place) : NULL_TREE;
    tree made = make_ssa_name(TREE_TYPE(height));
    put(place, crn_emit_push(made, before, node_offset, strand));
    put(place, gimple_build_assign(height, made));
}

void frame::expand_mark(gimple_stmt_iterator *place, unsigned now)
{
    gimple *mark = gsi_stmt(*place);
    crn_mark which = crn_mark_of(mark);
    tree site = crn_mark_site(mark), pushed = now & PUSHED ? height_now(place) : NULL_TREE;
    if (which == CRN_MARK_ENTER) {
        put(place, gimple_build_assign(height, build_zero_cst(TREE_TYPE(height))));
        gsi_replace(place, crn_emit_enter_late(site, node_offset, strand), false);
    } else if (!(now & LATE)) {
        gsi_replace(place,
                    which == CRN_MARK_TAIL ? crn_emit_tail(pushed) : crn_emit_leave(pushed, site),
                    false);
    } else {
        gsi_replace(place,
                    which == CRN_MARK_TAIL ? crn_emit_tail_count_only(pushed, node_offset, strand)
                                           : crn_emit_leave_count_only(pushed, node_offset, strand),
                    false);
    }
}

void frame::expand_block(basic_block block)
{
    unsigned now = known[block->index];
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
        gimple *statement = gsi_stmt(i);
        if (is_gimple_debug(statement))
            continue;
        unsigned before = now;
        now = step(now, statement);
        if (crn_mark_of(statement) != CRN_MARK_NONE)
            expand_mark(&i, before);
        else if (before & LATE && now == PUSHED)
            push(&i, before);
    }
}

void frame::expand()
{
    strand = make_ssa_name(long_long_integer_type_node);
    height = create_tmp_reg(long_long_integer_type_node, "cairn_height");
    basic_block block;
    FOR_EACH_BB_FN(block, of)
    if (known[block->index])
        expand_block(block);
}

} // namespace

bool crn_late_expand(function *function)
{
    if (crn_by_calls() || !optimize)
        return false;
    frame own(function);
    if (!own.is_one() || crn_leaf_strand(own.is()) || !own.flow() || own.goes_round() ||
        !own.is_worth_it())
        return false;
    own.expand();
    return true;
}
