-- SPDX-License-Identifier: MIT
-- Puzzles and numbers: satisfiability, sudoku, queens, long numbers, linear equations,
-- memoized recurrences and a small Lisp. Prints what it found; always the same.
--
--   lua5.4 examples/puzzles/main.lua [SCALE]

local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. package.path

local lisp = require "lisp"
local numbers = require "numbers"
local Solver = require "sat"
local sudoku = require "sudoku"

local function dice(seed)
    local state = seed
    return function(sides)
        state = (state * 6364136223846793005 + 1442695040888963407) & 0x7fffffffffffffff
        return (state >> 33) % sides + 1
    end
end

local roll = dice(2)

local function shuffled(list)
    for i = #list, 2, -1 do
        local j = roll(i)
        list[i], list[j] = list[j], list[i]
    end
    return list
end

--- Makes a puzzle: a valid grid, its digits renamed, with `free` cells emptied.
local function make_puzzle(free)
    local names, cells, places = shuffled {1, 2, 3, 4, 5, 6, 7, 8, 9}, {}, {}
    for at = 0, 80 do
        local row, column = at // 9, at % 9
        cells[at + 1] = names[(row * 3 + row // 3 + column) % 9 + 1]
        places[at + 1] = at + 1
    end
    shuffled(places)
    for i = 1, free do cells[places[i]] = "." end
    return table.concat(cells)
end

local function solve_puzzles(count)
    for _ = 1, count do
        local puzzle = make_puzzle(56)
        local solution, solver = sudoku.solve(puzzle)
        print("sudoku " .. solution, solver.decisions, solver.propagations)
    end
end

--- More pigeons than holes: no solution, and no short proof of it.
local function pigeons(count)
    local holes = count - 1
    local solver = Solver.new(count * holes)
    for pigeon = 0, count - 1 do
        local clause = {}
        for hole = 1, holes do clause[hole] = pigeon * holes + hole end
        solver:add(clause)
        for other = 0, pigeon - 1 do
            for hole = 1, holes do solver:add {-(pigeon * holes + hole), -(other * holes + hole)} end
        end
    end
    print("pigeons", count, solver:solve(), solver.decisions, solver.conflicts)
end

local function random_clauses(variables, count)
    local solver = Solver.new(variables)
    for _ = 1, count do
        local seen, clause = {}, {}
        while #clause < 3 do
            local variable = roll(variables)
            if not seen[variable] then
                seen[variable] = true
                clause[#clause + 1] = roll(2) == 1 and variable or -variable
            end
        end
        solver:add(clause)
    end
    print("clauses", variables, count, solver:solve(), solver.decisions, solver.conflicts)
end

--- Every placement of `size` queens, as a generator.
local function placements(size)
    return coroutine.wrap(function()
        local rows = {}
        local function place(column, taken, up, down)
            if column > size then
                coroutine.yield(rows)
                return
            end
            for row = 1, size do
                local rising, falling = 1 << row + column, 1 << row - column + size
                if taken & 1 << row == 0 and up & rising == 0 and down & falling == 0 then
                    rows[column] = row
                    place(column + 1, taken | 1 << row, up | rising, down | falling)
                end
            end
        end
        place(1, 0, 0, 0)
    end)
end

local function queens(size)
    local count, sum = 0, 0
    for rows in placements(size) do
        count = count + 1
        for column, row in ipairs(rows) do sum = (sum * 31 + row * column) % 1000003 end
    end
    print("queens", size, count, sum)
end

local function long_numbers(exponent)
    local digits = tostring(numbers.power(numbers.natural(1234567), exponent))
    print("power", #digits, digits:sub(1, 20), digits:sub(-20))
end

local function equations(size)
    local matrix, right = {}, {}
    for i = 1, size do
        matrix[i] = {}
        for j = 1, size do matrix[i][j] = roll(2000) - 1000 + (i == j and 5000 or 0) end
        right[i] = roll(1000)
    end
    local sum = 0
    for _, x in ipairs(numbers.solve(matrix, right)) do sum = sum + x end
    print(("equations  %d  %.6f"):format(size, sum))
end

local function recurrences(size)
    local partitions = numbers.memoized(function(self, n, largest)
        if n == 0 then return 1 end
        if largest == 0 then return 0 end
        local without = self(n, largest - 1)
        if largest > n then return without end
        return without + self(n - largest, largest) & 0xffffffffffff
    end)
    print("partitions", size, partitions(size, size))

    local first, second = {}, {}
    for i = 1, size do first[i], second[i] = roll(4), roll(4) end
    local distance = numbers.memoized(function(self, i, j)
        if i == 0 or j == 0 then return i + j end
        if first[i] == second[j] then return self(i - 1, j - 1) end
        return 1 + math.min(self(i - 1, j), self(i, j - 1), self(i - 1, j - 1))
    end)
    print("distance", size, distance(size, size))
end

local PROGRAM = [[
(define fib (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))
(define count (lambda (n total) (if (= n 0) total (count (- n 1) (+ total n)))))
(define divides (lambda (n by)
    (if (< n (* by by)) false (if (= (% n by) 0) true (divides n (+ by 1))))))
(define primes (lambda (n found)
    (if (= n 2) (cons 2 found) (primes (- n 1) (if (divides n 2) found (cons n found))))))
(define fold (lambda (f start list)
    (if list (fold f (f start (head list)) (tail list)) start)))
(define is_even (lambda (n) (if (= n 0) true (is_odd (- n 1)))))
(define is_odd (lambda (n) (if (= n 0) false (is_even (- n 1)))))
(cons (fib 24) (cons (count 20000 0) (cons (is_even 10001)
    (fold (lambda (a b) (+ a b)) 0 (primes 9000 nil)))))
]]

local function run_lisp()
    local result = lisp.run(PROGRAM)
    print("lisp", result[1], result[2][1], result[2][2][1], result[2][2][2])
end

local scale = math.tointeger(tonumber(arg[1] or 1)) or error("SCALE must be a whole number")
for _ = 1, scale do
    solve_puzzles(12)
    pigeons(8)
    random_clauses(150, 650)
    queens(11)
    long_numbers(4000)
    equations(220)
    recurrences(500)
    run_lisp()
end
