-- os.exit from inside of calls and of a coroutine, closing the state.
local function leave(n)
  if n == 0 then os.exit(7, true) end
  leave(n - 1)
end
local guard <close> = setmetatable({}, { __close = function() print("closed") end })
io.write("going\n")
coroutine.wrap(function() leave(3) end)()
