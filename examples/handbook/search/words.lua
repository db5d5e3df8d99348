-- SPDX-License-Identifier: MIT
-- From documents and questions to the words that the index knows.

local words = {}

--- The pattern of a word: letters of any language, as long as its text is UTF-8.
words.PATTERN = "[%a\x80-\xff][%w'\x80-\xff]*"

local STOP = {}
for word in ("a an and are as at be best but by for from has have in is it its not of on or " ..
             "one than that the their then there they this to was were where which with"):gmatch("%a+") do
    STOP[word] = true
end

-- Suffixes are taken off one after the other, each step ending in a call of the next.
local steps = {}

local function step(word, number)
    local rule = steps[number]
    if not rule or #word < 5 then return word end
    return rule(word, number + 1)
end

local function strip(suffix, replacement)
    return function(word, following)
        local stem = word:match("^(.+)" .. suffix .. "$")
        if stem and #stem >= 3 then return step(stem .. replacement, following) end
        return step(word, following)
    end
end

steps[1] = strip("'s", "")
steps[2] = strip("ies", "y")
steps[3] = strip("([^su])s", "")
steps[4] = strip("ing", "")
steps[5] = strip("ed", "")
steps[6] = strip("ly", "")

local known = {}

--- The word's stem, remembered. Nil for words that say nothing.
function words.stem(word)
    local stem = known[word]
    if stem == nil then
        local lower = word:lower()
        stem = not STOP[lower] and step(lower, 1)
        known[word] = stem
    end
    return stem or nil
end

local function walk(node)
    if node.text and not node.children then
        for word in node.text:gmatch(words.PATTERN) do coroutine.yield(word) end
    end
    for _, child in ipairs(node.children or {}) do walk(child) end
    if node.kind == "table" then
        for _, cell in ipairs(node.head) do walk({children = cell}) end
        for _, row in ipairs(node.rows) do
            for _, cell in ipairs(row) do walk({children = cell}) end
        end
    end
end

--- Yields the words of a document as they are written, in order.
function words.of(document)
    return coroutine.wrap(walk), document
end

return words
