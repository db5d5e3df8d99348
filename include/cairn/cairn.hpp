/* SPDX-License-Identifier: MIT
 *
 * cairn.hpp - scopes and spans for C++ (11 and later).
 *
 *     cairn::thread here(profile, "worker");           // a lane and a strand for this thread
 *     ...
 *     cairn::scope scope(here.strand(), block);        // enters; its destructor leaves
 *
 * To record time by samples only, without counts (cairn/stack.h):
 *
 *     cairn::stack here(profile, "worker");
 *     ...
 *     cairn::stack_scope scope(here.get(), block);
 *
 * To record spans in the process's own profile:
 *
 *     cairn::span render(CAIRN_PLACE("render"), i);
 *     render.set(CAIRN_KEY("width"), width);
 *     auto worker = cairn::make_thread("worker", work, image);
 *
 * The end of a scope also leaves all frames above it: those that an exception passed, and those
 * that C code entered and did not leave. NULL profiles and strands are no-ops, as in C.
 */
#ifndef CAIRN_HPP
#define CAIRN_HPP

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "cairn.h"
#include "scope.h"

namespace cairn {
#ifdef CAIRN_DISABLE
inline namespace disabled { /* other types than those of sources without CAIRN_DISABLE */
#endif

/* Enters `block`; leaves it at the end of the C++ scope, also on an exception. Thread: the
 * strand's. */
class scope {
  public:
    CAIRN_PRIV_UNSEEN scope(cairn_strand *strand, cairn_block block) noexcept
        : strand_(strand), mark_(cairn_strand_mark(strand))
    {
        cairn_enter(strand, block);
    }

    CAIRN_PRIV_UNSEEN ~scope()
    {
        cairn_strand_unwind(strand_, mark_);
        CAIRN_PRIV_NO_JUMP();
    }

    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

  private:
    cairn_strand *strand_;
    cairn_mark mark_;
};

/* The same on a strand that records only its stack. Entering and leaving are inlined, a few
 * instructions each. */
class stack_scope {
  public:
    stack_scope(cairn_stack *stack, cairn_block block) noexcept
        : stack_(stack), mark_(cairn_stack_enter(stack, block))
    {
    }

    ~stack_scope()
    {
        cairn_stack_unwind(stack_, mark_);
    }

    stack_scope(const stack_scope &) = delete;
    stack_scope &operator=(const stack_scope &) = delete;

  private:
    cairn_stack *stack_;
    cairn_mark mark_;
};

/* Redirects the strand to another profile (NULL: none) until the end of the C++ scope, also on an
 * exception. Frames that the exception left open are left in both profiles. Thread: the strand's.
 */
class redirect {
  public:
    CAIRN_PRIV_UNSEEN redirect(cairn_strand *from, cairn_profile *to) noexcept
        : from_(from), strand_(cairn_strand_redirect(from, to))
    {
    }

    CAIRN_PRIV_UNSEEN ~redirect()
    {
        cairn_strand_return(from_);
        CAIRN_PRIV_NO_JUMP();
    }

    redirect(const redirect &) = delete;
    redirect &operator=(const redirect &) = delete;

    cairn_strand *strand() const noexcept
    {
        return strand_;
    }

  private:
    cairn_strand *from_, *strand_;
};

/* Opens a lane with one strand; closes both in the destructor. Use one for each thread. The profile
 * must outlive it. */
class thread {
  public:
    explicit thread(cairn_profile *profile, const char *name = nullptr) noexcept
        : lane_(cairn_lane_open(profile, name)), strand_(cairn_strand_open(lane_))
    {
    }

    ~thread()
    {
        cairn_lane_close(lane_);
    }

    thread(const thread &) = delete;
    thread &operator=(const thread &) = delete;

    cairn_strand *strand() const noexcept
    {
        return strand_;
    }

  private:
    cairn_lane *lane_;
    cairn_strand *strand_;
};

/* As `thread`, with a strand that records only its stack. */
class stack {
  public:
    explicit stack(cairn_profile *profile, const char *name = nullptr) noexcept
        : lane_(cairn_lane_open(profile, name)), stack_(cairn_stack_open(lane_))
    {
    }

    ~stack()
    {
        cairn_lane_close(lane_);
    }

    stack(const stack &) = delete;
    stack &operator=(const stack &) = delete;

    cairn_stack *get() const noexcept
    {
        return stack_;
    }

  private:
    cairn_lane *lane_;
    cairn_stack *stack_;
};

/* ---- spans (span.h) of the process's own profile (process.h), or of a strand ------------------
 */

/* A place in the source with the block, or the attribute key, of this name (a string literal).
 *     cairn::span render(CAIRN_PLACE("render"), i);
 *     render.set(CAIRN_KEY("width"), image.width()); */
#define CAIRN_PLACE(name) CAIRN_PRIV_PLACE(CAIRN_PLACE_HERE(name))
#define CAIRN_KEY(name) CAIRN_PRIV_PLACE(CAIRN_PLACE_WORD(name))
#define CAIRN_PRIV_PLACE(...)                                                                      \
    ([]() CAIRN_PRIV_UNSEEN -> cairn_place & {                                                     \
        static cairn_place place = __VA_ARGS__;                                                    \
        return place;                                                                              \
    }())

namespace priv {

/* Directs attributes to the span of a scope while it exists. */
class aim {
  public:
    explicit aim(const cairn_scope &scope) noexcept : scope_(scope), on_(cairn_scope_aim(&scope))
    {
    }

    ~aim()
    {
        if (on_)
            cairn_scope_aim_end(&scope_);
    }

    explicit operator bool() const noexcept
    {
        return on_;
    }

    aim(const aim &) = delete;
    aim &operator=(const aim &) = delete;

  private:
    const cairn_scope &scope_;
    bool on_;
};

template <typename Number>
void put(cairn_strand *strand, cairn_key key, Number value, std::false_type) noexcept
{
    const std::int64_t integer = static_cast<std::int64_t>(value);
    if (std::is_unsigned<Number>::value && integer < 0)
        cairn_span_number(strand, key, static_cast<double>(value));
    else
        cairn_span_integer(strand, key, integer);
}

template <typename Number>
void put(cairn_strand *strand, cairn_key key, Number value, std::true_type) noexcept
{
    cairn_span_number(strand, key, static_cast<double>(value));
}

/* Set an attribute of the strand's innermost span. */
template <typename Number>
typename std::enable_if<std::is_arithmetic<Number>::value>::type set(cairn_strand *strand,
                                                                     cairn_place &key,
                                                                     Number value) noexcept
{
    put(strand, cairn_place_key(strand, &key), value, std::is_floating_point<Number>());
}

inline void set(cairn_strand *strand, cairn_place &key, const char *value) noexcept
{
    cairn_span_text(strand, cairn_place_key(strand, &key), value);
}

inline void set(cairn_strand *strand, cairn_place &key, const std::string &value) noexcept
{
    set(strand, key, value.c_str());
}

} // namespace priv

/* A span from here to the end of the C++ scope, also on an exception. Thread: the strand's. */
class span {
  public:
    CAIRN_PRIV_UNSEEN explicit span(cairn_place &place,
                                    std::int64_t iteration = CAIRN_ITERATION_NONE) noexcept
        : span(cairn_thread_strand(), place, iteration)
    {
    }

    CAIRN_PRIV_UNSEEN span(cairn_strand *strand, cairn_place &place,
                           std::int64_t iteration = CAIRN_ITERATION_NONE) noexcept
        : scope_(cairn_scope_begin(strand, &place, iteration))
    {
    }

    CAIRN_PRIV_UNSEEN ~span()
    {
        cairn_scope_end(&scope_);
    }

    span(const span &) = delete;
    span &operator=(const span &) = delete;

    /* Sets an attribute; the span need not be the innermost open one. Integers of 2^63 and more
     * become doubles. */
    template <typename Value> span &set(cairn_place &key, const Value &value) noexcept
    {
        if (CAIRN_PRIV_OFF(scope_.strand))
            return *this;
        if (const priv::aim aim{scope_})
            priv::set(scope_.strand, key, value);
        return *this;
    }

    /* Sets a text that is stored once per capture: set_name(CAIRN_KEY("phase"),
     * CAIRN_KEY("loading")). */
    span &set_name(cairn_place &key, cairn_place &text) noexcept
    {
        if (CAIRN_PRIV_OFF(scope_.strand))
            return *this;
        if (const priv::aim aim{scope_})
            cairn_span_name(scope_.strand, cairn_place_key(scope_.strand, &key),
                            cairn_place_text(scope_.strand, &text));
        return *this;
    }

    /* Returns the span's name for cairn_span_waits_for; 0 if it is not recorded. */
    cairn_span name() const noexcept
    {
        if (CAIRN_PRIV_OFF(scope_.strand))
            return 0;
        const priv::aim aim(scope_);
        return aim ? cairn_span_current(scope_.strand) : 0;
    }

  private:
    cairn_scope scope_;
};

/* A mutex that is recorded, so that `cairn whatif` can model it: a span called like the mutex while
 * a thread has it, and a span NAME.wait before that if another thread had it. Locking and unlocking
 * must nest with the thread's spans and scopes. Spans are of the process's own profile; without one
 * it is a std::mutex and two branches.
 *     cairn::mutex lock("scene");
 *     std::lock_guard<cairn::mutex> guard(lock); */
#ifdef CAIRN_DISABLE
class mutex : public std::mutex {
  public:
    constexpr explicit mutex(const char *) noexcept
    {
    }
};
#else
class mutex {
  public:
    explicit mutex(const char *name)
        : name_(name), wait_name_(name_ + ".wait"), place_(CAIRN_PLACE_WORD(name_.c_str())),
          wait_place_(CAIRN_PLACE_WORD(wait_name_.c_str()))
    {
        cairn_profile_note(cairn_process_profile(), ("lock." + name_).c_str(), wait_name_.c_str());
    }

    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    void lock()
    {
        if (!mutex_.try_lock()) {
            span wait(wait_place_);
            mutex_.lock();
        }
        hold_ = cairn_scope_begin(cairn_thread_strand(), &place_, CAIRN_ITERATION_NONE);
    }

    /* Returns false if another thread has the mutex. */
    bool try_lock()
    {
        if (!mutex_.try_lock())
            return false;
        hold_ = cairn_scope_begin(cairn_thread_strand(), &place_, CAIRN_ITERATION_NONE);
        return true;
    }

    void unlock()
    {
        cairn_scope hold = hold_;
        cairn_scope_end(&hold);
        mutex_.unlock();
    }

  private:
    std::mutex mutex_;
    std::string name_, wait_name_;
    cairn_place place_, wait_place_;
    cairn_scope hold_; /* of the thread that has the mutex */
};
#endif

/* Takes a hand-off token of the thread's current span. */
CAIRN_PRIV_UNSEEN inline cairn_handoff take() noexcept
{
    return cairn_handoff_take(cairn_thread_strand());
}

/* Adopts a hand-off token until the end of the C++ scope, also on an exception. */
class handoff {
  public:
    CAIRN_PRIV_UNSEEN explicit handoff(cairn_handoff token) noexcept
        : handoff(cairn_thread_strand(), token)
    {
    }

    CAIRN_PRIV_UNSEEN handoff(cairn_strand *strand, cairn_handoff token) noexcept
        : adoption_(cairn_adoption_begin(strand, token))
    {
    }

    CAIRN_PRIV_UNSEEN ~handoff()
    {
        cairn_adoption_end(&adoption_);
    }

    handoff(const handoff &) = delete;
    handoff &operator=(const handoff &) = delete;

  private:
    cairn_adoption adoption_;
};

/* ---- jobs, threads and futures whose work is that of who asked for it --------------------------
 */

namespace priv {

template <typename Function, typename... Arguments>
auto call(std::false_type, Function &&function, Arguments &&...arguments)
    -> decltype(std::forward<Function>(function)(std::forward<Arguments>(arguments)...))
{
    return std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
}

template <typename Function, typename... Arguments>
auto call(std::true_type, Function function, Arguments &&...arguments)
    -> decltype(std::mem_fn(function)(std::forward<Arguments>(arguments)...))
{
    return std::mem_fn(function)(std::forward<Arguments>(arguments)...);
}

template <typename Function>
using is_member = std::is_member_pointer<typename std::decay<Function>::type>;

/* The name of a span that others may wait for. Waiters read it when the work is done. */
using waited = std::shared_ptr<std::atomic<cairn_span>>;

inline void wait_for(const waited &other) noexcept
{
    if (!CAIRN_PRIV_OFF(other))
        cairn_span_waits_for(cairn_thread_strand(), other->load(std::memory_order_acquire));
}

/* The work of a thread or a future: runs it under the creator's hand-off, in a span `name`. */
class task {
  public:
    task(const char *name, waited span) : name_(name), span_(std::move(span)), token_(take())
    {
    }

    template <typename Function, typename... Arguments>
    auto operator()(Function &&function, Arguments &&...arguments)
        -> decltype(call(is_member<Function>(), std::forward<Function>(function),
                         std::forward<Arguments>(arguments)...))
    {
        handoff asked(token_);
        named own(name_);
        if (!CAIRN_PRIV_OFF(span_))
            span_->store(cairn_span_current(cairn_thread_strand()), std::memory_order_release);
        return call(is_member<Function>(), std::forward<Function>(function),
                    std::forward<Arguments>(arguments)...);
    }

  private:
    struct named {
        CAIRN_PRIV_UNSEEN explicit named(const char *name) noexcept
            : scope(cairn_scope_begin_named(cairn_thread_strand(), name, CAIRN_ITERATION_NONE))
        {
        }
        CAIRN_PRIV_UNSEEN ~named()
        {
            cairn_scope_end(&scope);
        }
        named(const named &) = delete;
        named &operator=(const named &) = delete;
        cairn_scope scope;
    };

    const char *name_;
    waited span_;
    cairn_handoff token_;
};

inline waited make_waited()
{
    return cairn_thread_strand() ? std::make_shared<std::atomic<cairn_span>>(0) : waited();
}

} // namespace priv

/* A function object that runs `function` under the hand-off of the span that wrapped it. For pools
 * that cannot be changed. It can be copied and moved like `function`; nothing is freed by hand. */
template <typename Function> class wrapped {
  public:
    explicit wrapped(Function function) : function_(std::move(function)), token_(take())
    {
    }

    template <typename... Arguments>
    auto operator()(Arguments &&...arguments)
        -> decltype(priv::call(priv::is_member<Function>(), std::declval<Function &>(),
                               std::forward<Arguments>(arguments)...))
    {
        handoff asked(token_);
        return priv::call(priv::is_member<Function>(), function_,
                          std::forward<Arguments>(arguments)...);
    }

  private:
    Function function_;
    cairn_handoff token_;
};

template <typename Function> wrapped<typename std::decay<Function>::type> wrap(Function &&function)
{
    return wrapped<typename std::decay<Function>::type>(std::forward<Function>(function));
}

/* A std::thread, made by make_thread. join() records that the caller waited for it. `name`, the
 * name of its span, must outlive it; use a literal. */
class joinable_thread {
  public:
    joinable_thread() noexcept = default;

    template <typename Function, typename... Arguments>
    joinable_thread(const char *name, Function &&function, Arguments &&...arguments)
        : span_(priv::make_waited()),
          thread_(priv::task(name, span_), std::forward<Function>(function),
                  std::forward<Arguments>(arguments)...)
    {
    }

    void join()
    {
        thread_.join();
        priv::wait_for(span_);
    }

    void detach()
    {
        thread_.detach();
    }

    bool joinable() const noexcept
    {
        return thread_.joinable();
    }

    /* Returns the std::thread, for its other functions. */
    std::thread &get() noexcept
    {
        return thread_;
    }

  private:
    priv::waited span_;
    std::thread thread_;
};

template <typename Function, typename... Arguments>
joinable_thread make_thread(const char *name, Function &&function, Arguments &&...arguments)
{
    return joinable_thread(name, std::forward<Function>(function),
                           std::forward<Arguments>(arguments)...);
}

/* A std::future, made by cairn::async. get() and wait() record that the caller waited for it. */
template <typename Result> class future {
  public:
    future() noexcept = default;
    future(std::future<Result> &&of, priv::waited span) noexcept
        : span_(std::move(span)), future_(std::move(of))
    {
    }

    Result get()
    {
        const noted note{span_}; /* the wait also counts if the result is an exception */
        return future_.get();
    }

    void wait() const
    {
        future_.wait();
        priv::wait_for(span_);
    }

    bool valid() const noexcept
    {
        return future_.valid();
    }

    /* Returns the std::future, for its other functions. */
    std::future<Result> &get_future() noexcept
    {
        return future_;
    }

  private:
    struct noted {
        const priv::waited &span;
        ~noted()
        {
            priv::wait_for(span);
        }
    };

    priv::waited span_;
    std::future<Result> future_;
};

/* As std::async, with a span `name` around the call. `name` must outlive it; use a literal. */
template <typename Function, typename... Arguments>
auto async(std::launch policy, const char *name, Function &&function, Arguments &&...arguments)
    -> future<decltype(std::async(policy, std::declval<priv::task>(),
                                  std::forward<Function>(function),
                                  std::forward<Arguments>(arguments)...)
                           .get())>
{
    priv::waited span = priv::make_waited();
    auto made = std::async(policy, priv::task(name, span), std::forward<Function>(function),
                           std::forward<Arguments>(arguments)...);
    return {std::move(made), std::move(span)};
}

#ifdef CAIRN_DISABLE
} // namespace disabled
#endif
} // namespace cairn

#endif
