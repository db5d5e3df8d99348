/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli.h"
#include "json.h"
#include "newest.h"

enum { KEY_LONG = 256 }; /* key of the first option if it has no short name */

static size_t option_count(const crn_option *options)
{
    size_t count = 0;
    while (options && (options[count].name || options[count].help))
        count++;
    return count;
}

static int key_of(const crn_command *command, const crn_option *option)
{
    return option->letter ? option->letter : KEY_LONG + (int)(option - command->options);
}

/* ---- values ---- */

/* Prints a message and exits. With `state`, argp also points to --help. */
__attribute__((noreturn, format(printf, 2, 3))) static void refuse(struct argp_state *state,
                                                                   const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (state)
        argp_error(state, "%s", message);
    else
        crn_cli_fail("%s", message);
    exit(CRN_EXIT_BAD);
}

static int choice_of(struct argp_state *state, const crn_option *option, const char *value)
{
    char list[256] = "";
    for (int i = 0; option->words[i]; i++) {
        if (strcmp(option->words[i], value) == 0)
            return i;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s",
                 i == 0                 ? ""
                 : option->words[i + 1] ? ", "
                                        : " or ",
                 option->words[i]);
    }
    refuse(state, "--%s is %s, not \"%s\"", option->name, list, value);
}

static long number_of(struct argp_state *state, const crn_option *option, const char *value)
{
    char *end;
    long most = option->most ? option->most : INT32_MAX;
    errno = 0;
    long number = strtol(value, &end, 10);
    bool good = !errno && end != value && !*end && number >= option->least && number <= most;
    if (!good && option->most)
        refuse(state, "--%s needs a number from %ld to %ld, not \"%s\"", option->name,
               option->least, most, value);
    if (!good)
        refuse(state, "--%s needs a number of at least %ld, not \"%s\"", option->name,
               option->least, value);
    return number;
}

static double share_of(struct argp_state *state, const crn_option *option, const char *value)
{
    char *end;
    double percent = strtod(value, &end);
    if (end == value || (*end && strcmp(end, "%") != 0) || !(percent >= 0 && percent < 1e9))
        refuse(state, "--%s needs a percentage such as 5, not \"%s\"", option->name, value);
    return percent / 100;
}

void crn_list_add(crn_list *words, char *word)
{
    words->list = crn_realloc(words->list, words->count + 1, sizeof *words->list);
    words->list[words->count++] = word;
}

/* Stores a value; NULL for an option without argument. */
static void set(struct argp_state *state, const crn_option *option, char *value)
{
    if (option->flag)
        *option->flag = true;
    if (option->text)
        *option->text = value;
    if (option->list)
        crn_list_add(option->list, value);
    if (option->choice && value)
        *option->choice = choice_of(state, option, value);
    if (option->share && value)
        *option->share = share_of(state, option, value);
    if (option->number && value)
        *option->number = number_of(state, option, value);
    if (option->set)
        option->set(state, option, value);
}

/* ---- argp ---- */

static void take_words(struct argp_state *state, const crn_command *command)
{
    crn_list *words = command->words;
    words->list = state->argv + state->next;
    words->count = (size_t)(state->argc - state->next);
    if (command->most && words->count > command->most)
        argp_error(state, "unexpected argument \"%s\"", words->list[command->most]);
}

/* Refuses an output file named like an option, probably a mistake, as in `--html -o x.html`. */
static void refuse_option(struct argp_state *state, const crn_option *option, const char *value)
{
    if (value && value[0] == '-' && value[1] && option->argument &&
        strcmp(option->argument, "OUT") == 0)
        argp_error(state, "--%s needs a file name, as in --%s=FILE, not \"%s\"", option->name,
                   option->name, value);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    const crn_command *command = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (!command->word)
            return ARGP_ERR_UNKNOWN; /* argp calls again with ARGP_KEY_ARGS */
        command->word(state, value);
        return 0;
    case ARGP_KEY_ARGS:
        take_words(state, command);
        return 0;
    case ARGP_KEY_END:
        if (command->words && command->words->count < command->least &&
            !(command->reads_newest && crn_newest_capture(command->words)))
            argp_error(state, "%s",
                       command->missing ? command->missing : "no capture given; write its path");
        if (command->check)
            command->check(state);
        return 0;
    case 'h': /* argp itself knows only -? and --help */
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        for (size_t i = 0; i < option_count(command->options); i++)
            if (command->options[i].name && key_of(command, &command->options[i]) == key) {
                refuse_option(state, &command->options[i], value);
                set(state, &command->options[i], value);
                return 0;
            }
        return ARGP_ERR_UNKNOWN;
    }
}

/* Returns the options in argp's form; free them with crn_free. */
static struct argp_option *argp_options(const crn_command *command)
{
    size_t count = option_count(command->options);
    struct argp_option *options = crn_calloc(count + 2, sizeof *options);
    options[count] = (struct argp_option){.key = 'h', .flags = OPTION_HIDDEN};
    int group = 0;
    for (size_t i = 0; i < count; i++) {
        const crn_option *from = &command->options[i];
        struct argp_option *to = &options[i];
        to->doc = from->help;
        if (!from->name) {
            to->group = ++group;
            continue;
        }
        to->name = from->name;
        to->key = key_of(command, from);
        to->arg = from->argument;
        to->flags = (from->help ? 0 : OPTION_HIDDEN) | (from->optional ? OPTION_ARG_OPTIONAL : 0);
    }
    return options;
}

void crn_command_parse(const crn_command *command, int argc, char **argv)
{
    struct argp_option *options = argp_options(command);
    struct argp argp = {options, parse, command->arguments, command->doc, NULL, NULL, NULL};
    /* With ARGP_IN_ORDER `word` gets a program's name before what follows is parsed, and can take
     * that for the program. */
    argp_parse(&argp, argc, argv, command->word ? ARGP_IN_ORDER : 0, NULL,
               (void *)(uintptr_t)command);
    crn_free(options);
}

void crn_command_help(const crn_command *command, char *name)
{
    struct argp_option *options = argp_options(command);
    struct argp argp = {options, NULL, command->arguments, command->doc, NULL, NULL, NULL};
    argp_help(&argp, stdout, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK, name);
    crn_free(options);
}

/* ---- single words ---- */

const crn_option *crn_command_option(const crn_command *command, const char *name)
{
    size_t length = strcspn(name, "=");
    for (size_t i = 0; i < option_count(command->options); i++) {
        const char *other = command->options[i].name;
        if (other && strncmp(other, name, length) == 0 && !other[length])
            return &command->options[i];
    }
    return NULL;
}

bool crn_command_take(const crn_command *command, char *word)
{
    const crn_option *option =
        strncmp(word, "--", 2) == 0 ? crn_command_option(command, word + 2) : NULL;
    char *equals = option ? strchr(word, '=') : NULL;
    if (!option || (equals && !option->argument) ||
        (!equals && option->argument && !option->optional))
        return false;
    set(NULL, option, equals ? equals + 1 : NULL);
    return true;
}

/* ---- JSON ---- */

static void put_text(json_t *object, const char *key, const char *text)
{
    if (text)
        json_object_set_new(object, key, json_string(text));
}

static json_t *option_json(const crn_option *option)
{
    char letter[2] = {(char)option->letter, '\0'};
    json_t *json = json_object();
    put_text(json, "name", option->name);
    put_text(json, "letter", *letter ? letter : NULL);
    put_text(json, "argument", option->argument);
    put_text(json, "help", option->help);
    put_text(json, "more", option->more);
    json_object_set_new(json, "optional", json_boolean(option->optional));
    json_object_set_new(json, "repeated", json_boolean(option->list || option->set));
    json_t *words = json_array();
    for (int i = 0; option->words && option->words[i]; i++)
        json_array_append_new(words, json_string(option->words[i]));
    json_object_set_new(json, "words", words);
    return json;
}

void crn_commands_json(const crn_command *const *commands, size_t count)
{
    json_t *list = json_array();
    for (size_t c = 0; c < count; c++) {
        const crn_command *command = commands[c];
        json_t *json = json_object(), *options = json_array();
        put_text(json, "name", command->name);
        put_text(json, "purpose", command->purpose);
        put_text(json, "arguments", command->arguments);
        for (size_t i = 0; i < option_count(command->options); i++)
            if (command->options[i].help)
                json_array_append_new(options, option_json(&command->options[i]));
        json_object_set_new(json, "options", options);
        json_object_set_new(json, "passes_on", json_boolean(command->run_raw != NULL));
        json_array_append_new(list, json);
    }
    crn_json_write(stdout, list);
}
