/* SPDX-License-Identifier: MIT
 *
 * main.c - cairn-lua5.4, which `cairn run` starts for Lua programs:
 * cairn-lua5.4 --output=FILE [--OPTION[=VALUE]...] -- SCRIPT [ARGUMENT...]
 */
#include <errno.h>
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
    bool wall, spans, clock; /* which options were given */
} settings;

static crn_host *main_host;
static settings main_settings;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "cairn run: %s: %s\n", what, why);
    return 2;
}

static bool is_given(const char *name, const char *a, const char *b, const char *c)
{
    return strcmp(name, a) == 0 || strcmp(name, b) == 0 || strcmp(name, c) == 0;
}

/* Reads "--NAME" or "--NAME=VALUE". Values were checked by cairn run. */
static bool option_read(settings *settings, char *word)
{
    char *name = word + 2, *value = strchr(word, '=');
    crn_host_options *host = &settings->host;
    if (value)
        *value++ = '\0';
    settings->wall |= strcmp(name, "wall") == 0;
    settings->spans |= strcmp(name, "spans") == 0;
    settings->clock |= is_given(name, "wall", "cpu", "ticks");
    if (strcmp(name, "exact") == 0)
        host->mode = CRN_MODE_EXACT;
    else if (strcmp(name, "quiet") == 0)
        settings->quiet = true;
    else if (strcmp(name, "alloc") == 0) {
        host->allocations = true;
        host->alloc_mean = value ? strtoull(value, NULL, 10) : 0; /* "exact" gives 0 */
    } else if (!value)
        return false;
    else if (strcmp(name, "output") == 0)
        settings->output = value;
    else if (strcmp(name, "ticks") == 0 || strcmp(name, "sample") == 0) {
        host->mode = *name == 't' ? CRN_MODE_TICKS : CRN_MODE_SAMPLE;
        host->period = atoi(value);
    } else
        return cairn_options_set(&host->profile, name, value);
    return true;
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
        fprintf(stderr, "cairn run: %s: recording stopped: %s\n", main_settings.output,
                cairn_error_text(error));
    if (!main_settings.quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "cairn run: now run: cairn report %s\n", main_settings.output);
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

/* Returns true if the script can be read. If not, Lua says so, and an existing capture is kept. */
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
    int first = 1; /* index of an option; after the loops, of the script */
    for (; first < argc && strcmp(argv[first], "--") != 0; first++)
        if (strncmp(argv[first], "--", 2) != 0 || !option_read(settings, argv[first]))
            return fail(argv[first], "unknown option; see cairn run --help");
    if (++first >= argc || !settings->output)
        return fail("options", "needs --output=FILE, -- and a script");

    /* In sample mode the host itself measures wall time. With --ticks, instructions are the clock,
     * and wall time is off unless requested. */
    if (settings->host.mode == CRN_MODE_SAMPLE &&
        (settings->host.allocations || settings->host.profile.cpu))
        return fail(
            "options",
            "--sample cannot be combined with --alloc or --cpu, because it does not follow events");
    if (settings->host.mode == CRN_MODE_SAMPLE ||
        (settings->host.mode == CRN_MODE_TICKS && !settings->wall))
        settings->host.profile.wall = CAIRN_WALL_OFF;
    if (!settings->spans)
        settings->host.profile.spans = settings->host.mode == CRN_MODE_EXACT;
    settings->host.profile.path = can_be_read(argv[first]) ? settings->output : NULL;
    char *command = command_text(argv + first);
    settings->host.profile.command = command;
    cairn_error error;
    main_host = crn_host_open(&settings->host, &error);
    if (!main_host)
        return fail(settings->output, cairn_error_text(error));
    crn_host_describe(main_host, &settings->host);
    if (settings->host.allocations && !settings->clock) /* reports show memory first */
        crn_host_note(main_host, "default_metric", "alloc bytes");
    crn_block_hide(main_host, crn_interpreter_error_handler);
    crn_block_hide(main_host, luaopen_cairn);
    on_exit(on_end, NULL);
    crn_script script = {argc - first, argv + first, settings->host.mode == CRN_MODE_TICKS, begin,
                         main_host};
    int status = crn_interpreter_run(&script);
    free(command);
    return status;
}
