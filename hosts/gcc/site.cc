/* SPDX-License-Identifier: MIT
 *
 * Makes sites: a variable for each function, in the packed form of site.h.
 */
#include "plugin.h"

#include "fold-const.h"
#include "stor-layout.h"

enum { FIELDS = 8, SITE_SIZE = 32 };

/* Roots for GCC's garbage collector: see crn_sites_begin. */
static tree site_type;
static tree sites_made; /* list of pairs: function, site */

static tree field_make(tree record, const char *name, tree type, tree before)
{
    tree field = build_decl(BUILTINS_LOCATION, FIELD_DECL, get_identifier(name), type);
    DECL_CONTEXT(field) = record;
    if (before)
        DECL_CHAIN(before) = field;
    else
        TYPE_FIELDS(record) = field;
    return field;
}

static tree number_type(void)
{
    return uint32_type_node ? uint32_type_node : unsigned_type_node;
}

/* Gives the type a name, because GCC's dumps of C++ code expect one of each declared type. */
static void type_name(tree record, const char *name)
{
    tree named = build_decl(BUILTINS_LOCATION, TYPE_DECL, get_identifier(name), record);
    DECL_IGNORED_P(named) = 1;
    DECL_ARTIFICIAL(named) = 1;
    TYPE_NAME(record) = TYPE_STUB_DECL(record) = named;
    TYPE_ARTIFICIAL(record) = 1;
}

static void type_make(void)
{
    static const char *const names[FIELDS] = {"block",  "hash", "name", "file",
                                              "parent", "left", "line", "column"};
    site_type = make_node(RECORD_TYPE);
    tree field = NULL_TREE;
    for (int i = 0; i < FIELDS; i++)
        field = field_make(site_type, names[i], number_type(), field);
    type_name(site_type, "crn_site");
    layout_type(site_type);
}

static tree text_make(const char *text)
{
    return build_string_literal(strlen(text) + 1, text);
}

static tree address_of_site(tree function)
{
    if (!function || !cgraph_node::get(function) || !crn_is_profiled(function))
        return NULL_TREE;
    return build_fold_addr_expr(crn_site_of(function));
}

/* Returns the distance from the site to an address, 0 if `address` is NULL. Unlike a pointer, a
 * distance needs no relocation at load time. */
static tree distance(tree site, tree address)
{
    if (!address)
        return build_zero_cst(number_type());
    tree type = long_long_unsigned_type_node;
    tree from = fold_convert(type, build_fold_addr_expr(site));
    return build1(NOP_EXPR, number_type(),
                  build2(MINUS_EXPR, type, build1(NOP_EXPR, type, address), from));
}

static tree initial(tree site, const char *name, location_t location, tree function)
{
    expanded_location place = expand_location(location);
    tree number = number_type();
    tree values[FIELDS] = {
        build_int_cst(number, (HOST_WIDE_INT)0xfffffffe),
        build_int_cst(number, 0),
        distance(site, text_make(name)),
        distance(site, place.file ? text_make(place.file) : NULL_TREE),
        distance(site, address_of_site(function)),
        distance(site, crn_chosen.left ? text_make(crn_chosen.left) : NULL_TREE),
        build_int_cst(number, (unsigned)place.line | 1u << 31),
        build_int_cst(number, place.column),
    };
    vec<constructor_elt, va_gc> *elements = NULL;
    tree field = TYPE_FIELDS(site_type);
    for (int i = 0; i < FIELDS; i++, field = DECL_CHAIN(field))
        CONSTRUCTOR_APPEND_ELT(elements, field, values[i]);
    tree constructor = build_constructor(site_type, elements);
    TREE_CONSTANT(constructor) = 1;
    TREE_STATIC(constructor) = 1;
    return constructor;
}

tree crn_variable_make(const char *name, tree type, unsigned align)
{
    tree made = build_decl(BUILTINS_LOCATION, VAR_DECL, create_tmp_var_name(name), type);
    TREE_STATIC(made) = 1;
    TREE_ADDRESSABLE(made) = 1;
    TREE_USED(made) = 1;
    DECL_ARTIFICIAL(made) = 1;
    DECL_IGNORED_P(made) = 1;
    DECL_PRESERVE_P(made) = 1;
    DECL_CONTEXT(made) = NULL_TREE;
    SET_DECL_ALIGN(made, align * BITS_PER_UNIT);
    DECL_USER_ALIGN(made) = 1;
    return made;
}

static tree make(const char *name, location_t place, tree function)
{
    if (!site_type)
        type_make();
    tree site = crn_variable_make("cairn_site", site_type, SITE_SIZE);
    DECL_INITIAL(site) = initial(site, name, place, function);
    if (crn_chosen.zero)
        set_decl_section_name(site, "cairn_sites");
    varpool_node::finalize_decl(site);
    return site;
}

static hash_map<tree, tree> *sites;

void crn_sites_begin(const char *plugin)
{
    static const ggc_root_tab roots[] = {
        {&site_type, 1, sizeof(tree), &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node},
        {&sites_made, 1, sizeof(tree), &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node},
        LAST_GGC_ROOT_TAB};
    register_callback(plugin, PLUGIN_REGISTER_GGC_ROOTS, NULL, (void *)(uintptr_t)roots);
    sites = new hash_map<tree, tree>;
}

tree crn_site_of(tree function)
{
    tree *known = sites->get(function);
    if (known)
        return *known;
    tree site = make(crn_clone_name_of(function), DECL_SOURCE_LOCATION(function),
                     decl_function_context(function));
    sites_made = tree_cons(function, site, sites_made);
    sites->put(function, site);
    return site;
}

tree crn_site_make(const char *name, location_t place, tree function)
{
    tree site = make(name, place, function);
    sites_made = tree_cons(NULL_TREE, site, sites_made);
    return site;
}

void crn_site_mark(tree site, unsigned flags)
{
    constructor_elt &column = CONSTRUCTOR_ELTS(DECL_INITIAL(site))->last();
    HOST_WIDE_INT number = tree_to_uhwi(column.value) | (HOST_WIDE_INT)flags << CRN_SITE_FLAGS;
    column.value = build_int_cst(number_type(), number);
}

static tree reference(tree site, tree field)
{
    return build3(COMPONENT_REF, TREE_TYPE(field), site, field, NULL_TREE);
}

/* Uses the type of the site, not site_type: with -flto, the site may come from another run of the
 * compiler. */
tree crn_site_block(tree site)
{
    return reference(site, TYPE_FIELDS(TREE_TYPE(site)));
}

tree crn_site_inline_cache(tree site)
{
    return reference(site, DECL_CHAIN(TYPE_FIELDS(TREE_TYPE(site))));
}
