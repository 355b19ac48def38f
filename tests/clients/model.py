"""A model that is a script: it asks for given tool calls one after the other and then says that it is done. It is behind four
APIs: Anthropic's Messages, OpenAI's Responses and Chat Completions, and Google's generateContent; streamed where asked for.

It keeps what it is given: the parts of the last result, as the API has them.
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model:
    """Asks for `calls`, pairs of a tool's name and its arguments. A tool is also known by its name behind a client's prefix."""

    def __init__(self, calls):
        self.calls = calls
        self.results = {}
        self.offered = set()
        self.requests = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.requests.append((self.path, request))
                kind, body = model.answer(self.path, request)
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                body = b'{"object":"list","data":[],"models":[]}'
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def next(self, names, results):
        """The next call, by the number of results so far, or None."""
        self.offered |= set(names)
        for number, result in enumerate(results[: len(self.calls)]):
            self.results[self.calls[number][0]] = result
        if len(results) >= len(self.calls):
            return None
        tool, arguments = self.calls[len(results)]
        named = [name for name in names if name == tool or re.search(rf"[_.]{tool}$", name)]
        return (min(named, key=len), arguments) if named else None

    def answer(self, path, request):
        if "count_tokens" in path or "countTokens" in path:
            return "application/json", b'{"input_tokens":1,"totalTokens":1}'
        if path.endswith("/messages") or "/messages?" in path:
            return self.messages(request)
        if "/responses" in path:
            return self.responses(request)
        if "/chat/completions" in path:
            return self.chat(request)
        if "generateContent" in path or "streamGenerateContent" in path:
            return self.google(request, "stream" in path)
        return "application/json", b"{}"

    def messages(self, request):
        blocks = [b for m in request["messages"] if isinstance(m["content"], list) for b in m["content"]]
        results = [block for block in blocks if block["type"] == "tool_result"]
        call = self.next([tool["name"] for tool in request.get("tools", [])], results)
        if call:
            block = {"type": "tool_use", "id": f"toolu_{len(results)}", "name": call[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None, "usage": usage}
        if not request.get("stream"):
            whole = {**block, "input": call[1]} if call else {"type": "text", "text": "done"}
            return "application/json", json.dumps({**message, "content": [whole], "stop_reason": "tool_use" if call else "end_turn"}).encode()
        stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        return events(
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": stop, "usage": usage},
            {"type": "message_stop"},
        )

    def responses(self, request):
        names, spaces = [], {}
        for tool in request.get("tools", []):
            if tool["type"] == "function":
                names.append(tool["name"])
            for inner in tool.get("tools", []):
                names.append(inner["name"])
                spaces[inner["name"]] = tool.get("name")
        results = [item["output"] for item in request["input"] if item.get("type") == "function_call_output"]
        call = self.next(names, results)
        if call:
            item = {"type": "function_call", "id": f"fc_{len(results)}", "call_id": f"call_{len(results)}", "name": call[0],
                    "arguments": json.dumps(call[1]), "status": "completed"}
            if call[0] in spaces:
                item["namespace"] = spaces[call[0]]
        else:
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "done", "annotations": []}]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                 "output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [item], "usage": usage,
                    "parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
        if not request.get("stream"):
            return "application/json", json.dumps(response).encode()
        return events(
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        )

    def chat(self, request):
        names = [tool["function"]["name"] for tool in request.get("tools", [])]
        results = []
        for message in request["messages"]:
            if message["role"] == "tool":
                results.append([message["content"]])
            elif message["role"] == "user" and results:
                # Pictures cannot stand in a tool's message here: they follow in one of the user's.
                results[-1].append(message["content"])
        call = self.next(names, results)
        message = {"role": "assistant", "content": None if call else "done"}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            message["tool_calls"] = [{"index": 0, "id": f"call_{len(results)}", "type": "function", "function": function}]
        reason = "tool_calls" if call else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        head = {"id": "c1", "created": 1, "model": "m"}
        if request.get("stream"):
            one = {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
            two = {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
            return "text/event-stream", f"data: {json.dumps(one)}\n\ndata: {json.dumps(two)}\n\ndata: [DONE]\n\n".encode()
        whole = {**head, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}
        return "application/json", json.dumps(whole).encode()

    def google(self, request, is_streamed):
        names = [f["name"] for tool in request.get("tools", []) for f in tool.get("functionDeclarations", [])]
        results = []
        for content in request["contents"]:
            for part in content["parts"]:
                if "functionResponse" in part:
                    results.append([part["functionResponse"]])
                elif "inlineData" in part and results:
                    results[-1].append(part)
        call = self.next(names, results)
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": "done"}
        body = {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            "modelVersion": "m",
        }
        if is_streamed:
            return "text/event-stream", f"data: {json.dumps(body)}\r\n\r\n".encode()
        return "application/json", json.dumps(body).encode()


def events(*messages):
    """Server-sent events."""
    return "text/event-stream", "".join(f"event: {m['type']}\ndata: {json.dumps(m)}\n\n" for m in messages).encode()
