/* SPDX-License-Identifier: MIT
 *
 * Makes the statements of enter, leave and tail call: assembler versions of cairn_enter,
 * cairn_leave and cairn_replace (hot.h).
 *
 * GCC would give a stack frame to a function for a call that it knows, and save registers around
 * the call. An assembler statement only names the few registers that it overwrites. Enter is
 * inlined where it pushes no frame on the strand's stack: it returns the caller's node offset, and
 * leave makes that current again. In leaf functions leave is inlined as well, and in those that
 * save their caller. All other statements call the stubs of stub.cc.
 *
 * offsets.c asserts that the offsets in structs are right.
 */
#include "plugin.h"

#include "stor-layout.h"

/* clang-format off */
/* Loads the thread's strand. STRAND_OR goes to a label further down, STRAND to label 1, if the
 * thread has none. */
#define LOAD_STRAND(reg)                                                                           \
    "movq cairn_priv_thread_strand@gottpoff(%%rip), " reg "\n\t"                                   \
    "movq %%fs:(" reg "), " reg "\n\t"
#define STRAND_OR(label, reg)                                                                      \
    LOAD_STRAND(reg)                                                                               \
    "testq " reg ", " reg "\n\t"                                                                   \
    "je " label "f\n\t"
#define STRAND(reg) STRAND_OR("1", reg)

/* Begin and end the rare part of a statement. It begins at label 2, is put behind all other code of
 * the section by .subsection, and jumps back to label 1. */
#define SLOW_BEGIN                                                                                 \
    ".subsection 1\n"                                                                              \
    "2:\n\t"
#define SLOW_END                                                                                   \
    "jmp 1b\n\t"                                                                                   \
    ".previous"

/* Enter that pushes a frame. %0, in %rax: the strand, then the height; 0 if the thread has no
 * strand. %1: the site. */
static const char enter_text[] = "# cairn enter\n\t"
    STRAND("%0")
    "leaq %1, %%r11\n\t"
    "call " CRN_STUB_ENTER "\n"
    "1:";

/* Leave or tail call. %1, in %rcx: what enter returned, the height or the saved caller; 0 if it
 * entered nothing. */
#define WITH_HEIGHT(name, stub)                                                                    \
    "# cairn " name "\n\t"                                                                         \
    "testq %1, %1\n\t"                                                                             \
    "je 1f\n\t"                                                                                    \
    "call " stub "\n"                                                                              \
    "1:"
/* leave_text and tail_text are indexed by crn_storage. The second of leave_text is the rare part of
 * leave_inline_text. */
static const char *const leave_text[] = {WITH_HEIGHT("leave", CRN_STUB_LEAVE),
                                         "# cairn leave\n\tcall " CRN_STUB_LEAVE_SAVED_CALLER};
static const char *const tail_text[] = {WITH_HEIGHT("tail", CRN_STUB_TAIL),
                                        WITH_HEIGHT("tail", CRN_STUB_TAIL_SAVED_CALLER)};

/* Loads the site's inline cache entry into %3, and the address of the lane's records into %2. */
#define READ_CACHE_ENTRY(inline_cache, strand, current)                                            \
    CRN_TEXT(CRN_CACHE_LOOK_UP(current, inline_cache, strand, %k3, %3, %k2, %2)) "\n\t"            \
    "movq " CRN_AT_BASE "(" #strand "), %2\n\t"
/* Label 5: after a tail call, loads the caller from the end of the strand's stack, where the tail
 * call stored it. Continues at label 6. */
#define GET_CALLER(caller, strand)                                                                    \
    "5:\n\t"                                                                                       \
    "movq " CRN_AT_TOP "(%" strand "), %" caller "\n\t"                                               \
    "movl (%" caller "), %k" caller "\n\t"                                                               \
    "jmp 6b\n"
/* Enter of a leaf function. %0, in %rax: the caller's node offset; %1: the strand, 0 if nothing was
 * entered; %2: address of the records; %3: the callee's node offset; %4: the site; %5: its inline
 * cache. `none`: the label to go to without a strand; `slow_begin`: code before label 2; `reload`:
 * code that loads the strand again after the slow path. */
#define ENTER_LEAF(none, slow_begin, reload)                                                       \
    "# cairn enter\n\t"                                                                            \
    STRAND_OR(none, "%1")                                                                          \
    "movq " CRN_AT_CURRENT "(%1), %0\n\t"                                                          \
    READ_CACHE_ENTRY(%5, %1, %k0)                                                                  \
    "cmpl %k0, %k3\n\t"                                                                            \
    "jne 2f\n\t"                                                                                   \
    "shrq $32, %3\n\t"                                                                             \
    "addq $1, (%2,%3,8)\n\t"                                                                       \
    "testq %0, %0\n\t"                                                                             \
    "js 5f\n"                                                                                      \
    "6:\n\t"                                                                                       \
    "movq %3, " CRN_AT_CURRENT "(%1)\n"                                                            \
    "1:\n\t"                                                                                       \
    ".subsection 1\n"                                                                              \
    GET_CALLER("0", "1")                                                                           \
    slow_begin                                                                                     \
    "2:\n\t"                                                                                       \
    "leaq %4, %%rax\n\t"                                                                           \
    "call *cairn_priv_site_2_enter_leaf@GOTPCREL(%%rip)\n\t"                                       \
    reload                                                                                         \
    "testq %%rax, %%rax\n\t"                                                                       \
    "cmoveq %%rax, %1\n\t"                                                                         \
    SLOW_END
static const char enter_leaf_text[] = ENTER_LEAF("1", "", "");
/* Goes on behind the instruction `on` if the process has a profile. The switch is then the highest
 * number, otherwise 0, so it is compared with a register: that takes a byte less than a comparison
 * with a constant. Where the stack pointer's lower half is 0, the switch seems to be on: then the
 * slow path finds no profile. */
#define TEST_SWITCH(on) "cmpl %%esp, " CRN_SWITCH "(%%rip)\n\t" on
#define IF_ON "jae "
#define IF_OFF "jb "

/* --standby: without a strand takes the slow path if the switch is on. */
static const char standby_enter_leaf_text[] =
    ENTER_LEAF("7", "7:\n\t" TEST_SWITCH(IF_OFF "1b\n"), LOAD_STRAND("%1"));

/* Enter of a function that saves its caller. %0, in %rax: the strand, then the saved caller, a node
 * offset plus the tag of its graph. %1: the caller's node offset; %2: address of the records; %3:
 * the callee's node offset; %4: the site; %5: its inline cache. The slow path is called from within
 * the function's own code, not from a subsection, so that unwinders know the frame there. */
static const char enter_saved_caller_text[] = "# cairn enter\n\t"
    STRAND("%0")
    "movq " CRN_AT_CURRENT "(%0), %1\n\t"
    READ_CACHE_ENTRY(%5, %0, %k1)
    "cmpl %k1, %k3\n\t"
    "je 3f\n\t"
    "leaq %4, %%rax\n\t"
    "call *cairn_priv_site_2_enter_saved_caller@GOTPCREL(%%rip)\n\t"
    "jmp 1f\n"
    "3:\n\t"
    "shrq $32, %3\n\t"
    "addq $1, (%2,%3,8)\n\t"
    "testq %1, %1\n\t"
    "js 5f\n"
    "6:\n\t"
    "movq %3, " CRN_AT_CURRENT "(%0)\n\t"
    "movq " CRN_AT_GRAPH_TAG "(%0), %0\n\t"
    "addq %1, %0\n"
    "1:\n\t"
    ".subsection 1\n"
    GET_CALLER("1", "0")
    ".previous";

/* ---- --lean ---- */

/* The functions that are entered are called rarely, so all code is out of line. %0: height or saved
 * caller (%rax); %1: the site. The last index is crn_calls_nothing: a function that calls nothing
 * counts nothing in its row, and need not set it. */
#define COMPACT_ENTER(stub) "# cairn enter\n\tleaq %1, %%rax\n\tcall " stub
static const char *const compact_enter_text[] = {
    COMPACT_ENTER(CRN_FOLLOWED(CRN_STUB_ENTER_SAVED_CALLER)),
    COMPACT_ENTER(CRN_STUB_ENTER_SAVED_CALLER)};
static const char enter_followed_text[] = "# cairn enter\n\t"
    STRAND("%0")
    "leaq %1, %%r11\n\t"
    "call " CRN_FOLLOWED(CRN_STUB_ENTER) "\n"
    "1:";

/* %1: height or saved caller (%rcx). The first index is a crn_storage. */
static const char *const compact_leave_text[][2] = {
    {"# cairn leave\n\tcall " CRN_FOLLOWED(CRN_STUB_LEAVE), "# cairn leave\n\tcall " CRN_STUB_LEAVE},
    {"# cairn leave\n\tcall " CRN_FOLLOWED(CRN_STUB_LEAVE_SAVED_CALLER),
     "# cairn leave\n\tcall " CRN_STUB_LEAVE_SAVED_CALLER}};

/* Leave of a function that saves its caller. %0, in %rcx: the saved caller. Jumps to label %l1,
 * where a stub leaves, unless the caller has the tag that leave expects. Without a strand
 * cairn_priv_thread_place leads to a strand with tag 0, which no saved caller has. */
static const char leave_inline_text[] = "# cairn leave\n\t"
    "testq %0, %0\n\t"
    "je 1f\n\t"
    "movq cairn_priv_thread_place@gottpoff(%%rip), %%r11\n\t"
    "movq %%fs:(%%r11), %%r11\n\t"
    "movq %0, %%r9\n\t"
    "movl %k0, %%r10d\n\t"
    "subq " CRN_AT_LEAVE_TAG "(%%r11), %%r9\n\t"
    "cmpq %%r10, %%r9\n\t"
    "jne %l1\n\t"
    "movq %%r10, " CRN_AT_CURRENT "(%%r11)\n"
    "1:";

/* ---- --standby ---- */

/* Jumps to label %l0 if the process has a profile. A basic block out of line has that label. */
static const char switch_text[] = "# cairn switch\n\t" TEST_SWITCH(IF_ON "%l0");

/* Enter where no variable keeps the saved caller or the height: returns it, 0 if the switch is off.
 * %0: in %rax; %1: the site, which the stub takes in the register `site`. Indexed by crn_storage. */
#define STANDBY_ENTER(site, stub)                                                                  \
    "# cairn enter\n\t"                                                                            \
    "xorl %k0, %k0\n\t"                                                                            \
    TEST_SWITCH(IF_OFF "1f\n\t")                                                                   \
    "leaq %1, " site "\n\t"                                                                        \
    "call " stub "\n"                                                                              \
    "1:"
static const char *const standby_enter_text[] = {
    STANDBY_ENTER("%%r11", CRN_STUB_ENTER_STANDBY),
    STANDBY_ENTER("%%rax", CRN_STUB_ENTER_SAVED_CALLER_STANDBY)};

/* Moves the stack pointer below the red zone while `calls` runs: a call would overwrite the red
 * zone. The arrays with such code are indexed by crn_may_have_red_zone. */
#define BELOW_RED_ZONE(calls) "addq $-128, %%rsp\n\t" calls "\n\tsubq $-128, %%rsp"

/* Enter with --standby. %0: the saved caller, in memory; %1: the site. The instruction behind the
 * call tests %eax, in vain: its constant is the site's distance, which the stub reads. */
#define CALL_ENTER                                                                                 \
    "call " CRN_STUB_ENTER_SITE_BEHIND "\n\t"                                                      \
    ".byte 0xa9\n\t"                                                                              \
    ".long %P1 - . - 4"
#define CALL_ENTER_TEXT(call) "# cairn enter\n\t" call "\n\tmovq %%rax, %0"
static const char *const call_enter_text[] = {CALL_ENTER_TEXT(CALL_ENTER),
                                              CALL_ENTER_TEXT(BELOW_RED_ZONE(CALL_ENTER))};

/* Leave or tail call with --standby. %0: the saved caller, in memory. */
#define SAVED_CALLER_TEXT(name, call) "# cairn " name "\n\tmovq %0, %%rcx\n\t" call
#define WITH_SAVED_CALLER(name, stub)                                                              \
    {                                                                                              \
        SAVED_CALLER_TEXT(name, "call " stub), SAVED_CALLER_TEXT(name, BELOW_RED_ZONE("call " stub)) \
    }
static const char *const leave_saved_caller_text[] =
    WITH_SAVED_CALLER("leave", CRN_STUB_LEAVE_SAVED_CALLER);
static const char *const tail_saved_caller_text[] =
    WITH_SAVED_CALLER("tail", CRN_STUB_TAIL_SAVED_CALLER);

/* Leave of a leaf function. %0: the caller's node offset; %1: the strand, 0 if nothing was entered.
 * The strand's `high` is 0 if something is pending. */
static const char leave_leaf_text[] = "# cairn leave\n\t"
    "testq %1, %1\n\t"
    "je 1f\n\t"
    "cmpq $0, " CRN_AT_HIGH "(%1)\n\t"
    "je 2f\n\t"
    "movq %0, " CRN_AT_CURRENT "(%1)\n"
    "1:\n\t"
    SLOW_BEGIN
    "xchgq %0, %%rax\n\t"
    "call *cairn_priv_site_leave_leaf@GOTPCREL(%%rip)\n\t"
    "xchgq %0, %%rax\n\t"
    SLOW_END;

/* clang-format on */

tree crn_operand(const char *constraint, tree value)
{
    return build_tree_list(build_tree_list(NULL_TREE, build_string(strlen(constraint), constraint)),
                           value);
}

/* `label`: the statement may jump there; NULL: it does not jump. */
static gimple *assemble(const char *text, crn_operands *inputs, crn_operands *outputs,
                        std::initializer_list<const char *> clobbered, tree label = NULL_TREE)
{
    crn_operands *clobbers = NULL, *labels = NULL;
    if (label)
        vec_safe_push(labels, build_tree_list(NULL_TREE, label));
    for (const char *name : clobbered)
        vec_safe_push(clobbers, build_tree_list(NULL_TREE, build_string(strlen(name), name)));
    gasm *statement = gimple_build_asm_vec(text, inputs, outputs, clobbers, labels);
    gimple_asm_set_volatile(statement, true);
    for (unsigned i = 0; i < vec_safe_length(outputs); i++)
        SSA_NAME_DEF_STMT(TREE_VALUE((*outputs)[i])) = statement;
    return statement;
}

/* Tells GCC that the function calls a thunk, so that it has no red zone. GCC does not see the call
 * in the statement, and the call's return address would overwrite a red zone. */
gimple *crn_assemble(const char *text, crn_operands *inputs, crn_operands *outputs,
                     std::initializer_list<const char *> clobbered)
{
    ix86_pc_thunk_call_expanded = true;
    return assemble(text, inputs, outputs, clobbered);
}

gimple *crn_emit_switch(tree label)
{
    return assemble(switch_text, NULL, NULL, {"cc"}, label);
}

gimple *crn_emit_leave_inline(tree height, tree label)
{
    crn_operands *inputs = NULL;
    vec_safe_push(inputs, crn_operand("c", height));
    return assemble(leave_inline_text, inputs, NULL, {"r9", "r10", "r11", "cc"}, label);
}

static void add_scratch_registers(crn_operands *&outputs, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        vec_safe_push(outputs, crn_operand("=&r", make_ssa_name(long_long_integer_type_node)));
}

/* ---- calls ---- */

static tree function_of(const char *name, tree result, tree argument, tree second)
{
    tree type = build_function_type_list(result, argument, second, NULL_TREE);
    tree function = build_fn_decl(name, type);
    TREE_NOTHROW(function) = 1;
    DECL_ATTRIBUTES(function) =
        tree_cons(get_identifier("leaf"), NULL_TREE, DECL_ATTRIBUTES(function));
    return function;
}

/* Inlined code is in AT&T syntax, and its variables and stubs must be within 2 GB of it. Programs
 * compiled otherwise call functions. */
bool crn_by_calls(void)
{
    return crn_chosen.calls || crn_chosen.verify || ix86_asm_dialect != ASM_ATT ||
           ix86_cmodel == CM_LARGE || ix86_cmodel == CM_LARGE_PIC;
}

static gimple *call_with_site(const char *name, tree site, tree height)
{
    tree function = function_of(name, long_long_integer_type_node, ptr_type_node, NULL);
    gcall *call = gimple_build_call(function, 1, build_fold_addr_expr(site));
    gimple_call_set_lhs(call, height);
    return call;
}

static gimple *enter_inline(const char *text, unsigned scratches, tree site, tree made, tree strand)
{
    crn_operands *inputs = NULL, *outputs = NULL;
    vec_safe_push(outputs, crn_operand("=&a", made));
    vec_safe_push(outputs, crn_operand("=&r", strand));
    add_scratch_registers(outputs, scratches);
    vec_safe_push(inputs, crn_operand("m", crn_site_block(site)));
    vec_safe_push(inputs, crn_operand("m", crn_site_inline_cache(site)));
    return crn_assemble(text, inputs, outputs, {"cc"});
}

static gimple *enter_leaf(tree site, tree caller, tree strand)
{
    if (!crn_chosen.standby)
        return enter_inline(enter_leaf_text, 2, site, caller, strand);
    crn_stubs_use(); /* the switch is written with the stubs */
    return enter_inline(standby_enter_leaf_text, 2, site, caller, strand);
}

static gimple *enter_to_slot(tree site, tree slot)
{
    crn_operands *inputs = NULL, *outputs = NULL;
    vec_safe_push(outputs, crn_operand("=m", slot));
    vec_safe_push(inputs, crn_operand("m", crn_site_block(site)));
    crn_stubs_use();
    return assemble(call_enter_text[crn_may_have_red_zone()], inputs, outputs,
                    {"rax", "r9", "r10", "r11", "cc"});
}

static gimple *leave_leaf(tree caller, tree strand)
{
    crn_operands *inputs = NULL;
    vec_safe_push(inputs, crn_operand("r", caller));
    vec_safe_push(inputs, crn_operand("r", strand));
    return crn_assemble(leave_leaf_text, inputs, NULL, {"cc"});
}

static gimple *enter_by_stub(const char *text, tree site, tree height,
                             std::initializer_list<const char *> lost)
{
    crn_operands *inputs = NULL, *outputs = NULL;
    vec_safe_push(outputs, crn_operand("=&a", height));
    vec_safe_push(inputs, crn_operand("m", crn_site_block(site)));
    crn_stubs_use();
    return crn_assemble(text, inputs, outputs, lost);
}

gimple *crn_emit_enter(tree site, tree height)
{
    if (crn_by_calls())
        return call_with_site("cairn_priv_call_enter", site, height);
    if (tree strand = crn_leaf_strand(height))
        return enter_leaf(site, height, strand);
    if (tree slot = crn_saved_caller_slot(height))
        return enter_to_slot(site, slot);
    if (crn_chosen.standby)
        return enter_by_stub(standby_enter_text[crn_storage_of(height)], site, height,
                             {"r8", "r9", "r10", "r11", "cc"});
    if (crn_storage_of(height) == CRN_SAVED_CALLER && crn_chosen.lean)
        return enter_by_stub(compact_enter_text[crn_calls_nothing()], site, height,
                             {"r9", "r10", "r11", "cc"});
    if (crn_storage_of(height) == CRN_SAVED_CALLER)
        return enter_inline(enter_saved_caller_text, 2, site, height,
                            make_ssa_name(long_long_integer_type_node));
    return enter_by_stub(crn_chosen.lean ? enter_followed_text : enter_text, site, height,
                         {"r8", "r9", "r10", "r11", "cc"});
}

static gimple *call_with_height(const char *name, tree height)
{
    tree function = function_of(name, void_type_node, long_long_integer_type_node, NULL_TREE);
    return gimple_build_call(function, 1, height);
}

static gimple *assemble_with_height(const char *text, tree height)
{
    crn_operands *inputs = NULL, *outputs = NULL;
    vec_safe_push(outputs, crn_operand("=c", make_ssa_name(long_long_integer_type_node)));
    vec_safe_push(inputs, crn_operand("0", height));
    crn_stubs_use();
    return crn_assemble(text, inputs, outputs, {"r9", "r10", "r11", "cc"});
}

static gimple *assemble_with_slot(const char *const *texts, tree slot)
{
    crn_operands *inputs = NULL;
    vec_safe_push(inputs, crn_operand("m", slot));
    crn_stubs_use();
    return assemble(texts[crn_may_have_red_zone()], inputs, NULL,
                    {"rcx", "r9", "r10", "r11", "cc"});
}

bool crn_leaves_inline(tree height)
{
    return !crn_by_calls() && !crn_chosen.lean && !crn_leaf_strand(height) &&
           !crn_saved_caller_slot(height) && crn_storage_of(height) == CRN_SAVED_CALLER;
}

gimple *crn_emit_leave(tree height, tree site)
{
    if (crn_chosen.verify) {
        tree function = function_of("cairn_priv_call_leave_verify", void_type_node,
                                    long_long_integer_type_node, ptr_type_node);
        return gimple_build_call(function, 2, height, build_fold_addr_expr(site));
    }
    if (crn_by_calls())
        return call_with_height("cairn_priv_call_leave", height);
    if (tree strand = crn_leaf_strand(height))
        return leave_leaf(height, strand);
    if (tree slot = crn_saved_caller_slot(height))
        return assemble_with_slot(leave_saved_caller_text, slot);
    if (crn_chosen.lean)
        return assemble_with_height(compact_leave_text[crn_storage_of(height)][crn_calls_nothing()],
                                    height);
    return assemble_with_height(leave_text[crn_storage_of(height)], height);
}

gimple *crn_emit_tail(tree height)
{
    if (crn_by_calls())
        return call_with_height("cairn_priv_call_tail", height);
    if (tree slot = crn_saved_caller_slot(height))
        return assemble_with_slot(tail_saved_caller_text, slot);
    return assemble_with_height(tail_text[crn_storage_of(height)], height);
}

gimple *crn_emit_restore(tree height)
{
    bool jumped_to = cfun->calls_setjmp || cfun->has_nonlocal_label;
    return call_with_height(jumped_to ? "cairn_priv_call_guard" : "cairn_priv_call_restore",
                            height);
}

/* ---- marks of counted functions ---- */

/* A variable of the type crn_mark. It is volatile, so that its value survives jumps. */
tree crn_mark_make(void)
{
    tree type = make_node(RECORD_TYPE), fields = NULL_TREE;
    for (const char *name : {"saved", "height"}) {
        tree field = build_decl(BUILTINS_LOCATION, FIELD_DECL, get_identifier(name),
                                long_long_integer_type_node);
        DECL_CHAIN(field) = fields;
        fields = field;
    }
    finish_builtin_struct(type, "crn_mark", fields, NULL_TREE);
    tree made = create_tmp_var(type, "cairn_mark");
    TREE_THIS_VOLATILE(made) = 1;
    TREE_SIDE_EFFECTS(made) = 1;
    return made;
}

gimple *crn_emit_mark(tree mark)
{
    tree function = function_of("cairn_priv_call_mark", TREE_TYPE(mark), NULL_TREE, NULL_TREE);
    gcall *call = gimple_build_call(function, 0);
    gimple_call_set_lhs(call, mark);
    return call;
}

gimple *crn_emit_return(tree mark)
{
    tree function =
        function_of("cairn_priv_call_return", void_type_node, TREE_TYPE(mark), NULL_TREE);
    return gimple_build_call(function, 1, mark);
}
