/* SPDX-License-Identifier: MIT
 *
 * The process's own profile, and a strand of it for each thread.
 */
#include <cairn/process.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "plat/thread.h"
#include "runtime/host_thread.h"
#include "runtime/process.h"

int cairn_priv_process_off; /* atomic */

static crn_futex_lock lock;
static const void *holder;     /* &crn_own of the thread that has the lock; atomic */
static unsigned held;          /* number of times that it has taken the lock; under lock */
static cairn_profile *profile; /* atomic; never freed */
static pthread_key_t key;
static bool has_key;
static bool ended;                         /* under lock */
static const crn_process_periods *periods; /* atomic; changes under lock */

/* ---- the lock ---- */

/* Recursive: a child of a fork in the middle of `watch` may register the fork handlers again, and
 * then they take the lock twice. */
void crn_process_lock(void)
{
    if (__atomic_load_n(&holder, __ATOMIC_RELAXED) != &crn_own) {
        crn_futex_lock_take(&lock);
        __atomic_store_n(&holder, &crn_own, __ATOMIC_RELAXED);
    }
    held++;
}

/* Does nothing in a child of a handler's fork that interrupted the holder (forget_lock). */
void crn_process_unlock(void)
{
    if (!held || --held)
        return;
    __atomic_store_n(&holder, NULL, __ATOMIC_RELAXED);
    crn_futex_lock_give(&lock);
}

/* Makes the lock anew in a child of fork: another thread may have held it. */
static void forget_lock(void)
{
    lock = (crn_futex_lock){0};
    holder = NULL;
    held = 0;
}

static bool is_obtainable(void)
{
    return __atomic_load_n(&holder, __ATOMIC_RELAXED) == &crn_own || crn_lock_is_obtainable(&lock);
}

/* ---- memory for hosts ---- */

void *cairn_priv_calloc(size_t count, size_t size)
{
    return crn_try_calloc(count, size);
}

void cairn_priv_free(void *memory)
{
    crn_free(memory);
}

/* ---- fork: not while another thread opens the profile ---- */

static void before_fork(void)
{
    cairn_priv_strand_aside();
    crn_process_lock();
    crn_wrap_lock();
    crn_async_lock();
}

static void after_fork(void)
{
    crn_async_unlock();
    crn_wrap_unlock();
    crn_process_unlock();
    cairn_priv_strand_back();
}

static void after_fork_in_child(void)
{
    crn_async_forget();
    crn_wrap_forget();
    forget_lock();
    if (periods)
        periods->begin_child();
    cairn_priv_strand_back();
}

/* Registers this file's fork handlers after those of fork.c: as they run in reverse order before a
 * fork, this lock is taken before those of profiles. */
static void watch(void)
{
    crn_fork_watch();
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

void cairn_priv_process_begin_unseen(void)
{
    if (!crn_fork_begin_unseen())
        return;
    __atomic_store_n(&cairn_priv_process_off, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&profile, NULL, __ATOMIC_RELEASE);
    crn_thread_set_strand(NULL);
    ended = true;
    forget_lock();
}

/* ---- the profile ---- */

static void end_thread(void *value);

/* Returns true if the host will call cairn_priv_process_pause_thread before the C library makes
 * threads, or changes the user or groups of all threads that it knows. NULL: it will not. */
static cairn_priv_may_hide *may_hide;
static crn_hiding hidden; /* what is hidden if may_hide allows it */

void cairn_priv_process_hide_thread(cairn_priv_may_hide *may, bool of_host)
{
    may_hide = may;
    hidden = of_host ? CRN_HIDES_HOST : CRN_HIDES_SAMPLER;
}

bool cairn_priv_process_pause_thread(sigset_t *mask)
{
    cairn_profile *own = __atomic_load_n(&profile, __ATOMIC_ACQUIRE);
    if (!own || cairn_priv_process_is_unseen() ||
        (!crn_sampler_is_hidden(own) && !crn_host_thread_is_hidden()))
        return false;
    int saved = errno;
    sigset_t all;
    sigfillset(&all); /* a handler may call setuid() */
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &all, mask);
    crn_futex_lock_take(&crn_helpers_replaced);
    bool sampler = crn_sampler_pause(own);
    bool paused = crn_host_thread_pause() || sampler;
    if (!paused) {
        crn_futex_lock_give(&crn_helpers_replaced);
        pthread_sigmask(SIG_SETMASK, mask, NULL);
    }
    errno = saved;
    return paused;
}

void cairn_priv_process_resume_thread(bool shown, const sigset_t *mask)
{
    int saved = errno;
    cairn_profile *own = __atomic_load_n(&profile, __ATOMIC_ACQUIRE);
    if (shown)
        own->hides = CRN_HIDES_NONE;
    crn_sampler_go_on(own, mask);
    crn_host_thread_go_on(mask);
    crn_futex_lock_give(&crn_helpers_replaced);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
    errno = saved;
}

/* Opens the profile with these options. `wrong`: a variable with a bad value, or NULL. Returns NULL
 * if that fails. */
static cairn_profile *open_with(cairn_options options, const char *wrong)
{
    char command[4096];
    cairn_profile *opened = NULL;
    crn_process_command(command, sizeof command);
    options.command = *command ? command : program_invocation_name;
    has_key = has_key || pthread_key_create(&key, end_thread) == 0;
    crn_hiding hides = options.path && may_hide && may_hide() ? hidden : CRN_HIDES_NONE;
    if (has_key && crn_profile_open(&opened, &options, hides) == CAIRN_OK && wrong)
        cairn_profile_note(opened, "not_understood", wrong);
    return opened;
}

static cairn_options usual_options(void)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.wall = CAIRN_WALL_SAMPLED;
    options.spans = true;
    return options;
}

/* Opens the profile. The caller holds the lock of the directory (crn_place_lock). */
static cairn_profile *open_there(void)
{
    cairn_options options = usual_options();
    char *path = NULL;
    const char *wrong = NULL;
    if (!crn_process_options(&options, &path, &wrong))
        return NULL;
    cairn_profile *opened = open_with(options, wrong);
    crn_free(path);
    return opened;
}

cairn_profile *crn_process_open_in_memory(void)
{
    cairn_options options = usual_options();
    const char *wrong = NULL;
    crn_process_options_in_memory(&options, &wrong);
    return open_with(options, wrong);
}

static cairn_profile *open_profile(void)
{
    int place = crn_place_lock();
    cairn_profile *opened = open_there();
    crn_place_unlock(place);
    return opened;
}

/* Opens the profile if the environment requests one. Under lock. */
static void look(void)
{
    cairn_profile *opened = ended ? NULL : open_profile();
    __atomic_store_n(&profile, opened, __ATOMIC_RELEASE);
    if (!opened)
        __atomic_store_n(&cairn_priv_process_off, 1, __ATOMIC_RELEASE);
}

cairn_profile *cairn_process_profile(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (__atomic_load_n(&cairn_priv_process_off, __ATOMIC_ACQUIRE))
        return NULL;
    cairn_profile *here = __atomic_load_n(&profile, __ATOMIC_ACQUIRE);
    if (here || crn_own.busy || !environ) /* without `environ`, the C library has not started yet */
        return here;
    int saved = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    crn_own.busy = true;
    pthread_once(&once, watch);
    crn_process_lock();
    if (!profile && !cairn_priv_process_off)
        look();
    here = profile;
    crn_process_unlock();
    crn_own.busy = false;
    pthread_setcancelstate(cancelling, NULL);
    errno = saved;
    return here;
}

/* ---- periods ---- */

bool crn_process_has_ended(void)
{
    return ended;
}

void crn_process_use_periods(const crn_process_periods *used)
{
    __atomic_store_n(&periods, used, __ATOMIC_RELEASE);
}

void crn_process_show(cairn_profile *shown)
{
    if (shown)
        __atomic_store_n(&profile, shown, __ATOMIC_RELEASE);
    __atomic_store_n(&cairn_priv_process_off, !shown, __ATOMIC_RELEASE);
}

/* ---- the end ---- */

/* Ends the profile, after the destructors of the program and of libraries that use libcairn. */
__attribute__((destructor(101))) static void end_process(void)
{
    if (cairn_priv_process_is_unseen())
        cairn_priv_process_begin_unseen();
    if (!__atomic_load_n(&profile, __ATOMIC_ACQUIRE))
        return;
    __atomic_store_n(&cairn_priv_process_off, 1, __ATOMIC_RELEASE);
    crn_thread_set_strand(NULL);
    crn_own.over = true;
    if (!is_obtainable())
        return;
    const crn_process_periods *used = __atomic_load_n(&periods, __ATOMIC_ACQUIRE);
    if (used)
        used->end_helper();
    crn_process_lock();
    if (!ended && !(periods && periods->end()))
        crn_profile_end(profile);
    ended = true;
    crn_process_unlock();
}

void cairn_priv_process_end(void)
{
    end_process();
}

/* ---- the capture's descriptor, in one thread alone ---- */

static crn_capture *own_capture(void)
{
    cairn_profile *here = __atomic_load_n(&profile, __ATOMIC_ACQUIRE);
    return here ? &here->capture : NULL;
}

void cairn_priv_process_moment(void)
{
    cairn_profile *here = __atomic_load_n(&profile, __ATOMIC_ACQUIRE);
    if (here)
        crn_profile_moment(here);
}

bool cairn_priv_process_file_is_here(void)
{
    const crn_capture *capture = own_capture();
    return capture && crn_file_is_open(&capture->file);
}

bool cairn_priv_process_file_take(void)
{
    return cairn_priv_process_file_is_here()
               ? crn_thread_leave_files_but(own_capture()->file.descriptor)
               : crn_thread_leave_files();
}

void cairn_priv_process_file_leave(void)
{
    const crn_capture *capture = own_capture();
    if (capture)
        crn_file_drop(&capture->file);
}

void cairn_priv_process_file_fetch(int thread)
{
    crn_capture *capture = own_capture();
    if (!capture)
        return;
    crn_futex_lock_take(&capture->lock);
    if (!crn_file_is_open(&capture->file))
        crn_file_fetch(&capture->file, thread);
    crn_futex_lock_give(&capture->lock);
}

bool cairn_priv_process_file_can_fetch(void)
{
    const crn_capture *capture = own_capture();
    return !capture || crn_file_can_fetch(&capture->file);
}

/* ---- threads ---- */

/* Ends the thread's strand in the last round of destructors but one, because other destructors may
 * record until then. */
static void end_thread(void *value)
{
    enum { LAST_BUT_ONE = PTHREAD_DESTRUCTOR_ITERATIONS - 1 };
    uintptr_t round = (uintptr_t)value;
    if (round < LAST_BUT_ONE && pthread_setspecific(key, (void *)(round + 1)) == 0)
        return;
    cairn_strand *strand = cairn_priv_thread_strand ? cairn_priv_thread_strand : crn_own.parked;
    crn_thread_set_strand(NULL);
    crn_own.parked = NULL;
    crn_own.over = true;
    if (__atomic_load_n(&cairn_priv_process_off, __ATOMIC_ACQUIRE) &&
        !__atomic_load_n(&periods, __ATOMIC_ACQUIRE))
        return;
    crn_process_lock(); /* the end of the process may be closing the lane, if it has no
                                  owner */
    if (!ended)
        cairn_lane_close(cairn_strand_lane(strand));
    crn_process_unlock();
}

static void name_thread(char name[16])
{
    prctl(PR_GET_NAME, name);
    name[15] = 0;
}

static cairn_strand *open_strand(cairn_profile *here)
{
    char name[16] = "";
    if (pthread_setspecific(key, (void *)1) != 0)
        return NULL;
    if (gettid() != getpid())
        name_thread(name);
    cairn_lane *lane = cairn_lane_open(here, *name ? name : "main");
    cairn_strand *strand = cairn_strand_open(lane);
    if (strand)
        __atomic_store_n(&lane->of_thread, true, __ATOMIC_RELAXED);
    else
        cairn_lane_close(lane);
    return strand;
}

cairn_strand *cairn_priv_thread_begin(void)
{
    if (crn_own.busy || crn_own.over || crn_own.ours || crn_own.parked ||
        __atomic_load_n(&cairn_priv_process_off, __ATOMIC_ACQUIRE))
        return NULL;
    cairn_profile *here = cairn_process_profile();
    if (!here)
        return NULL;
    int saved = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    crn_own.busy = true;
    cairn_strand *strand = open_strand(here);
    crn_own.busy = false;
    crn_own.over = !strand; /* do not try again without memory */
    crn_thread_set_strand(strand);
    pthread_setcancelstate(cancelling, NULL);
    errno = saved;
    return strand;
}
