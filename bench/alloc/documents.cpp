// SPDX-License-Identifier: MIT
//
// A program that lives in malloc, in C++: documents of nested maps and lists are built, copied,
// queried, printed and dropped; an index of words to places is kept beside them. Recursion goes
// 10 to 30 deep. Arguments: rounds, threads.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#define APART __attribute__((noinline))

namespace
{

struct Random {
    std::uint64_t state;
    std::uint32_t draw(std::uint32_t limit)
    {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(state >> 33) % limit;
    }
};

struct Value {
    std::string text;
    std::map<std::string, std::unique_ptr<Value>> members;
    std::vector<std::unique_ptr<Value>> items;
};

APART std::string word(Random &random)
{
    static const char *const parts[] = {"al", "be", "cor", "dun", "el", "far", "gil", "hos"};
    std::string made;
    for (std::uint32_t i = 2 + random.draw(8); i; i--)
        made += parts[random.draw(8)];
    return made;
}

APART std::unique_ptr<Value> build(Random &random, int depth)
{
    auto value = std::make_unique<Value>();
    if (depth == 0) {
        value->text = word(random);
        return value;
    }
    if (random.draw(2))
        for (int i = 0; i < 3; i++)
            value->members[word(random)] = build(random, depth - 1);
    else
        for (int i = 0; i < 3; i++)
            value->items.push_back(build(random, depth - 1));
    return value;
}

APART std::unique_ptr<Value> copy(const Value &of)
{
    auto value = std::make_unique<Value>();
    value->text = of.text;
    for (const auto &member : of.members)
        value->members.emplace(member.first, copy(*member.second));
    for (const auto &item : of.items)
        value->items.push_back(copy(*item));
    return value;
}

APART std::string print(const Value &value)
{
    if (value.members.empty() && value.items.empty())
        return "\"" + value.text + "\"";
    std::string text = value.members.empty() ? "[" : "{";
    for (const auto &member : value.members)
        text += member.first + ":" + print(*member.second) + ",";
    for (const auto &item : value.items)
        text += print(*item) + ",";
    return text + (value.members.empty() ? "]" : "}");
}

using Index = std::unordered_map<std::string, std::vector<int>>;

APART void index_words(const Value &value, Index &index, int &place)
{
    if (!value.text.empty())
        index[value.text].push_back(place++);
    for (const auto &member : value.members) {
        index[member.first].push_back(place++);
        index_words(*member.second, index, place);
    }
    for (const auto &item : value.items)
        index_words(*item, index, place);
}

APART std::uint64_t round_of(Random &random)
{
    auto value = build(random, 6);
    auto other = copy(*value);
    Index index;
    int place = 0;
    index_words(*other, index, place);
    return print(*value).size() + index.size();
}

} // namespace

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? std::atol(argv[1]) : 100;
    int threads = argc > 2 ? std::atoi(argv[2]) : 1;
    std::vector<std::uint64_t> results(static_cast<std::size_t>(threads));
    std::vector<std::thread> running;
    for (int i = 0; i < threads; i++)
        running.emplace_back([&results, rounds, i] {
            Random random{static_cast<std::uint64_t>(i) + 1};
            std::uint64_t sum = 0;
            for (long round = 0; round < rounds; round++)
                sum += round_of(random);
            results[static_cast<std::size_t>(i)] = sum;
        });
    std::uint64_t sum = 0;
    for (int i = 0; i < threads; i++) {
        running[static_cast<std::size_t>(i)].join();
        sum += results[static_cast<std::size_t>(i)];
    }
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
    return 0;
}
