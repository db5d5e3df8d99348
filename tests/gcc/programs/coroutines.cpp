// SPDX-License-Identifier: MIT
//
// C++20 coroutines: each resumption is a call. One throws, one is destroyed before its end, and
// two alternate.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <typeinfo>

#include "noipa.h"

struct numbers {
    struct promise_type {
        int value = 0;
        std::exception_ptr thrown;
        numbers get_return_object()
        {
            return numbers{std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_always final_suspend() noexcept
        {
            return {};
        }
        std::suspend_always yield_value(int n)
        {
            value = n;
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
            thrown = std::current_exception();
        }
    };
    std::coroutine_handle<promise_type> handle;
    explicit numbers(std::coroutine_handle<promise_type> handle) : handle(handle)
    {
    }
    numbers(numbers &&other) noexcept : handle(other.handle) /* clang 14 asks for it */
    {
        other.handle = nullptr;
    }
    ~numbers()
    {
        if (handle)
            handle.destroy();
    }
    bool next()
    {
        handle.resume();
        if (handle.promise().thrown)
            std::rethrow_exception(handle.promise().thrown);
        return !handle.done();
    }
};

KEPT int work(int n)
{
    return n * n;
}

KEPT int fail(int n)
{
    if (n > 3)
        throw std::bad_cast();
    return n;
}

numbers squares(int most)
{
    for (int i = 0; i < most; i++)
        co_yield work(i);
}

numbers failing()
{
    for (int i = 0;; i++)
        co_yield fail(i);
}

KEPT int after_resumption(int n)
{
    return n;
}

KEPT int after_exception(int n)
{
    return n;
}

int main()
{
    int sum = 0;
    {
        numbers few = squares(5), many = squares(100);
        while (few.next() && many.next()) {
            sum += few.handle.promise().value + many.handle.promise().value;
            sum += after_resumption(1);
        }
    }
    numbers bad = failing();
    try {
        while (bad.next())
            sum++;
    } catch (const std::bad_cast &) {
        sum += 100;
    }
    sum += after_exception(1);
    std::printf("%d\n", sum);
    return 0;
}
