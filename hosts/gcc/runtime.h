/* SPDX-License-Identifier: MIT
 *
 * runtime.h - internals of libcairn-gcc.
 */
#ifndef CRN_HOSTS_GCC_RUNTIME_H
#define CRN_HOSTS_GCC_RUNTIME_H

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "site.h"

/* Handle events. Called by the stubs (stub_x86_64.S), which have saved all registers. */
int64_t crn_site_enter(crn_site *site);
void crn_site_leave(int64_t height);
void crn_site_tail(int64_t height);
int64_t crn_site_enter_guarded(crn_site *site);
uint64_t crn_site_enter_saved_caller(crn_site *site);
void crn_site_leave_saved_caller(uint64_t saved);
void crn_site_tail_saved_caller(uint64_t saved);
uint64_t crn_site_enter_leaf(crn_site *site);
void crn_site_leave_leaf(uint64_t caller);

/* Handle the same events with exact time (exact.c). Called first, with only general registers
 * saved. */
typedef struct crn_exact {
    uint64_t result;
    uint64_t done; /* false: the functions above have to be called */
} crn_exact;
crn_exact crn_exact_enter(const crn_site *site);
crn_exact crn_exact_leave(int64_t height);
crn_exact crn_exact_tail(int64_t height);
crn_exact crn_exact_enter_guarded(const crn_site *site);
crn_exact crn_exact_enter_saved_caller(const crn_site *site);
crn_exact crn_exact_leave_saved_caller(uint64_t saved);
crn_exact crn_exact_tail_saved_caller(uint64_t saved);
crn_exact crn_exact_enter_leaf(const crn_site *site);
crn_exact crn_exact_leave_leaf(uint64_t caller);

uint64_t *crn_site_counters(crn_tree *tree);
uint64_t crn_site_go(crn_node *node, uint64_t *word);

char *crn_site_lean(crn_lean_group *group);
void crn_site_row(void);
void crn_site_row_entered(void);

/* Sets the thread's row to that of the current context of its strand, which is held. NULL unless
 * the program was compiled with --lean. */
extern void (*crn_site_follow_row)(cairn_priv_strand *strand);

void crn_site_small(void);

/* Metric: calls of functions left out by --small. */
#define CRN_SMALL_CALLS "small calls"

/* Takes the thread's strand away until crn_site_release, so that events in signal handlers or in
 * the runtime are not recorded; preserves errno. Returns NULL if there is no strand or it is taken
 * already. */
cairn_strand *crn_site_hold(void);
void crn_site_release(cairn_strand *strand);

/* True if signals are blocked each time a strand is held; atomic. */
extern bool crn_site_blocks __attribute__((visibility("hidden")));

/* State of a thread while its strand is held. */
typedef struct crn_held {
    bool busy;
    bool blocked;    /* signals are blocked until the strand is released */
    uint64_t before; /* if blocked: the signal mask to be restored */
    int error;       /* errno */
    uint32_t period; /* the crn_site_period that the thread has followed */
} crn_held;

extern __thread crn_held crn_site_held
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* All signals except synchronous ones, SIGABRT, whose handler abort calls, and 33, by which the C
 * library makes all threads change their user id. A handler of 33 never jumps, and the C library
 * waits for it: a Cairn thread that was started with 33 blocked would block it for good. This is
 * the kernel's signal set; the C library's is 16 times as large. */
#define CRN_SITE_SIGNAL(number) ((uint64_t)1 << ((number)-1))
#define CRN_SITE_DEFERRABLE                                                                        \
    (~(CRN_SITE_SIGNAL(SIGSEGV) | CRN_SITE_SIGNAL(SIGBUS) | CRN_SITE_SIGNAL(SIGFPE) |              \
       CRN_SITE_SIGNAL(SIGILL) | CRN_SITE_SIGNAL(SIGTRAP) | CRN_SITE_SIGNAL(SIGSYS) |              \
       CRN_SITE_SIGNAL(SIGABRT) | CRN_SITE_SIGNAL(33)))

/* Blocks the deferrable signals and stores the previous mask. False if that fails. */
static inline bool crn_site_block_signals(uint64_t *before)
{
    const uint64_t all = CRN_SITE_DEFERRABLE;
    return syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, before, sizeof all) == 0;
}

/* Sets the signal mask. The kernel then delivers the signals that have waited. Makes the system
 * call itself, as libc's function may change vector registers, which exact.c has not saved. */
static inline void crn_site_restore_signals(uint64_t before)
{
    long number = SYS_rt_sigprocmask;
    register const void *none __asm__("rdx") = NULL;
    register size_t size __asm__("r10") = sizeof before;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"((long)SIG_SETMASK), "S"(&before), "r"(none), "r"(size)
                     : "rcx", "r11", "memory");
}

/* The number of the present period, odd while recording is on; 0 in processes that were never
 * switched (switch.c). Atomic. A thread's number is in crn_site_held. */
extern uint32_t crn_site_period __attribute__((visibility("hidden")));

/* Gives the calling thread, whose number differs, its strand for the present period, or takes it
 * away. */
extern void (*crn_site_follow_period)(void) __attribute__((visibility("hidden")));

static inline bool crn_site_is_behind(void)
{
    return crn_site_held.period != __atomic_load_n(&crn_site_period, __ATOMIC_ACQUIRE);
}

/* True if a frame was entered before the thread's strand began for the present period. `height`:
 * what its enter returned. */
static inline bool crn_site_is_earlier(const cairn_priv_strand *strand, int64_t height)
{
    return height <= (int64_t)(strand->floor * sizeof *strand->top);
}

/* Installs an action of Cairn's own. The program does not see it, and may replace it: then
 * `*replaced`, which is atomic, becomes 1, at once if the program has an action already. */
void crn_site_install(int number, const struct sigaction *action, uint32_t *replaced);

/* Returns true if the program installs its handlers with this library's sigaction (signals.c), so
 * that signals wait while a strand is held. */
bool crn_site_defers_signals(void);

/* Blocks signals each time a strand is held: for asynchronous cancellation, and for programs that
 * can jump but whose signals are not deferred. Thread: any. */
void crn_site_block_when_held(void);

/* Notes that the program calls setjmp: then signal handlers may jump. */
void crn_site_expect_jumps(void);

/* Ends the hold of a strand. Signals that have waited are delivered here. */
static inline void crn_site_end_hold(void)
{
    __asm__ volatile("" ::: "memory");
    crn_site_held.busy = false;
    __asm__ volatile("" ::: "memory");
    if (__builtin_expect(crn_site_held.blocked, 0)) {
        uint64_t before = crn_site_held.before;
        crn_site_held.blocked = false;
        crn_site_restore_signals(before);
    }
}

static inline int64_t crn_site_height(const cairn_priv_strand *strand)
{
    return (const char *)strand->top - (const char *)strand->bottom;
}

/* Drops all frames above the one with that height. Returns false if that one is not on the
 * stack. */
bool crn_site_uncover(cairn_strand *strand, int64_t height);

/* Pops the frame that was pushed at height `before`; its context stays current. Returns the caller.
 * Without memory returns 0 and leaves the function. */
uint64_t crn_site_take_frame(cairn_priv_strand *strand, int64_t before);

/* Returns true if nothing is above the frame except its guard and spans. */
bool crn_site_is_on_top(const cairn_priv_strand *strand, int64_t height);

/* Opens the calling thread's strand if the process has a profile. Inlined code opens none. */
void crn_site_begin_thread(void);

/* Charges the thread's allocations to its new strand, if built with --profile=alloc. */
void crn_site_follow(cairn_strand *strand);

/* Finds or makes the site's block and stores it in the site, which may be packed. */
void crn_site_resolve(crn_site *site, cairn_profile *profile);

const char *crn_site_name(const crn_site *site);

#endif
