/* SPDX-License-Identifier: MIT
 *
 * A thread that takes snapshots, so that keys are handled while a large capture is read.
 */
#include <sys/eventfd.h>
#include <unistd.h>

#include "top.h"

static void *work(void *data)
{
    crn_top_looker *looker = data;
    pthread_mutex_lock(&looker->lock);
    for (;;) {
        while (!looker->wanted && !looker->ending)
            pthread_cond_wait(&looker->wake, &looker->lock);
        if (looker->ending)
            break;
        const crn_top_look *before = looker->before;
        crn_top_needs needs = looker->needs;
        pthread_mutex_unlock(&looker->lock);
        crn_top_look found = crn_top_look_take(looker->path, before, needs, looker->names);
        pthread_mutex_lock(&looker->lock);
        looker->found = found;
        looker->done = true;
        looker->wanted = false;
        uint64_t one = 1;
        (void)!write(looker->event, &one, sizeof one);
    }
    pthread_mutex_unlock(&looker->lock);
    return NULL;
}

bool crn_top_looker_start(crn_top_looker *looker, const char *path)
{
    *looker = (crn_top_looker){.path = path, .event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    looker->names = crn_symbols_cache_new();
    pthread_mutex_init(&looker->lock, NULL);
    pthread_cond_init(&looker->wake, NULL);
    return looker->event >= 0 && pthread_create(&looker->thread, NULL, work, looker) == 0;
}

void crn_top_looker_ask(crn_top_looker *looker, const crn_top_look *before, crn_top_needs needs)
{
    pthread_mutex_lock(&looker->lock);
    looker->before = before;
    looker->needs = needs;
    looker->wanted = true;
    pthread_cond_signal(&looker->wake);
    pthread_mutex_unlock(&looker->lock);
}

bool crn_top_looker_take(crn_top_looker *looker, crn_top_look *found)
{
    uint64_t count;
    (void)!read(looker->event, &count, sizeof count);
    pthread_mutex_lock(&looker->lock);
    bool done = looker->done;
    if (done)
        *found = looker->found;
    looker->done = false;
    pthread_mutex_unlock(&looker->lock);
    return done;
}

void crn_top_looker_end(crn_top_looker *looker)
{
    pthread_mutex_lock(&looker->lock);
    looker->ending = true;
    pthread_cond_signal(&looker->wake);
    pthread_mutex_unlock(&looker->lock);
    pthread_join(looker->thread, NULL);
    crn_top_look last;
    if (crn_top_looker_take(looker, &last))
        crn_top_look_free(&last);
    crn_symbols_cache_free(looker->names);
    close(looker->event);
    pthread_cond_destroy(&looker->wake);
    pthread_mutex_destroy(&looker->lock);
}
