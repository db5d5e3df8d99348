/* SPDX-License-Identifier: MIT
 *
 * plugin.h - interfaces between the files of the plugin. Each file includes it first, because it
 * includes GCC's headers, which must precede all others.
 */
#ifndef CRN_HOSTS_GCC_PLUGIN_H
#define CRN_HOSTS_GCC_PLUGIN_H

#include "layout.h"

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
#include "langhooks.h"
#include "options.h"
#include "ssa.h"
#include "stringpool.h"
#include "attribs.h"
#include "tree-cfg.h"
#include "except.h"
#include "tree-eh.h"
#include "tree-pass.h"
#include "varasm.h"
/* clang-format on */

/* ---- options ---- */

/* The options of the command line. */
struct crn_choice {
    bool inlined;       /* enter every function of the source, even if inlined */
    bool frames;        /* enter inlined functions even where a counter would do */
    bool calls;         /* call functions for events, in place of inlined code */
    bool alloc;         /* a function stays on the stack while it allocates */
    bool standby;       /* cost nothing while no profile is open */
    bool verify;        /* check frames at run time */
    bool branch;        /* each outcome of a branch is a block */
    bool zero;          /* register sites, to report those that never ran */
    bool clones;        /* clones that GCC makes are blocks of their own */
    bool lean;          /* count the functions called most, without entering them */
    int small;          /* leave out leaf functions with fewer statements; 0: none */
    const char *left;   /* for the report: what is left out; NULL: nothing */
    const char *broken; /* for tests of the checker: the marker to omit, or "twice" */
};
extern crn_choice crn_chosen;

/* ---- names.cc --------------------------------------------------------------------------- */

/* Returns the function's name as people write it. Garbage-collected, or owned by the front end. */
const char *crn_name_of(tree function);
/* The same with its clone suffix, if clones are told apart. */
const char *crn_clone_name_of(tree function);

/* ---- choose.cc -------------------------------------------------------------------------- */

/* Parses an option that selects functions. Returns false if it is another option. */
bool crn_choose(const char *key, const char *value);

/* Registers the attributes __attribute__((cairn_skip)) and [[cairn::skip]]. */
void crn_attributes_register(void *event, void *data);

/* Gives the attribute cairn_skip to resolvers of indirect functions, to all that they call, and to
 * functions for which crn_returns_oddly is true. */
void crn_early_leave_out(void *event, void *data);

/* Returns true if the function returns by __builtin_return or __builtin_eh_return. */
bool crn_returns_oddly(function *function);

/* Returns true for calls of Cairn's own interface (C or C++), which enter and leave explicitly. */
bool crn_is_of_cairn(const gcall *call);

/* Returns true if the function calls nothing and has fewer statements than --small says. */
bool crn_is_small_leaf(function *function);

/* Returns true if the function, which is defined here, gets enter and leave. */
bool crn_is_profiled(tree function);

/* Returns true if a call of the function certainly runs code with enter and leave: neither linker
 * nor loader can replace it. */
bool crn_is_known_profiled(tree function);

/* ---- site.cc ---------------------------------------------------------------------------- */

void crn_sites_begin(const char *plugin);

/* Makes a variable that only code and tables refer to; its name is for the assembler. `align`: in
 * bytes. The caller sets its value and finalizes it. */
tree crn_variable_make(const char *name, tree type, unsigned align);

/* Returns the function's site, a variable. */
tree crn_site_of(tree function);
/* Makes a site for something within a function. */
tree crn_site_make(const char *name, location_t place, tree function);
/* Adds flags, CRN_BLOCK_*, to a site made by this run of the compiler. */
void crn_site_mark(tree site, unsigned flags);
tree crn_site_block(tree site);
tree crn_site_inline_cache(tree site);

/* ---- marker.cc ---------------------------------------------------------------------------- */

/* Kinds of markers: events of a frame. MOVED is a leave that was moved before the call that it
 * followed. */
enum crn_marker {
    CRN_MARKER_NONE,
    CRN_MARKER_ENTER,
    CRN_MARKER_LEAVE,
    CRN_MARKER_MOVED,
    CRN_MARKER_TAIL,
    CRN_MARKER_RESTORE
};

/* Makes a marker for the frame with that height, an SSA name that its enter defines. */
gimple *crn_marker_make(crn_marker marker, tree site, tree height, location_t place);
crn_marker crn_marker_of(const gimple *statement);
tree crn_marker_height(const gimple *marker);
tree crn_marker_site(const gimple *marker);

/* Returns a copy of an enter marker that also looks up the counters of the tree `made`, and assigns
 * their address to `counters`. */
gimple *crn_marker_counted(const gimple *enter, tree made, tree counters);
/* Return what such a marker was made with; the first NULL if the statement is none. */
tree crn_marker_counters(const gimple *statement);
tree crn_marker_tree(const gimple *marker);

/* Marks the function as having an enter; clones inherit that. */
void crn_set_entered(tree function);
bool crn_is_entered(tree function);

/* ---- insert.cc -------------------------------------------------------------------------- */

/* Returns true if a call must be made while its function is on the stack. */
bool crn_must_stay(gcall *call);

/* ---- expand.cc ------------------------------------------------------------------------- */

/* Places moved leaves: before calls that became jumps, otherwise behind the call. */
void crn_place_moved_leaves(void);

/* ---- leaf.cc ---------------------------------------------------------------------------- */

/* Returns true if the call expands to instructions here, so that nothing is entered. */
bool crn_is_of_machine(const gcall *call);
/* Analyses a function whose markers are about to be expanded. */
void crn_leaf_begin(function *function);
/* Returns the variable that holds the strand, if the frame with that height is one of code that
 * calls nothing: it is not pushed, and its "height" is the node offset of the caller's context.
 * Otherwise returns NULL. */
tree crn_leaf_strand(tree height);
/* Returns true unless the current function certainly has no red zone. */
bool crn_may_have_red_zone(void);
/* Returns true if the current function calls nothing that may be counted. */
bool crn_calls_nothing(void);

/* ---- saved_caller.cc ------------------------------------------------------------------- */

/* Storage of a frame. */
enum crn_storage {
    CRN_PUSHED,      /* on the strand's stack, with a guard above it */
    CRN_SAVED_CALLER /* enter returns the caller, which the function saves and passes to leave */
};
crn_storage crn_storage_of(tree height);
/* With --standby returns the variable in the function's stack frame that holds the saved caller;
 * NULL without --standby, or if the frame with that height is pushed. Nothing writes to the
 * variable while there is no profile. */
tree crn_saved_caller_slot(tree height);

/* Decides how each frame of a function is stored, whose markers are about to be expanded. */
void crn_storage_begin(function *function);
void crn_storage_end(void);

/* ---- emit.cc ---------------------------------------------------------------------------- */

/* The offsets of layout.h as assembler text. In a strand: */
#define CRN_AT_TOP CRN_TEXT(CRN_STRAND_TOP)
#define CRN_AT_HIGH CRN_TEXT(CRN_STRAND_HIGH)
#define CRN_AT_LOW CRN_TEXT(CRN_STRAND_LOW)
#define CRN_AT_CURRENT CRN_TEXT(CRN_STRAND_CURRENT)
#define CRN_AT_LANE CRN_TEXT(CRN_STRAND_LANE)
#define CRN_AT_BOTTOM CRN_TEXT(CRN_STRAND_BOTTOM)
#define CRN_AT_GRAPH_TAG CRN_TEXT(CRN_STRAND_GRAPH_TAG)
#define CRN_AT_LEAVE_TAG CRN_TEXT(CRN_STRAND_LEAVE_TAG)
#define CRN_AT_BASE CRN_TEXT(CRN_STRAND_BASE)
#define CRN_AT_HIGH_OFF CRN_TEXT(CRN_STRAND_HIGH_OFF)
#define CRN_AT_INLINE_CACHE CRN_TEXT(CRN_STRAND_INLINE_CACHE)
/* In a lane: */
#define CRN_AT_NODES CRN_TEXT(CRN_LANE_NODES)
#define CRN_AT_NODE_MASK CRN_TEXT(CRN_LANE_NODE_MASK)
#define CRN_AT_LANE_INLINE_CACHE CRN_TEXT(CRN_LANE_INLINE_CACHE)
#define CRN_AT_HOST_COUNTERS CRN_TEXT(CRN_LANE_HOST_COUNTERS)
#define CRN_AT_HOST_COUNTERS_END CRN_TEXT(CRN_LANE_HOST_COUNTERS_END)

#define CRN_STUB_ENTER "cairn_priv_stub_2_enter_guarded"
#define CRN_STUB_ENTER_SAVED_CALLER "cairn_priv_stub_3_enter_saved_caller"
#define CRN_STUB_LEAVE "cairn_priv_stub_1_leave"
#define CRN_STUB_TAIL "cairn_priv_stub_1_tail_guarded"
#define CRN_STUB_LEAVE_SAVED_CALLER "cairn_priv_stub_2_leave_saved_caller"
#define CRN_STUB_TAIL_SAVED_CALLER "cairn_priv_stub_2_tail_saved_caller"

/* --standby: the byte that tells whether there is a profile; one in each program or library. */
#define CRN_SWITCH "cairn_priv_switch_1"

/* The same with --lean: they set the row of the context that is then current. */
#define CRN_FOLLOWED(stub) stub "_row"

/* Writes the stub functions into each object file that calls them. */
void crn_stubs_begin(const char *plugin);
void crn_stubs_use(void);

/* Returns true if all events are calls of functions with the usual convention. */
bool crn_by_calls(void);

typedef vec<tree, va_gc> crn_operands;
tree crn_operand(const char *constraint, tree value);
/* Makes a volatile assembler statement that calls a stub. It defines its outputs; `clobbered`:
 * registers. The current function gets no red zone. */
gimple *crn_assemble(const char *text, crn_operands *inputs, crn_operands *outputs,
                     std::initializer_list<const char *> clobbered);

/* Makes a statement that goes to the label if there is a profile. */
gimple *crn_emit_switch(tree label);

/* Make the statements that markers expand to. */
gimple *crn_emit_enter(tree site, tree height);
gimple *crn_emit_leave(tree height, tree site);
gimple *crn_emit_tail(tree height);
gimple *crn_emit_restore(tree height);

/* ---- tree.cc ---------------------------------------------------------------------------- */

/* Replaces the frames of inlined functions by counters where possible. */
void crn_tree_count(function *function);

/* ---- tree_code.cc ----------------------------------------------------------------------- */

/* A node of a counter tree: a function that was inlined into another one. Nodes are numbered from
 * 1, parents first; 0 is the function that all are inlined into. */
struct crn_tree_node {
    tree site;
    unsigned above; /* number of the parent */
    unsigned same;  /* number of an earlier node whose counter it shares; 0: has its own */
};

/* Makes the variable that describes a counter tree (crn_tree in site.h). */
tree crn_tree_make(const auto_vec<crn_tree_node> &nodes);

/* Makes a statement that looks up the counters of the tree `made` in the current context. */
gimple *crn_emit_counters(tree made, tree counters);

/* Makes a statement that makes the node with that number current, before it calls something. It
 * sets `caller` to the context that a leave after the call returns to. */
gimple *crn_emit_go(tree made, tree counters, unsigned number, tree caller);

/* Makes a statement that adds to the node's counter. */
gimple *crn_emit_count(tree counters, unsigned number, unsigned times);

/* Return true for statements of the last two functions. */
bool crn_is_go(const gimple *statement);
bool crn_is_count(const gimple *statement);
void crn_tree_code_begin(const char *plugin);

/* ---- shared_counters.cc ---------------------------------------------------------------- */

/* The number of calls of a node in a stretch: code without branches, and without calls that may not
 * return. */
struct crn_stretch {
    unsigned node;   /* its number in the tree */
    unsigned number; /* of the stretch */
    unsigned times;
};

/* Lets nodes with equal numbers of calls in each stretch share a counter. */
void crn_share_counters(const auto_vec<crn_stretch> &stretches, auto_vec<crn_tree_node> *nodes);

/* ---- small.cc --------------------------------------------------------------------------- */

/* Adds a counter to the current function, which is left out by --small. */
void crn_count_small(void);

/* ---- lean.cc ---------------------------------------------------------------------------- */

/* Reads the list of functions to be counted: lines of name, tab, file. NULL: an estimate chooses.
 */
void crn_lean_begin(const char *plugin, const char *list);

/* Writes the stubs that set the row, which call those of stub.cc. */
void crn_lean_write_stubs(void);

/* Returns true if the function may be counted without being entered, before its code is known. */
bool crn_is_lean_candidate(tree function);

/* Adds a counter to the current function in place of enter and leave. Returns false if it must be
 * entered. */
bool crn_count_lean(function *function);

/* ---- passes ----------------------------------------------------------------------------- */

opt_pass *crn_pass_const_calls(gcc::context *context);
opt_pass *crn_pass_early(gcc::context *context);
opt_pass *crn_pass_branch(gcc::context *context);
opt_pass *crn_pass_landing_pads(gcc::context *context);
opt_pass *crn_pass_tail(gcc::context *context);
opt_pass *crn_pass_insert(gcc::context *context);
opt_pass *crn_pass_check(gcc::context *context);
opt_pass *crn_pass_expand(gcc::context *context);

#endif
