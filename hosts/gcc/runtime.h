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

/* The slow path of each event (slow.c), called by stub_x86_64.S with all registers saved. Arguments
 * and results are those of cairn_priv_site_enter and so on (site.h). */
int64_t crn_site_enter(crn_site *site);
void crn_site_leave(int64_t height);
void crn_site_tail(int64_t height);
int64_t crn_site_enter_guarded(crn_site *site);
uint64_t crn_site_enter_saved_caller(crn_site *site);
void crn_site_leave_saved_caller(uint64_t saved);
void crn_site_tail_saved_caller(uint64_t saved);
uint64_t crn_site_enter_leaf(crn_site *site);
void crn_site_leave_leaf(uint64_t caller);

/* Handle the same events while wall time is exact (exact.c). stub_x86_64.S calls these first, with
 * only general registers saved. */
typedef struct crn_exact {
    uint64_t result; /* what the function above would return */
    uint64_t done;   /* false: nothing was done, and the function above has to be called */
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

/* stub_x86_64.S calls these and crn_site_small for the functions of site.h with the same names.
 * `word`: the address of the node's node offset. */
uint64_t *crn_site_counters(crn_tree *tree);
uint64_t crn_site_go(crn_node *node, uint64_t *word);

char *crn_site_lean(crn_lean_group *group);
void crn_site_row(void);
void crn_site_row_entered(void);

/* Sets the calling thread's row to that of the current context of `strand`, which the thread holds.
 * NULL unless the program has counted functions (--lean). */
extern void (*crn_site_follow_row)(cairn_priv_strand *strand);

void crn_site_small(void);

/* Metric: calls of functions left out by --small. */
#define CRN_SMALL_CALLS "small calls"

/* Holds the calling thread's strand: takes it away until crn_site_release, so that events in signal
 * handlers or in the runtime are not recorded. crn_site_release restores errno. Returns NULL if the
 * thread has no strand, if it is held already, and in a child process that records nothing. */
cairn_strand *crn_site_hold(void);
void crn_site_release(cairn_strand *strand);

/* True if signals are blocked each time a strand is held; atomic. */
extern bool crn_site_blocks __attribute__((visibility("hidden")));

/* State of a thread while its strand is held. */
typedef struct crn_held {
    bool busy;       /* the strand is held, or being given to the thread */
    bool blocked;    /* signals are blocked until the strand is released */
    bool deferred;   /* so is asynchronous cancellation; only if `blocked` */
    uint64_t before; /* if blocked: the signal mask to be restored */
    int error;       /* errno when the strand was taken */
    uint32_t period; /* crn_site_period when the thread last got or lost its strand for it */
} crn_held;

extern __thread crn_held crn_site_held
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* All signals but these: synchronous ones cannot wait; abort ends the process after the handler of
 * SIGABRT, which must therefore run at once; and by 33 the C library makes all threads change their
 * user id. It waits until each has done so, for ever if a thread of Cairn was started with 33
 * blocked. The handler of 33 never jumps. This is the kernel's signal set, of 8 bytes; the C
 * library's sigset_t has 128. */
#define CRN_SITE_SIGNAL(number) ((uint64_t)1 << ((number)-1))
#define CRN_SITE_DEFERRABLE                                                                        \
    (~(CRN_SITE_SIGNAL(SIGSEGV) | CRN_SITE_SIGNAL(SIGBUS) | CRN_SITE_SIGNAL(SIGFPE) |              \
       CRN_SITE_SIGNAL(SIGILL) | CRN_SITE_SIGNAL(SIGTRAP) | CRN_SITE_SIGNAL(SIGSYS) |              \
       CRN_SITE_SIGNAL(SIGABRT) | CRN_SITE_SIGNAL(33)))

/* Blocks the deferrable signals, and stores the previous mask. Returns false if that fails. */
static inline bool crn_site_block_signals(uint64_t *before)
{
    const uint64_t all = CRN_SITE_DEFERRABLE;
    return syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, before, sizeof all) == 0;
}

/* Sets the signal mask. The kernel then delivers the signals that have waited. Makes the system
 * call itself, because the C library's function may change vector registers, which are not saved
 * when exact.c calls this. */
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

/* Gives the calling thread a strand for the present period, or takes its strand away while
 * recording is off. Called if the thread's number differs (crn_site_is_behind). NULL in processes
 * that cannot be switched. */
extern void (*crn_site_follow_period)(void) __attribute__((visibility("hidden")));

static inline bool crn_site_is_behind(void)
{
    return crn_site_held.period != __atomic_load_n(&crn_site_period, __ATOMIC_ACQUIRE);
}

/* True if a frame was entered before the present period, or while the thread had no strand.
 * `height`: what the frame's enter returned. */
static inline bool crn_site_is_earlier(const cairn_priv_strand *strand, int64_t height)
{
    return height <= (int64_t)(strand->floor * sizeof *strand->top);
}

/* Installs an action of Cairn's own for one signal. The program does not see this action, and may
 * install another: then `*replaced`, which is atomic, becomes 1. It becomes 1 at once if the
 * program has an action already, or if the system refuses Cairn's. */
void crn_site_install(int number, const struct sigaction *action, uint32_t *replaced);

/* Returns true if the program installs its handlers with this library's sigaction (signals.c), so
 * that signals wait while a strand is held. */
bool crn_site_defers_signals(void);

/* True if signals wait while a strand is held (signals.c). Set before main. */
extern bool crn_site_defers __attribute__((visibility("hidden")));

/* Makes crn_site_hold block signals from now on: for asynchronous cancellation, and for programs
 * that call setjmp but whose signals are not deferred. Thread: any. */
static inline void crn_site_block_when_held(void)
{
    __atomic_store_n(&crn_site_blocks, true, __ATOMIC_RELAXED);
}

/* Notes that the program calls setjmp: then signal handlers may jump. Calls nothing, so that
 * callers need not save registers. */
static inline void crn_site_expect_jumps(void)
{
    if (__builtin_expect(!crn_site_defers && !__atomic_load_n(&crn_site_blocks, __ATOMIC_RELAXED),
                         0))
        crn_site_block_when_held();
}

/* If the calling thread's cancellation is asynchronous, makes it deferred and returns true. */
bool crn_site_defer_cancellation(void) __attribute__((visibility("hidden")));

/* Makes it asynchronous again. If the thread was cancelled meanwhile, it ends here. */
void crn_site_cancel_again(void) __attribute__((visibility("hidden")));

/* Begins a hold: signals and cancellation wait until crn_site_end_hold. */
void crn_site_begin_hold(void) __attribute__((visibility("hidden")));

/* Ends the hold of a strand. Signals and a cancellation that have waited are delivered here. */
static inline void crn_site_end_hold(void)
{
    __asm__ volatile("" ::: "memory");
    crn_site_held.busy = false;
    __asm__ volatile("" ::: "memory");
    if (__builtin_expect(crn_site_held.blocked, 0)) {
        uint64_t before = crn_site_held.before;
        bool deferred = crn_site_held.deferred;
        crn_site_held.blocked = crn_site_held.deferred = false;
        crn_site_restore_signals(before);
        if (deferred)
            crn_site_cancel_again();
    }
}

static inline int64_t crn_site_height(const cairn_priv_strand *strand)
{
    return (const char *)strand->top - (const char *)strand->bottom;
}

/* Drops all frames above the one with that height. Returns false if that one is not on the stack.
 * If it was entered before the present period, drops all frames of the period. */
bool crn_site_uncover(cairn_strand *strand, int64_t height);

/* Pops the frame that was pushed at height `before`; its context stays current. Returns the caller.
 * If there was no memory to push the frame, leaves its function and returns 0. */
uint64_t crn_site_take_frame(cairn_priv_strand *strand, int64_t before);

/* Returns true if nothing is above the frame but its guards, which have the current context. */
bool crn_site_is_on_top(const cairn_priv_strand *strand, int64_t height);

/* Opens the calling thread's strand if the process has a profile. Inlined code opens none.
 * libcairn-time has another function of this name (time.c). */
void crn_site_begin_thread(void);

/* Has the runtime hide its sampling thread from the C library, and with `of_host` the host's
 * thread, if the program's changes of users and groups come to this library. Not in static
 * programs. */
void crn_site_hide_thread(bool of_host);

/* Charges the calling thread's allocations to contexts of its new strand, if the program was linked
 * with --profile=alloc. */
void crn_site_follow(cairn_strand *strand);

/* Finds or makes the site's block and stores it in the site, which may be packed. */
void crn_site_resolve(crn_site *site, cairn_profile *profile);

const char *crn_site_name(const crn_site *site);

#endif
