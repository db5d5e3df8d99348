/* SPDX-License-Identifier: MIT
 *
 * memory.c - memory of a context, everything included: records in the capture's mapping, edges,
 * hash tables, overhead of malloc. And memory of a frame of a strand's stack.
 *
 * A child process replays events into a lane. Each time that contexts have grown by 2 %, from
 * 10,000 on, it adds up all anonymous memory (smaps) and the whole capture, resident or not. The
 * baseline has replayed the same events before, so the number of contexts at each moment is known.
 * The result is the worst moment: tables that double are measured just after they have.
 *
 * usage: memory random|wide|stack | stream FILE
 */
#include <cairn/cairn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baseline/profile_tree.h"
#include "measure.h"
#include "open.h"
#include "replay_loop.h"
#include "stream.h"

enum {
    FIRST_CONTEXTS = 10000,
    FIRST_FRAMES = 100000,
    STACK_FRAMES = 10000000,
    MOST_MOMENTS = 1000
};

typedef struct moment {
    size_t events;
    uint64_t contexts;
} moment;

/* The results of a child: bytes at certain moments, by context. */
typedef struct finding {
    double worst, least, last; /* bytes a context */
    uint64_t worst_contexts, last_contexts;
    double peak; /* most that was resident before any moment, a context */
    double disk; /* bytes of the capture a context, at the end */
} finding;

/* ---- the process's memory ---- */

/* A line "Name:   123 kB" of a /proc file: the bytes, if it has that name. */
static bool kilobytes(const char *line, const char *name, uint64_t *bytes)
{
    size_t length = strlen(name);
    unsigned long value;
    if (strncmp(line, name, length) != 0 || sscanf(line + length, ": %lu kB", &value) != 1)
        return false;
    *bytes = (uint64_t)value * 1024;
    return true;
}

/* Returns anonymous memory in all mappings, and the bytes of the capture. */
static uint64_t held(const char *path)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    struct stat capture;
    if (!file || stat(path, &capture) != 0)
        exit(1);
    char line[1024];
    uint64_t sum = (uint64_t)capture.st_size, bytes;
    while (fgets(line, sizeof(line), file))
        if (kilobytes(line, "Anonymous", &bytes))
            sum += bytes;
    fclose(file);
    return sum;
}

static uint64_t status_bytes(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    if (!file)
        exit(1);
    char line[256];
    uint64_t bytes = 0;
    while (fgets(line, sizeof(line), file))
        if (kilobytes(line, name, &bytes))
            break;
    fclose(file);
    return bytes;
}

/* Resets the peak of resident memory to its present value. */
static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5\n", file);
        fclose(file);
    }
}

/* ---- contexts ---- */

/* The moments at which contexts have grown by a fiftieth. */
static size_t find_moments(const stream *s, moment *moments)
{
    tree_profile *profile = tree_open();
    size_t count = 0;
    double next = FIRST_CONTEXTS;
    for (size_t i = 0; i < s->count && count < MOST_MOMENTS; i++) {
        REPLAY(s, i, i + 1, tree_enter(profile, value), tree_replace(profile, value),
               tree_leave(profile), tree_tick(profile, value), tree_restart(profile))
        if ((double)profile->node_count >= next) {
            moments[count++] = (moment){i + 1, profile->node_count};
            next = (double)profile->node_count * 1.02;
        }
    }
    if (count < MOST_MOMENTS)
        moments[count++] = (moment){s->count, profile->node_count};
    tree_close(profile);
    return count;
}

static cairn_profile *open_profile(const char *path)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = path;
    options.wall = CAIRN_WALL_EXACT;
    return bench_open(&options);
}

static void look(finding *found, const moment *now, const char *path, uint64_t before,
                 uint64_t before_peak)
{
    double contexts = (double)now->contexts;
    uint64_t here = held(path);
    double each = (double)(here - before) / contexts;
    double peak = (double)(status_bytes("VmHWM") - before_peak) / contexts;
    if (each > found->worst) {
        found->worst = each;
        found->worst_contexts = now->contexts;
    }
    if (found->least == 0 || each < found->least)
        found->least = each;
    if (peak > found->peak)
        found->peak = peak;
    found->last = each;
    found->last_contexts = now->contexts;
    forget_peak();
}

static void record(const stream *s, const moment *moments, size_t count, const char *path,
                   finding *found)
{
    /* Pages that opening and closing a profile loads do not count. */
    cairn_profile_close(open_profile(path));
    forget_peak();
    cairn_profile *profile = open_profile(path);
    replay_add_blocks(profile, s);
    uint64_t before = held(path), before_peak = status_bytes("VmRSS");
    cairn_lane *lane = cairn_lane_open(profile, "memory");
    cairn_strand *strand = NULL;
    size_t from = 0;
    for (size_t i = 0; i < count; i++) {
        strand = replay_cairn(s, from, moments[i].events, lane, strand);
        from = moments[i].events;
        look(found, &moments[i], path, before, before_peak);
    }
    struct stat file;
    if (stat(path, &file) == 0)
        found->disk = (double)file.st_size / (double)found->last_contexts;
    cairn_profile_close(profile);
}

/* ---- frames ---- */

static void record_stack(const char *path, finding *found)
{
    cairn_profile_close(open_profile(path));
    cairn_profile *profile = open_profile(path);
    cairn_block block = cairn_block_add(profile, &(cairn_block_info){.name = "deep"});
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "memory"));
    forget_peak();
    uint64_t before = held(path), before_peak = status_bytes("VmRSS");
    double next = FIRST_FRAMES;
    for (uint64_t depth = 1; depth <= STACK_FRAMES; depth++) {
        cairn_enter(strand, block);
        if ((double)depth >= next || depth == STACK_FRAMES) {
            look(found, &(moment){depth, depth}, path, before, before_peak);
            next = (double)depth * 1.02;
        }
    }
    if (cairn_strand_depth(strand) != STACK_FRAMES)
        exit(1);
    cairn_profile_close(profile);
}

/* ---- children ---- */

static void *share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    return memory;
}

static void await(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "memory: a child failed\n");
        exit(1);
    }
}

/* Runs in a child, so that the baseline's freed heap is not reused. */
static moment *moments_of(const stream *s, size_t *count)
{
    moment *moments = share(MOST_MOMENTS * sizeof(*moments) + sizeof(*count));
    size_t *found = (size_t *)(moments + MOST_MOMENTS);
    pid_t child = fork();
    if (child == 0) {
        *found = find_moments(s, moments);
        _exit(0);
    }
    await(child);
    *count = *found;
    return moments;
}

static void measure(const char *name, const stream *s)
{
    size_t count = 0;
    const moment *moments = s ? moments_of(s, &count) : NULL;
    finding *found = share(sizeof(*found));
    char path[64];
    snprintf(path, sizeof(path), "memory-%d.cairn", (int)getpid());
    pid_t child = fork();
    if (child == 0) {
        if (s)
            record(s, moments, count, path, found);
        else
            record_stack(path, found);
        _exit(0);
    }
    await(child);
    unlink(path);
    const char *unit = s ? "contexts" : "frames";
    printf("%s\t%.2f\t%.2f\t%.2f\tworst at %lu %s; at the end, %lu, %.1f; resident at most %.1f",
           name, found->worst, found->least, found->worst, found->worst_contexts, unit,
           found->last_contexts, found->last, found->peak);
    if (s)
        printf("; of it the capture %.1f", found->disk);
    printf("\n");
}

int main(int argc, char **argv)
{
    stream s = {0};
    if (argc == 3 && strcmp(argv[1], "stream") == 0)
        stream_read(&s, argv[2]);
    else if (argc == 2 && strcmp(argv[1], "random") == 0)
        stream_make(&s, "random:12,24,16000000");
    else if (argc == 2 && strcmp(argv[1], "wide") == 0)
        stream_make(&s, "random:1000,2,16000000");
    else if (argc != 2 || strcmp(argv[1], "stack") != 0) {
        fprintf(stderr, "usage: memory random|wide|stack | stream FILE\n");
        return 2;
    }
    measure(argv[1], s.words ? &s : NULL);
    stream_free(&s);
    return 0;
}
