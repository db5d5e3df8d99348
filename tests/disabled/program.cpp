/* SPDX-License-Identifier: MIT
 *
 * The C++ classes that CAIRN_DISABLE compiles to nothing. LINES(...) is what run.sh takes out for
 * the object to compare with. */
#ifdef WITHOUT_LINES
#include <mutex>
#define LINES(...)
#define MUTEX(name) std::mutex name
#else
#include "cairn/async.hpp"
#define LINES(...) __VA_ARGS__
#define MUTEX(name) cairn::mutex name(#name)
#endif

extern int work(int);
int classes(int given);
int guarded(int given);

int classes(int given)
{
    LINES(cairn::span span(CAIRN_PLACE("classes"), given);)
    LINES(span.set(CAIRN_KEY("given"), given).set(CAIRN_KEY("half"), given / 2.0);)
    LINES(span.set_name(CAIRN_KEY("phase"), CAIRN_KEY("loading"));)
    LINES(const cairn_handoff token = cairn::take();)
    int sum = 0;
    for (int i = 0; i < given; i++) {
        LINES(cairn::handoff asked(token);)
        LINES(cairn::task_span request(CAIRN_PLACE("request"), i);)
        LINES(request.set(CAIRN_KEY("i"), i);)
        LINES(request.resume();)
        sum += work(i);
        LINES(request.end();)
    }
    return sum;
}

int guarded(int given)
{
    static MUTEX(scene);
    std::lock_guard<decltype(scene)> guard(scene);
    return work(given);
}
