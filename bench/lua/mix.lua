-- SPDX-License-Identifier: MIT
-- Closures, methods and tables: accounts that many small functions work on.
local Account = {}
Account.__index = Account

function Account.new(balance) return setmetatable({ balance = balance, log = {} }, Account) end

function Account:deposit(amount)
  self.balance = self.balance + amount
  self.log[#self.log % 16 + 1] = amount
end

function Account:read() return self.balance end

local function counter()
  local count = 0
  return function(step)
    count = count + step
    return count
  end
end

local function map(list, apply)
  local made = {}
  for i = 1, #list do made[i] = apply(list[i]) end
  return made
end

local function sum(list)
  local total = 0
  for _, value in ipairs(list) do total = total + value end
  return total
end

local account = Account.new(0)
local tick = counter()
local list = {}
for i = 1, 20 do list[i] = i end
for i = 1, tonumber(arg[1]) do
  local mapped = map(list, function(value) return tick(value) % 7 end)
  account:deposit(sum(mapped))
  if i % 10 == 0 then account:read() end
end
print(account:read(), tick(0))
