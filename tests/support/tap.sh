# SPDX-License-Identifier: MIT
# Sourced by tests that are shell scripts: cases of TAP. A script ends with `tap_end`.
cases=0
tap_log=$(mktemp)

# Runs the command line in $2; prints its output if it fails.
check() {
    cases=$((cases + 1))
    if (eval "$2") >"$tap_log" 2>&1; then
        echo "ok $cases - $1"
    else
        echo "not ok $cases - $1"
        sed 's/^/# /' "$tap_log"
    fi
}

tap_end() {
    rm -f "$tap_log"
    echo "1..$cases"
}
