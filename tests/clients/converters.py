"""Every tool of every toolset, turned into what a library gives to its model: python converters.py SERVER_PROGRAM VAULT WIKI NAME"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile

from server import TOKEN, Server

PROGRAM, VAULT, WIKI, NAME = sys.argv[1:]
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


async def mcp(url):
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async with create_mcp_http_client(headers=HEADERS) as http, Client(streamable_http_client(url, http_client=http)) as client:
        return (await client.list_tools()).tools


async def google_genai(url):
    """Its own converter for MCP, and the one that its client applies to what it sends."""
    from google.genai import Client, _mcp_utils, types

    tools = _mcp_utils.mcp_to_gemini_tools(await mcp(url))
    return [function for tool in tools for function in types.Tool.model_validate(tool.model_dump()).function_declarations]


async def pydantic_ai(url):
    from pydantic_ai import RunContext, RunUsage
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.test import TestModel

    async with MCPToolset(url, headers=HEADERS) as tools:
        return list(await tools.get_tools(RunContext(deps=None, model=TestModel(), usage=RunUsage())))


async def openai_agents(url):
    """In strict mode; a schema that cannot be strict would be sent as it is."""
    from agents.mcp import MCPServerStreamableHttp, MCPUtil

    async with MCPServerStreamableHttp({"url": url, "headers": HEADERS}) as server:
        tools = [MCPUtil.to_function_tool(tool, server, convert_schemas_to_strict=True) for tool in await server.list_tools()]
        # Where any name is one, as of properties, nothing can be strict.
        loose = {tool.name for tool in tools if not tool.strict_json_schema}
        assert loose <= {"vault_set_properties", "fetch_matching_files", "fetch_frontmatter_index"}, loose
        return tools


async def langchain(url):
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langchain_mcp_adapters.client import MultiServerMCPClient

    client = MultiServerMCPClient({"vault": {"transport": "streamable_http", "url": url, "headers": HEADERS}})
    return [convert_to_openai_tool(tool) for tool in await client.get_tools()]


async def smolagents(url):
    """With a picture, which it takes from the first block alone."""
    from PIL.Image import Image
    from smolagents import MCPClient

    with MCPClient({"url": url, "headers": HEADERS, "transport": "streamable-http"}, structured_output=True) as tools:
        read = next(tool for tool in tools if tool.name == "vault_read")
        assert isinstance(read(path="Attachments/boiler-sketch.png", offset=1, version=""), Image)
        assert all(tool.to_tool_calling_prompt() for tool in tools)
        return list(tools)


def git(*words):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *words], check=True, capture_output=True)


with tempfile.TemporaryDirectory() as folder:
    # Toolset git wants a repository, agent a wiki and Claude Code.
    vault = os.path.join(folder, "vault")
    shutil.copytree(VAULT, vault)
    shutil.copytree(WIKI, vault, dirs_exist_ok=True)
    git("init", "-q", "-b", "main", vault)
    git("-C", vault, "add", ".")
    git("-C", vault, "commit", "-q", "-m", "all")
    git("clone", "-q", "--bare", vault, os.path.join(folder, "remote.git"))
    git("-C", vault, "remote", "add", "origin", os.path.join(folder, "remote.git"))
    claude = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node_modules", ".bin", "claude")
    settings = {"AGENT_COMMAND": claude, "ANTHROPIC_API_KEY": "none", "ACCOMPLISHMENTS_FOLDER": "Projects", "DEFAULT_CANVAS": "Projects/Kitchen Shelf.canvas"}
    with Server(PROGRAM, vault, folder, "all", **settings) as server:
        tools = asyncio.run(globals()[NAME](server.url))
        names = [getattr(tool, "name", tool) for tool in tools]
        print(f"{NAME}: {len(names)} tools")
        assert len(names) == 47, names
