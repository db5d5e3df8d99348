/* SPDX-License-Identifier: MIT
 *
 * cairn run: starts a program with profiling. A host runs a script; a native program gets the
 * capture's path in CAIRN_OUT.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/sampled_path.h"
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/run/run.h"
#include "commands.h"

static struct {
    crn_list pass;     /* options for the host */
    crn_list recorded; /* options of `pass` that libcairn in native programs has, too */
    crn_list labels;
    const char *output;     /* of the capture: as given, later with symbolic links followed */
    const char *host_only;  /* given option that only the Lua host has */
    const char *not_alloc;  /* given option that excludes --alloc */
    const char *alloc_mean; /* "exact", a number, or NULL */
    uint64_t period_ns;     /* 0: not given */
    bool alloc, locks, stacks, outside, quiet;
    int mode_count, word; /* word: a choice's index, not used */
    long number;          /* not used */
    char **program;       /* program and its arguments */
    int count;
} given;

/* ---- options -------------------------------------------------------------------------- */

static void pass(struct argp_state *state, const crn_option *option, char *value)
{
    (void)state;
    char *text = NULL;
    if (asprintf(&text, value ? "--%s=%s" : "--%s", option->name, value) < 0)
        exit(crn_cli_fail("out of memory"));
    crn_list_add(&given.pass, text);
}

/* Takes an option on what to record; a missing argument is replaced by its default. Native programs
 * cannot have such an option together with --alloc. */
static void record(struct argp_state *state, const crn_option *option, char *value)
{
    static char on[] = "on", sampled[] = "sampled", first[] = "first";
    given.not_alloc = option->name;
    if (!value && strcmp(option->name, "exact") != 0)
        value = strcmp(option->name, "cpu") == 0     ? sampled
                : strcmp(option->name, "spans") == 0 ? first
                                                     : on;
    pass(state, option, value);
    crn_list_add(&given.recorded, given.pass.list[given.pass.count - 1]);
}

static void set_mode(struct argp_state *state, const crn_option *option, char *value)
{
    if (++given.mode_count > 1)
        argp_error(state, "--exact, --ticks and --sample exclude each other");
    if (strcmp(option->name, "sample") == 0)
        given.host_only = option->name;
    record(state, option, value);
}

static void set_rate(struct argp_state *state, const crn_option *option, char *value)
{
    char *end;
    double share = strtod(value, &end);
    if (end == value || *end || !(share > 0 && share <= 1))
        argp_error(state, "--span-rate needs a share above 0 and up to 1, not \"%s\"", value);
    record(state, option, value);
}

/* Passes the period on, in ns. */
static void set_period(struct argp_state *state, const crn_option *option, char *value)
{
    char text[32];
    uint64_t ns;
    if (!crn_cli_time(value, 1000, 3600e9, &ns))
        argp_error(state, "--period needs a time from 1us to 3600s, not \"%s\"", value);
    given.period_ns = ns;
    snprintf(text, sizeof text, "%" PRIu64, ns);
    record(state, option, text);
}

static void set_alloc(struct argp_state *state, const crn_option *option, char *value)
{
    char *end = value;
    if (value && strcmp(value, "exact") != 0 && (strtoll(value, &end, 10) < 1 || *end))
        argp_error(state, "--alloc is exact or a number of bytes, not \"%s\"", value);
    given.alloc = true;
    given.alloc_mean = value;
    pass(state, option, value);
}

static void add_label(struct argp_state *state, const crn_option *option, char *value)
{
    (void)option;
    crn_run_check_label(state, value);
    crn_list_add(&given.labels, value);
}

static void take_program(struct argp_state *state, char *value)
{
    (void)value;
    given.program = state->argv + state->next - 1;
    given.count = state->argc - state->next + 1;
    state->next = state->argc;
}

static void check(struct argp_state *state)
{
    if (!given.program)
        argp_error(state, "no program given; name a Lua script, or - for one from standard input");
}

static const crn_option options[] = {
    {.help = "How to profile a Lua program (one of):"},
    {"exact", .help = "Every call, tail call and return (the default)",
     .more = "Counts are exact; wall time is sampled each millisecond into the exact context.",
     .set = set_mode},
    {"ticks", .argument = "N",
     .help = "Every call, and a repeatable clock: instructions of the interpreter, one in N "
             "sampled. Hash and random seeds are fixed, so that runs are comparable",
     .more = "Two runs of a program that does not depend on addresses give the same profile, for "
             "regression tests.",
     .number = &given.number, .least = 1, .most = 1000000000, .set = set_mode},
    {"sample", .argument = "HZ",
     .help = "Sample the stack HZ times a second: nearly free, no counts", .number = &given.number,
     .least = 1, .most = 100000, .set = set_mode},
    {.help = "What to record, for Lua programs and programs that use libcairn:"},
    {"wall", .argument = "KIND", .words = CRN_WORDS("sampled", "exact", "off"),
     .help = "Wall time: sampled (the default: each millisecond, into the exact context), exact "
             "(at every event) or off (the default with --ticks)",
     .choice = &given.word, .set = record},
    {"cpu", .help = "Also processor time, sampled; shows what waits",
     .more = "A block with much wall time and little processor time waits.", .set = record},
    {"period", .argument = "TIME",
     .help = "Time between samples of wall and processor time, such as 500us or 2ms; default: 1ms, "
             "or longer if samples would take more than a hundredth of the time",
     .set = set_period},
    {"spans", .argument = "KIND", .optional = true, .words = CRN_WORDS("first", "last", "off"),
     .help = "Record each execution of a scope, see cairn-spans: first (the default: at the limit, "
             "later ones are dropped), last (the oldest are overwritten) or off (the default with "
             "--ticks, --sample and --alloc)",
     .more = "A span has an iteration number, attributes and a parent.", .choice = &given.word,
     .set = record},
    {"span-limit", .argument = "BYTES", .help = "Limit on the bytes of spans of a thread",
     .more = "The same limit holds for their attributes and edges.", .number = &given.number,
     .least = 1, .most = 1L << 50, .set = record},
    {"span-rate", .argument = "SHARE",
     .help = "Record this share of span trees, such as 0.01, each completely", .set = set_rate},
    {"span-cpu", .help = "Processor time of each span, to tell work from waiting",
     .more = "It takes two system calls a span.", .set = record},
    {"off-core",
     .help = "Record when threads have no core, and whether they wait or are ready to run",
     .more = "The kernel's context switches tell; where they may not be read, "
             "/proc/self/task/*/schedstat does, every few milliseconds.",
     .set = record},
    {"span-histograms",
     .help = "Record histograms of span durations, by block and attribute; also with --spans=off",
     .set = record},
    {"alloc", .argument = "KIND", .optional = true, .words = CRN_WORDS("exact"),
     .help = "Allocations and live memory by context: exact, or sampled with this mean number of "
             "bytes between samples. Default: exact for Lua programs, 524288 for native ones, "
             "which need no libcairn for this",
     .more = "Without --wall, --cpu and --ticks the report shows memory first. See "
             "ALLOCATIONS.",
     .set = set_alloc},
    {"locks",
     .help = "Record mutexes, condition variables and semaphores as spans, for cairn whatif: of "
             "native programs, with or without libcairn",
     .more = "A library is preloaded; see docs/WHATIF.md. Needs --spans=first, the default. Locks "
             "of a process are numbered unless the dynamic linker knows their names.",
     .flag = &given.locks},
    {"stacks",
     .help = "Also sample the native stacks of a program that uses libcairn, into "
             "FILE.sampled.cairn: cairn explain tells in which functions slow spans spend their "
             "time",
     .more = "FILE is the capture's name without .cairn. A library is preloaded, as for programs "
             "without libcairn, which are always sampled.",
     .flag = &given.stacks},
    {"label", .argument = "KEY=VALUE", .help = "A note for the report; may be repeated",
     .set = add_label},
    {"outside",
     .help = "Sample a program as it is, from outside: by the kernel (perf_event_open), as cairn "
             "attach does. Static, set-uid and Go programs are always sampled so",
     .more = "No library is then preloaded. Processes that the program starts are sampled, too, "
             "static ones included.",
     .flag = &given.outside},
    {.help = "Limits:"},
    {"path-limit", .argument = "N",
     .help = "Limit on the length of a context's path (1024); longer ones fold",
     .number = &given.number, .least = 1, .most = 1 << 20, .set = record},
    {"context-budget", .argument = "N",
     .help = "Limit on the number of contexts (4194304); further ones fold",
     .more = "Their calls are added to existing contexts; the report shows how many.",
     .number = &given.number, .least = 1, .most = 1L << 31, .set = record},
    {"file-limit", .argument = "BYTES",
     .help = "Limit on the size of the capture in bytes (4294967296)", .number = &given.number,
     .least = 1, .most = 1L << 50, .set = record},
    {.help = "Output:"},
    CRN_OPTION_OUTPUT(&given.output, "FILE",
                      "Path of the capture; default: the program's name with .cairn, in the "
                      "current folder. %p stands for the process number",
                      "Only its owner can read it. It gets its name as soon as it is readable."),
    {"quiet", 'q', .help = "Do not print hints on a terminal, such as the next command",
     .flag = &given.quiet, .set = pass},
    {0},
};

static const char doc[] =
    "Run PROGRAM and profile it. A Lua script runs as lua5.4 would run it.\vA native program (ELF) "
    "that uses libcairn is run with CAIRN_OUT=FILE and the options in its environment. Any other "
    "dynamically linked program, or a script that names its interpreter, is sampled as it is; with "
    "--alloc its allocations are recorded. Anything else is a Lua script.\n\n  cairn run "
    "script.lua input.txt\n  cairn run --ticks 1000 -o "
    "before.cairn script.lua\n  cairn run --sample 1000 --label branch=main script.lua\n  cairn "
    "run --alloc ./program argument";

/* ---- program -------------------------------------------------------------------------- */

static bool is_elf(const char *path)
{
    char magic[4] = {0};
    struct stat stat_buffer;
    if (stat(path, &stat_buffer) != 0 || !S_ISREG(stat_buffer.st_mode))
        return false; /* opening a pipe would wait for its writer */
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool is = read(file, magic, sizeof magic) == sizeof magic && memcmp(magic, "\177ELF", 4) == 0;
    close(file);
    return is;
}

/* Sets the program's path: `name` if there is such a file or it contains a slash, else the program
 * on PATH; `name` if there is none. */
static void find_program(const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s", name);
    if (access(path, F_OK) == 0 || strchr(name, '/') || !crn_run_find_on_path(name, path))
        snprintf(path, PATH_MAX, "%s", name);
}

/* Returns the capture's default name: fib.cairn for fib.lua, stdin.cairn for -. */
static char *output_name(const char *program)
{
    const char *base = strcmp(program, "-") == 0 ? "stdin" : crn_path_name(program);
    const char *suffix = crn_run_suffix(base);
    size_t length = suffix && suffix > base ? (size_t)(suffix - base) : strlen(base);
    size_t size = length + sizeof ".cairn";
    char *name = crn_calloc(size, 1);
    snprintf(name, size, "%.*s.cairn", (int)length, base);
    return name;
}

/* Returns the absolute path of the output: the program may change its directory. Free it with
 * crn_free. */
static char *absolute(const char *output)
{
    char here[PATH_MAX];
    if (*output == '/' || !getcwd(here, sizeof here))
        return crn_strdup(output);
    size_t size = strlen(here) + strlen(output) + 2;
    char *full = crn_calloc(size, 1);
    snprintf(full, size, "%s/%s", here, output);
    return full;
}

static int run_native(const char *path, bool script)
{
    if (given.host_only)
        return crn_cli_fail("%s is a native program: --%s is for Lua programs", path,
                            given.host_only);
    if (given.alloc && crn_run_is_pattern(given.output))
        return crn_cli_fail("%s: --alloc profiles one process: remove %%p from the capture's name",
                            path);
    if (given.alloc && given.not_alloc)
        return crn_cli_fail(
            "%s is a native program: --%s cannot be combined with --alloc; run it once for each",
            path, given.not_alloc);
    if (given.locks && (given.alloc || given.outside))
        return crn_cli_fail("--locks cannot be combined with --%s; run %s once for each",
                            given.alloc ? "alloc" : "outside", path);
    if (given.locks && script)
        return crn_cli_fail("%s is a script: --locks is for native programs", path);
    if (given.stacks && (given.alloc || given.locks))
        return crn_cli_fail("--stacks cannot be combined with --%s; run %s once for each",
                            given.alloc ? "alloc" : "locks", path);
    if (given.locks && !crn_run_may_record_locks(path))
        return CRN_EXIT_BAD;
    for (size_t i = 0; i < given.recorded.count; i++)
        crn_run_set(given.recorded.list[i] + strlen("--"));
    bool sample =
        !given.alloc && !given.locks && (script || given.stacks || !crn_run_uses_cairn(path));
    char *output = absolute(given.output), *sampled = NULL;
    if (sample)
        sampled = crn_run_is_pattern(output) ? crn_strdup(output) : crn_sampled_path(output);
    crn_run run = {.program = given.program,
                   .path = path,
                   .output = output,
                   .quiet = given.quiet,
                   .alloc = given.alloc,
                   .locks = given.locks,
                   .sampled = sampled,
                   .stacks = given.stacks,
                   .outside = sample && given.outside ? "" : NULL,
                   .period_ns = given.period_ns ? given.period_ns : 1000000,
                   .alloc_mean = given.alloc_mean,
                   .labels = &given.labels,
                   .recording = given.recorded.count ? given.recorded.list[0] : NULL};
    bool can = script ? crn_run_script(&run, given.count)
                      : (!given.alloc && !sample) || crn_run_choose_sampler(&run, path);
    int status = can ? crn_run_native(&run) : CRN_EXIT_BAD;
    crn_free(sampled);
    crn_free(output);
    return status;
}

/* Returns true if the program cannot be read and is not named like a script. For scripts the host
 * prints what is wrong. */
static bool is_mistaken(const char *program)
{
    return strcmp(program, "-") != 0 && !crn_run_suffix(program) && access(program, R_OK) != 0;
}

/* Replaces %p by this process's pid, which the host has, too, as it is executed in this process. */
static char *numbered(const char *output)
{
    char *name = crn_strdup(output);
    for (char *place; (place = strstr(name, "%p"));) {
        char *next = NULL;
        if (asprintf(&next, "%.*s%d%s", (int)(place - name), name, (int)getpid(), place + 2) < 0)
            break;
        name = next; /* freed by exec */
    }
    return name;
}

/* Replaces this process by the script's host. Returns only on an error: an exit status. */
static int run_script(const char *script)
{
    if (given.locks || given.stacks)
        return crn_cli_fail("%s is a Lua script: --%s is for native programs", script,
                            given.locks ? "locks" : "stacks");
    const char *host = crn_run_host(script);
    if (!host)
        return crn_cli_fail(
            "the host for scripts, such as cairn-lua5.4, is neither beside the tool "
            "nor in %s: install it, or build with -Dlua=enabled",
            CAIRN_LIBEXEC_DIR);
    static char end[] = "--";
    static const crn_option output = {.name = "output"}, labels = {.name = "labels"};
    pass(NULL, &output, numbered(given.output));
    if (given.labels.count)
        pass(NULL, &labels, crn_run_labels(&given.labels));
    crn_list command = {0};
    crn_list_add(&command, crn_strdup(host));
    for (size_t i = 0; i < given.pass.count; i++)
        crn_list_add(&command, given.pass.list[i]);
    crn_list_add(&command, end);
    crn_list_add(&command, crn_strdup(script));
    for (int i = 1; i <= given.count; i++) /* and the NULL at the end */
        crn_list_add(&command, given.program[i]);
    execv(host, command.list);
    return crn_cli_fail("%s cannot be run: %s", host, strerror(errno));
}

static int run(void)
{
    const char *program = given.program[0];
    char *named = given.output ? NULL : output_name(program);
    /* Follows symbolic links, as the runtime does not. */
    given.output = crn_output_target(named ? named : given.output);
    crn_free(named);
    if (strcmp(program, "-") == 0)
        return run_script(program);
    char path[PATH_MAX];
    find_program(program, path);
    char *interpreter = crn_run_script_interpreter(path);
    bool script = interpreter != NULL;
    crn_free(interpreter);
    if (!script && !is_elf(path)) {
        if (is_mistaken(path))
            return crn_cli_fail("%s: %s; name a Lua script or a program", program, strerror(errno));
        return run_script(path);
    }
    if (crn_run_is_interpreter(program) && !given.alloc && !crn_run_uses_cairn(path))
        return crn_cli_fail("%s is the interpreter itself: name the script, as in cairn run %s",
                            program, given.count > 1 ? given.program[1] : "-");
    return run_native(path, script);
}

const crn_command crn_command_run = {
    .name = "run",
    .purpose = "run a program and profile it",
    .arguments = "PROGRAM [ARGUMENT...]",
    .doc = doc,
    .options = options,
    .word = take_program,
    .check = check,
    .run = run,
};
