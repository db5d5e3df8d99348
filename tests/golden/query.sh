# Captures in SQL. What is exact comes from made-up events; spans' times differ from run to run.
printf '%s\n' '>main' '>f +5' '>g +3' '<' '>g +4' '<' '<' '>f +1' '<' '>h' '>f +2' '<' '<' '<' | play a.cairn
printf '%s\n' '>main' ">it's,x +7" '<' '<' | play b.cairn
ask() { cairn query a.cairn "$@"; }

# The list of tables.
cairn query a.cairn | sed -n '/^tables/,/^views/p' | awk '{print $1, $2}'
cairn query --schema >schema
sed -n '/^```text$/,/^```$/p' "$DATA/../../docs/QUERY.md" | sed '1d;$d' | cmp - schema && echo the schema is documented

# Forms.
ask 'select id, parent, path(id) as path, calls, ticks, ticks_inclusive from contexts'
ask 'select caller, callee, calls from calls order by 1, 2'
ask 'select name, calls, ticks, ticks_inclusive, contexts from functions order by block'
ask --csv "select name, null as n, 1.5 as x, 1e300 as big, 2.0 as two, x'00ff' as b, '' as e from contexts where id < 3"
ask --json "select name, null, 1.5, x'00ff' from contexts where id < 2"
cairn query a.cairn b.cairn --csv "select name, sum(ticks) filter (where capture = 0), sum(ticks) filter (where capture = 1) from contexts group by name"
cairn query a.cairn b.cairn 'select path, contexts from captures; select count(distinct id), count(*) from contexts'
printf '%s\n' 'select 1 as one' '-- a remark' >question.sql
ask -f question.sql
ask - <question.sql
ask "select printf('%c[31m', 27) || char(10) as risky" | od -An -c | head -n 2

# The costs of functions are those of their contexts, in every file.
cairn query a.cairn b.cairn --csv 'select * from functions order by block' >functions
cairn query a.cairn b.cairn --csv "select name, sum(calls) calls, sum(ticks) ticks, sum(wall) wall, sum(cpu) cpu,
    sum(ticks_inclusive * not recursive) ticks_inclusive, sum(wall_inclusive * not recursive) wall_inclusive,
    sum(cpu_inclusive * not recursive) cpu_inclusive, count(*) contexts, block, capture from contexts
    group by block order by block" | cmp - functions && grep -c . functions

# The manual's questions can be asked.
[ -n "${CAIRN_JOBS-}" ] || { echo "no example program in this build"; exit 77; }
CAIRN_OUT=jobs.cairn "$CAIRN_JOBS"
awk '/^```sql$/ {inside = 1; next} /^```$/ {if (inside) print ";"; inside = 0} inside {if ($0 == "") print ";"; else print}' \
    "$DATA/../../docs/QUERY.md" | sed 's/width/iteration/g' >questions.sql
cairn query jobs.cairn a.cairn -f questions.sql >answers && echo "$(grep -c '^;$' questions.sql) questions"

# Was foo's image slower than bar's?
cairn query jobs.cairn --csv "select asked.name from spans join spans pool on pool.id = spans.parent
    join spans asked on asked.id = pool.parent where spans.name = 'convert_image'
    group by asked.name order by sum(spans.duration) desc"
cairn query jobs.cairn --csv "select name, iteration, image, ancestry(id) from spans where image like 'bar%' order by iteration"
cairn query jobs.cairn --csv "select name, count from summary order by block"
# Results equal those of cairn spans.
python3 - <<'END'
import json, os, subprocess
def run(*arguments):
    done = subprocess.run([os.environ["CAIRN_TOOL"], *arguments, "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)
spans = run("spans", "jobs.cairn")["blocks"]
rows = run("query", "jobs.cairn", "select name, count, total, self, min, median, p99, max from summary")["rows"]
fields = ["count", "total", "self", "min", "median", "p99", "max"]
print(sorted([b["block"]["name"], *(b[f] for f in fields)] for b in spans) == sorted(rows))
chosen = run("spans", "jobs.cairn", "--slowest=0", "--where", "handed_off and iteration = 1")["slowest"]
ids = run("query", "jobs.cairn", "select id from spans where handed_off and iteration = 1")["rows"]
print(sorted(s["id"] for s in chosen) == sorted(row[0] for row in ids), len(ids))
missing = run("spans", "jobs.cairn", "--missing", "--where", "name = 'foo' or name = 'bar'")
(total, self), = run("query", "jobs.cairn", "select sum(duration), sum(self) from spans where name in ('foo', 'bar')")["rows"]
print(missing["total"] == total, missing["missing"] == self)
END

# Errors have their position.
ask 'select nam from contexts'
ask 'select name
    from contexts were id = 1'
ask 'select name from'
ask 'drop table contexts'
ask 'attach "x" as y'
ask "vacuum into 'copy'"; ls copy 2>/dev/null
ask 'pragma table_info(spans)'
ask ' '
ask --json 'select 1; select 2' >/dev/null
cairn query a.cairn nowhere.cairn 'select 1'
cairn query nowhere.cairn
cairn query question.sql 'select 1'
mkdir empty
(cd empty && cairn query 2>&1) | head -n 1
cairn query --csv --json a.cairn 2>&1 | head -n 1
cairn spans jobs.cairn --where 'iteraton > 1'
cairn spans jobs.cairn --where 'iteration >'
cairn spans jobs.cairn --where 'iteration > 10000'
cairn spans jobs.cairn --where '1; drop table spans'

# A truncated capture is read up to its end.
head -c $(($(wc -c <jobs.cairn) - 4096)) jobs.cairn >cut.cairn
cairn query cut.cairn 'select count(*) > 0 as some from blocks'
