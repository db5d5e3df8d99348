/* SPDX-License-Identifier: MIT
 *
 * A program that uses libcairn and lets libcairn-alloc follow its strands.
 */
#include <cairn/alloc.h>
#include <cairn/span.h>
#include <errno.h>
#include <pthread.h>
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
    if (in_time) {
        grow_and_shrink();
        cairn_profile_close(profile);
        account_close();
        return 0;
    }
    if (argc > 2) {
        pthread_barrier_init(&barrier, NULL, 2);
        reset();
        cairn_profile_close(profile);
        account_close();
        return 0;
    }
    pthread_t threads[2];
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    cairn_profile_close(profile);
    account_close();
    return 0;
}
