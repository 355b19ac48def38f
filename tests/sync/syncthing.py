"""Two Syncthings on loopback, the server on one side and a person on the other: syncthing.py PROGRAM SECONDS."""

import json
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PROGRAM, SECONDS = sys.argv[1], float(sys.argv[2])
NOTES, HOT = 2000, 10


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Side:
    """A Syncthing with a folder; it talks to nobody but the other side."""

    def __init__(self, top, name):
        self.name, self.home, self.vault = name, top / f"{name}-home", top / name
        self.vault.mkdir()
        self.gui, self.listen = free_port(), free_port()
        self.process = subprocess.Popen(
            ["syncthing", "serve", f"--home={self.home}", "--no-browser", "--no-restart", "--no-default-folder", "--skip-port-probing", f"--gui-address=127.0.0.1:{self.gui}", "--gui-apikey=key"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        until(f"{name} answers", self.is_up)
        self.id = self.ask("/rest/system/status")["myID"]

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.gui}{path}", data, {"X-API-Key": "key", "Content-Type": "application/json"}, method="PUT" if data else "GET")
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def is_up(self):
        try:
            return self.ask("/rest/system/ping")
        except (urllib.error.URLError, OSError):
            return False

    def join(self, other):
        config = self.ask("/rest/config")
        config["options"].update({
            "listenAddresses": [f"tcp://127.0.0.1:{self.listen}"], "globalAnnounceEnabled": False, "localAnnounceEnabled": False,
            "relaysEnabled": False, "natEnabled": False, "urAccepted": -1, "crashReportingEnabled": False, "autoUpgradeIntervalH": 0,
        })
        device = {**config["defaults"]["device"], "deviceID": other.id, "name": other.name, "addresses": [f"tcp://127.0.0.1:{other.listen}"]}
        config["devices"] = [known for known in config["devices"] if known["deviceID"] == self.id] + [device]
        folder = {**config["defaults"]["folder"], "id": "vault", "path": str(self.vault), "fsWatcherEnabled": True, "fsWatcherDelayS": 1, "rescanIntervalS": 10, "maxConflicts": -1,
                  "devices": [{"deviceID": self.id}, {"deviceID": other.id}]}
        config["folders"] = [folder]
        self.ask("/rest/config", config)

    def is_idle(self):
        status = self.ask("/rest/db/status?folder=vault")
        return status["state"] == "idle" and status["needFiles"] == 0 and status["needDeletes"] == 0

    def files(self):
        paths = (path for path in self.vault.rglob("*") if path.is_file() and not any(part.startswith(".") for part in path.relative_to(self.vault).parts))
        return {str(path.relative_to(self.vault)): path.read_text() for path in paths}


def until(what, check, seconds=60.0):
    end = time.time() + seconds
    while not check():
        assert time.time() < end, f"not in time: {what}"
        time.sleep(0.2)


def marks(note):
    return set(re.findall(r"mark-\d+-\d+", note.read_text())) if note.exists() else set()


class Server:
    """The server on stdio, over one side's folder."""

    def __init__(self, vault):
        self.process = subprocess.Popen([PROGRAM, "stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env={"VAULT_PATH": str(vault), "TOOLSETS": "vault,notes"})
        self.number = 0
        self.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})

    def call(self, method, params):
        self.number += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def tool(self, name, **arguments):
        result = self.call("tools/call", {"name": name, "arguments": arguments})
        return None if result["isError"] else result["structuredContent"]


top = pathlib.Path(tempfile.mkdtemp(prefix="vsm-sync-"))
one, other = Side(top, "one"), Side(top, "other")
try:
    for number in range(NOTES):
        path = one.vault / f"Folder {number % 20}" / f"Note {number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"---\nnumber: {number}\n---\n# Note {number}\n\n" + "Some words of this note.\n" * 20)
    one.join(other), other.join(one)
    until("the vault is on both sides", lambda: one.is_idle() and other.is_idle() and len(other.files()) == NOTES, 180)

    server, dice, written, refused, gone_in_call = Server(one.vault), random.Random(1), {}, 0, set()
    end = time.time() + SECONDS
    while time.time() < end:
        number = dice.randrange(HOT) if dice.random() < 0.5 else dice.randrange(NOTES)
        path, mark = f"Folder {number % 20}/Note {number}.md", f"mark-{len(written)}-{dice.randrange(10**9)}"
        if dice.random() < 0.5:
            before = marks(one.vault / path)
            if server.tool("vault_insert", path=path, text=f"- server {mark}"):
                written[mark] = f"by the server, {path}, {time.strftime('%H:%M:%S')}"
                gone_in_call |= (before | {mark}) - marks(one.vault / path)
            else:
                refused += 1
        elif (other.vault / path).exists():
            with open(other.vault / path, "a") as note:
                note.write(f"- person {mark}\n")
            written[mark] = f"by a person, {path}, {time.strftime('%H:%M:%S')}"
        time.sleep(dice.random() * 0.1)

    def settled():
        return one.is_idle() and other.is_idle() and one.files() == other.files()

    try:
        until("both sides are equal", settled, 120)
    except AssertionError:
        here, there = one.files(), other.files()
        print([path for path in here.keys() | there.keys() if here.get(path) != there.get(path)][:5])
        print([side.ask("/rest/db/status?folder=vault") for side in (one, other)])
        raise
    files = one.files()
    conflicts = [path for path in files if ".sync-conflict-" in path]
    # What the server could not put back is beside the note, as its log says.
    kept = [path.read_text() for side in (one, other) for path in side.vault.rglob(".vault-sync-mcp-*.kept")]
    text = "\n".join([*files.values(), *kept])
    gone = {mark: f"{about}{', gone while the server wrote' if mark in gone_in_call else ''}" for mark, about in written.items() if mark not in text}
    # Syncthing looks at a file and then puts another in its place; what is written between the two is gone, also where no server runs
    # (one text in some minutes of this). What goes while the server writes is the server's.
    lost = {mark: about for mark, about in gone.items() if mark in gone_in_call}
    for mark, about in gone.items():
        stem = about.split(", ")[1].split("/")[-1].removesuffix(".md")
        print(mark, about, sorted(path for path in conflicts if f"/{stem}.sync" in path)[-40:])
    listed, cursor = [], None
    while True:
        page = server.tool("vault_list_all", limit=1000, **({"cursor": cursor} if cursor else {}))
        listed += [file["path"] for file in page["files"]]
        cursor = page.get("next_cursor")
        if not cursor:
            break
    own = [path for path in listed if "sync-conflict" in path or "syncthing" in path.lower()]
    print(f"{len(written)} texts in {SECONDS:.0f} s, {refused} refused by the server, {len(conflicts)} conflict copies, {len(kept)} kept by the server, {len(lost)} lost by the server, {len(gone) - len(lost)} by Syncthing; {len(listed)} files served, {len(own)} of Syncthing's own")
    assert not lost and not own and len(listed) == NOTES, (lost, own[:5], len(listed))
finally:
    for side in (one, other):
        side.process.terminate()
        side.process.wait(20)
    shutil.rmtree(top, ignore_errors=True)
