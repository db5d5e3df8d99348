/* SPDX-License-Identifier: MIT
 *
 * Precise calling-context encoding (Sumner and others, 2010) as an experiment beside `cairn cc`: a
 * plugin for GCC 12 that keeps a number for each thread, of which the calling context can be
 * decoded. A call site adds a constant to the number before its call, and subtracts it behind.
 *
 * The constants come from the call graph of the whole program after inlining, so a program is
 * compiled twice: the first time the plugin writes down the calls (graph=FILE), then paths.py
 * gives them constants, and the second time the plugin inserts them (numbers=FILE). Calls that
 * close a cycle of the graph, calls through pointers and calls of libraries that may call back
 * *push*: they save number and call site on a stack, and begin again at 0.
 *
 * With `count` each function also counts its calls by the number: by the path since the last push.
 * With `count` and `whole` a push looks up a number of its own for each context that it is reached
 * by, in place of 0, so that counts are by the whole context.
 *
 * For programs in C with one thread. What is missing for a profiler: docs/COMPILE.md.
 */
#include <map>
#include <string>

/* The order of these headers matters. */
/* clang-format off */
#include "gcc-plugin.h"
#include "tree.h"
#include "basic-block.h"
#include "gimple.h"
#include "gimple-iterator.h"
#include "cgraph.h"
#include "context.h"
#include "diagnostic-core.h"
#include "options.h"
#include "ssa.h"
#include "stringpool.h"
#include "tree-cfg.h"
#include "tree-pass.h"
#include "varasm.h"
/* clang-format on */

#include "plugin-version.h"

extern "C" __attribute__((visibility("default"))) int plugin_is_GPL_compatible;
int plugin_is_GPL_compatible;

namespace {

/* A number from paths.py for a call site or a function. */
struct number {
    char kind; /* 'a': add, 'p': push, 'f': a function's own */
    unsigned HOST_WIDE_INT value;
};

FILE *graph;
std::map<std::string, number> numbers;
bool counts, whole;
int bits = 18; /* the table of counts has so many bits of entries */

/* ---- names in the files ---- */

/* Returns the name by which a function is known in the whole program. */
std::string key_of(tree function)
{
    const char *name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function));
    name += *name == '*';
    return TREE_PUBLIC(function) ? name : std::string(main_input_filename) + ":" + name;
}

std::string key_of(tree function, unsigned site)
{
    return key_of(function) + "#" + std::to_string(site);
}

void read_numbers(const char *path)
{
    FILE *file = fopen(path, "r");
    char key[4096];
    number read;
    if (!file)
        fatal_error(UNKNOWN_LOCATION, "cannot read %qs: %m", path);
    while (fscanf(file, "%4095s %c %lu", key, &read.kind, &read.value) == 3)
        numbers[key] = read;
    fclose(file);
}

/* ---- the graph of calls ---- */

bool has_function_argument(const gcall *call)
{
    for (unsigned i = 0; i < gimple_call_num_args(call); i++)
        if (FUNCTION_POINTER_TYPE_P(TREE_TYPE(gimple_call_arg(call, i))))
            return true;
    return false;
}

bool is_site(gimple *statement)
{
    gcall *call = dyn_cast<gcall *>(statement);
    return call && !gimple_call_internal_p(call);
}

/* Writes of a call whether it is direct, and whether a library that is called may call back. */
void write_call(tree function, unsigned site, const gcall *call)
{
    tree callee = gimple_call_fndecl(call);
    fprintf(graph, "call\t%s\t%u\t%s\t%s\n", key_of(function).c_str(), site,
            !callee                       ? "indirect"
            : has_function_argument(call) ? "back"
                                          : "direct",
            callee ? key_of(callee).c_str() : "*");
}

void write_function(tree function)
{
    tree source = DECL_ORIGIN(function);
    expanded_location place = expand_location(DECL_SOURCE_LOCATION(source));
    fprintf(graph, "function\t%s\t%s\t%s\t%d\n", key_of(function).c_str(),
            IDENTIFIER_POINTER(DECL_NAME(source)), place.file, place.line);
    unsigned site = 0;
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        if (is_site(gsi_stmt(i)))
            write_call(function, site++, as_a<const gcall *>(gsi_stmt(i)));
}

/* Writes which functions can be called by who does not name them. */
void write_addresses(void *, void *)
{
    cgraph_node *node;
    FOR_EACH_FUNCTION(node)
    if (node->address_taken || DECL_STATIC_CONSTRUCTOR(node->decl) ||
        DECL_STATIC_DESTRUCTOR(node->decl))
        fprintf(graph, "address\t%s\n", key_of(node->decl).c_str());
    fclose(graph);
}

/* ---- what is inserted ---- */

/* Returns a thread-local variable of runtime.c. */
tree variable(const char *name, tree type)
{
    tree made = build_decl(UNKNOWN_LOCATION, VAR_DECL, get_identifier(name), type);
    TREE_PUBLIC(made) = DECL_EXTERNAL(made) = DECL_ARTIFICIAL(made) = TREE_USED(made) = 1;
    TREE_ADDRESSABLE(made) = 1;
    DECL_VISIBILITY(made) = VISIBILITY_HIDDEN;
    DECL_VISIBILITY_SPECIFIED(made) = 1;
    set_decl_tls_model(made, TLS_MODEL_LOCAL_EXEC);
    return made;
}

tree the_id, the_top;

void make_variables()
{
    if (the_id)
        return;
    the_id = variable("crn_encoding_id", long_unsigned_type_node);
    the_top = variable("crn_encoding_top", build_pointer_type(long_unsigned_type_node));
}

void keep_variables(void *, void *)
{
    if (!the_id)
        return;
    ggc_mark(the_id);
    ggc_mark(the_top);
}

/* Statements that are put somewhere together. */
class sequence {
  public:
    gimple_seq made = NULL;

    void add(gimple *statement)
    {
        gimple_seq_add_stmt(&made, statement);
    }
    void store(tree target, tree value)
    {
        add(gimple_build_assign(target, value));
    }
    tree load(tree from)
    {
        tree value = make_ssa_name(TREE_TYPE(from));
        store(value, from);
        return value;
    }
    tree plus(tree value, HOST_WIDE_INT more)
    {
        tree sum = make_ssa_name(TREE_TYPE(value));
        bool pointer = POINTER_TYPE_P(TREE_TYPE(value));
        add(gimple_build_assign(sum, pointer ? POINTER_PLUS_EXPR : PLUS_EXPR, value,
                                build_int_cst(pointer ? sizetype : TREE_TYPE(value), more)));
        return sum;
    }
};

tree word(unsigned HOST_WIDE_INT value)
{
    return build_int_cstu(long_unsigned_type_node, value);
}

/* Returns the word of memory at the pointer. */
tree at(tree pointer, HOST_WIDE_INT distance)
{
    return build2(MEM_REF, long_unsigned_type_node, pointer,
                  build_int_cst(TREE_TYPE(pointer), distance));
}

/* Returns the number as an operand. GCC takes a function that reads no memory to be independent of
 * the number, and would merge the changes around a call of it; so these are volatile. */
tree id_around(gcall *call)
{
    if (!(gimple_call_flags(call) & ECF_CONST))
        return the_id;
    tree type = build_qualified_type(long_unsigned_type_node, TYPE_QUAL_VOLATILE);
    return build2(MEM_REF, type, build_fold_addr_expr(the_id),
                  build_int_cst(build_pointer_type(type), 0));
}

typedef vec<tree, va_gc> operands;

void push_operand(operands *&list, const char *constraint, tree value)
{
    vec_safe_push(
        list,
        build_tree_list(
            build_tree_list(NULL_TREE, build_string(strlen(constraint) + 1, constraint)), value));
}

/* Adds the look-up of `id + own` in the thread's table, and what is done with the entry. An entry
 * is a key and a value; its place is a hash of the key. What does not hit is out of line. */
tree look_up(sequence &into, unsigned HOST_WIDE_INT own, const char *slow, const char *then)
{
    tree key = make_ssa_name(long_unsigned_type_node);
    tree entry = make_ssa_name(long_unsigned_type_node);
    std::string text = "movq\t%2, %0\n";
    if (own > 0x7fffffff)
        text += "\tmovabsq\t$" + std::to_string(own) + ", %1\n\taddq\t%1, %0\n";
    else if (own)
        text += "\taddq\t$" + std::to_string(own) + ", %0\n";
    text += "\timulq\t$-1640531535, %0, %1\n\tshrq\t$20, %1\n\tandl\t$" +
            std::to_string(((1 << bits) - 1) << 4) +
            ", %k1\n\taddq\t%%fs:crn_encoding_table@tpoff, %1\n"
            "\tcmpq\t%0, (%1)\n\tjne\t1f\n"
            "2:\t" +
            then +
            "\n"
            "\t.subsection\t1\n"
            "1:\tleaq\t-128(%%rsp), %%rsp\n\tpushq\t%0\n\tpushq\t%1\n"
            "\tcall\t" +
            slow +
            "\n"
            "\tpopq\t%1\n\tpopq\t%0\n\tleaq\t128(%%rsp), %%rsp\n\tjmp\t2b\n"
            "\t.previous";
    operands *outputs = NULL, *inputs = NULL;
    push_operand(outputs, "=&r", key);
    push_operand(outputs, "=&r", entry);
    push_operand(inputs, "m", the_id);
    gasm *made = gimple_build_asm_vec(text.c_str(), inputs, outputs, NULL, NULL);
    gimple_asm_set_volatile(made, true);
    SSA_NAME_DEF_STMT(key) = SSA_NAME_DEF_STMT(entry) = made;
    into.add(made);
    return key;
}

void put_before(gimple *statement, const sequence &what)
{
    gimple_stmt_iterator place = gsi_for_stmt(statement);
    gsi_insert_seq_before(&place, what.made, GSI_SAME_STMT);
}

/* On the way on which the call returns, if it does. */
void put_after(gimple *statement, const sequence &what)
{
    gimple_stmt_iterator place = gsi_for_stmt(statement);
    if (!stmt_ends_bb_p(statement)) {
        gsi_insert_seq_after(&place, what.made, GSI_SAME_STMT);
        return;
    }
    edge on = find_fallthru_edge(gimple_bb(statement)->succs);
    if (on)
        gsi_insert_seq_on_edge(on, what.made);
}

/* The number plus a constant. */
void add_around(gcall *call, unsigned HOST_WIDE_INT value)
{
    sequence before, after;
    tree id = id_around(call);
    before.store(id, before.plus(before.load(id), value));
    after.store(id, after.plus(after.load(id), -value));
    put_before(call, before);
    put_after(call, after);
}

/* The paper's push: the number and the site go to the stack. */
void push_around(gcall *call, unsigned HOST_WIDE_INT site)
{
    sequence before, after;
    tree id = id_around(call), top = before.load(the_top);
    before.store(at(top, 0), before.load(id));
    before.store(at(top, 8), word(site));
    before.store(the_top, before.plus(top, 16));
    before.store(id, word(0));
    top = after.plus(after.load(the_top), -16);
    after.store(the_top, top);
    after.store(id, after.load(at(top, 0)));
    put_before(call, before);
    put_after(call, after);
}

/* A push that goes to the number of this context and this site. */
void look_up_around(gcall *call, unsigned HOST_WIDE_INT site)
{
    sequence before, after;
    tree id = id_around(call), saved = before.load(id);
    before.store(id, look_up(before, site, "crn_encoding_push", "movq\t8(%1), %0"));
    after.store(id, saved);
    put_before(call, before);
    put_after(call, after);
}

void instrument(gcall *call, const number &what)
{
    gimple_call_set_tail(call, false);
    if (what.kind == 'a')
        add_around(call, what.value);
    else if (counts && whole)
        look_up_around(call, what.value);
    else
        push_around(call, what.value);
}

/* Restores after each return of setjmp what the function began with. */
void restore_after_jumps(sequence &first, const auto_vec<gcall *> &twice)
{
    tree variables[] = {the_id, the_top};
    for (tree each : variables) {
        tree saved = create_tmp_var(TREE_TYPE(each));
        TREE_ADDRESSABLE(saved) = TREE_THIS_VOLATILE(saved) = 1;
        first.store(saved, first.load(each));
        for (gcall *call : twice) {
            sequence restore;
            restore.store(each, restore.load(saved));
            put_after(call, restore);
        }
    }
}

void instrument_function(tree function)
{
    make_variables();
    auto_vec<gcall *> calls, twice;
    basic_block block;
    FOR_EACH_BB_FN(block, cfun)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        if (is_site(gsi_stmt(i)))
            calls.safe_push(as_a<gcall *>(gsi_stmt(i)));
    for (unsigned i = 0; i < calls.length(); i++) {
        auto found = numbers.find(key_of(function, i));
        if (found != numbers.end())
            instrument(calls[i], found->second);
        if (gimple_call_flags(calls[i]) & ECF_RETURNS_TWICE)
            twice.safe_push(calls[i]);
    }
    sequence first;
    if (!twice.is_empty())
        restore_after_jumps(first, twice);
    auto own = numbers.find(key_of(function));
    if (counts && own != numbers.end())
        look_up(first, own->second.value, "crn_encoding_count", "incq\t8(%1)");
    if (first.made)
        gsi_insert_seq_on_edge(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun)), first.made);
    gsi_commit_edge_inserts();
}

/* ---- the pass ---- */

const pass_data encoding_data = {
    GIMPLE_PASS,
    "encoding",
    OPTGROUP_NONE,
    TV_NONE,
    PROP_cfg | PROP_ssa,
    0,
    0,
    0,
    TODO_update_ssa_only_virtuals,
};

class encoding_pass : public gimple_opt_pass {
  public:
    explicit encoding_pass(gcc::context *context) : gimple_opt_pass(encoding_data, context)
    {
    }
    unsigned execute(function *function) override
    {
        if (graph)
            write_function(function->decl);
        else
            instrument_function(function->decl);
        return 0;
    }
};

bool read_argument(const char *key, const char *value)
{
    if (strcmp(key, "graph") == 0 && value)
        graph = fopen(value, "a");
    else if (strcmp(key, "numbers") == 0 && value)
        read_numbers(value);
    else if (strcmp(key, "bits") == 0 && value)
        bits = atoi(value);
    else if (strcmp(key, "count") == 0)
        counts = true;
    else if (strcmp(key, "whole") == 0)
        whole = true;
    else
        return false;
    return true;
}

} // namespace

__attribute__((visibility("default"))) int plugin_init(plugin_name_args *arguments,
                                                       plugin_gcc_version *version)
{
    if (!plugin_default_version_check(version, &gcc_version))
        return 1;
    for (int i = 0; i < arguments->argc; i++)
        if (!read_argument(arguments->argv[i].key, arguments->argv[i].value))
            error("%s has no argument %qs", arguments->base_name, arguments->argv[i].key);
    if (graph)
        register_callback(arguments->base_name, PLUGIN_FINISH_UNIT, write_addresses, NULL);
    register_callback(arguments->base_name, PLUGIN_GGC_MARKING, keep_variables, NULL);
    register_pass_info where = {new encoding_pass(g), "optimized", 1, PASS_POS_INSERT_AFTER};
    register_callback(arguments->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &where);
    return 0;
}
