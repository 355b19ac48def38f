"""Claude Code, with a home of its own: adds the server, logs in without a browser, lists, calls a tool, logs out; then the
same tool over stdio. Then a server of its own, which is killed and whose tokens expire: five processes at once stay
connected, and a login that may only read becomes one that may write. The model is a script: it asks for one tool call and
repeats what came back.

    python claude_code.py URL USER PASSWORD CLAUDE SERVER_PROGRAM VAULT
"""

import hashlib
import html
import json
import os
import pty
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

URL, USER, PASSWORD, CLAUDE, PROGRAM, VAULT = sys.argv[1:]
SEARCH = ("mcp__vault__vault_search", {"query": "heating controller"})
INSERT = ("mcp__vault__vault_insert", {"path": "daily:2026-03-03", "heading": "Today", "text": "- [ ] milk", "create": True})
WRITE = ("mcp__vault__vault_write", {"path": "From Claude Code.md", "content": "hello"})


TOKEN = secrets.token_hex(32)


def readme(name, url=""):
    """The command that the README has under this name, for this server."""
    path = os.path.join(os.path.dirname(__file__), "..", "..", "README.md")
    with open(path) as text:
        command = re.search(rf"<!-- {name} -->\n```sh\n(.*?)\n```", text.read(), re.DOTALL)[1]
    names = {"https://vault.example.com/mcp": url, "vault-sync-mcp": PROGRAM, "/data/obsidian-vault": VAULT}
    words = [names.get(word, word.replace("TOKEN", TOKEN)) for word in shlex.split(command)]
    assert words[0] == "claude", words
    return words[1:]


class Model(BaseHTTPRequestHandler):
    """Enough of the Messages API: the first turn calls the tool, the second says what it gave."""

    offered: set = set()
    wanted = SEARCH

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "count_tokens" in self.path:
            return self.answer("application/json", b'{"input_tokens":1}')
        Model.offered |= {tool["name"] for tool in request.get("tools", [])}
        blocks = [block for message in request["messages"] if isinstance(message["content"], list) for block in message["content"]]
        results = [block for block in blocks if block["type"] == "tool_result"]
        tool, arguments = Model.wanted
        if tool in Model.offered and not results:
            start = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            reason = "tool_use"
        else:
            start = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": json.dumps(results)}
            reason = "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None, "usage": usage}
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        self.answer("text/event-stream", "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode())

    def do_GET(self):
        self.answer("application/json", b"{}")

    do_HEAD = do_GET

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


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
    Model.wanted, Model.offered = what, set()
    said = claude("-p", "Use my vault.", "--allowedTools", what[0])
    return what[0] in Model.offered, said


def search():
    offered, said = call()
    assert offered, sorted(Model.offered)
    assert "total_matches" in said and "is_error" not in said.replace('"is_error": false', ""), said


class Server:
    """A server of our own, so that it can be killed and its clock be played with."""

    def __init__(self, folder):
        self.vault, self.state = os.path.join(folder, "vault"), os.path.join(folder, "state")
        shutil.copytree(VAULT, self.vault)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        hashed = subprocess.run([PROGRAM, "hash-password"], input=PASSWORD + "\n", capture_output=True, text=True, check=True)
        self.env = {"VAULT_PATH": self.vault, "TOOLSETS": "vault,notes", "STATE_DIR": self.state, "LISTEN_ADDR": f"127.0.0.1:{self.port}", "SERVER_URL": self.url,
                    "AUTH_USERS": f"{USER}:{hashed.stdout.strip()}", "API_TOKENS": f"laptop:{hashlib.sha256(TOKEN.encode()).hexdigest()}"}
        self.start()

    def start(self):
        self.child = subprocess.Popen([PROGRAM], env=self.env)
        for _ in range(100):
            try:
                return httpx.get(self.url + "/healthz").raise_for_status()
            except httpx.HTTPError:
                time.sleep(0.05)
        raise AssertionError("the server does not start")

    def restart_with_expired_tokens(self):
        self.child.kill()
        self.child.wait()
        file = os.path.join(self.state, "state.json")
        with open(file) as stored:
            state = json.load(stored)
        for token in state["access_tokens"]:
            token["expires"] = 1
        with open(file, "w") as stored:
            json.dump(state, stored)
        self.start()


def five_at_once():
    with ThreadPoolExecutor(5) as pool:
        listed = list(pool.map(lambda _: claude("mcp", "list"), range(5)))
    assert all("Connected" in text for text in listed), listed


model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as home:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": home,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",  # the script is told of every tool at once
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_port}",
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

    server = Server(home)
    try:
        claude(*readme("claude-code-token", url=server.url + "/mcp"))
        assert "Connected" in claude("mcp", "list")
        search()
        claude("mcp", "remove", "vault")
        claude(*readme("claude-code", url=server.url + "/mcp"))
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
            server.restart_with_expired_tokens()
            five_at_once()
        five_at_once()
    finally:
        server.child.kill()
