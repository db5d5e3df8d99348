/* SPDX-License-Identifier: MIT
 *
 * site.h - the interface between code compiled by `cairn cc` and libcairn-gcc.
 *
 * A crn_site stands for a block in an object file: the plugin makes such a variable for each
 * function. Its block number is unknown until the first enter. Until then `block` is a number that
 * no cached edge has, so the fast path, at no cost, falls through to the slow one, which finds the
 * block.
 *
 * The inlined code (emit.cc) and the functions that it calls preserve all registers but the few
 * that the assembler statement declares as overwritten. So the fast path need not save registers
 * for the calls of the slow path.
 *
 * A frame's *height* is the number of bytes of the strand's stack that are in use up to its end.
 * Enter returns it and leave takes it, so that leave also drops frames above it that an exception,
 * or longjmp in code that is not profiled, left on the stack.
 */
#ifndef CRN_HOSTS_GCC_SITE_H
#define CRN_HOSTS_GCC_SITE_H

#include <cairn/host.h>
#include <cairn/process.h>

typedef struct crn_site {
    uint32_t block;         /* CRN_SITE_NEW before the first enter */
    uint32_t callee_offset; /* byte offset, in a record, of the callee entry for the block */
    const char *name;
    const char *file;
    uint32_t line, column;
    struct crn_site *parent; /* lexical parent; NULL: none */
    const char *left;        /* what was left out when the file was compiled; NULL: nothing */
    uint32_t flags;          /* CAIRN_PRIV_BLOCK_* */
    void *spare;             /* pads to 64 bytes: hosts/clang finds a site by a shift */
} crn_site;

/* The form in which the plugin writes sites. Pointers are distances from the site: relocations,
 * which pointers need in a relocatable program, would be larger than the site. `line` has the same
 * offset in both forms; CRN_SITE_PACKED in it says that the site is packed. */
typedef struct crn_packed_site {
    uint32_t block;
    uint32_t inline_cache; /* result of cairn_priv_inline_cache_of */
    int32_t name, file;
    int32_t parent, left; /* 0: none */
    uint32_t line;        /* with CRN_SITE_PACKED */
    uint32_t column;      /* with the block's flags (--lean) in the bits from CRN_SITE_FLAGS on */
} crn_packed_site;

#define CRN_SITE_PACKED ((uint32_t)1 << 31)

/* A counter tree (cairn/host.h), written by the plugin. The first node is a function; each other
 * node is a function that was inlined into it. */
typedef struct crn_node {
    uint16_t up;   /* distance to the parent, in nodes; in the first node: number of the others */
    uint16_t same; /* number of the node whose counter it shares; 0: has its own */
    int32_t site;  /* distance from the tree to the site in bytes; 0 in the first node */
} crn_node;

typedef struct crn_tree {
    uint32_t key;      /* CRN_SITE_NEW before the first use, then the key in the lane's `nodes` */
    uint32_t hash;     /* hash of that key */
    crn_node nodes[1]; /* the function's own; those of inlined functions follow */
} crn_tree;

/* --lean: counted functions. Those of a program or shared object form a tree of depth 1, so that
 * each context has a *row* of counters. Each counted function has a thread-local variable, in which
 * it counts without a profile. A row is laid out like these variables, so the linker knows each
 * counter's place.
 *
 * In programs, enter and leave of functions compiled with --lean set cairn_priv_thread_row: the
 * distance from the variables to the row of the current context, 0 without a profile. So a count is
 * two instructions. Code compiled without --lean need not set it, because contexts of such code
 * have their caller's row.
 *
 * A shared object has a *state* for each thread: key and row of the context in which it counted a
 * function last. A program has one, too: its place tells where the program's variables are. */
typedef struct crn_lean_entry {
    int32_t site;  /* distance from this field to the site */
    int32_t place; /* offset of the variable among the thread-local variables */
} crn_lean_entry;

/* One in each program or shared object. */
typedef struct crn_lean_group {
    uint32_t key, hash; /* as in crn_tree */
    int32_t first, end; /* distances from these fields to the begin and end of the entries */
    int32_t place;      /* offset of the state among the thread-local variables */
    int32_t lowest;     /* lowest place of an entry */
} crn_lean_group;

/* No record has this block: the enter of a block that was never added leads to [folded]. */
#define CRN_SITE_NEW ((uint32_t)0xfffffffe)
/* `callee_offset` of a site whose block is CRN_SITE_NEW. Any callee entry will do, as none leads to
 * that block. */
#define CRN_SITE_NEW_CALLEE ((uint32_t)offsetof(cairn_priv_record, callees))

/* The height that enter returns if the thread has no strand: nothing was entered. */
#define CRN_HEIGHT_NONE ((int64_t)0)

/* Flag in a strand's `current` between a tail call and the callee's enter: the current function has
 * given its frame back, and the next enter replaces it. Node offsets are multiplied by 8 before
 * use, which drops this bit. */
#define CRN_REPLACED ((uint64_t)1 << 63)

/* The functions up to cairn_priv_site_leave_leaf are called by inlined code and stubs. Argument and
 * result are in %rax; all other registers are preserved. A number in a name is its version: objects
 * of another version, which would use the inline cache in another way, do not link or start. */
CAIRN_API int64_t cairn_priv_site_enter(crn_site *site);
CAIRN_API void cairn_priv_site_leave(int64_t height);
CAIRN_API void cairn_priv_site_tail(int64_t height);

/* For frames on the strand's stack: pushes the frame, and the entered context above it (guard). */
CAIRN_API int64_t cairn_priv_site_2_enter_guarded(crn_packed_site *site);

/* For functions that save their caller: the frame is not pushed. Enter returns the caller's node
 * offset with the graph's tag, 0 without a strand; leave takes it. */
CAIRN_API uint64_t cairn_priv_site_2_enter_saved_caller(crn_packed_site *site);
CAIRN_API void cairn_priv_site_leave_saved_caller(uint64_t saved);
CAIRN_API void cairn_priv_site_tail_saved_caller(uint64_t saved);

/* For leaf functions: the frame is not pushed. Enter returns the caller's node offset, 0 without a
 * strand; leave takes it. */
CAIRN_API uint64_t cairn_priv_site_2_enter_leaf(crn_packed_site *site);
CAIRN_API void cairn_priv_site_leave_leaf(uint64_t caller);

/* Returns the counters of a tree in the current context; if nothing is recorded, memory that may be
 * written to. Preserves every register except %rax. */
CAIRN_API uint64_t *cairn_priv_site_counters(crn_tree *tree);

/* The address of that memory; NULL before the thread's first use. */
CAIRN_API extern __thread uint64_t *cairn_priv_thread_scratch
    __attribute__((tls_model("initial-exec")));

/* Makes a node of a tree current before a call: enters the functions that it is inlined into, and
 * itself, without counting calls. %r11: the address of the node's node offset. Returns the caller
 * for cairn_priv_site_leave_saved_caller; preserves every other register. */
CAIRN_API uint64_t cairn_priv_site_go(crn_node *node);

/* Count a call of a function left out by --small in the current context. The first preserves every
 * register except %rax; the second has the usual calling convention. */
CAIRN_API void cairn_priv_site_small(void);
CAIRN_API void cairn_priv_call_small(void);

/* Returns the row of the group's counters in the current context; NULL if nothing is recorded. The
 * result is not the address of the first counter: it is as far from that counter as the state is
 * from the lowest of the thread-local variables. Preserves every register except %rax. */
CAIRN_API char *cairn_priv_site_lean(crn_lean_group *group);

/* Called when a program with counted functions is loaded. `state`: offset of the program's state
 * from the thread pointer. */
CAIRN_API void cairn_priv_lean_begin(crn_lean_group *group, int64_t state);

/* Key and hash of the program's group; 0 if the program has no counted functions. */
CAIRN_API extern uint32_t cairn_priv_lean_key[2];

/* Set cairn_priv_thread_row for the current context. Preserve every register. */
CAIRN_API void cairn_priv_site_row(void);
CAIRN_API void cairn_priv_site_row_entered(void); /* after an enter */

/* Enter, leave and tail call with the usual calling convention. */
CAIRN_API int64_t cairn_priv_call_enter(crn_site *site);
CAIRN_API void cairn_priv_call_leave(int64_t height);
CAIRN_API void cairn_priv_call_tail(int64_t height);

/* Make the frame the top of the stack again, with its guard and spans, and its context current.
 * cairn_priv_call_guard is for functions that call setjmp or have a label that other functions jump
 * to. */
CAIRN_API void cairn_priv_call_restore(int64_t height);
CAIRN_API void cairn_priv_call_guard(int64_t height);

/* The state to which a jump back into a counted function (--lean) returns, taken before it calls
 * setjmp: the context around the function and the stack's height. */
typedef struct crn_mark {
    uint64_t saved; /* node offset with the graph's tag; 0 without a strand */
    int64_t height;
} crn_mark;

/* cairn_priv_call_mark returns the mark before setjmp is called. After each return of setjmp,
 * cairn_priv_call_return drops the frames above the mark's height and makes its context current. */
CAIRN_API crn_mark cairn_priv_call_mark(void);
CAIRN_API void cairn_priv_call_return(crn_mark mark);

/* --verify: leaves a frame, and notes in the profile if it was not on top of the stack. */
CAIRN_API void cairn_priv_call_leave_verify(int64_t height, const crn_site *site);

/* Sets a switch: all bits are 1 if the process is recorded, otherwise 0. Keeps it so from then on.
 * Called when a program or shared object that was compiled with --standby is loaded, before its
 * constructors. */
CAIRN_API void cairn_priv_standby_begin(uint32_t *own);
/* Forgets a switch. Called after the destructors of its program or shared object. */
CAIRN_API void cairn_priv_standby_end(uint32_t *own);

/* Registers the sites of a program or shared object, so that those that never ran are known. */
CAIRN_API void cairn_priv_sites_add(crn_packed_site *first, crn_packed_site *last);

#endif
