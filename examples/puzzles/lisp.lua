-- SPDX-License-Identifier: MIT
-- A small Lisp: a reader, and a compiler to closures. Its tail calls are Lua's.

local lisp = {}

local function read(next_token, token)
    if token == "(" then
        local list = {}
        for inner in next_token do
            if inner == ")" then return list end
            list[#list + 1] = read(next_token, inner)
        end
        error("a parenthesis is not closed", 0)
    end
    return tonumber(token) or token
end

local compile

--- Where a name is: how many frames out, and which place there.
local function locate(scope, name)
    local out = 0
    while scope do
        local place = scope.places[name]
        if place then return out, place end
        scope, out = scope.outer, out + 1
    end
    return nil
end

local function compile_name(name, scope, globals)
    local out, place = locate(scope, name)
    if not out then
        return function()
            local value = globals[name]
            if value == nil then error("nothing is called " .. name, 0) end
            return value
        end
    end
    if out == 0 then return function(frame) return frame[place] end end
    return function(frame)
        for _ = 1, out do frame = frame.outer end
        return frame[place]
    end
end

local function compile_body(forms, from, scope, globals)
    local parts = {}
    for i = from, #forms do parts[#parts + 1] = compile(forms[i], scope, globals) end
    local last = #parts
    if last == 1 then return parts[1] end
    return function(frame)
        for i = 1, last - 1 do parts[i](frame) end
        return parts[last](frame)
    end
end

local special = {}

special["if"] = function(form, scope, globals)
    local condition = compile(form[2], scope, globals)
    local yes = compile(form[3], scope, globals)
    local no = compile(form[4] or "false", scope, globals)
    return function(frame)
        if condition(frame) then return yes(frame) end
        return no(frame)
    end
end

special["lambda"] = function(form, scope, globals)
    local places = {}
    for i, name in ipairs(form[2]) do places[name] = i end
    local body = compile_body(form, 3, {places = places, outer = scope}, globals)
    return function(frame)
        return function(...)
            return body({outer = frame, ...})
        end
    end
end

special["define"] = function(form, scope, globals)
    local name = form[2]
    local value = compile(form[3], scope, globals)
    return function(frame)
        globals[name] = value(frame)
        return nil
    end
end

local function compile_call(form, scope, globals)
    local callee = compile(form[1], scope, globals)
    local arguments = {}
    for i = 2, #form do arguments[i - 1] = compile(form[i], scope, globals) end
    local first, second, third = table.unpack(arguments)
    if #arguments == 0 then return function(frame) return callee(frame)() end end
    if #arguments == 1 then return function(frame) return callee(frame)(first(frame)) end end
    if #arguments == 2 then
        return function(frame) return callee(frame)(first(frame), second(frame)) end
    end
    if #arguments == 3 then
        return function(frame)
            return callee(frame)(first(frame), second(frame), third(frame))
        end
    end
    error("too many arguments for " .. tostring(form[1]), 0)
end

function compile(form, scope, globals)
    if type(form) == "number" then return function() return form end end
    if type(form) == "string" then return compile_name(form, scope, globals) end
    local rule = special[form[1]]
    if rule then return rule(form, scope, globals) end
    return compile_call(form, scope, globals)
end

local function builtins()
    return {
        ["+"] = function(a, b) return a + b end,
        ["-"] = function(a, b) return a - b end,
        ["*"] = function(a, b) return a * b end,
        ["%"] = function(a, b) return a % b end,
        ["<"] = function(a, b) return a < b end,
        ["="] = function(a, b) return a == b end,
        ["cons"] = function(head, tail) return {head, tail} end,
        ["head"] = function(pair) return pair[1] end,
        ["tail"] = function(pair) return pair[2] end,
        ["nil"] = false,
        ["false"] = false,
        ["true"] = true,
    }
end

local function tokens(text)
    return coroutine.wrap(function()
        local at = 1
        while true do
            local token, after = text:match("^%s*([()])()", at)
            if not token then token, after = text:match("^%s*([^%s()]+)()", at) end
            if not token then return end
            coroutine.yield(token)
            at = after
        end
    end)
end

--- Runs a program. Returns the value of its last form.
function lisp.run(text)
    local globals, result = builtins(), nil
    local next_token = tokens(text)
    for token in next_token do
        local run = compile(read(next_token, token), nil, globals)
        result = run({})
    end
    return result
end

return lisp
