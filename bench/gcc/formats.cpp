// SPDX-License-Identifier: MIT
//
// Numbers and words through fmt; formats that are wrong are exceptions.
#include <cstdio>
#include <string>

#include "fmt/format.h"

static std::string written(const char *format, int number)
{
    return fmt::vformat(format, fmt::make_format_args(number));
}

int main(int argc, char **argv)
{
    static const char *const formats[] = {"{:>8}", "{:#x}", "<{}>", "{:s}", "{:+d} {", "{:08.3f}"};
    int rounds = argc > 1 ? std::stoi(argv[1]) : 50000;
    size_t length = 0;
    long wrong = 0;
    for (int i = 0; i < rounds; i++) {
        try {
            length += written(formats[i % 6], i).size();
        } catch (const fmt::format_error &) {
            wrong++;
        }
        length += fmt::format("{} {:.3e} {:>12}", i, i * 1.5, "word").size();
    }
    std::printf("%zu %ld\n", length, wrong);
    return 0;
}
