"""What a client's model gets to see: each client makes a search, reads a picture, loads a note with toolset context and writes
one, and the scripted model behind it looks at what came back. Prints a table, clients by kinds of tools.

    python what_models_get.py SERVER_PROGRAM VAULT [CLIENT...]
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile

from model import Model
from server import PASSWORD, TOKEN, USER, Server

PROGRAM, VAULT, CHOSEN = sys.argv[1], sys.argv[2], sys.argv[3:]
CLIENTS = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(CLIENTS, "node_modules", ".bin")
PICTURE = "Attachments/boiler-sketch.png"
KINDS = ["search", "picture", "context", "write"]


class Setting:
    """What a client's run has: a home of its own, the server's URL, the model's."""

    def __init__(self, name, url, model, folder):
        self.url, self.model = url, model
        self.home = os.path.join(folder, name)
        bin = os.path.join(self.home, "bin")
        os.makedirs(bin)
        # Whatever opens a browser gets this one.
        browser = os.path.join(bin, "xdg-open")
        with open(browser, "w") as script:
            script.write(f"#!/bin/sh\n'{sys.executable}' '{CLIENTS}/browser.py' {USER} '{PASSWORD}' \"$@\" >>'{self.home}/browser.log' 2>&1 &\n")
        os.chmod(browser, 0o755)
        self.env = {"PATH": f"{bin}:{BIN}:{os.environ['PATH']}", "HOME": self.home, "BROWSER": browser, "TOKEN": TOKEN, "NO_COLOR": "1"}
        self.log = open(os.path.join(self.home, "log"), "w+")

    def write(self, path, text):
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text if isinstance(text, str) else json.dumps(text))

    def run(self, *command, **env):
        self.log.write(f"$ {' '.join(command)}\n")
        self.log.flush()
        subprocess.run(command, env={**self.env, **env}, cwd=self.home, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, timeout=150)

    def library(self, venv, name):
        """A client that is a library, by the function of that name."""
        self.run(os.path.join(CLIENTS, venv, "bin", "python"), os.path.join(CLIENTS, "libraries.py"), name, self.url, TOKEN, self.model)


def claude_code(it):
    env = {"ANTHROPIC_BASE_URL": it.model, "ANTHROPIC_API_KEY": "none", "ENABLE_TOOL_SEARCH": "false", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    it.run("claude", "mcp", "add", "--transport", "http", "vault", it.url, "--header", f"Authorization: Bearer {TOKEN}", **env)
    it.run("claude", "-p", "Use my vault.", "--allowedTools", "mcp__vault", **env)


def codex(it):
    provider = f'model = "gpt-5"\nmodel_provider = "s"\n[model_providers.s]\nname = "s"\nbase_url = "{it.model}/v1"\nwire_api = "responses"\n'
    it.write(".codex/config.toml", provider + f'[mcp_servers.vault]\nurl = "{it.url}"\ndefault_tools_approval_mode = "approve"\n')
    it.run("codex", "mcp", "login", "vault")
    it.run("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Use my vault.")


def gemini_cli(it):
    server = {"httpUrl": it.url, "headers": {"Authorization": f"Bearer {TOKEN}"}, "trust": True}
    it.write(".gemini/settings.json", {"mcpServers": {"vault": server}, "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}})
    it.run("gemini", "-p", "Use my vault.", "-m", "gemini-2.5-flash", "--approval-mode", "yolo", "--skip-trust", GEMINI_API_KEY="none", GOOGLE_GEMINI_BASE_URL=it.model)


def opencode(it):
    model = {"npm": "@ai-sdk/anthropic", "options": {"baseURL": it.model + "/v1", "apiKey": "none"},
             "models": {"m": {"attachment": True, "tool_call": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}}}
    it.write("opencode.json", {"provider": {"s": model}, "model": "s/m", "small_model": "s/m", "autoupdate": False, "mcp": {"vault": {"type": "remote", "url": it.url}}})
    it.run("opencode", "mcp", "auth", "vault")
    it.run("opencode", "run", "-m", "s/m", "Use my vault.")


def vercel_ai(it):
    it.run("node", os.path.join(CLIENTS, "vercel.mjs"), it.url, USER, PASSWORD, it.model)


RUNS = {
    "Claude Code": claude_code,
    "Codex": codex,
    "gemini-cli": gemini_cli,
    "opencode": opencode,
    "fastmcp": lambda it: it.library("venv", "fastmcp"),
    "pydantic-ai": lambda it: it.library("venv", "pydantic_ai"),
    "openai-agents": lambda it: it.library("venv-mcp1", "openai_agents"),
    "langchain": lambda it: it.library("venv-mcp1", "langchain"),
    "Vercel ai": vercel_ai,
}


def what_came(name, results, vault):
    """For each kind of tool whether the model got what the tool says."""
    picture = base64.b64encode(open(os.path.join(VAULT, PICTURE), "rb").read()).decode()
    search, read = json.dumps(results.get("vault_search"), ensure_ascii=False), results.get("vault_read")
    context = results.get("fetch_specific_file")
    return {
        "search": "Heating System.md" in search and "total_matches" in search,
        "picture": read is not None and any(picture in text for text in pictures(read)),
        "context": "Welcome.md" in json.dumps(context) and "Mara's vault" in json.dumps(context, ensure_ascii=False),
        "write": "hello" == open_or_empty(os.path.join(vault, f"From {name}.md")) and "etag" in json.dumps(results.get("vault_write")),
    }


def open_or_empty(path):
    return open(path).read() if os.path.exists(path) else ""


def pictures(value):
    """The pictures in a result, in the form that an API has for them; text is not looked at."""
    if isinstance(value, list):
        return [found for item in value for found in pictures(item)]
    if not isinstance(value, dict):
        return []
    found = []
    if value.get("type") == "image" and "source" in value:
        found.append(value["source"]["data"])
    if value.get("type") == "input_image":
        found.append(value["image_url"])
    if value.get("type") == "image_url":
        found.append(value["image_url"]["url"])
    if "inlineData" in value:
        found.append(value["inlineData"]["data"])
    return found + [picture for member in value.values() for picture in pictures(member)]


def try_client(name, run, server, folder):
    """The table's cells of a client; what it said, where one is missing."""
    calls = [
        ("vault_search", {"query": "heating controller"}),
        ("vault_read", {"path": PICTURE}),
        ("fetch_specific_file", {"file_path": "Welcome.md"}),
        ("vault_write", {"path": f"From {name}.md", "content": "hello"}),
    ]
    model = Model(calls)
    it = Setting(name.replace(" ", "-"), server.url, model.url, folder)
    try:
        run(it)
    except subprocess.TimeoutExpired:
        it.log.write("took too long\n")
    cells = what_came(name, model.results, server.vault)
    if not all(cells.values()):
        it.log.seek(0)
        print(f"--- {name}\n{it.log.read()[-6000:]}\n{open_or_empty(it.home + '/browser.log')}")
        print(f"offered: {sorted(model.offered)}\nresults: {json.dumps(model.results)[:3000]}", flush=True)
    return cells


with tempfile.TemporaryDirectory() as folder, Server(PROGRAM, VAULT, folder, "vault,notes,context") as server:
    table = {name: try_client(name, run, server, folder) for name, run in RUNS.items() if name in CHOSEN or not CHOSEN}
print(f"{'':15}" + "".join(f"{kind:>9}" for kind in KINDS))
for name, cells in table.items():
    print(f"{name:15}" + "".join(f"{'yes' if cells[kind] else 'NO':>9}" for kind in KINDS))
sys.exit(not all(cell for cells in table.values() for cell in cells.values()))
