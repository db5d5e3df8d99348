/* SPDX-License-Identifier: MIT
 *
 * test_off_core.c - spans whose threads work, wait and lose their core, recorded from the kernel's
 * context switches and wake-ups, where some of these are lost, and where they may not be read, from
 * schedstat.
 */
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "plat/switches.h"
#include "runtime/off_core.h"
#include "spans/off_core.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/clock.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/recorded.h"
#include "support/scratch.h"

enum { MS = 1000000, WORK, SLEEP, MAIN, BLOCKS = 4 };

/* Figures of a span that the program itself measures. */
typedef struct measured {
    uint64_t wall, cpu;
} measured;

/* Waits for a child; skips the test if its exit status is 77. */
static void await_or_skip(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

static measured one_span(cairn_strand *strand, cairn_block block, int64_t i)
{
    measured its = {now_ns(), own_cpu()};
    cairn_span_begin(strand, block, i);
    if (block == SLEEP)
        usleep(20000);
    else
        compute(10 * MS);
    cairn_span_end(strand);
    its.cpu = own_cpu() - its.cpu;
    its.wall = now_ns() - its.wall;
    return its;
}

static bool stop;

static void *spin_on(void *data)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    }
    return data;
}

/* From here on, the thread and those that it creates have one core. */
static void share_a_core(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* From here on, the thread shares one core with another that never waits. */
static pthread_t crowd(void)
{
    pthread_t thread;
    share_a_core();
    assert_int_equal(pthread_create(&thread, NULL, spin_on, NULL), 0);
    return thread;
}

enum { ROUNDS = 6, SPANS = 3 * ROUNDS };

/* Spans that work, sleep, and work while another thread wants their core. */
static void record(const char *path, measured measured[SPANS])
{
    cairn_options options = span_options(path);
    options.off_core = true;
    setup s = setup_open(&options, BLOCKS);
    while (!__atomic_load_n(&s.profile->off_core_source, __ATOMIC_ACQUIRE))
        usleep(1000); /* until the thread has been found */
    for (int i = 0; i < 2 * ROUNDS; i++)
        measured[i] = one_span(s.strand, i < ROUNDS ? WORK : SLEEP, i);
    stop = false;
    pthread_t other = crowd();
    for (int i = 2 * ROUNDS; i < SPANS; i++)
        measured[i] = one_span(s.strand, WORK, i);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    setup_close(&s);
}

/* `error`: how much times may be wrong, ns, because it is not known when in a look they were. */
static void check(const char *path, const measured measured[SPANS], uint64_t error)
{
    crn_trace *trace = recorded_trace(path);
    uint64_t ready = 0, away = 0, waited = 0;
    assert_int_equal(trace->span_count, SPANS);
    assert_non_null(trace->ready);
    assert_true(trace->off_core_count > ROUNDS);
    for (uint32_t s = 0; s < SPANS; s++) {
        uint64_t duration = trace->spans[s].end - trace->spans[s].start, cpu = trace->cpu[s];
        assert_true(cpu + trace->ready[s] <= duration);
        assert_true(cpu + error >= (s >= ROUNDS && s < 2 * ROUNDS ? 0 : 10 * MS));
        if (cpu > measured[s].cpu + error)
            fail_msg("span %" PRIu32 ": %" PRIu64 " of %" PRIu64 " ns, not %" PRIu64, s, cpu,
                     duration, measured[s].cpu);
        if (s >= ROUNDS && s < 2 * ROUNDS)
            waited += duration - cpu - trace->ready[s];
        ready += s >= 2 * ROUNDS ? trace->ready[s] : 0;
        away += s >= 2 * ROUNDS ? measured[s].wall - measured[s].cpu : 0;
    }
    assert_true(waited + 2 * error >= (uint64_t)ROUNDS * 20 * MS);
    /* Crowded spans were ready nearly all the time that they had no core. */
    assert_true(away > 10 * MS && ready + 2 * error >= away / 10 * 8);
    assert_true(ready <= away + 2 * error);
    crn_trace_free(trace);
}

static void working_waiting_and_ready_are_told_apart(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH];
    measured measured[SPANS];
    cpu_set_t all;
    crn_switches *switches = crn_switches_open(gettid());
    if (!switches)
        skip(); /* they may not be read here */
    crn_switches_close(switches);
    sched_getaffinity(0, sizeof all, &all);
    record(scratch_path(path, "off_core.cairn"), measured);
    sched_setaffinity(0, sizeof all, &all);
    check(path, measured, 20 * MS);
}

/* From here on, perf_event_open is not allowed. */
static void forbid_switches(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

/* Figures are then those of whole looks of a few milliseconds. */
static void without_switches_they_are_estimated(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH];
    measured *measured = mmap(NULL, SPANS * sizeof *measured, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(measured, MAP_FAILED);
    scratch_path(path, "estimated.cairn");
    pid_t child = fork();
    if (child == 0) {
        forbid_switches();
        record(path, measured);
        _exit(0);
    }
    await_or_skip(child);
    check(path, measured, 40 * MS);
    munmap(measured, SPANS * sizeof *measured);
}

/* ---- lost switches ---- */

/* Takes what there is. Returns true if switches were lost. */
static bool read_all(crn_switches *switches, uint64_t *last)
{
    crn_switch next;
    bool lost = false;
    while (crn_switches_next(switches, &next)) {
        lost |= next.kind == CRN_SWITCH_LOST;
        if (next.kind == CRN_SWITCH_LOST)
            continue;
        assert_true(next.at >= *last);
        *last = next.at;
    }
    return lost;
}

/* The kernel has space for two thousand switches. It says that some are missing once there is space
 * for that again. */
static void the_kernel_says_that_switches_are_missing(void **state)
{
    (void)state;
    skip_where_emulated();
    crn_switches *switches = crn_switches_open(gettid());
    uint64_t last = now_ns();
    if (!switches)
        skip();
    usleep(1);
    assert_false(crn_switches_are_full(switches));
    assert_false(read_all(switches, &last));
    for (int i = 0; i < 3000; i++)
        usleep(1);
    assert_true(crn_switches_are_full(switches));
    bool lost = read_all(switches, &last);
    usleep(1);
    lost |= read_all(switches, &last);
    assert_true(lost);
    crn_switches_close(switches);
}

static int ping[2], pong[2];

static void *answer(void *data)
{
    char byte;
    while (read(ping[0], &byte, 1) == 1 && write(pong[1], &byte, 1) == 1) {
    }
    return data;
}

/* Records a span in which the thread waits for another so often that the kernel has no space for
 * its switches between two looks. Those become few as the thread sleeps before. */
static void record_many_switches(const char *path)
{
    enum { TURNS = 20000 };
    cairn_options options = span_options(path);
    options.off_core = true;
    setup s = setup_open(&options, BLOCKS);
    while (!__atomic_load_n(&s.profile->off_core_source, __ATOMIC_ACQUIRE))
        usleep(1000);
    pthread_t other;
    assert_true(pipe(ping) == 0 && pipe(pong) == 0);
    share_a_core();
    assert_int_equal(pthread_create(&other, NULL, answer, NULL), 0);
    usleep(100000);
    cairn_span_begin(s.strand, WORK, 1);
    for (int i = 0; i < TURNS; i++) {
        char byte = 0;
        assert_true(write(ping[1], &byte, 1) == 1 && read(pong[0], &byte, 1) == 1);
    }
    cairn_span_end(s.strand);
    close(ping[1]);
    pthread_join(other, NULL);
    setup_close(&s);
    close(ping[0]);
    close(pong[0]);
    close(pong[1]);
}

/* Looks whose switches are not all known are estimated, once: never is a thread without a core for
 * longer than the time that has passed, nor twice at once. */
static void lost_switches_are_estimated(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH];
    crn_switches *switches = crn_switches_open(gettid());
    if (!switches)
        skip();
    crn_switches_close(switches);
    bool lost = false;
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    for (int attempt = 0; attempt < 20 && !lost; attempt++) {
        record_many_switches(scratch_path(path, "lost.cairn"));
        sched_setaffinity(0, sizeof all, &all);
        crn_trace *trace = recorded_trace(path);
        assert_int_equal(trace->span_count, 1);
        assert_true(trace->cpu[0] + trace->ready[0] <= trace->spans[0].end - trace->spans[0].start);
        for (uint32_t i = 0; i < trace->off_core_count; i++) {
            const crn_off_core *its = &trace->off_core[i];
            assert_true(its->waiting + its->ready <= its->end - its->begin);
            if (i && its->begin < its[-1].end)
                fail_msg("%" PRIu32 ": from %" PRIu64 ", %" PRIu64 " waiting, %" PRIu64
                         " ready; before it from %" PRIu64 " to %" PRIu64 ", %" PRIu64
                         " waiting, %" PRIu64 " ready",
                         i, its->begin, its->waiting, its->ready, its[-1].begin, its[-1].end,
                         its[-1].waiting, its[-1].ready);
            lost |= its->waiting + its->ready < its->end - its->begin; /* it ran in between */
        }
        crn_trace_free(trace);
    }
    if (!lost)
        skip(); /* they were always read in time */
}

/* ---- wake-ups ---- */

enum { GIVEN = 100, GIVER = 1 };

static void *give(void *data)
{
    setup *s = data;
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(s->profile, "giver"));
    cairn_span_begin(strand, MAIN, 0);
    for (int i = 0; i < GIVEN; i++) {
        char byte = 0;
        usleep(2000);
        if (write(ping[1], &byte, 1) != 1)
            break;
    }
    cairn_span_end(strand);
    return data;
}

/* Mounts the kernel's tracing for this process alone, where it is not mounted yet. */
static bool mount_tracing(void)
{
    static const char place[] = "/sys/kernel/tracing";
    crn_switches *wakes = crn_switches_open_wakes(gettid());
    if (!wakes && unshare(CLONE_NEWNS) == 0 &&
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("tracefs", place, "tracefs", 0, NULL) == 0)
        wakes = crn_switches_open_wakes(gettid());
    crn_switches_close(wakes);
    return wakes != NULL;
}

static void record_wakes(const char *path)
{
    cairn_options options = span_options(path);
    options.off_core = true;
    setup s = setup_open(&options, BLOCKS);
    pthread_t giver;
    char byte;
    if (pipe(ping) != 0 || pthread_create(&giver, NULL, give, &s) != 0)
        _exit(1);
    for (int i = 0; i < GIVEN; i++) {
        cairn_span_begin(s.strand, SLEEP, i);
        if (read(ping[0], &byte, 1) != 1)
            _exit(1);
        cairn_span_end(s.strand);
    }
    pthread_join(giver, NULL);
    setup_close(&s);
}

/* If tracepoints may be used, a wait has the lane whose thread ended it. */
static void waits_have_the_thread_that_ended_them(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH];
    scratch_path(path, "wakes.cairn");
    pid_t child = fork();
    if (child == 0) {
        if (!mount_tracing())
            _exit(77);
        record_wakes(path);
        _exit(0);
    }
    await_or_skip(child);
    crn_trace *trace = recorded_trace(path);
    uint32_t waits = 0, given = 0;
    for (uint32_t i = 0; i < trace->off_core_count; i++) {
        const crn_off_core *its = &trace->off_core[i];
        if (its->lane == GIVER || its->waiting < MS)
            continue;
        waits++;
        if (its->woken_by == CRN_SPAN_NONE)
            continue;
        given++;
        assert_int_equal(its->woken_by, GIVER);
        assert_int_equal(its->waiting + its->ready, its->end - its->begin);
    }
    assert_true(waits > 0 && given >= waits / 2); /* not before both threads were found */
    crn_trace_free(trace);
}

/* ---- ready time without wake-ups ---- */

/* Waits whose wake-up is known, and times without waiting, get no part of it. */
static void ready_time_is_divided_among_waits_without_a_wake_up(void **state)
{
    (void)state;
    crn_disk_off_core entries[] = {
        {.waiting = 1000, .ready = 10}, /* its wake-up is known */
        {.waiting = 1000},
        {.ready = 50}, /* preempted */
        {.waiting = 1000, .ready = 10},
        {.waiting = 1000},
        {.waiting = 30}, /* shorter than its part */
    };
    int64_t owed = 300;
    crn_off_core_share(entries, sizeof entries / sizeof *entries, &owed);
    assert_int_equal(owed, 70);
    const uint64_t ready[] = {10, 100, 50, 10, 100, 30}, waiting[] = {1000, 900, 0, 1000, 900, 0};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(entries[i].ready, ready[i]);
        assert_int_equal(entries[i].waiting, waiting[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(working_waiting_and_ready_are_told_apart),
        cmocka_unit_test(without_switches_they_are_estimated),
        cmocka_unit_test(the_kernel_says_that_switches_are_missing),
        cmocka_unit_test(lost_switches_are_estimated),
        cmocka_unit_test(waits_have_the_thread_that_ended_them),
        cmocka_unit_test(ready_time_is_divided_among_waits_without_a_wake_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
