/* SPDX-License-Identifier: MIT */
#include "runtime/helper.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "plat/clock.h"
#include "plat/thread.h"
#include "runtime/process.h"

enum {
    STACK_SIZE = 256 * 1024,
    LOOK_NS = 20 * 1000 * 1000,        /* least ns between checks whether the program has ended */
    HIDDEN_LOOK_NS = 250 * 1000 * 1000 /* the same, for a hidden helper: a check is three system
                                          calls, and such programs end by themselves unless their
                                          threads end by the system call exit */
};

/* ---- number of helper threads ---- */

static unsigned ours; /* atomic */

void cairn_priv_thread_is_ours(bool begins)
{
    /* Undone at the thread's end, because the program's exit handlers may then run on it. */
    crn_process_refuse_strand(begins);
    __atomic_fetch_add(&ours, begins ? 1 : -1, __ATOMIC_RELAXED);
}

/* Returns true if only Cairn's threads are left. If the main thread ended itself alone, by the
 * system call exit with a status other than 0, ends the process with that status in place of the
 * last thread's. */
bool cairn_priv_program_is_over(void)
{
    if (!crn_thread_are_last(__atomic_load_n(&ours, __ATOMIC_RELAXED)))
        return false;
    int status = crn_thread_first_exit_status();
    if (status)
        _exit(status);
    return true;
}

crn_futex_lock crn_helpers_replaced;

void crn_helpers_forget(void)
{
    crn_helpers_replaced.state = 0;
    __atomic_store_n(&ours, 0, __ATOMIC_RELAXED);
}

/* Gives the calling thread a file table of its own with `file` alone; -1: with no file. */
static bool leave_files(int file)
{
    return file < 0 ? crn_thread_leave_files() : crn_thread_leave_files_but(file);
}

/* Runs a helper. Counts it only while it exists: too high a count would end the process early. If
 * the program's threads have all ended, restores the starter's signal mask, because exit handlers
 * run on the last thread, and returns the struct's address; otherwise NULL. While threads of the
 * program exist, the mask stays: a signal that all of them block would come here. */
static void *run_counted(void *data)
{
    crn_helper *helper = data;
    cairn_priv_thread_is_ours(true);
    crn_futex_lock_take(&helper->lock); /* waits until crn_helper_start has completed the struct */
    helper->apart = helper->kept && leave_files(helper->file);
    helper->run(helper->data);
    sigset_t mask = helper->mask;
    bool last = helper->last && !helper->hidden; /* no exit handler runs on a hidden thread */
    helper->over = true;
    crn_futex_lock_give(&helper->lock); /* the struct may be gone from now on */
    cairn_priv_thread_is_ours(false);
    if (last)
        pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return last ? data : NULL;
}

/* Runs a keeper: waits for the helper's end. The program's exit handlers may then run on the
 * keeper, which has the program's files. */
static void *keep(void *data)
{
    crn_helper *helper = data;
    sigset_t mask = helper->mask;
    void *last = NULL;
    cairn_priv_thread_is_ours(true);
    pthread_join(helper->thread, &last);
    cairn_priv_thread_is_ours(false);
    if (last)
        pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return NULL;
}

static bool create(pthread_t *thread, void *(*run)(void *), crn_helper *helper)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    int error = pthread_create(thread, &attributes, run, helper);
    pthread_attr_destroy(&attributes);
    return error == 0;
}

/* Starts a thread under a name. The starter has the name meanwhile, which a new thread inherits: so
 * the program never sees a helper without its name, and no file of /proc is opened. To open one
 * makes the end of the process wait for the kernel, ten times as long as a short process runs. */
static bool create_named(crn_helper *helper, pthread_t *thread, const char *name,
                         void *(*run)(void *))
{
    char own[16];
    bool named = prctl(PR_GET_NAME, own) == 0 && prctl(PR_SET_NAME, name) == 0;
    bool created = helper->hidden
                       ? crn_hidden_thread_start(&helper->out_of_sight, STACK_SIZE, run, helper)
                       : create(thread, run, helper);
    if (named)
        prctl(PR_SET_NAME, own);
    return created;
}

static bool start_thread(crn_helper *helper, pthread_t *thread, const char *name,
                         void *(*run)(void *))
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* if it were blocked, a fault in the capture would end the process */
    pthread_sigmask(SIG_BLOCK, &all, &helper->mask);
    cairn_priv_thread_creates(true);
    bool created = create_named(helper, thread, name, run);
    cairn_priv_thread_creates(false);
    pthread_sigmask(SIG_SETMASK, &helper->mask, NULL);
    return created;
}

/* ---- a helper ---- */

static uint64_t look_ns(const crn_helper *helper)
{
    return helper->hidden ? HIDDEN_LOOK_NS : LOOK_NS;
}

static void forget(crn_helper *helper)
{
    __atomic_store_n(&helper->running, false, __ATOMIC_RELEASE);
}

static bool start(crn_helper *helper, const char *name, bool apart, void *(*run)(void *),
                  void *data)
{
    helper->lock.state = 0;
    helper->wakes = helper->wakes_seen = 0;
    helper->run = run;
    helper->data = data;
    helper->next_look = crn_clock_monotonic() + look_ns(helper);
    helper->stop = helper->kept = helper->apart = helper->last = helper->over = helper->halted =
        helper->detached = false;
    crn_futex_lock_take(&helper->lock);
    bool started = start_thread(helper, &helper->thread, name, run_counted);
    helper->kept = started && apart && start_thread(helper, &helper->keeper, "cairn-files", keep);
    __atomic_store_n(&helper->running, started, __ATOMIC_RELEASE);
    crn_futex_lock_give(&helper->lock);
    if (!started)
        forget(helper);
    return started;
}

bool crn_helper_start(crn_helper *helper, const char *name, void *(*run)(void *), void *data)
{
    helper->hidden = false;
    return start(helper, name, false, run, data);
}

bool crn_helper_start_apart(crn_helper *helper, const char *name, int file, void *(*run)(void *),
                            void *data)
{
    helper->file = file;
    helper->hidden = false;
    return start(helper, name, true, run, data);
}

bool crn_helper_start_hidden(crn_helper *helper, const char *name, void *(*run)(void *), void *data)
{
    helper->hidden = true;
    helper->process = getpid();
    return start(helper, name, false, run, data);
}

bool crn_helper_is_hidden(const crn_helper *helper)
{
    return crn_helper_runs(helper) && helper->hidden && !helper->halted && !helper->detached &&
           helper->process == getpid();
}

void crn_helper_set_mask(crn_helper *helper, const sigset_t *mask)
{
    crn_futex_lock_take(&helper->lock);
    helper->mask = *mask;
    crn_futex_lock_give(&helper->lock);
}

/* Waits for a wake-up, at most until `until`. Releases the helper's lock while it waits. Returns
 * true if woken. Several wake-ups count as one. */
static bool wait_once(crn_helper *helper, uint64_t until)
{
    crn_futex_lock_give(&helper->lock);
    crn_futex_wait(&helper->wakes, helper->wakes_seen, until, false);
    crn_futex_lock_take(&helper->lock);
    uint32_t before = helper->wakes_seen;
    helper->wakes_seen = __atomic_load_n(&helper->wakes, __ATOMIC_ACQUIRE);
    return helper->wakes_seen != before;
}

static bool is_over(crn_helper *helper, uint64_t now)
{
    if (now < helper->next_look)
        return false;
    helper->next_look = now + look_ns(helper);
    return cairn_priv_program_is_over();
}

static bool is_asked_to_end(const crn_helper *helper)
{
    return __atomic_load_n(&helper->stop, __ATOMIC_ACQUIRE);
}

bool crn_helper_wait(crn_helper *helper, uint64_t until)
{
    uint64_t now = crn_clock_monotonic();
    bool over = is_over(helper, now), woken = false;
    while (!is_asked_to_end(helper) && !woken && !over && now < until) {
        woken = wait_once(helper, until);
        now = crn_clock_monotonic();
        over = is_over(helper, now);
    }
    helper->last = over;
    return !is_asked_to_end(helper) && !over;
}

static void wake(crn_helper *helper)
{
    __atomic_fetch_add(&helper->wakes, 1, __ATOMIC_RELEASE);
    crn_futex_wake(&helper->wakes);
}

void crn_helper_wake(crn_helper *helper)
{
    if (crn_helper_runs(helper))
        wake(helper);
}

/* Waits for the thread's end. Does nothing on the thread itself, on which the program's exit
 * handlers may run. */
static void join(pthread_t thread)
{
    if (!pthread_equal(thread, pthread_self()))
        pthread_join(thread, NULL);
}

/* Returns the thread that ends last: the keeper, if there is one, because it joins the helper. */
static pthread_t last_of(const crn_helper *helper)
{
    return helper->kept ? helper->keeper : helper->thread;
}

/* Waits until a detached helper no longer uses the struct. */
static void wait_until_over(crn_helper *helper)
{
    for (bool over = false; !over; sched_yield()) {
        crn_futex_lock_take(&helper->lock);
        over = helper->over;
        crn_futex_lock_give(&helper->lock);
    }
}

void crn_helper_stop(crn_helper *helper)
{
    if (!crn_helper_runs(helper))
        return;
    __atomic_store_n(&helper->stop, true, __ATOMIC_RELEASE);
    wake(helper);
    if (helper->detached)
        wait_until_over(helper);
    else if (helper->hidden)
        crn_hidden_thread_join(&helper->out_of_sight, 0);
    else
        join(last_of(helper));
    forget(helper);
}

/* Takes the helper's lock and keeps it, so that the helper cannot return from its wait. */
unsigned crn_helper_halt(crn_helper *helper)
{
    if (!crn_helper_runs(helper) ||
        (!helper->hidden && pthread_equal(helper->thread, pthread_self())))
        return 0;
    crn_futex_lock_take(&helper->lock);
    helper->halted = !helper->over;
    if (!helper->halted)
        crn_futex_lock_give(&helper->lock);
    return !helper->halted ? 0 : helper->kept ? 2 : 1;
}

void crn_helper_let_end(crn_helper *helper)
{
    if (!helper->halted)
        return;
    helper->halted = false;
    helper->detached = helper->hidden || pthread_detach(last_of(helper)) == 0;
    __atomic_store_n(&helper->stop, true, __ATOMIC_RELEASE);
    crn_futex_lock_give(&helper->lock);
}
