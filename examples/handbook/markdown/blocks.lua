-- SPDX-License-Identifier: MIT
-- From lines to blocks: headings, paragraphs, lists, quotations, tables, code.

local Source = require "markdown.source"

local blocks = {}

local Parser = {}
Parser.__index = Parser

local function trim(text)
    return text:match("^%s*(.-)%s*$")
end

function Parser:children(source)
    local list = {}
    while source:peek() do
        local block = self:block(source)
        if block then
            self.counts[block.kind] = (self.counts[block.kind] or 0) + 1
            list[#list + 1] = block
        end
    end
    return list
end

function Parser:blank(source)
    source:take()
    return nil
end

function Parser:heading(source, marks, title)
    source:take()
    return {kind = "heading", level = math.min(#marks, 6), text = title}
end

function Parser:fence(source, marks, language)
    source:take()
    local lines = {}
    local closing = "^%s*" .. marks
    while source:peek() and not source:peek():find(closing) do
        lines[#lines + 1] = source:take()
    end
    source:take()
    return {kind = "code", language = language, text = table.concat(lines, "\n")}
end

function Parser:quotation(source)
    local inside = Source.inside(source, function(line) return line:match("^> ?(.*)") end)
    return {kind = "quotation", children = self:children(inside)}
end

function Parser:definition(source, label, target)
    source:take()
    self.references[label:lower()] = target
    return nil
end

--- One item: its first line without the marker, then whatever is indented below it.
function Parser:item(source, width)
    local first = true
    local indent = (" "):rep(width)
    local inside = Source.inside(source, function(line)
        if first then
            first = false
            return line:sub(width + 1)
        end
        if line:sub(1, width) == indent then return line:sub(width + 1) end
        if line == "" then
            local following = source:peek_second()
            return following and following:sub(1, width) == indent and "" or nil
        end
        return nil
    end)
    return {kind = "item", children = self:children(inside)}
end

function Parser:list(source, pattern, kind)
    local items = {}
    while source:peek() do
        local marker = source:peek():match(pattern)
        if not marker then break end
        items[#items + 1] = self:item(source, #marker)
    end
    return {kind = kind, children = items}
end

local BULLET, NUMBER = "^([-*+] +)%S", "^(%d+[.)] +)%S"

function Parser:bullets(source)
    return self:list(source, BULLET, "bullets")
end

function Parser:numbers(source)
    return self:list(source, NUMBER, "numbers")
end

function Parser:rule(source)
    source:take()
    return {kind = "rule"}
end

local function cells_of(row)
    local cells = {}
    for cell in row:gsub("^%s*|", ""):gmatch("([^|]+)") do
        cells[#cells + 1] = trim(cell)
    end
    return cells
end

function Parser:table(source)
    local head = cells_of(source:take())
    local align = {}
    for i, cell in ipairs(cells_of(source:take())) do
        local left, right = cell:find("^:"), cell:find(":$")
        align[i] = left and right and "center" or right and "right" or "left"
    end
    local rows = {}
    while source:peek() and source:peek():find("|", 1, true) do
        rows[#rows + 1] = cells_of(source:take())
    end
    return {kind = "table", head = head, align = align, rows = rows}
end

--- What can begin in the middle of a paragraph and so ends it.
local function interrupts(line)
    return line == "" or line:find("^#+ ") or line:find("^>") or line:find("^```") or
               line:find(BULLET)
end

function Parser:paragraph(source)
    local following = source:peek_second()
    if following and following:find("^[%s|:-]*%-%-[%s|:-]*$") and following:find("|", 1, true) then
        return self:table(source)
    end
    local lines = {source:take()}
    while source:peek() and not interrupts(source:peek()) do
        if source:peek():find("^=+%s*$") then
            return self:heading(source, "#", table.concat(lines, " "))
        end
        lines[#lines + 1] = trim(source:take())
    end
    return {kind = "paragraph", text = table.concat(lines, "\n")}
end

-- Tried in this order; the captures become the arguments.
local rules = {
    {pattern = "^%s*$", parse = Parser.blank},
    {pattern = "^(#+)%s+(.-)%s*#*$", parse = Parser.heading},
    {pattern = "^(```+)%s*(%S*)", parse = Parser.fence},
    {pattern = "^>", parse = Parser.quotation},
    {pattern = "^%-%-%-+%s*$", parse = Parser.rule},
    {pattern = BULLET, parse = Parser.bullets},
    {pattern = NUMBER, parse = Parser.numbers},
    {pattern = "^%[([^%]]+)%]:%s*(%S+)", parse = Parser.definition},
}

function Parser:block(source)
    local line = source:peek()
    for _, rule in ipairs(rules) do
        local first, second = line:match(rule.pattern)
        if first then return rule.parse(self, source, first, second) end
    end
    return self:paragraph(source)
end

--- Parses a whole text. `references` maps the labels of links to their targets, and
--- `counts` says how many blocks there are of each kind.
function blocks.parse(text)
    local parser = setmetatable({references = {}, counts = {}}, Parser)
    return {
        kind = "document",
        children = parser:children(Source.of_text(text)),
        references = parser.references,
        counts = parser.counts,
    }
end

return blocks
