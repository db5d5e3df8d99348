-- To-be-closed variables: on return, on break, on an error.
local function release() end
local function guard()
  return setmetatable({}, { __close = function() release() end })
end
local function normally()
  local own <close> = guard()
  return "value"
end
local function by_error()
  local own <close> = guard()
  error("raised", 0)
end
local function in_loop()
  for i = 1, 3 do
    local own <close> = guard()
    if i == 2 then break end
  end
end
print(normally())
print(pcall(by_error))
in_loop()
release()
