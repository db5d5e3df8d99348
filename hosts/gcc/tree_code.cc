/* SPDX-License-Identifier: MIT
 *
 * Makes the code of counter trees (tree.cc): looks up a function's counters, counts, and enters the
 * inlined functions around a call. The stubs are written into each object file, as in stub.cc.
 */
#include "plugin.h"
#include "stub.h"

#include "output.h"

/* clang-format off */
#define CRN_STUB_COUNTERS "cairn_priv_stub_4_counters"
#define CRN_STUB_GO "cairn_priv_stub_4_go"

/* Looks up the counters of the current context, in the lane's table. %r10: the tree. Returns them in
 * %rcx; clobbers %r8, %r9 and %r11, and preserves %rax. The entry is read before its key, because a
 * signal handler may change it. */
static const char counters_stub[] =
    BEGIN(CRN_STUB_COUNTERS)
    "\tmovq cairn_priv_thread_strand@gottpoff(%rip), %r9\n"
    "\tmovq %fs:(%r9), %r9\n"
    "\ttestq %r9, %r9\n"
    "\tje 1f\n"
    "\tmovq " CRN_AT_TOP "(%r9), %rcx\n"
    "\tcmpq " CRN_AT_HIGH "(%r9), %rcx\n"
    "\tjae 4f\n"
    "\tmovl " CRN_AT_CURRENT "(%r9), %r8d\n"
    "\tmovq " CRN_AT_LANE "(%r9), %r9\n"
    "\tmovl (%r10), %r11d\n"
    "\tshlq $32, %r11\n"
    "\torq %r8, %r11\n"
    "\taddl 4(%r10), %r8d\n"
    "\tandq " CRN_AT_NODE_MASK "(%r9), %r8\n"
    "\tshlq $5, %r8\n"
    "\taddq " CRN_AT_NODES "(%r9), %r8\n"
    "\tmovq 8(%r8), %rcx\n"
    "\tcmpq %r11, (%r8)\n"
    "\tjne 3f\n"
    "\tret\n"
    "3:\tmovq 24(%r8), %rcx\n"
    "\tcmpq %r11, 16(%r8)\n"
    "\tjne 4f\n"
    "\tret\n"
    "1:\tmovq cairn_priv_thread_scratch@gottpoff(%rip), %rcx\n"
    "\tmovq %fs:(%rcx), %rcx\n"
    "\ttestq %rcx, %rcx\n"
    "\tje 4f\n"
    "\tret\n"
    "4:\tmovq %rax, %rcx\n"
    "\tmovq %r10, %rax\n"
    "\tcall *cairn_priv_site_counters@GOTPCREL(%rip)\n"
    "\txchgq %rax, %rcx\n"
    "\tret\n"
    END(CRN_STUB_COUNTERS);

/* %rax: the function's own node offset with tag, %r11: address of the node's node offset, %r10: the
 * node. If the function is current and the node's node offset is of the present graph, makes the
 * node current, without a push or a look-up of an edge. Returns in %rax the saved caller that leave
 * takes (stub.cc): the function's own node offset with tag; 0 without a strand. Clobbers %rcx, %r8
 * and %r9. */
static const char go_stub[] =
    BEGIN(CRN_STUB_GO)
    "\tmovq cairn_priv_thread_strand@gottpoff(%rip), %r9\n"
    "\tmovq %fs:(%r9), %r9\n"
    "\ttestq %r9, %r9\n"
    "\tje 1f\n"
    "\tcmpl " CRN_AT_CURRENT "(%r9), %eax\n"
    "\tjne 2f\n"
    "\tmovq (%r11), %r8\n"
    "\tmovl %r8d, %ecx\n"
    "\tsubq " CRN_AT_LEAVE_TAG "(%r9), %r8\n"
    "\tcmpq %rcx, %r8\n"
    "\tjne 2f\n"
    "\tmovq %rcx, " CRN_AT_CURRENT "(%r9)\n"
    "\tret\n"
    "1:\txorl %eax, %eax\n"
    "\tret\n"
    "2:\tmovq %r10, %rax\n"
    "\tjmp *cairn_priv_site_go@GOTPCREL(%rip)\n"
    END(CRN_STUB_GO);

/* %0: counters, %1: tree. */
static const char counters_text[] = "# cairn counters\n\t"
    "leaq %1, %%r10\n\t"
    "call " CRN_STUB_COUNTERS;

/* %0: caller, %1: the function's own node offset, %2: the node offset of the tree's node, %3: that
 * node. */
static const char go_text[] = "# cairn go\n\t"
    "leaq %2, %%r11\n\t"
    "movq %1, %%rax\n\t"
    "leaq %3, %%r10\n\t"
    "call " CRN_STUB_GO;

/* A single instruction: signal handlers run before or after it. %0 and %1: the counter, %2: the
 * number of calls. */
static const char counter_text[] = "# cairn count\n\t"
    "addq %2, %0";
/* clang-format on */

enum { TREE_WORDS = 2, NODE_WORDS = 2 };

/* ---- the stubs ---- */

static bool uses_counters, uses_go;

static void write_counter_stubs(void *event, void *data)
{
    (void)event;
    (void)data;
    if (asm_out_file && uses_counters)
        fprintf(asm_out_file, "%s\t.text\n", counters_stub);
    if (asm_out_file && uses_go)
        fprintf(asm_out_file, "%s\t.text\n", go_stub);
    uses_counters = uses_go = false;
}

void crn_tree_code_begin(const char *plugin)
{
    register_callback(plugin, PLUGIN_FINISH_UNIT, write_counter_stubs, NULL);
}

/* ---- statements ---- */

static tree word_of(tree made, unsigned place)
{
    return build4(ARRAY_REF, TREE_TYPE(TREE_TYPE(made)), made, size_int(place), NULL_TREE,
                  NULL_TREE);
}

/* Returns a reference to the word at a distance, in bytes, from the first of a function's
 * counters. */
static tree behind(tree counters, HOST_WIDE_INT bytes)
{
    tree type = build_variant_type_copy(long_long_unsigned_type_node);
    return build2(MEM_REF, type, counters, build_int_cst(build_pointer_type(type), bytes));
}

gimple *crn_emit_counters(tree made, tree counters)
{
    crn_operands *inputs = NULL, *outputs = NULL;
    vec_safe_push(outputs, crn_operand("=&c", counters));
    vec_safe_push(inputs, crn_operand("m", word_of(made, 0)));
    uses_counters = true;
    return crn_assemble(counters_text, inputs, outputs, {"r8", "r9", "r10", "r11", "cc"});
}

gimple *crn_emit_go(tree made, tree counters, unsigned number, tree caller)
{
    enum { UNIT = 8 };
    HOST_WIDE_INT own = CRN_COUNTERS_TO_NODE_OFFSETS - UNIT;
    crn_operands *inputs = NULL, *outputs = NULL;
    vec_safe_push(outputs, crn_operand("=&a", caller));
    vec_safe_push(inputs, crn_operand("m", behind(counters, own)));
    vec_safe_push(inputs, crn_operand("m", behind(counters, own + number * UNIT)));
    vec_safe_push(inputs, crn_operand("m", word_of(made, TREE_WORDS + number * NODE_WORDS)));
    uses_go = true;
    return crn_assemble(go_text, inputs, outputs, {"rcx", "r8", "r9", "r10", "r11", "cc"});
}

/* To GCC the statement changes only this counter, so it is no barrier to the code around it. */
gimple *crn_emit_count(tree counters, unsigned number, unsigned times)
{
    crn_operands *inputs = NULL, *outputs = NULL, *clobbers = NULL;
    vec_safe_push(outputs, crn_operand("=m", behind(counters, (number - 1) * 8)));
    vec_safe_push(inputs, crn_operand("m", behind(counters, (number - 1) * 8)));
    vec_safe_push(inputs, crn_operand("i", build_int_cst(integer_type_node, times)));
    vec_safe_push(clobbers, build_tree_list(NULL_TREE, build_string(2, "cc")));
    gasm *statement = gimple_build_asm_vec(counter_text, inputs, outputs, clobbers, NULL);
    gimple_asm_set_inline(statement, true);
    return statement;
}

bool crn_is_go(const gimple *statement)
{
    const gasm *assembler = dyn_cast<const gasm *>(statement);
    return assembler && strcmp(gimple_asm_string(assembler), go_text) == 0;
}

bool crn_is_count(const gimple *statement)
{
    const gasm *assembler = dyn_cast<const gasm *>(statement);
    return assembler && strcmp(gimple_asm_string(assembler), counter_text) == 0;
}

/* ---- the variable ---- */

static tree number(HOST_WIDE_INT value)
{
    return build_int_cst(unsigned_type_node, value);
}

static tree distance_between(tree from, tree site)
{
    tree type = long_long_unsigned_type_node;
    tree here = build1(NOP_EXPR, type, build_fold_addr_expr(from));
    tree there = build1(NOP_EXPR, type, build_fold_addr_expr(site));
    return build1(NOP_EXPR, unsigned_type_node, build2(MINUS_EXPR, type, there, here));
}

static void add_words(vec<constructor_elt, va_gc> *&words, std::initializer_list<tree> values)
{
    for (tree value : values) {
        tree index = size_int(vec_safe_length(words));
        CONSTRUCTOR_APPEND_ELT(words, index, value);
    }
}

tree crn_tree_make(const auto_vec<crn_tree_node> &nodes)
{
    tree type =
        build_array_type_nelts(unsigned_type_node, TREE_WORDS + NODE_WORDS * (nodes.length() + 1));
    tree made = crn_variable_make("cairn_tree", type, 16);
    vec<constructor_elt, va_gc> *words = NULL;
    add_words(words, {number((HOST_WIDE_INT)0xfffffffe), number(0)});
    add_words(words, {number(nodes.length()), number(0)});
    for (unsigned i = 0; i < nodes.length(); i++)
        add_words(words, {number((HOST_WIDE_INT)nodes[i].same << 16 | (i + 1 - nodes[i].above)),
                          distance_between(made, nodes[i].site)});
    tree constructor = build_constructor(type, words);
    TREE_CONSTANT(constructor) = 1;
    TREE_STATIC(constructor) = 1;
    DECL_INITIAL(made) = constructor;
    varpool_node::finalize_decl(made);
    return made;
}
