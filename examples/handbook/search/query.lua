-- SPDX-License-Identifier: MIT
-- Questions: words, "phrases", prefix*, and, or, not and parentheses, compiled to
-- closures that map a page to its score.

local ordered = require "ordered"
local words = require "search.words"

local query = {}

local Compiler = {}
Compiler.__index = Compiler

local function tokens(text)
    return coroutine.wrap(function()
        local at = 1
        while true do
            local quoted, after = text:match('^%s*"([^"]*)"()', at)
            if quoted then
                coroutine.yield("phrase", quoted)
            else
                local word
                word, after = text:match("^%s*([()]?)()", at)
                if word ~= "" then
                    coroutine.yield(word)
                else
                    word, after = text:match("^%s*([%w'*\x80-\xff-]+)()", at)
                    if not word then break end
                    local keyword = word == "and" or word == "or" or word == "not"
                    coroutine.yield(keyword and word or "word", word)
                end
            end
            at = after
        end
        if text:find("%S", at) then error("cannot read '" .. text:sub(at) .. "'", 0) end
        coroutine.yield("end")
    end)
end

function Compiler:advance()
    self.kind, self.value = self.next_token()
end

--- The scores of a word by page.
function Compiler:postings_of(stem)
    local scores, list = {}, self.index.postings[stem] or {}
    for _, posting in ipairs(list) do
        scores[posting.page] = self.index:score(posting, #list)
    end
    return scores
end

function Compiler:word(word)
    local prefix = word:match("^(.+)%*$")
    if prefix then return self:prefix(prefix:lower()) end
    local scores = self:postings_of(words.stem(word) or "")
    return function(page) return scores[page] end
end

function Compiler:prefix(prefix)
    local totals = {}
    for _, stem in ipairs(self.index.vocabulary) do
        if stem:sub(1, #prefix) == prefix then
            for page, score in pairs(self:postings_of(stem)) do
                totals[page] = math.max(totals[page] or 0, score)
            end
        end
    end
    return function(page) return totals[page] end
end

local function positions_on(list, page)
    for _, posting in ipairs(list) do
        if posting.page == page then return posting.positions end
    end
    return {}
end

--- Words of which each stands a place behind the one before it.
function Compiler:phrase(text)
    local stems = {}
    for word in text:gmatch(words.PATTERN) do stems[#stems + 1] = words.stem(word) or false end
    local lists = {}
    for i, stem in ipairs(stems) do lists[i] = stem and self.index.postings[stem] or {} end

    local function follows(page, number, position)
        if number > #stems then return true end
        if not stems[number] then return follows(page, number + 1, position + 1) end
        for _, candidate in ipairs(positions_on(lists[number], page)) do
            if candidate == position then return follows(page, number + 1, position + 1) end
        end
        return false
    end

    local first = self:postings_of(stems[1] or "")
    return function(page)
        if not first[page] then return nil end
        for _, position in ipairs(positions_on(lists[1], page)) do
            if follows(page, 2, position + 1) then return first[page] * #stems end
        end
        return nil
    end
end

function Compiler:primary()
    local kind, value = self.kind, self.value
    self:advance()
    if kind == "word" then return self:word(value) end
    if kind == "phrase" then return self:phrase(value) end
    if kind == "not" then
        local inner = self:primary()
        return function(page) return not inner(page) and 0.1 or nil end
    end
    if kind == "(" then
        local inner = self:alternatives()
        if self.kind ~= ")" then error("a parenthesis is not closed", 0) end
        self:advance()
        return inner
    end
    error("a word is missing before '" .. tostring(value or kind) .. "'", 0)
end

function Compiler:conjunction()
    local left = self:primary()
    while self.kind ~= "end" and self.kind ~= ")" and self.kind ~= "or" do
        if self.kind == "and" then self:advance() end
        local first, second = left, self:primary()
        left = function(page)
            local score = first(page)
            local more = score and second(page)
            return more and score + more
        end
    end
    return left
end

function Compiler:alternatives()
    local left = self:conjunction()
    while self.kind == "or" do
        self:advance()
        local first, second = left, self:conjunction()
        left = function(page)
            local score, more = first(page), second(page)
            return score and more and score + more or score or more
        end
    end
    return left
end

function query.compile(index, text)
    local compiler = setmetatable({index = index, next_token = tokens(text)}, Compiler)
    compiler:advance()
    local matches = compiler:alternatives()
    if compiler.kind ~= "end" then error("a parenthesis is not open", 0) end
    return matches
end

local best_first = ordered.by("score", true)

--- The best pages for a question, best first. An error where it cannot be read.
function query.run(index, text, limit)
    local matches = query.compile(index, text)
    local hits = {}
    for _, page in ipairs(index.pages) do
        local score = matches(page)
        if score then
            ordered.insert(hits, {score = score, name = page.name, page = page}, best_first)
            hits[limit + 1] = nil
        end
    end
    return hits
end

return query
