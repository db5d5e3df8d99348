# SPDX-License-Identifier: MIT
"""Functions that call each other in each way that CPython has, for as much processor time each, and one
that sleeps meanwhile. Prints "done"."""
import threading
import time

SECONDS = 1.5  # of processor time


def spin():
    total = 0
    for i in range(2000):
        total += i * i
    return total


def directly():
    return spin()


def key(value):
    spin()
    return -value


def by_sort():
    """The comparison is called from C."""
    return sorted(range(1), key=key)


def generator():
    yield spin()


def by_generator():
    return list(generator())


class Größe:
    def 函数(self):
        return spin()

    __call__ = 函数


def by_slot():
    return Größe()()


def by_freed_code(number):
    """A code object is freed, and the next one is often at the same address."""
    names = {"spin": spin}
    exec(compile("def made_%d():\n    return spin()\n" % number, "made_%d" % number, "exec"), names)
    return names["made_%d" % number]()


def sleeper(end):
    end.wait()


def main():
    end = threading.Event()
    thread = threading.Thread(target=sleeper, args=(end,))
    thread.start()
    number = 0
    while time.process_time() < SECONDS:
        for function in (directly, by_sort, by_generator, by_slot):
            function()
        by_freed_code(number % 2)
        number += 1
    end.set()
    thread.join()
    print("done")


main()
