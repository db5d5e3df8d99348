/* SPDX-License-Identifier: MIT
 *
 * locks.cpp OUTSIDE INSIDE - threads that sleep OUTSIDE us without a cairn::mutex and INSIDE us
 * with it, in turns. Prints how long it took, in ms.
 */
#include <cairn/cairn.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

enum { THREADS = 3, TURNS = 60 };

void work(cairn::mutex &lock, int outside, int inside)
{
    for (int turn = 0; turn < TURNS; turn++) {
        {
            cairn::span own(CAIRN_PLACE("outside"), turn);
            std::this_thread::sleep_for(std::chrono::microseconds(outside));
        }
        std::lock_guard<cairn::mutex> guard(lock);
        std::this_thread::sleep_for(std::chrono::microseconds(inside));
    }
}

} // namespace

int main(int count, char **arguments)
{
    const int outside = count > 2 ? std::atoi(arguments[1]) : 1000;
    const int inside = count > 2 ? std::atoi(arguments[2]) : 1000;
    cairn::mutex lock("scene");
    cairn_profile_note(cairn_process_profile(), "cores", "8"); /* sleep takes no processor */
    const auto begin = std::chrono::steady_clock::now();
    std::thread threads[THREADS];
    for (auto &thread : threads)
        thread = std::thread([&] { work(lock, outside, inside); });
    for (auto &thread : threads)
        thread.join();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    std::printf("%.0f\n", took.count());
    return lock.try_lock() ? (lock.unlock(), 0) : 1;
}
