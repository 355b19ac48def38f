"""Expressions of Obsidian's Bases against the values that the running app gave for them.

bases.py PROGRAM FOLDER. FOLDER is a checkout of github.com/callumalpass/obsidian-bases-expression (MIT), which publishes those values
(test/fixtures/oracle.compact.json) and the notes that they belong to (scripts/generate-oracle-fixtures.mjs). Prints what differs."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
oracle = json.loads((SOURCE / "test/fixtures/oracle.compact.json").read_text())
script = (SOURCE / "scripts/generate-oracle-fixtures.mjs").read_text()

# The notes: paths are constants, joined from others, and texts are strings inside a string.
names = {}
for name, parts in re.findall(r"const (\w*(?:Path|[dD]ir)) = (.*?);", script):
    pieces = [part.strip() for part in parts.split(" + ")]
    if all(piece.startswith(('"', "'")) or piece in names for piece in pieces):
        names[name] = "".join(names.get(piece, piece[1:-1]) for piece in pieces)
row = oracle["context"]["file"]["path"]
names["notePath"] = row
vault = pathlib.Path(tempfile.mkdtemp(prefix="vsm-bases-")) / "vault"
for name, text in re.findall(r'app\.vault\.create\((\w+), ("(?:.*?[^\\])")\)', script):
    if name not in names or name == "basePath":
        continue
    place = vault / names[name]
    place.parent.mkdir(parents=True, exist_ok=True)
    # The script is itself a template literal: its escapes are doubled.
    place.write_text(json.loads(text.replace("\\\\", "\\")))

formulas = oracle["context"]["formulas"]
server = subprocess.Popen([PROGRAM, "stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env={"VAULT_PATH": str(vault), "TOOLSETS": "vault,notes", "TIME_ZONE": oracle["context"]["timezone"]})


def ask(method, params, number=[0]):
    number[0] += 1
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number[0], "method": method, "params": params}) + "\n")
    server.stdin.flush()
    while True:
        message = json.loads(server.stdout.readline())
        if message.get("id") == number[0]:
            return message["result"]


def value(expression):
    """The value in a cell, or the error of the call."""
    own = {name: formula["expression"] if isinstance(formula, dict) else formula for name, formula in formulas.items()}
    (vault / "oracle.base").write_text(json.dumps({"formulas": {**own, "x": expression}}))
    result = ask("tools/call", {"name": "vault_query", "arguments": {"base": "oracle.base", "path": row, "select": ["formula.x"]}})
    if result["isError"]:
        return json.loads(result["content"][0]["text"])["error"]
    return result["structuredContent"]["rows"][0]["formula.x"]


def is_same(ours, theirs):
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(is_same, ours, theirs))
    if isinstance(theirs, dict) and "error" in theirs:
        return isinstance(ours, dict) and ("error" in ours or "code" in ours)
    if isinstance(ours, str) and ours.startswith("[[") and isinstance(theirs, str) and not theirs.startswith("[["):
        # The app's raw value of a link is its target.
        return re.split(r"[|\]]", ours[2:])[0] == theirs
    return ours == theirs


ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bases", "version": "1"}})
same, different, refused = 0, [], []
for case in oracle["cases"]:
    expression, theirs = case["expression"], case["expected"]
    ours = value(expression)
    is_refused = isinstance(ours, dict) and "code" in ours
    if case.get("assertion") == "range01":
        good = isinstance(ours, float) and 0 <= ours < 1
    elif "now()" in expression or "today()" in expression:
        good = type(ours) is type(theirs)
    elif is_refused and theirs is None:
        good = True  # The app's parser does not take it either.
    else:
        good = is_same(ours, theirs)
    same += good
    if is_refused and not good:
        refused.append((expression, ours.get("message")))
    elif not good:
        different.append((expression, ours, theirs))
for expression, ours, theirs in different:
    print(f"different: {expression}\n  here: {json.dumps(ours, ensure_ascii=False)[:300]}\n  app:  {json.dumps(theirs, ensure_ascii=False)[:300]}")
for expression, why in refused:
    print(f"refused: {expression}: {why}")
print(f"bases: {same} of {len(oracle['cases'])} equal, {len(refused)} refused, {len(different)} different")
server.stdin.close()
