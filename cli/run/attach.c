/* SPDX-License-Identifier: MIT
 *
 * The sampler from outside, for two uses: a running process, until it ends, its time is over or the
 * user presses Ctrl-C; and a program that nothing can be preloaded into.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "hosts/outside/outside.h"
#include "run.h"

static crn_outside *volatile sampled;

static void stop(int number)
{
    (void)number;
    if (sampled)
        crn_outside_stop(sampled);
}

static void read_command(int process, char *command, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, command, size - 1);
    if (file >= 0)
        close(file);
    length = length > 0 ? length : 0;
    command[length] = '\0';
    for (ssize_t i = 0; i + 1 < length; i++)
        if (!command[i])
            command[i] = ' ';
}

static void until_told(crn_outside *outside, uint64_t for_ns)
{
    crn_run_end_signals before;
    sampled = outside;
    crn_run_catch_end(stop, &before);
    crn_outside_run(outside, for_ns);
    crn_run_catch_no_end(&before);
    sampled = NULL;
}

static void say_cost(uint64_t samples, crn_outside_stops stops)
{
    const double ns_in_ms = 1e6;
    fprintf(stderr, "%s: %llu samples; ", crn_cli_name, (unsigned long long)samples);
    if (stops.count)
        fprintf(stderr,
                "the kernel refused to take them, so threads were stopped: for %.1f ms in all, "
                "%.2f ms at the longest\n",
                (double)stops.total_ns / ns_in_ms, (double)stops.longest_ns / ns_in_ms);
    else
        fputs("the process was not stopped for them\n", stderr);
}

int crn_run_attach(const crn_run *run, int process, uint64_t period_ns, uint64_t for_ns)
{
    char command[1024], why[512];
    bool talks = !run->quiet && isatty(STDERR_FILENO);
    read_command(process, command, sizeof command);
    char *labels = run->labels->count ? crn_run_labels(run->labels) : NULL;
    crn_outside_options options = {.process = process,
                                   .output = run->output,
                                   .command = command,
                                   .labels = labels,
                                   .period_ns = period_ns};
    crn_outside *outside = crn_outside_begin(&options, why, sizeof why);
    if (!outside) {
        crn_free(labels);
        return crn_cli_fail("%s", why);
    }
    if (talks)
        fprintf(stderr, "%s: sampling %s; %s\n", crn_cli_name, command,
                for_ns ? "Ctrl-C ends it early" : "until it ends, or Ctrl-C");
    until_told(outside, for_ns);
    uint64_t samples = crn_outside_samples(outside);
    crn_outside_stops stops = crn_outside_stopped(outside);
    crn_outside_end(outside);
    if (talks)
        say_cost(samples, stops);
    crn_run_finish(run, 0, 0);
    crn_free(labels);
    return CRN_EXIT_OK;
}

/* ---- programs that are started ---- */

typedef struct watched {
    const crn_run *run;
    crn_outside *outside;
    pthread_t thread;
} watched;

static void *sample(void *data)
{
    crn_outside_run(((watched *)data)->outside, 0);
    return NULL;
}

static char *command_of(char **program)
{
    char *text = crn_strdup("");
    for (; *program; program++) {
        char *longer = NULL;
        if (asprintf(&longer, "%s%s%s", text, *text ? " " : "", *program) < 0)
            break;
        crn_free(text);
        text = crn_strdup(longer);
        free(longer);
    }
    return text;
}

static bool begin_watch(void *data, int process)
{
    watched *watched = data;
    sigset_t all, before;
    char why[512];
    char *command = command_of(watched->run->program);
    char *labels = watched->run->labels->count ? crn_run_labels(watched->run->labels) : NULL;
    crn_outside_options options = {.process = process,
                                   .begins = true,
                                   .output = watched->run->sampled,
                                   .command = command,
                                   .labels = labels,
                                   .period_ns = watched->run->period_ns};
    watched->outside = crn_outside_begin(&options, why, sizeof why);
    crn_free(command);
    crn_free(labels);
    if (!watched->outside)
        return crn_cli_fail("%s was not run: %s", watched->run->path, why) == CRN_EXIT_OK;
    sigfillset(&all); /* the first thread handles and passes on signals */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int problem = pthread_create(&watched->thread, NULL, sample, watched);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (problem)
        crn_outside_end(watched->outside);
    return !problem || crn_cli_fail("cannot start a thread: %s", strerror(problem)) == CRN_EXIT_OK;
}

static void end_watch(void *data)
{
    watched *watched = data;
    crn_outside_stop(watched->outside);
    pthread_join(watched->thread, NULL);
    crn_outside_end(watched->outside);
}

int crn_run_wait_outside(const crn_run *run, int *status)
{
    watched watched = {.run = run};
    crn_run_watch watch = {&watched, begin_watch, end_watch};
    return crn_run_wait(run, &watch, status);
}
