/* SPDX-License-Identifier: MIT
 *
 * runtime.h - what the parts of libcairn-gcc share.
 */
#ifndef CRN_HOSTS_GCC_RUNTIME_H
#define CRN_HOSTS_GCC_RUNTIME_H

#include "site.h"

/* Called by the stub with all registers saved. */
int64_t crn_site_enter(crn_site *site);
void crn_site_leave(int64_t height);
void crn_site_tail(int64_t height);
int64_t crn_site_enter_guarded(crn_site *site);
uint64_t crn_site_enter_kept(crn_site *site);
void crn_site_leave_kept(uint64_t kept);
void crn_site_tail_kept(uint64_t kept);
uint64_t crn_site_enter_leaf(crn_site *site);
void crn_site_leave_leaf(uint64_t caller);
uint64_t crn_site_enter_light(crn_site *site);
void crn_site_leave_light(uint64_t node_offset);

uint64_t *crn_site_counters(crn_tree *tree);
uint64_t crn_site_go(crn_node *node, uint64_t *word);

void crn_site_small(void);

/* The metric of calls of functions that are left out for being small. */
#define CRN_SMALL_CALLS "small calls"

/* The thread's strand, taken from it until it is released: what a signal handler enters meanwhile,
 * or the runtime, is not recorded, and errno is what it was. NULL if it has none, or it is held
 * already. */
cairn_strand *crn_site_hold(void);
void crn_site_release(cairn_strand *strand);

/* The program has saved where to jump to; atomic. */
extern bool crn_site_jumps __attribute__((visibility("hidden")));

static inline int64_t crn_site_height(const cairn_priv_strand *strand)
{
    return (const char *)strand->top - (const char *)strand->bottom;
}

/* Without what is still above the frame. False if the frame is not there. */
bool crn_site_uncover(cairn_strand *strand, int64_t height);

/* What was entered since the stack had that height is no frame of it any more, but still runs.
 * Gives who called; 0: there was no memory for the frame, and what was entered is over. */
uint64_t crn_site_take_frame(cairn_priv_strand *strand, int64_t before);

/* Whether nothing is above the frame but what a jump to it needs. */
bool crn_site_is_on_top(const cairn_priv_strand *strand, int64_t height);

/* Opens the calling thread's strand, if the process has a profile: what is inlined does not. */
void crn_site_begin_thread(void);

/* The thread has its strand: what it allocates is charged there, if the program wants that. */
void crn_site_follow(cairn_strand *strand);

/* Finds or makes the site's block. The site may be a packed one. */
void crn_site_resolve(crn_site *site, cairn_profile *profile);

const char *crn_site_name(const crn_site *site);

#endif
