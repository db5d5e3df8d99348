# SPDX-License-Identifier: MIT
"""Names of C++ functions as captures have them. src/base/cpp_name.c does the same in C."""
import re

DEFAULTS = re.compile(r"std::(?:allocator|char_traits|less|equal_to|hash|default_delete)<(.*)>$")
TEMPLATES = re.compile(
    r"std::(?:__cxx11::|__1::)?(?:vector|deque|list|forward_list|(?:unordered_)?(?:multi)?(?:set|map)|basic_string(?:_view)?"
    r"|unique_ptr|_Rb_tree|basic_(?:ostream|istream|ios|stringstream|fstream)|_(?:Vector|Deque|List|Fwd_list)_base)$")


def is_default(arguments):
    found = DEFAULTS.match(arguments[-1])
    made_of = [arguments[0]]
    if len(arguments) > 2:
        made_of += [arguments[1], "std::pair<%s const, %s>" % tuple(arguments[:2])]
    return found and found[1] in made_of


def shortened(name):
    """Without default template arguments of the standard library: std::vector<int>."""
    tokens = re.findall(r"\boperator(?:<=>|<<=|>>=|->\*|<<|>>|<=|>=|->|\(\)|<|>|-|,)|->|\w+|:+|.", name)
    at = 0

    def part(inside):
        """Reads up to the end of a template argument, or of the name."""
        nonlocal at
        text, brackets, closed = "", 0, False
        while at < len(tokens) and not (inside and not brackets and tokens[at] in ",>"):
            token = tokens[at]
            at += 1
            brackets += (token in "([{") - (token in ")]}")
            if token == ">" or brackets < 0:
                raise ValueError
            closed &= token == " "
            text += token
            if token == "<":
                text = text[:-1] + arguments(re.search(r"[\w:]*$", text[:-1])[0])
                closed = True
        if brackets or (inside and at == len(tokens)):
            raise ValueError
        return text.rstrip(" ") if inside and closed else text

    def arguments(template):
        nonlocal at
        found = []
        while True:
            found.append(part(True).lstrip(" "))
            at += 1
            if tokens[at - 1] == ">":
                break
        while len(found) > 1 and TEMPLATES.match(template) and is_default(found):
            found.pop()
        return "<%s>" % ", ".join(found)

    try:
        short = part(False)
    except (ValueError, RecursionError):
        return name
    return re.sub(r"(?<![\w:])std::(__cxx11::)?basic_string<char>", "std::string", short)
