/* SPDX-License-Identifier: MIT
 *
 * cairn run: start a program in such a way that it is profiled. A host runs Lua programs;
 * a program of the machine's own code is told by CAIRN_OUT where its capture goes.
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
#include "cli.h"

enum {
    OPTION_EXACT = 256,
    OPTION_TICKS,
    OPTION_SAMPLE,
    OPTION_WALL,
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
    {NULL, 0, NULL, 0, "Figures:", 2},
    {"wall", OPTION_WALL, "KIND", 0,
     "Wall time: sampled (the default with --exact: each millisecond, into the exact context), "
     "exact (at every event) or off (the default with --ticks)",
     0},
    {"label", OPTION_LABEL, "KEY=VALUE", 0, "Something for the report to state; may be repeated",
     0},
    {NULL, 0, NULL, 0, "Limits:", 3},
    {"path-limit", OPTION_PATHS, "N", 0, "Longest path of a context (1024); longer ones fold", 0},
    {"context-budget", OPTION_CONTEXTS, "N", 0, "Most contexts (4194304); further ones fold", 0},
    {"file-limit", OPTION_FILE, "BYTES", 0, "Most bytes that the capture may take (4294967296)", 0},
    {NULL, 0, NULL, 0, "Output:", 4},
    {"output", 'o', "FILE", 0,
     "Where the capture goes; by default the program's name, with .cairn for .lua, here", 0},
    {"quiet", 'q', NULL, 0, "Do not say on a terminal how to see the capture", 0},
    {0},
};

typedef struct arguments {
    char **pass; /* options as the host takes them */
    int pass_count;
    const char *output;
    const char *host_only; /* an option that only the Lua host knows */
    int modes;
    int program; /* index of the program in argv; 0 if there is none */
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

static const struct argp_option *option_of(int key)
{
    for (const struct argp_option *option = options; option->name || option->doc; option++)
        if (option->key == key)
            return option;
    return NULL;
}

static void check(struct argp_state *state, int key, const char *value)
{
    static const long most[OPTION_COUNT - OPTION_EXACT] = {
        [OPTION_TICKS - OPTION_EXACT] = 1000000000, [OPTION_SAMPLE - OPTION_EXACT] = 100000,
        [OPTION_PATHS - OPTION_EXACT] = 1 << 20,    [OPTION_CONTEXTS - OPTION_EXACT] = 1L << 31,
        [OPTION_FILE - OPTION_EXACT] = 1L << 50,
    };
    if (most[key - OPTION_EXACT])
        check_number(state, option_of(key)->name, value, most[key - OPTION_EXACT]);
    if (key == OPTION_WALL && strcmp(value, "off") != 0 && strcmp(value, "sampled") != 0 &&
        strcmp(value, "exact") != 0)
        argp_error(state, "--wall is sampled, exact or off, not \"%s\"", value);
    if (key == OPTION_LABEL && (!strchr(value, '=') || *value == '='))
        argp_error(state, "--label wants KEY=VALUE, not \"%s\"", value);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    if (key >= OPTION_EXACT && key < OPTION_COUNT) {
        check(state, key, value);
        if (key <= OPTION_SAMPLE && ++arguments->modes > 1)
            argp_error(state, "--exact, --ticks and --sample exclude each other");
        arguments->host_only = option_of(key)->name;
        pass(arguments, option_of(key)->name, value);
        return 0;
    }
    switch (key) {
    case 'o':
        arguments->output = value;
        return 0;
    case 'q':
        pass(arguments, "quiet", NULL);
        return 0;
    case ARGP_KEY_ARG: /* what follows is the program's own */
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
    "A program of machine code (ELF) that uses libcairn is run with CAIRN_OUT=FILE in its "
    "environment. Anything else is a Lua script.\n\n"
    "  cairn run script.lua input.txt\n"
    "  cairn run --ticks 1000 -o before.cairn script.lua\n"
    "  cairn run --sample 1000 --label branch=main script.lua",
    NULL,
    NULL,
    NULL,
};

/* ---- the program -------------------------------------------------------------------- */

static bool is_elf(const char *path)
{
    char magic[4] = {0};
    struct stat stat_buffer;
    if (stat(path, &stat_buffer) != 0 || !S_ISREG(stat_buffer.st_mode))
        return false; /* never wait for a pipe, nor take from it */
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool is = read(file, magic, sizeof magic) == sizeof magic && memcmp(magic, "\177ELF", 4) == 0;
    close(file);
    return is;
}

/* A program that is not here may be on the PATH; a Lua script is always a path. */
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

/* Whoever writes lua5.4 means the script. */
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

static int run_elf(char **program, const char *path, const char *output)
{
    char full[PATH_MAX * 2];
    char here[PATH_MAX];
    /* The program may go elsewhere before it opens its capture. */
    if (*output != '/' && getcwd(here, sizeof here))
        snprintf(full, sizeof full, "%s/%s", here, output);
    else
        snprintf(full, sizeof full, "%s", output);
    setenv("CAIRN_OUT", full, 1);
    execv(path, program);
    return crn_cli_fail("%s cannot be run: %s", path, strerror(errno));
}

/* In the build beside the tool; installed, below the same prefix or where it was meant to be. */
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
    command[count++] = (char *)(uintptr_t)arguments->output;
    command[count++] = option_end;
    for (int i = arguments->program; i < argc; i++)
        command[count++] = argv[i];
    execv(host, command);
    return crn_cli_fail("%s cannot be run: %s", host, strerror(errno));
}

int crn_cmd_run(int argc, char **argv)
{
    static arguments arguments; /* what it owns is the process's, and goes with it */
    arguments.pass = crn_calloc((size_t)argc + 1, sizeof *arguments.pass);
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments);
    const char *program = argv[arguments.program];
    if (!arguments.output)
        arguments.output = output_name(program);
    char path[PATH_MAX * 2];
    if (strcmp(program, "-") == 0 || !find_elf(program, path, sizeof path))
        return run_lua(&arguments, argc, argv);
    if (is_interpreter(program))
        return crn_cli_fail("%s is the interpreter itself: name the script, as in cairn run %s",
                            program,
                            arguments.program + 1 < argc ? argv[arguments.program + 1] : "-");
    if (arguments.host_only)
        return crn_cli_fail("%s is machine code: --%s is for Lua programs, what a program of this "
                            "kind records is its own to say",
                            path, arguments.host_only);
    return run_elf(argv + arguments.program, path, arguments.output);
}
