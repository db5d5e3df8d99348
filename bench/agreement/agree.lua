-- SPDX-License-Identifier: MIT
-- How well do the self costs of blocks agree? Reads reports (cairn report --json) from a
-- directory and prints a line for each pair of clocks.

local directory = arg[1]

--- The self costs of a report by block: {[block] = cost}, and their sum. A Lua function is
--- known by where it is written, a C function by its name.
local function costs_of(name, metric)
    local costs, total = {}, 0
    for line in io.lines(directory .. "/" .. name .. ".json") do
        local block, file, at, column = line:match(
            '"block":{"id":%d+,"name":"(.-)","file":"(.-)","line":(%d+),"column":(%d+)')
        if not block then block, file = line:match('"block":{"id":%d+,"name":"(.-)"'), "" end
        if block then
            local key = at and ("%s:%s:%s"):format(file, at, column) or block
            local value = metric == "calls" and line:match('"calls":(%d+)')
                or line:match('"self":{.-"' .. metric .. '":(%d+)')
            costs[key] = (costs[key] or 0) + (tonumber(value) or 0)
            total = total + (tonumber(value) or 0)
        end
    end
    if total == 0 then error(name .. " has no " .. metric) end
    return costs, total
end

local function mean(list)
    local sum = 0
    for _, x in ipairs(list) do sum = sum + x end
    return sum / #list
end

local function pearson(xs, ys)
    local mx, my = mean(xs), mean(ys)
    local xy, xx, yy = 0, 0, 0
    for i = 1, #xs do
        local x, y = xs[i] - mx, ys[i] - my
        xy, xx, yy = xy + x * y, xx + x * x, yy + y * y
    end
    return xy / math.sqrt(xx * yy)
end

--- Ranks; equal values share the mean of theirs.
local function ranks(list)
    local order, rank = {}, {}
    for i = 1, #list do order[i] = i end
    table.sort(order, function(a, b) return list[a] < list[b] end)
    local from = 1
    while from <= #order do
        local to = from
        while order[to + 1] and list[order[to + 1]] == list[order[from]] do to = to + 1 end
        for i = from, to do rank[order[i]] = (from + to) / 2 end
        from = to + 1
    end
    return rank
end

local function spearman(xs, ys)
    return pearson(ranks(xs), ranks(ys))
end

--- Shares of both, for the blocks that have at least `least` of either.
local function shares_of(a, a_total, b, b_total, least)
    local keys, seen, xs, ys = {}, {}, {}, {}
    for _, costs in ipairs {a, b} do
        for key in pairs(costs) do
            if not seen[key] then
                seen[key] = true
                keys[#keys + 1] = key
            end
        end
    end
    table.sort(keys)
    for _, key in ipairs(keys) do
        local x, y = (a[key] or 0) / a_total, (b[key] or 0) / b_total
        if math.max(x, y) > least then xs[#xs + 1], ys[#ys + 1] = x, y end
    end
    return xs, ys
end

--- How many of the exact shares lie within the 95 % interval (Wilson) of the sampled ones.
local function covered(exact, sampled, samples)
    local z, inside = 1.96, 0
    for i = 1, #exact do
        local hits = sampled[i] * samples
        local middle = hits + z * z / 2
        local half = z * math.sqrt(hits * (1 - sampled[i]) + z * z / 4)
        local low, high = (middle - half) / (samples + z * z), (middle + half) / (samples + z * z)
        if low <= exact[i] and exact[i] <= high then inside = inside + 1 end
    end
    return ("%d of %d"):format(inside, #exact)
end

local clocks = {
    calls = {"ticks_1", "calls", "calls"},
    ticks = {"ticks_1", "ticks", "ticks, exact"},
    ticks_100 = {"ticks_100", "ticks", "ticks, one in 100", period = 100},
    ticks_1000 = {"ticks_1000", "ticks", "ticks, one in 1,000", period = 1000},
    wall = {"wall", "wall", "wall, exact"},
    wall_again = {"wall_again", "wall", "the same, other runs"},
    wall_sampled = {"wall_sampled", "wall", "wall, sampled at 1 kHz"},
    sample = {"sample", "wall", "--sample 1000"},
}

local pairs_to_compare = {
    {"calls", "ticks"}, {"calls", "wall"}, {"ticks", "wall"}, {"ticks", "sample"},
    {"ticks", "ticks_100"}, {"ticks", "ticks_1000"},
    {"wall", "wall_again"}, {"wall", "wall_sampled"}, {"wall", "sample"}, {"wall_sampled", "sample"},
}

local ROW = "| %-22s | %-22s | %6s | %7s | %8s | %7s | %7s | %10s |"
print(ROW:format("", "", "blocks", "Pearson", "Spearman", "", "overlap", "covered"))
print(ROW:format("", "", ">0.1 %", "", "all", ">0.1 %", "", ""))
for _, pair in ipairs(pairs_to_compare) do
    local first, second = clocks[pair[1]], clocks[pair[2]]
    local a, a_total = costs_of(first[1], first[2])
    local b, b_total = costs_of(second[1], second[2])
    local xs, ys = shares_of(a, a_total, b, b_total, 0)
    local big_xs, big_ys = shares_of(a, a_total, b, b_total, 0.001)
    local moved = 0
    for i = 1, #xs do moved = moved + math.abs(xs[i] - ys[i]) / 2 end
    print(ROW:format(first[3], second[3], #big_xs, ("%.4f"):format(pearson(xs, ys)),
                     ("%.3f"):format(spearman(xs, ys)), ("%.3f"):format(spearman(big_xs, big_ys)),
                     ("%.1f %%"):format(100 * (1 - moved)),
                     second.period and covered(xs, ys, b_total // second.period) or ""))
end

-- ---- what events cost -------------------------------------------------------------

--- Calls `visit` with the leaf, the block that called it and the value of each context.
local function each_context(name, visit)
    for line in io.lines(directory .. "/" .. name) do
        local path, value = line:match("^(.*) (%d+)$")
        local before, leaf = path:match("^(.*);([^;]*)$")
        visit(leaf or path, before and before:match("[^;]*$"), tonumber(value) + 0.0)
    end
end

local function add(sums, key, value)
    if key then sums[key] = (sums[key] or 0) + value end
end

--- Fits exact = a * sample + e * events, where the events of a block are the calls of it and
--- those that it makes: e is what one event puts on a block.
local function fit_events()
    local exact, sample, events = {}, {}, {}
    each_context("wall.costs", function(leaf, _, ns) add(exact, leaf, ns) end)
    each_context("sample.costs", function(leaf, _, ns) add(sample, leaf, ns) end)
    each_context("wall.calls", function(leaf, caller, calls)
        add(events, leaf, calls)
        add(events, caller, calls)
    end)
    local xs, es, ys = {}, {}, {}
    local xx, ee, xe, xy, ey = 0, 0, 0, 0, 0
    for block, y in pairs(exact) do
        local x, e = sample[block] or 0, events[block] or 0
        xs[#xs + 1], es[#es + 1], ys[#ys + 1] = x, e, y
        xx, ee, xe, xy, ey = xx + x * x, ee + e * e, xe + x * e, xy + x * y, ey + e * y
    end
    local determinant = xx * ee - xe * xe
    local a, cost = (xy * ee - ey * xe) / determinant, (ey * xx - xy * xe) / determinant
    local fitted = {}
    for i = 1, #xs do fitted[i] = a * xs[i] + cost * es[i] end
    return a, cost, pearson(xs, ys), pearson(fitted, ys)
end

local a, cost, before, after = fit_events()
print(("exact wall = %.2f * sample + %.0f ns * events: Pearson %.4f, without events %.4f"):format(
    a, cost, after, before))
