/* SPDX-License-Identifier: MIT
 *
 * Spans in C++: under exceptions, with each kind of attribute, and in threads, futures and jobs
 * whose work is that of who asked. What is computed is the same with a profile and without.
 */
#include <cairn/cairn.hpp>
#include <cairn/traceparent.h>

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>

namespace {

struct adder {
    int more;
    int add(int to)
    {
        cairn::span own(CAIRN_PLACE("adder::add"));
        return more + to;
    }
};

int job(int i)
{
    cairn::span own(CAIRN_PLACE("job"), i);
    own.set(CAIRN_KEY("number"), i)
        .set(CAIRN_KEY("half"), i * 0.5f)
        .set(CAIRN_KEY("small"), static_cast<unsigned char>(i))
        .set(CAIRN_KEY("large"), ~0ull)
        .set(CAIRN_KEY("odd"), i % 2 == 1)
        .set(CAIRN_KEY("text"), "text")
        .set(CAIRN_KEY("string"), std::string("string"))
        .set_name(CAIRN_KEY("name"), CAIRN_KEY("written once"));
    if (i == 3)
        throw std::runtime_error("three");
    return i * 2;
}

/* Neither copied nor default-constructed. */
struct only_moved {
    explicit only_moved(int of) : value(of)
    {
    }
    only_moved(only_moved &&) = default;
    only_moved(const only_moved &) = delete;
    int operator()()
    {
        return job(value);
    }
    int value;
};

int threads()
{
    cairn::span own(CAIRN_PLACE("threads"));
    int sum = 0;
    adder five = {5};
    auto first = cairn::make_thread("worker", [&sum](int i) { sum += job(i); }, 1);
    first.join();
    auto second = cairn::make_thread("member", [](adder &a) { a.add(1); }, std::ref(five));
    second.join();
    cairn::joinable_thread third;
    third = cairn::make_thread("moved", &adder::add, &five, 4);
    third.join();
    return sum;
}

int futures()
{
    cairn::span own(CAIRN_PLACE("futures"));
    int sum = cairn::async(std::launch::async, "async", job, 2).get();
    auto fails = cairn::async(std::launch::async, "fails", job, 3);
    try {
        fails.get();
    } catch (const std::runtime_error &error) {
        sum += error.what() == std::string("three");
    }
    sum += cairn::async(std::launch::deferred, "deferred", &adder::add, adder{7}, 1).get();
    sum += cairn::async(std::launch::async, "moved", only_moved(4)).get();
    auto nothing = cairn::async(std::launch::async, "nothing", [] {});
    nothing.wait();
    nothing.get();
    return sum;
}

int jobs()
{
    std::function<int(int)> later;
    int sum = 0;
    {
        cairn::span own(CAIRN_PLACE("asks"));
        later = cairn::wrap(job);
    }
    std::thread([&] { sum = later(10) + later(11); }).join();
    try {
        later(3);
    } catch (const std::runtime_error &) {
        sum++;
    }
    return sum;
}

} // namespace

int main()
{
    int sum = 0;
    {
        cairn::span own(CAIRN_PLACE("main"));
        sum = threads() * 10000 + futures() * 100 + jobs();
        char text[CAIRN_TRACEPARENT_SIZE];
        cairn_handoff asked;
        if (cairn_traceparent_write(cairn_thread_strand(), text) &&
            cairn_traceparent_read(text, &asked)) {
            cairn::handoff here(asked);
            cairn::span served(CAIRN_PLACE("served"));
        }
    }
    std::printf("%d %d\n", sum, static_cast<int>(cairn_strand_depth(cairn_thread_strand())));
    return 0;
}
