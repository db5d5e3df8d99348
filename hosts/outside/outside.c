/* SPDX-License-Identifier: MIT
 *
 * Samples other processes: turns what the kernel tells into charges to contexts.
 */
#include "outside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../native/calls.h"
#include "../native/code.h"
#include "../native/sleeper.h"
#include "base/memory.h"
#include "sampler.h"

enum {
    LOOK_NS = 10000000,       /* between two looks at threads */
    LOOK_IDLE_NS = 100000000, /* while none of them runs */
    LOOK_SLEEPER = 8 /* a thread that sleeps on is looked at after an eighth of its sleep */
};

#define MICROSECOND 1000.0 /* squares are in µs², so that their sums fit into the notes */

struct crn_outside {
    crn_events *events; /* NULL: samples by `stops` */
    crn_stops *stops;
    pid_t process;
    uint64_t next_stop, next_read; /* when to sample by stops, and to read what is mapped, ns */
    cairn_profile *profile;
    cairn_metric ready; /* time without a core; 0: not added */
    uint64_t period_ns;
    bool begins;
    volatile sig_atomic_t stopped;
    bool busy; /* a process has used processor time: the next look is soon */
    bool all;  /* the first thread of a process has ended: this look is at all threads */
    uint64_t samples, looks, incomplete, lost;
    uint64_t unplaced; /* samples that were charged, but whose moment was not stored */
    double cpu_squares, wall_squares; /* µs² */
    uint64_t now;  /* when records were read, or threads looked at, last; CLOCK_MONOTONIC, ns */
    crn_path late; /* path of a sample that arrived late */
    uint64_t addresses[CRN_FRAMES_MOST];
    char page[CRN_UNWIND_PAGE];
};

static double square_us(uint64_t ns)
{
    return (double)ns / MICROSECOND * ((double)ns / MICROSECOND);
}

static void charge(crn_target *target, cairn_metric metric, uint64_t amount)
{
    if (!target->strand || !amount)
        return;
    crn_path *path = &target->path;
    if (path->context)
        cairn_context_charge(target->lane, path->context, metric, amount);
    else
        path->context = cairn_sample(target->strand, path->blocks, path->length, metric, amount);
}

/* ---- paths ---- */

static cairn_block program_block(crn_outside *outside, crn_space *space)
{
    if (!space->program)
        space->program =
            cairn_block_add(outside->profile,
                            &(cairn_block_info){.name = *space->name ? space->name : "[no name]"});
    return space->program;
}

static void push(crn_target *target, cairn_block block)
{
    crn_path *path = &target->path;
    CRN_GROW(path->blocks, path->length, path->capacity);
    path->blocks[path->length++] = block;
    path->context = 0;
}

/* Sets the thread's path to a walk's frames. */
static void set_path(crn_outside *outside, crn_target *target, const crn_unwind_walk *walk,
                     size_t count)
{
    target->path.length = 0;
    push(target, program_block(outside, target->space));
    if (!walk->complete)
        push(target, crn_code_nothing());
    for (size_t i = count; i--;)
        push(target, crn_space_block(target->space, outside->profile, walk->addresses[i]));
    outside->incomplete += !walk->complete;
}

static crn_unwind_walk walk_of(crn_outside *outside, crn_target *target, crn_unwind_memory *memory)
{
    return (crn_unwind_walk){.memory = memory,
                             .local = crn_space_local,
                             .data = target->space,
                             .entry = target->space->entry,
                             .addresses = outside->addresses,
                             .most = CRN_FRAMES_MOST,
                             .mask = UINT64_MAX};
}

/* ---- threads ---- */

static void read_name(pid_t process, pid_t thread, char name[16])
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)process, (int)thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, name, 15);
    if (file >= 0)
        close(file);
    name[size > 0 ? size : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

/* Returns the thread's entry. Makes the entry and a lane of a thread that was not known. */
static crn_target *target_of(crn_outside *outside, pid_t process, pid_t thread)
{
    crn_target *target = crn_target_of(thread, process, false);
    if (target)
        return target;
    char name[16] = "";
    target = crn_target_of(thread, process, true);
    if (crn_target_times(target, &target->run, &target->ready) && !outside->begins)
        target->charged = target->run; /* time used before has no samples */
    read_name(process, thread, name);
    if (!*target->space->name)
        memcpy(target->space->name, name, sizeof name);
    target->lane = cairn_lane_open(outside->profile, *name ? name : target->space->name);
    target->strand = target->lane ? cairn_strand_open(target->lane) : NULL;
    cairn_lane_set_thread(target->lane, thread);
    return target;
}

/* Counts a gap of wall time as owed to the thread's path. */
static void owe_wall(crn_outside *outside, crn_target *target, uint64_t amount)
{
    target->owed += amount;
    outside->wall_squares += square_us(amount);
}

/* Charges what is owed. */
static void pay_wall(crn_target *target)
{
    charge(target, CAIRN_METRIC_WALL, target->owed);
    target->owed = 0;
}

static void charge_wall(crn_outside *outside, crn_target *target, uint64_t amount)
{
    owe_wall(outside, target, amount);
    pay_wall(target);
}

/* Charges the wall time since the last look to a thread that sleeps on. To charge takes longer than
 * to look, so the time is owed until it is as long as the sleep before: then readers of a live
 * capture see it. */
static void charge_sleep(crn_outside *outside, crn_target *target, uint64_t amount)
{
    owe_wall(outside, target, amount);
    if (target->owed >= (outside->now - target->since) / 2)
        pay_wall(target);
}

/* Charges time without a core; the first charge adds the metric. */
static void charge_ready(crn_outside *outside, crn_target *target, uint64_t amount)
{
    if (!amount)
        return;
    if (!outside->ready)
        outside->ready = cairn_metric_add(outside->profile, "ready", "nanoseconds");
    if (outside->ready < CAIRN_METRIC_MAX)
        charge(target, outside->ready, amount);
}

/* Charges `amount` ns of processor time, used up to the moment `at` (CLOCK_MONOTONIC, ns). */
static void charge_cpu(crn_outside *outside, crn_target *target, uint64_t at, uint64_t amount)
{
    if (target->strand && amount)
        outside->unplaced +=
            !cairn_sample_at(target->strand, target->path.blocks, target->path.length, at, amount);
    target->charged += amount;
    outside->cpu_squares += square_us(amount);
}

/* Charges the processor time that is not charged yet to the thread's last path. */
static void settle(crn_outside *outside, crn_target *target)
{
    uint64_t run, ready;
    if (target->path.length && crn_target_times(target, &run, &ready) && run > target->charged)
        charge_cpu(outside, target, outside->now, run - target->charged);
}

static void end_target(crn_target *target, void *data)
{
    crn_outside *outside = data;
    settle(outside, target);
    if (target->path.length && outside->now > target->looked)
        charge_wall(outside, target, outside->now - target->looked);
    if (target->lane)
        cairn_lane_close(target->lane);
    crn_target_forget(target);
}

/* ---- the kernel's events ---- */

/* Pushes the kernel's functions. The first address is that of the interrupted instruction. */
static void push_kernel(crn_outside *outside, crn_target *target, const crn_event_sample *sample)
{
    const uint64_t markers = (uint64_t)-4095; /* PERF_CONTEXT_MAX; all markers are at or above it */
    uint64_t first = 0;
    while (first < sample->kernel_count && sample->kernel[first] >= markers)
        first++;
    for (uint64_t i = sample->kernel_count; i-- > first;)
        if (sample->kernel[i] < markers)
            push(target, crn_kernel_block(outside->profile, sample->kernel[i], i == first));
}

static void set_sample_path(crn_outside *outside, crn_target *target,
                            const crn_event_sample *sample)
{
    crn_unwind_memory memory = {.low = sample->frame.stack,
                                .high = sample->frame.stack + sample->stack_size,
                                .shift = (uintptr_t)sample->stack - sample->frame.stack};
    crn_unwind_walk walk = walk_of(outside, target, &memory);
    walk.registers = sample->registers;
    size_t count = crn_unwind_stack(&walk, sample->frame);
    set_path(outside, target, &walk, count);
    push_kernel(outside, target, sample);
}

static void exchange(crn_path *one, crn_path *other)
{
    crn_path before = *one;
    *one = *other;
    *other = before;
}

/* Charges processor time to the stack of a sample. The last look may have found the thread asleep.
 * If the sample was taken before that look, and only arrives now, the thread's path stays where it
 * sleeps. If the sample was taken after the look, the thread has slept until the sample. */
static void charge_sample(crn_outside *outside, crn_target *target, const crn_event_sample *sample,
                          uint64_t amount)
{
    bool is_late = target->blocked && sample->time < target->looked;
    if (is_late)
        exchange(&target->path, &outside->late);
    else if (target->blocked) {
        charge_wall(outside, target, sample->time - target->looked);
        target->looked = sample->time;
    }
    set_sample_path(outside, target, sample);
    outside->samples++;
    charge_cpu(outside, target, sample->time, amount);
    if (is_late) {
        exchange(&target->path, &outside->late);
        return;
    }
    target->blocked = false;
    crn_target_look_at(target, 0);
}

static void take_sample(void *data, const crn_event_sample *sample)
{
    crn_outside *outside = data;
    charge_sample(outside, target_of(outside, sample->process, sample->thread), sample,
                  outside->period_ns);
}

static void take_map(void *data, pid_t process, uintptr_t start, uintptr_t end, uint64_t offset,
                     const char *name)
{
    (void)data;
    crn_space_map(crn_space_of(process), start, end, offset, name);
}

/* Handles a thread's new name. If exec gave it, all other threads are gone and the process has a
 * new program. */
static void take_name(void *data, pid_t process, pid_t thread, const char *name, bool exec)
{
    (void)data;
    crn_space *space = crn_space_of(process);
    if (exec) {
        crn_space_clear(space);
        crn_target *target = crn_target_of(thread, process, false);
        if (target) {
            target->space = space;
            target->blocked = false;
        }
    }
    if (process == thread && (exec || !*space->name))
        snprintf(space->name, sizeof space->name, "%.15s", name);
}

static void take_fork(void *data, pid_t process, pid_t parent, pid_t thread)
{
    crn_space *from = crn_space_known(parent);
    if (process != parent && from)
        crn_space_copy(crn_space_of(process), from);
    target_of(data, process, thread);
}

static void take_end(void *data, pid_t process, pid_t thread)
{
    crn_target *target = crn_target_of(thread, process, false);
    if (target)
        end_target(target, data);
}

static void take_lost(void *data, uint64_t count)
{
    ((crn_outside *)data)->lost += count;
}

static void read_events(crn_outside *outside, bool all)
{
    const crn_event_sink sink = {outside,   take_sample, take_map, take_name,
                                 take_fork, take_end,    take_lost};
    outside->now = crn_outside_now();
    crn_events_read(outside->events, &sink, all);
}

/* ---- samples by stops ---- */

static void begin_thread(void *data, pid_t process, pid_t thread)
{
    target_of(data, process, thread);
}

/* Samples a thread that has used processor time, if it runs. (Where it sleeps, a look finds.) */
static void stop_target(crn_target *target, void *data)
{
    crn_outside *outside = data;
    crn_event_sample sample;
    uint64_t run, ready;
    if (!crn_target_times(target, &run, &ready) || run <= target->charged ||
        !crn_thread_runs(target->space->process, target->thread) ||
        !crn_stops_take(outside->stops, target, &sample))
        return;
    charge_sample(outside, target, &sample, run - target->charged);
}

/* Samples by stops, and looks for new threads and loaded code, of which no event tells. */
static void stop_threads(crn_outside *outside)
{
    enum { READ_NS = 1000000000 };
    uint64_t now = crn_outside_now();
    if (now < outside->next_stop)
        return;
    outside->next_stop = now + (outside->period_ns > LOOK_NS ? outside->period_ns : LOOK_NS);
    crn_threads_find(outside->process, begin_thread, outside);
    if (now >= outside->next_read) {
        crn_space_read(crn_space_of(outside->process));
        outside->next_read = now + READ_NS;
    }
    crn_targets_each(UINT64_MAX, stop_target, outside);
}

/* ---- looks: wall time ---- */

/* Notes whether a process has used processor time: if not, each of its threads is where it was, or
 * has ended and the kernel's event was lost. A process of which a thread ran at the last look is
 * not asked: the kernel would add up the times of all its threads. */
static void look_at_space(crn_space *space, void *data)
{
    enum { SCHED = 2 };
    crn_outside *outside = data;
    if (space->runs && !space->main_ended) {
        space->runs = false; /* until a look finds it again */
        space->ran = outside->busy = true;
        return;
    }
    clockid_t clock = (clockid_t)(~(unsigned)space->process << 3 | SCHED);
    struct timespec time;
    bool gone = clock_gettime(clock, &time) != 0;
    uint64_t run = gone ? space->run : (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    space->ran = run != space->run;
    space->run = run;
    space->main_ended = gone || (!space->ran && crn_process_is_zombie(space->process));
    if (space->main_ended)
        crn_space_renew(space);
    outside->busy |= space->ran;
    outside->all |= space->main_ended;
}

/* Finds where a sleeping thread is. Its stack is read without a stop. */
static bool find_sleeper(crn_outside *outside, crn_target *target)
{
    crn_unwind_memory memory = {.copy = outside->page, .process = target->thread};
    crn_unwind_walk walk = walk_of(outside, target, &memory);
    crn_sleeper sleeper;
    uint64_t run, ready;
    if (!crn_sleeper_find(target->space->process, target->thread, &sleeper))
        return false;
    walk.find_frame = true;
    size_t count = crn_unwind_stack(&walk, sleeper.frame);
    if (!crn_target_times(target, &run, &ready) || run != target->run)
        return false;
    set_path(outside, target, &walk, count);
    long call = crn_thread_is_stopped(target->thread) ? -1 : sleeper.call;
    cairn_block waits = crn_call_block(outside->profile, target->thread, call, sleeper.first);
    if (waits)
        push(target, waits);
    return true;
}

/* Charges a thread's time since the last look. If it has not run, it is where it was. If it has, it
 * may be somewhere else now: each of the two places is charged half of the time. */
static void look(crn_target *target, void *data)
{
    crn_outside *outside = data;
    uint64_t run, ready, gap = outside->now > target->looked ? outside->now - target->looked : 0;
    crn_space *space = target->space;
    if (target->blocked && !space->main_ended && !space->ran)
        return;
    bool zombie = space->main_ended && target->thread == space->process;
    if (zombie || !crn_target_times(target, &run, &ready)) {
        end_target(target, outside);
        return;
    }
    bool used = run != target->run, ran = used || !target->blocked;
    bool throughout = crn_ran_throughout(run - target->run, gap);
    uint64_t waited = ready > target->ready ? ready - target->ready : 0;
    target->run = run;
    target->ready = ready;
    if (ran && target->path.length) {
        charge_wall(outside, target, gap / 2);
        charge_ready(outside, target, waited / 2);
        waited -= waited / 2;
    }
    uint64_t rest = ran && target->path.length ? gap - gap / 2 : gap;
    if (ran)
        target->blocked = !throughout && find_sleeper(outside, target);
    if (target->path.length) {
        (ran ? charge_wall : charge_sleep)(outside, target, rest);
        charge_ready(outside, target, waited);
    }
    if (run > target->charged + 2 * outside->period_ns && target->path.length)
        charge_cpu(outside, target, outside->now, run - target->charged - outside->period_ns);
    outside->looks += gap != 0;
    target->looked = outside->now;
    if (ran)
        target->since = outside->now;
    space->runs |= used;
    crn_target_look_at(target,
                       ran ? 0 : outside->now + (outside->now - target->since) / LOOK_SLEEPER);
}

static void look_at_all(crn_outside *outside)
{
    outside->now = crn_outside_now();
    outside->all = false;
    crn_spaces_each(look_at_space, outside);
    crn_targets_each(outside->all ? UINT64_MAX : outside->now, look, outside);
}

/* ---- the whole ---- */

static void begin_threads(crn_outside *outside, pid_t process)
{
    crn_space *space = crn_space_of(process);
    read_name(process, process, space->name);
    crn_space_read(space);
    crn_threads_find(process, begin_thread, outside);
}

static void say_why(pid_t process, bool begins, char *why, size_t size)
{
    if (errno == ESRCH || errno == ENOENT)
        snprintf(why, size, "there is no process %d", (int)process);
    else if (begins && (errno == EACCES || errno == EPERM))
        snprintf(why, size,
                 "the kernel does not let this user sample programs from outside: "
                 "/proc/sys/kernel/perf_event_paranoid is above 2, or perf_event_open is "
                 "forbidden, as in containers");
    else if (errno == EACCES || errno == EPERM)
        snprintf(
            why, size,
            "the kernel does not let this user sample process %d: it belongs to somebody else, "
            "or /proc/sys/kernel/perf_event_paranoid is above 2 and ptrace is not allowed, either",
            (int)process);
    else
        snprintf(why, size, "process %d cannot be sampled: %s", (int)process, strerror(errno));
}

static cairn_profile *open_profile(const crn_outside_options *options, char *why, size_t size)
{
    cairn_options profile_options = CAIRN_OPTIONS_DEFAULT;
    cairn_profile *profile;
    profile_options.path = options->output;
    profile_options.command = options->command;
    profile_options.labels = options->labels;
    cairn_error error = cairn_profile_open(&profile, &profile_options);
    if (error)
        snprintf(why, size, "%s cannot be made: %s", options->output, cairn_error_text(error));
    return profile;
}

static void end_sampler(crn_outside *outside)
{
    if (outside->events)
        crn_events_close(outside->events);
    crn_stops_close(outside->stops);
}

crn_outside *crn_outside_begin(const crn_outside_options *options, char *why, size_t size)
{
    crn_outside *outside = crn_calloc(1, sizeof *outside);
    outside->period_ns = options->period_ns;
    outside->begins = options->begins;
    outside->process = options->process;
    outside->events = crn_events_open(options->process, options->period_ns, options->begins);
    int reason = errno;
    if (!outside->events && !options->begins)
        outside->stops = crn_stops_open(crn_space_of(options->process)->living);
    errno = reason;
    if (!outside->events && !outside->stops)
        say_why(options->process, options->begins, why, size);
    else
        outside->profile = open_profile(options, why, size);
    if (!outside->profile) {
        end_sampler(outside);
        crn_free(outside);
        return NULL;
    }
    crn_code_begin(outside->profile);
    begin_threads(outside, options->process);
    return outside;
}

static void take_samples(crn_outside *outside, int wait_ms)
{
    if (outside->events) {
        crn_events_wait(outside->events, wait_ms);
        read_events(outside, false);
    } else {
        poll(NULL, 0, wait_ms);
        stop_threads(outside);
    }
}

void crn_outside_run(crn_outside *outside, uint64_t for_ns)
{
    uint64_t began = crn_outside_now(), gap = LOOK_NS;
    uint64_t end = for_ns ? began + for_ns : UINT64_MAX;
    while (!outside->stopped && crn_targets_count() && crn_outside_now() < end) {
        uint64_t left = end - crn_outside_now(), wait = left < gap ? left : gap;
        take_samples(outside, (int)(wait / 1000000) + 1);
        if (outside->begins && outside->samples == 0)
            outside->busy = true;
        look_at_all(outside);
        gap = outside->busy ? LOOK_NS : gap * 2 < LOOK_IDLE_NS ? gap * 2 : LOOK_IDLE_NS;
        outside->busy = false;
    }
    if (outside->events)
        read_events(outside, true);
}

void crn_outside_stop(crn_outside *outside)
{
    outside->stopped = 1;
}

static void note(crn_outside *outside, const char *key, const char *format, double value)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    cairn_profile_note(outside->profile, key, text);
}

static void note_stops(crn_outside *outside)
{
    crn_outside_stops stops = crn_outside_stopped(outside);
    if (!outside->stops)
        return;
    note(outside, "stops", "%.0f", (double)stops.count);
    note(outside, "stopped_ns", "%.0f", (double)stops.total_ns);
    note(outside, "longest_stop_ns", "%.0f", (double)stops.longest_ns);
}

static void put_notes(crn_outside *outside)
{
    char share[64];
    struct timespec used;
    cairn_profile_note(outside->profile, "host", "sample");
    cairn_profile_note(outside->profile, "mode", "native stacks");
    cairn_profile_note(outside->profile, "wall", "sampled");
    cairn_profile_note(outside->profile, "sampler", outside->stops ? "stops" : "outside");
    cairn_profile_note(outside->profile, "default_metric", "cpu");
    note(outside, "sample_period_ns", "%.0f", (double)outside->period_ns);
    note(outside, "samples", "%.0f", (double)outside->looks);
    note(outside, "wall_squares", "%.0f", outside->wall_squares);
    note(outside, "cpu_samples", "%.0f", (double)outside->samples);
    note(outside, "cpu_squares", "%.0f", outside->cpu_squares);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    note(outside, "cost_ns", "%.0f", (double)used.tv_sec * 1e9 + (double)used.tv_nsec);
    note_stops(outside);
    cairn_profile_note(
        outside->profile, "cost_method",
        outside->stops
            ? "of the sampler, beside the program; without the time in which threads were stopped"
            : "of the sampler, beside the program; without the kernel's copies of stacks");
    if (outside->lost)
        note(outside, "samples_lost", "%.0f", (double)outside->lost);
    if (outside->unplaced)
        note(outside, "samples_unplaced", "%.0f", (double)outside->unplaced);
    snprintf(share, sizeof share, "%llu of %llu", (unsigned long long)outside->incomplete,
             (unsigned long long)(outside->samples + outside->looks));
    cairn_profile_note(outside->profile, "incomplete_stacks", share);
    cairn_profile_note(outside->profile, "kernel_frames",
                       outside->events && crn_events_have_kernel(outside->events) ? "yes"
                                                                                  : "not allowed");
}

void crn_outside_end(crn_outside *outside)
{
    outside->now = crn_outside_now();
    crn_targets_each(UINT64_MAX, end_target, outside);
    put_notes(outside);
    end_sampler(outside);
    cairn_profile_close(outside->profile);
    crn_spaces_free();
    crn_free(outside->late.blocks);
    crn_free(outside);
}

crn_outside_stops crn_outside_stopped(const crn_outside *outside)
{
    crn_outside_stops stops = {0};
    if (outside->stops)
        crn_stops_cost(outside->stops, &stops.count, &stops.total_ns, &stops.longest_ns);
    return stops;
}

uint64_t crn_outside_samples(const crn_outside *outside)
{
    return outside->samples;
}
