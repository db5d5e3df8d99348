/* SPDX-License-Identifier: MIT
 *
 * cairn_pthread_create and cairn_pthread_join. The created thread adopts a hand-off of its creator,
 * so its spans are children of the creator's span; a join records that the joiner's span waited for
 * the thread's span.
 *
 * A list of threads leads from a pthread_t to the thread's span. A pthread_t may be reused as soon
 * as its thread has been joined, also by a thread or a join that knows nothing of this list: so
 * entries can be stale.
 */
#include <cairn/scope.h>
#include <cairn/wrap.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/process.h"

/* A thread that cairn_pthread_create has started. Its users are the thread itself, the list of
 * threads and a joiner; the last of them frees it. */
typedef struct started {
    pthread_t thread;
    uint64_t number;              /* numbered in the order of creation */
    struct started *const *owner; /* address of the thread's `this_thread` */
    cairn_span span;              /* span of the thread's whole run; atomic */
    cairn_handoff handoff;
    void *(*run)(void *argument);
    void *argument;
    int users; /* number of users; atomic */
    bool may_be_joined;
    struct started *next;
    char name[];
} started;

/* A thread that is in cairn_pthread_join. */
typedef struct joining {
    pthread_t thread;
    uint64_t before; /* the joined thread has a lower number, because it was created before the join
                        began */
    started *found;  /* the joined thread; NULL: not known yet */
    struct joining *next;
} joining;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; /* recursive for the reason in
                                                                         process.c */
static started *threads; /* threads that are not joined yet; under lock */
static joining *joins;   /* under lock */
static uint64_t created; /* atomic */

/* The calling thread's entry. A thread that reuses a pthread_t has this variable at the same
 * address, with another value: so `*owner` tells whether an entry is stale. */
static __thread started *this_thread __attribute__((tls_model("initial-exec")));

void crn_wrap_lock(void)
{
    pthread_mutex_lock(&lock);
}

void crn_wrap_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* Ends the use by one user. The last one's end frees the struct. */
static void let_go(started *own)
{
    if (own && __atomic_sub_fetch(&own->users, 1, __ATOMIC_ACQ_REL) == 0)
        crn_free(own);
}

/* ---- the list ---- */

/* Removes a thread from the list and returns it; NULL if the list lacks it. The caller takes over
 * the list's use. */
static started *take(pthread_t thread)
{
    started **place = &threads;
    while (*place && !pthread_equal((*place)->thread, thread))
        place = &(*place)->next;
    started *found = *place;
    if (found)
        *place = found->next;
    return found;
}

static void insert(started *own)
{
    own->next = threads;
    threads = own;
}

/* Stores in the join that it waits for this thread, and counts the join as a user of the thread's
 * entry. */
static void use(joining *join, started *own)
{
    join->found = own;
    __atomic_add_fetch(&own->users, 1, __ATOMIC_RELAXED);
}

/* Adds the calling thread to the list before it runs the program's code. Tells joins that wait for
 * it already: they may have got its pthread_t before pthread_create returned. Removes an entry with
 * the same pthread_t, whose thread has ended. */
static void put(started *own)
{
    pthread_mutex_lock(&lock);
    started *old = take(own->thread);
    insert(own);
    for (joining *join = joins; join; join = join->next)
        if (pthread_equal(join->thread, own->thread) && !join->found && own->number < join->before)
            use(join, own);
    pthread_mutex_unlock(&lock);
    let_go(old);
}

/* Returns true if the entry is not stale. `*owner` can be read: a thread with this pthread_t, the
 * entry's or a later one, exists until it is joined. */
__attribute__((no_sanitize("thread"))) static bool is_that(const started *own)
{
    return __atomic_load_n(own->owner, __ATOMIC_RELAXED) == own;
}

static void begin_join(joining *join)
{
    pthread_mutex_lock(&lock);
    join->before = __atomic_load_n(&created, __ATOMIC_RELAXED);
    started *own = take(join->thread), *stale = NULL;
    if (own && is_that(own)) {
        insert(own);
        use(join, own);
    } else {
        stale = own;
    }
    join->next = joins;
    joins = join;
    pthread_mutex_unlock(&lock);
    let_go(stale);
}

/* Ends a join, and takes the joined thread off the list. A newer thread with the same pthread_t
 * stays on the list. */
static void end_join(joining *join, bool joined)
{
    pthread_mutex_lock(&lock);
    joining **place = &joins;
    while (*place && *place != join)
        place = &(*place)->next;
    if (*place)
        *place = join->next;
    started *own = joined && join->found ? take(join->thread) : NULL;
    if (own && own != join->found) {
        insert(own);
        own = NULL;
    }
    pthread_mutex_unlock(&lock);
    let_go(own);
}

/* Ends a join whose caller is cancelled. */
static void give_up(void *join)
{
    end_join(join, false);
    let_go(((joining *)join)->found);
}

void crn_wrap_forget(void)
{
    started *all = threads;
    /* The lock knows its owner by the parent's thread id, so the child could not unlock it. */
    lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    threads = NULL;
    joins = NULL;
    while (all) {
        started *next = all->next;
        if (all == this_thread)
            insert(all);
        else
            crn_free(all);
        all = next;
    }
}

/* ---- the thread ---- */

typedef struct running {
    started *started;
    cairn_adoption adoption;
    cairn_scope scope;
} running;

/* Ends the thread's span and adoption, also if it calls pthread_exit or is cancelled. */
static void end_thread(void *data)
{
    running *own = data;
    cairn_scope_end(&own->scope);
    cairn_adoption_end(&own->adoption);
    let_go(own->started);
}

static void *run(void *data)
{
    started *started = data;
    running own = {.started = started};
    void *result;
    int cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    pthread_cleanup_push(end_thread, &own);
    this_thread = started;
    started->owner = &this_thread;
    started->thread = pthread_self();
    if (started->may_be_joined)
        put(started);
    cairn_strand *strand = cairn_thread_strand();
    own.adoption = cairn_adoption_begin(strand, started->handoff);
    own.scope = cairn_scope_begin_named(strand, started->name, CAIRN_ITERATION_NONE);
    __atomic_store_n(&started->span, cairn_span_current(strand), __ATOMIC_RELEASE);
    pthread_setcancelstate(cancelling, NULL);
    result = started->run(started->argument);
    pthread_cleanup_pop(1);
    return result;
}

static started *prepare(cairn_strand *strand, void *(*start)(void *), void *argument,
                        const char *name)
{
    name = name && *name ? name : "thread";
    started *own = crn_try_calloc(sizeof *own + strlen(name) + 1, 1);
    if (!own)
        return NULL;
    own->handoff = cairn_handoff_take(strand);
    own->run = start;
    own->argument = argument;
    own->number = __atomic_fetch_add(&created, 1, __ATOMIC_RELAXED);
    strcpy(own->name, name);
    return own;
}

int cairn_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                         void *(*start)(void *argument), void *argument, const char *name)
{
    cairn_strand *strand = cairn_thread_strand();
    int saved = errno;
    started *own = strand ? prepare(strand, start, argument, name) : NULL;
    errno = saved;
    if (!own)
        return pthread_create(thread, attributes, start, argument);
    int detached = PTHREAD_CREATE_JOINABLE;
    if (attributes)
        pthread_attr_getdetachstate(attributes, &detached);
    own->may_be_joined = detached != PTHREAD_CREATE_DETACHED;
    own->users = own->may_be_joined ? 2 : 1;
    int error = pthread_create(thread, attributes, run, own);
    if (error)
        crn_free(own);
    return error;
}

int cairn_pthread_join(pthread_t thread, void **result)
{
    int error;
    joining join = {.thread = thread};
    begin_join(&join);
    pthread_cleanup_push(give_up, &join);
    error = pthread_join(thread, result);
    pthread_cleanup_pop(0);
    end_join(&join, error == 0);
    if (join.found && error == 0)
        cairn_span_waits_for(cairn_thread_strand(),
                             __atomic_load_n(&join.found->span, __ATOMIC_ACQUIRE));
    let_go(join.found);
    return error;
}
