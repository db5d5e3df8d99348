/* SPDX-License-Identifier: MIT
 *
 * Turns stacks into contexts. Runs in the collector alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../native/calls.h"
#include "../native/code.h"
#include "../native/sleeper.h"
#include "interpreter.h"
#include "sample.h"

/* Squares are in µs², so that their sums fit into the notes that intervals are computed from. */
#define MICROSECOND 1000.0

enum {
    LOOK_SLEEPER = 8 /* a thread that sleeps on is looked at after an eighth of its sleep */
};

static struct {
    uint64_t samples, looks, incomplete, lost;
    uint64_t unplaced; /* samples that were charged, but whose moment was not stored */
    uint64_t spent;    /* ns, in handlers */
    double cpu_squares, wall_squares; /* µs² */
    bool busy;
} counts;

static double square_us(uint64_t ns)
{
    return (double)ns / MICROSECOND * ((double)ns / MICROSECOND);
}

/* ---- paths ---- */

/* Returns the block of an address, or of a word of an interpreter's function. The unwinder's cache
 * stores the blocks of addresses as tags. */
static cairn_block block_of(uint64_t address)
{
    crn_unwind_code code;
    if (address & CRN_INTERPRETED_WORD)
        return crn_interpreters_block(address);
    if (crn_unwind_recall(address, &code) && code.tag)
        return code.tag;
    crn_unwind_look(address, &code);
    return code.tag ? code.tag : crn_code_block(address);
}

/* Sets the thread's path from addresses, the youngest first. */
static void path_set(crn_sampled *thread, const uint64_t *addresses, uint64_t mask, uint64_t at,
                     size_t count, bool complete)
{
    thread->length = 0;
    thread->context = 0;
    if (!complete)
        thread->path[thread->length++] = crn_code_nothing();
    for (size_t i = count; i--;)
        thread->path[thread->length++] = block_of(addresses[(at + i) & mask]);
    counts.incomplete += !complete;
}

static void charge(crn_sampled *thread, cairn_metric metric, uint64_t amount)
{
    if (!thread->strand || !amount)
        return;
    if (thread->context)
        cairn_context_charge(thread->lane, thread->context, metric, amount);
    else
        thread->context =
            cairn_sample(thread->strand, thread->path, thread->length, metric, amount);
}

/* ---- processor time ---- */

/* Charges processor time up to `cpu`, the thread's clock at `at` (CLOCK_MONOTONIC), both in ns. */
static void charge_cpu(crn_sampled *thread, uint64_t at, uint64_t cpu)
{
    if (cpu <= thread->charged)
        return;
    uint64_t gap = cpu - thread->charged;
    thread->charged = cpu;
    counts.cpu_squares += square_us(gap);
    if (thread->strand)
        counts.unplaced += !cairn_sample_at(thread->strand, thread->path, thread->length, at, gap);
}

void crn_sample_drain(crn_sampled *thread)
{
    const uint64_t mask = CRN_RING_WORDS - 1;
    uint64_t written = __atomic_load_n(&thread->turn->written, __ATOMIC_ACQUIRE),
             at = thread->turn->read;
    while (at != written) {
        uint64_t head = thread->ring[at & mask], moment = thread->ring[(at + 1) & mask];
        uint64_t cpu = thread->ring[(at + 2) & mask];
        path_set(thread, thread->ring, mask, at + CRN_HEAD_WORDS, head >> 1, head & 1);
        thread->turn->blocked = false;
        counts.spent += thread->ring[(at + 3) & mask];
        counts.samples++;
        charge_cpu(thread, moment, cpu);
        at += CRN_HEAD_WORDS + (head >> 1);
        __atomic_store_n(&thread->turn->read, at, __ATOMIC_RELEASE);
    }
    counts.lost += __atomic_exchange_n(&thread->lost, 0, __ATOMIC_RELAXED);
}

void crn_sample_settle(crn_sampled *thread, uint64_t now)
{
    crn_sample_drain(thread);
    charge_cpu(thread, now, crn_sample_clock(thread->turn->clock));
}

/* ---- wall time ---- */

/* Unwinds a thread that sleeps. The kernel reads its stack, because the thread may end meanwhile,
 * and its stack with it. Returns false if the thread runs, or ran meanwhile. */
static bool find_sleeper(crn_sampled *thread)
{
    static uint64_t addresses[CRN_FRAMES_MOST];
    static char copy[CRN_UNWIND_PAGE];
    crn_unwind_memory memory = {.copy = copy};
    crn_sleeper sleeper;
    char text[CRN_SLEEPER_TEXT];
    crn_unwind_walk walk = {.memory = &memory,
                            .find_frame = true,
                            .addresses = addresses,
                            .most = CRN_FRAMES_MOST,
                            .mask = UINT64_MAX};
    crn_sample_thread_read(thread, "syscall", &thread->call_file, text, sizeof text);
    if (!crn_sleeper_parse(text, &sleeper))
        return false;
    crn_interpreters interpreters;
    crn_interpreters_prepare(&walk, &interpreters, thread->tid);
    size_t count = crn_unwind_stack(&walk, sleeper.frame);
    if (crn_sample_clock(thread->turn->clock) != thread->turn->cpu)
        return false;
    path_set(thread, addresses, UINT64_MAX, 0, count, walk.complete);
    cairn_block waits = thread->lane ? crn_call_block(cairn_lane_profile(thread->lane), thread->tid,
                                                      sleeper.call, sleeper.first)
                                     : 0;
    if (waits)
        thread->path[thread->length++] = waits;
    return true;
}

/* Returns how long the thread was ready without a core since the last look, ns: the second number
 * of "CPU READY TURNS". The kernel adds it when the thread gets a core. */
static uint64_t find_ready(crn_sampled *thread)
{
    char text[96];
    crn_sample_thread_read(thread, "schedstat", &thread->ready_file, text, sizeof text);
    const char *second = strchr(text, ' ');
    uint64_t ready = second ? strtoull(second, NULL, 10) : 0;
    uint64_t last = thread->ready == UINT64_MAX ? ready : thread->ready;
    thread->ready = ready > last ? ready : last;
    return thread->ready - last;
}

/* Charges time without a core; the first charge adds the metric. */
static void charge_ready(crn_sampled *thread, uint64_t amount)
{
    static cairn_metric metric;
    if (!thread->lane || !amount)
        return;
    if (!metric)
        metric = cairn_metric_add(cairn_lane_profile(thread->lane), "ready", "nanoseconds");
    if (metric < CAIRN_METRIC_MAX)
        charge(thread, metric, amount);
}

/* Returns the time since the last look, which ends now. */
static uint64_t end_gap(crn_sampled_turn *turn, uint64_t now)
{
    uint64_t gap = now > turn->looked ? now - turn->looked : 0;
    counts.looks += gap != 0;
    counts.wall_squares += square_us(gap);
    turn->looked = now;
    return gap;
}

bool crn_sample_sleeps_on(crn_sampled_turn *turn, uint64_t now)
{
    if (!turn->blocked || crn_sample_clock(turn->clock) != turn->cpu)
        return false;
    turn->owed += end_gap(turn, now);
    turn->next = now + (now - turn->since) / LOOK_SLEEPER;
    return turn->owed < (now - turn->since) / 2;
}

/* A thread that has not run is where it was at the last look. If it has run, it may be somewhere
 * else now: each of the two places is charged half of the time since then. */
void crn_sample_look(crn_sampled *thread, uint64_t now)
{
    crn_sampled_turn *turn = thread->turn;
    uint64_t cpu = crn_sample_clock(turn->clock);
    uint64_t gap = end_gap(turn, now), before = turn->owed;
    uint64_t used = cpu - turn->cpu;
    bool ends = thread->tid == crn_sample_ending_thread;
    bool ran = !ends && (used || !turn->blocked);
    bool all_the_time = crn_ran_throughout(used, gap);
    uint64_t ready = used && !all_the_time ? find_ready(thread) : 0;
    counts.busy |= used != 0;
    turn->cpu = cpu;
    turn->owed = 0;
    if (ran && thread->length) {
        before += gap / 2;
        gap -= gap / 2;
        charge_ready(thread, ready / 2);
        ready -= ready / 2;
    }
    charge(thread, CAIRN_METRIC_WALL, before);
    crn_sample_drain(thread);
    if (ran)
        turn->blocked = !all_the_time && find_sleeper(thread);
    if (turn->blocked)
        crn_sample_thread_close(thread);
    charge(thread, CAIRN_METRIC_WALL, gap);
    charge_ready(thread, ready);
    if (ran)
        turn->since = now;
    turn->next = ran ? 0 : now + (now - turn->since) / LOOK_SLEEPER;
}

void crn_sample_finish(crn_sampled *thread)
{
    if (thread->own)
        return;
    uint64_t gap = end_gap(thread->turn, crn_sample_clock(CLOCK_MONOTONIC));
    charge(thread, CAIRN_METRIC_WALL, thread->turn->owed);
    crn_sample_drain(thread);
    charge(thread, CAIRN_METRIC_WALL, gap);
}

bool crn_sample_was_busy(void)
{
    bool busy = counts.busy;
    counts.busy = false;
    return busy;
}

void crn_sample_forget(void)
{
    memset(&counts, 0, sizeof counts);
}

/* ---- notes ---- */

/* Writes a number without a fraction. snprintf writes numbers of type double by a table of the
 * thread, which a hidden thread lacks. */
static void write_number(double value, char *text, size_t size)
{
    const uint64_t part = 1000000000000000000;
    uint64_t high = (uint64_t)(value / (double)part);
    double rest = value - (double)high * (double)part;
    uint64_t low = rest > 0 ? (uint64_t)(rest + 0.5) : 0;
    low = low < part ? low : part - 1;
    if (high)
        snprintf(text, size, "%llu%018llu", (unsigned long long)high, (unsigned long long)low);
    else
        snprintf(text, size, "%llu", (unsigned long long)low);
}

static void note(cairn_profile *profile, const char *key, double value)
{
    char text[48];
    write_number(value, text, sizeof text);
    cairn_profile_note(profile, key, text);
}

void crn_sample_describe(cairn_profile *profile, uint64_t period_ns)
{
    cairn_profile_note(profile, "host", "sample");
    cairn_profile_note(profile, "mode", "native stacks");
    cairn_profile_note(profile, "wall", "sampled");
    cairn_profile_note(profile, "sampler", "timer"); /* fires at the kernel's ticks */
    cairn_profile_note(profile, "default_metric", "cpu");
    note(profile, "sample_period_ns", (double)period_ns);
}

void crn_sample_note(cairn_profile *profile)
{
    char share[64];
    note(profile, "samples", (double)counts.looks);
    note(profile, "wall_squares", counts.wall_squares);
    note(profile, "cpu_samples", (double)counts.samples);
    note(profile, "cpu_squares", counts.cpu_squares);
    note(profile, "handler_ns", (double)counts.spent);
    note(profile, "cost_ns",
         (double)counts.spent + (double)crn_sample_clock(CLOCK_THREAD_CPUTIME_ID));
    snprintf(share, sizeof share, "in %llu samples and the collector",
             (unsigned long long)counts.samples);
    cairn_profile_note(profile, "cost_method", share);
    if (counts.lost)
        note(profile, "samples_lost", (double)counts.lost);
    if (counts.unplaced)
        note(profile, "samples_unplaced", (double)counts.unplaced);
    const char *why = crn_sample_threads_lack_timers();
    if (why)
        cairn_profile_note(profile, "no_samples", why);
    snprintf(share, sizeof share, "%llu of %llu", (unsigned long long)counts.incomplete,
             (unsigned long long)(counts.samples + counts.looks));
    cairn_profile_note(profile, "incomplete_stacks", share);
}
