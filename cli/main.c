/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <cairn/cairn.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/commands/commands.h"
#include "cli/common/cli.h"

#define ADDRESS(name) &crn_command_##name,
static const crn_command *const commands[] = {CRN_COMMANDS(ADDRESS)};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static const crn_command *command_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static void help_print(FILE *out)
{
    fputs("Usage: cairn COMMAND [OPTION...]\n"
          "Profile programs by calling context: exact calls, and time by whole call path.\n\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->purpose);
    fputs("\n"
          "  cairn COMMAND --help    options of a command\n"
          "  cairn --version         version\n\n"
          "Begin with:\n"
          "  cairn run script.lua\n"
          "  cairn report                   of the newest capture here\n",
          out);
}

/* Runs a command. Sets argv[0] to "cairn NAME", with which argp begins its messages. */
static int command_run(const crn_command *command, int argc, char **argv)
{
    static char name[64];
    snprintf(name, sizeof name, "cairn %s", command->name);
    crn_cli_name = argv[0] = name;
    if (command->run_raw)
        return crn_cli_finish(command->run_raw(argc, argv));
    crn_command_parse(command, argc, argv);
    return crn_cli_finish(command->run());
}

static int unknown(const char *what, const char *name)
{
    return crn_cli_fail("there is no %s \"%s\"; see cairn --help", what, name);
}

static int help(int argc, char **argv)
{
    if (argc < 3) {
        help_print(stdout);
        return crn_cli_finish(CRN_EXIT_OK);
    }
    const crn_command *command = command_find(argv[2]);
    if (!command)
        return unknown("command", argv[2]);
    char option[] = "--help";
    char *arguments[] = {argv[2], option, NULL};
    return command_run(command, 2, arguments);
}

int main(int argc, char **argv)
{
    crn_memory_from_malloc();
    setlocale(LC_CTYPE, "");
    atexit(crn_cli_at_exit);
    argp_err_exit_status = CRN_EXIT_BAD;
    argp_program_version = "cairn " CAIRN_VERSION;
    if (argc < 2) {
        help_print(stderr);
        return CRN_EXIT_BAD;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts(argp_program_version);
        return crn_cli_finish(CRN_EXIT_OK);
    }
    if (strcmp(argv[1], "--commands") == 0) { /* for the build: completions and manual pages */
        crn_commands_json(commands, COMMAND_COUNT);
        return crn_cli_finish(CRN_EXIT_OK);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "-?") == 0 || strcmp(argv[1], "help") == 0)
        return help(strcmp(argv[1], "help") == 0 ? argc : 2, argv);
    if (argv[1][0] == '-')
        return unknown("option", argv[1]);
    const crn_command *command = command_find(argv[1]);
    return command ? command_run(command, argc - 1, argv + 1) : unknown("command", argv[1]);
}
