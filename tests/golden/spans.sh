# Spans: foo and bar share a pool, and each has its own cost. Times differ from run to run.
[ -n "${CAIRN_JOBS-}" ] || { echo "no example program in this build"; exit 77; }
CAIRN_OUT=jobs.cairn "$CAIRN_JOBS"

# By block: as many as there were.
python3 - <<'END'
import json, os, subprocess, sys

def spans(*options):
    command = [os.environ["CAIRN_TOOL"], "spans", "jobs.cairn", "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

table = spans("--sort", "count")
print(table["schema"], table["spans"], "spans", table["open"], "open", table["dropped"], "dropped")
for row in sorted(table["blocks"], key=lambda row: row["block"]["id"]):
    assert row["min"] <= row["median"] <= row["p99"] <= row["max"]
    assert row["self"] <= row["total"] and sum(row["bins"]) == row["count"]
    print(row["block"]["name"], row["count"])

# Each image span has its requester as ancestor, on any thread.
slowest = spans("--slowest=0", "--block", "convert_image")["slowest"]
print(*sorted("%s by %s, #%d" % (span["attributes"][0]["value"], span["ancestors"][1]["block"]["name"],
                                 span["iteration"]) for span in slowest), sep="\n")
assert [s["duration"] for s in slowest] == sorted((s["duration"] for s in slowest), reverse=True)
assert all(s["handed_off"] and s["lane"].startswith("worker") and not s["more"] for s in slowest)

# Was foo's image slower than bar's?
cost = {"foo": 0, "bar": 0}
for span in slowest:
    cost[span["ancestors"][1]["block"]["name"]] += span["duration"]
print("slower:", max(cost, key=cost.get))

# Missing time is the sum of the gaps.
missing = spans("--missing", "--top", "0")
assert missing["missing"] == sum(gap["missing"] for gap in missing["gaps"])
assert missing["total"] == missing["blocks"][0]["total"]
print("missing of", *(row["block"]["name"] for row in missing["blocks"]))
END

# The tables, with figures masked.
mask() { sed -E -e 's/  +[^ ]*jobs\.c:[0-9]+$//' -e 's/[0-9][0-9,.]*( (s|ms|µs|us|ns))?/N/g' -e 's/(^| )-( |$)/\1N\2/g' -e 's/  +/  /g' -e 's/ (s|ms|µs|ns)( |$)/ unit\2/g' -e 's/^ +//'; }
cairn spans jobs.cairn --slowest --block foo | mask
LC_ALL=C cairn spans jobs.cairn --slowest=1 --block foo | mask
cairn spans jobs.cairn --missing --block bar | mask | head -n 4
cairn spans jobs.cairn --top 1 --block main | mask

# --fail-above: all time of the pool's images is self time.
cairn spans jobs.cairn --missing --fail-above 100% >all
cairn spans jobs.cairn --missing --block convert_image --fail-above 5% >gap

# Errors for missing spans and blocks.
cairn spans jobs.cairn --block nobody
printf '>f >g +1\n' | play none.cairn
cairn spans none.cairn
cairn spans nowhere.cairn
cairn spans --slowest --missing jobs.cairn 2>&1 | head -n 1
cairn spans --fail-above 5 jobs.cairn 2>&1 | head -n 1
cairn spans --sort name jobs.cairn
