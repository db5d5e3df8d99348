/* SPDX-License-Identifier: MIT
 *
 * tasks.cpp - two coroutines of C++20 in flight at once, each resumed by another thread. Writes
 * nothing; its capture is checked.
 */
#include <cairn/async.hpp>

#include <vector>

namespace {

struct task {
    struct promise_type {
        task get_return_object()
        {
            return {};
        }

        std::suspend_never initial_suspend() noexcept
        {
            return {};
        }

        std::suspend_never final_suspend() noexcept
        {
            return {};
        }

        void return_void()
        {
        }

        void unhandled_exception()
        {
        }
    };
};

std::vector<std::coroutine_handle<>> waiting;

/* Suspends the coroutine until main resumes it. */
struct reply {
    int value;

    bool await_ready() const
    {
        return false;
    }

    void await_suspend(std::coroutine_handle<> handle) const
    {
        waiting.push_back(handle);
    }

    int await_resume() const
    {
        return value;
    }
};

task handle(int id)
{
    cairn::task_span request(CAIRN_PLACE("request"), id);
    request.resume();
    {
        cairn::span parse(CAIRN_PLACE("parse"));
    }
    const int status = co_await request.run(reply{200 + id});
    cairn::span answer(CAIRN_PLACE("answer"));
    request.set(CAIRN_KEY("status"), status);
}

} // namespace

int main()
{
    cairn::span main(CAIRN_PLACE("main"));
    {
        cairn::span begin(CAIRN_PLACE("begin"));
        handle(0);
        handle(1);
        begin.set(CAIRN_KEY("tasks"), 2);
        cairn::span inner(CAIRN_PLACE("inner"));
        begin.set(CAIRN_KEY("again"), 3); /* not the innermost span */
    }
    cairn::span between(CAIRN_PLACE("between"));
    for (const auto &handle : waiting)
        std::thread([&] { handle.resume(); }).join();
    return 0;
}
