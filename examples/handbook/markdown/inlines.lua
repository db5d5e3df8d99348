-- SPDX-License-Identifier: MIT
-- From the text of a block to what is inside it: emphasis, links, code, shortcodes.

local inlines = {}

local Scanner = {}
Scanner.__index = Scanner

local SPECIAL = "[\\`*_%[!<{]"

function Scanner:text_node(text)
    return {kind = "text", text = text}
end

--- Nodes up to the delimiter `stop`, or to the end where there is none.
function Scanner:nodes(stop)
    local list = {}
    local text = self.text
    while self.at <= #text do
        if stop and text:sub(self.at, self.at + #stop - 1) == stop then
            self.at = self.at + #stop
            return list
        end
        local special = text:find(SPECIAL, self.at)
        if special ~= self.at then
            local plain = text:sub(self.at, (special or 0) - 1)
            self.at = special or #text + 1
            list[#list + 1] = self:text_node(plain)
        else
            list[#list + 1] = self:special(text:sub(special, special))
        end
    end
    return list
end

--- The special character means itself after all.
function Scanner:literal(length)
    local at = self.at
    self.at = at + (length or 1)
    return self:text_node(self.text:sub(at, self.at - 1))
end

function Scanner:escape()
    local escaped = self.text:match("^\\(%p)", self.at)
    if not escaped then return self:literal() end
    self.at = self.at + 2
    return self:text_node(escaped)
end

function Scanner:code()
    local marks = self.text:match("^`+", self.at)
    local from = self.at + #marks
    local first, last = self.text:find(marks, from, true)
    if not first then return self:literal(#marks) end
    self.at = last + 1
    return {kind = "code_span", text = self.text:sub(from, first - 1)}
end

function Scanner:emphasis(character)
    local double = character .. character
    local mark = self.text:sub(self.at, self.at + 1) == double and double or character
    local from = self.at + #mark
    if self.text:find("^%s", from) or not self.text:find(mark, from, true) then
        return self:literal(#mark)
    end
    self.at = from
    return {kind = #mark == 2 and "strong" or "emphasis", children = self:nodes(mark)}
end

--- The position of the bracket that closes the one at `from`.
local function closing_bracket(text, from)
    local depth = 0
    for at in text:gmatch("()[%[%]]", from) do
        depth = depth + (text:sub(at, at) == "[" and 1 or -1)
        if depth == 0 then return at end
    end
    return nil
end

function Scanner:link(kind)
    local open = self.text:find("[", self.at, true)
    local close = closing_bracket(self.text, open)
    if not close then return self:literal() end
    local label = self.text:sub(open + 1, close - 1)
    local target, after = self.text:match("^%(([^%s)]*)%)()", close + 1)
    if not target then
        local name
        name, after = self.text:match("^%[([^%]]*)%]()", close + 1)
        if not name or name == "" then name = label end
        target = self.references[name:lower()]
        after = after or close + 1
    end
    if not target then return self:literal() end
    self.at = after
    return {kind = kind, target = target, children = inlines.parse(label, self.references)}
end

function Scanner:image()
    if self.text:sub(self.at + 1, self.at + 1) ~= "[" then return self:literal() end
    return self:link("image")
end

function Scanner:automatic_link()
    local target, after = self.text:match("^<(%a+:[^%s>]+)>()", self.at)
    if not target then return self:literal() end
    self.at = after
    return {kind = "link", target = target, children = {self:text_node(target)}}
end

function Scanner:shortcode()
    local name, arguments, after = self.text:match("^{{(%a+)%s*(.-)}}()", self.at)
    if not name then return self:literal() end
    self.at = after
    return {kind = "shortcode", name = name, arguments = arguments}
end

function Scanner:special(character)
    if character == "\\" then return self:escape() end
    if character == "`" then return self:code() end
    if character == "[" then return self:link("link") end
    if character == "!" then return self:image() end
    if character == "<" then return self:automatic_link() end
    if character == "{" then return self:shortcode() end
    return self:emphasis(character)
end

function inlines.parse(text, references)
    return setmetatable({text = text, at = 1, references = references}, Scanner):nodes()
end

return inlines
