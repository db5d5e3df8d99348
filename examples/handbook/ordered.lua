-- SPDX-License-Identifier: MIT
-- Lists that are in order at every moment.

local ordered = {}

--- Makes a comparison of two items by `field`, and by `name` where those are equal.
function ordered.by(field, descending)
    return function(a, b)
        local x, y = a[field], b[field]
        if x == y then return a.name < b.name end
        if descending then return x > y end
        return x < y
    end
end

--- Puts `item` into `list` behind everything that comes before it.
function ordered.insert(list, item, before)
    local at = 1
    while list[at] and before(list[at], item) do at = at + 1 end
    table.insert(list, at, item)
end

return ordered
