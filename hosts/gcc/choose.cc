/* SPDX-License-Identifier: MIT
 *
 * Chooses which functions are profiled.
 */
#include "plugin.h"

#include <regex.h>

/* ---- by options ---- */

namespace {

/* A regular expression of the option --only, --skip, --only-file or --skip-file. */
struct filter {
    bool only, file;
    regex_t pattern;
};

auto_vec<filter *> filters;

bool matches(const filter *filter, tree function)
{
    expanded_location place = expand_location(DECL_SOURCE_LOCATION(function));
    const char *text = filter->file ? place.file : crn_name_of(function);
    return text && regexec(&filter->pattern, text, 0, NULL, 0) == 0;
}

/* Returns true if the function matches no --skip and no --skip-file, and, where these are given,
 * some --only and some --only-file. */
bool is_chosen(tree function)
{
    bool wanted[2] = {true, true}, found[2] = {false, false};
    for (const filter *filter : filters) {
        bool match = matches(filter, function);
        if (filter->only) {
            wanted[filter->file] = false;
            found[filter->file] |= match;
        } else if (match) {
            return false;
        }
    }
    return (wanted[0] || found[0]) && (wanted[1] || found[1]);
}

} // namespace

bool crn_choose(const char *key, const char *value)
{
    static const struct {
        const char *key;
        bool only, file;
    } kinds[] = {{"only", true, false},
                 {"skip", false, false},
                 {"only-file", true, true},
                 {"skip-file", false, true}};
    for (const auto &kind : kinds) {
        if (strcmp(kind.key, key) != 0 || !value)
            continue;
        filter *made = new filter{kind.only, kind.file, {}};
        if (regcomp(&made->pattern, value, REG_EXTENDED | REG_NOSUB) != 0)
            error("cairn: %qs is not a regular expression", value);
        else
            filters.safe_push(made);
        return true;
    }
    return false;
}

/* ---- by properties ---- */

/* Returns true for resolvers of indirect functions, which run during dynamic linking, before
 * thread-local variables exist. */
static bool is_resolver(cgraph_node *node)
{
    ipa_ref *reference = NULL;
    for (unsigned i = 0; node->iterate_referring(i, reference); i++)
        if (reference->use == IPA_REF_ALIAS &&
            lookup_attribute("ifunc", DECL_ATTRIBUTES(reference->referring->decl)))
            return true;
    return false;
}

static bool has_attribute(tree function, const char *name)
{
    return lookup_attribute(name, DECL_ATTRIBUTES(function)) != NULL_TREE;
}

static void leave_out(tree function)
{
    DECL_ATTRIBUTES(function) =
        tree_cons(get_identifier("cairn_skip"), NULL_TREE, DECL_ATTRIBUTES(function));
}

static void leave_out_with_callees(cgraph_node *node)
{
    node = node->ultimate_alias_target();
    if (!node->definition || has_attribute(node->decl, "cairn_skip"))
        return;
    leave_out(node->decl);
    for (cgraph_edge *edge = node->callees; edge; edge = edge->next_callee)
        leave_out_with_callees(edge->callee);
}

bool crn_returns_oddly(function *function)
{
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i))
        if (gimple_call_builtin_p(gsi_stmt(i), BUILT_IN_EH_RETURN) ||
            gimple_call_builtin_p(gsi_stmt(i), BUILT_IN_RETURN))
            return true;
    return false;
}

/* Functions called by a resolver run as early as the resolver. This callback runs before inlining,
 * which would hide such calls. -flto keeps the attribute: it tells callers that a function is not
 * entered. */
void crn_early_leave_out(void *event, void *data)
{
    (void)event;
    (void)data;
    cgraph_node *node;
    FOR_EACH_DEFINED_FUNCTION(node)
    {
        function *body = DECL_STRUCT_FUNCTION(node->decl);
        if (is_resolver(node))
            leave_out_with_callees(node);
        else if (body && body->cfg && crn_returns_oddly(body))
            leave_out(node->decl);
    }
}

bool crn_is_profiled(tree function)
{
    cgraph_node *node = cgraph_node::get(function);
    if (!node || node->thunk || is_resolver(node))
        return false;
    static const char *const never[] = {"cairn_skip",
                                        "skip", /* [[cairn::skip]] */
                                        "no_instrument_function",
                                        "naked",
                                        "interrupt",
                                        "signal",
                                        "no_caller_saved_registers"};
    for (const char *name : never)
        if (has_attribute(function, name))
            return false;
    return is_chosen(function);
}

bool crn_is_of_cairn(const gcall *call)
{
    tree callee = gimple_call_fndecl(call);
    const char *name = callee ? IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(callee)) : "";
    return strncmp(name, "cairn_", 6) == 0 || strncmp(name, "_ZN5cairn", 9) == 0;
}

bool crn_is_small_leaf(function *function)
{
    int count = 0;
    basic_block block;
    FOR_EACH_BB_FN(block, function)
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
        gimple *statement = gsi_stmt(i);
        gcall *call = dyn_cast<gcall *>(statement);
        if (call && !crn_is_of_machine(call))
            return false;
        if (is_gimple_debug(statement) || gimple_code(statement) == GIMPLE_LABEL ||
            gimple_clobber_p(statement))
            continue;
        if (++count >= crn_chosen.small)
            return false;
    }
    return true;
}

bool crn_is_known_profiled(tree function)
{
    cgraph_node *node = cgraph_node::get(function);
    if (!node)
        return false;
    node = node->ultimate_alias_target();
    if (!node || !node->definition || !node->has_gimple_body_p() || node->thunk ||
        !decl_binds_to_current_def_p(node->decl))
        return false;
    if (crn_chosen.inlined || crn_is_entered(node->decl))
        return crn_is_entered(node->decl);
    if (crn_chosen.small && node->decl != current_function_decl)
        return false; /* it may become a small leaf, which is not entered */
    if (crn_chosen.lean && crn_is_lean_candidate(node->decl))
        return false;
    return crn_is_profiled(node->decl);
}

/* ---- the attribute ---- */

static tree handle(tree *node, tree name, tree arguments, int flags, bool *ignored)
{
    (void)arguments;
    (void)flags;
    if (TREE_CODE(*node) != FUNCTION_DECL) {
        warning(OPT_Wattributes, "%qE attribute is for functions", name);
        *ignored = true;
    }
    return NULL_TREE;
}

static const attribute_spec plain[] = {
    {"cairn_skip", 0, 0, true, false, false, false, handle, NULL},
    {NULL, 0, 0, false, false, false, false, NULL, NULL},
};
static const attribute_spec scoped[] = {
    {"skip", 0, 0, true, false, false, false, handle, NULL},
    {NULL, 0, 0, false, false, false, false, NULL, NULL},
};

void crn_attributes_register(void *event, void *data)
{
    (void)event;
    (void)data;
    register_attribute(plain);
    register_scoped_attributes(scoped, "cairn");
}
