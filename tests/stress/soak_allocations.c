/* SPDX-License-Identifier: MIT
 *
 * soak_allocations.c - the allocations of an actor. Any thread may free what was passed on.
 *
 * libcairn-alloc is linked and interposes malloc. Sanitizers have a malloc of their own, so there
 * the recording parts of libcairn-alloc are linked, and this file calls them as its malloc does.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/alloc.h>

#include "stress/soak.h"

/* ---- malloc and its kin ---- */

#ifdef SOAK_RECORDS
#include "alloc/alloc.h"

enum { GRANULE = 1 << CRN_LIVE_GRANULE };

/* malloc gives a freed block to another thread under a lock that the thread sanitizer does not see.
 * `freed` before the free and `allocated` after the allocation tell it of that order. The free ends
 * what the sanitizer knows of the block's own bytes, so other bytes stand for the block. */
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>

static char stands_for[4096];

static void *stand_in_of(const void *block)
{
    return &stands_for[(uintptr_t)block / GRANULE % sizeof stands_for];
}

static void allocated(const void *block)
{
    __tsan_acquire(stand_in_of(block));
}

static void freed(const void *block)
{
    __tsan_release(stand_in_of(block));
}
#else
static void allocated(const void *block)
{
    (void)block;
}

static void freed(const void *block)
{
    (void)block;
}
#endif

static void *record(void *block, size_t size)
{
    crn_record_made(block, size, (const uintptr_t *)__builtin_frame_address(0));
    return block;
}

/* libcairn-alloc relies on glibc, whose allocations are this far apart. */
static void *allocate(size_t size)
{
    void *block = aligned_alloc(GRANULE, (size + GRANULE) / GRANULE * GRANULE);
    allocated(block);
    return block;
}

static void release(void *block)
{
    crn_record_free(block);
    freed(block);
    free(block);
}

static void *make(size_t size, unsigned how)
{
    (void)how;
    return record(allocate(size), size);
}

static void *resize(void *block, size_t before, size_t size)
{
    void *resized = allocate(size);
    memcpy(resized, block, before < size ? before : size);
    release(block);
    return record(resized, size);
}
#else
static void release(void *block)
{
    free(block);
}

static void *make(size_t size, unsigned how)
{
    if (how % 4 == 1)
        return calloc(1, size);
    return how % 4 == 2 ? memalign(64, size) : malloc(size);
}

static void *resize(void *block, size_t before, size_t size)
{
    (void)before;
    return realloc(block, size);
}
#endif

/* ---- what the actor does ---- */

void soak_follow(soak_actor *actor, cairn_strand *strand)
{
    if (actor->shared->follows && !cairn_alloc_follow(strand))
        actor->shared->wrong++;
}

static void count_made(soak_actor *actor, soak_block *block, bool recording)
{
    block->counted = recording;
    actor->did.user[SOAK_BYTES] += recording ? block->size : 0;
    actor->did.user[SOAK_OBJECTS] += recording;
    if (actor->profile)
        return;
    reference_strand *strand = &actor->references[actor->active];
    reference_charge(strand, SOAK_BYTES, block->size, recording);
    reference_charge(strand, SOAK_OBJECTS, 1, recording);
}

static void count_freed(soak_actor *actor, const soak_block *block)
{
    actor->did.freed_bytes += block->counted ? block->size : 0;
    actor->did.freed_objects += block->counted;
}

static void free_block(soak_actor *actor, soak_block *block)
{
    if (block->at && actor->profile)
        release(block->at);
    count_freed(actor, block);
    *block = (soak_block){.at = NULL};
}

/* Mostly small ones; some that malloc maps. */
static size_t size_of(uint32_t choice)
{
    size_t size = choice / SOAK_HELD % 1024;
    return choice % 61 == 0 ? size * 512 : size;
}

void soak_allocate(soak_actor *actor, uint32_t choice, bool recording)
{
    static char stand_in;
    soak_block *block = &actor->blocks[choice % SOAK_HELD];
    size_t size = size_of(choice);
    bool resizes = choice % 3 == 0 && size;
    if (block->at && !resizes) {
        free_block(actor, block);
        return;
    }
    count_freed(actor, block);
    if (!actor->profile)
        block->at = &stand_in;
    else if (block->at)
        block->at = resize(block->at, block->size, size);
    else
        block->at = make(size, choice);
    if (actor->profile && !block->at)
        abort();
    block->size = size;
    count_made(actor, block, recording);
}

void soak_pass_on(soak_actor *actor, uint32_t choice)
{
    soak_block *block = &actor->blocks[choice % SOAK_HELD];
    if (actor->in_child || !block->at)
        return;
    soak_block passed = *block;
    *block = (soak_block){.at = NULL};
    if (!actor->profile)
        return;
    soak_block *place = &actor->shared->blocks[choice / SOAK_HELD % SOAK_PASSED];
    pthread_mutex_lock(&actor->shared->lock);
    soak_block before = *place;
    *place = passed;
    pthread_mutex_unlock(&actor->shared->lock);
    free_block(actor, &before);
}

void soak_allocations_forget(soak_actor *actor)
{
    for (unsigned i = 0; i < SOAK_HELD; i++)
        actor->blocks[i].counted = false;
}

void soak_allocations_end(soak_actor *actor)
{
    for (unsigned i = 0; i < SOAK_HELD; i++)
        free_block(actor, &actor->blocks[i]);
    for (unsigned i = 0; i < SOAK_PASSED; i++)
        free_block(actor, &actor->shared->blocks[i]);
}
