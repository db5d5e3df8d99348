/* SPDX-License-Identifier: MIT
 *
 * main.c - cairn-lua, which `cairn run` starts for Lua programs. Its options are those of cairn
 * run, which has checked them.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"
#include "interpreter.h"

typedef struct settings {
    crn_host_options host;
    const char *output;
    bool quiet;
    char **labels;
    int label_count;
} settings;

static crn_host *main_host;
static settings main_settings;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "cairn run: %s: %s\n", what, why);
    return 2;
}

/* Parses a number from 1 to `most`; 0 if it is not one. */
static long number_read(const char *text, long most)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && number >= 1 && number <= most ? number : 0;
}

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
};

static const struct option long_options[] = {
    {"exact", no_argument, NULL, OPTION_EXACT},
    {"ticks", required_argument, NULL, OPTION_TICKS},
    {"sample", required_argument, NULL, OPTION_SAMPLE},
    {"wall", required_argument, NULL, OPTION_WALL},
    {"cpu", no_argument, NULL, OPTION_CPU},
    {"period", required_argument, NULL, OPTION_PERIOD},
    {"spans", optional_argument, NULL, OPTION_SPANS},
    {"span-limit", required_argument, NULL, OPTION_SPAN_LIMIT},
    {"span-rate", required_argument, NULL, OPTION_SPAN_RATE},
    {"span-cpu", no_argument, NULL, OPTION_SPAN_CPU},
    {"span-histograms", no_argument, NULL, OPTION_SPAN_HISTOGRAMS},
    {"alloc", optional_argument, NULL, OPTION_ALLOC},
    {"label", required_argument, NULL, OPTION_LABEL},
    {"path-limit", required_argument, NULL, OPTION_PATHS},
    {"context-budget", required_argument, NULL, OPTION_CONTEXTS},
    {"file-limit", required_argument, NULL, OPTION_FILE},
    {"output", required_argument, NULL, 'o'},
    {"quiet", no_argument, NULL, 'q'},
    {NULL, 0, NULL, 0},
};

static bool wall_read(settings *settings, const char *text)
{
    static const char *const names[] = {"off", "sampled", "exact"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            settings->host.profile.wall = (cairn_wall)i;
            return true;
        }
    return false;
}

static bool spans_read(settings *settings, const char *text)
{
    settings->host.profile.spans = !text || strcmp(text, "off") != 0;
    if (text && strcmp(text, "last") == 0)
        settings->host.profile.span_policy = CAIRN_SPANS_KEEP_LAST;
    return true;
}

static bool option_read(settings *settings, int option, char *value)
{
    long number = 0;
    switch (option) {
    case OPTION_EXACT:
        settings->host.mode = CRN_MODE_EXACT;
        return true;
    case OPTION_TICKS:
        settings->host.mode = CRN_MODE_TICKS;
        number = number_read(value, 1000000000);
        settings->host.period = (int)number;
        return number != 0;
    case OPTION_SAMPLE:
        settings->host.mode = CRN_MODE_SAMPLE;
        number = number_read(value, 100000);
        settings->host.period = (int)number;
        return number != 0;
    case OPTION_WALL:
        return wall_read(settings, value);
    case OPTION_CPU:
        settings->host.profile.cpu = CAIRN_CPU_SAMPLED;
        return true;
    case OPTION_PERIOD:
        number = number_read(value, 1L << 50);
        settings->host.profile.sample_period_ns = (uint64_t)number;
        settings->host.profile.sample_overhead = 0;
        return number != 0;
    case OPTION_SPANS:
        return spans_read(settings, value);
    case OPTION_SPAN_LIMIT:
        number = number_read(value, 1L << 50);
        settings->host.profile.span_limit = (uint64_t)number;
        return number != 0;
    case OPTION_SPAN_RATE:
        settings->host.profile.span_rate = strtod(value, NULL);
        return settings->host.profile.span_rate > 0;
    case OPTION_SPAN_CPU:
        settings->host.profile.span_cpu = true;
        return true;
    case OPTION_SPAN_HISTOGRAMS:
        settings->host.profile.span_histograms = true;
        return true;
    case OPTION_ALLOC:
        settings->host.allocations = true;
        number = value && strcmp(value, "exact") != 0 ? number_read(value, 1L << 50) : 0;
        settings->host.alloc_mean = (uint64_t)number;
        return number != 0 || !value || strcmp(value, "exact") == 0;
    case OPTION_LABEL:
        settings->labels[settings->label_count++] = value;
        return strchr(value, '=') != NULL;
    case OPTION_PATHS:
        number = number_read(value, 1 << 20);
        settings->host.profile.path_limit = (uint32_t)number;
        return number != 0;
    case OPTION_CONTEXTS:
        number = number_read(value, 1L << 31);
        settings->host.profile.context_budget = (uint32_t)number;
        return number != 0;
    case OPTION_FILE:
        number = number_read(value, 1L << 50);
        settings->host.profile.file_limit = (uint64_t)number;
        return number != 0;
    case 'o':
        settings->output = value;
        return true;
    case 'q':
        settings->quiet = true;
        return true;
    default:
        return false;
    }
}

static void notes_write(crn_host *host, const settings *settings)
{
    crn_host_describe(host, &settings->host);
    for (int i = 0; i < settings->label_count; i++) {
        char *equals = strchr(settings->labels[i], '=');
        *equals = '\0';
        cairn_profile_note(host->profile, settings->labels[i], equals + 1);
    }
}

/* Called when the program exits. */
static void on_end(int status, void *data)
{
    (void)data;
    crn_host *host = main_host;
    if (!host || host->stopped || getpid() != host->process)
        return;
    crn_host_note(host, "exit_status", "%d", status & 0xff);
    cairn_error error = cairn_profile_status(host->profile);
    crn_host_stop(host);
    if (!main_settings.host.profile.path)
        return;
    if (error != CAIRN_OK)
        fprintf(stderr, "cairn run: %s: recording could not go on: %s\n", main_settings.output,
                cairn_error_text(error));
    if (!main_settings.quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "cairn run: see it with: cairn report %s\n", main_settings.output);
}

static void begin(lua_State *L, void *data)
{
    lua_Debug ar;
    const crn_frame *floor = lua_getstack(L, 0, &ar) ? crn_frame_of(&ar) : NULL;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, luaopen_cairn);
    lua_setfield(L, -2, "cairn");
    lua_pop(L, 1);
    crn_host_start(data, L, floor, NULL, NULL);
    if (main_settings.host.allocations)
        crn_ledger_open(data, main_settings.host.alloc_mean, main_settings.host.profile.seed);
}

/* If the script cannot be read, Lua reports it, and an existing capture is kept. */
static bool can_be_read(const char *script)
{
    struct stat status;
    return strcmp(script, "-") == 0 ||
           (stat(script, &status) == 0 && !S_ISDIR(status.st_mode) && access(script, R_OK) == 0);
}

static char *command_text(char **arguments)
{
    size_t size = 1;
    for (char **at = arguments; *at; at++)
        size += strlen(*at) + 1;
    char *text = calloc(1, size);
    for (char **at = arguments; text && *at; at++) {
        if (at != arguments)
            strcat(text, " ");
        strcat(text, *at);
    }
    return text;
}

int main(int argc, char **argv)
{
    settings *settings = &main_settings;
    settings->host = (crn_host_options){.profile = CAIRN_OPTIONS_DEFAULT, .mode = CRN_MODE_EXACT};
    settings->host.profile.wall = CAIRN_WALL_SAMPLED;
    settings->labels = calloc((size_t)argc, sizeof *settings->labels);
    bool wall_given = false, spans_given = false, clock_given = false;
    int option;
    if (!settings->labels)
        return fail("options", strerror(errno));
    while ((option = getopt_long(argc, argv, "+o:q", long_options, NULL)) != -1) {
        wall_given |= option == OPTION_WALL;
        spans_given |= option == OPTION_SPANS;
        clock_given |= option == OPTION_WALL || option == OPTION_CPU || option == OPTION_TICKS;
        if (!option_read(settings, option, optarg))
            return fail("options", "not understood; cairn run --help lists them");
    }
    if (optind == argc || !settings->output)
        return fail("options", "a script and -o FILE are needed");

    /* In sample mode the host itself measures wall time. With --ticks, instructions are the clock,
     * and wall time is off unless requested. */
    if (settings->host.mode == CRN_MODE_SAMPLE &&
        (settings->host.allocations || settings->host.profile.cpu))
        return fail("options", "--sample goes with neither --alloc nor --cpu: it does not follow "
                               "the program");
    if (settings->host.mode == CRN_MODE_SAMPLE ||
        (settings->host.mode == CRN_MODE_TICKS && !wall_given))
        settings->host.profile.wall = CAIRN_WALL_OFF;
    if (!spans_given)
        settings->host.profile.spans = settings->host.mode == CRN_MODE_EXACT;
    settings->host.profile.path = can_be_read(argv[optind]) ? settings->output : NULL;
    char *command = command_text(argv + optind);
    settings->host.profile.command = command;
    cairn_error error;
    main_host = crn_host_open(&settings->host, &error);
    if (!main_host)
        return fail(settings->output, cairn_error_text(error));
    notes_write(main_host, settings);
    if (settings->host.allocations && !clock_given) /* reports show memory first */
        crn_host_note(main_host, "default_metric", "alloc bytes");
    crn_block_hide(main_host, crn_interpreter_error_handler);
    crn_block_hide(main_host, luaopen_cairn);
    on_exit(on_end, NULL);
    crn_script script = {argc - optind, argv + optind, settings->host.mode == CRN_MODE_TICKS, begin,
                         main_host};
    int status = crn_interpreter_run(&script);
    free(command);
    return status;
}
