/* SPDX-License-Identifier: MIT */
#include "runtime/helper.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "plat/clock.h"
#include "plat/thread.h"
#include "runtime/process.h"

enum {
    STACK_SIZE = 256 * 1024,
    LOOK_NS = 20 * 1000 * 1000 /* least ns between checks whether the program has ended */
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

void crn_helpers_forget(void)
{
    __atomic_store_n(&ours, 0, __ATOMIC_RELAXED);
}

/* Gives the calling thread a file table of its own with `file` alone; -1: with no file. */
static bool leave_files(int file)
{
    return file < 0 ? crn_thread_leave_files() : crn_thread_leave_files_but(file);
}

/* Runs a helper. Counts it only while it exists: too high a count would end the process early.
 * Restores the starter's signal mask, because the program's exit handlers may run on the last
 * thread. */
static void *run_counted(void *data)
{
    crn_helper *helper = data;
    cairn_priv_thread_is_ours(true);
    pthread_mutex_lock(&helper->lock); /* waits until crn_helper_start has completed the struct */
    helper->apart = helper->kept && leave_files(helper->file);
    helper->run(helper->data);
    sigset_t mask = helper->mask;
    helper->over = true;
    pthread_mutex_unlock(&helper->lock); /* the struct may be gone from now on */
    cairn_priv_thread_is_ours(false);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return NULL;
}

/* Runs a keeper: waits for the helper's end. The program's exit handlers may then run on the
 * keeper, which has the program's files. */
static void *keep(void *data)
{
    crn_helper *helper = data;
    sigset_t mask = helper->mask;
    cairn_priv_thread_is_ours(true);
    pthread_join(helper->thread, NULL);
    cairn_priv_thread_is_ours(false);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return NULL;
}

/* Starts a thread under a name. The starter has the name meanwhile, which a new thread inherits: so
 * the program never sees a helper without its name, and no file of /proc is opened. To open one
 * makes the end of the process wait for the kernel, ten times as long as a short process runs. */
static bool create_named(pthread_t *thread, const pthread_attr_t *attributes, const char *name,
                         void *(*run)(void *), void *data)
{
    char own[16];
    bool named = prctl(PR_GET_NAME, own) == 0 && prctl(PR_SET_NAME, name) == 0;
    int error = pthread_create(thread, attributes, run, data);
    if (named)
        prctl(PR_SET_NAME, own);
    return error == 0;
}

static bool start_thread(crn_helper *helper, pthread_t *thread, const char *name,
                         void *(*run)(void *))
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* if it were blocked, a fault in the capture would end the process */
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_sigmask(SIG_BLOCK, &all, &helper->mask);
    cairn_priv_thread_creates(true);
    bool created = create_named(thread, &attributes, name, run, helper);
    cairn_priv_thread_creates(false);
    pthread_sigmask(SIG_SETMASK, &helper->mask, NULL);
    pthread_attr_destroy(&attributes);
    return created;
}

/* ---- a helper ---- */

static void forget(crn_helper *helper)
{
    sem_destroy(&helper->wake);
    pthread_mutex_destroy(&helper->lock);
    __atomic_store_n(&helper->running, false, __ATOMIC_RELEASE);
}

static bool start(crn_helper *helper, const char *name, bool apart, void *(*run)(void *),
                  void *data)
{
    pthread_mutex_init(&helper->lock, NULL);
    sem_init(&helper->wake, 0, 0);
    helper->run = run;
    helper->data = data;
    helper->next_look = crn_clock_monotonic() + LOOK_NS;
    helper->stop = helper->kept = helper->apart = helper->over = helper->halted = helper->detached =
        false;
    pthread_mutex_lock(&helper->lock);
    bool started = start_thread(helper, &helper->thread, name, run_counted);
    helper->kept = started && apart && start_thread(helper, &helper->keeper, "cairn-files", keep);
    __atomic_store_n(&helper->running, started, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&helper->lock);
    if (!started)
        forget(helper);
    return started;
}

bool crn_helper_start(crn_helper *helper, const char *name, void *(*run)(void *), void *data)
{
    return start(helper, name, false, run, data);
}

bool crn_helper_start_apart(crn_helper *helper, const char *name, int file, void *(*run)(void *),
                            void *data)
{
    helper->file = file;
    return start(helper, name, true, run, data);
}

/* Waits for a wake-up, at most until `until`. Releases the helper's lock while it waits. Returns
 * true if woken. */
static bool wait_once(crn_helper *helper, uint64_t until)
{
    struct timespec time = {.tv_sec = (time_t)(until / 1000000000u),
                            .tv_nsec = (long)(until % 1000000000u)};
    pthread_mutex_unlock(&helper->lock);
    bool woken = sem_clockwait(&helper->wake, CLOCK_MONOTONIC, &time) == 0;
    pthread_mutex_lock(&helper->lock);
    return woken;
}

static bool is_over(crn_helper *helper, uint64_t now)
{
    if (now < helper->next_look)
        return false;
    helper->next_look = now + LOOK_NS;
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
    while (woken && sem_trywait(&helper->wake) == 0) { /* several wake-ups count as one */
    }
    return !is_asked_to_end(helper) && !over;
}

void crn_helper_wake(crn_helper *helper)
{
    if (crn_helper_runs(helper))
        sem_post(&helper->wake);
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
        pthread_mutex_lock(&helper->lock);
        over = helper->over;
        pthread_mutex_unlock(&helper->lock);
    }
}

void crn_helper_stop(crn_helper *helper)
{
    if (!crn_helper_runs(helper))
        return;
    __atomic_store_n(&helper->stop, true, __ATOMIC_RELEASE);
    sem_post(&helper->wake);
    if (helper->detached)
        wait_until_over(helper);
    else
        join(last_of(helper));
    forget(helper);
}

/* Keeps the lock, so that the helper cannot return from its wait. */
unsigned crn_helper_halt(crn_helper *helper)
{
    if (!crn_helper_runs(helper) || pthread_equal(helper->thread, pthread_self()))
        return 0;
    pthread_mutex_lock(&helper->lock);
    helper->halted = !helper->over;
    if (!helper->halted)
        pthread_mutex_unlock(&helper->lock);
    return !helper->halted ? 0 : helper->kept ? 2 : 1;
}

void crn_helper_let_end(crn_helper *helper)
{
    if (!helper->halted)
        return;
    helper->halted = false;
    helper->detached = pthread_detach(last_of(helper)) == 0;
    __atomic_store_n(&helper->stop, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&helper->lock);
}
