# A program as a compiler like MLton makes it: time by local source stacks, calls by Enter and Leave.
[ -n "${CAIRN_SOURCES-}" ] || { echo "no example program in this build"; exit 77; }
said=$("$CAIRN_SOURCES" sources.cairn)
cairn report --json --stack --top 0 sources.cairn >stack.json
cairn report --json --top 0 --metric calls sources.cairn >calls.json
SAID="$said" python3 - <<'END'
import json, os

stack, calls = json.load(open("stack.json")), json.load(open("calls.json"))
# Each nanosecond that the program counted is charged, the last ones, too.
total = next(m["total"] for m in stack["metrics"] if m["name"] == "time")
assert f"{total} ns" == os.environ["SAID"], (total, os.environ["SAID"])
rows = {row["block"]["name"]: row for row in stack["stack"]}
time = {name: row["current"]["time"] for name, row in rows.items()}
assert sum(time.values()) == total, time
# Inlined three levels deep, in two copies: hash works three times as long as letters.
share = time["letters"] / (time["letters"] + time["hash"])
assert 0.08 < share < 0.45, share
assert rows["word"]["stack"]["time"] == time["letters"] + time["hash"] + time.get("word", 0), rows
count = {row["block"]["name"]: row["calls"] for row in calls["flat"]}
assert (count["main"], count["check"]) == (1, 41), count
assert (count["even"], count["odd"]) == (50001, 50000), count
END
echo "time and calls are the program's"
