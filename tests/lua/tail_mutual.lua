-- Mutual tail calls: each takes the place of the other, and one return ends the chain.
local odd
local function even(n)
  if n == 0 then return true end
  return odd(n - 1)
end
function odd(n)
  if n == 0 then return false end
  return even(n - 1)
end
local function after() end
assert(even(1000))
after()
