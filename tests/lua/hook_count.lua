-- The program's count hook: a watchdog, and exact counts, its own instructions among them.
local ticks = 0
local function work(n)
  local sum = 0
  for i = 1, n do sum = sum + i end
  return sum
end
debug.sethook(function() ticks = ticks + 1 end, "", 7)
work(700)
debug.sethook()
print(ticks)
local function watched()
  debug.sethook(function() error("timeout", 0) end, "", 2500)
  while true do end
end
print(pcall(watched))
debug.sethook()
ticks = 0
debug.sethook(function() ticks = ticks + 1 end, "", 1000)
work(10000)
print(select(2, debug.gethook()), select(3, debug.gethook()))
debug.sethook()
print(ticks)
