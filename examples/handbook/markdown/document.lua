-- SPDX-License-Identifier: MIT
-- A whole document: blocks, what is inside them, and the table of contents.

local blocks = require "markdown.blocks"
local inlines = require "markdown.inlines"

local document = {}

--- The words of a tree of nodes, without their markup, in order.
function document.plain(nodes, out)
    out = out or {}
    for _, node in ipairs(nodes) do
        if node.children then
            document.plain(node.children, out)
        elseif node.text then
            out[#out + 1] = node.text
        end
    end
    return out
end

--- Makes anchors out of titles, each once a document.
local function anchors()
    local used = {}
    return function(title)
        local anchor = title:lower():gsub("[^%w%s-]", ""):gsub("%s+", "-")
        local count = used[anchor]
        used[anchor] = (count or 0) + 1
        return count and anchor .. "-" .. count or anchor
    end
end

local function parse_inside(node, references, anchor_of)
    if node.kind == "table" then
        local function parse_cell(cell) return inlines.parse(cell, references) end
        local function parse_row(row)
            local cells = {}
            for i, cell in ipairs(row) do cells[i] = parse_cell(cell) end
            return cells
        end
        node.head = parse_row(node.head)
        for i, row in ipairs(node.rows) do node.rows[i] = parse_row(row) end
    elseif node.children then
        for _, child in ipairs(node.children) do parse_inside(child, references, anchor_of) end
    elseif node.kind == "paragraph" or node.kind == "heading" then
        node.children = inlines.parse(node.text, references)
        if node.kind == "heading" then
            node.anchor = anchor_of(table.concat(document.plain(node.children)))
        end
    end
end

--- Nests the headings from `at` on that are deeper than `level`. Returns where it ended.
local function nest(headings, at, level)
    local entries = {}
    while headings[at] and headings[at].level > level do
        local heading = headings[at]
        local entry = {heading = heading}
        entry.entries, at = nest(headings, at + 1, heading.level)
        entries[#entries + 1] = entry
    end
    return entries, at
end

local function headings_of(node, found)
    for _, child in ipairs(node.children or {}) do
        if child.kind == "heading" then
            found[#found + 1] = child
        elseif child.kind == "quotation" then
            headings_of(child, found)
        end
    end
    return found
end

function document.parse(text)
    local tree = blocks.parse(text)
    parse_inside(tree, tree.references, anchors())
    local headings = headings_of(tree, {})
    tree.title = headings[1] and table.concat(document.plain(headings[1].children)) or "Untitled"
    tree.contents = nest(headings, 1, 0)
    return tree
end

--- The table of contents as nested lists.
function document.contents_html(entries)
    if #entries == 0 then return "" end
    local items = {}
    for _, entry in ipairs(entries) do
        local title = table.concat(document.plain(entry.heading.children))
        items[#items + 1] = ('<li><a href="#%s">%s</a>%s</li>'):format(
            entry.heading.anchor, title, document.contents_html(entry.entries))
    end
    return "<ul>" .. table.concat(items) .. "</ul>"
end

return document
