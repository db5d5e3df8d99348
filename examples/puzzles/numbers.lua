-- SPDX-License-Identifier: MIT
-- Numeric work: a Fourier transform, products of long numbers by it, linear equations,
-- and recurrences with a memory.

local numbers = {}

--- Fourier transform of the complex numbers re + i im, in place. Recursive, radix 2;
--- `sign` is -1 forwards and 1 backwards.
local function transform(re, im, count, sign)
    if count == 1 then return re, im end
    local half = count // 2
    local even_re, even_im, odd_re, odd_im = {}, {}, {}, {}
    for i = 1, half do
        even_re[i], even_im[i] = re[2 * i - 1], im[2 * i - 1]
        odd_re[i], odd_im[i] = re[2 * i], im[2 * i]
    end
    even_re, even_im = transform(even_re, even_im, half, sign)
    odd_re, odd_im = transform(odd_re, odd_im, half, sign)
    local angle = sign * 2 * math.pi / count
    for i = 1, half do
        local c, s = math.cos(angle * (i - 1)), math.sin(angle * (i - 1))
        local r = c * odd_re[i] - s * odd_im[i]
        local j = c * odd_im[i] + s * odd_re[i]
        re[i], im[i] = even_re[i] + r, even_im[i] + j
        re[i + half], im[i + half] = even_re[i] - r, even_im[i] - j
    end
    return re, im
end

local Natural = {}
Natural.__index = Natural

local function natural(digits)
    return setmetatable(digits, Natural)
end

--- A natural number from a small one; digits in base 100, the least first.
function numbers.natural(value)
    local digits = {}
    repeat
        digits[#digits + 1] = value % 100
        value = value // 100
    until value == 0
    return natural(digits)
end

local function padded(digits, count)
    local re, im = {}, {}
    for i = 1, count do re[i], im[i] = digits[i] or 0, 0.0 end
    return re, im
end

function Natural.__mul(a, b)
    local count = 1
    while count < #a + #b do count = count * 2 end
    local a_re, a_im = padded(a, count)
    local b_re, b_im = padded(b, count)
    a_re, a_im = transform(a_re, a_im, count, -1)
    b_re, b_im = transform(b_re, b_im, count, -1)
    for i = 1, count do
        a_re[i], a_im[i] = a_re[i] * b_re[i] - a_im[i] * b_im[i],
                           a_re[i] * b_im[i] + a_im[i] * b_re[i]
    end
    local product = transform(a_re, a_im, count, 1)
    local digits, carry = {}, 0
    for i = 1, count do
        carry = carry + (product[i] / count + 0.5) // 1 | 0
        digits[i], carry = carry % 100, carry // 100
    end
    while #digits > 1 and digits[#digits] == 0 do digits[#digits] = nil end
    return natural(digits)
end

function Natural.__tostring(number)
    local parts = {}
    for i = #number, 1, -1 do parts[#parts + 1] = ("%02d"):format(number[i]) end
    return (table.concat(parts):gsub("^0+(%d)", "%1"))
end

--- `base` to the power of `exponent`, by squaring.
function numbers.power(base, exponent)
    if exponent == 1 then return base end
    local root = numbers.power(base, exponent // 2)
    local square = root * root
    return exponent % 2 == 0 and square or square * base
end

--- Solves `matrix` x = `right` by elimination with pivots. Both are overwritten.
function numbers.solve(matrix, right)
    local size = #right
    for column = 1, size do
        local pivot = column
        for row = column + 1, size do
            if math.abs(matrix[row][column]) > math.abs(matrix[pivot][column]) then pivot = row end
        end
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        right[column], right[pivot] = right[pivot], right[column]
        for row = column + 1, size do
            local factor = matrix[row][column] / matrix[column][column]
            local target, source = matrix[row], matrix[column]
            for i = column, size do target[i] = target[i] - factor * source[i] end
            right[row] = right[row] - factor * right[column]
        end
    end
    for row = size, 1, -1 do
        for i = row + 1, size do right[row] = right[row] - matrix[row][i] * right[i] end
        right[row] = right[row] / matrix[row][row]
    end
    return right
end

--- A function of two integers that remembers; `define` gets itself to recur with.
function numbers.memoized(define)
    local memory = {}
    local function recall(a, b)
        local key = a << 20 | b
        local value = memory[key]
        if value == nil then
            value = define(recall, a, b)
            memory[key] = value
        end
        return value
    end
    return recall
end

return numbers
