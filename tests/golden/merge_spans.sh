# Spans of two processes in one capture: merged, redacted, exported. Times differ from run to run.
[ -n "${CAIRN_JOBS-}" ] || { echo "no example program in this build"; exit 77; }
CAIRN_OUT=a.cairn "$CAIRN_JOBS"
CAIRN_OUT=b.cairn "$CAIRN_JOBS"
cairn merge -o one.cairn a.cairn
cairn merge -o sum.cairn a.cairn b.cairn
cairn merge -o again.cairn sum.cairn
cairn merge -o twice.cairn sum.cairn one.cairn

# Merged spans are unchanged, in files and in memory.
spans() { cairn spans "$@" --slowest=0 --json | sed '1,2s/"file":"[^"]*"//'; }
spans a.cairn >a
spans one.cairn | cmp - a && echo one alone is as it was
spans sum.cairn >sum
spans a.cairn b.cairn | cmp - sum && echo the same in memory
spans again.cairn | cmp - sum && echo and again
python3 - <<'END'
import collections, json, os, subprocess
def spans(*captures):
    command = [os.environ["CAIRN_TOOL"], "spans", *captures, "--slowest=0", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["slowest"]
def durations(*captures):
    return collections.Counter((s["block"]["name"], s["iteration"], s["duration"]) for s in spans(*captures))
assert durations("sum.cairn") == durations("a.cairn") + durations("b.cairn")
assert all(s["ancestors"][1]["block"]["name"] in s["attributes"][0]["value"]
           for s in spans("sum.cairn") if s["block"]["name"] == "convert_image")
print(len(spans("sum.cairn")), "spans, as long as they were, each below the one that asked")
END
cairn assert sum.cairn 'calls("convert_image") == 8'
cairn diff a.cairn sum.cairn --metric calls | grep -c convert_image

# Nothing that was written is left in a redacted capture, with the same numbers.
cairn redact sum.cairn -o share.cairn --map secret.map --keep main
grep -c -a -e foo -e bar -e image -e worker -e jobs -e convert share.cairn
cut -f 1 secret.map | sort | tr '\n' ' '
echo
cairn spans share.cairn --slowest=0 --json | grep -o '"key":"[^"]*","value":"[^"]*"' | sort | uniq -c | sed 's/^ *//'
cairn merge --redact -o share2.cairn a.cairn b.cairn
grep -c -a -e foo -e bar -e image -e worker -e jobs -e convert share2.cairn

# Names of time line files; captures without spans.
cairn export sum.cairn -o sum.pftrace
cairn export sum.cairn -o sum.perfetto-trace
cmp sum.pftrace sum.perfetto-trace
cairn export sum.cairn --to otlp
cairn export sum.cairn --to chrome
cairn export sum.cairn --to chrome -o - | cmp - sum.json
python3 - <<'END'
import json
with open("sum.json") as file:
    events = json.load(file)["traceEvents"]
print(sum(e["ph"] == "X" for e in events), "slices of", len({e["pid"] for e in events}), "processes")
with open("sum.otlp.json") as file:
    resources = json.load(file)["resourceSpans"]
print([len(r["scopeSpans"][0]["spans"]) for r in resources], "spans of", len({s["traceId"] for r in resources
      for s in r["scopeSpans"][0]["spans"]}), "traces")
END
cairn export share.cairn -o - --to chrome | grep -c -e foo -e bar
printf '>f >g +1\n' | play none.cairn
cairn export none.cairn --to perfetto
cairn export sum.cairn --to otlp --metric wall
cairn export sum.cairn -o x.json --no-times
cairn merge -o sum.cairn a.cairn sum.cairn
cairn spans --histograms a.cairn b.cairn 2>&1 | head -n 1
ls
