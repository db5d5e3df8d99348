/* SPDX-License-Identifier: MIT
 *
 * spans.c - cost of spans in units of two `rdtsc`, the least that any recorder with two time
 * stamps can cost; its distribution over a million spans; their size in the capture; hand-offs;
 * bursts, and a flood of five million a second.
 *
 * Two rdtsc, the empty loop and the loop with spans take turns of some hundred microseconds. The
 * figure of a turn is (with - empty) / spans / two rdtsc, in processor time of the recording
 * thread, or of the whole process, with the thread that prepares space. A turn in which the thread
 * lost its processor is repeated, up to a few times. The result is the median over batches of the
 * median over turns.
 */
#include <cairn/scope.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure.h"

enum { BATCHES = 9, TURNS = 25, TRIES = 8, STAMPS = 4000, SPANS = 4000, MILLION = 1000000 };

static void fail(const char *what)
{
    fprintf(stderr, "spans: %s\n", what);
    exit(1);
}

typedef struct recording {
    cairn_profile *profile;
    cairn_strand *strand, *other; /* of two lanes */
    cairn_key key;
    int64_t iteration;
} recording;

static const char path[] = "spans.cairn";

static recording open_recording(const cairn_options *wanted)
{
    recording r = {0};
    cairn_options options = *wanted;
    options.path = path;
    options.file_limit = (uint64_t)16 << 30;
    if (cairn_profile_open(&r.profile, &options) != CAIRN_OK)
        fail("the profile cannot be opened");
    cairn_block_add(r.profile, &(cairn_block_info){.name = "span"});
    cairn_block_add(r.profile, &(cairn_block_info){.name = "asking"});
    r.key = cairn_key_add(r.profile, "key");
    r.strand = cairn_strand_open(cairn_lane_open(r.profile, "spans"));
    r.other = cairn_strand_open(cairn_lane_open(r.profile, "other"));
    usleep(20000); /* space is prepared */
    return r;
}

/* ---- loops ---- */

static void run_empty(recording *r)
{
    for (int i = 0; i < SPANS; i++) {
        int64_t iteration = r->iteration++;
        MEASURE_OPAQUE(iteration);
    }
}

static void run_spans(recording *r)
{
    for (int i = 0; i < SPANS; i++) {
        int64_t iteration = r->iteration++;
        MEASURE_OPAQUE(iteration);
        cairn_span_begin(r->strand, 1, iteration);
        __asm__ volatile("");
        cairn_span_end(r->strand);
    }
}

static void run_attributes(recording *r)
{
    for (int i = 0; i < SPANS; i++) {
        int64_t iteration = r->iteration++;
        MEASURE_OPAQUE(iteration);
        cairn_span_begin(r->strand, 1, iteration);
        cairn_span_integer(r->strand, r->key, iteration);
        cairn_span_end(r->strand);
    }
}

/* Hands off to a context of another lane, which this lane has adopted before. */
static void run_handoffs(recording *r)
{
    for (int i = 0; i < SPANS; i++) {
        int64_t iteration = r->iteration++;
        MEASURE_OPAQUE(iteration);
        cairn_handoff token = cairn_handoff_take(r->other);
        cairn_handoff_adopt(r->strand, token);
        cairn_handoff_leave(r->strand);
    }
}

/* The same as a program writes it, with a span of the adopted work. */
static void run_jobs(recording *r)
{
    for (int i = 0; i < SPANS; i++) {
        int64_t iteration = r->iteration++;
        MEASURE_OPAQUE(iteration);
        cairn_handoff token = cairn_handoff_take(r->other);
        cairn_adoption adoption = cairn_adoption_begin(r->strand, token);
        cairn_span_begin(r->strand, 1, iteration);
        __asm__ volatile("");
        cairn_span_end(r->strand);
        cairn_adoption_end(&adoption);
    }
}

/* The same in a process without a profile. */
static void run_off(recording *r)
{
    for (int i = 0; i < SPANS; i++) {
        int64_t iteration = r->iteration++;
        MEASURE_OPAQUE(iteration);
        cairn_handoff token = cairn_handoff_take(cairn_thread_strand());
        MEASURE_OPAQUE(token.span);
        CAIRN_ADOPT(token);
        __asm__ volatile("");
    }
}

static double time_of(void (*run)(recording *), recording *r, double (*clock)(void))
{
    double start = clock();
    run(r);
    return (clock() - start) / SPANS;
}

/* ---- a row ---- */

typedef struct row {
    const char *name;
    void (*run)(recording *);
    double (*clock)(void);
    bool in_ns, histograms, no_spans, cpu;
    cairn_span_policy policy;
    double rate;
} row;

static cairn_options options_of(const row *row)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.spans = !row->no_spans;
    options.span_histograms = row->histograms;
    options.span_cpu = row->cpu;
    options.span_policy = row->policy;
    options.span_rate = row->rate ? row->rate : 1;
    return options;
}

static double bytes_on_disk(void)
{
    struct stat status;
    if (stat(path, &status) != 0)
        fail("there is no capture");
    return (double)status.st_blocks * 512;
}

/* Dropped spans would be cheaper. */
static void check_all_are_there(const recording *r)
{
    int64_t spans = r->iteration / 2; /* the other half was empty loops */
    if (bytes_on_disk() < 0.99 * 32 * (double)spans)
        fail("spans were dropped: space for them was not ready; is the machine busy?");
}

static void measure_row(const row *row)
{
    cairn_options options = options_of(row);
    recording r = open_recording(&options);
    measure_series results = {0}, batch = {0}, net = {0}, stamps = {0};
    cairn_span_begin(r.other, 2, 1); /* the requester */
    for (int i = 0; i < 5; i++)
        row->run(&r);
    for (int b = 0; b < BATCHES; b++) {
        measure_clear(&batch);
        for (int turn = 0; turn < TURNS; turn++) {
            double two = 0, empty = 0, with = 0;
            for (int i = 0; i < TRIES; i++) {
                long interruptions = measure_interruptions();
                two = measure_two_stamps(row->clock, STAMPS);
                empty = time_of(run_empty, &r, row->clock);
                with = time_of(row->run, &r, row->clock);
                if (measure_interruptions() == interruptions)
                    break;
            }
            measure_add(&batch, row->in_ns ? with - empty : (with - empty) / two);
            measure_add(&net, with - empty);
            measure_add(&stamps, two);
        }
        measure_add(&results, measure_quantile(&batch, 0.5));
    }
    measure_print(row->name, &results, "%.1f ns; two rdtsc %.1f ns", measure_quantile(&net, 0.5),
                  measure_quantile(&stamps, 0.5));
    cairn_profile_close(r.profile);
    if (!row->no_spans && row->rate == 0 && row->policy == CAIRN_SPANS_KEEP_FIRST &&
        row->run != run_handoffs)
        check_all_are_there(&r);
    remove(path);
}

/* ---- distribution ---- */

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

static int compare_times(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Times each of a million spans, with some microseconds of other work after each few thousand:
 * about two million a second. */
static void time_each(recording *r, uint32_t *times)
{
    for (int i = 0; i < MILLION; i++) {
        uint64_t begin = measure_stamp();
        if (r) {
            cairn_span_begin(r->strand, 1, i);
            cairn_span_end(r->strand);
        }
        uint64_t took = measure_stamp() - begin;
        times[i] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
        while (measure_stamp() - begin < 1000)
            ;
    }
}

static void measure_evenness(void)
{
    const row plain = {.rate = 1};
    static uint32_t times[MILLION], empty[MILLION];
    measure_series tail = {0}, most = {0}, first = {0}, faulted = {0}, without = {0};
    double median = 0;
    for (int round = 0; round < 5; round++) {
        cairn_options options = options_of(&plain);
        recording r = open_recording(&options);
        memset(times, 1, sizeof times);
        memset(empty, 1, sizeof empty);
        time_each(NULL, empty);
        long before = faults();
        cairn_span_begin(r.strand, 1, -1);
        cairn_span_end(r.strand);
        measure_add(&first, (double)(faults() - before));
        before = faults();
        time_each(&r, times);
        measure_add(&faulted, (double)(faults() - before));
        qsort(times, MILLION, sizeof *times, compare_times);
        qsort(empty, MILLION, sizeof *empty, compare_times);
        median = times[MILLION / 2];
        measure_add(&tail, times[MILLION / 1000 * 999] / median);
        measure_add(&most, times[MILLION - 1] / median);
        measure_add(&without, empty[MILLION - 1] / (double)empty[MILLION / 2]);
        cairn_profile_close(r.profile);
        remove(path);
    }
    measure_print("even/tail", &tail, "the median is %.0f ticks, two rdtsc of it", median);
    measure_print("even/most", &most, "with nothing between the two rdtsc: %.0f × their median",
                  measure_quantile(&without, 0.5));
    measure_print("even/faults", &faulted, "of the thread that records, as the kernel counts them");
    measure_print("even/first", &first, "it makes its first space itself");
}

/* ---- bursts and floods ---- */

enum { BURST = 5000, BURSTS = 1000, PAUSE_US = 1000, FLOOD_RATE = 5000, FLOOD_MS = 20000 };

/* Returns the ns that a burst of spans, or of the same loop without them, takes by the wall clock.
 */
static double time_of_burst(recording *r, bool with)
{
    double start = measure_now();
    for (int i = 0; i < BURST; i++) {
        int64_t iteration = r->iteration++;
        MEASURE_OPAQUE(iteration);
        if (!with)
            continue;
        cairn_span_begin(r->strand, 1, iteration);
        __asm__ volatile("");
        cairn_span_end(r->strand);
    }
    return measure_now() - start;
}

/* The worst of many bursts, with some work of others between them, and the worst without spans. */
static void measure_bursts(void)
{
    const row plain = {.rate = 1};
    cairn_options options = options_of(&plain);
    recording r = open_recording(&options);
    measure_series with = {0}, without = {0};
    for (int i = 0; i < BURSTS; i++) {
        measure_add(&with, time_of_burst(&r, true) / 1000);
        measure_add(&without, time_of_burst(&r, false) / 1000);
        usleep(PAUSE_US);
    }
    cairn_profile_close(r.profile);
    remove(path);
    measure_print("burst/usual", &with, "the same loop without spans: %.1f µs",
                  measure_quantile(&without, 0.5));
    measure_series worst = {0};
    measure_add(&worst, measure_quantile(&with, 1));
    measure_print("burst/worst", &worst, "the worst of the same loop without spans: %.0f µs",
                  measure_quantile(&without, 1));
}

/* Five million spans a second: 5,000 a millisecond. Prints how many of 100 were lost. */
static void measure_flood(void)
{
    const row plain = {.rate = 1};
    cairn_options options = options_of(&plain);
    recording r = open_recording(&options);
    double start = measure_now();
    int64_t late = 0;
    for (int ms = 0; ms < FLOOD_MS; ms++) {
        while (measure_now() - start < ms * 1e6) {
        }
        late += measure_now() - start > (ms + 1) * 1e6;
        for (int i = 0; i < FLOOD_RATE; i++) {
            cairn_span_begin(r.strand, 1, r.iteration++);
            __asm__ volatile("");
            cairn_span_end(r.strand);
        }
    }
    double took = (measure_now() - start) / 1e9, spans = (double)r.iteration;
    cairn_profile_close(r.profile);
    measure_series lost = {0};
    double kept = bytes_on_disk() / sizeof(cairn_priv_span);
    measure_add(&lost, kept < spans ? 100 * (1 - kept / spans) : 0);
    remove(path);
    measure_print("flood", &lost, "%.0f million in %.1f s; %" PRId64 " of %d ms began late",
                  spans / 1e6, took, late, FLOOD_MS);
}

/* ---- size ---- */

static double bytes_of(int64_t count)
{
    const row plain = {.rate = 1};
    cairn_options options = options_of(&plain);
    recording r = open_recording(&options);
    for (int64_t i = 0; i < count; i++) {
        cairn_span_begin(r.strand, 1, i);
        cairn_span_end(r.strand);
        if (i % 4000 == 0)
            usleep(1000);
    }
    cairn_profile_close(r.profile);
    double bytes = bytes_on_disk();
    remove(path);
    return bytes;
}

static void measure_bytes(void)
{
    enum { COUNT = 1 << 20 };
    measure_series bytes = {0};
    for (int i = 0; i < 3; i++)
        measure_add(&bytes, (bytes_of(COUNT) - bytes_of(0)) / COUNT);
    measure_print("bytes", &bytes, "on disk, of 1,048,576, less what a capture without any takes");
}

/* Arguments: names of rows, "even", "bytes", "burst", "flood"; without any, all of them. */
static bool is_asked_for(char **names, const char *name)
{
    bool asked = !*names;
    for (; *names; names++)
        asked |= strcmp(*names, name) == 0;
    return asked;
}

int main(int count, char **names)
{
    static const row rows[] = {
        {.name = "pair", .run = run_spans, .clock = measure_thread},
        {.name = "pair-whole", .run = run_spans, .clock = measure_processor},
        {.name = "pair-last",
         .run = run_spans,
         .clock = measure_thread,
         .policy = CAIRN_SPANS_KEEP_LAST},
        {.name = "pair-skipped", .run = run_spans, .clock = measure_thread, .rate = 1e-9},
        {.name = "histograms",
         .run = run_spans,
         .clock = measure_thread,
         .histograms = true,
         .no_spans = true},
        {.name = "histograms-too", .run = run_spans, .clock = measure_thread, .histograms = true},
        {.name = "cpu", .run = run_spans, .clock = measure_thread, .cpu = true},
        {.name = "attribute", .run = run_attributes, .clock = measure_thread},
        {.name = "handoff", .run = run_handoffs, .clock = measure_thread, .in_ns = true},
        {.name = "job", .run = run_jobs, .clock = measure_thread, .in_ns = true},
        {.name = "off", .run = run_off, .clock = measure_thread, .in_ns = true, .no_spans = true},
    };
    static const struct {
        const char *name;
        void (*measure)(void);
    } others[] = {{"even", measure_evenness},
                  {"bytes", measure_bytes},
                  {"burst", measure_bursts},
                  {"flood", measure_flood}};
    names += count > 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_asked_for(names, rows[i].name))
            measure_row(&rows[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is_asked_for(names, others[i].name))
            others[i].measure();
    return 0;
}
