# cairn whatif: a pipeline whose stages share two workers, predicted, then run with that change.
# Times differ from run to run, so only relations that hold in each are tested.
[ -n "${CAIRN_PIPELINE-}" ] || { echo "no example program in this build"; exit 77; }
"$CAIRN_PIPELINE" -o p.cairn --items 24 --rounds 2,1,3 --layout chunk+write:1,compress:1 >times

python3 - <<'END'
import json, os, subprocess

def whatif(*options):
    command = [os.environ["CAIRN_TOOL"], "whatif", "p.cairn", "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

plain = whatif()
print(plain["schema"], plain["spans"], "spans", plain["jobs"], "jobs", plain["movable"], "movable",
      plain["waits"], "waits", plain["guessed"], "guessed", plain["contradicted"], "contradicted",
      plain["undated"], "undated")
for pool in sorted(plain["pools"], key=lambda pool: -len(pool["blocks"])):
    print(pool["threads"], "thread", pool["jobs"], "jobs of", *sorted(b["name"] for b in pool["blocks"]))
assert not plain["ready_known"]  # neither off-core times nor sampled processor time
assert plain["cores"] >= 1 and plain["trusted"] == (not plain["reasons"])
assert plain["predicted"] == plain["replayed"] and plain["loosened"] == 0
assert plain["latency_of"] is None and plain["recorded_latency"]["count"] == 1
assert abs((plain["replayed"] - plain["recorded"]) / plain["recorded"] - plain["drift"]) < 1e-9

# The table of effects: self times add up, and less self time never takes much longer.
effects = plain["effects"]
print("rows:", *sorted(e["block"]["name"] for e in effects
                      if e["block"]["name"] in ("chunk", "compress", "write")))
assert sum(e["work"] for e in effects) == plain["work"]
assert all([round(c["less"], 2) for c in e["effects"]] == [0.1, 0.5, 1] for e in effects)
gains = [plain["predicted"] - e["effects"][2]["length"] for e in effects]
assert gains == sorted(gains, reverse=True)

# The list says what a scenario says.
for effect in effects:
    name = effect["block"]["name"]
    assert whatif("--no-table", "--speedup", name + "=2")["predicted"] == effect["effects"][1]["length"]

# With room for all and a processor for each, a pool takes its own work at least.
free = whatif("--no-table", "--threads", "24", "--cores", "64", "--queue", "chunk=0",
              "--queue", "compress=0", "--queue", "write=0")
assert free["predicted"] < plain["predicted"] and free["effects"] is None
slow = whatif("--no-table", "--speedup", "compress=0.25")
assert slow["predicted"] > plain["predicted"]
below = whatif("--no-table", "--context", "chunk,push,compress", "--speedup", "compress=2")
assert below["predicted"] == whatif("--no-table", "--speedup", "compress=2")["predicted"]
items = whatif("--no-table", "--block", "chunk")
print("latency of", items["latency_of"]["name"], items["predicted_latency"]["count"])
END

# The tables, with figures masked.
mask() { sed -E -e 's/[-+]?[0-9][0-9,.]*( (s|ms|µs|us|ns)\b| %)?/N/g' -e 's/(^| )-( |$)/\1N\2/g' -e 's/  +/  /g' -e 's/ (s|ms|µs|ns)( |$)/ unit\2/g' -e 's/^ +//'; }
cairn whatif p.cairn --no-table --speedup compress=2 --block chunk | grep -v -e '^This prediction' -e '^  thread' -e '^  the unscaled replay' -e 'shares these evenly$' -e '^pool' | mask
cairn whatif p.cairn --top 1 | grep -e 'shorter' -e 'span name' | mask

# Invalid options.
cairn whatif p.cairn --speedup nobody=2
for bad in compress=0 compress=-1 compress=nan compress=inf compress= compress 2; do
    cairn whatif p.cairn --speedup "$bad" 2>&1 | head -n 1
done
cairn whatif p.cairn --context main 2>&1 | head -n 1
cairn whatif p.cairn --context write,chunk --speedup 2
cairn whatif p.cairn --threads push=2
cairn whatif p.cairn --fixed --threads 2
cairn whatif p.cairn --queue push=2
cairn whatif p.cairn --cores 0 2>&1 | head -n 1
cairn whatif p.cairn --threads 0 2>&1 | head -n 1
cairn whatif p.cairn --queue 5 2>&1 | head -n 1
mkdir empty
(cd empty && cairn whatif 2>&1) | head -n 1
printf '>f >g +1\n' | play none.cairn
cairn whatif none.cairn
cairn whatif nowhere.cairn
head -c 5000 p.cairn >cut.cairn
cairn whatif cut.cairn
