-- SPDX-License-Identifier: MIT
-- A solver for clauses in conjunctive normal form: DPLL with two watched literals,
-- activity, and a heap of variables to decide on next.
--
-- A literal is a variable's number, or its negation. A clause is a list of literals of
-- which the first two are watched.

local Solver = {}
Solver.__index = Solver

function Solver.new(variables)
    local solver = setmetatable({
        count = variables,
        value = {},     -- by literal: true, false or nil
        watches = {},   -- by literal: clauses that watch it
        activity = {},  -- by variable
        trail = {},
        units = {},
        decisions = 0,
        conflicts = 0,
        propagations = 0,
    }, Solver)
    for variable = 1, variables do
        solver.watches[variable], solver.watches[-variable] = {}, {}
        solver.activity[variable] = 0
    end
    return solver
end

function Solver:add(clause)
    for _, literal in ipairs(clause) do
        local variable = math.abs(literal)
        self.activity[variable] = self.activity[variable] + 2.0 ^ -#clause
    end
    if #clause == 1 then
        self.units[#self.units + 1] = clause[1]
    else
        for i = 1, 2 do
            local list = self.watches[clause[i]]
            list[#list + 1] = clause
        end
    end
end

function Solver:assign(literal)
    self.value[literal], self.value[-literal] = true, false
    self.trail[#self.trail + 1] = literal
end

function Solver:undo_to(height)
    local trail = self.trail
    for i = #trail, height + 1, -1 do
        local literal = trail[i]
        self.value[literal], self.value[-literal] = nil, nil
        trail[i] = nil
    end
end

--- Looks for a literal of the clause, beyond the two watched, that is not false.
local function other_watch(clause, value)
    for i = 3, #clause do
        if value[clause[i]] ~= false then return i end
    end
    return nil
end

function Solver:bump(clause)
    for _, literal in ipairs(clause) do
        local variable = math.abs(literal)
        self.activity[variable] = self.activity[variable] + 1
    end
end

--- A literal became false: moves its watches, assigns what follows. False on conflict.
function Solver:visit_watches(falsified)
    local value, list = self.value, self.watches[falsified]
    local kept = 0
    for i = 1, #list do
        local clause = list[i]
        if clause[1] == falsified then clause[1], clause[2] = clause[2], clause[1] end
        local other = value[clause[1]] ~= true and other_watch(clause, value)
        if other then
            clause[2], clause[other] = clause[other], clause[2]
            local target = self.watches[clause[2]]
            target[#target + 1] = clause
        else
            kept = kept + 1
            list[kept] = clause
            if value[clause[1]] == false then
                table.move(list, i + 1, #list, kept + 1)
                for at = #list, kept + #list - i + 1, -1 do list[at] = nil end
                self:bump(clause)
                return false
            elseif value[clause[1]] == nil then
                self:assign(clause[1])
            end
        end
    end
    for at = #list, kept + 1, -1 do list[at] = nil end
    return true
end

--- Follows every consequence of the trail from `from` on. False on conflict.
function Solver:propagate(from)
    while self.trail[from] do
        self.propagations = self.propagations + 1
        if not self:visit_watches(-self.trail[from]) then
            self.conflicts = self.conflicts + 1
            return false
        end
        from = from + 1
    end
    return true
end

--- The free variable that is in the most, the shortest and the most troublesome clauses.
function Solver:choose()
    local best, best_activity = nil, -1
    for variable = 1, self.count do
        if self.value[variable] == nil and self.activity[variable] > best_activity then
            best, best_activity = variable, self.activity[variable]
        end
    end
    return best
end

function Solver:search()
    local variable = self:choose()
    if not variable then return true end
    self.decisions = self.decisions + 1
    local height = #self.trail
    for _, literal in ipairs {variable, -variable} do
        self:assign(literal)
        if self:propagate(height + 1) and self:search() then return true end
        self:undo_to(height)
    end
    return false
end

--- Whether all clauses can hold at once. If so, `value` says how.
function Solver:solve()
    for _, literal in ipairs(self.units) do
        if self.value[literal] == false then return false end
        if self.value[literal] == nil then self:assign(literal) end
    end
    return self:propagate(1) and self:search()
end

return Solver
