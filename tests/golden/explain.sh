# Why spans vary: of the examples, and of spans whose times are known.
[ -n "${CAIRN_RECORDED-}" ] && [ -n "${CAIRN_LOOPS-}" ] || { echo "no example program in this build"; exit 77; }

# f calls g n times: is it g, or n? The machine may interrupt some: what all but the slowest vary by
# is said, too. Where it interrupts many, that is what they vary by, and they are tried again.
python3 - <<'END'
import json, os, subprocess, time

def tool(*options):
    command = [os.environ["CAIRN_TOOL"], *options, "--json", "loops.cairn"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

def is_calm(mode):
    """Whether nearly all calls of g in one f took as long, and f by itself as little as ever: so
    the program has it."""
    calls = {}
    own = sorted(span["self"] / max(span["duration"], 1)
                 for span in tool("spans", "--slowest=0", "--block", "f")["slowest"])
    much = max(0.1, 3 * own[len(own) // 2])
    if mode != "self" and sum(share > much for share in own) * 20 > len(own):
        return False
    for span in tool("spans", "--slowest=0", "--block", "g")["slowest"]:
        calls.setdefault(span["ancestors"][0]["id"], []).append(span["duration"])
    return sum(max(each) > 1.5 * min(each) for each in calls.values()) * 20 <= len(calls)

def causes(mode):
    subprocess.run([os.environ["CAIRN_LOOPS"], mode], check=True, env={**os.environ, "CAIRN_OUT": "loops.cairn"})
    command = [os.environ["CAIRN_TOOL"], "explain", "--json", "--top", "0", "loops.cairn", "f"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    shares = {(part["part"], part["block"] and part["block"]["name"]): part["share"] for part in found["parts"]}
    assert abs(sum(shares.values()) - 1) < 1e-9
    rest = found["rest"] or found
    shares = {(part["part"], part["block"] and part["block"]["name"]): part["share"] for part in rest["parts"]}
    assert abs(sum(shares.values()) - 1) < 1e-9
    return sorted(f"{part} of {block}" if block else part for (part, block), share in shares.items() if share > 0.15)

for mode, expected in (("n", ["number of g"]), ("g", ["duration of g"]), ("self", ["self"]),
                       ("both", ["duration of g", "number of g"])):
    for attempt in range(40):
        found = causes(mode)
        if found == expected or is_calm(mode):
            break
        time.sleep(0.05)
        found = expected # no machine to tell by
    print(f"{mode}: f varies because of", *found)
END

# The same by the tables, of known times.
python3 - >known.txt <<'END'
print("lane main\nspan main 0 100000 main")
now = 1
for i in range(50):
    n, kind = (i * 7) % 11 + 1, ("red", "green")[i % 2]
    start, spans = now, []
    now += 2
    for j in range(n):
        spans.append((now, now + 10))
        now += 10
    if i % 2:
        spans.append((now, now + 40))
        now += 40
    now += 3
    print(f"span f{i} {start} {now} f #{i} <main n={n} kind={kind}")
    for j, (begin, end) in enumerate(spans):
        print(f"span g{i}.{j} {begin} {end} {'g' if end - begin == 10 else 'h'} #{j} <f{i}")
END
"$CAIRN_RECORDED" known.cairn <known.txt
cairn explain known.cairn f
echo "# the largest"
cairn explain --top 1 known.cairn f
echo "# some of them"
cairn explain --where "kind = 'red'" known.cairn f | head -n 3

# Which job was slower? Two that run in parallel are charged less time.
"$CAIRN_RECORDED" jobs.cairn <<'END'
lane main
span main 0 1000 main
span foo 0 200 foo <main
span bar 200 900 bar <main
lane worker 1
span w1 0 200 convert #0 <foo @0 image=foo.jpg
span w3 200 500 convert #0 <bar @200 image=bar.jpg
span w4 500 890 convert #1 <bar @200 image=bar.jpg
lane worker 2
span w2 0 190 convert #1 <foo @0 image=foo.jpg
END
echo "# jobs"
cairn explain jobs.cairn convert
echo "# little"
cairn explain jobs.cairn main
cairn explain known.cairn g
cairn explain jobs.cairn nobody
cairn explain jobs.cairn convert --where 'iteration > 7'
cairn explain jobs.cairn 2>&1 | head -n 1
cairn explain known.cairn f --json | python3 -c '
import json, sys
found = json.load(sys.stdin)
print(found["schema"], *sorted(found))'
