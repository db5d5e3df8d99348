/* SPDX-License-Identifier: MIT
 *
 * Uses everything that CAIRN_DISABLE compiles to nothing; for C and C++. LINES(...) is what
 * run.sh takes out for the object to compare with. */
#ifdef WITHOUT_LINES
#define LINES(...)
#else
#include "cairn/async.h"
#include "cairn/mutex.h"
#include "cairn/scope.h"
#include "cairn/track.h"
#include "cairn/wrap.h"
#define LINES(...) __VA_ARGS__
#endif

extern
#ifdef __cplusplus
    "C"
#endif
    int
    work(int);

int statements(int given);
int statements(int given)
{
    LINES(CAIRN_FUNCTION(.iteration = given);)
    LINES(CAIRN_FUNCTION();)
    int sum = 0;
    for (int i = 0; i < given; i++) {
        LINES(CAIRN_SCOPE("round", .iteration = i);)
        LINES(CAIRN_SCOPE_INTEGER("work", work(i));) /* not evaluated */
        LINES(CAIRN_SCOPE_NUMBER("part", i / 2.0);)
        LINES(CAIRN_COUNTER("left", 10 - i);)
        LINES(CAIRN_EVENT("half done");)
        LINES(CAIRN_LOG(CAIRN_LEVEL_INFO, work(i) ? "some" : "none");) /* not evaluated */
        if (i % 2) {
            LINES(CAIRN_SCOPE_TEXT("text", "odd");)
            sum += work(i);
        } else
            LINES(CAIRN_SCOPE_NAME("name", "even"));
    }
    return sum;
}

#ifndef STATEMENTS_ONLY
int functions(int given);
int functions(int given)
{
    LINES(cairn_scope scope = CAIRN_SCOPE_BEGIN("open", .iteration = given);)
    LINES(cairn_handoff token = cairn_handoff_take(cairn_thread_strand());)
    LINES(cairn_async request = CAIRN_ASYNC_BEGIN("request");)
    LINES(cairn_track *queue = cairn_track_open("device", 1);)
    int sum = work(given);
    {
        LINES(CAIRN_ADOPT(token);)
        LINES(CAIRN_ASYNC_ADOPT(request);)
        sum += work(sum);
        LINES(CAIRN_SCOPE_INTEGER("sum", sum, cairn_async_strand(request));)
    }
    LINES(cairn_track_sync(queue, 1, cairn_track_clock());)
    LINES(CAIRN_TRACK_SPAN(queue, token, "kernel", 2, 3);)
    LINES(cairn_track_close(queue);)
    LINES(cairn_async_end(&request);)
    LINES(cairn_scope_end(&scope);)
    LINES(cairn_scope named = cairn_scope_begin_named(cairn_thread_strand(), "named", 1);)
    LINES(cairn_scope_end(&named);)
    return sum;
}
#endif
