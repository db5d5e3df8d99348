-- SPDX-License-Identifier: MIT
-- A profiler as it is usually written for Lua itself: a call and return hook that asks
-- debug.getinfo which function it is and os.clock what time it is. Counts calls and charges the
-- time between two events to the function that ran. Coroutines have a stack each.
--
--   lua5.4 hook_profiler.lua SCRIPT [ARGUMENT...]

local clock, getinfo, sethook = os.clock, debug.getinfo, debug.sethook
local create, resume = coroutine.create, coroutine.resume

local calls, seconds = {}, {}
local last

local function new_hook()
    local stack, depth = {}, 0
    return function(event)
        local called = getinfo(2, "f").func
        local now = clock()
        local running = stack[depth]
        if running then seconds[running] = seconds[running] + (now - last) end
        if event == "return" then
            -- Errors leave frames without an event: they go when a caller returns.
            local at = depth
            while at > 0 and stack[at] ~= called do at = at - 1 end
            if at > 0 then depth = at - 1 end
        else
            if event == "call" then depth = depth + 1 end
            stack[depth] = called
            if calls[called] then
                calls[called] = calls[called] + 1
            else
                calls[called], seconds[called] = 1, 0
            end
        end
        last = now
    end
end

-- A hook belongs to one coroutine alone.
function coroutine.create(body)
    local thread = create(body)
    sethook(thread, new_hook(), "cr")
    return thread
end

local function results(ok, ...)
    if not ok then error((...), 0) end
    return ...
end

function coroutine.wrap(body)
    local thread = coroutine.create(body)
    return function(...) return results(resume(thread, ...)) end
end

local function report(file)
    local order = {}
    for called in pairs(calls) do order[#order + 1] = called end
    table.sort(order, function(a, b) return seconds[a] > seconds[b] end)
    for i = 1, math.min(20, #order) do
        local called = order[i]
        local info = getinfo(called, "S")
        file:write(("%10d %9.3f  %s:%d\n"):format(calls[called], seconds[called], info.short_src,
            info.linedefined))
    end
end

local script = table.remove(arg, 1)
arg[0] = script
local program = assert(loadfile(script))
last = clock()
sethook(new_hook(), "cr")
local ok, message = pcall(program, table.unpack(arg))
sethook()
report(io.stderr)
if not ok then error(message, 0) end
