/* SPDX-License-Identifier: MIT
 *
 * With --inlined, keeps calls whose results are unused: removes the const and pure properties from
 * the program's functions. Functions of system headers keep them.
 *
 * Runs before call graph and SSA exist, which would have to be repaired.
 */
#include "plugin.h"

#include "gimple-walk.h"

namespace {

bool forget(tree function)
{
    if (!function || fndecl_built_in_p(function) || DECL_IN_SYSTEM_HEADER(function))
        return false;
    TREE_READONLY(function) = 0;
    DECL_PURE_P(function) = 0;
    DECL_LOOPING_CONST_OR_PURE_P(function) = 0;
    return true;
}

/* The C front end also makes the type of a call const. That type differs from the function's type
 * if the call is made through a cast. */
tree visit(gimple_stmt_iterator *place, bool *, walk_stmt_info *)
{
    gcall *call = dyn_cast<gcall *>(gsi_stmt(*place));
    if (!call || !forget(gimple_call_fndecl(call)))
        return NULL_TREE;
    tree type = gimple_call_fntype(call);
    gimple_call_set_fntype(call, build_qualified_type(type, TYPE_QUALS(type) & ~TYPE_QUAL_CONST));
    return NULL_TREE;
}

const pass_data const_calls_data = {
    GIMPLE_PASS, "cairn_const_calls", OPTGROUP_NONE, TV_NONE, 0, 0, 0, 0, 0,
};

class const_calls_pass : public gimple_opt_pass {
  public:
    explicit const_calls_pass(gcc::context *context) : gimple_opt_pass(const_calls_data, context)
    {
    }
    bool gate(function *) override
    {
        return crn_chosen.inlined;
    }
    unsigned execute(function *function) override
    {
        walk_stmt_info info = {};
        forget(function->decl);
        walk_gimple_seq(gimple_body(function->decl), visit, NULL, &info);
        return 0;
    }
};

} // namespace

opt_pass *crn_pass_const_calls(gcc::context *context)
{
    return new const_calls_pass(context);
}
