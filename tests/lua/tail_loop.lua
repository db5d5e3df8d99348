-- Ten million tail calls: memory does not grow with them.
local function loop(n)
  if n == 0 then return "done" end
  return loop(n - 1)
end
print(loop(10000000))
