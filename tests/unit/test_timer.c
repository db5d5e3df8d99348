/* SPDX-License-Identifier: MIT
 *
 * test_timer.c - samples by timer signals: they are taken, they add up, no system call of the
 * program is interrupted, and its own signals are unaffected.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/clock.h"
#include "support/near.h"
#include "support/profiles.h"
#include "support/scratch.h"

static setup open_with_timer(const char *path)
{
    cairn_options options = path_options(path);
    options.cpu = CAIRN_CPU_SAMPLED;
    options.sampler = CAIRN_SAMPLER_TIMER;
    return setup_open(&options, 4);
}

/* Asserts that block 2 has three quarters of the processor time, within a quarter of it: the kernel
 * checks timers at its ticks, which are some milliseconds apart in a turn of 20 ms. On a busy
 * machine a time slice may end before a tick comes; then there are too few samples to compare
 * shares. */
static void assert_shares(const setup *s, const char *path, uint64_t spent)
{
    enum { ENOUGH = 60 };
    uint64_t samples = note_of(path, "cpu_samples");
    if (samples >= ENOUGH)
        assert_near(cost_at(s->profile, "2").cpu, spent * 3 / 4, spent / 4);
    else
        print_message("# %u samples are too few to compare shares\n", (unsigned)samples);
}

static uint64_t take_turns(const setup *s)
{
    uint64_t start = own_cpu();
    for (int turn = 0; turn < 20; turn++) {
        cairn_enter(s->strand, 1);
        compute(5000000);
        cairn_leave(s->strand);
        cairn_enter(s->strand, 2);
        compute(15000000);
        cairn_leave(s->strand);
    }
    return own_cpu() - start;
}

static void samples_are_taken_and_add_up(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = open_with_timer(scratch_path(path, "timer.cairn"));
    uint64_t before = own_cpu();
    uint64_t spent = take_turns(&s);
    assert_shares(&s, path, spent);
    for (int turn = 0; turn < 50 && note_of(path, "cpu_samples") < 6; turn++)
        take_turns(&s);
    assert_true(note_of(path, "cpu_samples") >= 6);
    spent = own_cpu() - before;
    cairn_lane_hand_over(s.lane);
    assert_near(total_of(s.profile).cpu, spent, 1000000);
    assert_int_equal(cairn_profile_status(s.profile), CAIRN_OK);
    setup_close(&s);
}

static void *have_a_lane(void *data)
{
    setup *s = data;
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(s->profile, "thread"));
    sigset_t all;
    sigfillset(&all);
    if (s->lane) /* as a mark: this thread wants no signals */
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    cairn_enter(strand, 3);
    compute(20000000);
    cairn_leave(strand);
    return NULL;
}

static void threads_come_and_go(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = open_with_timer(scratch_path(path, "threads.cairn"));
    cairn_lane_hand_over(s.lane);
    uint64_t before = total_of(s.profile).cpu;
    for (int turn = 0; turn < 10; turn++) {
        pthread_t threads[2];
        setup marked = s, unmarked = {.profile = s.profile};
        pthread_create(&threads[0], NULL, have_a_lane, &marked);
        pthread_create(&threads[1], NULL, have_a_lane, &unmarked);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
    }
    assert_true(total_of(s.profile).cpu - before >= 20 * 20000000ull);
    setup_close(&s);
}

/* However long a busy machine delays the thread that rearms the timer. */
static bool take_timer_signal(const sigset_t *all)
{
    for (int i = 0; i < 10000; i++) {
        siginfo_t taken = {0};
        compute(1000000);
        sigtimedwait(all, &taken, &(struct timespec){0, 0});
        if (taken.si_code == SI_TIMER)
            return true;
    }
    return false;
}

/* A program that takes every signal by sigtimedwait takes the timer's, which is then not armed by
 * its handler. */
static void samples_continue_after_the_program_took_one(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = open_with_timer(scratch_path(path, "taken.cairn"));
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    cairn_enter(s.strand, 3);
    assert_true(take_timer_signal(&all));
    assert_true(take_timer_signal(&all)); /* one more is found, as the mask may stay for long */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (int i = 0; i < 10000 && !cost_at(s.profile, "3 4").cpu;
         i++) { /* until one is ours again */
        cairn_enter(s.strand, 4);
        compute(1000000);
        cairn_leave(s.strand);
    }
    cairn_leave(s.strand);
    assert_true(cost_at(s.profile, "3 4").cpu > 0);
    assert_shares(&s, path, take_turns(&s));
    setup_close(&s);
}

/* ---- nothing is cut short ---- */

static int interrupted;

static void note_errors(int result)
{
    interrupted += result < 0 && errno == EINTR;
}

static void wait_a_little(const int pipe_ends[2], int poller, int turn)
{
    struct timespec time = {0, 1000 * (turn % 300)};
    struct pollfd poll_pipe = {.fd = pipe_ends[0], .events = POLLIN};
    struct epoll_event event;
    char byte = 0;
    errno = 0;
    switch (turn % 5) {
    case 0:
        note_errors(nanosleep(&time, NULL));
        break;
    case 1:
        note_errors(poll(&poll_pipe, 1, turn % 3));
        break;
    case 2:
        note_errors(epoll_wait(poller, &event, 1, turn % 2));
        break;
    case 3:
        note_errors(ppoll(&poll_pipe, 1, &time, NULL));
        break;
    default:
        note_errors((int)write(pipe_ends[1], &byte, 1));
        note_errors((int)read(pipe_ends[0], &byte, 1));
    }
}

static void no_call_is_cut_short(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = open_with_timer(scratch_path(path, "calls.cairn"));
    stack_t own = {.ss_sp = malloc(SIGSTKSZ), .ss_size = SIGSTKSZ}, before;
    sigaltstack(&own, &before);
    int ends[2], poller = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(pipe(ends), 0);
    interrupted = 0;
    for (uint64_t turn = 0; turn < scale(3000); turn++) {
        cairn_enter(s.strand, 1 + (cairn_block)(turn % 4));
        compute(100000 + turn % 7 * 40000);
        wait_a_little(ends, poller, (int)turn);
        cairn_leave(s.strand);
    }
    assert_int_equal(interrupted, 0);
    sigaltstack(&before, NULL);
    free(own.ss_sp);
    close(ends[0]);
    close(ends[1]);
    close(poller);
    setup_close(&s);
    assert_true(note_of(path, "cpu_samples") > 10 * scale(3000) / 3000);
}

/* ---- the program's own signals ---- */

static volatile sig_atomic_t strangers;

static void count_strangers(int number)
{
    (void)number;
    strangers++;
}

static int signal_in_use(void)
{
    struct sigaction action;
    for (int number = SIGRTMAX; number > SIGRTMIN; number--)
        if (sigaction(number, NULL, &action) == 0 && (action.sa_flags & SA_SIGINFO))
            return number;
    return 0;
}

static void a_signal_that_the_program_takes_is_given_up(void **state)
{
    (void)state;
    setup s = open_with_timer(NULL);
    int number = signal_in_use();
    assert_true(number > 0);
    struct sigaction theirs = {.sa_handler = count_strangers}, ours;
    sigaction(number, &theirs, &ours);
    for (int i = 0; i < 1000 && cairn_profile_status(s.profile) == CAIRN_OK; i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    assert_int_equal(cairn_profile_status(s.profile), CAIRN_E_THREAD);
    int before = strangers;
    cairn_enter(s.strand, 1);
    compute(100000000);
    cairn_leave(s.strand);
    assert_int_equal(strangers, before);
    cairn_lane_hand_over(s.lane);
    assert_true(total_of(s.profile).cpu >= 100000000); /* time is charged all the same */
    setup_close(&s);
    setup again = open_with_timer(NULL); /* by another signal */
    assert_int_not_equal(signal_in_use(), 0);
    setup_close(&again);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(samples_are_taken_and_add_up),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(samples_continue_after_the_program_took_one),
        cmocka_unit_test(no_call_is_cut_short),
        cmocka_unit_test(a_signal_that_the_program_takes_is_given_up),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
