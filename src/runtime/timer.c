/* SPDX-License-Identifier: MIT
 *
 * The timer sampler: each lane has a timer on the CPU clock of its owner. The timer expires only
 * while the thread runs, and the kernel delivers its signal on return to user mode, so it
 * interrupts no system call. The handler stores the clocks' readings and lowers the strand's
 * limits, as the sampling thread does otherwise.
 *
 * A signal may arrive after the lane has moved to another thread or been freed. So the signal
 * carries the address of a crn_timer, which is never freed, but reused. Before a lane is freed,
 * crn_timer_stop clears `lane` in its crn_timer and waits until no handler uses it.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>

#include "base/memory.h"
#include "plat/thread.h"
#include "runtime/runtime.h"

struct crn_timer {
    cairn_lane *lane; /* atomic */
    uint32_t handled; /* number of handlers that use `lane`; atomic */
    timer_t timer;
    uint64_t random; /* atomic */
    uint64_t period_ns;
    crn_timer *next; /* next in the list of free timers */
    crn_timer *next_of_all;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static crn_timer *spare; /* list of free timers */
static crn_timer *all;
static int signal_number; /* 0: no signal chosen yet; atomic */

/* ---- the signal ---- */

/* Sets the time to the next signal, at random from 0.5 to 1.5 periods. */
static void set_timer(crn_timer *timer)
{
    uint64_t random = __atomic_load_n(&timer->random, __ATOMIC_RELAXED) * 6364136223846793005u +
                      1442695040888963407u;
    __atomic_store_n(&timer->random, random, __ATOMIC_RELAXED);
    uint64_t gap =
        timer->period_ns / 2 + (uint64_t)((unsigned __int128)random * timer->period_ns >> 64) + 1;
    struct itimerspec time = {.it_value = {(time_t)(gap / 1000000000u), (long)(gap % 1000000000u)}};
    timer_settime(timer->timer, 0, &time, NULL);
}

/* Requests a sample of the lane, as the sampling thread does. */
static void ask(cairn_lane *lane)
{
    if (__atomic_load_n(&lane->owner, __ATOMIC_RELAXED) != crn_thread_self() ||
        crn_profile_mode(lane->profile) == CRN_MODE_OFF)
        return;
    cairn_strand *running = __atomic_load_n(&lane->running, __ATOMIC_RELAXED);
    if (!running)
        return;
    uint64_t clock = crn_clock_now(lane->profile->tsc), cpu = crn_thread_own_time();
    __atomic_store_n(&lane->pending.cpu, cpu, __ATOMIC_RELAXED);
    if (!__atomic_load_n(&lane->pending.clock, __ATOMIC_RELAXED)) {
        __atomic_store_n(&lane->first_pending.cpu, cpu, __ATOMIC_RELAXED);
        __atomic_store_n(&lane->first_pending.clock, clock, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&lane->pending.clock, clock, __ATOMIC_RELEASE);
    crn_strand_arm(running);
}

static void handle(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    crn_timer *timer = info->si_value.sival_ptr;
    if (info->si_code != SI_TIMER || !timer) /* a program sent the signal, not one of these
                                                timers */
        return;
    int saved = errno;
    __atomic_fetch_add(&timer->handled, 1, __ATOMIC_SEQ_CST);
    cairn_lane *lane = __atomic_load_n(&timer->lane, __ATOMIC_SEQ_CST);
    if (lane) {
        ask(lane);
        set_timer(timer);
    }
    __atomic_fetch_sub(&timer->handled, 1, __ATOMIC_RELEASE);
    errno = saved;
}

static bool is_ours(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == handle;
}

/* Returns true if a timer can send the signal. Emulators accept handlers even for signals that they
 * never deliver. */
static bool can_be_sent(int number)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0)
        return false;
    timer_delete(timer);
    return true;
}

/* Installs the handler for the highest free real-time signal below SIGRTMAX, and returns the
 * signal; 0 if none is free. Keeps it for good: it may still be pending when the last timer is
 * gone. */
static int take_signal(void)
{
    struct sigaction ours = {.sa_sigaction = handle,
                             .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    struct sigaction theirs;
    sigfillset(&ours.sa_mask);
    sigdelset(&ours.sa_mask, SIGBUS); /* if it were blocked, a fault in the capture would end the
                                         process */
    if (signal_number && is_ours(signal_number))
        return signal_number;
    for (int number = SIGRTMAX - 1; number > SIGRTMIN; number--)
        if (sigaction(number, NULL, &theirs) == 0 && !(theirs.sa_flags & SA_SIGINFO) &&
            theirs.sa_handler == SIG_DFL && can_be_sent(number) &&
            sigaction(number, &ours, NULL) == 0)
            return number;
    return 0;
}

bool crn_timers_begin(void)
{
    pthread_mutex_lock(&lock);
    int number = take_signal();
    __atomic_store_n(&signal_number, number, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return number != 0;
}

bool crn_timers_are_ours(void)
{
    int number = __atomic_load_n(&signal_number, __ATOMIC_RELAXED);
    return number && is_ours(number);
}

/* ---- timers ---- */

static crn_timer *take(void)
{
    pthread_mutex_lock(&lock);
    crn_timer *timer = spare;
    if (timer) {
        spare = timer->next;
    } else if ((timer = crn_try_calloc(1, sizeof *timer))) {
        timer->next_of_all = all;
        all = timer;
    }
    pthread_mutex_unlock(&lock);
    return timer;
}

/* Frees a timer. Under the lock. */
static void make_spare(crn_timer *timer)
{
    timer->next = spare;
    spare = timer;
}

static void give_back(crn_timer *timer)
{
    pthread_mutex_lock(&lock);
    make_spare(timer);
    pthread_mutex_unlock(&lock);
}

static bool start(cairn_lane *lane)
{
    crn_timer *timer = take();
    if (!timer)
        return false;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = __atomic_load_n(&signal_number, __ATOMIC_RELAXED),
                             .sigev_value = {.sival_ptr = timer}};
    event._sigev_un._tid = lane->thread_id;
    timer->period_ns = lane->profile->sample_period_ns;
    __atomic_store_n(&timer->random, lane->profile->seed + lane->number, __ATOMIC_RELAXED);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer->timer) != 0) {
        give_back(timer);
        return false;
    }
    lane->timer = timer;
    __atomic_store_n(&timer->lane, lane, __ATOMIC_SEQ_CST);
    set_timer(timer);
    return true;
}

/* Without a timer, the thread's CPU time is charged only when it releases the lane, and reports say
 * so. */
void crn_timer_start(cairn_lane *lane)
{
    cairn_profile *profile = lane->profile;
    if (profile->cpu != CAIRN_CPU_OFF && profile->how_sampled == CAIRN_SAMPLER_TIMER &&
        !lane->timer && !start(lane))
        crn_profile_stop(profile, CAIRN_E_THREAD);
}

/* Waits, briefly, until no handler in another thread uses the lane. */
void crn_timer_stop(cairn_lane *lane)
{
    crn_timer *timer = lane->timer;
    if (!timer)
        return;
    lane->timer = NULL;
    __atomic_store_n(&timer->lane, NULL, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&timer->handled, __ATOMIC_SEQ_CST))
        sched_yield();
    pthread_mutex_lock(&lock); /* so that crn_timers_go_on does not rearm the deleted timer */
    timer_delete(timer->timer);
    make_spare(timer);
    pthread_mutex_unlock(&lock);
}

/* If a program waits for all signals (sigwait) and consumes a timer's, the handler does not rearm
 * the timer. Rearming a timer whose signal is pending does no harm: the kernel keeps one signal for
 * each timer, and the gap is drawn anew. */
void crn_timers_go_on(void)
{
    pthread_mutex_lock(&lock);
    for (crn_timer *timer = all; timer; timer = timer->next_of_all) {
        struct itimerspec left;
        if (__atomic_load_n(&timer->lane, __ATOMIC_SEQ_CST) &&
            timer_gettime(timer->timer, &left) == 0 && !left.it_value.tv_sec &&
            !left.it_value.tv_nsec)
            set_timer(timer);
    }
    pthread_mutex_unlock(&lock);
}

/* Forgets all timers in a child of fork, for which the kernel keeps none. */
void crn_timers_begin_child(void)
{
    pthread_mutex_init(&lock, NULL);
    for (crn_timer *timer = all; timer; timer = timer->next_of_all)
        timer->lane = NULL;
}

void crn_timer_forget(cairn_lane *lane)
{
    crn_timer *timer = lane->timer;
    lane->timer = NULL;
    if (!timer)
        return;
    timer->lane = NULL;
    timer->handled = 0;
    give_back(timer);
}
