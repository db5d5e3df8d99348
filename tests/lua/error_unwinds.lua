-- Lua says nothing of the frames that an error unwinds.
local function thrower(n)
  if n == 0 then error({}) end
  thrower(n - 1)
end
local function catcher(n)
  local ok = pcall(thrower, n)
  return ok
end
local function after() end
for n = 1, 5 do
  catcher(n)
  after()
end
