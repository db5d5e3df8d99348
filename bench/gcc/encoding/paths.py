# SPDX-License-Identifier: MIT
"""Gives constants to the calls that encoding.cc has written down, and decodes what programs count.

Weights are numbers of calls by call site: of the calls of a function the most frequent one gets 0,
and no code.

A function is a *head* if a path may begin there: main, functions whose address is taken, and targets
of calls that close a cycle. A head's own path has the number 0; a path through an edge has the
caller's number plus the edge's constant, and the numbers of different paths differ. A function with
more paths than LIMIT becomes a head, too. Each function, and each site of a push, has a range of
keys, as large as it has numbers.
"""
import bisect
import collections
import struct

LIMIT = 1 << 48 # so that 64 bits have room for pushes


class Graph:
    def __init__(self, path):
        self.functions, self.addresses = {}, set() # key: (name, file, line)
        self.sites = collections.defaultdict(list) # key of the caller: [(site, kind, callee)]
        with open(path, encoding="utf-8") as file:
            for line in file:
                what, key, *rest = line.rstrip("\n").split("\t")
                if what == "function":
                    self.functions[key], self.sites[key] = (rest[0], rest[1], int(rest[2])), []
                elif what == "call":
                    self.sites[key].append((key + "#" + rest[0], rest[1], rest[2]))
                else:
                    self.addresses.add(key)

    def edges(self, caller):
        """Direct calls of functions of the program."""
        return [(site, callee) for site, _, callee in self.sites[caller] if callee in self.functions]


def order(graph, roots):
    """(functions, callers first; sites that close a cycle)."""
    state, done, closing = {}, [], set()
    for root in roots:
        if root in state:
            continue
        state[root] = "open"
        stack = [(root, iter(graph.edges(root)))]
        while stack:
            function, edges = stack[-1]
            for site, callee in edges:
                if callee not in state:
                    state[callee] = "open"
                    stack.append((callee, iter(graph.edges(callee))))
                    break
                if state[callee] == "open":
                    closing.add(site)
            else:
                stack.pop()
                state[function] = "done"
                done.append(function)
    return done[::-1], closing


class Numbers:
    """By function: how many numbers it has, the begin of its keys, and its calls that add."""

    def __init__(self, graph, weights=None):
        self.graph = graph
        self.heads = {f for f in graph.functions if f in graph.addresses or f == "main"}
        functions, closing = order(graph, ["main"] + sorted(self.heads) + list(graph.functions))
        incoming = collections.defaultdict(list)
        for caller in functions:
            for site, callee in graph.edges(caller):
                if site in closing:
                    self.heads.add(callee)
                else:
                    incoming[callee].append((site, caller))
        self.size, self.adds, self.limited = {}, {}, 0
        weights = weights or {}
        for function in functions:
            edges = sorted(incoming[function], key=lambda edge: -weights.get(edge[0], 0))
            self._number(function, edges)
        self._lay_out(functions, {site for adds in self.adds.values() for _, site, _ in adds})

    def _number(self, function, edges):
        if not edges:
            self.heads.add(function)
        size, adds = int(function in self.heads), []
        for site, caller in edges:
            adds.append((size, site, caller))
            size += self.size[caller]
        if size > LIMIT:
            self.heads.add(function)
            self.limited += 1
            size, adds = 1, []
        self.size[function], self.adds[function] = size, adds

    def _lay_out(self, functions, added):
        """Gives keys to functions and to pushes: calls in the program that do not add, calls through
        pointers, and calls of libraries that are given functions."""
        self.keys, self.begins, next_key = {}, [], 1
        for function in functions:
            pushes = [site for site, kind, callee in self.graph.sites[function] if site not in added and
                      (callee in self.graph.functions or kind != "direct")]
            for owner in [function] + pushes:
                self.keys[owner] = next_key
                self.begins.append((next_key, owner, function))
                next_key += self.size[function]
        self.stride = next_key | 1 # numbers that begin at a push are so far apart

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            for owner, key in self.keys.items():
                file.write("%s %s %d\n" % (owner, "p" if "#" in owner else "f", key))
            for adds in self.adds.values():
                for value, site, _ in adds:
                    if value:
                        file.write("%s a %d\n" % (site, value))

    def summary(self):
        edges = [value for adds in self.adds.values() for value, _, _ in adds]
        pushes = [owner for owner in self.keys if "#" in owner]
        sites = {site: kind for each in self.graph.sites.values() for site, kind, _ in each}
        return {"functions": len(self.size), "heads": len(self.heads), "limited": self.limited,
                "edges that add": sum(value > 0 for value in edges),
                "edges of 0": sum(value == 0 for value in edges),
                "pushes, direct": sum(sites[site] == "direct" for site in pushes),
                "pushes, other": sum(sites[site] != "direct" for site in pushes),
                "bits": max(self.size.values()).bit_length()}


def fold(path, block):
    """The canonical path of Cairn's graph: without two equal consecutive runs."""
    path = path + (block,)
    for length in range(1, len(path) // 2 + 1):
        if path[-length:] == path[-2 * length:-length]:
            return path[:-length]
    return path


class Decoder:
    def __init__(self, numbers, table):
        """table: {key: value}, of a program with `count`."""
        self.numbers, self.table = numbers, table
        self.known, self.unknown = {}, 0
        self.begins = [begin for begin, _, _ in numbers.begins]
        self.pushed, self.counts = {}, {}
        for key, value in table.items():
            if "#" in self.owner(key)[0]:
                self.pushed[value // self.numbers.stride] = key
            else:
                self.counts[key] = value

    def owner(self, key):
        """(function or site, function, number, number of the push)"""
        base, rest = divmod(key, self.numbers.stride)
        begin, owner, function = self.numbers.begins[bisect.bisect(self.begins, rest) - 1]
        return owner, function, rest - begin, base

    def above(self, function, number, base):
        """(site, caller, its number, its push) or None at the root."""
        if number == 0 and function in self.numbers.heads:
            if not base:
                return None
            return self.owner(self.pushed[base])
        adds = self.numbers.adds[function]
        at = bisect.bisect(adds, (number, "\x7f")) - 1
        value, site, caller = adds[at]
        return site, caller, number - value, base

    def path(self, function, number, base):
        """The canonical path, as places in the source."""
        chain = []
        while (function, number, base) not in self.known:
            chain.append((function, number, base))
            above = self.above(function, number, base)
            if not above:
                break
            function, number, base = above[1:]
        path = self.known.get((function, number, base), ())
        for each in reversed(chain):
            path = fold(path, self.numbers.graph.functions[each[0]])
            self.known[each] = path
        return path

    def paths(self):
        """Calls by canonical path."""
        found = collections.Counter()
        for key, count in self.counts.items():
            found[self.path(*self.owner(key)[1:])] += count
        return found

    def weights(self):
        """Calls by site, of calls that add."""
        found = collections.Counter()
        for key, count in self.counts.items():
            above = self.above(*self.owner(key)[1:])
            if above:
                found[above[0]] += count
        return found


def read_table(path):
    with open(path, "rb") as file:
        return {key: value for key, value in struct.iter_unpack("<QQ", file.read()) if key}
