/* SPDX-License-Identifier: MIT
 *
 * plugin.h - what the parts of the plugin share. GCC's headers must come first.
 */
#ifndef CRN_HOSTS_GCC_PLUGIN_H
#define CRN_HOSTS_GCC_PLUGIN_H

/* Each needs those before it. */
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

/* What was asked for on the command line. */
struct crn_choice {
    bool inlined;       /* functions of the source are entered, wherever they are inlined */
    bool frames;        /* what is inlined is entered, even where a counter would do */
    bool calls;         /* call functions instead of inlining */
    bool alloc;         /* who allocates stays on the stack */
    bool verify;        /* frames are compared at run time */
    bool branch;        /* ways of branches are blocks */
    bool zero;          /* what never ran is to be known */
    bool clones;        /* clones that GCC makes are blocks of their own */
    int small;          /* leaf functions of fewer statements are left out; 0: none */
    const char *left;   /* for the report: what is left out; NULL: nothing */
    const char *broken; /* for tests of the checker: what is left out */
};
extern crn_choice crn_chosen;

/* ---- names.cc --------------------------------------------------------------------------- */

/* What a person calls the function. Garbage-collected, or the front end's. */
const char *crn_name_of(tree function);
/* With what tells it from its other clones, if they are to be told apart. */
const char *crn_clone_name_of(tree function);

/* ---- choose.cc -------------------------------------------------------------------------- */

/* Takes an argument of the plugin that says what is taken in or left out; false if it is another.
 */
bool crn_choose(const char *key, const char *value);

/* __attribute__((cairn_skip)), [[cairn::skip]]. */
void crn_attributes_register(void *event, void *data);

/* Resolvers of indirect functions and what they call are left out, and code that returns by other
 * means than a return. */
void crn_early_leave_out(void *event, void *data);
bool crn_returns_oddly(function *function);

/* Whether it is a call of Cairn's own interface, in C or C++: what enters and leaves by hand. */
bool crn_is_of_cairn(const gcall *call);

/* Whether it calls nothing, and has fewer statements than was said. */
bool crn_is_small_leaf(function *function);

/* Whether the function gets Enter and Leave. Of one that is defined here. */
bool crn_is_profiled(tree function);

/* Whether a call of the function runs code that gets Enter and Leave: that code, and no
 * other that the linker or the loader could put in its place. */
bool crn_is_known_profiled(tree function);

/* ---- site.cc ---------------------------------------------------------------------------- */

void crn_sites_begin(const char *plugin);
/* The function's site: a variable. */
tree crn_site_of(tree function);
/* Another one, of something in a function. */
tree crn_site_make(const char *name, location_t place, tree function);
tree crn_site_block(tree site);
tree crn_site_inline_cache(tree site);

/* ---- mark.cc ---------------------------------------------------------------------------- */

/* What happens to a frame. MOVED is a Leave that lies before the call that it came behind of. */
enum crn_mark {
    CRN_MARK_NONE,
    CRN_MARK_ENTER,
    CRN_MARK_LEAVE,
    CRN_MARK_MOVED,
    CRN_MARK_TAIL,
    CRN_MARK_RESTORE
};

/* A statement that is a mark, of the frame whose height that is: an SSA name that Enter makes. */
gimple *crn_mark_make(crn_mark mark, tree site, tree height, location_t place);
crn_mark crn_mark_of(const gimple *statement);
tree crn_mark_height(const gimple *mark);
tree crn_mark_site(const gimple *mark);

/* The Enter in place of another, which gives a tree's counters, too; NULL if the statement is none.
 */
gimple *crn_mark_counted(const gimple *enter, tree made, tree counters);
tree crn_mark_counters(const gimple *statement);
tree crn_mark_tree(const gimple *mark);

/* That the function has got an Enter of its own; clones have it, too. */
void crn_set_entered(tree function);
bool crn_is_entered(tree function);

/* ---- insert.cc -------------------------------------------------------------------------- */

/* Whether a call must be made while its function is on the stack. */
bool crn_must_stay(gcall *call);

/* ---- settle.cc -------------------------------------------------------------------------- */

/* Moved Leaves are where they belong: before what has become a jump, or behind what has not. */
void crn_settle(void);

/* ---- leaf.cc ---------------------------------------------------------------------------- */

/* Whether what is called is but instructions, in this place: nothing is entered. */
bool crn_is_of_machine(const gcall *call);
/* Looks at a function whose marks are to become code. */
void crn_leaf_begin(function *function);
/* Where Enter keeps the strand, if the function calls nothing, so that the frame is not pushed;
 * else NULL. Then what is called a height is the unit of the context that called. */
tree crn_leaf_strand(tree height);
/* Whether it has no loop either, and nothing that asks what runs: then that stays what called, and
 * what is called a height is the function's own unit. */
bool crn_leaf_is_light(void);
/* Whether the statement is nothing that calls, and no mark but an Enter or a Leave. */
bool crn_is_quiet(gimple *statement);

/* ---- kept.cc ---------------------------------------------------------------------------- */

/* Where a frame is. */
enum crn_where {
    CRN_PUSHED,  /* on the strand's stack */
    CRN_GUARDED, /* there, and above each what it runs: control may come back by jumps */
    CRN_KEPT     /* Enter gives what called, which the function keeps, and Leave takes it */
};
crn_where crn_where_is(tree height);

/* Looks at a function whose marks are to become code. Until then its frames are to be pushed. */
void crn_kept_begin(function *function);
void crn_kept_end(void);

/* ---- late.cc ---------------------------------------------------------------------------- */

/* All marks of a function whose frame is better pushed before the first call become code. False if
 * it is none: nothing has been done. */
bool crn_late_expand(function *function);

/* ---- emit.cc ---------------------------------------------------------------------------- */

/* Where in a strand what they read is: as text. */
#define CRN_AT_TOP "0"
#define CRN_AT_HIGH "8"
#define CRN_AT_LOW "16"
#define CRN_AT_CURRENT "24"
#define CRN_AT_LANE "32"
#define CRN_AT_BOTTOM "40"
#define CRN_AT_MARK "64"
#define CRN_AT_LEAVING "72"
#define CRN_AT_BASE "80"
#define CRN_AT_INLINE_CACHE "88"
/* And in a lane. */
#define CRN_AT_NODES "96"
#define CRN_AT_NODE_MASK "104"
#define CRN_AT_LANE_INLINE_CACHE "112"
/* And from a tree's counter to the unit of its node. */
#define CRN_COUNTERS_TO_NODE_OFFSETS 65536

/* Which of a block's guesses is meant: the upper bits of a product of the stack pointer, or a unit
 * twice, which is in bytes. */
#define CRN_INLINE_CACHE_FACTOR "0x9e3779b1"
#define CRN_INLINE_CACHE_SHIFT "27"
#define CRN_GUESS_MASK "248"

#define CRN_STUB_ENTER "cairn_priv_stub_4_enter"
#define CRN_STUB_LEAVE "cairn_priv_stub_1_leave"
#define CRN_STUB_TAIL "cairn_priv_stub_2_tail"
#define CRN_STUB_LEAVE_KEPT "cairn_priv_stub_2_leave_kept"
#define CRN_STUB_TAIL_KEPT "cairn_priv_stub_2_tail_kept"
#define CRN_STUB_ENTER_GUARDED "cairn_priv_stub_2_enter_guarded"
#define CRN_STUB_TAIL_GUARDED "cairn_priv_stub_1_tail_guarded"

/* Those functions are written into each object file that calls them. */
void crn_stubs_begin(const char *plugin);
void crn_stubs_use(void);

/* Whether functions are called for all of it, by the usual convention. */
bool crn_by_calls(void);

/* The statements that marks become. */
gimple *crn_emit_enter(tree site, tree height);
gimple *crn_emit_leave(tree height, tree site);
gimple *crn_emit_tail(tree height);
gimple *crn_emit_restore(tree height);
/* Of a frame that is not pushed, or not yet, while what called stays what runs: the unit and the
 * strand are what Enter gives. `pushed` is its height where it may be pushed already, then 0 says
 * that it is not; else NULL. */
gimple *crn_emit_enter_late(tree site, tree node_offset, tree strand);
gimple *crn_emit_push(tree height, tree pushed, tree node_offset, tree strand);
gimple *crn_emit_leave_light(tree pushed, tree node_offset, tree strand);
gimple *crn_emit_tail_light(tree pushed, tree node_offset, tree strand);

/* ---- tree.cc ---------------------------------------------------------------------------- */

/* In place of the frames of what is inlined: counters of calls, where that can be. */
void crn_tree_count(function *function);

/* ---- tree_code.cc ----------------------------------------------------------------------- */

/* What is inlined into a function, each after what it is inlined into: which counts from 1, and is
 * 0 for the function itself. */
struct crn_tree_node {
    tree site;
    unsigned above;
    unsigned same; /* whose counter is its, too: one before it; 0: it has its own */
};

/* The variable that says so; the statements that refer to it. Counters are found by Enter, or
 * behind it. */
tree crn_tree_make(const auto_vec<crn_tree_node> &nodes);
gimple *crn_emit_enter_counted(tree site, tree height, tree made, tree counters);
gimple *crn_emit_counters(tree made, tree counters);
gimple *crn_emit_go(tree made, tree counters, unsigned number, tree height);
gimple *crn_emit_count(tree counters, unsigned number, unsigned times);
bool crn_is_go(const gimple *statement);
bool crn_is_count(const gimple *statement);
void crn_tree_code_begin(const char *plugin);

/* ---- alike.cc --------------------------------------------------------------------------- */

/* A node is called so many times in a stretch of code, which is left at no other place than its
 * end. */
struct crn_stretch {
    unsigned node, number, times;
};

/* Nodes that are called equally often in each stretch need but one counter. */
void crn_find_alike(const auto_vec<crn_stretch> &stretches, auto_vec<crn_tree_node> *nodes);

/* ---- small.cc --------------------------------------------------------------------------- */

/* The current function, which is left out for being small, counts its calls. */
void crn_count_small(void);

/* ---- passes ----------------------------------------------------------------------------- */

opt_pass *crn_pass_honest(gcc::context *context);
opt_pass *crn_pass_early(gcc::context *context);
opt_pass *crn_pass_branch(gcc::context *context);
opt_pass *crn_pass_pads(gcc::context *context);
opt_pass *crn_pass_tail(gcc::context *context);
opt_pass *crn_pass_insert(gcc::context *context);
opt_pass *crn_pass_check(gcc::context *context);
opt_pass *crn_pass_expand(gcc::context *context);

#endif
