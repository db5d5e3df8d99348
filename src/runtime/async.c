/* SPDX-License-Identifier: MIT
 *
 * Asynchronous spans. Each open span has a lane of its own, so that it can overlap others and end
 * on any thread. Later spans of the same name reuse the lane.
 */
#include <cairn/async.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/process.h"
#include "runtime/runtime.h"

enum { KEY_MAX = 1024 };

/* A lane for asynchronous spans of one name, one at a time. */
typedef struct async_lane {
    struct async_lane *next; /* next free lane of the same name */
    cairn_strand *strand;
    struct async_kind *kind;
    uint32_t generation; /* the static `generation` when the lane was opened */
} async_lane;

/* The lanes for asynchronous spans of one name. */
typedef struct async_kind {
    struct async_kind *next;
    async_lane *free; /* list of the lanes without an open span */
    char name[];
} async_kind;

/* Recursive: if fork's handlers are registered twice (process.c), they lock it twice. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/* Under lock: */
static async_kind *kinds;
static uint32_t lane_count;
static uint64_t dropped;    /* number of spans for which no lane could be had */
static uint32_t generation; /* number of forks that led from the first process to this one */

void crn_async_lock(void)
{
    pthread_mutex_lock(&lock);
}

void crn_async_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* Forgets the lanes of asynchronous spans in a child of fork, where they are the parent's. Does not
 * free them: open spans still point to them. */
void crn_async_forget(void)
{
    /* The lock knows its owner by the parent's thread id, so the child could not unlock it. */
    lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    kinds = NULL;
    lane_count = 0;
    dropped = 0;
    generation++;
}

/* ---- lanes; under the lock ---- */

static void note(cairn_profile *profile, const char *what, const char *name, const char *value)
{
    char key[KEY_MAX];
    int length = snprintf(key, sizeof key, "%s%s", what, name);
    if (length > 0 && (size_t)length < sizeof key)
        cairn_profile_note(profile, key, value);
}

static async_kind *find_kind(cairn_profile *profile, const char *name)
{
    for (async_kind *kind = kinds; kind; kind = kind->next)
        if (strcmp(kind->name, name) == 0)
            return kind;
    async_kind *kind = crn_try_calloc(1, sizeof *kind + strlen(name) + 1);
    if (!kind)
        return NULL;
    strcpy(kind->name, name);
    kind->next = kinds;
    kinds = kind;
    note(profile, "async.", name, "1");
    return kind;
}

static void count_dropped(cairn_profile *profile)
{
    char count[32];
    snprintf(count, sizeof count, "%llu", (unsigned long long)++dropped);
    note(profile, "async_dropped", "", count);
}

static async_lane *open_lane(cairn_profile *profile, async_kind *kind, const char *name)
{
    if (lane_count == CAIRN_ASYNC_MAX)
        return NULL;
    async_lane *lane = crn_try_calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    cairn_lane *opened = crn_lane_open_new(profile, name);
    cairn_lane_set_thread(opened, 0);
    *lane =
        (async_lane){.strand = cairn_strand_open(opened), .kind = kind, .generation = generation};
    if (!lane->strand) {
        cairn_lane_close(opened);
        crn_free(lane);
        return NULL;
    }
    lane_count++;
    return lane;
}

/* Takes an idle lane of another name; NULL if all have open spans. So only open spans count for
 * the limit. The lane keeps its name, as a lane does that another thread reuses. */
static async_lane *take_other(async_kind *kind)
{
    async_kind *other = kinds;
    while (other && !other->free)
        other = other->next;
    if (!other)
        return NULL;
    async_lane *lane = other->free;
    other->free = lane->next;
    lane->kind = kind;
    return lane;
}

static async_lane *take_lane(cairn_profile *profile, const char *name)
{
    async_kind *kind = find_kind(profile, name);
    async_lane *lane = kind ? kind->free : NULL;
    if (lane)
        kind->free = lane->next;
    else if (kind)
        lane = open_lane(profile, kind, name);
    if (!lane && kind)
        lane = take_other(kind);
    if (!lane)
        count_dropped(profile);
    return lane;
}

/* ---- public functions ---- */

cairn_async cairn_async_begin_for(cairn_handoff parent, cairn_place *place, int64_t iteration)
{
    cairn_async none = {NULL, NULL};
    cairn_strand *own = cairn_thread_strand();
    if (!own || crn_lane_is_buried(crn_lane_of(own)))
        return none;
    int saved = errno;
    cairn_profile *profile = crn_lane_of(own)->profile;
    cairn_block block = cairn_place_block(own, place);
    pthread_mutex_lock(&lock);
    async_lane *lane = take_lane(profile, place->name);
    pthread_mutex_unlock(&lock);
    if (lane) {
        cairn_handoff_adopt(lane->strand, parent);
        cairn_span_begin(lane->strand, block, iteration);
        cairn_lane_hand_over(crn_lane_of(lane->strand));
    }
    errno = saved;
    return lane ? (cairn_async){lane->strand, lane} : none;
}

cairn_async cairn_async_begin(cairn_place *place, int64_t iteration)
{
    return cairn_async_begin_for(cairn_handoff_take(cairn_thread_strand()), place, iteration);
}

void cairn_async_end(cairn_async *async)
{
    async_lane *lane = async->lane;
    *async = (cairn_async){NULL, NULL};
    if (!lane || !cairn_thread_strand() || lane->generation != generation)
        return;
    int saved = errno;
    cairn_span_end(lane->strand);
    cairn_handoff_leave(lane->strand);
    cairn_lane_hand_over(crn_lane_of(lane->strand));
    pthread_mutex_lock(&lock);
    lane->next = lane->kind->free;
    lane->kind->free = lane;
    pthread_mutex_unlock(&lock);
    errno = saved;
}
