/* SPDX-License-Identifier: MIT
 *
 * Threads and joins that carry hand-offs: a thread's spans belong to its creator, and a join
 * records the wait.
 */
#include <cairn/scope.h>
#include <cairn/wrap.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/process.h"

/* A thread that has not been joined or has not ended. Used by the thread itself and by its
 * joiner. */
typedef struct started {
    pthread_t thread;
    uint64_t number;
    struct started *const *owner; /* points here as long as the thread is this one */
    cairn_span span;              /* atomic */
    cairn_handoff handoff;
    void *(*run)(void *argument);
    void *argument;
    int users; /* atomic */
    bool may_be_joined;
    struct started *next;
    char name[];
} started;

/* A thread that is in cairn_pthread_join. */
typedef struct joining {
    pthread_t thread;
    uint64_t before; /* threads with this number or a higher one were created after the join
                        began */
    started *found;
    struct joining *next;
} joining;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; /* as process.c has it */
static started *threads; /* threads that were not joined; under lock */
static joining *joins;   /* under lock */
static uint64_t created; /* atomic */

/* Thread-local, so it is reset when a pthread_t is reused: shows whether the thread is still the
 * one in the list. */
static __thread started *this_thread __attribute__((tls_model("initial-exec")));

void crn_wrap_lock(void)
{
    pthread_mutex_lock(&lock);
}

void crn_wrap_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static void let_go(started *own)
{
    if (own && __atomic_sub_fetch(&own->users, 1, __ATOMIC_ACQ_REL) == 0)
        crn_free(own);
}

/* ---- the list ---- */

/* Removes a thread from the list and returns it, NULL if it is not there. The caller must release
 * it. */
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

static void use(joining *join, started *own)
{
    join->found = own;
    __atomic_add_fetch(&own->users, 1, __ATOMIC_RELAXED);
}

/* Adds a thread before it runs the program's code, so that a joiner finds it, even if its creator
 * has no valid pthread_t. An entry with the same pthread_t is of a thread that has ended. */
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

/* Returns true if the entry's thread still is the one that it was made for. Its memory exists,
 * though it may have ended. */
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

/* Another thread may have its place in the list by now. */
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

static void give_up(void *join)
{
    end_join(join, false);
    let_go(((joining *)join)->found);
}

void crn_wrap_forget(void)
{
    started *all = threads;
    /* In the child the owner has another thread number and could not unlock it. */
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

/* Also called if the thread calls pthread_exit or is cancelled. */
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
