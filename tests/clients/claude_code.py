"""Claude Code, with a home of its own: adds the server, logs in without a browser, lists, calls a tool, logs out; then the
same tool over stdio. Then a server of its own, which is killed and whose tokens expire: five processes at once stay
connected, and a login that may only read becomes one that may write. The model is a script: it asks for one tool call and
repeats what came back.

    python claude_code.py URL USER PASSWORD CLAUDE SERVER_PROGRAM VAULT
"""

import html
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import httpx
from model import Model
from server import TOKEN, Server

URL, USER, PASSWORD, CLAUDE, PROGRAM, VAULT = sys.argv[1:]
SEARCH = ("mcp__vault__vault_search", {"query": "heating controller"})
INSERT = ("mcp__vault__vault_insert", {"path": "daily:2026-03-03", "heading": "Today", "text": "- [ ] milk", "create": True})
WRITE = ("mcp__vault__vault_write", {"path": "From Claude Code.md", "content": "hello"})


def readme(name, url=""):
    """The command that the README, or the page on setting up, has under this name, for this server."""
    top, pages = os.path.join(os.path.dirname(__file__), "..", ".."), ""
    for page in ("README.md", "src/commands/README.md"):
        with open(os.path.join(top, page)) as text:
            pages += text.read()
    command = re.search(rf"<!-- {name} -->\n```sh\n(.*?)\n```", pages, re.DOTALL)[1]
    names = {"https://vault.example.com/mcp": url, "vault-sync-mcp": PROGRAM, "/data/obsidian-vault": VAULT}
    words = [names.get(word, word.replace("TOKEN", TOKEN)) for word in shlex.split(command)]
    assert words[0] == "claude", words
    return words[1:]


def claude(*arguments):
    print("$ claude", *arguments, flush=True)
    done = subprocess.run([CLAUDE, *arguments], env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    print(done.stdout + done.stderr, flush=True)
    assert done.returncode == 0, f"exit code {done.returncode}"
    return done.stdout


def log_in(access="write"):
    """`login --no-browser` wants a terminal: it prints the address and takes the one that the browser is sent back to."""
    print("$ claude mcp login vault --no-browser", flush=True)
    terminal, other = pty.openpty()
    child = subprocess.Popen([CLAUDE, "mcp", "login", "vault", "--no-browser"], env=env, cwd=home, stdin=other, stdout=other, stderr=other)
    os.close(other)
    shown, sent = "", False
    while True:
        try:
            read = os.read(terminal, 4096)
        except OSError:
            break
        if not read:
            break
        shown += read.decode(errors="replace")
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07", "", shown)
        address = re.search(r"(https?://\S+/oauth/authorize\?[^\s]+)\s", plain)
        if address and not sent:
            sent = True
            page = httpx.get(address[1])
            action = html.unescape(re.search(r'<form method="post" action="([^"]*)"', page.text)[1])
            form = {"username": USER, "password": PASSWORD, "access": access, "decision": "allow"}
            answer = httpx.post(urllib.parse.urljoin(address[1], action), data=form)
            assert answer.status_code == 303, answer.text
            os.write(terminal, answer.headers["location"].encode() + b"\r")
    print(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07", "", shown), flush=True)
    assert child.wait(timeout=30) == 0


def call(what=SEARCH):
    """Whether the tool is offered, and what it gave."""
    model.calls, model.offered, model.results = [what], set(), {}
    claude("-p", "Use my vault.", "--allowedTools", what[0])
    return what[0] in model.offered, json.dumps(model.results)


def search():
    offered, said = call()
    assert offered, sorted(model.offered)
    assert "total_matches" in said and "is_error" not in said.replace('"is_error": false', ""), said


def restart_with_expired_tokens(server):
    server.kill()
    with open(server.state_file) as stored:
        state = json.load(stored)
    for token in state["access_tokens"]:
        token["expires"] = 1
    with open(server.state_file, "w") as stored:
        json.dump(state, stored)
    server.start()


def five_at_once():
    with ThreadPoolExecutor(5) as pool:
        listed = list(pool.map(lambda _: claude("mcp", "list"), range(5)))
    assert all("Connected" in text for text in listed), listed


model = Model([])
with tempfile.TemporaryDirectory() as home:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",  # the script is told of every tool at once
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": model.url,
    }
    claude(*readme("claude-code", url=URL))
    assert "Needs authentication" in claude("mcp", "list")
    log_in()
    assert "Connected" in claude("mcp", "list")
    search()
    claude("mcp", "logout", "vault")
    assert "Needs authentication" in claude("mcp", "list")
    claude("mcp", "remove", "vault")
    claude(*readme("claude-code-stdio"))
    assert "Connected" in claude("mcp", "list")
    search()
    claude("mcp", "remove", "vault")

    with Server(PROGRAM, VAULT, home, "vault,notes") as server:
        claude(*readme("claude-code-token", url=server.url))
        assert "Connected" in claude("mcp", "list")
        search()
        claude("mcp", "remove", "vault")
        claude(*readme("claude-code", url=server.url))
        log_in("read")
        offered, _ = call(WRITE)
        assert not offered, "a login that may only read is not offered what writes"
        log_in("write")
        offered, said = call(WRITE)
        assert offered and os.path.exists(os.path.join(server.vault, "From Claude Code.md")), said
        offered, said = call(INSERT)
        with open(os.path.join(server.vault, "Daily", "2026-03-03.md")) as note:
            assert offered and "## Today\n\n- [ ]\n- [ ] milk\n" in note.read(), said
        for _ in range(2):
            restart_with_expired_tokens(server)
            five_at_once()
        five_at_once()
