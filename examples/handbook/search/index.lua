-- SPDX-License-Identifier: MIT
-- Which word is where: postings with positions.

local words = require "search.words"

local Index = {}
Index.__index = Index

function Index.new()
    return setmetatable({postings = {}, vocabulary = {}, pages = {}, length = 0}, Index)
end

--- Adds a page. `notice` is told every word, as it is written, with the page.
function Index:add(name, document, notice)
    local page = {name = name, title = document.title, number = #self.pages + 1, words = 0}
    self.pages[page.number] = page
    local position = 0
    for word in words.of(document) do
        position = position + 1
        local stem = words.stem(word)
        if stem then
            self:post(stem, page, position)
            notice(word, page)
        end
    end
    page.words = position
    self.length = self.length + position
    return page
end

function Index:post(stem, page, position)
    local list = self.postings[stem]
    if not list then
        list = {}
        self.postings[stem] = list
        self.vocabulary[#self.vocabulary + 1] = stem
    end
    local last = list[#list]
    if last and last.page == page then
        last.positions[#last.positions + 1] = position
    else
        list[#list + 1] = {page = page, positions = {position}}
    end
end

--- What a page scores for a posting of a word that is on `spread` pages (BM25).
function Index:score(posting, spread)
    local count = #posting.positions
    local rarity = math.log(1 + (#self.pages - spread + 0.5) / (spread + 0.5))
    local relative = posting.page.words / (self.length / #self.pages)
    return rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * relative))
end

return Index
