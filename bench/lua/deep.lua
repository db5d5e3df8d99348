-- SPDX-License-Identifier: MIT
-- Work at the end of stacks of 1 to 100 frames.
local function work(n)
  local total = 0
  for i = 1, n do total = total + i % 3 end
  return total
end
local function down(depth, n)
  if depth <= 1 then return work(n) + 0 end
  return down(depth - 1, n) + 0
end
local total = 0
for i = 1, tonumber(arg[1]) do total = total + down(i % 99 + 1, 2000) end
print(total)
