# SPDX-License-Identifier: MIT
"""Names of C++ functions as captures have them. src/base/cpp_name.c does the same in C."""
import re


def shortened(name):
    """Without default template arguments of the standard library: std::vector<int>."""
    default = re.compile(r", std::(?:allocator|char_traits|less|equal_to|hash|default_delete)<")
    found = default.search(name)
    while found:
        depth, end = 1, found.end()
        while depth and end < len(name):
            depth += {"<": 1, ">": -1}.get(name[end], 0)
            end += 1
        name = name[:found.start()] + name[end:].lstrip(" ")
        found = default.search(name)
    name = re.sub(">( >)+", lambda ends: ends[0].replace(" ", ""), name)
    return re.sub("std::(__cxx11::)?basic_string<char>", "std::string", name)
