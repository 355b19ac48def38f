//! Bytes against the HTTP layer. In most cases another HTTP library was brought down or fooled so.

use crate::support::{Connection, Folder, HEALTH, PING, Server, TOKEN, post, stream_request};
use serde_json::json;
use std::net::Shutdown;
use std::time::{Duration, Instant};
use vault_sync_mcp::http::server::{self, Running};
use vault_sync_mcp::http::{Handler, Refusal, Reply, Request, Response as HttpResponse};

#[test]
fn a_connection_is_kept_and_pipelined_requests_are_answered_in_order() {
    let (_folder, server) = Server::sample();
    let mut connection = server.connect();
    for _ in 0..3 {
        assert_eq!(connection.send(HEALTH).response().text(), "ok\n");
    }
    let piped: String = (10..40)
        .map(|id| post(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)))
        .collect();
    connection.send(piped);
    for id in 10..40 {
        assert_eq!(connection.response().json()["id"], id);
    }
}

#[test]
fn a_request_may_arrive_byte_by_byte() {
    let (_folder, server) = Server::sample();
    let mut connection = server.connect();
    for byte in post(PING).bytes() {
        connection.send([byte]);
    }
    assert_eq!(connection.response().json()["result"], json!({}));
    let chunked = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: \
         application/json\r\nTransfer-Encoding: \
         chunked\r\n\r\n{:x};ext=1\r\n{}\r\n{:x}\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
        10,
        &PING[..10],
        PING.len() - 10,
        &PING[10..]
    );
    for byte in chunked.bytes() {
        connection.send([byte]);
    }
    assert_eq!(connection.response().json()["result"], json!({}));
    assert_eq!(connection.send(HEALTH).response().status, 200, "the connection goes on");
}

/// One request each; the answer's status, then the connection closes and the server lives.
#[test]
fn what_is_not_plain_http_is_refused_and_the_connection_closed() {
    let (_folder, server) = Server::sample();
    let auth = format!("Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n");
    let cases: Vec<(String, u16)> = vec![
        ("GET /healthz HTTP/1.1\r\n\r\n".into(), 400),
        ("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".into(), 400),
        ("GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n".into(), 505),
        ("GET /healthz HTTP/1.1\nHost: localhost\n\n".into(), 400),
        ("GET http://evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n".into(), 400),
        ("\u{16}\u{3}\u{1}\u{2}\r\n\r\n".into(), 400),
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\u{1}b\r\n\r\n".into(), 400),
        (
            "GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: b\r\n Transfer-Encoding: \
             chunked\r\n\r\n"
                .into(),
            400,
        ),
        (format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(13_000)), 414),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "a".repeat(17_000)), 431),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "A:\r\n".repeat(200)), 431),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Content-Length: \
                 40\r\nTransfer-Encoding: chunked\r\n\r\n"
            ),
            400,
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Content-Length: \
                 40\r\nContent-Length: 40\r\n\r\n{PING}"
            ),
            400,
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Content-Length: +40\r\n\r\n{PING}"
            ),
            400,
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Transfer-Encoding: \
                 identity\r\n\r\n{PING}"
            ),
            400,
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Transfer-Encoding: \
                 chunked\r\n\r\nzz\r\n"
            ),
            400,
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Transfer-Encoding: \
                 chunked\r\n\r\n{}\r\n",
                "1".repeat(300)
            ),
            400,
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Transfer-Encoding: \
                 chunked\r\n\r\n7fffffffffffffff\r\n"
            ),
            413,
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Expect: \
                 a-miracle\r\nContent-Length: 40\r\n\r\n"
            ),
            417,
        ),
    ];
    for (bytes, status) in cases {
        let mut connection = server.connect();
        connection.try_send(&bytes);
        let shown: String = bytes.chars().take(120).collect();
        let response =
            connection.try_response().unwrap_or_else(|| panic!("no answer to {shown:?}"));
        assert_eq!(response.status, status, "{shown:?}");
        assert_eq!(response.header("connection"), Some("close"), "{shown:?}");
        assert!(connection.is_closed(), "{shown:?}");
    }
    assert!(server.is_alive());
}

/// A body length that does not fit in memory is refused before a byte is read, logged in or not;
/// the process lives.
#[test]
fn a_huge_content_length_is_refused_before_reading() {
    let (_folder, server) = Server::sample();
    for (length, token, status) in [
        ("1099511627776", "wrong", 401),
        ("1099511627776", TOKEN, 413),
        ("18446744073709551615", TOKEN, 413),
        ("99999999999999999999999999", TOKEN, 413),
        ("16777217", TOKEN, 413),
    ] {
        let mut connection = server.connect();
        connection.send(format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \
             {token}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        ));
        assert_eq!(connection.response().status, status, "{length} {token}");
    }
    let form = format!(
        "POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
         application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
        64 * 1024 + 1
    );
    assert_eq!(server.connect().send(form).response().status, 413);
    assert!(server.is_alive());
}

/// The rest of a body that was not wanted must never be taken for a request.
#[test]
fn an_unread_body_is_not_the_next_request() {
    let (_folder, server) = Server::sample();
    let smuggled = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Smuggled: 1\r\n\r\n";
    // Refused by its missing token: the connection closes.
    let mut connection = server.connect();
    connection.send(format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{smuggled}{HEALTH}",
        smuggled.len()
    ));
    assert_eq!(connection.response().status, 401);
    assert!(connection.is_closed(), "exactly one answer");
    // Refused while chunks are coming: the connection closes.
    for (path, status) in [("/mcp", 401), ("/nowhere", 404), ("/oauth/token", 413)] {
        let mut connection = server.connect();
        connection.try_send(format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: \
             chunked\r\n\r\nffffff\r\n{smuggled}"
        ));
        assert_eq!(connection.response().status, status, "{path}");
        assert!(connection.is_closed(), "{path}");
    }
}

#[test]
fn a_body_that_ends_early_is_an_error_and_never_a_shorter_body() {
    let (folder, server) = Server::sample();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_write", "arguments": { "path": "half.md", "content": "x" } } }).to_string();
    for framing in [
        "Content-Length: 500".to_owned(),
        format!("Transfer-Encoding: chunked\r\n\r\n{:x}", call.len()),
    ] {
        let mut connection = server.connect();
        connection.send(format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \
             {TOKEN}\r\nContent-Type: application/json\r\n{framing}\r\n\r\n{call}"
        ));
        connection.stream().shutdown(Shutdown::Write).unwrap();
        assert!(connection.try_response().is_none_or(|response| response.status == 400));
    }
    assert!(!folder.vault().join("half.md").exists());
    assert!(server.is_alive());
}

/// `nc -N` closes its sending half behind the request, and waits for the answer.
#[test]
fn a_client_that_has_closed_its_sending_half_is_answered() {
    let (_folder, server) = Server::sample();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "vault_search", "arguments": { "query": "heating" } } });
    for _ in 0..5 {
        let mut connection = server.connect();
        connection.send(post(&call.to_string()));
        connection.stream().shutdown(Shutdown::Write).unwrap();
        let answer = connection.response();
        assert_eq!(
            (answer.status, answer.json()["result"]["isError"].as_bool().unwrap_or(false)),
            (200, false),
            "{}",
            answer.text()
        );
    }
}

#[test]
fn expect_100_continue_is_answered_before_the_body() {
    let (_folder, server) = Server::sample();
    let mut connection = server.connect();
    connection.send(format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: \
         application/json\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        PING.len()
    ));
    assert_eq!(connection.headless().status, 100);
    assert_eq!(connection.send(PING).response().json()["result"], json!({}));
    // Whoever is refused hears it at once and keeps the body.
    let mut anonymous = server.connect();
    anonymous.send(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: \
         5\r\n\r\n",
    );
    assert_eq!(anonymous.response().status, 401);
    // Without a body there is nothing to continue with.
    let mut bare = server.connect();
    bare.send("GET /mcp HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(bare.response().status, 401);
    assert_eq!(bare.send(HEALTH).response().text(), "ok\n");
}

#[test]
fn http_1_0_and_head_and_close_are_understood() {
    let (_folder, server) = Server::sample();
    let mut old = server.connect();
    old.send("GET /healthz HTTP/1.0\r\n\r\n");
    assert_eq!(old.response().text(), "ok\n");
    assert!(old.is_closed());
    let mut close = server.connect();
    assert_eq!(
        close
            .send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .response()
            .header("connection"),
        Some("close")
    );
    assert!(close.is_closed());
    let mut head = server.connect();
    let answer = head.send("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").headless();
    assert_eq!((answer.status, answer.header("content-length")), (200, Some("3")));
    assert_eq!(head.send(HEALTH).response().text(), "ok\n", "no body came in between");
    assert!(answer.header("date").is_some());
}

#[test]
fn running_requests_end_and_streams_close_cleanly_at_sigterm() {
    let (_folder, server) = Server::sample();
    let mut idle = server.connect();
    assert_eq!(idle.send(HEALTH).response().status, 200);
    let mut stream = server.connect();
    stream.send(stream_request(TOKEN, &server.session(TOKEN, "2025-06-18"), "text/event-stream"));
    assert_eq!(stream.headless().status, 200);
    assert_eq!(stream.chunk().as_deref(), Some(": ping\n\n"));
    let started = Instant::now();
    assert_eq!(server.terminate(), 0);
    assert!(!crate::support::thorough() || started.elapsed() < Duration::from_secs(5));
    assert!(stream.chunk().is_none(), "the last chunk");
    assert!(idle.is_closed());
}

/// A proxy sends the whole request before it reads. Its client needs the 401 for an expired token,
/// and not the proxy's 502: without it the client does not refresh its token.
#[test]
fn a_large_request_that_is_refused_early_gets_its_answer() {
    let (_folder, server) = Server::sample();
    let mut connection = server.connect();
    let body = vec![b'x'; 12 * 1024 * 1024];
    connection.send(format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    ));
    assert!(connection.try_send(&body), "the whole request can be sent");
    assert_eq!(connection.response().status, 401);
}

/// Head and body in two segments wait for a delayed acknowledgement: 44 ms for anything above a
/// kilobyte.
#[test]
fn answers_of_every_size_come_at_once() {
    let sizes = [300, 900, 3_000, 20_000, 40_000];
    let files: Vec<(String, Vec<u8>)> =
        sizes.iter().map(|size| (format!("{size}.md"), vec![b'x'; *size])).collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let folder = Folder::with(&files);
    let server = Server::on(&folder.vault());
    let mut connection = server.connect();
    for size in sizes {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_read", "arguments": { "path": format!("{size}.md") } } });
        let started = Instant::now();
        for _ in 0..30 {
            assert_eq!(connection.send(post(&call.to_string())).response().status, 200);
        }
        let each = started.elapsed() / 30;
        assert!(
            !crate::support::thorough() || each < Duration::from_millis(25),
            "{size} bytes take {each:?}"
        );
    }
}

#[test]
fn odd_but_lawful_requests_are_served() {
    let (_folder, server) = Server::sample();
    for bytes in [
        b"\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Name: caf\xc3\xa9 \xff\r\n\r\n".to_vec(),
        b"GET /healthz HTTP/1.1\r\nhost:localhost\r\nEmpty:\r\n\r\n".to_vec(),
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTE: chunked\r\n\r\n".to_vec(),
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n".to_vec(),
    ] {
        let response = server.connect().send(&bytes).response();
        assert_eq!((response.status, response.header("content-length")), (200, Some("3")), "{}", String::from_utf8_lossy(&bytes));
    }
    let upgrade = post(PING).replace(
        "Host: vault.example.com",
        "Host: localhost\r\nConnection: upgrade\r\nUpgrade: h2c",
    );
    let mut connection = server.connect();
    assert_eq!(connection.send(&upgrade).response().status, 200);
    assert_eq!(
        connection.send(HEALTH).response().status,
        200,
        "the body was read by its length, not to the end"
    );
    let mut ancient = server.connect();
    ancient.send("GET /healthz\r\n\r\n");
    assert_eq!(ancient.response().status, 400, "HTTP/0.9");
    let preflight = server.request("OPTIONS /mcp HTTP/1.1", "");
    assert_eq!((preflight.status, preflight.header("content-length")), (204, None));
}

/// A service that panics where it should, behind the HTTP layer as it is.
struct Shaky;

impl Handler for Shaky {
    fn handle(&self, request: &mut Request<'_>) -> Result<Reply, Refusal> {
        assert!(&*request.head.path != "/at-once", "a panic on purpose");
        request.take_worker("")?;
        assert!(&*request.head.path != "/with-a-worker", "a panic on purpose");
        Ok(Reply::Whole(HttpResponse::json(200, "{}")))
    }
}

#[test]
fn a_panic_is_a_500_for_its_request_alone() {
    let running =
        Running::start(server::bind("127.0.0.1:0".parse().unwrap()).unwrap(), Shaky, 16, 1)
            .unwrap();
    let address = running.address();
    for _ in 0..20 {
        for (path, status) in [("/at-once", 500), ("/with-a-worker", 500), ("/fine", 200)] {
            let mut connection = Connection::open(address);
            assert_eq!(
                connection
                    .send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"))
                    .response()
                    .status,
                status,
                "{path}"
            );
        }
    }
    let started = Instant::now();
    assert_eq!(running.stop(), 0);
    assert!(!crate::support::thorough() || started.elapsed() < Duration::from_secs(5));
}

/// The deepest JSON and YAML that their parsers take fit on a connection's stack.
#[test]
fn the_deepest_documents_fit_on_the_stack() {
    let (_folder, server) = Server::sample();
    for depth in [120, 127, 128, 5_000] {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{nested}}}}}"#);
        let status = server.connect().send(post(&body)).response().status;
        assert_eq!(status, if depth < 126 { 200 } else { 400 }, "{depth}");
        let note = format!("---\ntags: {nested}\n---\n");
        server.call("vault_write", json!({ "path": format!("deep {depth}.md"), "content": note }));
    }
    assert!(server.is_alive());
}

/// A byte a chunk, with long extensions: framing has a bound of its own.
#[test]
fn chunk_framing_is_bounded_by_itself() {
    let (_folder, server) = Server::sample();
    let chunk = format!("1;{}\r\nA\r\n", "x".repeat(240));
    let mut connection = server.connect();
    connection.send(
        "POST /oauth/register HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    connection.try_send(chunk.repeat(1000));
    assert_eq!(connection.response().status, 400);
}

#[test]
fn the_debug_log_shows_each_step_of_a_login_and_no_code() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("LOG_LEVEL", "debug")]);
    server.get("/oauth/authorize?state=SeCrEt");
    server.request(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Claude-User\r\nContent-Length: \
         2\r\n\r\n",
        "{}",
    );
    server.result_of("tools/list", json!({}));
    let log = server.log_with("rpc=\"tools/list\"");
    assert!(log.contains("http GET \"/oauth/authorize\" status=400"), "{log}");
    assert!(
        log.contains("http POST \"/mcp\" status=401 from=127.0.0.1 agent=\"Claude-User\""),
        "{log}"
    );
    assert!(!log.contains("SeCrEt"), "{log}");
}
