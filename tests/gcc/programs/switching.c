/* SPDX-License-Identifier: MIT
 *
 * Fibers (ucontext), each with its own stack. Some are resumed within one thread, at many depths;
 * some are started by one thread and resumed by another.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "noipa.h"

enum { FIBERS = 3, TURNS = 4, STACK = 1 << 18 };

static ucontext_t home, fibers[FIBERS];
static int running;
static volatile int seen;

STEP(goes_down)
STEP(comes_back)
STEP(goes_on)
STEP(after_switch)

KEPT void gives_way(int n)
{
    goes_down(n);
    swapcontext(&fibers[running], &home);
    comes_back(n);
}

KEPT int deeper(int n)
{
    int sum = goes_down(n);
    if (n > 0)
        sum += deeper(n - 1);
    gives_way(n);
    return sum + comes_back(n);
}

KEPT int turns(int n)
{
    int sum = goes_down(n);
    for (int i = 0; i < TURNS; i++) {
        gives_way(i);
        sum += goes_on(i);
    }
    return sum + deeper(n) + comes_back(n);
}

KEPT void fiber(void)
{
    int own = running;
    goes_down(own);
    seen += turns(own);
    goes_on(own);
}

KEPT void resumes(int which)
{
    goes_down(which);
    running = which;
    swapcontext(&home, &fibers[which]);
    comes_back(which);
}

KEPT void begins(void)
{
    for (int i = 0; i < FIBERS; i++) {
        getcontext(&fibers[i]);
        fibers[i].uc_stack.ss_sp = malloc(STACK);
        fibers[i].uc_stack.ss_size = STACK;
        fibers[i].uc_link = &home;
        makecontext(&fibers[i], fiber, 0);
    }
}

/* Each fiber's number of switches, with one more to end it. */
KEPT int switches(int which)
{
    return TURNS + which + 2;
}

KEPT void by_turns(int first, int last)
{
    for (int turn = first; turn < last; turn++)
        for (int i = 0; i < FIBERS; i++)
            if (turn < switches(i))
                resumes(i);
}

KEPT int below(int depth, int first, int last)
{
    goes_down(depth);
    if (depth > 0)
        below(depth - 1, first, last);
    else
        by_turns(first, last);
    return comes_back(depth);
}

static int part[2];

KEPT void *body(void *data)
{
    below(2, part[0], part[1]);
    after_switch(1);
    return data;
}

KEPT void on_thread(int first, int last)
{
    pthread_t thread;
    part[0] = first;
    part[1] = last;
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
}

int main(int count, char **words)
{
    (void)words;
    begins();
    if (count == 1) {
        below(1, 0, TURNS + FIBERS + 1);
    } else {
        below(1, 0, 2);
        after_switch(1);
        on_thread(2, 5);
        below(3, 5, 6);
        on_thread(6, TURNS + FIBERS + 1);
    }
    after_switch(1);
    for (int i = 0; i < FIBERS; i++)
        free(fibers[i].uc_stack.ss_sp);
    printf("%d\n", seen);
}
