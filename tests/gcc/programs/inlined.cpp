// SPDX-License-Identifier: MIT
//
// Templates, lambdas, destructors and exceptions, all inlined: an exception thrown and caught in
// one machine function passes through many functions of the source.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <typeinfo>
#include <vector>

#include "noipa.h"

namespace {

template <class T> inline T square(T n)
{
    return n * n;
}

template <int depth> inline int unrolled(int n)
{
    return n + unrolled<depth - 1>(n + 1);
}

template <> inline int unrolled<0>(int n)
{
    return n;
}

struct counter {
    int &count;
    explicit counter(int &count) : count(count)
    {
        count++;
    }
    ~counter()
    {
        count += 2;
    }
    int get() const
    {
        return count;
    }
};

struct nothing {
    ~nothing()
    {
    }
};

struct shape {
    virtual ~shape() = default;
    virtual int area() const = 0;
    int twice() const
    {
        return 2 * area();
    }
};

struct box final : shape {
    int side;
    explicit box(int side) : side(side)
    {
    }
    int area() const override
    {
        return square(side);
    }
};

struct strip final : shape {
    int length;
    explicit strip(int length) : length(length)
    {
    }
    int area() const override
    {
        return length;
    }
};

inline int check(int n)
{
    if (n % 3 == 0)
        throw std::bad_cast();
    if (n % 5 == 0)
        throw n;
    return n;
}

inline int guarded(int n, int &count)
{
    counter here(count);
    return check(n) + here.get();
}

inline int caught_inside(int n, int &count)
{
    try {
        return guarded(n, count);
    } catch (int value) {
        return square(value);
    }
}

inline int passed_on(int n, int &count)
{
    try {
        counter here(count);
        return caught_inside(n, count);
    } catch (...) {
        count += (int)square(1.0);
        throw;
    }
}

int caught_outside(int n, int &count)
{
    try {
        return passed_on(n, count) + square(n);
    } catch (const std::exception &) {
        count += square(2);
        return -1;
    }
}

inline int in_a_row(int n, int &count)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        try {
            counter here(count);
            try {
                sum += check(i);
            } catch (const std::bad_cast &) {
                counter there(count);
                sum += square(i);
                check(i + 1);
            }
        } catch (int value) {
            sum += value;
            continue;
        } catch (...) {
            sum++;
        }
        sum += unrolled<2>(i);
    }
    return sum;
}

inline int quiet(int n) noexcept
{
    return n > 0 ? square(n) : 0;
}

inline int destroyed_late(int n)
{
    nothing here;
    return quiet(n);
}

template <class Call> inline int apply(const Call &call, int n)
{
    return call(n);
}

} // namespace

KEPT int after_all(int n)
{
    return n;
}

int main()
{
    int count = 0, sum = 0;
    std::vector<int> numbers;
    for (int i = 0; i < 30; i++) {
        sum += caught_outside(i, count) + unrolled<5>(i);
        sum += after_all(i);
        sum += in_a_row(i % 7, count) + destroyed_late(i);
        sum += after_all(i);
        auto larger = [&](int n) { return square(n) + count; };
        sum += apply(larger, i) + box(i).twice() + strip(i).area();
        std::unique_ptr<shape> any;
        if (i % 2)
            any = std::make_unique<box>(i);
        else
            any = std::make_unique<strip>(i);
        sum += any->twice();
        numbers.push_back((i * 7) % 30);
    }
    std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a > b; });
    sum += after_all(numbers[0]);
    std::printf("%d %d\n", sum, count);
    return 0;
}
