/* SPDX-License-Identifier: MIT
 *
 * sources.c - a program as a compiler like MLton makes it, profiled through libcairn.
 *
 * The compiler has inlined most functions of the source language, so one C function has code of
 * several. It knows at each point which: the local source stack, a sequence of sources. A table
 * maps addresses to sequences. A timer's signal looks up where the program is, and charges the
 * processor time since the last signal to the context of the C function, extended by the sequence
 * there. Enter and Leave are at the calls that remained, and tail calls replace.
 *
 * The source program:
 *
 *     fun letters n = ... a loop ...
 *     fun hash n = ... a loop, three times as long ...
 *     fun word n = (letters n; hash n)                 inlined twice: in main and in check
 *     fun check 0 = () | check n = (word n; check (n - 1) + 0)        recursion
 *     fun even 0 = true | even n = odd (n - 1)  and  odd 0 = false | odd n = even (n - 1)
 *     val () = (loop 4000 (fn n => word n); check 40; print (even 100000))
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* the program counter in signal handlers */
#endif
#include <cairn/cairn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

/* ---- the tables that the compiler makes ---- */

enum name { MAIN, WORD, LETTERS, HASH, CHECK, EVEN, ODD, NAMES };

static const char *const names[NAMES] = {"main", "word", "letters", "hash", "check", "even", "odd"};

/* A source is one copy of a function; copies share their name, the master. */
static const enum name sources[] = {MAIN, WORD,    LETTERS, HASH, CHECK,
                                    WORD, LETTERS, HASH,    EVEN, ODD};

/* Sequences of sources: what is inlined in a C function at a point, outermost first. The function
 * itself, which was entered, is not among them. */
enum sequence { NOTHING, MAIN_LETTERS, MAIN_HASH, CHECK_LETTERS, CHECK_HASH, SEQUENCES };

static const struct sequence_sources {
    int count, sources[2];
} sequences[SEQUENCES] = {[MAIN_LETTERS] = {2, {1, 2}},
                          [MAIN_HASH] = {2, {1, 3}},
                          [CHECK_LETTERS] = {2, {5, 6}},
                          [CHECK_HASH] = {2, {5, 7}}};

/* Puts the address of this place and a sequence into the table. The code up to the next point
 * belongs to the sequence. */
#define POINT(sequence)                                                                            \
    __asm__ volatile("1:\n\t.pushsection source_points, \"a\"\n\t.balign 4\n\t"                    \
                     ".long 1b - .\n\t.long %c0\n\t.popsection"                                    \
                     :                                                                             \
                     : "i"(sequence)                                                               \
                     : "memory")

struct point {
    int32_t offset; /* of the address from this place */
    uint32_t sequence;
};
extern const struct point __start_source_points[], __stop_source_points[];

struct place {
    uintptr_t address;
    uint32_t sequence;
};
static struct place *places; /* sorted by address */
static size_t place_count;

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void sort_places(void)
{
    place_count = (size_t)(__stop_source_points - __start_source_points);
    places = calloc(place_count, sizeof *places);
    for (size_t i = 0; i < place_count; i++) {
        const struct point *point = &__start_source_points[i];
        places[i] =
            (struct place){(uintptr_t)point + (uintptr_t)(intptr_t)point->offset, point->sequence};
    }
    qsort(places, place_count, sizeof *places, compare_places);
}

/* ---- the runtime ---- */

static cairn_profile *profile;
static cairn_lane *lane;
static cairn_strand *strand;
static cairn_block blocks[NAMES]; /* of the masters */
static cairn_metric time_metric;

/* Samples wait here for the next Enter or Leave: a signal handler charges nothing itself. */
enum { SAMPLES = 1024 };
static struct sample {
    cairn_context context;
    uint32_t sequence;
    uint64_t ns;
} samples[SAMPLES];
static volatile uint32_t sample_count;
static volatile cairn_context here; /* of the C function that runs */
static volatile uint64_t charged_until;
static uint64_t charged;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Signal safe. Code before the first point, or of a library, has no sequence. */
static uint32_t sequence_at(uintptr_t address)
{
    size_t low = 0, high = place_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    bool past = low == place_count && low && address - places[low - 1].address > 4096;
    return low && !past ? places[low - 1].sequence : NOTHING;
}

static void take_sample(uint32_t sequence)
{
    uint64_t time = now();
    if (sample_count == SAMPLES) /* the time is part of the next sample */
        return;
    samples[sample_count] = (struct sample){here, sequence, time - charged_until};
    charged_until = time;
    sample_count = sample_count + 1;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    int reason = errno;
    const ucontext_t *interrupted = context;
#if defined(__x86_64__)
    take_sample(sequence_at((uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP]));
#elif defined(__aarch64__)
    take_sample(sequence_at((uintptr_t)interrupted->uc_mcontext.pc));
#else
#error "which register is the program counter?"
#endif
    errno = reason;
}

static void set_signal(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    sigprocmask(how, &set, NULL);
}

/* Charges the waiting samples, with the signal blocked. */
static void charge_samples(void)
{
    for (uint32_t i = 0; i < sample_count; i++) {
        const struct sequence_sources *local = &sequences[samples[i].sequence];
        cairn_context context = samples[i].context;
        for (int s = 0; s < local->count; s++)
            context = cairn_context_step(lane, context, blocks[sources[local->sources[s]]]);
        cairn_context_charge(lane, context, time_metric, samples[i].ns);
        charged += samples[i].ns;
    }
    sample_count = 0;
}

static void drain(void)
{
    set_signal(SIG_BLOCK);
    charge_samples();
    set_signal(SIG_UNBLOCK);
}

static inline void moved(void)
{
    here = cairn_strand_context(strand);
    if (sample_count)
        drain();
}

static inline void Enter(enum name name)
{
    cairn_enter(strand, blocks[name]);
    moved();
}

static inline void TailCall(enum name name)
{
    cairn_replace(strand, blocks[name]);
    moved();
}

static inline void Leave(void)
{
    cairn_leave(strand);
    moved();
}

static void begin(const char *path)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = path;
    options.wall = CAIRN_WALL_OFF;
    if (cairn_profile_open(&profile, &options) != CAIRN_OK)
        fprintf(stderr, "sources: %s cannot be written\n", path); /* all calls below take NULL */
    lane = cairn_lane_open(profile, "main");
    strand = cairn_strand_open(lane);
    time_metric = cairn_metric_add(profile, "time", "ns");
    for (int name = 0; name < NAMES; name++)
        blocks[name] = cairn_block_add(
            profile, &(cairn_block_info){.name = names[name], .file = "sources.sml"});
    sort_places();
    here = CAIRN_CONTEXT_ROOT;
    charged_until = now();
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct itimerspec period = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    sigaction(SIGPROF, &action, NULL);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0)
        timer_settime(timer, 0, &period, NULL);
}

/* The time since the last signal is not lost. */
static void end(uint64_t began)
{
    set_signal(SIG_BLOCK);
    take_sample(NOTHING);
    charge_samples();
    printf("%llu ns\n", (unsigned long long)(charged_until - began));
    cairn_profile_close(profile);
}

/* ---- the program, as compiled ---- */

#define WORK 20000
static volatile uint64_t sink;

static inline __attribute__((always_inline)) void spin(int rounds)
{
    uint64_t value = sink;
    for (int i = 0; i < rounds; i++) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(value));
    }
    sink = value;
}

static __attribute__((noinline)) void check(int n)
{
    POINT(NOTHING);
    if (n == 0)
        return;
    POINT(CHECK_LETTERS);
    spin(WORK);
    POINT(CHECK_HASH);
    spin(3 * WORK);
    POINT(NOTHING);
    Enter(CHECK);
    check(n - 1);
    Leave();
}

/* even and odd are one loop: a tail call is a jump. */
static __attribute__((noinline)) int even(int n)
{
    POINT(NOTHING);
    for (int odd = 0;; odd = !odd, n--) {
        if (n == 0)
            return !odd;
        TailCall(odd ? EVEN : ODD);
    }
}

int main(int count, char **words)
{
    begin(count > 1 ? words[1] : "sources.cairn");
    uint64_t began = charged_until;
    Enter(MAIN);
    for (int n = 0; n < 4000; n++) {
        POINT(MAIN_LETTERS);
        spin(WORK);
        POINT(MAIN_HASH);
        spin(3 * WORK);
        POINT(NOTHING);
        moved();
    }
    Enter(CHECK);
    check(40);
    Leave();
    Enter(EVEN);
    int is_even = even(100000);
    Leave();
    Leave();
    POINT(NOTHING);
    end(began);
    return !is_even;
}
