-- SPDX-License-Identifier: MIT
-- Argument: how often.
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local function work()
  local words = {}
  for i = 1, 100000 do words[i] = tostring(i * 7919 % 100003) .. "x" end
  table.sort(words)
  local length = 0
  for word in string.gmatch(string.rep("hello brave world ", 30000), "%a+") do length = length + #word end
  local object = setmetatable({}, {__index = function(_, key) return #key end})
  for i = 1, 200000 do length = length + object["key" .. i % 100] end
  return fib(27), #words, words[77], length
end
for _ = 1, tonumber(arg[1] or 1) do print(work()) end
