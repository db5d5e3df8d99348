-- The program ends by an error: message, traceback and exit status are lua5.4's.
local function inner() local nothing; return nothing.field end
local function outer() inner() return 1 end
local function tail() return outer() end
tail()
