-- Lua functions as their source has them, methods, fields, nameless ones.
local Account = {}
Account.__index = Account
function Account.new(balance) return setmetatable({ balance = balance }, Account) end
function Account:deposit(amount) self.balance = self.balance + amount end
Account.withdraw = function(self, amount) self.balance = self.balance - amount end
Account["close account"] = function() end
local handlers = {
  open = function() end,
  ["on close"] = function() end,
}
local function call(callback) callback() end
local constant <const> = function() end
local account = Account.new(1)
account:deposit(2)
account:withdraw(1)
Account["close account"]()
handlers.open()
handlers["on close"]()
call(handlers.open)
call(constant)
call(function() end);
(function() end)()
local one, two = function() return 1 end, function() return 2 end
one()
two()
two()
print((function(...) return select("#", ...) end)(1, 2))
function Global() end
Global()
local alias = Global
alias()
local same = setmetatable({}, { __index = function(_, key) return key end, __len = function() return 1 end })
print(same.key, #same)
