/* SPDX-License-Identifier: MIT
 *
 * The code of trees (tree.cc): where a function's counters are, a count, and to enter all that a
 * call is inlined into at once. What is called is written into each object file, as in stub.cc.
 */
#include "plugin.h"
#include "stub.h"

#include "output.h"

/* clang-format off */
#define CRN_STUB_COUNTERS "cairn_priv_stub_1_counters"
#define CRN_STUB_GO "cairn_priv_stub_2_go"

/* %r11: the tree. Gives the counters of the context that runs in %rax; %r9 and %r10 are lost, too.
 * Found by the way, as a block is: read before its key, which a signal handler may change. */
static const char counters_stub[] =
    BEGIN(CRN_STUB_COUNTERS)
    "\tmovq cairn_priv_thread_strand@gottpoff(%rip), %rax\n"
    "\tmovq %fs:(%rax), %rax\n"
    "\ttestq %rax, %rax\n"
    "\tje 1f\n"
    "\tmovq " CRN_AT_TOP "(%rax), %r9\n"
    "\tcmpq " CRN_AT_HIGH "(%rax), %r9\n"
    "\tjae 2f\n"
    "\tmovq " CRN_AT_LANE "(%rax), %r9\n"
    "\tmovl " CRN_AT_CURRENT "(%rax), %r10d\n"
    "\tmovl %r10d, %eax\n"
    "\tshrl $2, %eax\n"
    "\taddl 4(%r11), %eax\n"
    "\tandq " CRN_AT_NODE_MASK "(%r9), %rax\n"
    "\tshlq $5, %rax\n"
    "\taddq " CRN_AT_NODES "(%r9), %rax\n"
    "\tmovl (%r11), %r9d\n"
    "\tshlq $32, %r9\n"
    "\torq %r9, %r10\n"
    "\tmovq 8(%rax), %r9\n"
    "\tcmpq %r10, (%rax)\n"
    "\tjne 3f\n"
    "\tmovq %r9, %rax\n"
    "\tret\n"
    "3:\tmovq 24(%rax), %r9\n"
    "\tcmpq %r10, 16(%rax)\n"
    "\tjne 2f\n"
    "\tmovq %r9, %rax\n"
    "\tret\n"
    "1:\tmovq cairn_priv_thread_scratch@gottpoff(%rip), %rax\n"
    "\tmovq %fs:(%rax), %rax\n"
    "\ttestq %rax, %rax\n"
    "\tje 2f\n"
    "\tret\n"
    "2:\tmovq %r11, %rax\n"
    "\tjmp *cairn_priv_site_counters@GOTPCREL(%rip)\n"
    END(CRN_STUB_COUNTERS);

/* As Enter in stub.cc, of a node: but that no call counts, and nothing has given its frame back. */
static const char go_stub[] =
    BEGIN(CRN_STUB_GO)
    "\tmovq " CRN_AT_TOP "(%rax), %r9\n"
    "\tcmpq " CRN_AT_HIGH "(%rax), %r9\n"
    "\tjae 2f\n"
    "\tmovq " CRN_AT_LANE "(%rax), %r9\n"
    "\timull $" CRN_GUESS_FACTOR ", %esp, %r10d\n"
    "\tshrl $" CRN_GUESS_SHIFT ", %r10d\n"
    "\tandl $" CRN_GUESS_MASK ", %r10d\n"
    "\taddl 4(%r11), %r10d\n"
    "\tcmpq " CRN_AT_GUESS_LIMIT "(%r9), %r10\n"
    "\tjae 2f\n"
    "\taddq " CRN_AT_GUESSES "(%r9), %r10\n"
    "\tmovl " CRN_AT_CURRENT "(%rax), %r9d\n"
    "\tmovq (%r10), %r10\n"
    "\tcmpl %r9d, %r10d\n"
    "\tjne 2f\n"
    "\tshrq $32, %r10\n"
    "\tmovq " CRN_AT_TOP "(%rax), %r11\n"
    "\tmovl %r9d, (%r11)\n"
    "\taddq $4, %r11\n"
    "\tmovq %r11, " CRN_AT_TOP "(%rax)\n"
    "\tmovq %r10, " CRN_AT_CURRENT "(%rax)\n"
    "\tsubq " CRN_AT_BOTTOM "(%rax), %r11\n"
    "\tmovq %r11, %rax\n"
    "\tret\n"
    "2:\tmovq %r11, %rax\n"
    "\tjmp *cairn_priv_site_go@GOTPCREL(%rip)\n"
    END(CRN_STUB_GO);

/* %0 the counters, %1 the tree. */
static const char counters_text[] = "# cairn counters\n\t"
    "leaq %1, %%r11\n\t"
    "call " CRN_STUB_COUNTERS;

/* %0 strand, then height, %1 the node. */
static const char go_text[] = "# cairn go\n\t"
    "movq cairn_priv_thread_strand@gottpoff(%%rip), %0\n\t"
    "movq %%fs:(%0), %0\n\t"
    "testq %0, %0\n\t"
    "je 1f\n\t"
    "leaq %1, %%r11\n\t"
    "call " CRN_STUB_GO "\n"
    "1:";

/* One instruction, which a signal handler comes before or after. */
static const char count_text[] = "# cairn count\n\t"
    "addq $1, %0";
/* clang-format on */

enum { NODE_WORDS = 4 };

/* ---- the stubs ---- */

static bool uses_counters, uses_go;

static void write(void *event, void *data)
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
    register_callback(plugin, PLUGIN_FINISH_UNIT, write, NULL);
}

/* ---- statements ---- */

static tree operand(const char *constraint, tree value)
{
    return build_tree_list(build_tree_list(NULL_TREE, build_string(strlen(constraint), constraint)),
                           value);
}

static tree word_of(tree made, unsigned number)
{
    return build4(ARRAY_REF, TREE_TYPE(TREE_TYPE(made)), made, size_int(number * NODE_WORDS),
                  NULL_TREE, NULL_TREE);
}

/* What is called returns to where the red zone would begin: there must be none. */
static gimple *assemble_call(const char *text, vec<tree, va_gc> *inputs, tree output)
{
    vec<tree, va_gc> *outputs = NULL, *clobbers = NULL;
    vec_safe_push(outputs, operand("=&a", output));
    for (const char *name : {"r9", "r10", "r11", "cc"})
        vec_safe_push(clobbers, build_tree_list(NULL_TREE, build_string(strlen(name), name)));
    ix86_pc_thunk_call_expanded = true;
    gasm *statement = gimple_build_asm_vec(text, inputs, outputs, clobbers, NULL);
    gimple_asm_set_volatile(statement, true);
    SSA_NAME_DEF_STMT(output) = statement;
    return statement;
}

gimple *crn_emit_counters(tree made, tree counters)
{
    vec<tree, va_gc> *inputs = NULL;
    vec_safe_push(inputs, operand("m", word_of(made, 0)));
    uses_counters = true;
    return assemble_call(counters_text, inputs, counters);
}

gimple *crn_emit_go(tree made, unsigned number, tree height)
{
    vec<tree, va_gc> *inputs = NULL;
    vec_safe_push(inputs, operand("m", word_of(made, number)));
    uses_go = true;
    return assemble_call(go_text, inputs, height);
}

/* To GCC it changes this counter and nothing else, so it is no barrier to what is around it. */
gimple *crn_emit_count(tree counters, unsigned number)
{
    tree type = build_variant_type_copy(long_long_unsigned_type_node);
    tree place = build_int_cst(build_pointer_type(type), (number - 1) * 8);
    vec<tree, va_gc> *inputs = NULL, *outputs = NULL, *clobbers = NULL;
    vec_safe_push(outputs, operand("=m", build2(MEM_REF, type, counters, place)));
    vec_safe_push(inputs, operand("m", build2(MEM_REF, type, counters, place)));
    vec_safe_push(clobbers, build_tree_list(NULL_TREE, build_string(2, "cc")));
    gasm *statement = gimple_build_asm_vec(count_text, inputs, outputs, clobbers, NULL);
    gimple_asm_set_inline(statement, true);
    return statement;
}

bool crn_is_count(const gimple *statement)
{
    const gasm *assembler = dyn_cast<const gasm *>(statement);
    const char *text = assembler ? gimple_asm_string(assembler) : "";
    return strcmp(text, count_text) == 0 || strcmp(text, counters_text) == 0;
}

/* ---- the variable ---- */

static tree number(HOST_WIDE_INT value)
{
    return build_int_cst(unsigned_type_node, value);
}

static tree distance(tree from, tree site)
{
    tree type = long_long_unsigned_type_node;
    tree here = build1(NOP_EXPR, type, build_fold_addr_expr(from));
    tree there = build1(NOP_EXPR, type, build_fold_addr_expr(site));
    return build1(NOP_EXPR, unsigned_type_node, build2(MINUS_EXPR, type, there, here));
}

static void add_node(vec<constructor_elt, va_gc> *&words, tree up, tree site)
{
    tree values[NODE_WORDS] = {number((HOST_WIDE_INT)0xfffffffe), number(0), up, site};
    for (tree value : values) {
        tree index = size_int(vec_safe_length(words));
        CONSTRUCTOR_APPEND_ELT(words, index, value);
    }
}

tree crn_tree_make(const auto_vec<crn_tree_node> &nodes)
{
    tree type = build_array_type_nelts(unsigned_type_node, NODE_WORDS * (nodes.length() + 1));
    tree made = build_decl(BUILTINS_LOCATION, VAR_DECL, create_tmp_var_name("cairn_tree"), type);
    TREE_STATIC(made) = 1;
    TREE_ADDRESSABLE(made) = 1;
    TREE_USED(made) = 1;
    DECL_ARTIFICIAL(made) = 1;
    DECL_IGNORED_P(made) = 1;
    DECL_PRESERVE_P(made) = 1;
    DECL_CONTEXT(made) = NULL_TREE;
    SET_DECL_ALIGN(made, 16 * BITS_PER_UNIT);
    DECL_USER_ALIGN(made) = 1;
    vec<constructor_elt, va_gc> *words = NULL;
    add_node(words, number(nodes.length()), number(0));
    for (unsigned i = 0; i < nodes.length(); i++)
        add_node(words, number(i + 1 - nodes[i].above), distance(made, nodes[i].site));
    tree constructor = build_constructor(type, words);
    TREE_CONSTANT(constructor) = 1;
    TREE_STATIC(constructor) = 1;
    DECL_INITIAL(made) = constructor;
    varpool_node::finalize_decl(made);
    return made;
}
