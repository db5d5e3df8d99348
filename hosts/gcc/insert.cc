/* SPDX-License-Identifier: MIT
 *
 * Inserts enter and leave into each function that is still called after inlining; with --inlined,
 * into each function of the source before inlining.
 *
 * Before a call in tail position the frame is left, so that the call stays a jump. The call and its
 * return may be in different basic blocks, and other paths may lead to that return. The basic
 * blocks after such a call, up to the return, are its *tails*. The function has no frame there, so
 * each other path that leads into them leaves its frame on the edge.
 */
#include "plugin.h"

/* Returns true for calls during which the function must stay on the strand's stack: calls of Cairn,
 * which open and close scopes of the function, and calls that allocate or free, if those are
 * charged to functions. */
bool crn_must_stay(gcall *call)
{
    tree callee = gimple_call_fndecl(call);
    if (crn_is_of_cairn(call))
        return true;
    if (!crn_chosen.alloc || !callee)
        return false;
    if (gimple_call_flags(call) & ECF_MALLOC || DECL_IS_OPERATOR_NEW_P(callee) ||
        DECL_IS_OPERATOR_DELETE_P(callee))
        return true;
    return gimple_call_builtin_p(call, BUILT_IN_REALLOC) ||
           gimple_call_builtin_p(call, BUILT_IN_FREE) ||
           gimple_call_builtin_p(call, BUILT_IN_POSIX_MEMALIGN);
}

bool crn_arrives_without_return(basic_block block)
{
    if (bb_has_eh_pred(block))
        return true;
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
        glabel *label = dyn_cast<glabel *>(gsi_stmt(i));
        if (!label)
            return gimple_call_builtin_p(gsi_stmt(i), BUILT_IN_SETJMP_RECEIVER);
        if (DECL_NONLOCAL(gimple_label_label(label)))
            return true;
    }
    return false;
}

namespace {

typedef auto_vec<gcall *> call_list;

/* Adds the tails of a call: the basic blocks after its own, up to the return. Returns false if the
 * path to the return branches. */
bool tails_of(const gcall *call, auto_bitmap &tails)
{
    basic_block block = gimple_bb(call);
    while (!safe_dyn_cast<greturn *>(last_stmt(block))) {
        if (!single_succ_p(block) || single_succ_edge(block)->flags & EDGE_COMPLEX)
            return false;
        block = single_succ(block);
        if (block == EXIT_BLOCK_PTR_FOR_FN(cfun) || !bitmap_set_bit(tails, block->index))
            break;
    }
    return true;
}

bool ends_in_tail_call(basic_block block, const call_list &calls)
{
    for (gcall *call : calls)
        if (gimple_bb(call) == block)
            return true;
    return false;
}

/* Returns true if an edge into the call's tails cannot take a leave, or if the path to the return
 * branches. */
bool tails_are_closed(const gcall *call, const call_list &calls)
{
    auto_bitmap tails;
    if (!tails_of(call, tails))
        return true;
    unsigned index;
    bitmap_iterator iterator;
    EXECUTE_IF_SET_IN_BITMAP(tails, 0, index, iterator)
    {
        edge into;
        edge_iterator edges;
        FOR_EACH_EDGE(into, edges, BASIC_BLOCK_FOR_FN(cfun, index)->preds)
        if (into->flags & EDGE_COMPLEX && !ends_in_tail_call(into->src, calls))
            return true;
    }
    return false;
}

/* Finds the tail calls before which the frame can be left, and tells GCC that all other calls are
 * no tail calls. After one of the others the function has its frame, which may rule out calls found
 * before: so the search begins again. */
void find_tail_calls(call_list &calls)
{
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
        gcall *call = dyn_cast<gcall *>(gsi_stmt(i));
        if (call && gimple_call_tail_p(call))
            calls.safe_push(call);
    }
    for (unsigned i = 0; i < calls.length();) {
        if (crn_must_stay(calls[i]) || tails_are_closed(calls[i], calls)) {
            gimple_call_set_tail(calls[i], false);
            calls.unordered_remove(i);
            i = 0;
        } else {
            i++;
        }
    }
}

/* Returns true if a test of the checker wants a marker of that kind to be omitted, or inserted
 * twice. */
bool is_broken(const char *what)
{
    return crn_chosen.broken && strcmp(crn_chosen.broken, what) == 0;
}

void put_before(gimple_stmt_iterator place, gimple *statement, const char *what)
{
    if (!is_broken(what))
        gsi_insert_before(&place, statement, GSI_SAME_STMT);
}

/* Inserts what `make` makes before a call that returns twice (setjmp), on paths that do not come
 * from a jump. It must run before the call, because a signal handler may jump as soon as setjmp has
 * stored the registers, before setjmp returns. */
template <typename maker> void put_before_setjmp(gimple_stmt_iterator place, maker make)
{
    basic_block block = gsi_bb(place);
    if (gsi_stmt(place) != first_stmt(block)) {
        gsi_insert_before(&place, make(), GSI_SAME_STMT);
        return;
    }
    edge into;
    edge_iterator edges;
    FOR_EACH_EDGE(into, edges, block->preds)
    if (!(into->flags & EDGE_COMPLEX))
        gsi_insert_on_edge(into, make());
}

/* Inserts a statement after a call that returns twice. Both returns reach it. */
void put_after_setjmp(gimple_stmt_iterator place, gimple *statement)
{
    if (!stmt_ends_bb_p(gsi_stmt(place))) {
        gsi_insert_after(&place, statement, GSI_SAME_STMT);
        return;
    }
    edge on = find_fallthru_edge(gsi_bb(place)->succs);
    if (on)
        gsi_insert_on_edge(on, statement);
}

template <typename before_maker, typename after_maker>
void put_around_setjmp(basic_block block, before_maker before, after_maker after)
{
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
        gcall *call = dyn_cast<gcall *>(gsi_stmt(i));
        if (!call || !(gimple_call_flags(call) & ECF_RETURNS_TWICE))
            continue;
        put_before_setjmp(i, before);
        put_after_setjmp(i, after());
    }
}

class insertion {
  public:
    explicit insertion(tree function)
        : site(crn_site_of(function)), height(make_ssa_name(long_long_integer_type_node)),
          place(DECL_SOURCE_LOCATION(function))
    {
    }
    void all();

  private:
    tree site, height;
    location_t place;
    call_list calls;
    auto_bitmap tails;

    gimple *marker(crn_marker marker)
    {
        return crn_marker_make(marker, site, height, place);
    }
    gimple *leave_at(const gimple *statement)
    {
        location_t here = gimple_location(statement);
        return crn_marker_make(CRN_MARKER_LEAVE, site, height,
                               here == UNKNOWN_LOCATION ? cfun->function_end_locus : here);
    }
    void enter();
    void leave_by_calls();
    void leave_into_tails();
    void leave_by_returns();
    void restore_block(basic_block block);
    void restore();
};

void insertion::enter()
{
    edge first = single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun));
    gimple *made = is_broken("enter")
                       ? gimple_build_assign(height, build_zero_cst(TREE_TYPE(height)))
                       : marker(CRN_MARKER_ENTER);
    gsi_insert_on_edge(first, made);
    if (cfun->has_nonlocal_label)
        gsi_insert_on_edge(first, marker(CRN_MARKER_RESTORE));
    gsi_commit_edge_inserts();
}

void insertion::leave_by_calls()
{
    for (gcall *call : calls) {
        tails_of(call, tails);
        tree callee = gimple_call_fndecl(call);
        gimple *before =
            callee && crn_is_known_profiled(callee) ? marker(CRN_MARKER_TAIL) : leave_at(call);
        put_before(gsi_for_stmt(call), before, "tail");
    }
}

void insertion::leave_into_tails()
{
    unsigned index;
    bitmap_iterator iterator;
    EXECUTE_IF_SET_IN_BITMAP(tails, 0, index, iterator)
    {
        edge into;
        edge_iterator edges;
        FOR_EACH_EDGE(into, edges, BASIC_BLOCK_FOR_FN(cfun, index)->preds)
        if (!bitmap_bit_p(tails, into->src->index) && !ends_in_tail_call(into->src, calls))
            gsi_insert_on_edge(into, marker(CRN_MARKER_LEAVE));
    }
}

void insertion::leave_by_returns()
{
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    {
        gimple_stmt_iterator last = gsi_last_nondebug_bb(block);
        if (gsi_end_p(last) || !is_a<greturn *>(gsi_stmt(last)) ||
            bitmap_bit_p(tails, block->index) || ends_in_tail_call(block, calls))
            continue;
        put_before(last, leave_at(gsi_stmt(last)), "leave");
        if (is_broken("twice"))
            put_before(last, leave_at(gsi_stmt(last)), "");
    }
}

void insertion::restore_block(basic_block block)
{
    gimple_stmt_iterator place = gsi_after_labels(block);
    gcall *call = gsi_end_p(place) ? NULL : dyn_cast<gcall *>(gsi_stmt(place));
    if (call && gimple_call_builtin_p(call, BUILT_IN_SETJMP_RECEIVER))
        gsi_insert_after(&place, marker(CRN_MARKER_RESTORE), GSI_SAME_STMT);
    else
        put_before(place, marker(CRN_MARKER_RESTORE), "restore");
}

/* Inserts a restore where control arrives without a return, and around calls that may return twice:
 * the restore before such a call adds the second guard (restore.c). */
void insertion::restore()
{
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    {
        if (crn_arrives_without_return(block))
            restore_block(block);
        put_around_setjmp(
            block, [this] { return marker(CRN_MARKER_RESTORE); },
            [this] { return marker(CRN_MARKER_RESTORE); });
    }
}

void insertion::all()
{
    find_tail_calls(calls);
    leave_by_calls();
    leave_into_tails();
    leave_by_returns();
    restore();
    gsi_commit_edge_inserts();
    enter();
}

void insert(tree function)
{
    insertion(function).all();
    crn_set_entered(function);
}

/* Returns true for bodies of functions defined elsewhere, which exist here only for inlining. */
bool is_of_another(tree function)
{
    return DECL_DECLARED_INLINE_P(function) && DECL_EXTERNAL(function) &&
           DECL_DISREGARD_INLINE_LIMITS(function);
}

bool is_wanted(function *function)
{
    return crn_is_profiled(function->decl) && !crn_returns_oddly(function);
}

/* --lean: a counted function has no frame. Where it calls setjmp, it marks the context around it,
 * to which control returns by a jump. */
void mark_at_setjmp(function *function)
{
    tree mark = crn_mark_make();
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    put_around_setjmp(
        block, [mark] { return crn_emit_mark(mark); }, [mark] { return crn_emit_return(mark); });
    gsi_commit_edge_inserts();
}

void insert_or_count(function *function)
{
    if (crn_chosen.small && crn_is_small_leaf(function))
        crn_count_small();
    else if (!crn_chosen.lean || !crn_count_lean(function))
        insert(function->decl);
    else if (function->calls_setjmp)
        mark_at_setjmp(function);
}

#define DATA(name)                                                                                 \
    {                                                                                              \
        GIMPLE_PASS, name, OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0,                   \
            TODO_update_ssa_only_virtuals,                                                         \
    }

const pass_data early_data = DATA("cairn_early"), insert_data = DATA("cairn_insert");

/* Returns true for functions with vector variants (omp declare simd). GCC makes a variant from the
 * function's body, and one run of it does the work of several calls. So the function gets its
 * markers after the variants have been made. */
bool is_for_vectors(tree function)
{
    return lookup_attribute("omp declare simd", DECL_ATTRIBUTES(function)) != NULL_TREE;
}

class early_pass : public gimple_opt_pass {
  public:
    explicit early_pass(gcc::context *context) : gimple_opt_pass(early_data, context)
    {
    }
    bool gate(function *function) override
    {
        return crn_chosen.inlined && !is_of_another(function->decl) &&
               !is_for_vectors(function->decl) && !crn_is_entered(function->decl);
    }
    unsigned execute(function *function) override
    {
        if (is_wanted(function))
            insert_or_count(function);
        return 0;
    }
};

class insert_pass : public gimple_opt_pass {
  public:
    explicit insert_pass(gcc::context *context) : gimple_opt_pass(insert_data, context)
    {
    }
    unsigned execute(function *function) override
    {
        crn_place_moved_leaves();
        bool early = crn_chosen.inlined && !is_for_vectors(function->decl);
        if (!early && !crn_is_entered(function->decl) && is_wanted(function))
            insert_or_count(function);
        return 0;
    }
};

} // namespace

opt_pass *crn_pass_early(gcc::context *context)
{
    return new early_pass(context);
}

opt_pass *crn_pass_insert(gcc::context *context)
{
    return new insert_pass(context);
}
