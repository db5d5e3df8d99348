// SPDX-License-Identifier: MIT
//
// Names that only C++ has.
#include <cstddef>
#include <new>

#include "trace.h"

namespace shapes {

template <typename T> struct Tree {
    APART void insert(T value);
    INSIDE void grow(unsigned long bytes)
    {
        trace(bytes, 0, nullptr);
        KEEP();
    }
};

template <typename T> void Tree<T>::insert(T value)
{
    grow(sizeof(T));
    (void)value;
}

struct Base {
    virtual ~Base() = default;
    virtual void draw() = 0;
};

struct Circle : Base {
    Circle()
    {
        trace(1, 0, nullptr);
    }
    APART void draw() override
    {
        trace(2, 0, nullptr);
        KEEP();
    }
    APART Circle &operator+=(int) noexcept
    {
        trace(3, 0, nullptr);
        KEEP();
        return *this;
    }
};

namespace {
APART void unseen()
{
    trace(4, 0, nullptr);
    KEEP();
}
} // namespace

} // namespace shapes

APART static void allocate()
{
    // As if operator new had been caught at work.
    void *(*allocator)(std::size_t) = operator new;
    trace(5, 0, reinterpret_cast<const char *>(allocator) + 4);
    KEEP();
}

template <typename F> APART void call(F function)
{
    function(6);
    KEEP();
}

int main()
{
    trace_modules();
    shapes::Tree<int>().insert(1);
    shapes::Tree<double>().insert(1);
    shapes::Circle circle;
    shapes::Base *base = &circle;
    base->draw();
    circle += 1;
    shapes::unseen();
    allocate();
    call([](int bytes) __attribute__((noinline)) {
        trace(bytes, 0, nullptr);
        KEEP();
    });
}
