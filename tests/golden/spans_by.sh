# Grouping of spans with known times.
[ -n "${CAIRN_RECORDED-}" ] || { echo "no programs of tests in this build"; exit 77; }
"$CAIRN_RECORDED" jobs.cairn <<'END'
lane main
span main 0 1000 main
span foo 0 200 foo <main
span run1 0 200 run_in_jobserver <foo
span bar 200 900 bar <main
span run2 200 890 run_in_jobserver <bar
lane worker 1
span w1 0 200 convert #0 <run1 @0 image=foo.jpg width=1000
span w3 200 500 convert #0 <run2 @200 image=bar.jpg width=20
span w4 500 890 convert #1 <run2 @200 width=1.5
lane worker 2
span w2 0 190 convert #1 <run1 @0 image=foo.jpg width=70000
END
cairn spans jobs.cairn --by path --block convert
cairn spans jobs.cairn --by parent
cairn spans jobs.cairn --by image
cairn spans jobs.cairn --by lane --top 1
cairn spans jobs.cairn --by parent-iteration
cairn spans jobs.cairn --by width
LC_ALL=C cairn spans jobs.cairn --by path --block convert | head -n 2

# Many values are ranges, or the largest and all others.
python3 - >many.txt <<'END'
print("lane main")
now = 0
for i in range(300):
    took = 1 + i % 7
    print(f"span s{i} {now} {now + took} step #{i} name=v{i % 20} size={1 << i % 30} part={i / 8}")
    now += took
END
"$CAIRN_RECORDED" many.cairn <many.txt
for by in iteration name size part; do
    cairn spans many.cairn --by $by --top 5 | sed 's/ *$//'
done
cairn spans many.cairn --by iteration --where 'iteration < 6' --json | python3 -c '
import json, sys
found = json.load(sys.stdin)
print(found["by"], *((group["group"]["from"], group["group"]["to"], group["count"]) for group in found["groups"]))'
cairn spans many.cairn --by nothing
cairn spans many.cairn --by parent
cairn spans many.cairn --by name --slowest 2>&1 | head -n 1
