// SPDX-License-Identifier: MIT
//
// Blocks of C++: new and delete in all their forms, and exceptions that go through frames.
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "accounts.h"

namespace
{

struct alignas(128) Wide {
    char bytes[256];
};

struct Thrown {
    char bytes[100];
};

} // namespace

extern "C" {

APART void new_and_delete()
{
    // These are charged to operator new, below this function; so only live ones are booked here,
    // by a malloc of the same function.
    for (int i = 0; i < 100; i++) {
        char *one = new char(1);
        STAY(one);
        delete one;
        int *many = new int[100];
        STAY(many);
        delete[] many;
        Wide *wide = new Wide;
        STAY(wide);
        delete wide;
        char *nothrow = new (std::nothrow) char[10];
        STAY(nothrow);
        delete[] nothrow;
    }
}

APART void *by_malloc(std::size_t size)
{
    void *block = std::malloc(size);
    STAY(block);
    return block;
}

APART int throws(int depth)
{
    held held = account_made("by_malloc", by_malloc(32), 32);
    account_gone(&held);
    std::free(held.block);
    if (depth == 0)
        throw Thrown();
    int result = throws(depth - 1);
    STAY(result);
    return result;
}

APART void catches()
{
    for (int i = 0; i < 500; i++) {
        try {
            throws(i % 20);
        } catch (const Thrown &) {
            account_made("by_malloc", by_malloc(16), 16);
        }
    }
}

APART void refused()
{
    volatile std::size_t most = ~std::size_t(0) / 2;
    bool caught = false;
    try {
        char *block = new char[most];
        STAY(block);
    } catch (const std::bad_alloc &) {
        caught = true;
    }
    MUST(caught);
    MUST(!new (std::nothrow) char[most]);
}

} // extern "C"

int main()
{
    new_and_delete();
    catches();
    refused();
    account_close();
    return 0;
}
