-- pcall in pcall, xpcall with handlers, errors in handlers, errors through C functions.
local function after() end
local function fail(message) error(message, 0) end
local function handler(message)
  after()
  return "handled " .. tostring(message)
end
print(pcall(pcall, fail, "twice"))
print(xpcall(fail, handler, "once"))
print(xpcall(function() return nil + 1 end, handler))
print(xpcall(fail, function(message) fail(message) end, "again"))
print(pcall(function()
  print(pcall(fail, "inner"))
  after()
  fail("outer")
end))
print(pcall(string.gsub, "x", "x", function() fail("in gsub") end))
print(pcall(table.sort, { 3, 2, 1 }, function() fail("in sort") end))
print(pcall(string.rep))
after()
