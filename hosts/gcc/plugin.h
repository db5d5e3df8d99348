/* SPDX-License-Identifier: MIT
 *
 * plugin.h - interfaces between the files of the plugin. Each file includes this one first: GCC's
 * headers, which it includes, must precede all others.
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

/* The plugin's options. */
struct crn_choice {
    bool inlined;       /* enter every function of the source, even if inlined */
    bool frames;        /* enter inlined functions even where a counter would do */
    bool calls;         /* call a function for each event, without inlined code */
    bool alloc;         /* functions keep their frame while they allocate or free */
    bool standby;       /* test a switch before each enter and leave */
    bool verify;        /* check at run time that a frame that is left is on top */
    bool branch;        /* each outcome of a branch is a block */
    bool zero;          /* register sites, to report those that never ran */
    bool clones;        /* clones that GCC makes are blocks of their own */
    bool lean;          /* count the functions called most, without entering them */
    int small;          /* leave out leaf functions with fewer statements than this; 0: none */
    const char *left;   /* for the report: what is left out; NULL: nothing */
    const char *broken; /* for tests of the checker: the marker to omit; "twice": leave twice */
};
extern crn_choice crn_chosen;

/* ---- names.cc --------------------------------------------------------------------------- */

/* Returns the function's name as in the source. GCC's garbage collector or front end owns it. */
const char *crn_name_of(tree function);
/* Returns the name with the clone's suffix if --clones is given, otherwise as crn_name_of. */
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

/* Returns true if the function, which this unit defines, gets enter and leave. */
bool crn_is_profiled(tree function);

/* Returns true if a call of the function certainly runs code with enter and leave: neither linker
 * nor loader can replace it. */
bool crn_is_known_profiled(tree function);

/* ---- site.cc ---------------------------------------------------------------------------- */

void crn_sites_begin(const char *plugin);

/* Makes a static variable that only generated code and tables refer to. `name` begins its assembler
 * name; `align` is in bytes. The caller sets the initial value and finalizes the variable. */
tree crn_variable_make(const char *name, tree type, unsigned align);

/* Returns the variable that is the function's site. */
tree crn_site_of(tree function);
/* Makes a site within a function, such as the outcome of a branch. */
tree crn_site_make(const char *name, location_t place, tree function);
/* Adds flags, CRN_BLOCK_*, to a site made by this run of the compiler. */
void crn_site_mark(tree site, unsigned flags);
/* Return references to the site's fields `block` and `inline_cache`. */
tree crn_site_block(tree site);
tree crn_site_inline_cache(tree site);

/* ---- marker.cc ---------------------------------------------------------------------------- */

/* Kinds of markers: events of a frame. MOVED is a leave that tail.cc moved before the call that it
 * followed. */
enum crn_marker {
    CRN_MARKER_NONE,
    CRN_MARKER_ENTER,
    CRN_MARKER_LEAVE,
    CRN_MARKER_MOVED,
    CRN_MARKER_TAIL,
    CRN_MARKER_RESTORE
};

/* Makes a marker of a frame. `height` identifies the frame: the SSA name that its enter defines. */
gimple *crn_marker_make(crn_marker marker, tree site, tree height, location_t place);
crn_marker crn_marker_of(const gimple *statement);
tree crn_marker_height(const gimple *marker);
tree crn_marker_site(const gimple *marker);

/* Returns a copy of an enter marker that also looks up the counters of the tree `made`, and assigns
 * their address to `counters`. */
gimple *crn_marker_counted(const gimple *enter, tree made, tree counters);
/* Return the `counters` and `made` of such a marker; crn_marker_counters returns NULL for other
 * statements. */
tree crn_marker_counters(const gimple *statement);
tree crn_marker_tree(const gimple *marker);

/* Notes that the function has an enter; clones inherit the note. */
void crn_set_entered(tree function);
bool crn_is_entered(tree function);

/* ---- insert.cc -------------------------------------------------------------------------- */

/* Returns true if the caller's frame must stay on the strand's stack during the call. */
bool crn_must_stay(gcall *call);

/* Returns true for landing pads, and for blocks that other functions jump to. */
bool crn_arrives_without_return(basic_block block);

/* ---- expand.cc ------------------------------------------------------------------------- */

/* Replaces each MOVED marker. If GCC made its call a jump, a LEAVE or TAIL marker takes its place,
 * before the call. Otherwise a LEAVE marker goes behind the call. */
void crn_place_moved_leaves(void);

/* ---- leaf.cc ---------------------------------------------------------------------------- */

/* Returns true if GCC expands the call to instructions, so that it enters nothing. */
bool crn_is_of_machine(const gcall *call);
/* Analyses a function whose markers are about to be expanded. */
void crn_leaf_begin(function *function);
/* Returns the variable that holds the strand if the code of the frame with that height calls
 * nothing. Such a frame is not pushed, and its "height" is the caller's node offset. Otherwise
 * returns NULL. */
tree crn_leaf_strand(tree height);
/* Returns true unless the current function certainly has no red zone. */
bool crn_may_have_red_zone(void);
/* Returns true if the current function certainly calls no profiled function. */
bool crn_calls_nothing(void);

/* ---- saved_caller.cc ------------------------------------------------------------------- */

/* The place that keeps a frame's caller. */
enum crn_storage {
    CRN_PUSHED,      /* on the strand's stack, with a guard above it */
    CRN_SAVED_CALLER /* enter returns the caller, which the function saves and passes to leave */
};
crn_storage crn_storage_of(tree height);
/* With --standby returns the variable in the function's stack frame that holds the saved caller.
 * Nothing writes to the variable while there is no profile. Returns NULL without --standby, with
 * the address sanitizer, if the frame with that height is pushed, and for the saved caller of a
 * counter tree's node. */
tree crn_saved_caller_slot(tree height);

/* Decides how the frames of a function are stored, before its markers are expanded. */
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

/* The names of the stubs (stub.cc), with the version of each. */
#define CRN_STUB_ENTER "cairn_priv_stub_3_enter_guarded"
#define CRN_STUB_ENTER_SAVED_CALLER "cairn_priv_stub_4_enter_saved_caller"
/* --standby: the same for threads that may have no strand yet. The first loads the strand itself,
 * while CRN_STUB_ENTER takes it in %rax. */
#define CRN_STUB_ENTER_STANDBY "cairn_priv_stub_2_enter_guarded_standby"
#define CRN_STUB_ENTER_SAVED_CALLER_STANDBY "cairn_priv_stub_2_enter_saved_caller_standby"
/* Does the same, and takes the site from the instruction behind the call (emit.cc). */
#define CRN_STUB_ENTER_SITE_BEHIND "cairn_priv_stub_2_enter_site_behind"
#define CRN_STUB_LEAVE "cairn_priv_stub_1_leave"
#define CRN_STUB_TAIL "cairn_priv_stub_1_tail_guarded"
#define CRN_STUB_LEAVE_SAVED_CALLER "cairn_priv_stub_2_leave_saved_caller"
#define CRN_STUB_TAIL_SAVED_CALLER "cairn_priv_stub_2_tail_saved_caller"

/* --standby: the switch, 32 bits in each program or shared object; all are 1 while the process is
 * recorded, otherwise 0. */
#define CRN_SWITCH "cairn_priv_switch_3"

/* --lean: the name of a function that calls the stub, then sets the row to that of the current
 * context. */
#define CRN_FOLLOWED(stub) stub "_row"

/* Makes the plugin write the stubs into each object file for which crn_stubs_use was called. */
void crn_stubs_begin(const char *plugin);
/* Notes that the object file that is being compiled calls stubs. */
void crn_stubs_use(void);

/* Returns true if events call functions with the usual calling convention, not stubs. */
bool crn_by_calls(void);

/* Operands of an assembler statement. */
typedef vec<tree, va_gc> crn_operands;
tree crn_operand(const char *constraint, tree value);
/* Makes a volatile assembler statement that calls a stub and defines `outputs`. `clobbered`: the
 * registers that it overwrites. The current function gets no red zone. */
gimple *crn_assemble(const char *text, crn_operands *inputs, crn_operands *outputs,
                     std::initializer_list<const char *> clobbered);

/* Makes a statement that jumps to the label if the switch is on. */
gimple *crn_emit_switch(tree label);

/* Returns true if the leave of the frame with that height is inlined but for its rare part, which
 * crn_emit_leave makes. crn_emit_leave_inline makes the inlined part, which jumps to the label if
 * the rare part must run. */
bool crn_leaves_inline(tree height);
gimple *crn_emit_leave_inline(tree height, tree label);

/* Make the statements that markers expand to. */
gimple *crn_emit_enter(tree site, tree height);
gimple *crn_emit_leave(tree height, tree site);
gimple *crn_emit_tail(tree height);
gimple *crn_emit_restore(tree height);

/* --lean: makes a variable for the mark of a counted function that calls setjmp (crn_mark in
 * site.h), and the statements before and after setjmp. */
tree crn_mark_make(void);
gimple *crn_emit_mark(tree mark);
gimple *crn_emit_return(tree mark);

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

/* Makes a statement that sets `counters` to the address of the counters that the tree `made` has in
 * the current context. */
gimple *crn_emit_counters(tree made, tree counters);

/* Makes a statement to be put before a call. The statement makes the context of node `number`
 * current, and sets `caller` to the saved caller for the leave after the call. */
gimple *crn_emit_go(tree made, tree counters, unsigned number, tree caller);

/* Makes a statement that adds `times` to the node's counter. */
gimple *crn_emit_count(tree counters, unsigned number, unsigned times);

/* Return true for statements of crn_emit_go and crn_emit_count. */
bool crn_is_go(const gimple *statement);
bool crn_is_count(const gimple *statement);
void crn_tree_code_begin(const char *plugin);

/* ---- shared_counters.cc ---------------------------------------------------------------- */

/* The number of calls of a node in a stretch: code without branches, and without calls that may not
 * return. */
struct crn_stretch {
    unsigned node;   /* number of the node in its tree */
    unsigned number; /* number of the stretch */
    unsigned times;
};

/* Lets nodes with equal numbers of calls in each stretch share a counter. */
void crn_share_counters(const auto_vec<crn_stretch> &stretches, auto_vec<crn_tree_node> *nodes);

/* ---- small.cc --------------------------------------------------------------------------- */

/* Adds a counter to the current function, which is left out by --small. */
void crn_count_small(void);

/* ---- lean.cc ---------------------------------------------------------------------------- */

/* Reads the functions to be counted from the file `list`: lines of name, tab, file. If `list` is
 * NULL or "", an estimate chooses them. */
void crn_lean_begin(const char *plugin, const char *list);

/* Writes the stubs that set the row, which call those of stub.cc. */
void crn_lean_write_stubs(void);

/* Returns true if the list or the estimate chooses the function. Its code may still require an
 * enter. */
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
