-- Tail calls across pcall: a C function in tail position is called from below the frame
-- that returns what it returns.
local function bottom(n)
  if n == 0 then error("bottom", 0) end
  return bottom(n - 1)
end
local function guarded(n)
  if n == 0 then return bottom(3) end
  return pcall(guarded, n - 1)
end
local function last() return select("#", 1, 2) end
local function after() end
print(guarded(2))
print(pcall(bottom, 5))
print(last())
after()
