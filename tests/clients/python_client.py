"""The Python SDK: through a whole login, with the client authentication method it is told to ask for, or over stdio.

    python python_client.py URL USER PASSWORD VAULT none|client_secret_basic|client_secret_post|default auto|legacy
    python python_client.py stdio PROGRAM VAULT auto|legacy
"""

import asyncio
import html
import pathlib
import re
import sys
import urllib.parse

import httpx
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

REDIRECT = "http://localhost:33422/callback"


class Storage:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


def log_in(url: str, user: str, password: str) -> dict:
    page = httpx.get(url)
    action = html.unescape(re.search(r'<form method="post" action="([^"]*)"', page.text)[1])
    form = {"username": user, "password": password, "access": "write", "decision": "allow"}
    answer = httpx.post(urllib.parse.urljoin(url, action), data=form)
    assert answer.status_code == 303, answer.text
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.headers["location"]).query))


async def converse(client: Client, mode: str, vault: str) -> None:
    assert client.protocol_version == ("2026-07-28" if mode == "auto" else "2025-11-25"), client.protocol_version
    assert len((await client.list_tools()).tools) == 6
    found = await client.call_tool("vault_search", {"query": "heating controller"})
    assert not found.is_error and found.structured_content["total_matches"] > 0
    resources = (await client.list_resources()).resources
    assert len((await client.read_resource(resources[-1].uri)).contents) == 1
    assert len((await client.get_prompt("review_day", {"date": "2026-02-08"})).messages) == 2
    if mode == "auto":
        async with client.listen(resources_list_changed=True) as subscription:
            new = pathlib.Path(vault) / "from python.md"
            new.unlink(missing_ok=True) if new.exists() else new.write_text("x")
            await asyncio.wait_for(anext(aiter(subscription)), 5)


async def over_http(url: str, user: str, password: str, vault: str, method: str, mode: str) -> None:
    back = {}

    async def redirect(url: str) -> None:
        back.update(await asyncio.to_thread(log_in, url, user, password))

    async def callback() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=back["code"], state=back.get("state"), iss=back.get("iss"))

    metadata = OAuthClientMetadata(
        client_name="Python SDK",
        redirect_uris=[REDIRECT],
        token_endpoint_auth_method=None if method == "default" else method,
    )
    provider = OAuthClientProvider(
        server_url=url, client_metadata=metadata, storage=Storage(), redirect_handler=redirect, callback_handler=callback
    )
    async with create_mcp_http_client(auth=provider) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            await converse(client, mode, vault)
            before = provider.context.current_tokens.model_copy()
            provider.context.token_expiry_time = 1  # the SDK refreshes when its own clock says so
            assert not (await client.call_tool("vault_list", {})).is_error
            assert provider.context.current_tokens.access_token != before.access_token


async def over_stdio(program: str, vault: str, mode: str) -> None:
    server = StdioServerParameters(command=program, args=["stdio", "--vault-path", vault])
    async with Client(server, mode=mode) as client:
        await converse(client, mode, vault)


if sys.argv[1] == "stdio":
    asyncio.run(over_stdio(*sys.argv[2:]))
else:
    asyncio.run(over_http(*sys.argv[1:]))
