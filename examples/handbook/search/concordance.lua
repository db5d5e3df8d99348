-- SPDX-License-Identifier: MIT
-- The back of the book: every word with the pages that it is on, in alphabetical order.

local ordered = require "ordered"

local Concordance = {}
Concordance.__index = Concordance

local alphabetical = ordered.by("heading")

--- With `sort_at_end` the entries are put in order once, by `finish`, and not each as it
--- comes.
function Concordance.new(sort_at_end)
    return setmetatable({entries = {}, by_heading = {}, sort_at_end = sort_at_end}, Concordance)
end

function Concordance:add(word, page)
    local heading = word:lower()
    local entry = self.by_heading[heading]
    if not entry then
        entry = {heading = heading, name = word, pages = {}}
        self.by_heading[heading] = entry
        if self.sort_at_end then
            self.entries[#self.entries + 1] = entry
        else
            ordered.insert(self.entries, entry, alphabetical)
        end
    end
    local pages = entry.pages
    if pages[#pages] ~= page.number then pages[#pages + 1] = page.number end
end

function Concordance:finish()
    if self.sort_at_end then table.sort(self.entries, alphabetical) end
    return self.entries
end

--- Runs of pages shortened: 3, 4, 5, 9 becomes "3-5, 9".
local function ranges(pages)
    local parts, from = {}, 1
    for i = 1, #pages do
        if pages[i + 1] ~= pages[i] + 1 then
            parts[#parts + 1] = pages[from] == pages[i] and pages[i] or pages[from] .. "-" .. pages[i]
            from = i + 1
        end
    end
    return table.concat(parts, ", ")
end

function Concordance:text()
    local lines = {}
    for i, entry in ipairs(self:finish()) do lines[i] = entry.heading .. "  " .. ranges(entry.pages) end
    return table.concat(lines, "\n")
end

return Concordance
