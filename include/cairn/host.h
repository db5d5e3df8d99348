/* SPDX-License-Identifier: MIT
 *
 * host.h - functions of libcairn that only hosts call.
 *
 * Not installed, and not part of the interface: hosts and library are always of the same version.
 */
#ifndef CAIRN_HOST_H
#define CAIRN_HOST_H

#include <signal.h>

#include "span.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- inline caches and callers saved in machine frames ---- */

/* Returns the distance of a block's inline cache from the first one, in bytes. Returns 0 for blocks
 * without an inline cache: block 0, and blocks for which no space was left. */
CAIRN_API uint32_t cairn_priv_inline_cache_of(cairn_block block);

/* Allocates inline caches, unless they exist or there is no space. */
CAIRN_API void cairn_priv_make_inline_cache(cairn_priv_strand *strand);

/* The leave_tag of a strand whose leaves take the slow path: the tag of no graph. */
#define CAIRN_PRIV_NO_TAG ((uint64_t)1)

/* Returns the node offset, in the strand's present graph, of the caller that was saved as `saved`:
 * a node offset plus the tag of its graph. In a child of fork, the caller's graph may be an older
 * one. Returns 0 if the caller was another thread's. */
CAIRN_API uint64_t cairn_priv_saved_caller(cairn_priv_strand *strand, uint64_t saved);
/* Returns the node that the node at `node_offset` called on the current path; 0 if the caller is
 * not on the path, or is its end. */
CAIRN_API uint64_t cairn_priv_below(cairn_priv_strand *strand, uint64_t node_offset);
/* Returns the node that called the node at `node_offset`; 0 for the root. */
CAIRN_API uint64_t cairn_priv_above(const cairn_priv_strand *strand, uint64_t node_offset);
/* Makes space for one frame. Returns false without memory. */
CAIRN_API bool cairn_priv_room(cairn_priv_strand *strand);
/* Pushes the current node again without counting a call. */
CAIRN_API void cairn_priv_again(cairn_priv_strand *strand);

/* ---- exact wall time, for callers that have saved only general registers ----
 *
 * Both functions do nothing, and return false, unless wall time is exact, measured by the time
 * stamp counter, and nothing else is pending. They change no vector or x87 register. */

/* Charges the current node up to now, makes its callee for `block` current and counts the call. The
 * caller pushes `frames` frames afterwards. Returns false, with the same node current, also if the
 * stack lacks space for the frames or the callee is not cached. */
CAIRN_API bool cairn_priv_exact_step(cairn_priv_strand *strand, cairn_block block, size_t frames);
/* Charges the current node up to now. Returns false if it did nothing. */
CAIRN_API bool cairn_priv_exact_charge(cairn_priv_strand *strand);

/* ---- counters of inlined functions ----
 *
 * The functions inlined into a function form a *tree* of blocks below it. A block that makes no
 * recorded calls need not be entered: one instruction increments its counter. Each context of the
 * function has an array in the capture with one counter for each node of the tree. The array never
 * moves, so the function may keep its address while it runs. Readers of the capture derive the
 * contexts of the nodes. */

/* A node of a counter tree. Nodes are numbered from 1, parents first; 0 is the function itself.
 * Nodes that are always called together share the counter of the first. */
typedef struct cairn_priv_node {
    uint16_t above; /* the node that this node is inlined into; 0: the function itself */
    uint16_t same;  /* the node whose counter this node shares; 0: it has its own */
    cairn_block block;
} cairn_priv_node;

#define CAIRN_PRIV_NODES_MOST 4096u

/* A number above those of all trees and blocks. The sum of this and a tree's number, or of this, a
 * tree's number and a node's number, is a key in the lane's cache for counter trees that no block
 * has. */
#define CAIRN_PRIV_TREE_KEY ((uint32_t)1 << 31)

/* Returns the tree's number, valid for the profile and in children of fork; 0 without space.
 * Thread: any. */
CAIRN_API uint32_t cairn_priv_tree_add(cairn_profile *profile, const cairn_priv_node *nodes,
                                       uint32_t count);

/* Returns the counters of the tree's nodes below the current context; node n's is at n - 1. They
 * are valid as long as the lane, also in children of fork. Returns NULL if nothing is recorded, or
 * without space. Thread: the lane's. */
CAIRN_API uint64_t *cairn_priv_tree_counters(cairn_strand *strand, uint32_t tree);

/* Distance in bytes from a counter to a word that the host may use for the node's context; the word
 * before that of the first node is for the function itself. Initially 0; a child of fork inherits
 * the words. */
#define CAIRN_PRIV_TREE_NODE_OFFSETS 65536

/* Like cairn_priv_tree_counters, but returns NULL if the counters do not exist yet. */
CAIRN_API uint64_t *cairn_priv_tree_known(cairn_strand *strand, uint32_t tree);

/* Stores `value` for a node and a key in the lane's cache for counter trees, which hosts' code
 * searches itself. The key is hashed like a block. Thread: the lane's. */
CAIRN_API void cairn_priv_tree_remember(cairn_lane *lane, uint32_t key, uint32_t node_offset,
                                        uint64_t value);
/* Forgets all such values of a lane: values that are relative to its thread are wrong when the lane
 * gets another thread. Thread: the lane's. */
CAIRN_API void cairn_priv_tree_forget(cairn_lane *lane);

/* Enters all blocks of the path as a single frame, which one leave ends. Counts no calls. Thread:
 * the lane's. */
CAIRN_API void cairn_priv_enter_path(cairn_strand *strand, const cairn_block *path, size_t length);

/* Flags of a block (cairn_block_info) of a program compiled by `cairn cc --lean`. The first: a
 * counted function, which is not entered. The second: it is entered, but could be counted. */
#define CAIRN_PRIV_BLOCK_COUNTED ((uint32_t)1)
#define CAIRN_PRIV_BLOCK_COUNTABLE ((uint32_t)2)

/* ---- threads, children and memory ---- */

/* The calling thread's strand, also between cairn_priv_strand_aside and _back. If the thread has no
 * strand, a dummy whose `current` and `graph_tag` are 0: inlined code reads these two without a
 * test. */
CAIRN_API extern __thread const cairn_priv_strand *cairn_priv_thread_place
    __attribute__((tls_model("initial-exec")));

/* For hosts whose programs count in thread-local variables: the distance in bytes from those to the
 * counters of the current context; 0 without a strand. A program may define this variable in its
 * own TLS segment. */
CAIRN_API extern __thread int64_t cairn_priv_thread_row __attribute__((tls_model("initial-exec")));

/* Take the strand from the calling thread; give it back. In between, a signal handler, the
 * program's own malloc or another fork handler is not counted, and waits for no lock that this
 * thread holds. Pairs nest. Use them around locked sections; in pthread_atfork handlers, first
 * before the fork and last after it. Signal safe. */
CAIRN_API void cairn_priv_strand_aside(void);
CAIRN_API void cairn_priv_strand_back(void);

/* A child process that was made without the handlers of fork (_Fork, clone, system calls) records
 * nothing. Hosts that see it begin call cairn_priv_process_begin_unseen in the child; other hosts
 * call it at their next slow event, when cairn_priv_process_is_unseen returns true: the kernel has
 * set *cairn_priv_process_seen to 0 in such a child. Signal safe. */
CAIRN_API void cairn_priv_process_begin_unseen(void);
CAIRN_API extern const uint32_t *cairn_priv_process_seen;

CAIRN_PRIV_INLINE bool cairn_priv_process_is_unseen(void)
{
    return !*cairn_priv_process_seen;
}

/* Set and return the program's action for SIGBUS, for hosts that define sigaction and signal. The
 * runtime's handler (cairn_catch_fault), installed only with such hosts, stays and calls the
 * program's. The last function returns true if it is installed. Thread: any. */
struct sigaction;
CAIRN_API int cairn_priv_bus_action(const struct sigaction *action, struct sigaction *before);
CAIRN_API void (*cairn_priv_bus_signal(void (*handler)(int), int flags))(int);
CAIRN_API bool cairn_priv_bus_is_caught(void);

/* Returns zeroed memory that is not malloc's, for hosts that may be called inside of malloc; NULL
 * without memory. cairn_priv_free frees it. Thread: any. Signal safe. */
CAIRN_API void *cairn_priv_calloc(size_t count, size_t size);
CAIRN_API void cairn_priv_free(void *memory);

/* Loose spans are recorded on the strand's lane, below its innermost open span, but not on the
 * strand's stack: so they need not nest with its spans, and count no call. Times are readings of
 * cairn_priv_loose_now. A loose span must not begin before the last span of the lane began.
 *
 * cairn_priv_loose_begin returns the span's number on the lane, which the other functions take; 0
 * if it is not recorded: without space, in a tree that is not recorded, or in a ring of spans. The
 * number is invalid in a child of fork. Thread: the strand's. */
CAIRN_API uint64_t cairn_priv_loose_now(const cairn_strand *strand);
CAIRN_API uint32_t cairn_priv_loose_begin(cairn_strand *strand, cairn_block block, uint64_t begin);
CAIRN_API void cairn_priv_loose_end(cairn_strand *strand, uint32_t number, uint64_t end);
CAIRN_API void cairn_priv_loose_waits_for(cairn_strand *strand, uint32_t number, cairn_span other);
CAIRN_API cairn_span cairn_priv_loose_name(const cairn_strand *strand, uint32_t number);

/* Ends the process's profile, as the process's destructors do. Hosts call it before _exit, which
 * runs no destructors. Thread: any. Not signal safe. */
CAIRN_API void cairn_priv_process_end(void);

/* ---- periods ----
 *
 * A process without a profile can be recorded in *periods*: its profile is switched on and off
 * while it runs, and each period has a capture of its own, with figures that begin at 0. */

/* Called when the period's capture is complete, with its path, or with NULL and an error. */
typedef void cairn_priv_period_ended(const char *path, cairn_error error);

/* Begins a period. `out` is the name from which those of captures are made: x.cairn becomes
 * x.PID.1.cairn, x.PID.2.cairn and so on, with %p for the process's number in another place. No
 * file is replaced. Returns the path of the period's capture, unless another program makes that
 * file meanwhile; NULL if the process is ending, or without memory. Thread: any. Not signal safe.
 */
CAIRN_API const char *cairn_priv_period_begin(const char *out, cairn_priv_period_ended *ended);

/* Ends the period: a thread of the runtime writes the capture. Signal safe. */
CAIRN_API void cairn_priv_period_ask_end(void);

/* If `on` is true, gives the calling thread a strand with an empty stack for the present period,
 * and returns the strand; NULL without memory. If it is false, takes the strand from the thread
 * until the thread's next call with true, and returns NULL. Call it once in each thread and period.
 * Not signal safe. */
CAIRN_API cairn_strand *cairn_priv_period_follow(bool on);

/* State of a process that can be switched, for `cairn attach`. It is at the begin of a private
 * mapping that the list of the process's mappings names CAIRN_PRIV_SWITCH_NAME. */
#define CAIRN_PRIV_SWITCH_NAME "/memfd:cairn-switch"
#define CAIRN_PRIV_SWITCH_MAGIC UINT64_C(0x316863746977530a)
typedef struct cairn_priv_switch {
    uint64_t magic;
    int32_t signal; /* switches recording on and off */
    uint32_t taken; /* 1: the program has installed an action of its own for the signal; atomic */
    uint32_t state; /* cairn_priv_switch_state; atomic */
    uint32_t captures; /* number of captures written or failed; stored last; atomic */
    int32_t error;     /* of the last capture: a cairn_error */
    char path[4096];   /* of the last capture, also while it is recorded */
} cairn_priv_switch;

typedef enum cairn_priv_switch_state {
    CAIRN_PRIV_SWITCH_OFF,
    CAIRN_PRIV_SWITCH_WANTED,  /* switched on; the next event of any thread opens the profile */
    CAIRN_PRIV_SWITCH_OPENING, /* a thread opens the profile */
    CAIRN_PRIV_SWITCH_ON,
    CAIRN_PRIV_SWITCH_ENDING /* switched off; the capture is being written */
} cairn_priv_switch_state;

/* ---- descriptors ---- */

/* These functions move the capture's descriptor to the file table of the one thread that records in
 * the process's profile: then the program's threads neither see nor close it.
 *
 * cairn_priv_process_file_take gives the calling thread a table of descriptors of its own, which
 * has the capture's file or, if it is not made yet, none; returns false if the system cannot do
 * this. Then another thread, which cairn_priv_process_file_is_here tells that it has the file,
 * calls cairn_priv_process_file_leave, which closes the program's copy.
 * cairn_priv_process_file_fetch gives the calling thread the file again, before `thread`, which has
 * it, ends. cairn_priv_process_file_can_fetch, called while the calling thread has the file,
 * returns whether fetching it would succeed: not with too few rights, or in a chroot. A child of
 * fork has none of the parent's. */
CAIRN_API bool cairn_priv_process_file_take(void);
CAIRN_API void cairn_priv_process_file_leave(void);
CAIRN_API bool cairn_priv_process_file_is_here(void);
CAIRN_API void cairn_priv_process_file_fetch(int thread);
CAIRN_API bool cairn_priv_process_file_can_fetch(void);

/* Stores the present moment as the one up to which the process's capture is complete, for readers
 * of a live file. The runtime does that itself if the profile records a clock or spans. One thread
 * at a time. */
CAIRN_API void cairn_priv_process_moment(void);

/* Threads of the runtime and its hosts: they have no strand, and do not keep the process alive.
 *
 * The creator blocks all signals, and calls cairn_priv_thread_creates(true) before pthread_create
 * and cairn_priv_thread_creates(false) after it. In between cairn_priv_thread_is_creating returns
 * true in the creator: an interposed pthread_create must then pass the call on unchanged. The new
 * thread reports its begin and end with cairn_priv_thread_is_ours.
 *
 * cairn_priv_program_is_over returns true if all threads of the program have ended and only such
 * threads remain: the caller must then end, too. If the first thread has ended with a status of its
 * own, other than 0, does not return but ends the process with it. Opens no file before the
 * program's threads have ended. Thread: any. */
CAIRN_API void cairn_priv_thread_creates(bool begins);

/* The first function has the runtime hide the sampling thread of the process's profile from the C
 * library where that is possible (src/plat/hidden_thread.h), if `may` returns true when the profile
 * is opened; `of_host`: and the host's thread, which the host then starts. Call it before. Before
 * the program makes a thread or changes its user or groups, the host then calls the second one,
 * which ends the thread if it is hidden. If that returns true, the host calls the third one, which
 * starts the thread again: `shown`: not hidden any more. Signals are blocked in between; `mask`
 * keeps the mask before. Preserve errno. */
typedef bool cairn_priv_may_hide(void);
CAIRN_API void cairn_priv_process_hide_thread(cairn_priv_may_hide *may, bool of_host);
CAIRN_API bool cairn_priv_process_pause_thread(sigset_t *mask);
CAIRN_API void cairn_priv_process_resume_thread(bool shown, const sigset_t *mask);

/* The host's thread for the process's profile. The first function runs `run(data)` on it with all
 * signals but SIGBUS blocked; `name` is the thread's name for the kernel. Returns false if no
 * thread can be made. If the thread may be hidden, `run` keeps to src/plat/hidden_thread.h, and is
 * run anew after a pause. It waits by the second function, for `ns` or until the third one wakes
 * it, which is signal safe, and returns when the second one returns false. The fourth ends the
 * thread. A child of fork has no such thread and must not call the third and fourth function. */
CAIRN_API bool cairn_priv_host_thread_start(cairn_profile *profile, const char *name,
                                            void *(*run)(void *), void *data);
CAIRN_API bool cairn_priv_host_thread_wait(uint64_t ns);
CAIRN_API void cairn_priv_host_thread_wake(void);
CAIRN_API void cairn_priv_host_thread_stop(void);

CAIRN_API bool cairn_priv_thread_is_creating(void);
/* Returns true while the calling thread must not begin a strand: it opens one, or has put its
 * strand aside. */
CAIRN_API bool cairn_priv_thread_is_busy(void);
CAIRN_API void cairn_priv_thread_is_ours(bool begins);
/* Reports the begin and the end of a thread that the C library does not know. The end releases the
 * thread's lanes. */
CAIRN_API void cairn_priv_thread_is_hidden(bool begins);
CAIRN_API bool cairn_priv_program_is_over(void);

#ifdef __cplusplus
}
#endif

#endif
