/* SPDX-License-Identifier: MIT
 *
 * --lean: counts the functions that are called most, without entering them. A counted function
 * increments a counter in the row of the context around it (site.h); that context is the caller of
 * what the function calls.
 *
 * In shared objects, the thread's state has the key and the row of the context in which a function
 * was counted last. So a count is a comparison and an increment, and enter and leave do nothing for
 * it.
 */
#include "plugin.h"
#include "stub.h"

#include "output.h"
#include "sreal.h"

/* clang-format off */
#define CRN_STUB_LEAN "cairn_priv_stub_5_lean"
#define CRN_STUB_ROW "cairn_priv_stub_5_row"
#define CRN_STUB_ROW_ENTERED "cairn_priv_stub_5_row_entered"
#define STATE "cairn_priv_lean_1"
#define GROUP "cairn_priv_lean_1_group"

#define ROW "cairn_priv_thread_row"

/* Count in a program. %0 (%rax): distance to the row; %u: number of the function's variable. */
static const char program_text[] = "# cairn lean\n\t"
    "movq %%%%fs:" ROW "@tpoff, %%0\n\t"
    "addq $1, %%%%fs:cairn_lean_%u@tpoff(%%0)";

/* Count in a shared object. %0 (%rax): address of the strand, then the row; %r11: the key, the
 * current node offset with the graph's tag, 0 without a strand. The row is read before the key: a
 * signal handler may change both. */
static const char shared_text[] = "# cairn lean\n\t"
    "movq cairn_priv_thread_place@gottpoff(%%%%rip), %%0\n\t"
    "movq %%%%fs:(%%0), %%0\n\t"
    "movq " CRN_AT_CURRENT "(%%0), %%%%r11\n\t"
    "addq " CRN_AT_GRAPH_TAG "(%%0), %%%%r11\n\t"
    "movq " STATE "@gottpoff(%%%%rip), %%%%r10\n\t"
    "movq %%%%fs:8(%%%%r10), %%0\n\t"
    "cmpq %%%%fs:(%%%%r10), %%%%r11\n\t"
    "jne 2f\n"
    "1:\taddq $1, cairn_lean_%u@dtpoff(%%0)\n\t"
    ".subsection 1\n"
    "2:\taddq $-128, %%%%rsp\n\t"
    "call " CRN_STUB_LEAN "\n\t"
    "subq $-128, %%%%rsp\n\t"
    "jmp 1b\n\t"
    ".previous";

/* %r11: the key. Returns the row in %rax; clobbers %r10. Without a strand, and while nothing is
 * recorded, the row is the thread's own variables. The state is written again if a signal handler
 * has written it meanwhile. A row is given as the address to which the @dtpoff of a variable is
 * added. LOAD_BIAS computes that from the address of the state, or from what cairn_priv_site_lean
 * returns (site.h); LOAD_OWN loads it for the thread's own variables. */
#define LOAD_BIAS "\txorl %r10d, %r10d\n\tleaq " STATE "@dtpoff(%r10), %r10\n\tsubq %r10, %rax\n"
#define LOAD_OWN "\tmovq %fs:0, %rax\n\taddq " STATE "@gottpoff(%rip), %rax\n" LOAD_BIAS
static const char lean_stub[] =
    BEGIN(CRN_STUB_LEAN)
    "\ttestq %r11, %r11\n"
    "\tje 6f\n"
    "\tmovq cairn_priv_thread_place@gottpoff(%rip), %rax\n"
    "\tmovq %fs:(%rax), %rax\n"
    "\tcmpq $0, " CRN_AT_CURRENT "(%rax)\n"
    "\tjs 4f\n"
    "\tcmpq $" CRN_AT_HIGH_OFF ", " CRN_AT_HIGH "(%rax)\n"
    "\tje 7f\n"
    "\tmovq " CRN_AT_TOP "(%rax), %r10\n"
    "\tcmpq " CRN_AT_HIGH "(%rax), %r10\n"
    "\tjae 4f\n"
    "\tpushq %r8\n\t.cfi_adjust_cfa_offset 8\n"
    "\tmovl " CRN_AT_CURRENT "(%rax), %r8d\n"
    "\tmovq " CRN_AT_LANE "(%rax), %r10\n"
    "\tmovl " GROUP "(%rip), %eax\n"
    "\taddl $1, %eax\n"
    "\tshlq $32, %rax\n"
    "\torq %r8, %rax\n"
    "\taddl 4+" GROUP "(%rip), %r8d\n"
    "\taddl $0x9e3779b1, %r8d\n"
    "\tandq " CRN_AT_NODE_MASK "(%r10), %r8\n"
    "\tshlq $5, %r8\n"
    "\taddq " CRN_AT_NODES "(%r10), %r8\n"
    "\tmovq 8(%r8), %r10\n"
    "\tcmpq %rax, (%r8)\n"
    "\tje 3f\n"
    "\tmovq 24(%r8), %r10\n"
    "\tcmpq %rax, 16(%r8)\n"
    "3:\tpopq %r8\n\t.cfi_adjust_cfa_offset -8\n"
    "\tmovq %r10, %rax\n"
    "\tje 5f\n"
    "4:\tleaq " GROUP "(%rip), %rax\n"
    "\tcall *cairn_priv_site_lean@GOTPCREL(%rip)\n"
    "\ttestq %rax, %rax\n"
    "\tje 7f\n"
    "5:" LOAD_BIAS
    "8:\tmovq " STATE "@gottpoff(%rip), %r10\n"
    "\tmovq $-1, %fs:(%r10)\n"
    "\tmovq %rax, %fs:8(%r10)\n"
    "\tmovq %r11, %fs:(%r10)\n"
    "\tcmpq %rax, %fs:8(%r10)\n"
    "\tjne 8b\n"
    "\tret\n"
    "6:" LOAD_OWN
    "\tjmp 8b\n"
    "7:" LOAD_OWN
    "\tret\n"
    END(CRN_STUB_LEAN);

/* Sets the row to that of the current context, behind enter and leave. Preserves %rax; clobbers %r9
 * to %r11. `slowly`: the function to jump to if the lane's cache does not have the row. */
#define SET_ROW(name, slowly)                                                                      \
    BEGIN(name)                                                                                    \
    "\tmovq cairn_priv_thread_strand@gottpoff(%rip), %r11\n"                                       \
    "\tmovq %fs:(%r11), %r11\n"                                                                    \
    "\ttestq %r11, %r11\n"                                                                         \
    "\tje 1f\n"                                                                                    \
    "\tmovq cairn_priv_lean_key@GOTPCREL(%rip), %r10\n"                                            \
    "\tmovq (%r10), %r10\n"                                                                        \
    "\ttestq %r10, %r10\n"                                                                         \
    "\tje 1f\n"                                                                                    \
    "\tmovq %r10, %r9\n"                                                                           \
    "\tshrq $32, %r10\n"                                                                           \
    "\tshlq $32, %r9\n"                                                                            \
    "\taddl " CRN_AT_CURRENT "(%r11), %r10d\n"                                                     \
    "\taddq " CRN_AT_CURRENT "(%r11), %r9\n"                                                       \
    "\tmovq " CRN_AT_LANE "(%r11), %r11\n"                                                         \
    "\tandq " CRN_AT_NODE_MASK "(%r11), %r10\n"                                                    \
    "\tshlq $5, %r10\n"                                                                            \
    "\taddq " CRN_AT_NODES "(%r11), %r10\n"                                                        \
    "\tmovq 8(%r10), %r11\n"                                                                       \
    "\tcmpq %r9, (%r10)\n"                                                                         \
    "\tje 3f\n"                                                                                    \
    "\tmovq 24(%r10), %r11\n"                                                                      \
    "\tcmpq %r9, 16(%r10)\n"                                                                       \
    "\tjne 2f\n"                                                                                   \
    "3:\tmovq " ROW "@gottpoff(%rip), %r10\n"                                                      \
    "\tmovq %r11, %fs:(%r10)\n"                                                                    \
    "1:\tret\n"                                                                                    \
    "2:\tjmp *" slowly "@GOTPCREL(%rip)\n"                                                         \
    END(name)
static const char row_stubs[] =
    SET_ROW(CRN_STUB_ROW, "cairn_priv_site_row")
    SET_ROW(CRN_STUB_ROW_ENTERED, "cairn_priv_site_row_entered");

/* Makes a function that calls the stub, then `row`. Without a strand it executes `none`, which for
 * an enter sets the result to 0, and returns. */
#define FOLLOWED(stub, row, none)                                                                     \
    BEGIN(CRN_FOLLOWED(stub))                                                                      \
    "\tmovq cairn_priv_thread_strand@gottpoff(%rip), %r11\n"                                       \
    "\tcmpq $0, %fs:(%r11)\n"                                                                      \
    "\tje 1f\n"                                                                                    \
    "\tcall " stub "\n"                                                                            \
    "\tjmp " row "\n"                                                                              \
    "1:" none "\tret\n"                                                                            \
    END(CRN_FOLLOWED(stub))
static const char followed_stubs[] =
    FOLLOWED(CRN_STUB_ENTER_SAVED_CALLER, CRN_STUB_ROW_ENTERED, "\txorl %eax, %eax\n")
    FOLLOWED(CRN_STUB_LEAVE, CRN_STUB_ROW, "")
    FOLLOWED(CRN_STUB_LEAVE_SAVED_CALLER, CRN_STUB_ROW, "")
    /* Called with the strand in %rax, the site in %r11. */
    BEGIN(CRN_FOLLOWED(CRN_STUB_ENTER))
    "\tcall " CRN_STUB_ENTER "\n"
    "\tjmp " CRN_STUB_ROW_ENTERED "\n"
    END(CRN_FOLLOWED(CRN_STUB_ENTER));

/* The program's variable for its row, which libraries refer to, and the constructor that gives the
 * group to libcairn-gcc. */
static const char program[] =
    "\t.section .tbss." ROW ",\"awTG\",@nobits," ROW ",comdat\n"
    "\t.p2align 3\n"
    "\t.weak " ROW "\n"
    "\t.type " ROW ", @object\n"
    "\t.size " ROW ", 8\n"
    ROW ":\n"
    "\t.zero 8\n"
    "\t.section .init_array.00099,\"awG\",%init_array," GROUP ",comdat\n"
    "\t.p2align 3\n"
    "\t.quad " GROUP "_begin\n"
    BEGIN(GROUP "_begin")
    "\tleaq " GROUP "(%rip), %rdi\n"
    "\tmovq " STATE "@gottpoff(%rip), %rsi\n"
    "\tjmp *cairn_priv_lean_begin@GOTPCREL(%rip)\n"
    END(GROUP "_begin");

/* State and group, one of each in a program or shared object. The state's key is -1, which no
 * context has, until the first count. */
static const char lean_group[] =
    "\t.section .tdata." STATE ",\"awTG\",@progbits," STATE ",comdat\n"
    "\t.p2align 4\n"
    "\t.weak " STATE "\n"
    "\t.hidden " STATE "\n"
    "\t.type " STATE ", @object\n"
    "\t.size " STATE ", 16\n"
    STATE ":\n"
    "\t.quad -1, 0\n"
    "\t.section .data." GROUP ",\"awG\",@progbits," STATE ",comdat\n"
    "\t.p2align 3\n"
    "\t.weak " GROUP "\n"
    "\t.hidden " GROUP "\n"
    "\t.type " GROUP ", @object\n"
    "\t.size " GROUP ", 24\n"
    "\t.hidden __start_cairn_lean_sites\n"
    "\t.hidden __stop_cairn_lean_sites\n"
    GROUP ":\n"
    "\t.long 0xfffffffe, 0\n"
    "\t.long __start_cairn_lean_sites - .\n"
    "\t.long __stop_cairn_lean_sites - .\n"
    "\t.long " STATE "@dtpoff, 0\n";
/* clang-format on */

/* ---- which functions ---- */

static hash_set<nofree_string_hash> *chosen; /* name, tab, last part of the file; NULL: no list */

static const char *key_of(const char *name, const char *file)
{
    return concat(name, "\t", lbasename(file), NULL);
}

static void read_list(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        error("cairn: %qs cannot be read: %m", path);
        return;
    }
    chosen = new hash_set<nofree_string_hash>;
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = 0;
        char *tab = strchr(line, '\t');
        if (tab) {
            *tab = 0;
            chosen->add(key_of(line, tab + 1));
        }
    }
    free(line);
    fclose(file);
}

/* ---- without a list ---- */

enum {
    ROUNDS = 8
}; /* rounds of the estimate: it follows chains of calls that have at most that many calls */

/* A function with `calls_least` estimated calls is counted. Callers in other files are estimated as
 * one call; `calls_most` is the limit of an estimate. */
static const double calls_least = 8, calls_most = 1e6;

/* Estimated calls of this unit's functions; NULL: not estimated yet. */
static hash_map<cgraph_node *, double> *estimates;

static double estimate_of(cgraph_node *node)
{
    double *known = estimates->get(node);
    return known ? *known : 0;
}

static double calls_of(cgraph_node *node)
{
    bool is_leaf = !node->callees && !node->indirect_calls;
    double calls = is_leaf ? calls_least : node->local || node->thunk ? 0 : 1;
    for (cgraph_edge *call = node->callers; call; call = call->next_caller) {
        cgraph_node *caller = call->caller->inlined_to ? call->caller->inlined_to : call->caller;
        calls += estimate_of(caller) * call->sreal_frequency().to_double();
    }
    return calls < calls_most ? calls : calls_most;
}

/* Estimates calls from how often GCC guesses that a caller's blocks run in one call of it: branches
 * by its heuristics or __builtin_expect, loops by their depth. Functions that call nothing are
 * always chosen. Must run before later passes remove calls from the call graph. */
static void estimate(void)
{
    cgraph_node *node;
    estimates = new hash_map<cgraph_node *, double>;
    for (int i = 0; i < ROUNDS; i++)
        FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(node)
    if (!node->inlined_to)
        estimates->put(node, calls_of(node));
}

static void estimate_unit(void *event, void *data)
{
    (void)event;
    (void)data;
    estimate();
}

static bool is_estimated(tree function)
{
    cgraph_node *node = cgraph_node::get(function);
    if (!estimates) /* for a part of a -flto program GCC does not call estimate_unit */
        estimate();
    return node && estimate_of(node) >= calls_least;
}

bool crn_is_lean_candidate(tree function)
{
    if (MAIN_NAME_P(DECL_NAME(function)))
        return false;
    if (!chosen)
        return is_estimated(function);
    expanded_location place = expand_location(DECL_SOURCE_LOCATION(function));
    if (!place.file)
        return false;
    char *key = (char *)(uintptr_t)key_of(crn_clone_name_of(function), place.file);
    bool is = chosen->contains(key);
    free(key);
    return is;
}

/* Returns true if control can come back to the function without a return, other than by setjmp, or
 * if it calls Cairn: contexts would be wrong there. */
static bool is_come_back_to(function *function)
{
    if (function->has_nonlocal_label)
        return true;
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    {
        if (crn_arrives_without_return(block))
            return true;
        for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
            gcall *call = dyn_cast<gcall *>(gsi_stmt(i));
            if (call && crn_is_of_cairn(call))
                return true;
        }
    }
    return false;
}

/* ---- code ---- */

static auto_vec<tree> *counted; /* sites of the functions counted in this unit */

static bool is_for_program(void)
{
    return !flag_pic || flag_pie;
}

bool crn_count_lean(function *function)
{
    if (is_come_back_to(function))
        return false;
    tree site = crn_site_of(function->decl);
    bool candidate = crn_is_lean_candidate(function->decl);
    crn_site_mark(site, candidate ? CRN_BLOCK_COUNTED : CRN_BLOCK_COUNTABLE);
    if (!candidate)
        return false;
    char *text = xasprintf(is_for_program() ? program_text : shared_text, counted->length());
    crn_operands *outputs = NULL, *clobbers = NULL;
    vec_safe_push(outputs, crn_operand("=&a", make_ssa_name(long_long_integer_type_node)));
    for (const char *name : {"r10", "r11", "cc"})
        vec_safe_push(clobbers, build_tree_list(NULL_TREE, build_string(strlen(name), name)));
    gasm *statement = gimple_build_asm_vec(ggc_strdup(text), NULL, outputs, clobbers, NULL);
    free(text);
    gimple_asm_set_volatile(statement, true);
    SSA_NAME_DEF_STMT(TREE_VALUE((*outputs)[0])) = statement;
    gsi_insert_on_edge_immediate(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun)), statement);
    counted->safe_push(site);
    return true;
}

void crn_lean_write_stubs(void)
{
    fprintf(asm_out_file, "%s%s\t.text\n", row_stubs, followed_stubs);
}

static void write_counters(void *event, void *data)
{
    (void)event;
    (void)data;
    if (!asm_out_file || counted->is_empty())
        return;
    for (unsigned i = 0; i < counted->length(); i++) {
        fprintf(asm_out_file,
                "\t.section cairn_lean,\"awT\",@progbits\n\t.p2align 3\ncairn_lean_%u:\n\t.zero 8\n"
                "\t.section cairn_lean_sites,\"a\",@progbits\n\t.p2align 2\n\t.long ",
                i);
        assemble_name(asm_out_file, IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME((*counted)[i])));
        fprintf(asm_out_file, " - ., cairn_lean_%u@dtpoff\n", i);
    }
    fprintf(asm_out_file, "%s%s%s\t.text\n", lean_group, lean_stub,
            is_for_program() ? program : "");
    counted->truncate(0);
}

void crn_lean_begin(const char *plugin, const char *list)
{
    counted = new auto_vec<tree>;
    if (list && *list)
        read_list(list);
    else
        register_callback(plugin, PLUGIN_ALL_IPA_PASSES_END, estimate_unit, NULL);
    register_callback(plugin, PLUGIN_FINISH_UNIT, write_counters, NULL);
}
