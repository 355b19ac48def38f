"""Libraries that put MCP tools before a model, each with an agent of its own: python libraries.py NAME URL TOKEN MODEL_URL"""

import asyncio
import json
import os
import sys

NAME, URL, TOKEN, MODEL = sys.argv[1:]
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
ASK = "Use my vault."
os.environ["OPENAI_API_KEY"] = "none"


async def fastmcp():
    """With its own login. It has no model: what it gives to programs goes to one as Responses have it, data where there is some."""
    from fastmcp import Client
    from openai import AsyncOpenAI

    model = AsyncOpenAI(base_url=MODEL + "/v1")
    async with Client(URL, auth="oauth") as client:
        tools = [{"type": "function", "name": tool.name, "parameters": tool.inputSchema} for tool in await client.list_tools()]
        said = []
        while True:
            answer = (await model.responses.create(model="m", input=said, tools=tools)).output[0]
            if answer.type != "function_call":
                return
            result = await client.call_tool(answer.name, json.loads(answer.arguments))
            shown = [content(block) for block in result.content] if result.data is None else [{"type": "input_text", "text": json.dumps(result.structured_content)}]
            said.append({"type": "function_call_output", "call_id": answer.call_id, "output": shown})


def content(block):
    if block.type == "image":
        return {"type": "input_image", "image_url": f"data:{block.mimeType};base64,{block.data}"}
    return {"type": "input_text", "text": block.text}


async def pydantic_ai():
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=MODEL + "/v1", api_key="none"))
    agent = Agent(model, toolsets=[MCPToolset(URL, auth="oauth")])
    print(await agent.run(ASK))


async def openai_agents():
    from agents import Agent, AsyncOpenAI, OpenAIResponsesModel, Runner, set_tracing_disabled
    from agents.mcp import MCPServerStreamableHttp

    set_tracing_disabled(True)
    model = OpenAIResponsesModel("m", AsyncOpenAI(base_url=MODEL + "/v1"))
    for use_structured_content in (True, False):
        async with MCPServerStreamableHttp({"url": URL, "headers": HEADERS}, use_structured_content=use_structured_content) as server:
            agent = Agent("a", model=model, mcp_servers=[server], mcp_config={"convert_schemas_to_strict": True})
            print(await Runner.run(agent, ASK))


async def langchain():
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_openai import ChatOpenAI

    client = MultiServerMCPClient({"vault": {"transport": "streamable_http", "url": URL, "headers": HEADERS}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    model = ChatOpenAI(model="m", base_url=MODEL + "/v1", use_responses_api=True).bind_tools(list(tools.values()))
    said = [("user", ASK)]
    while True:
        answer = await model.ainvoke(said)
        said.append(answer)
        if not answer.tool_calls:
            return
        for call in answer.tool_calls:
            said.append(await tools[call["name"]].ainvoke(call))


asyncio.run(globals()[NAME]())
