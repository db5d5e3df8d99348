/* SPDX-License-Identifier: MIT
 *
 * --profile=time: a timer for each thread, whose signal puts a sample into the thread's ring, and
 * one thread that charges the samples (the charging thread).
 */
#include "timed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "interpose.h"
#include "plat/clock.h"
#include "plat/futex.h"
#include "runtime.h"
#include "unwind/unload.h"

/* Defined by programs linked with `cairn cc --profile=time --stack`. */
extern char cairn_priv_time_stack[] __attribute__((weak));

/* The usual period of the timers; the time between two turns of the charging thread. */
enum { PERIOD_NS = 1000000, TURN_NS = 20000000 };

/* After more than QUIET turns without a sample the charging thread sleeps until the next sample, or
 * for SLEEP_NS. */
enum { QUIET = 8, SLEEP_NS = 125000000 };

static crn_futex_lock lock; /* protects `threads`, and charging */
static crn_timed *threads;
static cairn_profile *profile;
static uint64_t period = PERIOD_NS;
static pthread_key_t key;
static bool runs;           /* the charging thread runs */
static crn_unloads unloads; /* nothing is charged meanwhile */

/* The highest real-time signals are the least used; the runtime's own timers use one of them. */
static int signal_number(void)
{
    return SIGRTMAX - 2;
}

/* ---- threads ---- */

static bool start_timer(crn_timed *timed)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal_number()};
    struct timespec each = {(time_t)(period / 1000000000), (long)(period % 1000000000)};
    event._sigev_un._tid = gettid();
    return timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timed->timer) == 0 &&
           timer_settime(timed->timer, 0, &(struct itimerspec){each, each}, NULL) == 0;
}

static void end_thread(void *data)
{
    crn_timed *timed = data;
    timer_delete(timed->timer);
    crn_time_self = NULL;
    __atomic_store_n(&timed->ended, true, __ATOMIC_RELEASE);
}

/* Gives the calling thread a ring and a timer. threads.c calls it at the thread's begin. */
void crn_site_begin_thread(void)
{
    if (!profile || crn_time_self)
        return;
    crn_timed *timed =
        mmap(NULL, sizeof *timed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (timed == MAP_FAILED)
        return;
    prctl(PR_GET_NAME, timed->name);
    if (gettid() == getpid())
        strcpy(timed->name, "main");
    crn_unwind_stack_of_thread(&timed->memory.low, &timed->memory.high);
    crn_time_self = timed;
    if (pthread_setspecific(key, timed) != 0 || !start_timer(timed)) {
        crn_time_self = NULL;
        munmap(timed, sizeof *timed);
        return;
    }
    crn_futex_lock_take(&lock);
    timed->next = threads;
    threads = timed;
    crn_futex_lock_give(&lock);
}

/* ---- the charging thread ---- */

/* Charges the samples of all rings, and frees those of threads that have ended. Returns true if
 * there were samples. The lock is held. */
static bool charge_locked(void)
{
    bool any = false;
    for (crn_timed **place = &threads; *place;) {
        crn_timed *timed = *place;
        bool ended = __atomic_load_n(&timed->ended, __ATOMIC_ACQUIRE);
        any |= crn_time_charge(profile, timed, period);
        if (ended) {
            *place = timed->next;
            cairn_lane_close(cairn_strand_lane(timed->strand));
            munmap(timed, sizeof *timed);
        } else {
            place = &timed->next;
        }
    }
    return any;
}

/* Does not wait for the lock: a handler that has interrupted its holder may wait for the charging
 * thread. */
static bool charge_all(void)
{
    if (!crn_futex_lock_try(&lock))
        return false;
    bool any = !crn_unloads_go_on(&unloads, crn_clock_monotonic()) && charge_locked();
    crn_futex_lock_give(&lock);
    return any;
}

/* The charging thread. While it sleeps, a sample wakes it. */
static void *charge_in_turns(void *data)
{
    unsigned quiet = 0; /* consecutive turns without a sample */
    do {
        quiet = charge_all() ? 0 : quiet + 1;
        __atomic_store_n(&crn_time_sleeps, quiet > QUIET, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* below, charge_all sees each sample whose handler
                                                    did not see crn_time_sleeps */
        if (quiet > QUIET && charge_all())
            quiet = 0;
    } while (cairn_priv_host_thread_wait(quiet > QUIET ? SLEEP_NS : TURN_NS));
    return data;
}

/* ---- unloaded code ---- */

/* Waits, not for long, until the calling thread's samples are charged: they may be of code that is
 * about to be unloaded. */
static void await_charge(void)
{
    enum { MOST_NS = 10000000, STEP_NS = 100000 };
    const crn_timed *self = crn_time_self;
    uint64_t until = crn_clock_monotonic() + MOST_NS;
    while (self && crn_clock_monotonic() < until &&
           !crn_unloads_go_on(&unloads, crn_clock_monotonic()) &&
           __atomic_load_n(&self->read, __ATOMIC_ACQUIRE) !=
               __atomic_load_n(&self->written, __ATOMIC_RELAXED)) {
        cairn_priv_host_thread_wake();
        crn_futex_sleep(STEP_NS);
    }
}

/* Blocks signals meanwhile: a handler that jumps out would leave the lock taken. */
static void begin_unload(void)
{
    uint64_t mask;
    bool blocked = crn_site_block_signals(&mask);
    await_charge();
    uint64_t now = crn_clock_monotonic();
    crn_unloads_begin(&unloads, now);
    if (crn_futex_lock_take_until(&lock, now + CRN_UNLOAD_NS)) /* the present turn is over */
        crn_futex_lock_give(&lock);
    if (blocked)
        crn_site_restore_signals(mask);
}

/* Nothing is charged meanwhile, as the charging thread reads unwinding tables in place; but it goes
 * on soon, as the code's destructors may take long. Afterwards other code may come to the addresses
 * of the unloaded code, whose rules and blocks are cached. */
CRN_EXPORTED int dlclose(void *handle)
{
    CRN_REAL(__typeof__(dlclose), dlclose);
    bool charges = runs && !cairn_priv_process_is_unseen();
    int saved = errno;
    if (charges)
        begin_unload();
    errno = saved;
    int result = crn_unwind_close(real, handle);
    if (charges)
        crn_unloads_end(&unloads);
    return result;
}

/* ---- the process ---- */

/* Stops sampling in a child of fork, because rings and timers are the parent's. */
static void begin_child(void)
{
    crn_time_self = NULL;
    profile = NULL;
    runs = false;
    unloads = (crn_unloads){0};
}

/* Opens the process's profile without wall time, which would be charged to the charging thread. */
static cairn_profile *open_profile(void)
{
    bool is_set = secure_getenv("CAIRN_WALL") != NULL;
    crn_site_hide_thread(true);
    if (!is_set)
        setenv("CAIRN_WALL", "off", 1);
    cairn_profile *opened = cairn_process_profile();
    if (!is_set)
        unsetenv("CAIRN_WALL");
    return opened;
}

static void read_choices(void)
{
    const char *stacks = secure_getenv("CAIRN_STACK"), *text = secure_getenv("CAIRN_PERIOD");
    uint64_t number = text ? strtoull(text, NULL, 10) : 0;
    period = number >= 1000 && number <= 1000000000 ? number : PERIOD_NS;
    crn_time_stacks = stacks ? strcmp(stacks, "on") == 0 : cairn_priv_time_stack != NULL;
}

/* Installs the timers' handler. Returns false if the program uses the signal itself. */
static bool take_signal(void)
{
    struct sigaction action = {.sa_sigaction = crn_time_interrupt,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    struct sigaction before;
    sigfillset(&action.sa_mask);
    return sigaction(signal_number(), NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
           sigaction(signal_number(), &action, NULL) == 0;
}

__attribute__((constructor(102))) static void begin_process(void)
{
    int saved = errno;
    cairn_profile *opened = secure_getenv("CAIRN_OUT") ? open_profile() : NULL;
    if (opened && take_signal() && pthread_key_create(&key, end_thread) == 0) {
        read_choices();
        cairn_profile_note(opened, "host", "time");
        cairn_profile_note(opened, "mode", crn_time_stacks ? "samples of stacks" : "samples");
        cairn_profile_note(opened, "default_metric", "cpu");
        pthread_atfork(NULL, NULL, begin_child);
        profile = opened;
        runs = cairn_priv_host_thread_start(profile, "cairn-time", charge_in_turns, NULL);
        if (runs)
            crn_site_begin_thread();
    }
    errno = saved;
}

__attribute__((destructor)) static void end_process(void)
{
    if (!runs || cairn_priv_process_is_unseen())
        return;
    if (crn_time_self)
        timer_delete(crn_time_self->timer);
    cairn_priv_host_thread_stop();
    while (crn_unloads_go_on(&unloads, crn_clock_monotonic()))
        crn_futex_sleep(1000000);
    charge_all();
    runs = false;
}
