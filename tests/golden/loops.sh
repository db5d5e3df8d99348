# f calls g n times: which g belongs to which f is recorded; so is whether it is g, or n.
[ -n "${CAIRN_LOOPS-}" ] || { echo "no example program in this build"; exit 77; }
for mode in n g both self; do
    CAIRN_OUT=$mode.cairn "$CAIRN_LOOPS" $mode
done
"$CAIRN_LOOPS" n
"$CAIRN_LOOPS" nothing

python3 - <<'END'
import json, os, statistics, subprocess

def spans(mode):
    command = [os.environ["CAIRN_TOOL"], "spans", f"{mode}.cairn", "--json", "--slowest=0"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["slowest"]

def varies(figures):
    """Whether the long ones are far from the short ones: quartiles, so that a few that were
    interrupted do not count."""
    quarter = statistics.quantiles(figures)
    return quarter[2] > 1.5 * quarter[0]

for mode in ("n", "g", "both", "self"):
    all = spans(mode)
    calls = {span["id"]: span for span in all if span["block"]["name"] == "f"}
    inner = {span: [] for span in calls}
    for span in all:
        if span["block"]["name"] == "g":
            inner[span["ancestors"][0]["id"]].append(span)
    # Each g knows its f, and which of it it is.
    assert sorted(span["iteration"] for span in calls.values()) == list(range(60))
    for span, own in inner.items():
        assert sorted(each["iteration"] for each in own) == list(range(len(own)))
        assert calls[span]["attributes"] == [{"key": "n", "value": len(own)}]
    n = [len(own) for own in inner.values()]
    g = [statistics.median(each["duration"] for each in own) for own in inner.values()]
    own = [span["self"] for span in calls.values()]
    f = [span["duration"] for span in calls.values()]
    print(f"{mode}: f varies" if varies(f) else f"{mode}: f is steady",
          *(name for name, figures in (("n", n), ("g", g), ("own time", own)) if varies(figures)))
END
