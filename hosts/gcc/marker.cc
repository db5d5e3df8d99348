/* SPDX-License-Identifier: MIT
 *
 * Markers stand for enter, leave and the other events until they are expanded. To GCC a marker is
 * an assembler statement of one instruction with an unknown effect that touches no memory: GCC
 * copies, inlines and threads it with the code around it, and neither loses it nor moves it across
 * calls. Its operands are the frame's height and the site.
 */
#include "plugin.h"

static const char beginning[] = "# cairn marker ";

static const struct {
    crn_marker marker;
    const char *name;
} names[] = {
    {CRN_MARKER_ENTER, "enter"}, {CRN_MARKER_LEAVE, "leave"},     {CRN_MARKER_MOVED, "moved"},
    {CRN_MARKER_TAIL, "tail"},   {CRN_MARKER_RESTORE, "restore"},
};

/* The operands have the constraint X, which anything satisfies: a marker that is left in does
 * nothing. */
gimple *crn_marker_make(crn_marker marker, tree site, tree height, location_t place)
{
    crn_operands *inputs = NULL, *outputs = NULL;
    if (marker == CRN_MARKER_ENTER)
        vec_safe_push(outputs, crn_operand("=r", height));
    else
        vec_safe_push(inputs, crn_operand("X", height));
    vec_safe_push(inputs, crn_operand("X", build_fold_addr_expr(site)));
    const char *text = beginning;
    for (const auto &known : names)
        if (known.marker == marker)
            text = ACONCAT((beginning, known.name, NULL));
    gasm *statement = gimple_build_asm_vec(text, inputs, outputs, NULL, NULL);
    gimple_asm_set_volatile(statement, true);
    gimple_asm_set_inline(statement, true); /* counts as small for inlining decisions */
    gimple_set_location(statement, place);
    if (marker == CRN_MARKER_ENTER)
        SSA_NAME_DEF_STMT(height) = statement;
    return statement;
}

gimple *crn_marker_counted(const gimple *enter, tree made, tree counters)
{
    tree height = crn_marker_height(enter);
    crn_operands *inputs = NULL, *outputs = NULL;
    vec_safe_push(outputs, crn_operand("=r", height));
    vec_safe_push(outputs, crn_operand("=r", counters));
    vec_safe_push(inputs, crn_operand("X", build_fold_addr_expr(made)));
    vec_safe_push(inputs, crn_operand("X", build_fold_addr_expr(crn_marker_site(enter))));
    const char *text = gimple_asm_string(as_a<const gasm *>(enter));
    gasm *statement = gimple_build_asm_vec(text, inputs, outputs, NULL, NULL);
    gimple_asm_set_volatile(statement, true);
    gimple_set_location(statement, gimple_location(enter));
    SSA_NAME_DEF_STMT(height) = SSA_NAME_DEF_STMT(counters) = statement;
    return statement;
}

crn_marker crn_marker_of(const gimple *statement)
{
    const gasm *assembler = dyn_cast<const gasm *>(statement);
    if (!assembler)
        return CRN_MARKER_NONE;
    const char *text = gimple_asm_string(assembler);
    if (strncmp(text, beginning, sizeof beginning - 1) != 0)
        return CRN_MARKER_NONE;
    for (const auto &known : names)
        if (strcmp(known.name, text + sizeof beginning - 1) == 0)
            return known.marker;
    return CRN_MARKER_NONE;
}

tree crn_marker_height(const gimple *marker)
{
    const gasm *assembler = as_a<const gasm *>(marker);
    return TREE_VALUE(gimple_asm_noutputs(assembler) ? gimple_asm_output_op(assembler, 0)
                                                     : gimple_asm_input_op(assembler, 0));
}

tree crn_marker_site(const gimple *marker)
{
    const gasm *assembler = as_a<const gasm *>(marker);
    unsigned last = gimple_asm_ninputs(assembler) - 1;
    return TREE_OPERAND(TREE_VALUE(gimple_asm_input_op(assembler, last)), 0);
}

tree crn_marker_counters(const gimple *statement)
{
    if (crn_marker_of(statement) != CRN_MARKER_ENTER)
        return NULL_TREE;
    const gasm *assembler = as_a<const gasm *>(statement);
    return gimple_asm_noutputs(assembler) > 1 ? TREE_VALUE(gimple_asm_output_op(assembler, 1))
                                              : NULL_TREE;
}

tree crn_marker_tree(const gimple *marker)
{
    return TREE_OPERAND(TREE_VALUE(gimple_asm_input_op(as_a<const gasm *>(marker), 0)), 0);
}

/* ---- functions that have been entered ---- */

static const char entered[] = "cairn entered";

void crn_set_entered(tree function)
{
    if (!lookup_attribute(entered, DECL_ATTRIBUTES(function)))
        DECL_ATTRIBUTES(function) =
            tree_cons(get_identifier(entered), NULL_TREE, DECL_ATTRIBUTES(function));
}

/* Parts that GCC splits off a function inherit its attributes, but have no enter. */
bool crn_is_entered(tree function)
{
    cgraph_node *node = cgraph_node::get(function);
    return node && !node->split_part && !node->thunk &&
           lookup_attribute(entered, DECL_ATTRIBUTES(function));
}
