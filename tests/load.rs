//! Too many, too slow, too much: peers that would take the server's time, memory, threads or
//! connections from the others. In most cases another HTTP library was brought down so.

use crate::support::{
    Connection, Folder, HEALTH, PING, READ_TOKEN, Server, TOKEN, eventually, mcp_head, post,
    stream_request,
};
use serde_json::json;
use std::io::Read;
use std::net::Shutdown;
use std::time::{Duration, Instant};

fn resident_kb(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn threads(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap().count()
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
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \
                 {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
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
    assert!(!crate::support::thorough() || worst < Duration::from_millis(500), "took {worst:?}");
}

/// When the table is full, the connection that is idle for longest is closed, and no client waits.
#[test]
fn idle_connections_are_closed_when_the_table_is_full() {
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
    assert!(idle[0].is_closed(), "the oldest was closed");
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
            assert!(took >= 9.5 && (!crate::support::thorough() || took < 12.5), "{took}");
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
        let threads: Vec<_> = (0..64)
            .map(|_| {
                std::thread::spawn(move || Connection::open(address).send(HEALTH).response().status)
            })
            .collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 200));
    }
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
    assert!(server.is_alive());
    assert!(!crate::support::thorough() || started.elapsed() < Duration::from_secs(1));
}

#[test]
fn an_error_of_the_listener_does_not_end_it() {
    let folder = Folder::sample();
    let server = Server::on(&folder.vault());
    // Take the descriptors away: prlimit changes the limit of the running process.
    let limit = |number: &str| {
        std::process::Command::new("prlimit")
            .args(["--pid", &server.pid().to_string(), &format!("--nofile={number}")])
            .status()
    };
    if !limit("20:1024").is_ok_and(|status| status.success()) {
        crate::support::skipped("prlimit is not available");
        return;
    }
    let held: Vec<Connection> = (0..60).map(|_| server.connect()).collect();
    std::thread::sleep(Duration::from_millis(300));
    drop(held);
    limit("1024:1024").unwrap();
    eventually("the server accepts again", || {
        let mut connection = server.connect();
        connection.stream().set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        connection.try_send(HEALTH)
            && connection.try_response().is_some_and(|response| response.status == 200)
    });
}

/// The reset of a connection before it is accepted ends nothing else.
#[test]
fn connections_reset_at_once_are_survived() {
    let (_folder, server) = Server::sample();
    for _ in 0..200 {
        let connection = server.connect();
        socket2::SockRef::from(connection.stream()).set_linger(Some(Duration::ZERO)).unwrap();
        let _ = std::io::Write::write(&mut connection.stream(), HEALTH.as_bytes());
    }
    assert!(server.is_alive());
    let mut rest = [0; 1];
    let mut connection = server.connect();
    connection.send(HEALTH);
    assert_eq!(connection.stream().read(&mut rest).unwrap(), 1);
}

#[test]
fn a_flood_of_pipelined_requests_is_served_in_constant_memory() {
    let (_folder, server) = Server::sample();
    server.is_alive();
    let before = resident_kb(&server);
    let mut connection = server.connect();
    let reading = connection.stream().try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut scratch = vec![0; 1 << 16];
        while (&reading).read(&mut scratch).is_ok_and(|count| count > 0) {}
    });
    let flood = HEALTH.repeat(1000);
    for _ in 0..60 {
        connection.send(&flood);
        assert!(server.is_alive(), "others are served meanwhile");
    }
    let grown = resident_kb(&server).saturating_sub(before);
    assert!(grown < 8 * 1024, "grew by {grown} kB");
    connection.stream().shutdown(Shutdown::Both).unwrap();
    reader.join().unwrap();
}

#[test]
fn heads_without_end_are_cut_in_constant_memory() {
    let (_folder, server) = Server::sample();
    server.is_alive();
    let before = resident_kb(&server);
    for piece in ["x".repeat(1 << 16), "A:\r\n".repeat(1 << 14), "9".repeat(1 << 16)] {
        let mut connection = server.connect();
        connection.try_send("GET / HTTP/1.1\r\nHost: a\r\n");
        connection.try_send(if piece.starts_with('x') { "X: " } else { "" });
        for _ in 0..200 {
            if !connection.try_send(&piece) {
                break;
            }
        }
        drop(connection);
    }
    let grown = resident_kb(&server).saturating_sub(before);
    assert!(grown < 8 * 1024, "grew by {grown} kB");
}

#[test]
fn refused_versions_leak_no_thread() {
    let (_folder, server) = Server::sample();
    server.is_alive();
    for _ in 0..50 {
        let response = server.connect().send("GET / HTTP/2.0\r\nHost: a\r\n\r\n").response();
        assert_eq!(response.status, 505);
    }
    eventually("their threads end", || threads(&server) < 10);
}

/// Requests behind an open stream on one connection wait for nothing and stop nothing.
#[test]
fn a_stream_with_requests_behind_it_stops_nothing() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("WORKERS", "2")]);
    let mut streams = Vec::new();
    for _ in 0..4 {
        let get = stream_request(TOKEN, &server.session(TOKEN, "2025-06-18"), "text/event-stream");
        let mut stream = server.connect();
        stream.send(format!("{get}{}", HEALTH.repeat(4)));
        assert_eq!(stream.headless().status, 200);
        streams.push(stream);
    }
    for _ in 0..20 {
        assert!(server.is_alive());
    }
    std::fs::write(folder.vault().join("news.md"), "x").unwrap();
    for stream in &mut streams {
        assert!(stream.event().unwrap().contains("list_changed"));
    }
}

/// Small bodies that come slowly take no worker.
#[test]
fn slow_bodies_block_no_worker() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("WORKERS", "1")]);
    let mut slow: Vec<Connection> = (0..20).map(|_| server.connect()).collect();
    for connection in &mut slow {
        connection.send(format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \
             {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: 500000\r\n\r\n{{"
        ));
    }
    let started = Instant::now();
    assert!(server.is_alive());
    assert!(!crate::support::thorough() || started.elapsed() < Duration::from_millis(500));
}

#[test]
fn a_connection_that_ends_badly_is_counted_no_more() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("MAX_CONNECTIONS", "8")]);
    for round in 0..50 {
        let mut connection = server.connect();
        connection.send(if round % 2 == 0 { "GET /hea" } else { "POST /mcp HTTP/1.1\r\n" });
        drop(connection);
    }
    // Few threads alone prove nothing: connections may still wait to be accepted.
    eventually("eight at once are served", || {
        let mut eight: Vec<Connection> = (0..8).map(|_| server.connect()).collect();
        let served = |connection: &mut Connection| {
            connection.try_send(HEALTH)
                && connection.try_response().is_some_and(|response| response.status == 200)
        };
        eight.iter_mut().all(served)
    });
}

/// systemd's TasksMax or a user's limit is met: who comes then gets an error, and the server goes
/// on when it is over.
#[test]
fn no_thread_for_a_connection_is_503_and_not_the_end() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let folder = Folder::sample();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // Root has no such limit, so the server runs as another user, with a number that no other user
    // has.
    let is_root = std::process::Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout == b"0\n");
    fn as_user(command: &mut std::process::Command, is_root: bool) -> &mut std::process::Command {
        if is_root { command.uid(61_234).gid(61_234) } else { command }
    }
    let mut version = std::process::Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
    if !as_user(version.arg("--version"), is_root).status().is_ok_and(|status| status.success()) {
        crate::support::skipped("the program is in a folder that no other user may enter");
        return;
    }
    let server = Server::spawned(&folder.vault(), &[("READ_ONLY", "true")], |command| {
        as_user(command, is_root)
    });
    assert!(server.is_alive());
    let limit = |number: &str| {
        let mut prlimit = std::process::Command::new("prlimit");
        prlimit.args(["--pid", &server.pid().to_string(), &format!("--nproc={number}")]);
        assert!(
            as_user(&mut prlimit, is_root).status().is_ok_and(|status| status.success()),
            "prlimit of util-linux"
        );
    };
    limit("1:");
    let refused = server.connect().send(HEALTH).response();
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert!(server.log_with("no thread for a connection").contains("WARN"));
    limit("4096:");
    assert!(server.is_alive());
}

/// Peers that read nothing of their answers are closed when others need their connections.
#[test]
fn peers_that_do_not_read_give_up_their_connections() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("MAX_CONNECTIONS", "8")]);
    let flood = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(4000);
    let held: Vec<Connection> = (0..8)
        .map(|_| {
            let connection = server.connect();
            socket2::SockRef::from(connection.stream()).set_recv_buffer_size(2048).unwrap();
            connection.stream().set_write_timeout(Some(Duration::from_millis(300))).unwrap();
            let mut connection = connection;
            while connection.try_send(&flood) {}
            connection
        })
        .collect();
    std::thread::sleep(Duration::from_millis(1500));
    eventually("a good peer is served", || {
        server.connect().send(HEALTH).try_response().is_some_and(|response| response.status == 200)
    });
    drop(held);
}

/// A peer that reads nothing of a streamed answer holds no worker while it waits.
#[test]
fn streamed_answers_that_are_not_read_hold_no_worker() {
    let folder = Folder::with(&[("picture.png", &[0x89; 600_000])]);
    let server = Server::with(&folder.vault(), &[("WORKERS", "2")]);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_read", "arguments": { "path": "picture.png" }, "_meta": { "progressToken": 1 } } });
    let body = call.to_string();
    let ask = format!(
        "{}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
        mcp_head(TOKEN, ""),
        body.len()
    );
    let silent: Vec<_> = (0..8)
        .map(|_| {
            let mut connection = Connection::open_slow(server.address);
            connection.send(&ask);
            connection
        })
        .collect();
    std::thread::sleep(Duration::from_millis(500));
    let started = Instant::now();
    for _ in 0..10 {
        assert_eq!(
            server
                .post_with(
                    READ_TOKEN,
                    "",
                    &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })
                )
                .status,
            200
        );
    }
    assert!(
        !crate::support::thorough() || started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
    drop(silent);
}

/// A listener that reads nothing does not delay the thread that sends notifications.
#[test]
fn a_listener_that_reads_nothing_delays_no_other() {
    let folder = Folder::sample();
    let server = Server::on(&folder.vault());
    let slow = server.session(TOKEN, "2025-11-25");
    let session = format!("Mcp-Session-Id: {slow}\r\n");
    for n in 0..200 {
        // Many names of the root, each as long as a name may be.
        let uri = format!("vault:///{}{}", "%2F".repeat(n), "/".repeat(3_000 - 3 * n));
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": { "uri": uri } });
        assert_eq!(server.post_with(TOKEN, &session, &message).json()["result"], json!({}), "{n}");
    }
    let mut silent = Connection::open_slow(server.address);
    silent.send(stream_request(TOKEN, &slow, "text/event-stream"));
    let mut good = server.connect();
    good.send(stream_request(
        READ_TOKEN,
        &server.session(READ_TOKEN, "2025-06-18"),
        "text/event-stream",
    ));
    assert_eq!(good.headless().status, 200);
    for n in 0..6 {
        let started = Instant::now();
        std::fs::write(folder.vault().join(format!("new {n}.md")), "x").unwrap();
        assert!(good.event().unwrap().contains("list_changed"));
        assert!(
            !crate::support::thorough() || started.elapsed() < Duration::from_secs(3),
            "{n}: {:?}",
            started.elapsed()
        );
    }
    // And while it is behind, its own session is answered as ever.
    assert_eq!(
        server
            .post_with(TOKEN, &session, &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))
            .status,
        200
    );
}

/// A hundred pictures in one batch take bounded memory.
#[test]
fn the_answers_of_a_batch_are_bounded() {
    let folder = Folder::with(&[("picture.png", &[0x89; 600_000])]);
    let server = Server::on(&folder.vault());
    let read = |id: usize| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "vault_read", "arguments": { "path": "picture.png" } } });
    let answers = server.post(&json!((0..100).map(read).collect::<Vec<_>>()));
    assert!(answers.body.len() < 4 * 1024 * 1024, "{}", answers.body.len());
    let answers = answers.json();
    assert_eq!(answers.as_array().unwrap().len(), 100, "each is answered");
    assert!(
        answers[0]["result"].is_object()
            && answers[99]["error"]["message"].as_str().unwrap().contains("send fewer")
    );
}
