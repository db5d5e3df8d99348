/* SPDX-License-Identifier: MIT
 *
 * Reads options from text, and from the environment variables that `cairn run` sets. Both are
 * untrusted: an option with a bad value keeps its default, and a note in the capture says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process.h"

/* ---- parsing ---- */

/* Parses an integer from `least` to `most`. Returns false for any other text. */
static bool read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || value < least || value > most)
        return false;
    *number = value;
    return true;
}

/* Returns the index of the word in a NULL-terminated list; -1 if the list lacks it. */
static int read_word(const char *text, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    return -1;
}

static bool read_wall(cairn_options *options, const char *text)
{
    static const char *const words[] = {"off", "sampled", "exact", NULL};
    int word = read_word(text, words);
    options->wall = word < 0 ? options->wall : (cairn_wall)word;
    return word >= 0;
}

static bool read_cpu(cairn_options *options, const char *text)
{
    static const char *const words[] = {"off", "sampled", NULL};
    int word = read_word(text, words);
    options->cpu = word < 0 ? options->cpu : (cairn_cpu)word;
    return word >= 0;
}

static bool read_spans(cairn_options *options, const char *text)
{
    static const char *const words[] = {"off", "first", "last", NULL};
    int word = read_word(text, words);
    options->spans = word < 0 ? options->spans : word > 0;
    if (word == 2)
        options->span_policy = CAIRN_SPANS_KEEP_LAST;
    return word >= 0;
}

static bool read_span_limit(cairn_options *options, const char *text)
{
    return read_number(text, 1, UINT64_C(1) << 50, &options->span_limit);
}

static bool read_span_rate(cairn_options *options, const char *text)
{
    char *end;
    double rate = strtod(text, &end);
    bool is = end != text && !*end && rate > 0 && rate <= 1;
    options->span_rate = is ? rate : options->span_rate;
    return is;
}

static bool read_on(bool *is_on, const char *text)
{
    static const char *const words[] = {"off", "on", "0", "1", NULL};
    int word = read_word(text, words);
    *is_on = word < 0 ? *is_on : word % 2 == 1;
    return word >= 0;
}

static bool read_span_cpu(cairn_options *options, const char *text)
{
    return read_on(&options->span_cpu, text);
}

static bool read_off_core(cairn_options *options, const char *text)
{
    return read_on(&options->off_core, text);
}

static bool read_span_histograms(cairn_options *options, const char *text)
{
    return read_on(&options->span_histograms, text);
}

static bool read_ticks(cairn_options *options, const char *text)
{
    return read_number(text, 1, 1000000000, &options->tick_period);
}

/* Parses a period in ns. Removes the overhead limit, so that an explicit period is never
 * increased. */
static bool read_period(cairn_options *options, const char *text)
{
    if (!read_number(text, 1000, UINT64_C(3600000000000), &options->sample_period_ns))
        return false;
    options->sample_overhead = 0;
    return true;
}

static bool read_seed(cairn_options *options, const char *text)
{
    return read_number(text, 0, UINT64_MAX, &options->seed);
}

static bool read_path_limit(cairn_options *options, const char *text)
{
    uint64_t number;
    bool is = read_number(text, 1, 1 << 20, &number);
    options->path_limit = is ? (uint32_t)number : options->path_limit;
    return is;
}

static bool read_context_budget(cairn_options *options, const char *text)
{
    uint64_t number;
    bool is = read_number(text, 1, UINT64_C(1) << 31, &number);
    options->context_budget = is ? (uint32_t)number : options->context_budget;
    return is;
}

static bool read_file_limit(cairn_options *options, const char *text)
{
    return read_number(text, 1, UINT64_C(1) << 50, &options->file_limit);
}

static bool read_labels(cairn_options *options, const char *text)
{
    options->labels = text;
    return true;
}

static const struct {
    const char *name;
    bool (*read)(cairn_options *options, const char *text);
} settings[] = {
    {"wall", read_wall},
    {"cpu", read_cpu},
    {"period", read_period},
    {"ticks", read_ticks},
    {"seed", read_seed},
    {"spans", read_spans},
    {"span-limit", read_span_limit},
    {"span-rate", read_span_rate},
    {"span-cpu", read_span_cpu},
    {"off-core", read_off_core},
    {"span-histograms", read_span_histograms},
    {"path-limit", read_path_limit},
    {"context-budget", read_context_budget},
    {"file-limit", read_file_limit},
    {"labels", read_labels},
};

bool cairn_options_set(cairn_options *options, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strcmp(name, settings[i].name) == 0)
            return settings[i].read(options, value);
    return false;
}

/* Returns the value of the environment variable of an option, of lower case letters and hyphens, or
 * NULL, and sets `name` to the variable's name. */
static const char *variable_of(const char *option, char name[32])
{
    char *end = stpcpy(name, "CAIRN_");
    for (; *option; option++)
        *end++ = *option == '-' ? '_' : (char)(*option - 'a' + 'A');
    *end = 0;
    return secure_getenv(name);
}

/* ---- path ---- */

/* Returns the directory of a path; free it. NULL without memory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash && slash > path ? (size_t)(slash - path) : 1;
    char *folder = crn_try_calloc(length + 1, 1);
    return folder ? memcpy(folder, slash ? path : ".", length) : NULL;
}

/* Waits half a second at most: Cairn's processes need about a millisecond, but another program may
 * hold the lock forever. */
int crn_place_lock(void)
{
    enum { TRIES = 500, PAUSE_NS = 1000000 };
    const char *out = secure_getenv("CAIRN_OUT");
    char *folder = out && *out ? folder_of(out) : NULL;
    int file = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    for (int i = 0; file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++) {
        if (i == TRIES)
            break;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    crn_free(folder);
    return file;
}

void crn_place_unlock(int place)
{
    if (place < 0)
        return;
    flock(place, LOCK_UN); /* explicitly, as a child that has not reached exec also has the file */
    close(place);
}

/* Returns true if a process of the same `cairn run` wrote the capture: it was begun after
 * CAIRN_SINCE, when the run began. */
static bool is_of_this_run(const crn_disk_header *header)
{
    uint64_t since;
    const char *text = secure_getenv("CAIRN_SINCE");
    return text && read_number(text, 1, UINT64_MAX, &since) && header->started_unix_ns >= since;
}

/* Returns true if a running process, perhaps this one, writes the capture. */
static bool is_written(const crn_disk_header *header)
{
    return header->state == CRN_STATE_RECORDING && header->process > 0 &&
           header->process <= INT32_MAX && (kill((pid_t)header->process, 0) == 0 || errno == EPERM);
}

/* Returns true if the file is a capture that must not be replaced. */
static bool is_taken(const char *path)
{
    crn_disk_header header;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return false;
    bool taken = read(file, &header, sizeof header) == (ssize_t)sizeof header &&
                 memcmp(header.magic, CRN_MAGIC, sizeof header.magic) == 0 &&
                 (is_written(&header) || is_of_this_run(&header));
    close(file);
    return taken;
}

/* Replaces each %p by the pid. */
char *crn_process_named(const char *path)
{
    enum { DIGITS = 16 };
    char *text = crn_try_calloc(strlen(path) + 1, DIGITS), *end = text;
    for (; text && *path; path++)
        if (path[0] == '%' && path[1] == 'p')
            end += snprintf(end, DIGITS, "%d", (int)getpid()), path++;
        else
            *end++ = *path;
    return text;
}

/* Returns the path for this process's capture; free it. NULL without memory. */
static char *choose_path(const char *out)
{
    char *path = crn_process_named(out);
    if (!path || !is_taken(path))
        return path;
    char *other = crn_child_path(path);
    crn_free(path);
    return other;
}

/* Reads the settings; stores the name of the last variable with a bad value in `*wrong`. */
static void read_settings(cairn_options *options, const char **wrong)
{
    static char variable[32];
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char name[32];
        const char *text = variable_of(settings[i].name, name);
        if (text && *text && !settings[i].read(options, text))
            *wrong = memcpy(variable, name, sizeof variable);
    }
    /* Unless the user sets a seed, each run samples other trees: otherwise a program with a single
     * tree would always or never be recorded. */
    if (options->span_rate < 1 && !secure_getenv("CAIRN_SEED"))
        options->seed = crn_clock_realtime() ^ (uint64_t)getpid() << 32;
}

bool crn_process_options(cairn_options *options, char **path, const char **wrong)
{
    const char *out = secure_getenv("CAIRN_OUT");
    *wrong = NULL;
    *path = out && *out ? choose_path(out) : NULL;
    if (!*path)
        return false;
    options->path = *path;
    read_settings(options, wrong);
    return true;
}

/* Switches spans off: they would stay in memory from one period to the next. */
void crn_process_options_in_memory(cairn_options *options, const char **wrong)
{
    *wrong = NULL;
    read_settings(options, wrong);
    options->spans = options->span_histograms = false;
}
