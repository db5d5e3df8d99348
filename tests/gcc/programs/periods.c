/* SPDX-License-Identifier: MIT
 *
 * Switches its own recording on and off at moments that it knows. What each period must count is in
 * periods.py.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "period.h"

#define NOIPA __attribute__((noipa))
#define SKIPPED __attribute__((no_instrument_function))

static volatile int sink;

NOIPA void leaf(void)
{
    sink++;
}

NOIPA void inner(void)
{
    leaf();
    sink++;
}

NOIPA void work(int times)
{
    for (int i = 0; i < times; i++)
        inner();
}

/* Called while recording is off. */
NOIPA void unseen(void)
{
    work(3);
}

/* ---- threads that are there before, and those that begin meanwhile ---- */

enum { THREADS = 4, ROUNDS = 3, TIMES = 1000 };
static pthread_barrier_t barrier;

NOIPA void *brief(void *data)
{
    work(10);
    return data;
}

UNSEEN void wait_for_all(void)
{
    pthread_barrier_wait(&barrier);
}

SKIPPED static void *turn(void *leads)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread;
        unseen();
        wait_for_all();
        if (leads)
            switch_on();
        wait_for_all();
        work(TIMES);
        if (pthread_create(&thread, NULL, brief, NULL) != 0 || pthread_join(thread, NULL) != 0)
            abort();
        wait_for_all();
        if (leads)
            switch_off();
        wait_for_all();
    }
    return NULL;
}

static void threads(void)
{
    pthread_t others[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 1; i < THREADS; i++)
        pthread_create(&others[i], NULL, turn, NULL);
    turn(&barrier);
    for (int i = 1; i < THREADS; i++)
        pthread_join(others[i], NULL);
}

/* ---- functions that are entered before, and left after ---- */

NOIPA int opened(int depth)
{
    if (depth) {
        int below = opened(depth - 1);
        leaf();
        return below + 1;
    }
    unseen();
    switch_on();
    inner();
    return 0;
}

NOIPA int closed(int depth)
{
    if (depth) {
        int below = closed(depth - 1);
        leaf();
        return below + 1;
    }
    inner();
    switch_off();
    unseen();
    return 0;
}

/* Entered in one period, left in the next. */
NOIPA int over(int depth)
{
    if (depth) {
        int below = over(depth - 1);
        inner();
        return below + 1;
    }
    switch_off();
    unseen();
    switch_on();
    inner();
    return 0;
}

NOIPA static int tail_inner(int depth)
{
    inner();
    return depth;
}

NOIPA int tail(int depth)
{
    if (depth == 7)
        switch_on();
    sink++;
    return tail_inner(depth + 1);
}

static void frames(void)
{
    opened(3);
    inner();
    closed(2);
    unseen();
    tail(7);
    tail(0);
    over(2);
    leaf();
    switch_off();
}

/* ---- functions to which jumps return ---- */

static jmp_buf target;

NOIPA void jump(int depth)
{
    if (!depth)
        longjmp(target, 1);
    jump(depth - 1);
    sink++;
}

NOIPA void try_jump(void)
{
    jump(2);
    sink++;
}

/* Entered while recording is off; the frame is one that is pushed. */
NOIPA void caught(void (*change)(void))
{
    for (volatile int i = 0; i < 5; i++) {
        if (i == 1)
            change();
        if (setjmp(target) == 0)
            try_jump();
        inner();
    }
}

NOIPA void again(void)
{
    switch_off();
    unseen();
    switch_on();
}

SKIPPED static void change_on(void)
{
    switch_on();
}

static void jumps(void)
{
    unseen();
    caught(change_on);
    inner();
    caught(again);
    inner();
    switch_off();
    unseen();
}

/* ---- processes ---- */

NOIPA void in_child(void)
{
    work(2);
}

static void forks(void)
{
    int status;
    switch_on();
    inner();
    pid_t child = fork();
    if (!child) {
        in_child();
        exit(0);
    }
    waitpid(child, &status, 0);
    switch_off();
    if (!fork()) { /* it can be switched itself */
        periods = 0;
        in_child();
        switch_on();
        inner();
        switch_off();
        _exit(0);
    }
    wait(&status);
    switch_on();
    leaf(); /* the capture of the last period is written at the end of the process */
}

/* ---- a handler of its own ---- */

static void handle(int number)
{
    leaf();
    sink = number;
}

static void own_handler(void)
{
    struct sigaction action = {.sa_handler = handle}, before;
    sigaction(SIGUSR2, NULL, &before);
    if (before.sa_handler != SIG_DFL || signal(SIGUSR2, SIG_IGN) != SIG_DFL)
        abort();
    sigaction(SIGUSR2, &action, NULL);
    raise(SIGUSR2);
    if (sink != SIGUSR2 || cairn_priv_switch_3)
        abort();
}

/* ---- a server ---- */

NOIPA void serve(void)
{
    inner();
    usleep(1000);
}

static void server(int handles)
{
    if (handles)
        own_handler();
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 30000; i++) { /* in a pipe there is room for as many dots, unread */
        serve();
        if (write(STDOUT_FILENO, ".", 1) != 1)
            abort();
    }
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    if (!strcmp(what, "threads"))
        threads();
    if (!strcmp(what, "frames"))
        frames();
    if (!strcmp(what, "jumps"))
        jumps();
    if (!strcmp(what, "forks"))
        forks();
    if (!strcmp(what, "handler"))
        own_handler();
    if (!strcmp(what, "server") || !strcmp(what, "taken"))
        server(*what == 't');
    if (!strcmp(what, "idle")) {
        puts("ready");
        fflush(stdout);
        for (;;)
            pause();
    }
    return 0;
}
