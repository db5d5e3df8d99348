-- SPDX-License-Identifier: MIT
-- Shortcodes: {{name arguments}} in a page runs a plugin. A plugin that fails leaves a
-- remark on the page and is counted; it never stops the press.

local plugins = {}

local available = {}

function available.height(arguments)
    local metres = assert(tonumber(arguments), "height wants a number of metres")
    return ("%d m (%d ft)"):format(metres, metres // 0.3048 | 0)
end

--- Naismith's rule: an hour for 5 km, and an hour more for 600 m of ascent.
function available.walk(arguments)
    local km, ascent = arguments:match("^([%d.]+) km ([%d.]+) m$")
    if not km then error({problem = "walk wants '<n> km <n> m', not '" .. arguments .. "'"}) end
    local minutes = math.floor(tonumber(km) * 12 + tonumber(ascent) / 10)
    return ("%d h %02d min"):format(minutes // 60, minutes % 60)
end

--- A bar of stars; recursive, so that a silly argument runs into the stack's limit.
function available.stars(arguments)
    local function star(count)
        if count == 0 then return "" end
        return "★" .. star(count - 1)
    end
    return star(math.tointeger(tonumber(arguments)) or error("stars wants a whole number"))
end

--- The first that works of several shortcodes: {{any walk x | height 900}}.
function available.any(arguments, runner)
    for alternative in arguments:gmatch("[^|]+") do
        local name, rest = alternative:match("^%s*(%a+)%s*(.-)%s*$")
        local ok, result = runner:attempt(name, rest)
        if ok then return result end
    end
    error("nothing works in '" .. arguments .. "'", 0)
end

--- A running total over the page, kept in a coroutine between calls.
function available.total(arguments, runner)
    runner.adder = runner.adder or coroutine.create(function(amount)
        local sum = 0
        while true do
            if amount < 0 then error("a distance cannot be negative") end
            sum = sum + amount
            amount = coroutine.yield(sum)
        end
    end)
    local ok, sum = coroutine.resume(runner.adder, tonumber(arguments) or -1)
    if ok then return ("%.1f km"):format(sum) end
    runner.adder = nil
    error(sum, 0)
end

local Runner = {}
Runner.__index = Runner

local function describe(problem)
    if type(problem) == "table" then return problem.problem end
    return (tostring(problem):gsub("^[^:]*:%d+: ", ""))
end

--- Runs a plugin; as pcall returns.
function Runner:attempt(name, arguments)
    local plugin = available[name]
    if not plugin then return false, "no plugin is called '" .. name .. "'" end
    return xpcall(plugin, describe, arguments, self)
end

function Runner:run(name, arguments)
    local ok, result = self:attempt(name, arguments)
    local tally = ok and self.tally.answered or self.tally.failed
    tally[name] = (tally[name] or 0) + 1
    return ok, result
end

--- A runner for one page. `tally` counts over all pages.
function plugins.runner(tally)
    return setmetatable({tally = tally}, Runner)
end

return plugins
