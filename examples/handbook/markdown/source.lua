-- SPDX-License-Identifier: MIT
-- A stream of lines with one line of look-ahead, and generators that feed it.

local Source = {}
Source.__index = Source

--- Wraps an iterator function that returns a line at a time, then nil.
function Source.new(iterator)
    local ended = false
    local function read()
        local line = not ended and iterator() or nil
        ended = not line
        return line
    end
    return setmetatable({read = read, line = read(), second = nil}, Source)
end

function Source:peek()
    return self.line
end

--- The line after the next one.
function Source:peek_second()
    if not self.second and self.line then self.second = self.read() end
    return self.second
end

function Source:take()
    local line = self.line
    if self.second then
        self.line, self.second = self.second, nil
    elseif line then
        self.line = self.read()
    end
    return line
end

--- The lines of a text, tabs made spaces.
function Source.of_text(text)
    return Source.new(coroutine.wrap(function()
        for line in text:gmatch("([^\n]*)\n?") do
            if line:find("\t", 1, true) then
                line = line:gsub("()\t", function(at) return (" "):rep(4 - (at - 1) % 4) end)
            end
            coroutine.yield(line)
        end
    end))
end

--- The lines of `outer` for as long as `inner` makes something of them: what is inside
--- a quotation or a list item, its marker taken off. Nothing is read ahead of need.
function Source.inside(outer, inner)
    return Source.new(coroutine.wrap(function()
        local line = outer:peek()
        while line do
            local content = inner(line)
            if not content then return end
            outer:take()
            coroutine.yield(content)
            line = outer:peek()
        end
    end))
end

return Source
