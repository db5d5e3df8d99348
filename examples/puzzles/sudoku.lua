-- SPDX-License-Identifier: MIT
-- Sudoku as clauses: one variable for each cell and digit.

local Solver = require "sat"

local sudoku = {}

local function variable(row, column, digit)
    return ((row - 1) * 9 + column - 1) * 9 + digit
end

--- Calls `visit` with every group of nine cells, each cell as {row, column}.
local function each_group(visit)
    for i = 1, 9 do
        local row, column, box = {}, {}, {}
        for j = 1, 9 do
            row[j], column[j] = {i, j}, {j, i}
            box[j] = {(i - 1) // 3 * 3 + (j - 1) // 3 + 1, (i - 1) % 3 * 3 + (j - 1) % 3 + 1}
        end
        visit(row)
        visit(column)
        visit(box)
    end
end

local function add_rules(solver)
    each_group(function(cells)
        for digit = 1, 9 do
            local somewhere = {}
            for i, cell in ipairs(cells) do
                somewhere[i] = variable(cell[1], cell[2], digit)
                for j = 1, i - 1 do solver:add {-somewhere[j], -somewhere[i]} end
            end
            solver:add(somewhere)
        end
    end)
    for row = 1, 9 do
        for column = 1, 9 do
            local digits = {}
            for digit = 1, 9 do
                digits[digit] = variable(row, column, digit)
                for less = 1, digit - 1 do solver:add {-digits[less], -digits[digit]} end
            end
            solver:add(digits)
        end
    end
end

--- Solves a puzzle given as 81 characters, of which those that are not digits are free.
function sudoku.solve(puzzle)
    local solver = Solver.new(729)
    add_rules(solver)
    for at, digit in puzzle:gmatch("()(%d)") do
        solver:add {variable((at - 1) // 9 + 1, (at - 1) % 9 + 1, tonumber(digit))}
    end
    if not solver:solve() then error("there is no solution", 0) end
    return (puzzle:gsub("()[^%d]", function(at)
        for digit = 1, 9 do
            if solver.value[variable((at - 1) // 9 + 1, (at - 1) % 9 + 1, digit)] then return digit end
        end
    end)), solver
end

return sudoku
