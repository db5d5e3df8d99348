/* SPDX-License-Identifier: MIT
 *
 * --small: counts the calls of functions that are left out, by incrementing a counter of the
 * caller's context; nothing is entered or left.
 *
 * offsets.c asserts the structure offsets.
 */
#include "plugin.h"

/* clang-format off */

/* %0: strand, then lane, then counters; %1: current node offset, then node index. The
 * multiplication divides the node offset by the words of a record, exactly. The node offset is not
 * below host_counters_end if the context is new or something is pending. */
static const char count_text[] = "# small leaf\n\t"
    "movq cairn_priv_thread_strand@gottpoff(%%rip), %0\n\t"
    "movq %%fs:(%0), %0\n\t"
    "testq %0, %0\n\t"
    "je 1f\n\t"
    "movq " CRN_AT_CURRENT "(%0), %1\n\t"
    "movq " CRN_AT_LANE "(%0), %0\n\t"
    "cmpq " CRN_AT_HOST_COUNTERS_END "(%0), %1\n\t"
    "jae 2f\n\t"
    "movq " CRN_AT_HOST_COUNTERS "(%0), %0\n\t"
    "imull $" CRN_TEXT(CRN_RECORD_WORDS_INVERSE) ", %k1, %k1\n\t"
    "addq $1, (%0,%1,8)\n"
    "1:\n\t"
    ".subsection 1\n"
    "2:\n\t"
    "addq $-128, %%rsp\n\t"
    "movq %%rax, %1\n\t"
    "call *cairn_priv_site_small@GOTPCREL(%%rip)\n\t"
    "movq %1, %%rax\n\t"
    "subq $-128, %%rsp\n\t"
    "jmp 1b\n\t"
    ".previous";
/* clang-format on */

static gimple *make_call(void)
{
    tree type = build_function_type_list(void_type_node, NULL_TREE);
    tree function = build_fn_decl("cairn_priv_call_small", type);
    TREE_NOTHROW(function) = 1;
    DECL_ATTRIBUTES(function) =
        tree_cons(get_identifier("leaf"), NULL_TREE, DECL_ATTRIBUTES(function));
    return gimple_build_call(function, 0);
}

static gimple *make_assembler(void)
{
    vec<tree, va_gc> *outputs = NULL, *clobbers = NULL;
    for (int i = 0; i < 2; i++)
        vec_safe_push(outputs, build_tree_list(build_tree_list(NULL_TREE, build_string(3, "=&r")),
                                               make_ssa_name(long_long_integer_type_node)));
    vec_safe_push(clobbers, build_tree_list(NULL_TREE, build_string(2, "cc")));
    gasm *statement = gimple_build_asm_vec(count_text, NULL, outputs, clobbers, NULL);
    gimple_asm_set_volatile(statement, true);
    gimple_asm_set_inline(statement, true);
    for (unsigned i = 0; i < vec_safe_length(outputs); i++)
        SSA_NAME_DEF_STMT(TREE_VALUE((*outputs)[i])) = statement;
    return statement;
}

void crn_count_small(void)
{
    edge first = single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun));
    gsi_insert_on_edge_immediate(first, crn_by_calls() ? make_call() : make_assembler());
}
