-- SPDX-License-Identifier: MIT
-- Builds binary trees and strings and lets go of them: all its time is allocation and the
-- collector's work.
local depth = tonumber(arg[1]) or 12

local function grow(level)
  if level == 0 then return {} end
  return { grow(level - 1), grow(level - 1) }
end

local function count(tree)
  if not tree[1] then return 1 end
  return 1 + count(tree[1]) + count(tree[2])
end

local function label(number)
  return "node " .. number .. ":" .. ("x"):rep(number % 40)
end

local kept, total = {}, 0
for round = 1, 24 do
  local tree = grow(depth)
  total = total + count(tree)
  if round % 4 == 0 then kept[#kept + 1] = tree end
  local names = {}
  for i = 1, 4000 do names[i] = label(i) end
  total = total + #table.concat(names)
end
print(total, #kept)
