# The critical path, of spans whose times are known.
[ -n "${CAIRN_RECORDED-}" ] || { echo "no programs of tests in this build"; exit 77; }
"$CAIRN_RECORDED" pool.cairn <<'END'
lane main
span main 0 100 main
span a 5 40 foo #1 <main
span b 40 95 foo #2 <main
lane worker 1
span j1 12 30 job #0 <a @10
span j2 50 90 job #1 <b @45
lane worker 2
span k1 11 22 job #2 <a @10
span k2 22 26 log <a @10
END
cairn critical pool.cairn
cairn critical --path pool.cairn
cairn critical --path --top 3 pool.cairn
echo "# to the end of one span"
cairn critical --span 1 --path pool.cairn
LC_ALL=C cairn critical --span 1 --path pool.cairn | tail -n 2

# Declared waits and stages take precedence over inferred ones.
"$CAIRN_RECORDED" stages.cairn <<'END'
lane reader
span r0 0 10 read #0
span r1 10 20 read #1
span join 20 57 join
lane packer
span p0 12 32 pack #0
span p1 33 55 pack #1
span s 55 56 sum
follows p0 r0 12
follows p1 r1 33
waits join p1 56
END
echo "# stages"
cairn critical --path stages.cairn
cairn critical stages.cairn

echo "# as JSON"
python3 - <<'END'
import json, os, subprocess
def critical(*options):
    command = [os.environ["CAIRN_TOOL"], "critical", "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
found = critical("--path", "pool.cairn")
assert sum(step["duration"] for step in found["path"]) == found["end"] - found["start"]
assert sum(row["time"] for row in found["blocks"]) + found["idle"] == found["end"] - found["start"]
assert critical("pool.cairn", "--top", "1")["hidden"] == len(found["blocks"]) - 1
print(found["schema"], *sorted(found))
print(*(f'{row["block"]["name"]} {row["slack"]}' for row in found["blocks"]))
END

echo "# what cannot be"
cairn critical pool.cairn --span 99
cairn critical pool.cairn --span x
mkdir empty
(cd empty && cairn critical 2>&1) | head -n 1
