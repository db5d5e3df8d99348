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
#include "plat/thread.h"
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
enum { ROUNDS = 6, SPANS = 3 * ROUNDS };

/* Times of the recording thread, read by the thread itself. */
typedef struct reading {
    uint64_t wall, cpu, ready;
} reading;

/* Readings of the recording thread. */
typedef struct measured {
    reading begin[SPANS], end[SPANS]; /* by span: before and after it */
    reading opened, closed;           /* before and after all that is recorded */
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

static reading read_own(void)
{
    reading its = {.cpu = own_cpu()};
    assert_true(crn_thread_ready_time(gettid(), &its.ready));
    its.wall = now_ns();
    return its;
}

static void one_span(cairn_strand *strand, cairn_block block, int i, measured *measured)
{
    measured->begin[i] = read_own();
    cairn_span_begin(strand, block, i);
    if (block == SLEEP)
        usleep(20000);
    else
        compute(10 * MS);
    cairn_span_end(strand);
    measured->end[i] = read_own();
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

/* Spans that work, sleep, and work while another thread wants their core. */
static void record(const char *path, measured *measured)
{
    cairn_options options = span_options(path);
    options.off_core = true;
    measured->opened = read_own();
    setup s = setup_open(&options, BLOCKS);
    while (!__atomic_load_n(&s.profile->off_core_source, __ATOMIC_ACQUIRE))
        usleep(1000); /* until the thread has been found */
    for (int i = 0; i < 2 * ROUNDS; i++)
        one_span(s.strand, i < ROUNDS ? WORK : SLEEP, i, measured);
    stop = false;
    pthread_t other = crowd();
    for (int i = 2 * ROUNDS; i < SPANS; i++)
        one_span(s.strand, WORK, i, measured);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    setup_close(&s);
    measured->closed = read_own();
}

/* How figures of a period may differ from the truth, ns: by `error`, and where entries are those of
 * whole looks, by the length of the entries that are only partly within. Looks are long on a busy
 * machine. */
typedef struct tolerance {
    uint64_t error;
    bool estimated;
} tolerance;

static uint64_t allowed(tolerance tolerance, const crn_trace *trace, uint64_t from, uint64_t to)
{
    uint64_t most = tolerance.error;
    for (uint32_t i = 0; tolerance.estimated && i < trace->off_core_count; i++) {
        const crn_off_core *its = &trace->off_core[i];
        bool apart = its->end <= from || its->begin >= to;
        if (!apart && (its->begin < from || its->end > to))
            most += its->end - its->begin;
    }
    return most;
}

/* Returns the length of the longest entry within a period. Ready time that is counted when it is
 * over may be that of the entry before. */
static uint64_t longest(const crn_trace *trace, uint64_t from, uint64_t to)
{
    uint64_t length = 0;
    for (uint32_t i = 0; i < trace->off_core_count; i++) {
        const crn_off_core *its = &trace->off_core[i];
        if (its->end > from && its->begin < to && its->end - its->begin > length)
            length = its->end - its->begin;
    }
    return length;
}

/* Processor time of each span is that which the thread has measured. */
static void check_spans(const crn_trace *trace, const measured *measured, tolerance tolerance)
{
    for (uint32_t s = 0; s < SPANS; s++) {
        uint64_t start = trace->spans[s].start, end = trace->spans[s].end, cpu = trace->cpu[s];
        uint64_t used = measured->end[s].cpu - measured->begin[s].cpu;
        uint64_t error = allowed(tolerance, trace, start, end);
        assert_true(cpu + trace->ready[s] <= end - start);
        assert_true(cpu + error >= (s >= ROUNDS && s < 2 * ROUNDS ? 0 : 10 * MS));
        if (cpu > used + error)
            fail_msg("span %" PRIu32 ": %" PRIu64 " of %" PRIu64 " ns, not %" PRIu64, s, cpu,
                     end - start, used);
    }
}

/* While spans slept, the thread had no core; crowded spans were ready as long as the kernel says.
 */
static void check_phases(const crn_trace *trace, const measured *measured, tolerance tolerance)
{
    enum { CROWDED = 2 * ROUNDS };
    crn_off_sums sums = crn_off_sums_of(trace->off_core, trace->off_core_count, 0);
    uint64_t from = trace->spans[ROUNDS].start, to = trace->spans[CROWDED - 1].end;
    crn_off_times slept = crn_off_times_within(&sums, from, to);
    assert_true(slept.waiting + slept.ready + allowed(tolerance, trace, from, to) >=
                (uint64_t)ROUNDS * 20 * MS);
    const reading *first = &measured->begin[CROWDED], *last = &measured->end[SPANS - 1];
    uint64_t away = last->wall - first->wall - (last->cpu - first->cpu);
    uint64_t ready = last->ready - first->ready;
    from = trace->spans[CROWDED].start;
    to = trace->spans[SPANS - 1].end;
    crn_off_times crowded = crn_off_times_within(&sums, from, to);
    uint64_t error = allowed(tolerance, trace, from, to);
    error += tolerance.estimated ? longest(trace, from, to) : 0;
    assert_true(away > 10 * MS);
    assert_in_range(crowded.ready + error, ready / 10 * 8, away + 2 * error);
    crn_free(sums.before);
}

/* The thread waited as long as it had no core, less the ready time that the kernel says. */
static void check_sums(const crn_trace *trace, const measured *measured, tolerance tolerance)
{
    uint64_t ready = measured->closed.ready - measured->opened.ready, waiting = 0, is_ready = 0;
    uint64_t wall = measured->end[SPANS - 1].wall - measured->begin[0].wall;
    uint64_t cpu = measured->end[SPANS - 1].cpu - measured->begin[0].cpu;
    for (uint32_t i = 0; i < trace->off_core_count; i++) {
        waiting += trace->off_core[i].waiting;
        is_ready += trace->off_core[i].ready;
    }
    assert_true(is_ready <= ready + tolerance.error);
    assert_true(waiting + ready + cpu + tolerance.error >= wall);
}

static void check(const char *path, const measured *measured, tolerance tolerance)
{
    crn_trace *trace = recorded_trace(path);
    assert_int_equal(trace->span_count, SPANS);
    assert_non_null(trace->ready);
    assert_true(trace->off_core_count > ROUNDS);
    check_spans(trace, measured, tolerance);
    check_phases(trace, measured, tolerance);
    check_sums(trace, measured, tolerance);
    crn_trace_free(trace);
}

static void working_waiting_and_ready_are_told_apart(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH];
    measured measured;
    cpu_set_t all;
    crn_switches *switches = crn_switches_open(gettid());
    if (!switches)
        skip(); /* they may not be read here */
    crn_switches_close(switches);
    sched_getaffinity(0, sizeof all, &all);
    record(scratch_path(path, "off_core.cairn"), &measured);
    sched_setaffinity(0, sizeof all, &all);
    check(path, &measured, (tolerance){.error = 20 * MS});
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
    measured *measured =
        mmap(NULL, sizeof *measured, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(measured, MAP_FAILED);
    scratch_path(path, "estimated.cairn");
    pid_t child = fork();
    if (child == 0) {
        forbid_switches();
        record(path, measured);
        _exit(0);
    }
    await_or_skip(child);
    check(path, measured, (tolerance){.error = 20 * MS, .estimated = true});
    munmap(measured, sizeof *measured);
}

/* ---- lost switches ---- */

/* Takes what there is. Returns true if switches were lost. */
static bool read_all(crn_switches *switches, uint64_t *last)
{
    crn_switch next;
    bool lost = false;
    while (crn_switches_next(switches, crn_switches_end(switches), &next)) {
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
    uint64_t last = now_ns();
    crn_switches *switches = crn_switches_open(gettid());
    if (!switches)
        skip();
    usleep(1);
    assert_false(crn_switches_are_full(switches));
    assert_false(read_all(switches, &last));
    for (int i = 0; i < 3000; i++)
        usleep(1);
    assert_true(crn_switches_are_full(switches));
    bool lost = read_all(switches, &last);
    for (int i = 0; !lost && i < 1000; i++) { /* a timer may be over before the thread waits */
        usleep(1);
        lost = read_all(switches, &last);
    }
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

static bool both_are_recorded;

/* The moments before and after the wait for a byte. */
typedef struct asked {
    uint64_t begin, end;
} asked;

static void *give(void *data)
{
    setup *s = data;
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(s->profile, "giver"));
    while (!__atomic_load_n(&both_are_recorded, __ATOMIC_ACQUIRE))
        usleep(1000);
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

/* Waits until a snapshot says of two threads that they are recorded: by an entry of length 0. */
static void await_both(cairn_profile *profile)
{
    char path[SCRATCH_PATH];
    scratch_path(path, "both.cairn");
    for (uint32_t found = 0; found < 2; usleep(1000)) {
        assert_int_equal(cairn_profile_snapshot(profile, path), CAIRN_OK);
        crn_trace *trace = recorded_trace(path);
        found = 0;
        for (uint32_t i = 0; i < trace->off_core_count; i++)
            found += trace->off_core[i].begin == trace->off_core[i].end;
        crn_trace_free(trace);
    }
    __atomic_store_n(&both_are_recorded, true, __ATOMIC_RELEASE);
}

static void record_wakes(const char *path, asked asked[GIVEN])
{
    cairn_options options = span_options(path);
    options.off_core = true;
    setup s = setup_open(&options, BLOCKS);
    pthread_t giver;
    char byte;
    if (pipe(ping) != 0 || pthread_create(&giver, NULL, give, &s) != 0)
        _exit(1);
    cairn_span_begin(s.strand, MAIN, 0);
    await_both(s.profile);
    cairn_span_end(s.strand);
    for (int i = 0; i < GIVEN; i++) {
        cairn_span_begin(s.strand, SLEEP, i);
        asked[i].begin = now_ns();
        if (read(ping[0], &byte, 1) != 1)
            _exit(1);
        asked[i].end = now_ns();
        cairn_span_end(s.strand);
    }
    pthread_join(giver, NULL);
    setup_close(&s);
}

/* Returns how many of the waits for a byte the trace has, all of which the giver must have ended.
 */
static uint32_t check_given(const crn_trace *trace, const asked asked[GIVEN])
{
    uint32_t waits = 0, next = 0;
    uint64_t start = trace->processes[0].monotonic_ns;
    for (uint32_t i = 0; i < trace->off_core_count; i++) {
        const crn_off_core *its = &trace->off_core[i];
        while (next < GIVEN && asked[next].end < start + its->end)
            next++;
        if (its->lane == GIVER || its->waiting == 0 || next == GIVEN ||
            start + its->begin < asked[next].begin)
            continue;
        waits++;
        if (its->woken_by != GIVER)
            fail_msg("the wait for byte %" PRIu32 ", %" PRIu64 " ns, was not ended by the giver",
                     next, its->waiting);
        assert_int_equal(its->waiting + its->ready, its->end - its->begin);
    }
    return waits;
}

/* If tracepoints may be used, each wait has the lane whose thread ended it, however late the
 * switches are read. */
static void waits_have_the_thread_that_ended_them(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH];
    asked *asked = mmap(NULL, GIVEN * sizeof *asked, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(asked, MAP_FAILED);
    scratch_path(path, "wakes.cairn");
    pid_t child = fork();
    if (child == 0) {
        if (!mount_tracing())
            _exit(77);
        record_wakes(path, asked);
        _exit(0);
    }
    await_or_skip(child);
    crn_trace *trace = recorded_trace(path);
    assert_true(check_given(trace, asked) > 0);
    crn_trace_free(trace);
    munmap(asked, GIVEN * sizeof *asked);
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
