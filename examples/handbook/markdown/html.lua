-- SPDX-License-Identifier: MIT
-- From the tree of a document to HTML.

local html = {}

local ENTITIES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;"}

local function escape(text)
    return (text:gsub('[&<>"]', ENTITIES))
end

--- Dashes, ellipses and apostrophes as a typesetter sets them.
local function typeset(text)
    if text:find("[-.']") then
        text = text:gsub("%-%-%-", "—"):gsub("%-%-", "–"):gsub("%.%.%.", "…"):gsub("(%a)'(%a)", "%1’%2")
    end
    return text
end

local Renderer = {}
Renderer.__index = Renderer

function Renderer:element(name, children, attributes)
    self.emit("<" .. name .. (attributes or "") .. ">")
    self:all(children)
    self.emit("</" .. name .. ">")
end

function Renderer:all(nodes)
    for _, node in ipairs(nodes) do self:node(node) end
end

function Renderer:node(node)
    local method = self[node.kind]
    if not method then error("cannot render a " .. node.kind) end
    return method(self, node)
end

function Renderer:document(node)
    return self:all(node.children)
end

function Renderer:heading(node)
    local anchor = ' id="' .. escape(node.anchor) .. '"'
    return self:element("h" .. node.level, node.children, anchor)
end

function Renderer:paragraph(node)
    return self:element("p", node.children)
end

function Renderer:quotation(node)
    return self:element("blockquote", node.children)
end

function Renderer:bullets(node)
    return self:element("ul", node.children)
end

function Renderer:numbers(node)
    return self:element("ol", node.children)
end

function Renderer:item(node)
    return self:element("li", node.children)
end

function Renderer:rule()
    return self.emit("<hr>")
end

function Renderer:code(node)
    local class = node.language ~= "" and ' class="language-' .. escape(node.language) .. '"' or ""
    return self.emit("<pre><code" .. class .. ">" .. escape(node.text) .. "</code></pre>")
end

function Renderer:row(cells, name, align)
    self.emit("<tr>")
    for i, cell in ipairs(cells) do
        self:element(name, cell, ' class="' .. (align[i] or "left") .. '"')
    end
    self.emit("</tr>")
end

function Renderer:table(node)
    self.emit("<table>")
    self:row(node.head, "th", node.align)
    for _, row in ipairs(node.rows) do self:row(row, "td", node.align) end
    return self.emit("</table>")
end

function Renderer:text(node)
    return self.emit(typeset(escape(node.text)))
end

function Renderer:strong(node)
    return self:element("strong", node.children)
end

function Renderer:emphasis(node)
    return self:element("em", node.children)
end

function Renderer:code_span(node)
    return self.emit("<code>" .. escape(node.text) .. "</code>")
end

function Renderer:link(node)
    return self:element("a", node.children, ' href="' .. escape(node.target) .. '"')
end

function Renderer:image(node)
    local words = {}
    for _, child in ipairs(node.children) do words[#words + 1] = child.text or "" end
    return self.emit(('<img src="%s" alt="%s">'):format(escape(node.target),
                                                        escape(table.concat(words))))
end

function Renderer:shortcode(node)
    local ok, result = self.plugins:run(node.name, node.arguments)
    if ok then return self.emit(result) end
    return self.emit('<span class="problem">' .. escape(result) .. "</span>")
end

--- The HTML of a document. `plugins` answers its shortcodes.
function html.render(document, plugins)
    local parts = {}
    local renderer = setmetatable({plugins = plugins}, Renderer)
    function renderer.emit(text)
        parts[#parts + 1] = text
    end
    renderer:node(document)
    return table.concat(parts)
end

return html
