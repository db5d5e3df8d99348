/* SPDX-License-Identifier: MIT
 *
 * Begins sampling with the program, ends it with the program, and begins it in children of fork.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cairn/host.h"

#include "../native/code.h"
#include "interpreter.h"
#include "plat/futex.h"
#include "plat/hidden_thread.h"
#include "plat/thread.h"
#include "sample.h"
#include "unwind/unload.h"

enum {
    LOOK_NS = 10000000,       /* between two looks at all threads */
    LOOK_IDLE_NS = 100000000, /* while none of them runs */
    CHILD_NS = 2000000,       /* before the first look in a child of fork: most call exec at once */
    PERIOD_LEAST = 10000,     /* ns */
    PERIOD_USUAL = 1000000,   /* ns */
    STACK_LEAST = 256 * 1024, /* bytes */
    ROUND_MS = 10,            /* longest wait for a round before code is unloaded */
    END_MS = 2000, /* longest wait for the collector at the program's end, which must come */
    EXIT_MS = 200  /* the same in _exit, which may run in a signal handler inside malloc */
};

typedef enum { END_NOT, END_RUN, END_PAUSE } ending;

/* Tables of descriptors that have the capture's: SHARED: one table of the program and the
 * collector; COPIED: a table of each; APART: the collector's alone. */
typedef enum { FILES_SHARED, FILES_COPIED, FILES_APART } files_place;

/* The keeper is a thread with the program's table of descriptors that waits for the collector. So
 * the last thread of the process, which calls exit handlers, has the program's descriptors. There
 * is none beside a hidden collector: no exit handler runs after the program's threads. */
typedef enum { KEEPER_STARTS, KEEPER_RUNS, KEEPER_FAILED, KEEPER_NONE } keeper_state;

static struct {
    pthread_t thread, keeper;
    crn_hidden_thread out_of_sight; /* in place of `thread`, if `hidden` */
    bool may_hide;                  /* the collector may be hidden from the C library */
    bool hidden;                    /* it is */
    keeper_state keeps;             /* under the lock */
    int status;        /* of the process, if the collector and the keeper are its last threads */
    bool is_child;     /* the process is a child of fork: see CHILD_NS */
    bool running;      /* the collector's thread has been started */
    bool failed;       /* the collector could not be started again after a pause */
    pid_t process;     /* in which it was started; a child of vfork has another id, but the same
                          memory */
    ending ending;     /* atomic; changed under the lock, except by filtered threads, and by the
                          collector when the program's threads have ended */
    bool ended;        /* the collector is done; atomic */
    bool looked;       /* at a pause: the collector's last look is done; under the lock */
    bool fetched;      /* at a pause: the pausing thread has the capture's file; under the lock */
    bool late;         /* a pause was given up: the run ends instead; under the lock */
    files_place files; /* under the lock */
    bool files_stay;   /* the program keeps its descriptor of the capture, because it could not
                          fetch one from the collector for the next pause */
    pid_t number;      /* of the collector's thread */
    pid_t keeper_number;
    crn_futex_lock replaced; /* held from crn_sample_pause to crn_sample_go_on */
    crn_futex_lock lock;
    uint32_t changes;       /* number of changes under the lock that threads wait for; atomic */
    bool wanted;            /* a thread waits for a round; under the lock */
    uint32_t rounds;        /* number of rounds that threads have waited for; under the lock */
    crn_unloads unloads;    /* there are no rounds meanwhile */
    crn_futex_lock working; /* held while the collector works, so that no fork sees it half done */
    sigset_t forking_mask;  /* of the thread that forks; under `working` */
    uint64_t period_ns;     /* of processor time between two samples of a thread */
    cairn_profile *profile;
} collector;

/* ---- the lock ----
 *
 * Threads hold it for moments, with signals blocked: a handler may make changes that need it. */

/* Waits for a change, at most until `until` (CLOCK_MONOTONIC, ns; 0: without limit). Releases the
 * lock meanwhile. May return early. */
static void await_change(uint64_t until)
{
    uint32_t seen = __atomic_load_n(&collector.changes, __ATOMIC_RELAXED);
    crn_futex_lock_give(&collector.lock);
    crn_futex_wait(&collector.changes, seen, until, false);
    crn_futex_lock_take(&collector.lock);
}

/* Tells the waiting threads of a change. Under the lock. */
static void announce(void)
{
    __atomic_fetch_add(&collector.changes, 1, __ATOMIC_RELEASE);
    crn_futex_wake_all(&collector.changes);
}

static uint64_t after_ms(uint64_t ms)
{
    return crn_sample_clock(CLOCK_MONOTONIC) + ms * 1000000;
}

/* Blocks the program's signals. SIGBUS stays: if it were blocked, a fault in the capture would end
 * the process. `before`: the mask before. */
static void block_signals(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    crn_sample_mask(SIG_BLOCK, &all, before);
}

/* ---- the collector ---- */

static bool is_going_on(void)
{
    return __atomic_load_n(&collector.ending, __ATOMIC_ACQUIRE) == END_NOT;
}

/* Returns false while code is unloaded: a round reads the tables of code that samples found. */
static bool can_look(void)
{
    return is_going_on() &&
           !crn_unloads_go_on(&collector.unloads, crn_sample_clock(CLOCK_MONOTONIC));
}

static void round_run(void)
{
    crn_futex_lock_take(&collector.working);
    if (can_look()) {
        crn_sample_threads_scan(collector.profile, crn_sample_finish);
        crn_sample_threads_look(crn_sample_sleeps_on, crn_sample_look);
        cairn_priv_process_moment();
    }
    crn_futex_lock_give(&collector.working);
    crn_futex_lock_take(&collector.lock);
    if (collector.wanted) {
        collector.wanted = false;
        collector.rounds++;
        announce();
    }
    crn_futex_lock_give(&collector.lock);
}

/* Makes the threads' entries in a child of fork that ends before the first round. */
static void find_threads(void)
{
    crn_futex_lock_take(&collector.working);
    crn_sample_threads_scan(collector.profile, crn_sample_finish);
    crn_futex_lock_give(&collector.working);
}

/* Waits, not for long, until no code is being unloaded. */
static void await_unloads(void)
{
    while (crn_unloads_go_on(&collector.unloads, crn_sample_clock(CLOCK_MONOTONIC)))
        crn_futex_sleep(1000000);
}

static void end_run(void)
{
    await_unloads();
    crn_futex_lock_take(&collector.working);
    crn_sample_threads_each(crn_sample_look);
    crn_sample_threads_each(crn_sample_settle);
    crn_sample_threads_end(false);
    crn_sample_note(collector.profile);
    crn_futex_lock_give(&collector.working);
}

/* Waits for `gap` ns, or until the collector is asked to end; returns false in that case. */
static bool wait_for(uint64_t gap)
{
    uint64_t until = crn_sample_clock(CLOCK_MONOTONIC) + gap;
    crn_futex_lock_take(&collector.lock);
    while (is_going_on() && !collector.wanted && crn_sample_clock(CLOCK_MONOTONIC) < until)
        await_change(until);
    crn_futex_lock_give(&collector.lock);
    return is_going_on();
}

/* Waits for the next round. Each gap is twice the last one while no thread runs. */
static bool wait_for_next(uint64_t *gap)
{
    *gap = crn_sample_was_busy() ? LOOK_NS : *gap * 2 < LOOK_IDLE_NS ? *gap * 2 : LOOK_IDLE_NS;
    return wait_for(*gap);
}

/* Gives the collector its own table of descriptors: its files take no descriptor that the program
 * may expect, and the program finds no file of Cairn's. */
static void take_files(void)
{
    crn_futex_lock_take(&collector.lock);
    while (collector.keeps == KEEPER_STARTS)
        await_change(0);
    bool own = collector.keeps != KEEPER_FAILED && cairn_priv_process_file_take();
    collector.number = gettid();
    collector.files = own && collector.files == FILES_SHARED ? FILES_COPIED : FILES_APART;
    announce();
    while (collector.files != FILES_APART)
        await_change(0);
    crn_futex_lock_give(&collector.lock);
    crn_sample_threads_begin(collector.period_ns, own);
}

/* Waits until the collector has the capture's file in its own table, then closes the file in the
 * program's table, unless it is to stay. */
static void leave_files(void)
{
    crn_futex_lock_take(&collector.lock);
    while (collector.files == FILES_SHARED)
        await_change(0);
    if (collector.files == FILES_COPIED && !collector.files_stay)
        cairn_priv_process_file_leave();
    collector.files = FILES_APART;
    announce();
    crn_futex_lock_give(&collector.lock);
}

/* Looks at the threads until they have all ended, the process ends, or a pause begins. Returns true
 * if they have all ended. */
static bool look_on(void)
{
    uint64_t gap = LOOK_NS;
    bool gone = false;
    if (collector.is_child && !wait_for(CHILD_NS)) {
        find_threads();
        return false;
    }
    do {
        round_run();
        gone = gap > LOOK_NS && crn_sample_threads_are_gone(&collector.status);
    } while (!gone && wait_for_next(&gap));
    if (gone) /* all threads of the program have ended: end the process, too */
        __atomic_store_n(&collector.ending, END_RUN, __ATOMIC_RELEASE);
    return gone;
}

/* At a pause: waits until the pausing thread has fetched the capture's file from this thread's
 * table, and returns true. Returns false if the run ends. */
static bool await_fetch(void)
{
    crn_futex_lock_take(&collector.lock);
    bool pauses = collector.ending == END_PAUSE;
    collector.looked = pauses;
    announce();
    while (pauses && !collector.fetched)
        await_change(0);
    crn_futex_lock_give(&collector.lock);
    return pauses;
}

static void begin_thread(void)
{
    syscall(SYS_prctl, PR_SET_NAME, "cairn-sample"); /* prctl() of filter.c would look for libc's */
    cairn_priv_thread_is_ours(true);
    if (collector.hidden)
        cairn_priv_thread_is_hidden(true);
}

/* If the program's threads have all ended, a hidden collector is the last thread, and ends the
 * process. */
static void end_thread(bool gone)
{
    if (collector.hidden)
        cairn_priv_thread_is_hidden(false);
    cairn_priv_thread_is_ours(false);
    if (collector.hidden && gone)
        crn_sample_leave(collector.status);
}

static void *collect(void *data)
{
    (void)data;
    begin_thread();
    take_files();
    bool gone = look_on();
    if (!await_fetch()) {
        end_run();
        cairn_priv_process_end(); /* here, where the capture's file is open */
    }
    end_thread(gone);
    __atomic_store_n(&collector.ended, true, __ATOMIC_RELEASE);
    return gone ? &collector : NULL;
}

/* Waits for the collector. If the program's threads have all ended, the keeper is the last thread,
 * so the process ends with it: in exit(0), which libc calls when the last thread returns, or by the
 * system call, with the exit status of the first thread. */
static void *keep(void *data)
{
    const sigset_t *before = data;
    sigset_t mask = *before;
    prctl(PR_SET_NAME, "cairn-files");
    crn_futex_lock_take(&collector.lock);
    collector.keeps = KEEPER_RUNS;
    collector.keeper_number = gettid();
    announce();
    crn_futex_lock_give(&collector.lock);
    void *gone = NULL;
    pthread_join(collector.thread, &gone);
    if (collector.status)
        syscall(SYS_exit, collector.status);
    /* Exit handlers run here. While the program has threads, they may all block a signal. */
    if (gone)
        crn_sample_mask(SIG_SETMASK, &mask, NULL);
    return NULL;
}

/* Waits until `limit` (CLOCK_MONOTONIC, ns; 0: without limit) for the collector, and for the keeper
 * if there is one. Returns true if they have ended. */
static bool join_collector(uint64_t limit)
{
    if (collector.hidden)
        return crn_hidden_thread_join(&collector.out_of_sight, limit);
    pthread_t last = collector.keeps == KEEPER_RUNS ? collector.keeper : collector.thread;
    struct timespec until = {.tv_sec = (time_t)(limit / 1000000000),
                             .tv_nsec = (long)(limit % 1000000000)};
    return (limit ? pthread_clockjoin_np(last, NULL, CLOCK_MONOTONIC, &until)
                  : pthread_join(last, NULL)) == 0;
}

/* Starts a thread whose stack has STACK_LEAST bytes; with `for_program`, as many as the program's
 * threads have, if that is more. The program may have chosen another default. */
static bool start_thread(pthread_t *thread, bool for_program, void *(*run)(void *), void *data)
{
    pthread_attr_t attributes;
    size_t size = 0;
    pthread_attr_init(&attributes);
    if (for_program)
        pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_setstacksize(&attributes, size > STACK_LEAST ? size : STACK_LEAST);
    bool started = pthread_create(thread, &attributes, run, data) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

/* The keeper may become the thread that runs the program's exit handlers. */
static void start_keeper(const sigset_t *mask)
{
    bool started = start_thread(&collector.keeper, true, keep, (void *)mask);
    crn_futex_lock_take(&collector.lock);
    if (!started)
        collector.keeps = KEEPER_FAILED;
    announce();
    while (collector.keeps == KEEPER_STARTS) /* until it has read the mask */
        await_change(0);
    crn_futex_lock_give(&collector.lock);
}

static bool start_hidden(void)
{
    collector.hidden = collector.may_hide && crn_hidden_thread_is_useful();
    collector.keeps = KEEPER_NONE;
    collector.hidden = collector.hidden &&
                       crn_hidden_thread_start(&collector.out_of_sight, STACK_LEAST, collect, NULL);
    return collector.hidden;
}

static bool start_known(const sigset_t *mask)
{
    collector.keeps = KEEPER_STARTS;
    bool started = start_thread(&collector.thread, false, collect, NULL);
    if (started)
        start_keeper(mask);
    return started;
}

/* Starts the collector with all signals blocked: the program's are for its own threads. `program`:
 * the calling thread's mask at other times; NULL: its present one. */
static void begin(const sigset_t *program)
{
    sigset_t before;
    block_signals(&before);
    crn_sample_find_call();
    crn_futex_lock_take(&collector.lock);
    __atomic_store_n(&collector.ending, END_NOT, __ATOMIC_RELEASE);
    collector.ended = collector.looked = collector.fetched = collector.late = collector.wanted =
        false;
    collector.status = 0;
    crn_sample_ending_thread = 0;
    collector.files = cairn_priv_process_file_is_here() ? FILES_SHARED : FILES_APART;
    crn_futex_lock_give(&collector.lock);
    collector.process = getpid();
    collector.running = start_hidden() || start_known(program ? program : &before);
    if (collector.running)
        leave_files();
    crn_sample_mask(SIG_SETMASK, &before, NULL);
}

/* ---- the process ---- */

/* Blocks signals meanwhile: a handler that pauses the collector would wait for this thread. */
static void before_fork(void)
{
    sigset_t mask = {{0}};
    if (!crn_sample_filtered)
        block_signals(&mask);
    crn_futex_lock_take(&collector.working);
    collector.forking_mask = mask;
}

static void after_fork(const sigset_t *mask)
{
    if (!crn_sample_filtered)
        crn_sample_mask(SIG_SETMASK, mask, NULL);
}

static void after_in_parent(void)
{
    sigset_t mask = collector.forking_mask;
    crn_futex_lock_give(&collector.working);
    after_fork(&mask);
}

static void after_in_child(void)
{
    collector.working = collector.lock = collector.replaced = (crn_futex_lock){0};
    collector.unloads = (crn_unloads){0};
    if (collector.hidden)
        crn_hidden_thread_forget(&collector.out_of_sight);
    crn_sample_threads_end(true);
    crn_sample_forget();
    collector.files_stay = false;
    collector.is_child = true;
    crn_sample_used_before = 0;
    sigset_t mask = collector.forking_mask;
    if (collector.running || collector.failed)
        begin(crn_sample_filtered ? NULL : &mask);
    after_fork(&mask);
}

/* The profile's fork handlers are registered when it is opened. The sampler's are registered later,
 * so fork calls before_fork first: the collector's round ends before the profile is locked. */
static void open_profile(const char *path)
{
    collector.profile = crn_sample_profile_open(path);
    if (!collector.profile)
        return;
    crn_sample_describe(collector.profile, collector.period_ns);
    crn_interpreters_find(collector.profile);
    crn_code_begin(collector.profile);
    __atomic_store_n(&crn_sample_signal, crn_sample_signal_choose(), __ATOMIC_RELEASE);
    crn_sample_signal_block(SIG_UNBLOCK, NULL); /* the process may have begun with all blocked */
    pthread_atfork(before_fork, after_in_parent, after_in_child);
    collector.may_hide = crn_sample_may_hide();
    begin(NULL);
}

__attribute__((constructor)) static void start_with_program(void)
{
    int saved = errno;
    const char *period = secure_getenv("CAIRN_PERIOD"), *path = secure_getenv("CAIRN_SAMPLE");
    bool all = secure_getenv("CAIRN_STACKS") != NULL; /* also programs that use libcairn */
    if (path && crn_sample_follows_exec())
        crn_sample_used_before = crn_sample_clock(CLOCK_THREAD_CPUTIME_ID);
    if (path && (all || !crn_sample_profiles_itself())) {
        collector.period_ns = period ? strtoull(period, NULL, 10) : PERIOD_USUAL;
        if (collector.period_ns < PERIOD_LEAST)
            collector.period_ns = PERIOD_LEAST;
        open_profile(path);
    }
    errno = saved;
}

/* Like end_collector, for a thread that may make no system call: it waits in a loop. The collector
 * sees the request at its next round. */
static void end_collector_silently(uint64_t ms)
{
    ending none = END_NOT;
    uint64_t limit = after_ms(ms);
    if (collector.running)
        __atomic_compare_exchange_n(&collector.ending, &none, END_RUN, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
    while (collector.running && !__atomic_load_n(&collector.ended, __ATOMIC_ACQUIRE) &&
           crn_sample_clock(CLOCK_MONOTONIC) < limit) {
    }
}

/* Asks the collector to end. Returns true if the caller is to wait for it: this call was the first
 * to ask, or the one before gave up. The caller holds collector.lock. */
static bool ask_to_end(ending how)
{
    bool first = collector.running && is_going_on(), late = collector.late;
    if (first) {
        crn_sample_ending_thread = gettid();
        __atomic_store_n(&collector.ending, how, __ATOMIC_RELEASE);
    }
    if (how == END_RUN)
        collector.late = false;
    announce();
    return first || (how == END_RUN && late);
}

/* Lets the run end and waits for it, no longer than `ms`. */
static void end_collector(uint64_t ms)
{
    uint64_t limit = after_ms(ms);
    if (crn_sample_filtered) {
        end_collector_silently(ms);
        return;
    }
    sigset_t mask;
    block_signals(&mask);
    bool first = false, alone = crn_futex_lock_take_until(&collector.replaced, limit);
    if (crn_futex_lock_take_until(&collector.lock, limit)) {
        first = ask_to_end(END_RUN);
        crn_futex_lock_give(&collector.lock);
    }
    if (alone)
        crn_futex_lock_give(&collector.replaced);
    crn_sample_mask(SIG_SETMASK, &mask, NULL);
    if (first)
        join_collector(limit);
}

/* At a pause: waits until `limit` for the collector's last look, which may make the capture of a
 * child of fork. If it does not come, the collector is to end the run instead, when it can. Under
 * the lock. */
static bool await_look(uint64_t limit)
{
    while (!collector.looked && crn_sample_clock(CLOCK_MONOTONIC) < limit)
        await_change(limit);
    collector.late = !collector.looked;
    if (collector.late)
        __atomic_store_n(&collector.ending, END_RUN, __ATOMIC_RELEASE);
    return collector.looked;
}

/* Copies the capture's descriptor from the collector's table to that of the calling thread, for the
 * next collector. */
static void fetch_file(void)
{
    cairn_priv_process_file_fetch(collector.number);
    crn_futex_lock_take(&collector.lock);
    collector.fetched = true;
    announce();
    crn_futex_lock_give(&collector.lock);
}

/* Ends the collector for a pause. After its last look it has nothing to wait for. */
static bool pause_collector(uint64_t limit)
{
    if (!crn_futex_lock_take_until(&collector.lock, limit))
        return false;
    bool looked = ask_to_end(END_PAUSE) && await_look(limit);
    crn_futex_lock_give(&collector.lock);
    if (!looked)
        return false;
    fetch_file();
    join_collector(0);
    crn_thread_wait_until_gone(collector.number);
    if (collector.keeps == KEEPER_RUNS)
        crn_thread_wait_until_gone(collector.keeper_number);
    return true;
}

bool crn_sample_pause(sigset_t *mask)
{
    if (!collector.running || crn_sample_filtered || getpid() != collector.process)
        return false;
    int saved = errno;
    uint64_t limit = after_ms(END_MS);
    block_signals(mask);
    bool alone = crn_futex_lock_take_until(&collector.replaced, limit);
    bool paused = alone && pause_collector(limit);
    if (alone && !paused)
        crn_futex_lock_give(&collector.replaced);
    if (!paused)
        crn_sample_mask(SIG_SETMASK, mask, NULL);
    errno = saved;
    return paused;
}

void crn_sample_go_on(bool paused, const sigset_t *mask)
{
    int saved = errno;
    if (!paused)
        return;
    collector.files_stay = !cairn_priv_process_file_can_fetch();
    begin(mask);
    collector.failed = !collector.running;
    if (collector.failed) { /* the kernel allows no thread here: what was sampled is all */
        crn_sample_threads_begin(collector.period_ns, false);
        end_run();
    }
    crn_futex_lock_give(&collector.replaced);
    crn_sample_mask(SIG_SETMASK, mask, NULL);
    errno = saved;
}

static void await_round(uint64_t limit)
{
    if (!crn_futex_lock_take_until(&collector.lock, limit))
        return;
    uint32_t before = collector.rounds;
    collector.wanted = is_going_on();
    announce();
    while (collector.wanted && collector.rounds == before && is_going_on() &&
           crn_sample_clock(CLOCK_MONOTONIC) < limit)
        await_change(limit);
    crn_futex_lock_give(&collector.lock);
}

bool crn_sample_unload_begin(void)
{
    sigset_t mask;
    if (!collector.running || crn_sample_filtered || getpid() != collector.process)
        return false;
    int saved = errno;
    block_signals(&mask);
    uint64_t now = crn_sample_clock(CLOCK_MONOTONIC);
    if (crn_sample_threads_have_samples() && !crn_unloads_go_on(&collector.unloads, now))
        await_round(after_ms(ROUND_MS));
    now = crn_sample_clock(CLOCK_MONOTONIC);
    crn_unloads_begin(&collector.unloads, now);
    /* Afterwards the present round is over. */
    if (crn_futex_lock_take_until(&collector.working, now + CRN_UNLOAD_NS))
        crn_futex_lock_give(&collector.working);
    crn_sample_mask(SIG_SETMASK, &mask, NULL);
    errno = saved;
    return true;
}

void crn_sample_unload_end(void)
{
    crn_unloads_end(&collector.unloads);
}

/* libc changes the rights of a thread that it knows, whatever the filter of the thread that asks
 * for it: that one could not pause the collector. */
void crn_sample_show(void)
{
    sigset_t mask;
    collector.may_hide = false;
    if (collector.hidden && crn_sample_pause(&mask))
        crn_sample_go_on(true, &mask);
}

void crn_sample_end_early(void)
{
    end_collector(END_MS);
}

/* Returns true if the collector has been started in this process. Children of vfork have the memory
 * of their parent, and children of _Fork, or of the system call clone, have no collector. A
 * filtered thread may not even ask for the process's number. */
static bool is_of_process(void)
{
    return collector.running && (crn_sample_filtered || getpid() == collector.process);
}

__attribute__((destructor)) static void end_with_program(void)
{
    int saved = errno;
    if (is_of_process()) {
        end_collector(END_MS);
        collector.running = false;
    }
    errno = saved;
}

__attribute__((constructor)) static void end_with_quick_exit(void)
{
    int saved = errno;
    at_quick_exit(end_with_program);
    errno = saved;
}

/* ---- ends without destructors, as those of shells and of their children ---- */

__attribute__((visibility("default"), noreturn)) void _exit(int status)
{
    if (is_of_process())
        end_collector(EXIT_MS);
    crn_sample_leave(status);
}

__attribute__((visibility("default"), noreturn)) void _Exit(int status)
{
    _exit(status);
}
