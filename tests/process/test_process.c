/* SPDX-License-Identifier: MIT
 *
 * test_process.c - runs each case of the program without a profile and in each mode of profiling.
 * The visible behaviour must be the same, and the capture must agree with the program's own
 * counts, however it ended. Usage: test_process PROGRAM.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profile/profile.h"
#include "support/cases.h"
#include "support/difference.h"
#include "support/scratch.h"
#include "support/soundness.h"
#include "truth.h"

enum { CASES_MOST = 256, TEXT_MOST = 1 << 16, SECONDS_MOST = 120 };

static const char *program;
static const char *const modes[] = {"counts",       "wall-1k", "wall-10k", "wall-cpu-1k",
                                    "wall-cpu-10k", "exact",   "stack",    "timer"};

typedef struct outcome {
    char text[2][TEXT_MOST]; /* stdout, stderr */
    size_t length[2];
    int status;
} outcome;

typedef struct one_case {
    char name[64];
    unsigned flags;
} one_case;

/* ---- running ---- */

static pid_t start(const char *const *arguments, int out, int err)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    dup2(out, 1);
    dup2(err, 2);
    closefrom(3);
    execv(program, (char *const *)arguments);
    _exit(127);
}

/* Reads until all writers of the pipes have closed them. */
static bool collect(outcome *found, struct pollfd *pipes)
{
    time_t begun = time(NULL);
    for (int open_pipes = 2; open_pipes > 0;) {
        if (time(NULL) - begun > SECONDS_MOST)
            return false;
        poll(pipes, 2, 1000);
        for (int i = 0; i < 2; i++) {
            if (pipes[i].fd < 0 || !pipes[i].revents)
                continue;
            ssize_t got = read(pipes[i].fd, found->text[i] + found->length[i],
                               TEXT_MOST - 1 - found->length[i]);
            if (got > 0) {
                found->length[i] += (size_t)got;
            } else {
                close(pipes[i].fd);
                pipes[i].fd = -1;
                open_pipes--;
            }
        }
    }
    return true;
}

typedef struct running {
    pid_t child;
    struct pollfd pipes[2];
} running;

static running begin_run(const char *const *arguments)
{
    int out[2], err[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    pid_t child = start(arguments, out[1], err[1]);
    assert_true(child > 0);
    close(out[1]);
    close(err[1]);
    return (running){child, {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}}};
}

/* Returns false if the process does not end. */
static bool end_run(running *run, outcome *found)
{
    *found = (outcome){.status = -1};
    bool ended = collect(found, run->pipes);
    if (!ended)
        kill(run->child, SIGKILL);
    waitpid(run->child, &found->status, 0);
    return ended;
}

/* ---- output and end: the same with and without a profile ---- */

/* Prints the first line that differs. */
static void assert_same_text(const char *mode, const char *plain, const char *found)
{
    while (*plain && *plain == *found) {
        size_t length = strcspn(plain, "\n");
        length += plain[length] != 0;
        if (strncmp(plain, found, length) != 0)
            break;
        plain += length;
        found += length;
    }
    if (strcmp(plain, found) != 0)
        fail_msg("%s: \"%.*s\", plainly \"%.*s\"", mode, (int)strcspn(found, "\n"), found,
                 (int)strcspn(plain, "\n"), plain);
}

static void assert_same(const char *mode, const outcome *plain, const outcome *found)
{
    assert_same_text(mode, plain->text[1], found->text[1]);
    assert_same_text(mode, plain->text[0], found->text[0]);
    if (plain->status != found->status)
        fail_msg("%s: status %x, plainly %x", mode, (unsigned)found->status,
                 (unsigned)plain->status);
}

/* ---- the capture: it holds what the program counted ---- */

static uint32_t place_of(uint32_t parent, const char *block)
{
    unsigned many;
    if (parent == MANY && sscanf(block, "m%u", &many) == 1 && many < MANY_COUNT)
        return MANY_FIRST + many;
    for (uint32_t where = WORK; where < MANY_FIRST; where++)
        if (place_infos[where].parent == parent && strcmp(place_infos[where].block, block) == 0)
            return where;
    return PLACES;
}

static crn_profile *load(const char *mode, const char *path)
{
    crn_error error = {0};
    difference found;
    crn_profile *loaded = crn_profile_load(path, &error);
    if (!loaded)
        fail_msg("%s: %s", mode, error.message);
    if (!profile_is_sound(loaded, &found))
        fail_msg("%s: %s", mode, found.text);
    return loaded;
}

/* `calls` and `ticks` come from the capture, by place. With stacks only, no calls are counted but
 * the root's. */
static void assert_same_sums(const char *mode, const truth *own, const uint64_t *calls,
                             const uint64_t *ticks, unsigned flags)
{
    bool counted = strcmp(mode, "stack") != 0, between = (flags & ONE_UNDER_WAY) != 0;
    uint64_t under_way = 0, in_all = calls[PLACES], expected_in_all = 0;
    for (uint32_t where = ROOT; where < PLACES; where++) {
        uint64_t expected = counted || where == ROOT ? own->calls[where] : 0;
        uint64_t more = calls[where] - expected;
        uint64_t more_ticks = ticks[where] - own->ticks[where];
        expected_in_all += expected;
        in_all += calls[where];
        if (flags & MAY_LOSE)
            continue;
        under_way += more + (more_ticks != 0);
        if (more > between || more_ticks > 2 * (uint64_t)between || under_way > 1)
            fail_msg("%s: %" PRIu64 " calls and %" PRIu64 " ticks of place %u, but the program "
                     "counted %" PRIu64 " and %" PRIu64,
                     mode, calls[where], ticks[where], where, expected,
                     (uint64_t)own->ticks[where]);
    }
    if (in_all < expected_in_all || in_all > expected_in_all + between)
        fail_msg("%s: %" PRIu64 " calls in all, but the program counted %" PRIu64, mode, in_all,
                 expected_in_all);
}

static void assert_holds(const char *mode, const char *path, const truth *own, unsigned flags)
{
    static uint64_t calls[PLACES + 1], ticks[PLACES + 1];
    crn_profile *loaded = load(mode, path);
    uint32_t *places = calloc(loaded->context_count, sizeof *places);
    memset(calls, 0, sizeof calls);
    memset(ticks, 0, sizeof ticks);
    for (uint32_t c = 0; c < loaded->context_count; c++) {
        if (c > 0)
            places[c] = place_of(places[loaded->parent[c]], loaded->blocks[loaded->block[c]].name);
        if (places[c] == PLACES && !(flags & MAY_LOSE))
            fail_msg("%s: a context of \"%s\" that nobody called", mode,
                     loaded->blocks[loaded->block[c]].name);
        calls[places[c]] += loaded->values[CRN_METRIC_CALLS][c];
        ticks[places[c]] +=
            loaded->values[CRN_METRIC_TICKS] ? loaded->values[CRN_METRIC_TICKS][c] : 0;
    }
    free(places);
    crn_profile_free(loaded);
    assert_same_sums(mode, own, calls, ticks, flags);
}

/* ---- a case ---- */

/* All modes run at once: most cases wait most of the time. */
typedef struct attempt {
    const char *mode;
    char capture[SCRATCH_PATH], truth_path[SCRATCH_PATH];
    running run;
    bool ended;
    outcome found;
    truth *own;
} attempt;

static void begin_attempt(attempt *a, const one_case *c, const char *mode)
{
    char name[64];
    a->mode = mode;
    snprintf(name, sizeof name, "%s.cairn", mode);
    scratch_path(a->capture, name);
    snprintf(name, sizeof name, "%s.truth", mode);
    scratch_path(a->truth_path, name);
    unlink(a->capture);
    assert_true(scratch_write(a->truth_path, "", 0));
    const char *arguments[] = {program, c->name, mode, a->capture, a->truth_path, NULL};
    a->run = begin_run(arguments);
}

static void map_truth(attempt *a)
{
    int file = open(a->truth_path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    if (lseek(file, 0, SEEK_END) != TRUTHS * sizeof(truth))
        fail_msg("%s: it did not begin: %s", a->mode, a->found.text[1]);
    a->own = mmap(NULL, TRUTHS * sizeof(truth), PROT_READ, MAP_PRIVATE, file, 0);
    assert_ptr_not_equal(a->own, MAP_FAILED);
    close(file);
}

static void assert_came_to_it(const attempt *a)
{
    if (!a->ended)
        fail_msg("%s: it does not end: %s%s", a->mode, a->found.text[0], a->found.text[1]);
    if (!a->own->skipped[0] && !a->own->checked)
        fail_msg("%s: it did not come to what it is about: %s%s", a->mode, a->found.text[0],
                 a->found.text[1]);
}

/* A child without events has no capture. */
static void assert_child_holds(const attempt *a, const truth *own)
{
    char path[SCRATCH_PATH + 32];
    uint64_t calls = 0;
    snprintf(path, sizeof path, "%.*s.%d.cairn", (int)(strlen(a->capture) - strlen(".cairn")),
             a->capture, (int)own->process);
    if (access(path, F_OK) == 0) {
        assert_holds(a->mode, path, own, 0);
        unlink(path);
        return;
    }
    for (uint32_t where = WORK; where < PLACES; where++)
        calls += own->calls[where];
    if (calls > 0)
        fail_msg("%s: a child made %" PRIu64 " calls and has no capture", a->mode, calls);
}

static void assert_all_hold(const one_case *c, const attempt *a)
{
    if (!a->own->opened && !(c->flags & MAY_NOT_OPEN))
        fail_msg("%s: the profile was not opened", a->mode);
    if (!a->own->opened || c->flags & NO_CAPTURE)
        return;
    assert_holds(a->mode, a->capture, a->own, c->flags);
    for (int child = 1; child < TRUTHS && a->own[child].process; child++)
        assert_child_holds(a, &a->own[child]);
}

static void behaves_and_is_recorded(void **state)
{
    const one_case *c = *state;
    static attempt plain, attempts[COUNT(modes)];
    begin_attempt(&plain, c, "plain");
    for (size_t i = 0; i < COUNT(modes); i++)
        begin_attempt(&attempts[i], c, modes[i]);
    plain.ended = end_run(&plain.run, &plain.found);
    for (size_t i = 0; i < COUNT(modes); i++)
        attempts[i].ended = end_run(&attempts[i].run, &attempts[i].found);
    map_truth(&plain);
    assert_came_to_it(&plain);
    for (size_t i = 0; i < COUNT(modes); i++) {
        attempt *a = &attempts[i];
        map_truth(a);
        assert_came_to_it(a);
        if (!a->own->skipped[0]) {
            assert_same(a->mode, &plain.found, &a->found);
            assert_all_hold(c, a);
        }
        munmap(a->own, TRUTHS * sizeof *a->own);
        unlink(a->capture);
    }
    if (plain.own->skipped[0])
        fprintf(stderr, "%s was not tried: %s\n", c->name, plain.own->skipped);
    munmap(plain.own, TRUTHS * sizeof *plain.own);
}

static int sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return 1;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return 1;
#endif
#endif
    return 0;
}

static size_t list(one_case *cases)
{
    static outcome found;
    size_t count = 0;
    running listing = begin_run((const char *const[]){program, "--list", NULL});
    end_run(&listing, &found);
    for (char *line = strtok(found.text[0], "\n"); line; line = strtok(NULL, "\n")) {
        if (count < CASES_MOST &&
            sscanf(line, "%63s %u", cases[count].name, &cases[count].flags) == 2)
            count += !(cases[count].flags & NO_SANITIZER && sanitized());
    }
    return count;
}

int main(int argc, char **argv)
{
    static one_case cases[CASES_MOST];
    static struct CMUnitTest tests[CASES_MOST];
    if (argc < 2)
        return 97;
    program = argv[1];
    size_t chosen = 0, count = list(cases);
    for (size_t i = 0; i < count; i++)
        if (argc == 2 || strcmp(argv[2], cases[i].name) == 0)
            tests[chosen++] =
                (struct CMUnitTest){cases[i].name, behaves_and_is_recorded, NULL, NULL, &cases[i]};
    return _cmocka_run_group_tests("process", tests, chosen, NULL, NULL);
}
