# f calls g n times: which g belongs to which f is recorded; so is whether it is g, or n.
[ -n "${CAIRN_LOOPS-}" ] || { echo "no example program in this build"; exit 77; }
"$CAIRN_LOOPS" n
"$CAIRN_LOOPS" nothing

python3 - <<'END'
import json, os, statistics, subprocess

def spans(mode):
    command = [os.environ["CAIRN_TOOL"], "spans", f"{mode}.cairn", "--json", "--slowest=0"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["slowest"]

def varies(figures):
    """Returns true if long and short iterations differ clearly. Uses quartiles, so that a few interrupted ones do not count."""
    quarter = statistics.quantiles(figures)
    return quarter[2] > 1.5 * quarter[0]

def what_varies(mode):
    subprocess.run([os.environ["CAIRN_LOOPS"], mode], check=True,
                   env=dict(os.environ, CAIRN_OUT=f"{mode}.cairn"))
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
    return [name for name, figures in (("f", f), ("n", n), ("g", g), ("own time", own))
            if varies(figures)]

# Interruptions may take longer than the program itself; then it is run again.
for mode, causes in (("n", ["n"]), ("g", ["g"]), ("both", ["n", "g"]), ("self", ["own time"])):
    for _ in range(30):
        found = what_varies(mode)
        if found == ["f", *causes]:
            break
    print(f"{mode}: f varies" if "f" in found else f"{mode}: f is steady",
          *(cause for cause in found if cause != "f"))
END
