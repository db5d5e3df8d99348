/* SPDX-License-Identifier: MIT
 *
 * Entry point of the plugin: parses options and registers passes.
 */
#include "plugin.h"

#include "plugin-version.h"

/* GCC refuses plugins that do not define this. */
extern "C" __attribute__((visibility("default"))) int plugin_is_GPL_compatible;
int plugin_is_GPL_compatible;

crn_choice crn_chosen;

/* Adds to the report's list of what was left out. */
static void leave_out(const char *what, const char *value)
{
    const char *before = crn_chosen.left;
    crn_chosen.left = before ? concat(before, "; ", what, value, NULL) : concat(what, value, NULL);
}

static bool read_choice(const char *key, const char *value)
{
    static const struct {
        const char *key, *what;
    } kinds[] = {{"only", "all but functions named like "},
                 {"skip", "functions named like "},
                 {"only-file", "all but files named like "},
                 {"skip-file", "files named like "}};
    for (const auto &kind : kinds)
        if (strcmp(kind.key, key) == 0 && value)
            leave_out(kind.what, value);
    return crn_choose(key, value);
}

static const char *lean_list; /* path of the list of --lean; NULL: none */

static bool read_argument(const char *key, const char *value)
{
    if (strcmp(key, "inlined") == 0)
        crn_chosen.inlined = true;
    else if (strcmp(key, "frames") == 0)
        crn_chosen.frames = true;
    else if (strcmp(key, "calls") == 0)
        crn_chosen.calls = true;
    else if (strcmp(key, "standby") == 0)
        crn_chosen.standby = true;
    else if (strcmp(key, "verify") == 0)
        crn_chosen.verify = true;
    else if (strcmp(key, "broken") == 0 && value)
        crn_chosen.broken = value;
    else if (strcmp(key, "alloc") == 0)
        crn_chosen.alloc = true;
    else if (strcmp(key, "branch") == 0)
        crn_chosen.branch = crn_chosen.zero = true;
    else if (strcmp(key, "zero") == 0)
        crn_chosen.zero = true;
    else if (strcmp(key, "clones") == 0)
        crn_chosen.clones = true;
    else if (strcmp(key, "lean") == 0) {
        crn_chosen.lean = true;
        lean_list = value;
    } else if (strcmp(key, "small") == 0 && value) {
        crn_chosen.small = atoi(value);
        leave_out("functions that call nothing and have fewer than ",
                  concat(value, " statements", NULL));
    } else
        return read_choice(key, value);
    return true;
}

/* Adds a pass next to the n-th pass of that name; 0: next to each. */
static void add_pass(const char *plugin, opt_pass *pass, pass_positioning_ops side,
                     const char *other, int instance = 1)
{
    register_pass_info where = {pass, other, instance, side};
    register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &where);
}

/* With --inlined, markers are inserted before inlining. Otherwise they are inserted after the last
 * GIMPLE pass, when functions have been inlined and tail calls are known. */
static void add_passes(const char *plugin)
{
    add_pass(plugin, crn_pass_const_calls(g), PASS_POS_INSERT_BEFORE, "cfg");
    add_pass(plugin, crn_pass_branch(g), PASS_POS_INSERT_AFTER, "ssa");
    add_pass(plugin, crn_pass_early(g), PASS_POS_INSERT_AFTER, "ssa");
    add_pass(plugin, crn_pass_landing_pads(g), PASS_POS_INSERT_BEFORE, "ehcleanup", 0);
    add_pass(plugin, crn_pass_tail(g), PASS_POS_INSERT_BEFORE, "tailc");
    add_pass(plugin, crn_pass_insert(g), PASS_POS_INSERT_AFTER, "optimized");
    add_pass(plugin, crn_pass_check(g), PASS_POS_INSERT_AFTER, "cairn_insert");
    add_pass(plugin, crn_pass_expand(g), PASS_POS_INSERT_AFTER, "cairn_check");
}

__attribute__((visibility("default"))) int plugin_init(plugin_name_args *arguments,
                                                       plugin_gcc_version *version)
{
    if (!plugin_default_version_check(version, &gcc_version)) {
        error("%s was built for GCC %s, not for %s", arguments->base_name, gcc_version.basever,
              version->basever);
        return 1;
    }
    for (int i = 0; i < arguments->argc; i++)
        if (!read_argument(arguments->argv[i].key, arguments->argv[i].value))
            error("%s has no argument %qs", arguments->base_name, arguments->argv[i].key);
    register_callback(arguments->base_name, PLUGIN_ATTRIBUTES, crn_attributes_register, NULL);
    register_callback(arguments->base_name, PLUGIN_ALL_IPA_PASSES_START, crn_early_leave_out, NULL);
    crn_sites_begin(arguments->base_name);
    crn_stubs_begin(arguments->base_name);
    crn_tree_code_begin(arguments->base_name);
    if (crn_chosen.lean)
        crn_lean_begin(arguments->base_name, lean_list);
    add_passes(arguments->base_name);
    return 0;
}
