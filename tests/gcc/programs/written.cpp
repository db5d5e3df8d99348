// SPDX-License-Identifier: MIT
//
// Nested code, and code that the compiler turns into several functions.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#define KEPT __attribute__((noinline))

template <class T> KEPT int half(T x, int k)
{
    if (k > 3)
        return (int)x;
    return k;
}

template <class T> KEPT int size_of(const T &container)
{
    return (int)container.size();
}

struct box {
    template <class T> KEPT static int put(T v)
    {
        auto inner = [](int q) KEPT { return q > 2 ? q + 1 : q; };
        return inner((int)v);
    }
};

int main()
{
    int sum = 0;
    for (int i = 0; i < 10; i++) {
        sum += half<int>(i, i) + half<double>(i, 5);
        sum += box::put(i) + box::put((long)i);
    }
    std::map<std::string, std::vector<std::string>> words = {{"a", {"b", "c"}}};
    sum += size_of(words) + size_of(words["a"]);
    std::printf("%d\n", sum);
}
