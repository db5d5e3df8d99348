/* SPDX-License-Identifier: MIT
 *
 * cases_hooks.c - hooks for -finstrument-functions as one writes them at first: a stack for
 * each thread, pushed on entry and popped on exit, and a count for each pair of caller and
 * callee. At the end they are written to hooks.txt: caller, callee, calls.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct arc {
    void *caller, *callee;
    unsigned long calls;
} arc;

enum { MOST_ARCS = 64 };

typedef struct thread_calls {
    struct thread_calls *next;
    void **stack;
    size_t depth, room;
    size_t arc_count;
    arc arcs[MOST_ARCS];
} thread_calls;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static thread_calls *threads;
static _Thread_local thread_calls *mine;

static thread_calls *open_thread(void)
{
    thread_calls *calls = calloc(1, sizeof(*calls));
    if (!calls)
        abort();
    pthread_mutex_lock(&lock);
    calls->next = threads;
    threads = calls;
    pthread_mutex_unlock(&lock);
    return calls;
}

static void count(thread_calls *calls, void *caller, void *callee)
{
    size_t i = 0;
    while (i < calls->arc_count &&
           (calls->arcs[i].caller != caller || calls->arcs[i].callee != callee))
        i++;
    if (i == MOST_ARCS)
        abort();
    if (i == calls->arc_count)
        calls->arcs[calls->arc_count++] = (arc){caller, callee, 0};
    calls->arcs[i].calls++;
}

void __cyg_profile_func_enter(void *function, void *call_site)
{
    (void)call_site;
    if (!mine)
        mine = open_thread();
    if (mine->depth == mine->room) {
        mine->room = mine->room * 2 + 64;
        mine->stack = realloc(mine->stack, mine->room * sizeof(*mine->stack));
        if (!mine->stack)
            abort();
    }
    count(mine, mine->depth ? mine->stack[mine->depth - 1] : NULL, function);
    mine->stack[mine->depth++] = function;
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
    (void)function;
    (void)call_site;
    if (mine && mine->depth)
        mine->depth--;
}

__attribute__((destructor)) static void write_arcs(void)
{
    FILE *file = fopen("hooks.txt", "w");
    if (!file)
        return;
    for (const thread_calls *calls = threads; calls; calls = calls->next)
        for (size_t i = 0; i < calls->arc_count; i++)
            fprintf(file, "%p %p %lu\n", calls->arcs[i].caller, calls->arcs[i].callee,
                    calls->arcs[i].calls);
    fclose(file);
}
