#!/usr/bin/env bash
# The figures of the documents are those of their files (check_figures.py), and that check finds what is
# wrong: shown on a small tree in FOLDER, right at first, then with one fault at a time.
#
#   check_figures.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v python3 >/dev/null || exit 77
folder=$1
rm -rf "$folder"
mkdir -p "$folder/docs/measurements" "$folder/docs/guide" "$folder/bench/results/d" "$folder/tests/repo"

fail() {
    echo "FAILED: $*"
    exit 1
}

cat >"$folder/bench/results/d/a.json" <<'END'
{"benchmarks": [{"name": "a", "check": {"result": "ok"}, "metrics": {
    "time": {"median": 1234.4, "min": 1200, "max": 1300}, "share": {"median": 0.3849, "min": 0, "max": 1}}}]}
END
cat >"$folder/bench/results/d/suite.json" <<'END'
{"benchmarks": [
    {"key": "g/one", "name": "b", "check": {"result": "not checked"}, "metrics": {"time": {"median": 617.2}}},
    {"key": "g/two", "name": "b", "check": {"result": "failed"}, "metrics": {"time": {"median": 5}}}]}
END
cat >"$folder/README.md" <<'END'
A run of 10^6 objects takes 1,234 us, 38% of another, twice of 617 us, and 9 us there.

A paragraph about 2 cores needs nothing.
END
cat >"$folder/tests/repo/readme_figures.txt" <<'END'
figures d/a.json
- time share d/suite.json=g/one:time other
END
cat >"$folder/docs/measurements/graphs.md" <<'END'
It takes 617 us.

<!-- figures d/suite.json g/one:time -->
END
cat >"$folder/docs/benchmarks.md" <<'END'
| work | time | ratio |
|---|---|---|
| 16 B | 1.234 (1.2 to 1.3) | 2.00 |
| 64 B | | 2.0 |

<!-- figures of columns 2, 3
d/a.json time*0.001 time.min*0.001 time.max*0.001 time//d/suite.json=g/one:time
d/a.json time//d/suite.json=g/one:time
-->

| other | 1 |
|---|---|
| x | 5 |

<!-- figures of other programs -->
END
cp "$folder/docs/measurements/graphs.md" "$folder/docs/comparison.md"
cp "$folder/docs/measurements/graphs.md" "$folder/docs/guide/choosing.md"
cp "$folder/docs/measurements/graphs.md" "$folder/docs/measurements/peers.md"
"$here/check_figures.py" "$folder" >"$folder/out" || fail "right figures are refused: $(cat "$folder/out")"

# fault WORDS FILE EXPRESSION: with that change of a file there is one fault, which has these words.
fault() {
    cp "$folder/$2" "$folder/before"
    sed -i "$3" "$folder/$2"
    cmp -s "$folder/$2" "$folder/before" && fail "'$3' changes nothing"
    "$here/check_figures.py" "$folder" >"$folder/out" && fail "$2 with '$3' is not refused"
    grep -q -- "^FAILED: .*$1" "$folder/out" || fail "$2 with '$3': no '$1' in $(cat "$folder/out")"
    cp "$folder/before" "$folder/$2"
}
fault "1,235 is 1234.4" README.md 's/1,234/1,235/'
fault "39% is 38.49" README.md 's/38%/39%/'
fault "618 is 617.2" docs/measurements/graphs.md 's/617/618/'
fault "1.3 is 1.4" bench/results/d/a.json 's/1300/1400/'
fault "2.01 is 2" docs/benchmarks.md 's/2\.00/2.01/'
fault "5 numbers.*6 words" tests/repo/readme_figures.txt 's/- time share/- - time share/'
fault "2 rows, 1 lines" docs/benchmarks.md '/^d\/a.json time\/\//d'
fault "no metric tome" tests/repo/readme_figures.txt 's/ time share/ tome share/'
fault "no run g.three" tests/repo/readme_figures.txt 's/g.one/g\/three/'
fault "g.two failed" tests/repo/readme_figures.txt 's/g.one/g\/two/'
fault "b.json: .*No such file" tests/repo/readme_figures.txt 's/d.a.json/d\/b.json/'
fault "line 11: numbers without a comment" docs/benchmarks.md '/of other programs/d'
fault "line 3: numbers without a comment" README.md 's/2 cores/2 us/'
fault "0 rows, 2 lines" README.md 's/^A run of.*//'

"$here/check_figures.py"

# In these documents every figure with an origin is refused if its last digit is another one.
python3 - "$here" README.md docs/comparison.md docs/measurements/peers.md <<'END'
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import check_figures as c

root = pathlib.Path(sys.argv[1] + "/../..").resolve()
results = c.Results(root)


def other(text, value):
    """The number with its last digit one away from the value."""
    digits = len(text.partition(".")[2])
    number = float(text.replace(",", ""))
    return f"{number + (10 ** -digits if number >= value else -(10 ** -digits)):,.{digits}f}"


def faults(file, numbers, words):
    """(figures, those that may have another digit)"""
    seen, missed = 0, []
    for (text, percent), word in zip(numbers, words):
        if word in ("-", "other"):
            continue
        seen += 1
        value = results.value(file, word) * (100 if percent else 1)
        if not list(c.compare(results, file, [(other(text, value), percent)], [word])):
            missed.append(text)
    return seen, missed


for name in sys.argv[2:]:
    seen, missed = 0, []
    for _, kind, lines, comment, _ in c.commented(root, name):
        if not c.is_named(kind, comment):
            continue
        if kind == "text":
            words = " ".join(comment).split()[1:]
            rows = [(words[0], c.NUMBER.findall(c.plain(" ".join(lines))), words[1:])]
        else:
            columns = [int(n) - 1 for n in c.re.findall(r"\d+", comment[0])]
            rows = [(line.split()[0], [n for k in columns if k < len(c.cells(row))
                                       for n in c.NUMBER.findall(c.plain(c.cells(row)[k]))], line.split()[1:])
                    for row, line in zip(lines[2:], comment[1:])]
        for row in rows:
            count, bad = faults(*row)
            seen, missed = seen + count, missed + bad
    if missed or seen < 10:
        sys.exit(f"FAILED: {name}: {seen} figures, and with another digit these are not refused: {missed}")
    print(f"{name}: {seen} figures, each refused with another digit")
END
