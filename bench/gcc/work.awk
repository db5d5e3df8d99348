# SPDX-License-Identifier: MIT
# What mawk is measured on: fields, sums by key, regular expressions, functions, sorting.
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
function insert(list, count, word,    i) {
    for (i = count; i > 0 && list[i] > word; i--)
        list[i + 1] = list[i]
    list[i + 1] = word
}
{ sum[$1 % 97] += $1; digits += gsub(/[13579]/, "x") }
/x+[02468]x/ { odd++ }
NR % 300 == 0 { insert(sorted, count++, substr($0, 2, 4) tolower("AB")) }
END {
    for (key in sum)
        total += sum[key] * (key + 1)
    print total, digits, odd, count, sorted[1], fib(22)
}
