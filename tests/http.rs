//! Bytes against the HTTP layer. Most cases are ways in which another HTTP library was brought down or fooled.

use crate::support::{Connection, Folder, Server, TOKEN, eventually};
use serde_json::json;
use std::io::Read;
use std::net::Shutdown;
use std::time::{Duration, Instant};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn post(body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: vault.example.com\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: vault.example.com\r\n\r\n";

fn is_alive(server: &Server) -> bool {
    server.get("/healthz").text() == "ok\n"
}

#[test]
fn a_connection_is_kept_and_pipelined_requests_are_answered_in_order() {
    let (_folder, server) = Server::sample();
    let mut connection = server.connect();
    for _ in 0..3 {
        assert_eq!(connection.send(HEALTH).response().text(), "ok\n");
    }
    let piped: String = (10..40).map(|id| post(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#))).collect();
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
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{:x};ext=1\r\n{}\r\n{:x}\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
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
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: b\r\n Transfer-Encoding: chunked\r\n\r\n".into(), 400),
        (format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(13_000)), 414),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "a".repeat(17_000)), 431),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "A:\r\n".repeat(200)), 431),
        (format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Content-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n"), 400),
        (format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Content-Length: 40\r\nContent-Length: 40\r\n\r\n{PING}"), 400),
        (format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Content-Length: +40\r\n\r\n{PING}"), 400),
        (format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Transfer-Encoding: identity\r\n\r\n{PING}"), 400),
        (format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Transfer-Encoding: chunked\r\n\r\nzz\r\n"), 400),
        (format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Transfer-Encoding: chunked\r\n\r\n{}\r\n", "1".repeat(300)), 400),
        (format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n"), 413),
        (format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{auth}Expect: a-miracle\r\nContent-Length: 40\r\n\r\n"), 417),
    ];
    for (bytes, status) in cases {
        let mut connection = server.connect();
        connection.try_send(&bytes);
        let shown: String = bytes.chars().take(120).collect();
        let response = connection.try_response().unwrap_or_else(|| panic!("no answer to {shown:?}"));
        assert_eq!(response.status, status, "{shown:?}");
        assert_eq!(response.header("connection"), Some("close"), "{shown:?}");
        assert!(connection.is_closed(), "{shown:?}");
    }
    assert!(is_alive(&server));
}

/// A body length nobody can hold is refused before a byte is read, logged in or not; the process lives.
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
        connection.send(format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"));
        assert_eq!(connection.response().status, status, "{length} {token}");
    }
    let form = format!(
        "POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
        64 * 1024 + 1
    );
    assert_eq!(server.connect().send(form).response().status, 413);
    assert!(is_alive(&server));
}

/// The rest of a body that nobody wanted must never be taken for a request.
#[test]
fn an_unread_body_is_not_the_next_request() {
    let (_folder, server) = Server::sample();
    let smuggled = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Smuggled: 1\r\n\r\n";
    // Refused by its missing token, body small: dropped, and the connection is kept.
    let mut connection = server.connect();
    connection.send(format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{smuggled}{HEALTH}", smuggled.len()));
    assert_eq!(connection.response().status, 401);
    assert_eq!(connection.response().text(), "ok\n");
    connection.stream().set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(connection.try_response().is_none(), "exactly two answers");
    // Refused while chunks are coming: the connection closes.
    for (path, status) in [("/mcp", 401), ("/nowhere", 404), ("/oauth/token", 413)] {
        let mut connection = server.connect();
        connection.try_send(format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n{smuggled}"));
        assert_eq!(connection.response().status, status, "{path}");
        assert!(connection.is_closed(), "{path}");
    }
}

#[test]
fn a_body_that_ends_early_is_an_error_and_never_a_shorter_body() {
    let (folder, server) = Server::sample();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_write", "arguments": { "path": "half.md", "content": "x" } } }).to_string();
    for framing in ["Content-Length: 500".to_owned(), format!("Transfer-Encoding: chunked\r\n\r\n{:x}", call.len())] {
        let mut connection = server.connect();
        connection.send(format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n{framing}\r\n\r\n{call}"));
        connection.stream().shutdown(Shutdown::Write).unwrap();
        assert!(connection.try_response().is_none_or(|response| response.status == 400));
    }
    assert!(!folder.vault().join("half.md").exists());
    assert!(is_alive(&server));
}

#[test]
fn expect_100_continue_is_answered_before_the_body() {
    let (_folder, server) = Server::sample();
    let mut connection = server.connect();
    connection.send(format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        PING.len()
    ));
    assert_eq!(connection.headless().status, 100);
    assert_eq!(connection.send(PING).response().json()["result"], json!({}));
    // Whoever is refused hears it at once and keeps the body.
    let mut stranger = server.connect();
    stranger.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(stranger.response().status, 401);
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
        close.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").response().header("connection"),
        Some("close")
    );
    assert!(close.is_closed());
    let mut head = server.connect();
    let answer = head.send("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").headless();
    assert_eq!((answer.status, answer.header("content-length")), (200, Some("3")));
    assert_eq!(head.send(HEALTH).response().text(), "ok\n", "no body came in between");
    assert!(answer.header("date").is_some());
}

/// 200 peers that say nothing or almost nothing do not delay one that does.
#[test]
fn slow_and_silent_peers_do_not_delay_a_good_one() {
    let (_folder, server) = Server::sample();
    let mut slow: Vec<Connection> = (0..200).map(|_| server.connect()).collect();
    for (number, connection) in slow.iter_mut().enumerate() {
        match number % 3 {
            0 => {}
            1 => drop(connection.send("GET /hea")),
            _ => drop(connection.send(format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
            ))),
        }
    }
    let mut good = server.connect();
    let mut worst = Duration::ZERO;
    for _ in 0..50 {
        let started = Instant::now();
        assert_eq!(good.send(post(PING)).response().status, 200);
        worst = worst.max(started.elapsed());
    }
    assert!(worst < Duration::from_millis(500), "took {worst:?}");
}

/// When the table is full, the connection that is idle for longest makes room, and nobody waits.
#[test]
fn a_full_table_makes_room_by_closing_the_idle() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("MAX_CONNECTIONS", "10")]);
    let mut idle: Vec<Connection> = (0..10).map(|_| server.connect()).collect();
    for connection in &mut idle {
        assert_eq!(connection.send(HEALTH).response().status, 200);
        std::thread::sleep(Duration::from_millis(5));
    }
    for _ in 0..30 {
        assert_eq!(server.connect().send(HEALTH).response().status, 200);
    }
    assert!(idle[0].is_closed(), "the oldest made room");
}

/// A request whose head never ends is answered 408 after ten seconds, drip or no drip.
#[test]
fn the_deadline_of_a_head_is_total() {
    let (_folder, server) = Server::sample();
    let mut connection = server.connect();
    let started = Instant::now();
    connection.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Drip: ");
    while started.elapsed() < Duration::from_secs(14) && connection.try_send("x") {
        connection.stream().set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        if let Some(response) = connection.try_response() {
            assert_eq!(response.status, 408);
            let took = started.elapsed().as_secs_f32();
            assert!((9.5..12.5).contains(&took), "{took}");
            return;
        }
    }
    panic!("no answer");
}

#[test]
fn many_connections_at_once_are_all_served() {
    let (_folder, server) = Server::sample();
    let address = server.address;
    for _ in 0..5 {
        let threads: Vec<_> =
            (0..64).map(|_| std::thread::spawn(move || Connection::open(address).send(HEALTH).response().status)).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 200));
    }
}

#[test]
fn running_requests_end_and_streams_close_cleanly_at_sigterm() {
    let (_folder, server) = Server::sample();
    let mut idle = server.connect();
    assert_eq!(idle.send(HEALTH).response().status, 200);
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } } });
    let session = server.post(&initialize).header("mcp-session-id").unwrap().to_owned();
    let mut stream = server.connect();
    stream.send(format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n"));
    assert_eq!(stream.headless().status, 200);
    assert_eq!(stream.chunk().as_deref(), Some(": ping\n\n"));
    let started = Instant::now();
    assert_eq!(server.terminate(), 0);
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(stream.chunk().is_none(), "the last chunk");
    assert!(idle.is_closed());
}

/// A peer that asks for much and reads nothing is cut, and costs the others nothing.
#[test]
fn a_peer_that_does_not_read_is_cut() {
    let folder = Folder::with(&[("big.md", "x\n".repeat(40_000).as_bytes())]);
    let server = Server::on(&folder.vault());
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_read", "arguments": { "path": "big.md", "limit": 40_000 } } }).to_string();
    let mut greedy = server.connect();
    greedy.stream().set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    for _ in 0..500 {
        if !greedy.try_send(post(&call)) {
            break;
        }
    }
    let started = Instant::now();
    assert!(is_alive(&server));
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[test]
fn an_error_of_the_listener_does_not_end_it() {
    let folder = Folder::sample();
    let server = Server::on(&folder.vault());
    // Take the descriptors away: prlimit changes the limit of the running process.
    let limit = |number: &str| {
        std::process::Command::new("prlimit").args(["--pid", &server.pid().to_string(), &format!("--nofile={number}")]).status()
    };
    if !limit("20:1024").is_ok_and(|status| status.success()) {
        eprintln!("prlimit is not available; not tried");
        return;
    }
    let held: Vec<Connection> = (0..60).map(|_| server.connect()).collect();
    std::thread::sleep(Duration::from_millis(300));
    drop(held);
    limit("1024:1024").unwrap();
    eventually("the server accepts again", || {
        let mut connection = server.connect();
        connection.stream().set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        connection.try_send(HEALTH) && connection.try_response().is_some_and(|response| response.status == 200)
    });
}

/// The reset of a connection before it is accepted is nobody's end.
#[test]
fn connections_reset_at_once_are_survived() {
    let (_folder, server) = Server::sample();
    for _ in 0..200 {
        let connection = server.connect();
        socket2::SockRef::from(connection.stream()).set_linger(Some(Duration::ZERO)).unwrap();
        let _ = std::io::Write::write(&mut connection.stream(), HEALTH.as_bytes());
    }
    assert!(is_alive(&server));
    let mut rest = [0; 1];
    let mut connection = server.connect();
    connection.send(HEALTH);
    assert_eq!(connection.stream().read(&mut rest).unwrap(), 1);
}

/// A proxy sends the whole request before it reads: with an expired token a large note became a 502 instead of a 401,
/// and the client never refreshed its token.
#[test]
fn a_large_request_that_is_refused_early_lost_its_answer() {
    let (_folder, server) = Server::sample();
    let mut connection = server.connect();
    let body = vec![b'x'; 12 * 1024 * 1024];
    connection
        .send(format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len()));
    assert!(connection.try_send(&body), "the whole request can be sent");
    assert_eq!(connection.response().status, 401);
}
