/* SPDX-License-Identifier: MIT
 *
 * async.hpp - asynchronous spans (async.h) for C++: of requests and coroutines.
 *
 *     task handle(connection &from, std::int64_t id)                      a coroutine of C++20
 *     {
 *         cairn::task_span request(CAIRN_PLACE("request"), id);
 *         co_await request.run(from.read());          in flight; afterwards this thread works for
 * it cairn::span parse(CAIRN_PLACE("parse"));    a child of "request"
 *         ...
 *     }
 *
 * A scope (cairn::span, cairn::handoff) must not be open across co_await: another thread would end
 * it.
 */
#ifndef CAIRN_ASYNC_HPP
#define CAIRN_ASYNC_HPP

#include "async.h"
#include "cairn.hpp"

#if defined(__cpp_impl_coroutine)
#include <coroutine>
#endif

namespace cairn {
#ifdef CAIRN_DISABLE
inline namespace disabled { /* other types than those of sources without CAIRN_DISABLE */
#endif

class task_span;

namespace priv {

#if defined(__cpp_impl_coroutine)
template <typename Awaitable> decltype(auto) awaiter_of(Awaitable &&awaitable)
{
    if constexpr (requires { std::forward<Awaitable>(awaitable).operator co_await(); })
        return std::forward<Awaitable>(awaitable).operator co_await();
    else if constexpr (requires { operator co_await(std::forward<Awaitable>(awaitable)); })
        return operator co_await(std::forward<Awaitable>(awaitable));
    else
        return std::forward<Awaitable>(awaitable);
}

/* An awaiter that pauses a span before it suspends and resumes it afterwards. */
template <typename Awaiter> struct runner {
    task_span &span;
    Awaiter inner;

    bool await_ready()
    {
        return inner.await_ready();
    }

    template <typename Promise> auto await_suspend(std::coroutine_handle<Promise> handle);
    decltype(auto) await_resume();
};
#endif

} // namespace priv

/* An asynchronous span that ends with the object, on any thread. Move-only; one that was moved from
 * is none. Thread: any, but calls for the same span must not overlap in time. */
class task_span {
  public:
    explicit task_span(cairn_place &place, std::int64_t iteration = CAIRN_ITERATION_NONE) noexcept
        : async_(cairn_async_begin(&place, iteration))
    {
    }

    task_span(cairn_handoff parent, cairn_place &place,
              std::int64_t iteration = CAIRN_ITERATION_NONE) noexcept
        : async_(cairn_async_begin_for(parent, &place, iteration))
    {
    }

    task_span(task_span &&other) noexcept : async_(other.async_)
    {
        other.async_ = cairn_async();
    }

    task_span &operator=(task_span &&other) noexcept
    {
        std::swap(async_, other.async_);
        return *this;
    }

    task_span(const task_span &) = delete;
    task_span &operator=(const task_span &) = delete;

    ~task_span()
    {
        end();
    }

    /* Ends the span now, before the object is destroyed. */
    void end() noexcept
    {
        pause();
        cairn_async_end(&async_);
    }

    /* Sets an attribute, as cairn::span::set. */
    template <typename Value> task_span &set(cairn_place &key, const Value &value) noexcept
    {
        if (!CAIRN_PRIV_OFF(async_.strand))
            priv::set(async_.strand, key, value);
        return *this;
    }

    /* Returns a token: what adopts it (cairn::handoff) works for the span. */
    cairn_handoff take() const noexcept
    {
        return cairn_async_take(async_);
    }

    /* The calling thread works for the span, until pause, the end of the span, or the end of an
     * enclosing scope. Spans that it opened meanwhile end with pause. Thread: pause on the one that
     * called resume. */
    void resume() noexcept
    {
        pause();
        adoption_ = cairn_adoption_begin(async_.strand ? cairn_thread_strand() : nullptr, take());
    }

    void pause() noexcept
    {
        if (adoption_.strand)
            cairn_adoption_end(&adoption_);
        adoption_ = cairn_adoption();
    }

#if defined(__cpp_impl_coroutine)
    /* co_await span.run(awaitable): pauses, awaits it, and resumes on the thread that continues the
     * coroutine. Returns what the awaitable returns. The span must not move meanwhile. */
    template <typename Awaitable> auto run(Awaitable &&awaitable)
    {
        using awaiter = decltype(priv::awaiter_of(std::forward<Awaitable>(awaitable)));
        return priv::runner<awaiter>{*this, priv::awaiter_of(std::forward<Awaitable>(awaitable))};
    }
#endif

  private:
    cairn_async async_;
    cairn_adoption adoption_ = cairn_adoption();
};

#if defined(__cpp_impl_coroutine)
namespace priv {

template <typename Awaiter>
template <typename Promise>
auto runner<Awaiter>::await_suspend(std::coroutine_handle<Promise> handle)
{
    span.pause();
    return inner.await_suspend(handle);
}

template <typename Awaiter> decltype(auto) runner<Awaiter>::await_resume()
{
    span.resume();
    return inner.await_resume();
}

} // namespace priv
#endif

#ifdef CAIRN_DISABLE
} // namespace disabled
#endif
} // namespace cairn

#endif
