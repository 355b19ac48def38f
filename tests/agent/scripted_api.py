"""A Messages API that plays a script: the model's next turn is chosen by the tool results that the request has already."""

import http.server
import json
import threading


class Api:
    """Serves on loopback. `script` is a list of turns: {"tool", "input"}, {"text"}, {"hang": seconds},
    {"close": True} or {"status": 401}. A turn's "after" is the seconds that it takes to think."""

    def __init__(self, script=()):
        self.script, self.requests, self.release = list(script), [], threading.Event()
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def nothing(self):
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_HEAD = do_GET = nothing

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if "count_tokens" in self.path:
                    return self.whole(200, {"input_tokens": 10})
                api.requests.append({"key": self.headers.get("x-api-key"), "body": body})
                turn = api.turn(body)
                api.release.wait(turn.get("after", 0))
                if "hang" in turn:
                    api.release.wait(turn["hang"])
                    turn = {"text": "late"}
                if "close" in turn:
                    self.close_connection = True
                    return self.connection.close()
                if "status" in turn:
                    return self.whole(turn["status"], {"type": "error", "error": {"type": "authentication_error", "message": turn.get("message", "no")}})
                self.stream(body, turn)

            def whole(self, status, value):
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                if status == 429:
                    self.send_header("retry-after", "60")
                self.end_headers()
                self.wfile.write(text)

            def stream(self, body, turn):
                number = results(body)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()

                def event(kind, **members):
                    self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode())

                usage = {"input_tokens": 10, "output_tokens": 1}
                event("message_start", message={"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"],
                                                "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage})
                if "text" in turn:
                    block, delta, stop = {"type": "text", "text": ""}, {"type": "text_delta", "text": turn["text"]}, "end_turn"
                else:
                    block = {"type": "tool_use", "id": f"call_{number}", "name": turn["tool"], "input": {}}
                    delta, stop = {"type": "input_json_delta", "partial_json": json.dumps(turn["input"])}, "tool_use"
                event("content_block_start", index=0, content_block=block)
                event("content_block_delta", index=0, delta=delta)
                event("content_block_stop", index=0)
                event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 5})
                event("message_stop")
                self.close_connection = True

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # A session that is ended hangs up; that is no news.
        self.server.handle_error = lambda *_: None
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def turn(self, body):
        number = results(body)
        return self.script[number] if number < len(self.script) else {"text": "done"}

    def answers(self):
        """What the session's tools answered, by their number in the script: (is an error, text)."""
        found = {}
        for message in self.requests[-1]["body"]["messages"] if self.requests else []:
            for block in message["content"] if isinstance(message["content"], list) else []:
                if block.get("type") == "tool_result":
                    content = block.get("content")
                    text = content if isinstance(content, str) else json.dumps(content)
                    found[int(block["tool_use_id"].split("_")[1])] = (bool(block.get("is_error")), text)
        return found

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


def results(body):
    """The tool results that a request has."""
    contents = (message["content"] for message in body["messages"] if isinstance(message["content"], list))
    return sum(1 for content in contents for block in content if block.get("type") == "tool_result")
