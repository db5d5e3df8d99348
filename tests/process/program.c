/* SPDX-License-Identifier: MIT
 *
 * program.c - see program.h. Usage: program CASE MODE CAPTURE TRUTH, or program --list.
 */
#include "program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

truth *own;
cairn_profile *profile;
const char *capture_path;
_Thread_local cairn_strand *strand;
_Thread_local cairn_stack *stack;

static process_case *cases;
static const char *mode;
static cairn_block blocks[PLACES];

void process_case_add(process_case *added)
{
    added->next = cases;
    cases = added;
}

/* ---- the profile ---- */

bool mode_keeps_stacks_only(void)
{
    return strcmp(mode, "stack") == 0;
}

bool mode_options(cairn_options *options)
{
    static const struct {
        const char *name;
        cairn_wall wall;
        cairn_cpu cpu;
        uint64_t hertz;
    } modes[] = {
        {"counts", CAIRN_WALL_OFF, CAIRN_CPU_OFF, 1},
        {"wall-1k", CAIRN_WALL_SAMPLED, CAIRN_CPU_OFF, 1000},
        {"wall-10k", CAIRN_WALL_SAMPLED, CAIRN_CPU_OFF, 10000},
        {"wall-cpu-1k", CAIRN_WALL_SAMPLED, CAIRN_CPU_SAMPLED, 1000},
        {"wall-cpu-10k", CAIRN_WALL_SAMPLED, CAIRN_CPU_SAMPLED, 10000},
        {"exact", CAIRN_WALL_EXACT, CAIRN_CPU_OFF, 1000},
        {"stack", CAIRN_WALL_SAMPLED, CAIRN_CPU_SAMPLED, 1000},
        {"timer", CAIRN_WALL_OFF, CAIRN_CPU_SAMPLED, 10000},
    };
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        if (strcmp(modes[i].name, mode) != 0)
            continue;
        options->wall = modes[i].wall;
        options->cpu = modes[i].cpu;
        options->sample_period_ns = 1000000000 / modes[i].hertz;
        options->sample_overhead = 0;
        if (strcmp(mode, "timer") == 0)
            options->sampler = CAIRN_SAMPLER_TIMER;
        return true;
    }
    must(strcmp(mode, "plain") == 0, "there is no such mode");
    return false;
}

void begin(void)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = capture_path;
    if (mode_options(&options)) {
        own->opened = cairn_profile_open(&profile, &options) == CAIRN_OK;
        report_without(capture_path);
    }
    for (place where = WORK; where < MANY_FIRST; where++) {
        const cairn_block_info info = {.name = place_infos[where].block};
        for (place same = WORK; same < where && !blocks[where]; same++)
            if (strcmp(place_infos[same].block, info.name) == 0)
                blocks[where] = blocks[same];
        if (!blocks[where])
            blocks[where] = cairn_block_add(profile, &info);
    }
    begin_thread();
}

void end(void)
{
    if (profile)
        report_with_all();
    cairn_profile_close(profile);
    profile = NULL;
    strand = NULL;
    stack = NULL;
}

cairn_lane *begin_thread(void)
{
    cairn_lane *lane = cairn_lane_open(profile, "thread");
    if (mode_keeps_stacks_only()) {
        stack = cairn_stack_open(lane);
        strand = cairn_stack_strand(stack);
    } else {
        strand = cairn_strand_open(lane);
    }
    if (strand)
        own->calls[ROOT]++;
    return lane;
}

/* ---- profiled functions ---- */

void enter(place where)
{
    if (stack)
        cairn_stack_enter(stack, blocks[where]);
    else
        cairn_enter(strand, blocks[where]);
    own->calls[where]++;
}

void leave(void)
{
    if (stack)
        cairn_stack_leave(stack);
    else
        cairn_leave(strand);
}

void tick(place where, uint32_t count)
{
    if (stack)
        cairn_stack_tick(stack, count);
    else
        cairn_tick(strand, count);
    own->ticks[where] += count;
}

void work(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        enter(WORK);
        enter(WORK_INNER);
        for (int j = 0; j < 5; j++) {
            enter(WORK_INNER_LEAF);
            tick(WORK_INNER_LEAF, 2);
            leave();
        }
        leave();
        enter(WORK_LEAF);
        leave();
        leave();
        enter(OTHER);
        enter(OTHER_LEAF);
        tick(OTHER_LEAF, 1);
        leave();
        leave();
    }
}

void grow(unsigned first, unsigned count)
{
    enter(MANY);
    for (unsigned i = first; i < first + count; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%u", i);
        blocks[MANY_FIRST + i] = cairn_block_add(profile, &(cairn_block_info){.name = name});
        enter((place)(MANY_FIRST + i));
        leave();
    }
    leave();
}

/* ---- the rest ---- */

_Noreturn void skip(const char *why)
{
    snprintf(own->skipped, sizeof own->skipped, "%s", why);
    exit(0);
}

void checked(void)
{
    own->checked = 1;
}

void must(bool worked, const char *what)
{
    if (worked)
        return;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(98);
}

void await(pid_t child, const char *who)
{
    int status;
    pid_t found;
    while ((found = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        printf("EINTR\n");
    must(found == child, "waitpid");
    if (WIFEXITED(status))
        printf("%s exited with %d\n", who, WEXITSTATUS(status));
    else
        printf("%s was ended by signal %d\n", who, WTERMSIG(status));
}

/* Begins the counts of a child: its capture has a call of the root for its strand, and the child's
 * own calls. */
void count_for_child(void)
{
    static truth *first;
    if (!first)
        first = own;
    own = first;
    uint64_t nobody;
    do {
        own++;
        nobody = 0;
        must(own < first + TRUTHS, "too many children");
    } while (!atomic_compare_exchange_strong(&own->process, &nobody, (uint64_t)getpid()));
    own->calls[ROOT] = strand != NULL;
}

static truth *map_truth(const char *path)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    must(file >= 0 && ftruncate(file, TRUTHS * sizeof(truth)) == 0, path);
    void *page = mmap(NULL, TRUTHS * sizeof(truth), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    must(page != MAP_FAILED, "mmap");
    close(file);
    return page;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (process_case *c = cases; c; c = c->next)
            printf("%s %u\n", c->name, c->flags);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--report") == 0) {
        report();
        return 0;
    }
    if (argc != 5)
        return 97;
    mode = argv[2];
    capture_path = argv[3];
    own = map_truth(argv[4]);
    setrlimit(RLIMIT_CORE, &(const struct rlimit){0, 0});
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (process_case *c = cases; c; c = c->next) {
        if (strcmp(c->name, argv[1]) != 0)
            continue;
        if (!(c->flags & LATE))
            begin();
        c->run();
        report();
        end();
        report();
        return 0;
    }
    return 97;
}
