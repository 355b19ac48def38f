"""The Python SDK through a whole login, with the client authentication method it is told to ask for.

    python python_client.py URL USER PASSWORD [none|client_secret_basic|client_secret_post|default]
"""

import asyncio
import html
import re
import sys
import urllib.parse

import httpx
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

URL, USER, PASSWORD, METHOD = [*sys.argv[1:], "default"][:4]
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


def log_in(url: str) -> dict:
    page = httpx.get(url)
    action = html.unescape(re.search(r'<form method="post" action="([^"]*)"', page.text)[1])
    form = {"username": USER, "password": PASSWORD, "access": "write", "decision": "allow"}
    answer = httpx.post(urllib.parse.urljoin(url, action), data=form)
    assert answer.status_code == 303, answer.text
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.headers["location"]).query))


async def main() -> None:
    back = {}

    async def redirect(url: str) -> None:
        back.update(await asyncio.to_thread(log_in, url))

    async def callback() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=back["code"], state=back.get("state"), iss=back.get("iss"))

    metadata = OAuthClientMetadata(
        client_name="Python SDK",
        redirect_uris=[REDIRECT],
        token_endpoint_auth_method=None if METHOD == "default" else METHOD,
    )
    provider = OAuthClientProvider(
        server_url=URL, client_metadata=metadata, storage=Storage(), redirect_handler=redirect, callback_handler=callback
    )
    async with create_mcp_http_client(auth=provider) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode="auto") as client:
            assert len((await client.list_tools()).tools) == 6
            found = await client.call_tool("vault_search", {"query": "heating controller"})
            assert not found.is_error
            before = provider.context.current_tokens.model_copy()
            provider.context.token_expiry_time = 1  # the SDK refreshes when its own clock says so
            assert not (await client.call_tool("vault_list", {})).is_error
            assert provider.context.current_tokens.access_token != before.access_token


asyncio.run(main())
