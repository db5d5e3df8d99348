/* SPDX-License-Identifier: MIT
 *
 * A program that uses libcairn and lets libcairn-alloc follow its strands.
 */
#include <cairn/alloc.h>
#include <cairn/span.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "accounts.h"

enum { BLOCKS = 3, SLOTS = 500 };
static const char *const names[BLOCKS] = {"parse", "build", "print"};
static cairn_profile *profile;
static cairn_block blocks[BLOCKS];

static held slots[2][SLOTS];
static pthread_barrier_t barrier;

/* Allocates on the account of the strand's current block. */
static void fill(cairn_strand *strand, held *into, unsigned first)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        unsigned which = (first + i) % BLOCKS;
        size_t size = 10 + i;
        cairn_enter(strand, blocks[which]);
        into[i] = account_made(names[which], malloc(size), size);
        if (i % 7 == 0) {
            account_gone(&into[i]);
            into[i] = account_made(names[which], realloc(into[i].block, size * 2), size * 2);
        }
        cairn_leave(strand);
    }
}

static void release(held *held)
{
    account_gone(held);
    free(held->block);
}

/* Each thread fills its own slots, and frees those of the other. */
static void *run(void *data)
{
    unsigned number = (unsigned)(uintptr_t)data;
    cairn_lane *lane = cairn_lane_open(profile, "worker");
    cairn_strand *strand = cairn_strand_open(lane), *other = cairn_strand_open(lane);
    MUST(cairn_alloc_follow(strand));
    for (int round = 0; round < 20; round++) {
        fill(strand, slots[number], number);
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < SLOTS; i++)
            release(&slots[1 - number][i]);
        pthread_barrier_wait(&barrier);
    }
    /* Another strand of the lane. */
    cairn_enter(other, blocks[0]);
    MUST(cairn_alloc_follow(other));
    account_made(names[0], malloc(77), 77);
    pthread_barrier_wait(&barrier);
    errno = 77;
    MUST(cairn_alloc_follow(NULL) && errno == 77);
    void *unseen = malloc(1000000);
    STAY(unseen);
    free(unseen);
    cairn_lane_close(lane);
    return NULL;
}

static void *free_elsewhere(void *block)
{
    pthread_barrier_wait(&barrier);
    free(*(void **)block);
    pthread_barrier_wait(&barrier);
    return NULL;
}

/* Allocations made before a reset are freed after it: by the thread that made them, and by another
 * one. */
static void reset(void)
{
    pthread_t thread;
    void *other;
    MUST(pthread_create(&thread, NULL, free_elsewhere, &other) == 0);
    cairn_lane *lane = cairn_lane_open(profile, "main");
    cairn_strand *strand = cairn_strand_open(lane);
    cairn_enter(strand, blocks[0]);
    MUST(cairn_alloc_follow(strand));
    void *before = malloc(100000);
    other = malloc(70000);
    STAY(before);
    cairn_profile_reset(profile);
    free(before);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    void *after = malloc(50), *gone = malloc(100);
    STAY(after);
    STAY(gone);
    free(gone);
    MUST(cairn_alloc_follow(NULL));
    cairn_leave(strand);
    cairn_lane_close(lane);
    pthread_join(thread, NULL);
}

/* Memory that grows for a while, and then shrinks as fast. */
static void grow_and_shrink(void)
{
    enum { SIZE = 1000, COUNT = 4000, STEP_NS = 20000 };
    static void *kept[COUNT];
    cairn_lane *lane = cairn_lane_open(profile, "main");
    cairn_strand *strand = cairn_strand_open(lane);
    MUST(cairn_alloc_follow(strand));
    cairn_span_begin(strand, blocks[0], CAIRN_ITERATION_NONE);
    for (int i = 0; i < 2 * COUNT; i++) {
        if (i < COUNT)
            kept[i] = malloc(SIZE);
        else
            free(kept[i - COUNT]);
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
    }
    cairn_span_end(strand);
    MUST(cairn_alloc_follow(NULL));
    cairn_lane_close(lane);
}

/* ---- a lane that threads follow in turn ---- */

static cairn_strand *moving;
static void *kept;

static size_t mapped_pages(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    MUST(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages;
}

/* Frees what the lane's thread before it allocated. */
static void *take_turn(void *data)
{
    MUST(cairn_alloc_follow(moving));
    free(kept);
    kept = malloc(100);
    MUST(cairn_alloc_follow(NULL));
    cairn_lane_hand_over(cairn_strand_lane(moving));
    return data;
}

static void take_turns(void)
{
    enum { TURNS = 2000, PAGES_MOST = 20000 };
    pthread_t thread;
    moving = cairn_strand_open(cairn_lane_open(profile, "moves"));
    cairn_enter(moving, blocks[0]);
    take_turn(NULL);
    size_t before = mapped_pages();
    for (int i = 0; i < TURNS; i++)
        take_turn(NULL);
    MUST(mapped_pages() - before < PAGES_MOST);
    MUST(pthread_create(&thread, NULL, take_turn, NULL) == 0);
    pthread_join(thread, NULL);
    free(kept); /* nobody follows the lane */
    MUST(cairn_alloc_follow(moving) && cairn_alloc_follow(NULL));
}

/* ---- recording is off for a while ---- */

static void turn_off(void)
{
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "main"));
    cairn_enter(strand, blocks[0]);
    MUST(cairn_alloc_follow(strand));
    void *before = malloc(1000), *last = malloc(10);
    STAY(before);
    STAY(last);
    cairn_profile_disable(profile);
    void *unseen = malloc(500000);
    STAY(unseen);
    free(before);
    cairn_profile_enable(profile);
    free(unseen);
    free(last);
    void *after = malloc(7);
    STAY(after);
    MUST(cairn_alloc_follow(NULL));
}

/* ---- peaks ---- */

/* A thread follows one lane, and then another one, for which the peak comes. */
static void peak_elsewhere(void)
{
    cairn_strand *first = cairn_strand_open(cairn_lane_open(profile, "first"));
    cairn_strand *second = cairn_strand_open(cairn_lane_open(profile, "second"));
    cairn_enter(first, blocks[0]);
    cairn_enter(second, blocks[1]);
    MUST(cairn_alloc_follow(first));
    void *gone = malloc(600000), *stays = malloc(400000);
    STAY(gone);
    STAY(stays);
    free(gone);
    MUST(cairn_alloc_follow(second));
    void *most = malloc(1000000);
    STAY(most);
    free(most);
    MUST(cairn_alloc_follow(NULL));
}

typedef struct mode {
    const char *name;
    void (*run)(void);
} mode;

static const mode modes[] = {
    {"reset", reset},  {"time", grow_and_shrink}, {"turns", take_turns},
    {"off", turn_off}, {"peak", peak_elsewhere},
};

int main(int argc, char **argv)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = argc > 1 ? argv[1] : "x.cairn";
    bool in_time = argc > 2 && strcmp(argv[2], "time") == 0;
    options.spans = in_time;
    MUST(cairn_profile_open(&profile, &options) == CAIRN_OK);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = cairn_block_add(profile, &(cairn_block_info){.name = names[i]});
    MUST(cairn_alloc_follow(NULL));
    pthread_barrier_init(&barrier, NULL, 2);
    for (size_t i = 0; argc > 2 && i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(argv[2], modes[i].name) != 0)
            continue;
        modes[i].run();
        cairn_profile_close(profile);
        account_close();
        return 0;
    }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    cairn_profile_close(profile);
    account_close();
    return 0;
}
