# Captures without all spans: lost spans are counted, and histograms have all of them.
[ -n "${CAIRN_JOBS-}" ] || { echo "no example program in this build"; exit 77; }
mask() { sed -E -e 's/[0-9][0-9,.]*( (s|ms|µs|us|ns))?/N/g' -e 's/  +/  /g' -e 's/ (s|ms|µs|ns)( |$)/ unit\2/g' -e 's/^ +//' -e 's/[█▁▂▃▄▅▆▇]/#/g' -e 's/#[# ]*/# /' -e 's/ *[^ ]*jobs.c:N//'; }

# Histograms without spans: the same columns, within the stated accuracy.
cairn run --spans=off --span-histograms -o counted.cairn "$CAIRN_JOBS" >/dev/null
cairn spans counted.cairn --sort count --top 1 | mask
cairn spans counted.cairn --json >counted.json
python3 - <<'END'
import json
report = json.load(open("counted.json"))
assert report["error"] == 1 / 64 and report["dropped"] == 0
for row in sorted(report["histograms"], key=lambda row: row["block"]["name"]):
    assert row["min"] <= row["median"] <= row["p99"] <= row["max"] and row["self"] <= row["total"]
    assert sum(bar[2] for bar in row["bars"]) == row["count"]
    print(row["block"]["name"], row["count"])
END
cairn spans counted.cairn --slowest
cairn spans counted.cairn --block nobody

# Both: histograms when they are asked for. Processor time has columns.
cairn run --span-histograms --span-cpu -o both.cairn "$CAIRN_JOBS" >/dev/null
cairn spans both.cairn --block foo | mask
cairn spans both.cairn --block foo --histograms | mask

# Sampled trees: the only tree is not recorded. Contexts have all calls.
cairn run --span-rate=0.000001 -o drawn.cairn "$CAIRN_JOBS" >/dev/null
cairn spans drawn.cairn
cairn report drawn.cairn | grep -c convert_image
cairn spans --histograms --slowest both.cairn 2>&1 | head -n 1
cairn spans --histograms drawn.cairn
