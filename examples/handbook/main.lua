-- SPDX-License-Identifier: MIT
-- The press: makes a web site of a walker's handbook and of a generated gazetteer, the
-- index at the back of the book, and answers questions about them.
--
--   lua5.4 examples/handbook/main.lua [--fast] [--hills N] [--questions N] [--out DIRECTORY]

local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. package.path

local document = require "markdown.document"
local html = require "markdown.html"
local Concordance = require "search.concordance"
local Index = require "search.index"
local query = require "search.query"
local gazetteer = require "site.gazetteer"
local plugins = require "site.plugins"

local CHAPTERS = {"cairns", "navigation", "weather", "rivers", "kit", "waymarking", "glossary"}

local function options_of(arguments)
    local options = {hills = 120, questions = 400, fast = false}
    local at = 1
    local function value()
        at = at + 1
        return arguments[at] or error(arguments[at - 1] .. " wants a value", 0)
    end
    local readers = {
        ["--fast"] = function() options.fast = true end,
        ["--hills"] = function() options.hills = math.tointeger(tonumber(value())) end,
        ["--questions"] = function() options.questions = math.tointeger(tonumber(value())) end,
        ["--out"] = function() options.out = value() end,
    }
    while arguments[at] do
        local reader = readers[arguments[at]] or error("no such option: " .. arguments[at], 0)
        reader()
        at = at + 1
    end
    return options
end

local function chapters()
    return coroutine.wrap(function()
        for _, name in ipairs(CHAPTERS) do
            local file <close> = assert(io.open(here .. "/pages/" .. name .. ".md"))
            coroutine.yield(name, file:read("a"))
        end
    end)
end

--- The pages of several generators, one generator after the other.
local function chain(...)
    local generators = {...}
    return coroutine.wrap(function()
        for _, generator in ipairs(generators) do
            for name, text in generator do coroutine.yield(name, text) end
        end
    end)
end

local function digest_of(texts)
    local digest = 5381
    for _, text in ipairs(texts) do
        for at = 1, #text - 7, 8 do
            digest = (digest * 31 ~ string.unpack("<i8", text, at)) & 0x7fffffffffffffff
        end
        digest = digest * 31 + #text & 0x7fffffffffffffff
    end
    return digest
end

local Press = {}
Press.__index = Press

function Press.new(options)
    return setmetatable({
        options = options,
        index = Index.new(),
        concordance = Concordance.new(options.fast),
        tally = {answered = {}, failed = {}},
        counts = {},
        files = {},
    }, Press)
end

function Press:page(name, text)
    local tree = document.parse(text)
    local body = html.render(tree, plugins.runner(self.tally))
    self.files[#self.files + 1] = ("<!doctype html><title>%s</title><nav>%s</nav>%s\n"):format(
        tree.title, document.contents_html(tree.contents), body)
    self.index:add(name, tree, function(word, page) self.concordance:add(word, page) end)
    for kind, count in pairs(tree.counts) do self.counts[kind] = (self.counts[kind] or 0) + count end
end

function Press:questions(count)
    local vocabulary = self.index.vocabulary
    local function word(i) return vocabulary[i * 7919 % #vocabulary + 1] end
    local shapes = {
        function(i) return word(i) end,
        function() return "path and not beck" end,
        function(i) return ('"path %s" or %s'):format(i % 2 == 0 and "follows" or "climbs", word(i)) end,
        function(i) return ("(%s or ridge) and %s*"):format(word(i), word(i + 1):sub(1, 2)) end,
        function(i) return ("turn and (ford or tarn or %s"):format(word(i)) .. (i % 20 == 4 and "" or ")") end,
    }
    return coroutine.wrap(function()
        for i = 1, count do coroutine.yield(shapes[i % #shapes + 1](i)) end
    end)
end

--- Answers every question. Returns a line for each.
function Press:answer()
    local lines = {}
    for question in self:questions(self.options.questions) do
        local ok, hits = pcall(query.run, self.index, question, 10)
        if ok then
            for i, hit in ipairs(hits) do hits[i] = ("%s %.3f"):format(hit.name, hit.score) end
            lines[#lines + 1] = question .. ": " .. table.concat(hits, ", ")
        else
            lines[#lines + 1] = question .. ": " .. hits
            self.unreadable = (self.unreadable or 0) + 1
        end
    end
    return lines
end

local function tally_text(tally)
    local names = {}
    for name in pairs(tally) do names[#names + 1] = name end
    table.sort(names)
    for i, name in ipairs(names) do names[i] = name .. " " .. tally[name] end
    return table.concat(names, ", ")
end

function Press:write(directory)
    for i, page in ipairs(self.index.pages) do
        local file <close> = assert(io.open(directory .. "/" .. page.name .. ".html", "w"))
        file:write(self.files[i])
    end
end

local function main(options)
    local press = Press.new(options)
    for name, text in chain(chapters(), gazetteer.pages(options.hills, 20)) do press:page(name, text) end
    local back = press.concordance:text()
    local answers = press:answer()
    if options.out then press:write(options.out) end

    print(("%d pages, %d words, %d of them different"):format(
        #press.index.pages, press.index.length, #press.concordance.entries))
    print("blocks: " .. tally_text(press.counts))
    print("plugins answered: " .. tally_text(press.tally.answered))
    print("plugins failed: " .. tally_text(press.tally.failed))
    print(("%d questions, %d of them unreadable"):format(#answers, press.unreadable or 0))
    print(("digests: html %016x, concordance %016x, answers %016x"):format(
        digest_of(press.files), digest_of({back}), digest_of(answers)))
end

local ok, options = pcall(options_of, arg)
if not ok then
    io.stderr:write("main.lua: ", options, "\n")
    os.exit(2)
end
main(options)
