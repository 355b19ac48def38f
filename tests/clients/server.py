"""A server of its own for a test: a copy of a vault, a login, a token, a free port."""

import hashlib
import os
import secrets
import shutil
import socket
import subprocess
import time
import urllib.request

USER, PASSWORD, TOKEN = "alex", "correct horse", secrets.token_hex(32)


class Server:
    def __init__(self, program, vault, folder, toolsets, **settings):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        hashed = subprocess.run([program, "hash-password"], input=PASSWORD + "\n", capture_output=True, text=True, check=True)
        self.url = f"http://{address}/mcp"
        self.vault = os.path.join(folder, "vault")
        if vault != self.vault:
            shutil.copytree(vault, self.vault)
        self.folder, self.program = folder, program
        self.state_file = os.path.join(folder, "state", "state.json")
        self.env = {
            "PATH": os.environ["PATH"],
            "VAULT_PATH": self.vault,
            "STATE_DIR": os.path.join(folder, "state"),
            "TOOLSETS": toolsets,
            "LISTEN_ADDR": address,
            "SERVER_URL": f"http://{address}",
            "AUTH_USERS": f"{USER}:{hashed.stdout.strip()}",
            "API_TOKENS": f"test:{hashlib.sha256(TOKEN.encode()).hexdigest()}",
            **settings,
        }
        self.start()

    def start(self):
        with open(os.path.join(self.folder, "server.log"), "a") as log:
            self.process = subprocess.Popen([self.program], env=self.env, stderr=log)
        for _ in range(100):
            try:
                urllib.request.urlopen(self.env["SERVER_URL"] + "/healthz").read()
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(open(log.name).read())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
