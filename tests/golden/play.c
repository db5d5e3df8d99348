/* SPDX-License-Identifier: MIT
 *
 * play.c - a capture from a text of events, for tests of what reads captures.
 *
 * usage: play OUT.cairn < EVENTS
 *
 * A line is a directive or events. "#" begins a comment.
 *     block NAME FILE LINE [PARENT]   defines a block; others are defined by being entered
 *     note KEY VALUE...               a note
 *     limits PATH CONTEXTS            of the profile; must come first
 *     5 * EVENTS                      plays the events of this line five times
 * Events, with spaces between them:
 *     >NAME  enter    ~NAME  replace    <  leave    +N  ticks    $N  bytes allocated
 *     @N  microseconds of wall time    %N  microseconds of CPU time
 *     !DEPTH  unwind to that depth
 * "_" in a name or a file stands for a space, \xHH for a byte.
 */
#include <cairn/cairn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 4096 };

static struct {
    cairn_profile *profile;
    cairn_strand *strand;
    cairn_metric bytes;
    char *names[NAMES_MAX];
    cairn_block blocks[NAMES_MAX];
    size_t count;
} play;

static _Noreturn void fail(const char *what, const char *text)
{
    fprintf(stderr, "play: %s: %s\n", what, text);
    exit(1);
}

static void unescape(char *text)
{
    char *to = text;
    for (; *text; text++) {
        if (strncmp(text, "\\x", 2) == 0 && text[2] && text[3]) {
            char digits[] = {text[2], text[3], 0};
            *to++ = (char)strtoul(digits, NULL, 16);
            text += 3;
        } else {
            *to++ = *text == '_' ? ' ' : *text;
        }
    }
    *to = 0;
}

static cairn_block define(const char *key, cairn_block_info info)
{
    if (play.count == NAMES_MAX)
        fail("too many blocks", key);
    play.names[play.count] = strdup(key);
    return play.blocks[play.count++] = cairn_block_add(play.profile, &info);
}

/* The last block that was defined so. */
static cairn_block find(const char *key)
{
    for (size_t i = play.count; i-- > 0;)
        if (strcmp(play.names[i], key) == 0)
            return play.blocks[i];
    char name[256];
    snprintf(name, sizeof name, "%s", key);
    unescape(name);
    return define(key, (cairn_block_info){.name = name});
}

static void play_open(const char *path, uint32_t path_limit, uint32_t context_budget)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = path;
    if (path_limit)
        options.path_limit = path_limit;
    if (context_budget)
        options.context_budget = context_budget;
    if (cairn_profile_open(&play.profile, &options) != CAIRN_OK)
        fail("cannot be made", path);
    play.strand = cairn_strand_open(cairn_lane_open(play.profile, "main"));
}

static void play_block(char *arguments)
{
    char name[256], file[256], parent[256] = "";
    unsigned line;
    int count = sscanf(arguments, "%255s %255s %u %255s", name, file, &line, parent);
    if (count < 3)
        fail("block NAME FILE LINE [PARENT]", arguments);
    char key[256];
    strcpy(key, name);
    unescape(name);
    unescape(file);
    cairn_block_info info = {.name = name, .file = file, .line = line};
    if (count == 4)
        info.parent = find(parent);
    define(key, info);
}

static void play_note(char *arguments)
{
    char *space = strchr(arguments, ' ');
    if (!space)
        fail("note KEY VALUE", arguments);
    *space = 0;
    cairn_profile_note(play.profile, arguments, space + 1);
}

static void play_event(const char *event)
{
    unsigned long number = strtoul(event + (*event != 0), NULL, 10);
    switch (*event) {
    case '>':
        cairn_enter(play.strand, find(event + 1));
        break;
    case '~':
        cairn_replace(play.strand, find(event + 1));
        break;
    case '<':
        cairn_leave(play.strand);
        break;
    case '+':
        cairn_tick(play.strand, (uint32_t)number);
        break;
    case '$':
        if (!play.bytes)
            play.bytes = cairn_metric_add(play.profile, "allocated", "bytes");
        cairn_charge(play.strand, play.bytes, number);
        break;
    case '@':
        cairn_charge(play.strand, CAIRN_METRIC_WALL, number * 1000);
        break;
    case '%':
        cairn_charge(play.strand, CAIRN_METRIC_CPU, number * 1000);
        break;
    case '!':
        cairn_strand_unwind(play.strand, number);
        break;
    default:
        fail("no such event", event);
    }
}

static void play_events(char *line)
{
    unsigned long times = 1;
    char *star = strstr(line, " * ");
    if (star && strspn(line, "0123456789") == (size_t)(star - line)) {
        times = strtoul(line, NULL, 10);
        line = star + 3;
    }
    char *copy = strdup(line), *rest;
    while (times--) {
        strcpy(copy, line);
        for (char *event = strtok_r(copy, " ", &rest); event; event = strtok_r(NULL, " ", &rest))
            play_event(event);
    }
    free(copy);
}

int main(int argc, char **argv)
{
    char line[4096];
    unsigned path_limit, context_budget;
    if (argc != 2)
        fail("usage", "play OUT.cairn < EVENTS");
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "#\n")] = 0;
        char *start = line + strspn(line, " ");
        if (!*start)
            continue;
        if (sscanf(start, "limits %u %u", &path_limit, &context_budget) == 2) {
            play_open(argv[1], path_limit, context_budget);
            continue;
        }
        if (!play.profile)
            play_open(argv[1], 0, 0);
        if (strncmp(start, "block ", 6) == 0)
            play_block(start + 6);
        else if (strncmp(start, "note ", 5) == 0)
            play_note(start + 5);
        else
            play_events(start);
    }
    cairn_profile_close(play.profile);
    for (size_t i = 0; i < play.count; i++)
        free(play.names[i]);
    return 0;
}
