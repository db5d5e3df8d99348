// SPDX-License-Identifier: MIT
//
// Threads that end in nested calls: by return, pthread_exit, or at a cancellation point. Their
// destructors, cleanup handlers and keys call functions. Finally the process ends so.
#include <cstdio>
#include <cstdlib>
#include <pthread.h>

#include "noipa.h"

static thread_local volatile int seen;
static pthread_key_t key;

STEP(goes_down)
STEP(comes_back)
STEP(in_destructor)
STEP(in_cleanup)
STEP(in_key)
STEP(in_catch)
STEP(at_exit_step)
STEP(after_ending)

enum { RETURNS, EXITS, IS_CANCELLED, WAYS };

struct cleaned {
    int n;
    KEPT ~cleaned()
    {
        in_destructor(n);
        in_destructor(n);
    }
};

KEPT int ends(long way)
{
    goes_down(1);
    if (way == EXITS)
        pthread_exit(nullptr);
    if (way == IS_CANCELLED) {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
    if (way == WAYS)
        std::exit(0);
    return comes_back(1);
}

#define FRAME(name, next)                                                                          \
    KEPT int name(long way)                                                                        \
    {                                                                                              \
        int sum = goes_down(1);                                                                    \
        sum += next(way);                                                                          \
        return sum + comes_back(1);                                                                \
    }

FRAME(third, ends)
FRAME(second, third)

KEPT void clean_up(void *data)
{
    in_cleanup(*static_cast<int *>(data));
}

KEPT int with_handler(long way)
{
    int n = goes_down(1);
    pthread_cleanup_push(clean_up, &n);
    n += second(way);
    pthread_cleanup_pop(0);
    return n + comes_back(1);
}

KEPT int with_object(long way)
{
    cleaned here{1};
    int n = with_handler(way);
    return n + comes_back(1);
}

KEPT int with_catch(long way)
{
    try {
        return with_object(way);
    } catch (...) {
        in_catch(1);
        throw;
    }
}

KEPT int deeper(int depth, long way)
{
    int sum = goes_down(1);
    sum += depth == 0 ? with_catch(way) : deeper(depth - 1, way);
    return sum + comes_back(1);
}

KEPT void key_ends(void *data)
{
    in_key(data != nullptr);
}

KEPT void *body(void *data)
{
    pthread_setspecific(key, &key);
    goes_down(deeper(2, reinterpret_cast<long>(data)));
    return nullptr;
}

KEPT void at_exit()
{
    at_exit_step(1);
    std::printf("ends\n");
}

int main()
{
    pthread_key_create(&key, key_ends);
    std::atexit(at_exit);
    for (long i = 0; i < 4 * WAYS; i++) {
        pthread_t thread;
        pthread_create(&thread, nullptr, body, reinterpret_cast<void *>(i % WAYS));
        pthread_join(thread, nullptr);
        after_ending(1);
    }
    deeper(2, WAYS);
}
