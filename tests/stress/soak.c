/* SPDX-License-Identifier: MIT
 *
 * soak.c - a long test of everything at once. Threads play random events on lanes that they take
 * from each other; threads, strands and lanes begin and end; spans are handed off, and
 * allocations passed on, from lane to lane; some threads fork; a signal comes every 100
 * microseconds; clocks sample at 10 kHz. This process reads the capture meanwhile: no
 * counter may decrease, and while the program pauses the figures must be exact.
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/profile.h"
#include "stress/soak.h"
#include "support/grown.h"
#include "support/scratch.h"
#include "support/soundness.h"

static unsigned loads;

static crn_profile *load(const char *path, difference *found)
{
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    loads++;
    if (!profile) {
        difference_set(found, "%.400s", error.message);
    } else if (!profile_is_sound(profile, found)) {
        crn_profile_free(profile);
        profile = NULL;
    }
    return profile;
}

static bool equal(const char *what, uint64_t is, uint64_t expected, difference *found)
{
    if (is != expected)
        difference_set(found, "%s: %" PRIu64 ", but %" PRIu64 " went in", what, is, expected);
    return is == expected;
}

/* `slack`: the rate of the time stamp counter is known to some parts in 100,000 after a while. */
static bool between(const char *what, uint64_t is, uint64_t least, uint64_t most, uint64_t slack,
                    difference *found)
{
    bool good = is + slack >= least && is <= most + slack;
    if (!good)
        difference_set(found,
                       "%" PRIu64 " ns of %s, but the threads had the lanes for %" PRIu64
                       " to %" PRIu64,
                       is, what, least, most);
    return good;
}

static uint64_t total(const crn_profile *profile, const char *name)
{
    return profile_total(profile, crn_profile_metric(profile, name));
}

/* The peak may be too low by 0.8 % and 16 KiB (ALLOC.md). */
static bool peak_holds(const crn_profile *profile, const soak_page *page, difference *found)
{
    uint64_t peak = total(profile, CRN_PEAK_BYTES), least = page->most_live;
    bool good = peak + least / 125 + 16384 >= least;
    if (!good)
        difference_set(found, "peak of %" PRIu64 " bytes, but %" PRIu64 " were live", peak, least);
    return good;
}

static bool allocations_hold(const crn_profile *profile, const soak_page *page, difference *found)
{
    const soak_figures *figures = &page->figures;
    return equal("freed bytes", total(profile, CRN_FREED_BYTES), figures->freed_bytes, found) &&
           equal("freed objects", total(profile, CRN_FREED_OBJECTS), figures->freed_objects,
                 found) &&
           peak_holds(profile, page, found);
}

static bool is_what_went_in(const crn_profile *profile, const soak_page *page, difference *found)
{
    const soak_figures *figures = &page->figures;
    bool good = equal("calls", profile_total(profile, CRN_METRIC_CALLS), figures->calls, found) &&
                equal("ticks", profile_total(profile, CRN_METRIC_TICKS), figures->ticks, found);
    for (int metric = 0; good && metric < REFERENCE_USER_METRICS; metric++)
        good = equal(soak_metrics[metric], total(profile, soak_metrics[metric]),
                     figures->user[metric], found);
    return good && allocations_hold(profile, page, found) &&
           between("wall time", profile_total(profile, CRN_METRIC_WALL), figures->least.wall,
                   figures->most.wall, figures->most.wall / 20000 + 10000, found) &&
           between("processor time", profile_total(profile, CRN_METRIC_CPU), figures->least.cpu,
                   figures->most.cpu, 0, found);
}

/* Leaves the status to be fetched. */
static bool has_ended(pid_t program)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)program, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid;
}

/* Reads the capture as long as the program runs. */
static bool read_along(const soak_options *options, soak_page *page, pid_t program,
                       difference *found)
{
    const char *path = options->path;
    crn_profile *last = load(path, found);
    bool good = last != NULL;
    while (good && !page->finished && !has_ended(program)) {
        uint64_t paused = page->paused;
        crn_profile *now = load(path, found);
        good = now && profile_has_grown(last, now, found);
        if (good && paused > page->seen) {
            good = is_what_went_in(now, page, found) &&
                   soak_trace_holds(path, &page->figures, options->last_spans, found);
            page->seen = good ? paused : page->seen;
        } else if (good) {
            good = soak_trace_holds(path, NULL, options->last_spans, found);
        }
        crn_profile_free(last);
        last = now;
        usleep(2000);
    }
    crn_profile_free(last);
    return good;
}

static bool check_end(const soak_options *options, const soak_page *page, difference *found)
{
    const soak_figures *figures = &page->figures;
    crn_profile *profile = load(options->path, found);
    if (!profile)
        return false;
    bool good = is_what_went_in(profile, page, found) &&
                soak_trace_holds(options->path, figures, options->last_spans, found);
    printf("# wall %.6f s of %.6f to %.6f; cpu %.6f s of %.6f to %.6f\n",
           (double)profile_total(profile, CRN_METRIC_WALL) / 1e9, (double)figures->least.wall / 1e9,
           (double)figures->most.wall / 1e9, (double)profile_total(profile, CRN_METRIC_CPU) / 1e9,
           (double)figures->least.cpu / 1e9, (double)figures->most.cpu / 1e9);
    crn_profile_free(profile);
    return good;
}

static bool soak_once(const soak_options *options, soak_page *page, difference *found)
{
    pid_t program = fork();
    if (program == 0)
        exit(soak_program(options, page));
    while (!page->ready && !has_ended(program))
        usleep(100);
    bool good = page->ready && read_along(options, page, program, found);
    if (!good)
        kill(program, SIGKILL);
    int status = 0;
    waitpid(program, &status, 0);
    if (good && status != 0) {
        difference_set(found, "the program ended with %x", (unsigned)status);
        good = false;
    }
    return good && check_end(options, page, found);
}

static bool read_options(int argc, char **argv, soak_options *options)
{
    static const struct option known[] = {
        {"seconds", required_argument, NULL, 's'},
        {"threads", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 'r'},
        {"steps", required_argument, NULL, 'e'},
        {"no-signals", no_argument, NULL, 'n'},
        {"no-fork", no_argument, NULL, 'f'},
        {"fork-alone", no_argument, NULL, 'a'},
        {"last-spans", no_argument, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;
        switch (option) {
        case 's':
            options->seconds = (unsigned)number;
            break;
        case 't':
            options->threads = (unsigned)number;
            break;
        case 'r':
            options->seed = number;
            break;
        case 'e':
            options->steps = (unsigned)number;
            break;
        case 'n':
            options->signals = false;
            break;
        case 'f':
            options->forks = options->forks_alone = false;
            break;
        case 'a':
            options->forks = false;
            break;
        case 'l':
            options->last_spans = true;
            break;
        default:
            return false;
        }
    }
    return options->threads >= 1 && options->threads <= SOAK_THREADS_MOST && options->steps >= 1;
}

static void print_figures(const soak_page *page)
{
    const soak_figures *figures = &page->figures;
    printf("# %" PRIu64 " pauses, %" PRIu64 " calls, %u loads, %" PRIu64 " threads, %" PRIu64
           " lanes, %" PRIu64 " hand-overs, %" PRIu64 " forks, %" PRIu64 " signals\n",
           page->paused, figures->calls, loads, page->threads, figures->lanes, page->hand_overs,
           page->forks, page->signals);
    printf("# %" PRIu64 " spans, %" PRIu64 " dropped, %" PRIu64 " hand-offs, %" PRIu64
           " allocations of %" PRIu64 " bytes, %" PRIu64 " freed, at most %" PRIu64 " bytes live\n",
           figures->spans, figures->spans_dropped, figures->handoffs, figures->user[SOAK_OBJECTS],
           figures->user[SOAK_BYTES], figures->freed_objects, page->most_live);
}

int main(int argc, char **argv)
{
    char path[SCRATCH_PATH];
    soak_options options = {.seed = soak_now(),
                            .seconds = 5,
                            .threads = 8,
                            .steps = 30000,
                            .signals = true,
                            .forks = true,
                            .forks_alone = true,
                            .path = scratch_path(path, "soak.cairn")};
    if (!read_options(argc, argv, &options)) {
        fprintf(stderr,
                "usage: soak [--seconds N] [--threads 1..%d] [--seed N] [--steps N] "
                "[--no-signals] [--no-fork] [--fork-alone] [--last-spans]\n",
                SOAK_THREADS_MOST);
        return 97;
    }
    soak_page *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 97;
    difference found = {""};
    printf("1..1\n# seed %" PRIu64 "\n", options.seed);
    fflush(stdout);
    bool good = soak_once(&options, page, &found);
    print_figures(page);
    if (!good)
        printf("# %s; seed %" PRIu64 "\n", found.text, options.seed);
    printf("%sok 1 - soak\n", good ? "" : "not ");
    return !good;
}
