# End-to-end latency, of spans whose times are known.
[ -n "${CAIRN_RECORDED-}" ] || { echo "no programs of tests in this build"; exit 77; }
"$CAIRN_RECORDED" xr.cairn <<'END'
lane cameras
span c0 0 10 camera #0
span c1 20 30 camera #1
span c2 40 50 camera #2
span alone 90 95 display #9
lane tracker
span t0 12 25 track #0 <c0 @8
span t1 32 52 track #1 <c1 @28
span t2 55 60 track #2 <c2 @48
lane out
span d0 33 38 display #0
span d1 53 58 display #1
span d2 85 90 display #2
follows d0 t0 33
follows d1 t1 53
follows d2 t1 85
follows d2 t2 85
END
cairn latency xr.cairn --from camera --to display
cairn latency xr.cairn --from camera --to display --deadline 40us --top 1
echo "# a gate"
cairn latency xr.cairn --from camera --to display --deadline 40us --fail-above 50% >found && echo held
cairn latency xr.cairn --from camera --to display --deadline 40us --fail-above 10% >found
echo "# nothing leads there, and bad input"
cairn latency xr.cairn --from display --to camera
cairn latency xr.cairn --from camera --to camera
cairn latency xr.cairn --from camera
cairn latency xr.cairn --from camera --to nothing
cairn latency xr.cairn --from camera --to display --deadline 5
echo "# as JSON"
/usr/bin/python3 - <<'END'
import json, os, subprocess
found = json.loads(subprocess.run([os.environ["CAIRN_TOOL"], "latency", "--json", "xr.cairn", "--from", "camera", "--to",
                                   "display", "--deadline", "40us"], stdout=subprocess.PIPE, check=True).stdout)
assert [found[key] for key in ("count", "unlinked", "open", "missed", "total")] == [3, 1, 0, 1, 126000] or print(found)
for row in found["slowest"]:
    assert sum(stage["time"] for stage in row["stages"]) == row["latency"], row
assert sum(stage["total"] for stage in found["stages"]) == found["total"]
print([(row["from"], row["to"], row["latency"], row["age"]) for row in found["slowest"]])
print([(frame["chain"], frame["iteration"], frame["latency"], frame["count"], frame["missed"]) for frame in found["frames"]])
END
echo "# slow by a deadline"
cairn explain xr.cairn track --slow '> 13us'
cairn explain xr.cairn track --slow '>= 13us' | tail -n 2
cairn explain xr.cairn track --slow 13us --json | grep -o '"slow":{[^}]*}'
cairn explain xr.cairn track --slow 1s
cairn explain xr.cairn track --slow 13
echo "# what a latency consists of"
"$CAIRN_RECORDED" waits.cairn <<'END'
lane cameras
span c0 0 10 camera #0
span c1 20 30 camera #1
span c2 40 50 camera #2
span c3 100 110 camera #3
lane tracker
span t0 12 25 track #0 <c0 @8
span t1 32 52 track #1 <c1 @28
span t2 55 60 track #2 <c2 @48
span t3 112 150 track #3 <c3 @108
lane helper
span h3 125 140 help #3 <t3 @115
lane out
span d0 33 38 display #0
span d1 53 58 display #1
span d2 85 90 display #2
span d3 150 155 display #3
follows d0 t0 33
follows d1 t1 53
follows d2 t1 85
follows d2 t2 85
waits t3 h3 142
follows d3 t3 150
END
cairn explain waits.cairn --latency camera,display
cairn explain waits.cairn --latency camera,display --slow '> 50us' --top 1
cairn explain waits.cairn --latency camera,display --where 'iteration = 2'
cairn explain waits.cairn --latency display,camera
cairn explain waits.cairn --latency display
cairn explain waits.cairn --latency display,display
cairn explain waits.cairn
/usr/bin/python3 - <<'END'
import json, os, subprocess
found = json.loads(subprocess.run([os.environ["CAIRN_TOOL"], "explain", "--json", "waits.cairn", "--latency",
                                   "camera,display", "--slow", "55us"], stdout=subprocess.PIPE, check=True).stdout)
print([(stage["block"]["name"], stage["queue"], stage["work"], stage["wait"]) for stage in found["stages"]])
for key, sums in {"share": 1, "mean": found["mean"], "slow": 55000, "typical": found["slow"]["typical_mean"]}.items():
    assert abs(sum(part[key] for part in found["parts"]) - sums) < 1e-6 * sums, key
    assert key == "share" or abs(sum(stage[key] for stage in found["stages"]) - sums) < 1e-6 * sums, key
END
