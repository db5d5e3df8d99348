-- SPDX-License-Identifier: MIT
-- Writes the gazetteer: a page for each hill of a country that does not exist. The same
-- seed gives the same country.

local gazetteer = {}

--- A generator of pseudo-random numbers, as closures over its state.
local function dice(seed)
    local state = seed
    local function roll(sides)
        state = (state * 6364136223846793005 + 1442695040888963407) & 0x7fffffffffffffff
        return (state >> 33) % sides + 1
    end
    return roll, function(list) return list[roll(#list)] end
end

local ONSETS = {"b", "br", "c", "cl", "d", "dr", "f", "g", "gl", "h", "k", "l", "m", "n", "r",
                "s", "sk", "st", "t", "th", "tr", "w"}
local VOWELS = {"a", "e", "i", "o", "u", "ai", "ea", "oa", "ou"}
local CODAS = {"", "", "l", "n", "nd", "r", "rk", "s", "sk", "th", "ll", "m"}
local KINDS = {"Fell", "Pike", "Law", "Knott", "Rigg", "Seat", "How", "Scar"}
local FEATURES = {"beck", "bealach", "corrie", "ridge", "tarn", "ford", "bothy", "sheepfold",
                  "boulder field", "gate", "footbridge", "spring"}
local GROUND = {"grassy", "stony", "boggy", "heathery", "bare", "broken", "well-trodden"}
local VERBS = {"climbs", "follows", "crosses", "skirts", "leaves", "rejoins", "drops to", "contours"}
local WARNINGS = {"In mist the ridge looks the same on both sides; take a bearing at the cairn.",
                  "After rain the ford is not one. The bridge is a mile down the valley.",
                  "The shelter's roof has gone, but its walls still keep off the wind.",
                  "Snow lies in the gully into May and is harder than it looks."}

local function namer(roll, pick)
    local function syllable() return pick(ONSETS) .. pick(VOWELS) .. pick(CODAS) end
    return function()
        local name = syllable() .. syllable()
        if roll(3) == 1 then name = name .. syllable() end
        return (name:gsub("^%l", string.upper))
    end
end

local function page(number, hills, roll, pick, new_name)
    local hill = hills[number]
    local lines = {}
    local function line(format, ...) lines[#lines + 1] = format:format(...) end
    local function neighbour() return hills[roll(#hills)] end

    line("# %s %s", hill.name, hill.kind)
    line("")
    line("*%s* stands {{height %d}} above the sea, {{stars %d}}, and is best seen from [%s][%d].",
         hill.name, hill.height, roll(5), neighbour().name, roll(9))
    line("")
    for _ = 1, 2 + roll(3) do
        line("## By %s %s", new_name(), pick(FEATURES))
        line("")
        for _ = 1, 2 + roll(4) do
            line("The %s path %s the **%s** below %s, where a %s %s marks the turn to `%s`.",
                 pick(GROUND), pick(VERBS), pick(FEATURES), new_name(), pick(GROUND),
                 pick(FEATURES), ("%02d%02d"):format(roll(99), roll(99)))
        end
        line("")
        for leg = 1, 2 + roll(3) do
            line("%d. to the %s of %s, {{total %d.%d}}", leg, pick(FEATURES), new_name(),
                 roll(6), roll(9))
        end
        line("")
        if roll(3) == 1 then
            line("> %s", pick(WARNINGS))
            line(">")
            line("> - ask at *%s*", new_name())
            line("> - or turn back")
            line("")
        end
    end
    line("| Way | Length | Time |")
    line("|:----|-------:|:----:|")
    for _ = 1, 1 + roll(3) do
        local km, ascent = roll(18), roll(90) * 10
        line("| %s | %d km | {{walk %d km %d m}} |", new_name(), km, km, ascent)
    end
    line("")
    if roll(6) == 1 then line("Paced at {{walk %d miles}}; {{stars many}}.", roll(9)) end
    if roll(9) == 1 then line("{{any sunrise %s | height %d}} {{total -1}}", hill.name, roll(900)) end
    line("")
    for label = 1, 9 do line("[%d]: hill-%03d.html", label, roll(#hills)) end
    return table.concat(lines, "\n")
end

--- Yields the name and the text of one page after the other.
function gazetteer.pages(count, seed)
    return coroutine.wrap(function()
        local roll, pick = dice(seed)
        local new_name = namer(roll, pick)
        local hills = {}
        for i = 1, count do
            hills[i] = {name = new_name(), kind = pick(KINDS), height = 200 + roll(900)}
        end
        for i = 1, count do
            coroutine.yield(("hill-%03d"):format(i), page(i, hills, roll, pick, new_name))
        end
    end)
end

return gazetteer
