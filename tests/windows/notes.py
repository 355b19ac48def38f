"""A conversation with the Windows program over a vault of this machine: notes.py PROGRAM VAULT."""

import json
import os
import pathlib
import subprocess
import sys
import time

PROGRAM, VAULT = sys.argv[1], pathlib.Path(sys.argv[2])
server = subprocess.Popen([PROGRAM, "stdio"], env={"VAULT_PATH": str(VAULT), "TOOLSETS": "vault,notes,accomplishments,context,research", "ACCOMPLISHMENTS_FOLDER": "Projects/Accomplishments", "DEFAULT_CANVAS": "Projects/Plan.canvas"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def ask(method, params):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
    server.stdin.flush()
    while True:
        answer = json.loads(server.stdout.readline())
        if "id" in answer:
            return answer["result"]


def call(tool, **arguments):
    result = ask("tools/call", {"name": tool, "arguments": arguments})
    assert not result["isError"], (tool, arguments, result)
    return result["structuredContent"]


def refused(tool, **arguments):
    result = ask("tools/call", {"name": tool, "arguments": arguments})
    assert result["isError"], (tool, arguments, result)
    return json.loads(result["content"][0]["text"])["error"]["code"]


ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
assert call("vault_search", query="heating controller")["results"][0]["path"] == "Projects/Heating System.md"
call("vault_write", path="New/One.md", content="# One\r\n\r\nhello\r\n", create_dirs=True)
call("vault_write", path="New/Two.md", content="See [[One]].\n")
call("vault_edit", path="New/One.md", old_text="hello", new_text="hullo")
assert (VAULT / "New/One.md").read_bytes() == b"# One\r\n\r\nhullo\r\n"
call("vault_move", **{"from": "New/One.md", "to": "New/Three.md"})
assert (VAULT / "New/Two.md").read_bytes() == b"See [[Three]].\n" and not (VAULT / "New/One.md").exists()
# What another program writes is found by the next walk.
(VAULT / "New/Four.md").write_text("from outside: wombat\n")
until = time.monotonic() + 20
while call("vault_search", query="wombat")["total_matches"] == 0:
    assert time.monotonic() < until
    time.sleep(0.1)
call("vault_delete", paths=["New/Four.md"])
assert not (VAULT / "New/Four.md").exists()
assert call("list_accomplishments") and call("search", query="boiler")["results"]
for path in ["NUL", "New/CON.md", "New/Two.md::$DATA", "New/Two.md:stream", "C:/windows/win.ini", "Z:/etc/passwd", "New/Two.md.", "..", "../x.md", "\\\\?\\C:\\x", ".obsidian/app.json"]:
    code = refused("vault_read", path=path)
    assert code in ("PATH_NOT_ALLOWED", "FILE_NOT_FOUND"), (path, code)
    assert refused("vault_write", path=path, content="x") in ("PATH_NOT_ALLOWED", "FILE_NOT_FOUND"), path
outside = VAULT.parent / "outside"
outside.mkdir()
(outside / "secret.md").write_text("secret\n")
os.symlink(outside, VAULT / "linked")
assert refused("vault_read", path="linked/secret.md") in ("PATH_NOT_ALLOWED", "FILE_NOT_FOUND")
server.stdin.close()
assert server.wait(20) == 0
