# SPDX-License-Identifier: MIT
"""Random programs in C and C++: functions that call each other in all ways that there are, throw,
catch and jump. Each ends soon, and says the same however it is compiled.
"""
import random

PREFACE = """#include "paths.h"

static volatile unsigned seen;
static volatile int budget;
#define GO (budget > 0 && budget-- > 0)
"""
PREFACES = {"c": PREFACE + "static jmp_buf *landing;\n", "cpp": PREFACE}
ALWAYS = "static inline __attribute__((always_inline))"
KEPT = "__attribute__((noipa))"
KINDS = ["", "static", "static", "static inline", "static inline", "static __attribute__((noinline))",
         "__attribute__((noinline))", KEPT, ALWAYS, "static __attribute__((cold))"]
FLAT = ["__attribute__((flatten))"] # of what calls little
PURE_KINDS = ["__attribute__((%s))" % kind for kind in ("const", "pure", "const, noinline", "noinline")]
VALUES = {"thrown &t": "s += t.n;", "int t": "s += (unsigned)t;", "...": ""}


class Function:
    """Its shape is plain, void, or many: arguments."""
    def __init__(self, name, kind="", shape="plain", throws=True):
        self.name, self.kind, self.shape, self.throws = name, kind, shape, throws

    def head(self):
        more = "".join(", unsigned m%d" % i for i in range(8)) if self.shape == "many" else ""
        return "KIND(%s) %s %s(int n%s)%s" % (self.kind, "void" if self.shape == "void" else "unsigned",
                                              self.name, more, "" if self.throws else " noexcept")

    def call(self, n):
        more = ", s, 2u" * 4 if self.shape == "many" else ""
        call = "%s(%s%s)" % (self.name, n, more)
        return "(%s, 1u)" % call if self.shape == "void" else call


class Program:
    """Functions call those behind them, and those before them while there is a budget."""
    def __init__(self, seed, language):
        self.random = random.Random("%s %s" % (seed, language))
        self.cpp = language == "cpp"
        count = self.pick(range(4, 10))
        self.functions = [Function("f%d" % i, self.pick(KINDS + FLAT * (i > count - 3)),
                                   self.pick(["plain"] * 6 + ["void", "many"]),
                                   not self.cpp or self.chance(85)) for i in range(count)]
        self.quiet = [Function("q%d" % i, KEPT) for i in range(2)] # throw nothing
        self.pure = [Function("p%d" % i, self.pick(PURE_KINDS)) for i in range(2)]
        self.boxes = self.pick([1, 2]) if self.cpp else 0
        self.names, self.scopes = 0, 0
        self.now = Function("", ALWAYS)
        self.is_quiet, self.is_inside = False, False
        parts = [*self.small(), *(function.head() + ";" for function in self.functions), *self.tables()]
        parts += self.members() if self.cpp else []
        parts += [self.write(function) for function in self.functions]
        self.text = PREFACES[language] + "\n".join([*parts, self.main()])

    def pick(self, ways):
        return self.random.choice(ways)

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def name(self, prefix):
        self.names += 1
        return "%s%d" % (prefix, self.names)

    # ---- expressions ----

    def condition(self):
        return self.pick(["s & 1", "s & 2", "s & 8", "n > 0", "n > 1", "n == 2",
                          "(s + (unsigned)n) % 3 == 0"])

    def targets(self):
        """Functions behind this one, and those that may lead here again."""
        if self.is_quiet:
            return self.quiet, []
        at = self.functions.index(self.now) if self.now in self.functions else len(self.functions)
        back = [function.call("n - 1") for function in self.functions[:at + 1] if function.kind != ALWAYS]
        through = ["ways[(unsigned)n % WAYS](n - 1)"] + ["shapes[s % 2]->act(n - 1)"] * 2 * self.cpp
        return self.functions[at + 1:at + 4] + self.quiet[:1], back + through * 2

    def call(self):
        ahead, back = self.targets()
        if back and self.chance(30):
            return "(n > 0 && GO ? %s : 3u)" % self.pick(back)
        if self.chance(10):
            return self.pick(self.pure).call(self.pick(["n", "(int)(s & 7)"]))
        return self.pick(ahead).call(self.pick(["n", "n - 1", "(int)(s & 3)", "2"]))

    def give(self, value):
        is_void = self.now.shape == "void" and not self.is_inside
        return ("{ seen = seen + %s; return; }" if is_void else "return %s;") % value

    def inside(self, write):
        """In a function that is inside of another, and returns a number."""
        before, self.is_inside = self.is_inside, True
        text = write()
        self.is_inside = before
        return text

    # ---- statements ----

    def block(self, depth, most=3):
        return "{ %s }" % self.some(depth - 1, most)

    def some(self, depth, most):
        return " ".join(self.statement(depth) for _ in range(self.pick(range(1, most + 1))))

    def statement(self, depth):
        ways = [self.calls] * 5 + [self.sums, self.early]
        ways += [self.box, self.throws] if self.cpp else [self.jumps] * (not self.is_quiet)
        if depth > 0:
            ways += [self.branch] * 2 + [self.loop, self.switch]
            ways += [self.tries] * 3 + [self.scope, self.closure] if self.cpp else [self.expression]
            if not self.cpp and self.now.kind != ALWAYS:
                ways += [self.computed]
        return self.pick(ways)(depth)

    def calls(self, _):
        """A call of a pure function is removed if its value is unused."""
        call = self.call()
        ways = ["s += %s;", "s ^= %s;", "seen = seen + %s;", "if (%s & 1) s++;",
                "{ unsigned t = %s; s += t; }"]
        return self.pick(ways + ["(void)%s;"] * (not call.startswith("p"))) % call

    def sums(self, _):
        return "s = s * %su + (unsigned)n;" % self.pick("357")

    def early(self, _):
        return "if (%s) %s" % (self.condition(), self.give(self.pick([self.call(), "s"])))

    def branch(self, depth):
        other = " else " + self.block(depth) if self.chance(50) else ""
        return "if (%s) %s%s" % (self.condition(), self.block(depth), other)

    def loop(self, depth):
        i = self.name("i")
        return "for (int {0} = 0; {0} < {1} && GO; {0}++) {2}".format(
            i, self.pick(["2", "3", "(int)(s % 3)"]), self.block(depth))

    def switch(self, depth):
        cases = ["case %d: %s%s" % (i, self.block(depth, 2), self.pick([" break;", ""]))
                 for i in range(self.pick(range(2, 5)))]
        return "switch (s %% 5) { %s default: s++; }" % " ".join(cases)

    # C++

    def box(self, _):
        """The first kind of box throws nothing."""
        which = self.pick(range(self.boxes)) if self.boxes and not self.is_quiet else 0
        return "box%d %s(n);" % (which, self.name("b")) if self.boxes else "s++;"

    def throws(self, _):
        if self.is_quiet:
            return "s++;"
        return "if (%s) throw %s;" % (self.condition(), self.pick(["thrown{s}", "n"]))

    def tries(self, depth):
        body, handlers = self.block(depth), ""
        for kind in self.pick([["thrown &t"], ["int t"], ["int t", "thrown &t"], ["..."],
                               ["int t", "..."]]):
            again = "" if self.is_quiet else self.pick(["", "", " if (%s) throw;" % self.condition()])
            handlers += " catch (%s) { %s %s%s }" % (kind, VALUES[kind], self.statement(depth - 1), again)
        return "try %s%s" % (body, handlers)

    def scope(self, depth):
        self.scopes += 1
        return "{ SCOPE(\"scope%d\"); %s }" % (self.scopes, self.block(depth))

    def closure(self, depth):
        name = self.name("l")
        body = self.inside(lambda: self.block(depth, 2))
        return ("auto %s = [&](int n) KIND() -> unsigned { %s return s; }; "
                "{ unsigned t = %s(n - 1); s += t; }" % (name, body, name))

    # C

    def jumps(self, _):
        return "if (landing && %s) longjmp(*landing, 1);" % self.condition()

    def computed(self, depth):
        one, two = self.name("one"), self.name("two")
        return "{{ {0}void *const to[] = {{&&{1}, &&{2}}}; goto *to[s % 2]; {1}: {3} {2}: s++; }}".format(
            self.pick(["", "static "]), one, two, self.block(depth, 2))

    def expression(self, depth):
        return "s += ({ unsigned s = (unsigned)n; %s s + 1; });" % self.statement(depth - 1)

    def nested(self):
        """A function within, and its call, that is jumped out of."""
        name, out = self.name("nested"), self.name("out")
        body = self.inside(lambda: self.some(1, 2))
        return ("{{ __label__ {1}; HERE(); KIND() unsigned {0}(int n) "
                "{{ {2} if ({3}) goto {1}; return s; }} {{ unsigned t = {0}(n - 1); s += t; }} "
                "if (0) {{ {1}: BACK(); s++; }} }} ".format(name, out, body, self.condition()))

    # ---- functions ----

    def caught(self):
        if self.cpp:
            return "try { %s } catch (...) { s += 5; }" % self.some(2, 4)
        return ("HERE(); jmp_buf own, *const before = landing; landing = &own; if (setjmp(own) == 0) "
                "{ s += %s; s += %s; } else { BACK(); s += 9; } landing = before;" % (
                    self.call(), self.call()))

    def without_throwing(self, most):
        """Catches everything, or may throw as far as the compiler knows."""
        if self.chance(50):
            return self.caught()
        self.is_quiet = True
        text = self.some(2, most)
        self.is_quiet = False
        return text

    def write(self, function):
        self.now = function
        kind = "" if self.cpp or function.kind == ALWAYS else self.pick(["volatile", "nested", "", ""])
        last = self.give(self.pick(["s"] + [self.call()] * 3))
        if not function.throws:
            rest, last = self.without_throwing(4), self.give("s")
        elif kind == "volatile" or self.cpp and self.chance(15):
            rest = self.caught()
        else:
            rest = (self.nested() if kind == "nested" else "") + self.some(2, 4)
        return "%s\n{\n    %s unsigned s = (unsigned)n; %s %s\n}\n" % (
            function.head(), "volatile" if kind == "volatile" else "", rest, last)

    def small(self):
        return ["static %s { return (unsigned)n * 3 + 1; }" % function.head() for function in self.pure] + [
            "%s { unsigned s = (unsigned)n; seen = seen + s; return s * 2 + %d; }" % (function.head(), i)
            for i, function in enumerate(self.quiet)]

    def tables(self):
        ways = [function.name for function in self.functions
                if function.shape == "plain" and function.kind != ALWAYS] + ["q0"]
        return ["enum { WAYS = %d };" % len(ways),
                "static unsigned (*const ways[])(int) = {%s};" % ", ".join(ways)]

    def members(self):
        """Of boxes, which have no boxes, and of shapes."""
        parts = ["struct shape{0} : shape {{ KIND() unsigned act(int n) override; }} object{0};".format(i)
                 for i in range(2)] + ["static shape *const shapes[] = {&object0, &object1};"]
        boxes, self.boxes = range(self.boxes), 0
        for i in boxes:
            self.now = Function("", shape="void")
            inside = self.throws(0) if i else self.pick(["", "s++;"])
            parts.append(
                "struct box{0} {{ unsigned s; KIND({1}) box{0}(int n); KIND({2}) ~box{0}(); }};\n"
                "box{0}::box{0}(int n) : s((unsigned)n) {{ {3} }}\n"
                "box{0}::~box{0}() {{ int n = (int)(s & 3); {4} }}".format(
                    i, self.pick(["", KEPT]), self.pick(["", KEPT]), inside, self.without_throwing(2)))
        self.boxes = len(boxes)
        self.now = Function("")
        return parts + ["unsigned shape%d::act(int n) { unsigned s = (unsigned)n; %s return %s; }" % (
            i, self.some(1, 2), self.call()) for i in range(2)]

    def main(self):
        call = "s += %s;" % self.functions[0].call("i")
        if self.cpp:
            guard = "try { %s } catch (...) { s += 7; }" % call
        else:
            guard = ("HERE(); jmp_buf own; landing = &own; if (setjmp(own) == 0) { %s } "
                     "else { BACK(); s += 7; }" % call)
        return """
int main(void)
{
    static volatile unsigned s;
    for (volatile int i = 0; i < 6; i++) {
        budget = 60;
        %s
    }
    printf("%%u %%u\\n", s, seen);
    return 0;
}
""" % guard
