/* SPDX-License-Identifier: MIT
 *
 * Proves that enter and leave match on every path through a function, like MLton's checkProf.
 *
 * At each point there is one stack of frames, whichever path leads there: the function's own frame
 * and those of inlined functions. A frame is identified by the SSA names that hold its height on
 * all of these paths. A return needs an empty stack. A call needs a non-empty one, except in tail
 * position. At a point that is reached without a return (a landing pad, a label that other
 * functions jump to) a frame must be restored before any call.
 */
#include "plugin.h"

namespace {

enum state {
    UNKNOWN, /* no known path leads here */
    BEFORE,  /* the function's own enter is still to come */
    INSIDE,
    RECEIVED /* an exception or a jump led here: there may be more frames above */
};

bitmap_obstack memory;

/* The strand's stack at a point of the function, as far as it is known. A frame is the set of SSA
 * names that hold its height. */
struct stack {
    state now = UNKNOWN;
    bool replaced = false; /* the next enter replaces the current frame */
    int hidden = -1; /* number of known frames, if frames that are never left may be above them; -1:
                        all frames are known */
    auto_vec<bitmap> frames;

    ~stack()
    {
        cut(0);
    }
    void cut(unsigned length);
    void push(bitmap names);
    void copy(const stack &other);
    bool meet(const stack &other, bool *agree);
    bool meet_frames(const stack &other);
    void receive();
    void forget(tree height);
    int find(tree height) const;
};

void stack::cut(unsigned length)
{
    while (frames.length() > length) {
        bitmap last = frames.pop();
        BITMAP_FREE(last);
    }
}

/* Pushes a frame with these names; NULL: none yet. */
void stack::push(bitmap names)
{
    bitmap own = BITMAP_ALLOC(&memory);
    if (names)
        bitmap_copy(own, names);
    frames.safe_push(own);
}

void stack::copy(const stack &other)
{
    now = other.now;
    replaced = other.replaced;
    hidden = other.hidden;
    cut(0);
    for (bitmap frame : other.frames)
        push(frame);
}

/* Keeps of this stack's frames only those that `other`, the stack of another path to the same
 * point, has as well. Returns true if that changed this stack. The stacks can differ: GCC merges
 * equal code at the ends of paths, such as calls of abort, even if it comes from different inlined
 * functions. Only the common part is then known. */
bool stack::meet_frames(const stack &other)
{
    unsigned length = frames.length();
    int before = hidden;
    if (length != other.frames.length() || hidden != other.hidden) {
        unsigned mine = hidden < 0 ? length : hidden;
        unsigned theirs = other.hidden < 0 ? other.frames.length() : other.hidden;
        hidden = MIN(mine, theirs);
        cut(hidden);
    }
    if (now == RECEIVED)
        hidden = -1;
    bool changed = frames.length() != length || hidden != before;
    for (unsigned i = 0; i < frames.length(); i++)
        changed |= bitmap_and_into(frames[i], other.frames[i]);
    return changed;
}

/* Merges `other`, the stack of another path to the same point, into this stack. Returns true if
 * that changed this stack. Sets `*agree` to false if the two stacks differ in a way that is an
 * error. */
bool stack::meet(const stack &other, bool *agree)
{
    if (now == UNKNOWN) {
        copy(other);
        return true;
    }
    bool changed = false;
    if (now != other.now) {
        state less = now == BEFORE || other.now == BEFORE ? BEFORE : RECEIVED;
        const stack &inside = now == less ? other : *this;
        if (less == BEFORE && !(inside.now == INSIDE && inside.replaced))
            *agree = false; /* allowed only if GCC made self-recursion a loop */
        changed = now != less;
        now = less;
    }
    changed |= meet_frames(other);
    if (other.replaced && !replaced)
        changed = replaced = true;
    return changed;
}

/* Notes that an exception or a jump arrived: any number of frames may be above the known ones. */
void stack::receive()
{
    now = RECEIVED;
    if (hidden >= 0)
        cut(hidden);
    hidden = -1;
}

/* Removes a name from all frames, as it gets a new value. */
void stack::forget(tree height)
{
    for (bitmap frame : frames)
        bitmap_clear_bit(frame, SSA_NAME_VERSION(height));
}

/* Returns the index of the frame with that height; -1 if no frame has it. */
int stack::find(tree height) const
{
    int i = TREE_CODE(height) == SSA_NAME ? (int)frames.length() - 1 : -1;
    while (i >= 0 && !bitmap_bit_p(frames[i], SSA_NAME_VERSION(height)))
        i--;
    return i;
}

class checker {
  public:
    checker() : known(new stack[last_basic_block_for_fn(cfun)])
    {
    }
    ~checker()
    {
        delete[] known;
    }
    void all();

  private:
    stack *known; /* indexed by basic block: the stack at its begin */
    auto_vec<basic_block> work;
    bool entered = false; /* the function has a frame of its own */
    bool failed = false;

    void fail(const gimple *where, const char *what);
    void enter(stack &stack, const gimple *marker);
    void leave(stack &stack, const gimple *marker);
    void restore(stack &stack, const gimple *marker);
    void call(stack &stack, const gcall *call);
    void step(stack &stack, const gimple *statement);
    void flow(edge out, const stack &stack);
    void block(basic_block block);
};

void checker::fail(const gimple *where, const char *what)
{
    location_t place = where ? gimple_location(where) : UNKNOWN_LOCATION;
    if (place == UNKNOWN_LOCATION)
        place = cfun->function_end_locus;
    if (!failed)
        error_at(place, "cairn: in %qD %s", cfun->decl, what);
    failed = true;
}

void checker::enter(stack &stack, const gimple *marker)
{
    if (stack.now == RECEIVED)
        fail(marker, "enter before restore, where an exception or a jump arrives");
    tree height = crn_marker_height(marker);
    stack.forget(height);
    stack.push(NULL);
    bitmap_set_bit(stack.frames.last(), SSA_NAME_VERSION(height));
    stack.now = INSIDE;
    stack.replaced = false;
}

void checker::leave(stack &stack, const gimple *marker)
{
    bool tail = crn_marker_of(marker) == CRN_MARKER_TAIL;
    if (stack.now != INSIDE || stack.frames.is_empty())
        fail(marker, "leave without a frame on the stack, or before restore");
    else if (stack.hidden == (int)stack.frames.length())
        fail(marker, "leave of a frame, while on some path another one is above it");
    else if (stack.find(crn_marker_height(marker)) != (int)stack.frames.length() - 1)
        fail(marker, "leave of another frame than the one on top");
    else if (stack.replaced && !tail)
        fail(marker, "leave of a frame below a replaced one");
    else
        stack.cut(stack.frames.length() - 1);
    stack.replaced = tail;
}

void checker::restore(stack &stack, const gimple *marker)
{
    int found = stack.find(crn_marker_height(marker));
    if ((stack.now != INSIDE && stack.now != RECEIVED) || stack.frames.is_empty())
        fail(marker, "restore without a frame on the stack");
    else if (found < 0)
        fail(marker, "restore of a frame that is not on the stack");
    stack.cut(found + 1);
    if (stack.hidden > found)
        stack.hidden = -1;
    stack.now = INSIDE;
    stack.replaced = false;
}

/* Returns true for calls that a sanitizer or -fprofile-generate inserts anywhere; they enter
 * nothing. */
bool is_of_compiler(const gcall *call)
{
    tree callee = gimple_call_fndecl(call);
    const char *name = callee && DECL_NAME(callee) ? IDENTIFIER_POINTER(DECL_NAME(callee)) : "";
    if (strncmp(name, "__gcov_", 7) == 0)
        return true;
    if (!callee || !fndecl_built_in_p(callee, BUILT_IN_NORMAL))
        return false;
    return strncmp(name, "__atomic_", 9) == 0 || strncmp(name, "__builtin___asan_", 17) == 0 ||
           strncmp(name, "__builtin___tsan_", 17) == 0 ||
           strncmp(name, "__builtin___ubsan_", 18) == 0 ||
           strncmp(name, "__builtin___sanitizer_", 22) == 0;
}

/* Returns true for calls that need no frame: calls without effect, which GCC may have moved; calls
 * that become instructions, such as the one that passes an exception to another handler of the same
 * function; calls that the compiler inserted, such as a sanitizer's. */
bool is_harmless(const gcall *call)
{
    return crn_is_of_machine(call) || gimple_call_flags(call) & (ECF_CONST | ECF_PURE) ||
           gimple_call_builtin_p(call, BUILT_IN_SETJMP_RECEIVER) ||
           gimple_call_builtin_p(call, BUILT_IN_UNWIND_RESUME) || is_of_compiler(call);
}

void checker::call(stack &stack, const gcall *call)
{
    if (is_harmless(call) && !gimple_call_tail_p(call))
        return;
    tree callee = gimple_call_fndecl(call);
    if (stack.now == BEFORE)
        fail(call, "call before the function's enter");
    else if (stack.now == RECEIVED && !(gimple_call_flags(call) & ECF_RETURNS_TWICE))
        fail(call, "call before restore, where an exception or a jump arrives");
    else if (entered && stack.frames.is_empty() && !gimple_call_tail_p(call))
        fail(call, "call after the function's leave");
    else if (stack.replaced && !(callee && crn_is_known_profiled(callee)))
        fail(call, "tail call gives up the frame to a callee that is not known to be profiled");
    stack.replaced = false;
}

void checker::step(stack &stack, const gimple *statement)
{
    switch (crn_marker_of(statement)) {
    case CRN_MARKER_ENTER:
        return enter(stack, statement);
    case CRN_MARKER_LEAVE:
    case CRN_MARKER_TAIL:
        return leave(stack, statement);
    case CRN_MARKER_RESTORE:
        return restore(stack, statement);
    case CRN_MARKER_MOVED:
        return fail(statement, "leave before a call that is not known to be a tail call");
    case CRN_MARKER_NONE:
        break;
    }
    if (is_gimple_call(statement))
        call(stack, as_a<const gcall *>(statement));
    else if (is_a<const greturn *>(statement) && (stack.now != INSIDE || !stack.frames.is_empty() ||
                                                  stack.replaced || stack.hidden >= 0))
        fail(statement, "return without leave");
}

/* Adds to each frame the PHI results that get its height along this edge. */
void rename(edge into, stack &stack)
{
    auto_vec<int> frames;
    if (stack.frames.is_empty())
        return;
    for (gphi_iterator i = gsi_start_phis(into->dest); !gsi_end_p(i); gsi_next(&i)) {
        tree from = PHI_ARG_DEF_FROM_EDGE(i.phi(), into);
        frames.safe_push(TREE_CODE(from) == SSA_NAME ? stack.find(from) : -1);
    }
    for (gphi_iterator i = gsi_start_phis(into->dest); !gsi_end_p(i); gsi_next(&i))
        stack.forget(PHI_RESULT(i.phi()));
    unsigned which = 0;
    for (gphi_iterator i = gsi_start_phis(into->dest); !gsi_end_p(i); gsi_next(&i), which++)
        if (frames[which] >= 0)
            bitmap_set_bit(stack.frames[frames[which]], SSA_NAME_VERSION(PHI_RESULT(i.phi())));
}

/* Returns true if the basic block restores a frame before any other marker and any call that needs
 * a frame. Other frames may then be above the restored one, as in a landing pad. */
bool restores_first(basic_block block)
{
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
        const gcall *call = dyn_cast<const gcall *>(gsi_stmt(i));
        crn_marker marker = crn_marker_of(gsi_stmt(i));
        if (marker != CRN_MARKER_NONE || (call && !is_harmless(call)))
            return marker == CRN_MARKER_RESTORE;
    }
    return false;
}

/* Merges the stack at the end of a basic block into the one at the begin of the next. */
void checker::flow(edge out, const stack &stack_there)
{
    if (out->dest == EXIT_BLOCK_PTR_FOR_FN(cfun))
        return;
    stack there;
    there.copy(stack_there);
    const gimple *last = last_stmt(out->src);
    if (out->flags & EDGE_EH && (there.now == BEFORE || (entered && there.frames.is_empty())))
        fail(last, "exception edge from a point where the function has no frame");
    if (there.now == INSIDE &&
        (out->flags & EDGE_EH || (out->flags & EDGE_ABNORMAL && last && is_gimple_call(last)) ||
         restores_first(out->dest)))
        there.receive();
    rename(out, there);
    bool agree = true;
    if (known[out->dest->index].meet(there, &agree))
        work.safe_push(out->dest);
    if (!agree)
        fail(last_stmt(out->dest), "two paths with different stacks meet");
}

void checker::block(basic_block block)
{
    stack stack;
    stack.copy(known[block->index]);
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i) && !failed; gsi_next(&i))
        if (!is_gimple_debug(gsi_stmt(i)))
            step(stack, gsi_stmt(i));
    edge out;
    edge_iterator edges;
    FOR_EACH_EDGE(out, edges, block->succs)
    if (!failed)
        flow(out, stack);
}

void checker::all()
{
    stack first;
    entered = crn_is_entered(cfun->decl);
    first.now = entered ? BEFORE : INSIDE;
    flow(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun)), first);
    while (!work.is_empty() && !failed)
        block(work.pop());
}

bool has_markers(void)
{
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        if (crn_marker_of(gsi_stmt(i)) != CRN_MARKER_NONE)
            return true;
    return false;
}

const pass_data check_data = {
    GIMPLE_PASS, "cairn_check", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0,
};

class check_pass : public gimple_opt_pass {
  public:
    explicit check_pass(gcc::context *context) : gimple_opt_pass(check_data, context)
    {
    }
    unsigned execute(function *function) override
    {
        if (crn_is_entered(function->decl) || has_markers()) {
            bitmap_obstack_initialize(&memory);
            checker().all();
            bitmap_obstack_release(&memory);
        }
        return 0;
    }
};

} // namespace

opt_pass *crn_pass_check(gcc::context *context)
{
    return new check_pass(context);
}
