/* SPDX-License-Identifier: MIT
 *
 * cairn run: starts a program with profiling. A host runs Lua programs; native programs get the
 * capture's path in CAIRN_OUT.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/run/run.h"
#include "commands.h"

enum {
    OPTION_EXACT = 256,
    OPTION_TICKS,
    OPTION_SAMPLE,
    OPTION_WALL,
    OPTION_CPU,
    OPTION_PERIOD,
    OPTION_SPANS,
    OPTION_SPAN_LIMIT,
    OPTION_SPAN_RATE,
    OPTION_SPAN_CPU,
    OPTION_SPAN_HISTOGRAMS,
    OPTION_ALLOC,
    OPTION_LABEL,
    OPTION_PATHS,
    OPTION_CONTEXTS,
    OPTION_FILE,
    OPTION_COUNT
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "How a Lua program is profiled (one of):", 1},
    {"exact", OPTION_EXACT, NULL, 0, "Every call, tail call and return (the default)", 0},
    {"ticks", OPTION_TICKS, "N", 0,
     "Every call, and a clock that does not vary: the instructions that the interpreter runs, "
     "N at a time. Hash and random seeds are fixed, so that runs can be compared",
     0},
    {"sample", OPTION_SAMPLE, "HZ", 0,
     "Look at the stack HZ times a second: nearly free, no counts", 0},
    {NULL, 0, NULL, 0, "Figures, of Lua programs and of those that use libcairn:", 2},
    {"wall", OPTION_WALL, "KIND", 0,
     "Wall time: sampled (the default: each millisecond, into the exact context), exact (at "
     "every event) or off (the default with --ticks)",
     0},
    {"cpu", OPTION_CPU, NULL, 0, "Processor time beside it, sampled: what waits shows", 0},
    {"period", OPTION_PERIOD, "TIME", 0,
     "Between samples of wall and processor time, as 500us or 2ms; by default 1ms, or longer "
     "where samples would take more than a hundredth of the time",
     0},
    {"spans", OPTION_SPANS, "KIND", OPTION_ARG_OPTIONAL,
     "Record each execution of a scope, see cairn-spans: first (the default: when there is no "
     "more room, further ones are dropped), last (the oldest make room) or off (the default "
     "with --ticks and --alloc)",
     0},
    {"span-limit", OPTION_SPAN_LIMIT, "BYTES", 0, "Most bytes of spans that a thread may keep", 0},
    {"span-rate", OPTION_SPAN_RATE, "SHARE", 0,
     "Record this share of trees of spans, such as 0.01, each whole", 0},
    {"span-cpu", OPTION_SPAN_CPU, NULL, 0, "Processor time of each span: worked or waited", 0},
    {"span-histograms", OPTION_SPAN_HISTOGRAMS, NULL, 0,
     "Keep how long spans took by block and attribute, also with --spans=off", 0},
    {"alloc", OPTION_ALLOC, "KIND", OPTION_ARG_OPTIONAL,
     "Who allocates, and what stays alive: exact, or a number of bytes of which one is "
     "sampled. By default exact for a Lua program, 524288 for one of machine code, which "
     "needs no libcairn for it",
     0},
    {"label", OPTION_LABEL, "KEY=VALUE", 0, "Something for the report to state; may be repeated",
     0},
    {NULL, 0, NULL, 0, "Limits:", 3},
    {"path-limit", OPTION_PATHS, "N", 0, "Longest path of a context (1024); longer ones fold", 0},
    {"context-budget", OPTION_CONTEXTS, "N", 0, "Most contexts (4194304); further ones fold", 0},
    {"file-limit", OPTION_FILE, "BYTES", 0, "Most bytes that the capture may take (4294967296)", 0},
    {NULL, 0, NULL, 0, "Output:", 4},
    {"output", 'o', "FILE", 0,
     "Where the capture goes; by default the program's name, with .cairn for .lua, here. %p in it "
     "is "
     "the number of the process",
     0},
    {"quiet", 'q', NULL, 0, "Do not say on a terminal how to see the capture", 0},
    {0},
};

typedef struct arguments {
    char **pass; /* options passed to the host */
    int pass_count;
    const char *(*given)[2]; /* options that native programs know, too: name, value */
    size_t given_count;
    const char *named;     /* capture as given */
    const char *output;    /* its target */
    const char *host_only; /* an option that only the Lua host knows */
    const char *not_alloc; /* an option that excludes --alloc */
    const char **labels;
    size_t label_count;
    const char *alloc_mean; /* "exact", a number, or NULL */
    bool alloc, quiet;
    int modes;
    int program; /* index in argv; 0 if none */
} arguments;

static void pass(arguments *arguments, const char *name, const char *value)
{
    size_t size = strlen(name) + (value ? strlen(value) : 0) + 4;
    char *text = crn_calloc(size, 1);
    snprintf(text, size, value ? "--%s=%s" : "--%s", name, value);
    arguments->pass[arguments->pass_count++] = text;
}

static void check_number(struct argp_state *state, const char *name, const char *value, long most)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno || end == value || *end || number < 1 || number > most)
        argp_error(state, "--%s wants a number from 1 to %ld, not \"%s\"", name, most, value);
}

static void check_share(struct argp_state *state, const char *value)
{
    char *end;
    double share = strtod(value, &end);
    if (end == value || *end || !(share > 0 && share <= 1))
        argp_error(state, "--span-rate wants a share above 0 and up to 1, not \"%s\"", value);
}

static bool is_one_of(const char *value, const char *const *words)
{
    while (*words && strcmp(value, *words) != 0)
        words++;
    return *words != NULL;
}

static const struct argp_option *option_of(int key)
{
    for (const struct argp_option *option = options; option->name || option->doc; option++)
        if (option->key == key)
            return option;
    return NULL;
}

/* Converts a period to ns, as text in `buffer`. */
static const char *read_period(struct argp_state *state, const char *value, char *buffer,
                               size_t size)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    double number = strtod(value, &end), ns = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (end != value && strcmp(end, units[i].unit) == 0)
            ns = number * units[i].ns;
    if (!(ns >= 1000 && ns <= 3600e9))
        argp_error(state, "--period wants a time from 1us to 3600s, not \"%s\"", value);
    snprintf(buffer, size, "%.0f", ns);
    return buffer;
}

static void check(struct argp_state *state, int key, const char *value)
{
    static const long most[OPTION_COUNT - OPTION_EXACT] = {
        [OPTION_TICKS - OPTION_EXACT] = 1000000000, [OPTION_SAMPLE - OPTION_EXACT] = 100000,
        [OPTION_PATHS - OPTION_EXACT] = 1 << 20,    [OPTION_CONTEXTS - OPTION_EXACT] = 1L << 31,
        [OPTION_FILE - OPTION_EXACT] = 1L << 50,    [OPTION_SPAN_LIMIT - OPTION_EXACT] = 1L << 50,
    };
    static const char *const walls[] = {"off", "sampled", "exact", NULL};
    static const char *const spans[] = {"off", "first", "last", NULL};
    if (most[key - OPTION_EXACT])
        check_number(state, option_of(key)->name, value, most[key - OPTION_EXACT]);
    if (key == OPTION_WALL && !is_one_of(value, walls))
        argp_error(state, "--wall is sampled, exact or off, not \"%s\"", value);
    if (key == OPTION_SPANS && value && !is_one_of(value, spans))
        argp_error(state, "--spans is first, last or off, not \"%s\"", value);
    if (key == OPTION_SPAN_RATE)
        check_share(state, value);
    if (key == OPTION_ALLOC && value && strcmp(value, "exact") != 0)
        check_number(state, "alloc", value, 1L << 50);
    if (key == OPTION_LABEL && (!strchr(value, '=') || *value == '='))
        argp_error(state, "--label wants KEY=VALUE, not \"%s\"", value);
}

/* Stores options that are not for Lua programs only. */
static void note_option(arguments *arguments, int key, const char *value)
{
    if (key == OPTION_ALLOC) {
        arguments->alloc = true;
        arguments->alloc_mean = value;
    } else if (key == OPTION_LABEL) {
        arguments->labels[arguments->label_count++] = value;
    } else if (key == OPTION_SAMPLE) {
        arguments->host_only = option_of(key)->name;
    } else {
        arguments->not_alloc = option_of(key)->name;
        arguments->given[arguments->given_count][0] = option_of(key)->name;
        arguments->given[arguments->given_count++][1] = value ? crn_strdup(value) : NULL;
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    if (key >= OPTION_EXACT && key < OPTION_COUNT) {
        check(state, key, value);
        if (key <= OPTION_SAMPLE && ++arguments->modes > 1)
            argp_error(state, "--exact, --ticks and --sample exclude each other");
        char ns[32];
        if (key == OPTION_PERIOD)
            value = (char *)(uintptr_t)read_period(state, value, ns, sizeof ns);
        note_option(arguments, key, value);
        pass(arguments, option_of(key)->name, value);
        return 0;
    }
    switch (key) {
    case 'o':
        arguments->named = value;
        return 0;
    case 'q':
        arguments->quiet = true;
        pass(arguments, "quiet", NULL);
        return 0;
    case ARGP_KEY_ARG: /* the rest belongs to the program */
        arguments->program = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which program? Name a Lua script, or - for one from standard input");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options,
    parse,
    "PROGRAM [ARGUMENT...]",
    "Run PROGRAM and profile it. A Lua script runs as lua5.4 would run it."
    "\v"
    "A program of machine code (ELF) that uses libcairn is run with CAIRN_OUT=FILE and what the "
    "options say in its environment; with --alloc any that is linked dynamically, or a script that "
    "names its "
    "interpreter. Anything else is a Lua script.\n\n"
    "  cairn run script.lua input.txt\n"
    "  cairn run --ticks 1000 -o before.cairn script.lua\n"
    "  cairn run --sample 1000 --label branch=main script.lua\n"
    "  cairn run --alloc ./program argument",
    NULL,
    NULL,
    NULL,
};

/* ---- program -------------------------------------------------------------------------- */

static bool is_elf(const char *path)
{
    char magic[4] = {0};
    struct stat stat_buffer;
    if (stat(path, &stat_buffer) != 0 || !S_ISREG(stat_buffer.st_mode))
        return false; /* never open pipes */
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool is = read(file, magic, sizeof magic) == sizeof magic && memcmp(magic, "\177ELF", 4) == 0;
    close(file);
    return is;
}

/* Searches PATH for native programs; a Lua script is always a path. */
static bool find_elf(const char *name, char *path, size_t size)
{
    snprintf(path, size, strchr(name, '/') ? "%s" : "./%s", name);
    if (access(path, F_OK) == 0 || strchr(name, '/'))
        return is_elf(path);
    const char *list = getenv("PATH");
    while (list && *list) {
        size_t length = strcspn(list, ":");
        snprintf(path, size, "%.*s/%s", (int)length, list, name);
        if (access(path, X_OK) == 0 && is_elf(path))
            return true;
        list += length + (list[length] == ':');
    }
    return false;
}

/* fib.lua -> fib.cairn, - -> stdin.cairn */
static char *output_name(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *base = strcmp(program, "-") == 0 ? "stdin" : slash ? slash + 1 : program;
    size_t length = strlen(base);
    if (length > 4 && strcmp(base + length - 4, ".lua") == 0)
        length -= 4;
    size_t size = length + sizeof ".cairn";
    char *name = crn_calloc(size, 1);
    snprintf(name, size, "%.*s.cairn", (int)length, base);
    return name;
}

/* `cairn run lua5.4 x.lua` means the script. */
static bool is_interpreter(const char *path)
{
    static const char *const names[] = {"lua", "lua5.4", "lua54"};
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(base, names[i]) == 0)
            return true;
    return false;
}

/* Returns an absolute path, because the program may change its directory first. Free it. */
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

static int run_native(const arguments *arguments, int count, char **program, const char *path,
                      bool script)
{
    if (arguments->host_only)
        return crn_cli_fail("%s is machine code: --%s is for Lua programs", path,
                            arguments->host_only);
    if (arguments->alloc && crn_run_is_pattern(arguments->output))
        return crn_cli_fail("%s: --alloc profiles one process: leave %%p out of the capture's name",
                            path);
    if (arguments->alloc && arguments->not_alloc)
        return crn_cli_fail("%s is machine code: --%s does not go with --alloc there; run it once "
                            "for each",
                            path, arguments->not_alloc);
    for (size_t i = 0; i < arguments->given_count; i++)
        crn_run_set(arguments->given[i][0], arguments->given[i][1]);
    if (!script && arguments->alloc && !crn_run_can_alloc(path))
        return CRN_EXIT_BAD;
    char *output = absolute(arguments->output);
    crn_run run = {.program = program,
                   .path = path,
                   .output = output,
                   .quiet = arguments->quiet,
                   .alloc = arguments->alloc,
                   .alloc_mean = arguments->alloc_mean,
                   .labels = arguments->labels,
                   .label_count = arguments->label_count};
    int status = script && !crn_run_script(&run, count) ? CRN_EXIT_BAD : crn_run_native(&run);
    crn_free(output);
    return status;
}

/* Finds the host: beside the tool in a build directory; installed, below the same prefix or the
 * configured one. */
static bool find_host(char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    static const char *const places[] = {"%s/hosts/lua/cairn-lua", "%s/../libexec/cairn/cairn-lua",
                                         CAIRN_LIBEXEC_DIR "/cairn-lua"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, size, places[i], self);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* For files named like a script, lua5.4 itself reports what is wrong. */
static bool is_mistaken(const char *program)
{
    const char *end = strrchr(program, '.');
    return strcmp(program, "-") != 0 && !(end && strcmp(end, ".lua") == 0) &&
           access(program, R_OK) != 0;
}

/* Replaces %p by this process's pid, which the host will have. */
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

static int run_lua(arguments *arguments, int argc, char **argv)
{
    char host[PATH_MAX * 2];
    if (!find_host(host, sizeof host))
        return crn_cli_fail("the Lua host, cairn-lua, is not beside the tool nor in %s: install "
                            "it, or build with -Dlua=enabled",
                            CAIRN_LIBEXEC_DIR);
    char **command = crn_calloc((size_t)arguments->pass_count + (size_t)argc + 5, sizeof *command);
    int count = 0;
    command[count++] = host;
    for (int i = 0; i < arguments->pass_count; i++)
        command[count++] = arguments->pass[i];
    char option_output[] = "-o", option_end[] = "--";
    command[count++] = option_output;
    command[count++] = numbered(arguments->output);
    command[count++] = option_end;
    for (int i = arguments->program; i < argc; i++)
        command[count++] = argv[i];
    execv(host, command);
    return crn_cli_fail("%s cannot be run: %s", host, strerror(errno));
}

int crn_cmd_run(int argc, char **argv)
{
    static arguments arguments; /* owned by the process */
    arguments.pass = crn_calloc((size_t)argc + 1, sizeof *arguments.pass);
    arguments.labels = crn_calloc((size_t)argc + 1, sizeof *arguments.labels);
    arguments.given = crn_calloc((size_t)argc + 1, sizeof *arguments.given);
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments);
    const char *program = argv[arguments.program];
    if (!arguments.named)
        arguments.named = output_name(program);
    arguments.output = crn_output_target(arguments.named); /* the runtime follows no links */
    char path[PATH_MAX * 2];
    int count = argc - arguments.program;
    snprintf(path, sizeof path, strchr(program, '/') ? "%s" : "./%s", program);
    bool script = arguments.alloc && strcmp(program, "-") != 0 && crn_run_is_script(path);
    if (!script && (strcmp(program, "-") == 0 || !find_elf(program, path, sizeof path))) {
        if (is_mistaken(program))
            return crn_cli_fail("%s: %s; name a Lua script or a program", program, strerror(errno));
        return run_lua(&arguments, argc, argv);
    }
    if (is_interpreter(program) && !arguments.alloc)
        return crn_cli_fail("%s is the interpreter itself: name the script, as in cairn run %s",
                            program, count > 1 ? argv[arguments.program + 1] : "-");
    return run_native(&arguments, count, argv + arguments.program, path, script);
}
