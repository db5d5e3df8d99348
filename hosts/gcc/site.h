/* SPDX-License-Identifier: MIT
 *
 * site.h - what code that `cairn cc` has compiled and libcairn-gcc agree on.
 *
 * A *site* is a block of the program's source as its object file has it: a variable that the
 * plugin makes for each function. Its block is unknown until the first Enter there: then
 * `block` is no block that a slot can have, so that the fast path falls through to the slow one,
 * which finds out. That costs the fast path nothing.
 *
 * What is inlined at Enter and Leave is in emit.cc. It keeps all registers but those that it
 * names, and so do the functions that it calls when something unusual is due: code on the fast
 * path is not made to save registers for a call that it does not make.
 *
 * A *height* is how many bytes of its strand's stack are in use with the frame itself. Enter
 * gives it, and Leave takes it, so that whatever was left on the stack above (a longjmp in code
 * that is not profiled, an exception) goes with the frame.
 */
#ifndef CRN_HOSTS_GCC_SITE_H
#define CRN_HOSTS_GCC_SITE_H

#include <cairn/process.h>

typedef struct crn_site {
    uint32_t block; /* CRN_SITE_NEW before the first Enter */
    uint32_t slot;  /* where in a record the slot is that the block may be in; bytes */
    const char *name;
    const char *file;
    uint32_t line, column;
    struct crn_site *parent; /* that it is written inside of; NULL: none */
    const char *left;        /* what was left out when its file was compiled; NULL: nothing */
    void *spare[2];
} crn_site;

/* The same as the plugin writes it. What it points to is told as a distance from the site itself,
 * so that a program that is loaded anywhere needs no relocation for it, which would be larger than
 * the site. Which of the two a site is is told by `line`, where both have it. */
typedef struct crn_packed_site {
    uint32_t block;
    uint32_t inline_cache; /* cairn_priv_inline_cache_of it */
    int32_t name, file;
    int32_t parent, left; /* 0: none */
    uint32_t line;        /* with CRN_SITE_PACKED */
    uint32_t column;
} crn_packed_site;

#define CRN_SITE_PACKED ((uint32_t)1 << 31)

/* What was inlined into a function is a *tree* that the plugin makes for each function: calls of
 * what makes no calls itself are counters (cairn/tree.h). Its first node is the function, which
 * tells how many there are; of the others it tells by how many the one that it is inlined into is
 * before it. */
typedef struct crn_node {
    uint16_t up;
    uint16_t same; /* number of the node whose counter counts for it; 0: its own */
    int32_t site;  /* distance from the tree; of the first: 0 */
} crn_node;

typedef struct crn_tree {
    uint32_t key;      /* CRN_SITE_NEW before the first use, and then a key among blocks */
    uint32_t hash;     /* of that, as ways are looked up */
    crn_node nodes[1]; /* and those that are inlined */
} crn_tree;

/* No block has this number: those that run out are CAIRN_BLOCK_FOLDED. */
#define CRN_SITE_NEW ((uint32_t)0xfffffffe)

/* Of a frame that was not entered: there was no strand. */
#define CRN_HEIGHT_NONE ((int64_t)0)

/* Set in a strand's `current` between a tail call and the callee's Enter: what runs has given its
 * frame back already, and the next Enter takes its place instead of being called by it. A unit
 * is multiplied by 8 before it is used, so that this bit falls off. */
#define CRN_REPLACED ((uint64_t)1 << 63)

/* What is called by inlined code. Both preserve every register but %rax; the argument is in %rax,
 * and the result. */
CAIRN_API int64_t cairn_priv_site_enter(crn_site *site);
CAIRN_API int64_t cairn_priv_site_enter_slowly(crn_packed_site *site); /* no way is known */
CAIRN_API int64_t cairn_priv_site_enter_frame(crn_packed_site *site);  /* a guess was wrong */
CAIRN_API void cairn_priv_site_leave(int64_t height);
CAIRN_API void cairn_priv_site_tail(int64_t height);

/* Of functions that control may come back to by jumps: above the frame lies what it runs. */
CAIRN_API int64_t cairn_priv_site_enter_guarded(crn_packed_site *site);
CAIRN_API int64_t cairn_priv_site_enter_counted(crn_packed_site *site); /* the same, if called */

/* Of functions that keep who called. Their frame is not pushed: Enter gives the unit of the context
 * that called, with the strand's mark, 0 if there is no strand, and Leave takes it. */
CAIRN_API uint64_t cairn_priv_site_enter_kept(crn_packed_site *site);
CAIRN_API void cairn_priv_site_leave_kept(uint64_t kept);
CAIRN_API void cairn_priv_site_tail_kept(uint64_t kept);

/* Of functions that call nothing. Their frame is not pushed: Enter gives the unit of the context
 * that called, 0 if there is no strand, and Leave takes it. */
CAIRN_API uint64_t cairn_priv_site_enter_leaf(crn_packed_site *site);
CAIRN_API void cairn_priv_site_leave_leaf(uint64_t caller);

/* The same where what called stays what runs: Enter gives the unit of the context that is entered,
 * and Leave takes it. */
CAIRN_API uint64_t cairn_priv_site_enter_light(crn_packed_site *site);
CAIRN_API void cairn_priv_site_leave_light(uint64_t node_offset);

/* Where the counters of a tree are, of the context that runs; where none are, they may be written
 * to. Preserves every register but %rax. */
CAIRN_API uint64_t *cairn_priv_site_counters(crn_tree *tree);

/* What is written to by a thread without a strand; NULL before the first time. */
CAIRN_API extern __thread uint64_t *cairn_priv_thread_scratch
    __attribute__((tls_model("initial-exec")));

/* A node of a tree runs, with all that it is inlined into: what it calls is to know. Counts no
 * call. %r11: the word for its unit. Gives what ran, as Enter of functions that keep who called
 * does, and keeps every other register. */
CAIRN_API uint64_t cairn_priv_site_go(crn_node *node);

/* A call of what is left out for being small, in the context that runs. Preserves every register
 * but %rax. */
CAIRN_API void cairn_priv_site_small(void);
CAIRN_API void cairn_priv_call_small(void);

/* The same by the usual convention, and for where only this will do. */
CAIRN_API int64_t cairn_priv_call_enter(crn_site *site);
CAIRN_API int64_t cairn_priv_call_enter_guarded(crn_site *site);
CAIRN_API void cairn_priv_call_leave(int64_t height);
CAIRN_API void cairn_priv_call_tail(int64_t height);

/* The frame is the top of the stack again, but for what lies above it to tell what it runs, and
 * that runs: where an exception is caught, and after setjmp, where a signal handler may jump to. */
CAIRN_API void cairn_priv_call_restore(int64_t height);
CAIRN_API void cairn_priv_call_guard(int64_t height);

/* As call_enter and so on, for programs compiled with --verify: a frame that is not on top of the
 * stack when it is left, although nothing has thrown, is counted. */
CAIRN_API void cairn_priv_call_leave_verify(int64_t height, const crn_site *site);

/* Sites of a shared object, so that those that never ran are known. */
CAIRN_API void cairn_priv_sites_add(crn_packed_site *first, crn_packed_site *last);

#endif
