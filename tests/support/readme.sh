# What the scripts that follow the README share; for `.`, from the top of the project.

passed=0 failed=0

# verdict CODE WHAT: says and counts how it went.
verdict() { if [ "$1" = 0 ]; then echo "ok    $2"; passed=$((passed + 1)); else echo "FAIL  $2"; failed=$((failed + 1)); fi; }

# block NAME: what stands in the block below <!-- NAME --> of the README or a page beside the code. One that is missing fails whoever runs it. Where each is
# run, tests/tidy.rs knows.
block() { awk -v mark="<!-- $1 -->" '$0 == mark { found = 1; next } found && /^```/ { if (inside) exit; inside = 1; next } inside { print; some = 1 }
  END { if (!some) { print "no page has such a block" >"/dev/stderr"; print "false" } }' README.md .ci/README.md $(ls src/*/README.md 2>/dev/null); }
