/* SPDX-License-Identifier: MIT
 *
 * verbs.c - runs every command of the tool on damaged captures: verbs CAIRN SEED_CAPTURE... A
 * command may refuse a capture; it may not end by a signal, by a sanitizer's status, or not at all.
 *
 * CAIRN_FUZZ_SECONDS (5) of runs, with the seed CAIRN_FUZZ_SEED (2026). Captures that a command
 * failed on are kept in CAIRN_FUZZ_KEEP.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/damage.h"
#include "support/random.h"
#include "support/scratch.h"

enum { SANITIZER = 99 /* exit status */, PATIENCE = 120 /* seconds */, ARGUMENTS = 12, SEEDS = 64 };

/* "IN" is the damaged capture, "WHOLE" the one it was made from, "OUT" a file. */
static const char *const commands[][ARGUMENTS] = {
    {"report", "IN"},
    {"report", "--tree", "--threshold", "0", "--top", "0", "IN"},
    {"report", "--stack", "--zero", "IN"},
    {"report", "--callers", "name", "IN"},
    {"report", "--json", "--top", "0", "--strict", "IN"},
    {"report", "--dot", "--gray", "IN"},
    {"report", "--html=OUT", "IN"},
    {"report", "--merge", "--short-names", "--transform", "merge:name.name", "IN", "WHOLE"},
    {"report", "--compare", "wall,cpu", "IN"},
    {"spans", "IN"},
    {"spans", "--missing", "IN"},
    {"spans", "--histograms", "--json", "IN"},
    {"spans", "--by", "iteration", "--slowest", "--top", "0", "IN"},
    {"explain", "IN"},
    {"explain", "--json", "--slow", "> 1us", "IN", "name"},
    {"explain", "--latency", "name,name.name", "IN"},
    {"critical", "IN"},
    {"critical", "--path", "--json", "IN"},
    {"latency", "IN"},
    {"latency", "--from", "name", "--to", "name.name", "--deadline", "1us", "IN"},
    {"query", "IN", "SELECT * FROM spans LEFT JOIN attributes LIMIT 1000"},
    {"query", "IN", "SELECT name, count(*), sum(duration) FROM spans GROUP BY name"},
    {"query", "--json", "IN", "SELECT * FROM contexts"},
    {"whatif", "IN"},
    {"whatif", "--json", "--speedup", "name=2", "--threads", "2", "IN"},
    {"diff", "IN", "WHOLE"},
    {"diff", "--contexts", "--json", "WHOLE", "IN"},
    {"diff", "--why", "WHOLE", "IN"},
    {"gate", "--update", "--baseline", "OUT", "IN"},
    {"assert", "IN", "calls(name) >= 0"},
    {"merge", "-o", "OUT", "IN", "WHOLE", "IN"},
    {"redact", "-o", "OUT", "IN"},
    {"top", "--once", "IN"},
    {"top", "--once", "--view", "spans", "IN"},
    {"export", "--to", "pprof", "-o", "OUT", "IN"},
    {"export", "--to", "folded", "-o", "OUT", "IN"},
    {"export", "--to", "speedscope", "-o", "OUT", "IN"},
    {"export", "--to", "perfetto", "-o", "OUT", "IN"},
    {"export", "--to", "otlp", "-o", "OUT", "IN"},
    {"export", "--to", "chrome", "-o", "OUT", "IN"},
    {"import", "-o", "OUT", "IN"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

typedef struct files {
    char in[SCRATCH_PATH], whole[SCRATCH_PATH], out[SCRATCH_PATH], log[SCRATCH_PATH];
} files;

static char *argument(const files *files, const char *word, char place[SCRATCH_PATH + 16])
{
    if (strcmp(word, "IN") == 0)
        return (char *)files->in;
    if (strcmp(word, "WHOLE") == 0)
        return (char *)files->whole;
    if (strcmp(word, "OUT") == 0)
        return (char *)files->out;
    if (strncmp(word, "--html=", 7) != 0)
        return (char *)word; /* execv's arguments are not const, and it changes none */
    snprintf(place, SCRATCH_PATH + 16, "--html=%s", files->out);
    return place;
}

/* Returns a wait status. A command that does not end is killed. */
static int run(char *cairn, const char *const *words, const files *files)
{
    char place[SCRATCH_PATH + 16];
    char *list[ARGUMENTS + 2] = {cairn};
    for (int i = 0; i < ARGUMENTS && words[i]; i++)
        list[i + 1] = argument(files, words[i], place);
    pid_t child = fork();
    if (child == 0) {
        int log = open(files->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int none = open("/dev/null", O_RDWR);
        dup2(none, STDIN_FILENO);
        dup2(none, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
        alarm(PATIENCE);
        execv(cairn, list);
        _exit(SANITIZER);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static bool is_bad(int status)
{
    return !WIFEXITED(status) || WEXITSTATUS(status) == SANITIZER;
}

static void tell(const files *files, const char *const *words, int status, uint64_t number)
{
    const char *folder = getenv("CAIRN_FUZZ_KEEP");
    size_t size = 0;
    printf("#");
    for (int i = 0; i < ARGUMENTS && words[i]; i++)
        printf(" %s", words[i]);
    printf(": status %x, input %" PRIu64 "\n", (unsigned)status, number);
    char *text = (char *)scratch_read(files->log, &size);
    printf("%.*s\n", (int)(size < 4000 ? size : 4000), text ? text : "");
    free(text);
    if (!folder)
        return;
    char path[SCRATCH_PATH];
    snprintf(path, sizeof path, "%s/verb-%" PRIu64 ".cairn", folder, number);
    unsigned char *bytes = scratch_read(files->in, &size);
    if (bytes)
        scratch_write(path, bytes, size);
    free(bytes);
}

static uint64_t number_of(const char *variable, uint64_t usual)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : usual;
}

/* Damages the capture, and runs some commands on it. Returns how many fail. */
static int try_one(char *cairn, const char *seed, uint64_t number, const files *files)
{
    enum { RUNS = 8 };
    random_source random = {number};
    size_t size = 0;
    unsigned char *bytes = scratch_read(seed, &size);
    int bad = 0;
    if (!bytes || !scratch_write(files->whole, bytes, size))
        return 1;
    damage_fields(&random, bytes, size, 1 + random_below(&random, 6));
    if (random_chance(&random, 1, 16))
        size = random_below(&random, (uint32_t)size + 1);
    scratch_write(files->in, bytes, size);
    free(bytes);
    for (int i = 0; i < RUNS; i++) {
        const char *const *words = commands[random_below(&random, COMMANDS)];
        unlink(files->out);
        int status = run(cairn, words, files);
        if (!is_bad(status))
            continue;
        tell(files, words, status, number);
        bad++;
    }
    return bad;
}

int main(int argc, char **argv)
{
    files files;
    scratch_path(files.in, "damaged.cairn");
    scratch_path(files.whole, "whole.cairn");
    scratch_path(files.out, "out");
    scratch_path(files.log, "log");
    setenv("ASAN_OPTIONS", "exitcode=99:detect_leaks=0:allocator_may_return_null=1", 1);
    setenv("UBSAN_OPTIONS", "exitcode=99:print_stacktrace=1", 1);
    uint64_t seconds = number_of("CAIRN_FUZZ_SECONDS", 5), inputs = 0;
    uint64_t seed = number_of("CAIRN_FUZZ_SEED", 2026);
    time_t end = time(NULL) + (time_t)seconds;
    int bad = argc < 3;
    printf("1..1\n");
    while (argc >= 3 && time(NULL) < end) {
        bad += try_one(argv[1], argv[2 + inputs % (uint64_t)(argc - 2)], seed * 1000003 + inputs,
                       &files);
        inputs++;
    }
    printf("%sok 1 - %" PRIu64 " damaged captures, 8 commands on each, %d fail\n",
           bad ? "not " : "", inputs, bad);
    return bad != 0;
}
