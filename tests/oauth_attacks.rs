//! What attacks on login and transport found, each test named after it.

use crate::support::login::{
    REDIRECT, VERIFIER, authorize_path, challenge, code, exchange, log_in, refresh, register,
    register_with, stream_of_a_revoked_login, tokens, works,
};
use crate::support::{PASSWORD, Server, TOKEN, encode};
use serde_json::json;
use std::time::{Duration, Instant};

/// A tree of small values takes forty times the memory of its text, and anyone may register.
#[test]
fn registrations_take_bounded_memory() {
    let (_folder, server) = Server::sample();
    let body =
        format!("{{\"redirect_uris\":[\"{REDIRECT}\"],\"x\":[{}0]}}", "{\"a\":0},".repeat(7_000));
    let before = server.peak_kb();
    let head = format!(
        "POST /oauth/register HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut connections: Vec<_> = (0..100).map(|_| server.connect()).collect();
    for connection in &mut connections {
        connection.send(format!("{head}{}", &body[..body.len() - 1]));
    }
    let taken = std::thread::scope(|scope| {
        let ends: Vec<_> = connections
            .iter_mut()
            .map(|connection| scope.spawn(|| connection.send("}").response().status))
            .collect();
        ends.into_iter().map(|end| end.join().unwrap()).filter(|status| *status == 201).count()
    });
    assert!(taken > 0, "unknown members are ignored");
    let grown = server.peak_kb() - before;
    assert!(grown < 40_000, "{grown} kB for 100 bodies of {} bytes", body.len());
}

/// Requests that announce much and send nothing take no memory from others.
#[test]
fn bodies_that_are_only_announced_take_no_memory() {
    let (_folder, server) = Server::sample();
    let mut waiting: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for connection in &mut waiting {
        let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
                    application/json\r\nAccept: application/json, text/event-stream";
        connection.send(format!(
            "{head}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 16777216\r\n\r\n{{"
        ));
    }
    std::thread::sleep(Duration::from_millis(200));
    assert!(works(&server, TOKEN));
    register(&server);
}

/// What was only made up belongs to no login, and ends none.
#[test]
fn a_forged_refresh_token_ends_no_login() {
    let (_folder, server) = Server::sample();
    let client = register(&server);
    let (_, honest) = tokens(&server, &client);
    let forged = format!("{}{}", "0".repeat(8), &honest[8..]);
    assert_eq!(refresh(&server, &client, &forged).json()["error"], "invalid_grant");
    assert_eq!(refresh(&server, &client, &honest).status, 200);
}

/// A stream on which nothing happens ends when its token is revoked.
#[test]
fn a_silent_stream_ends_with_its_token() {
    let (_folder, server) = Server::sample();
    let mut stream = stream_of_a_revoked_login(&server);
    let started = Instant::now();
    assert!(stream.event().is_none(), "ended");
    assert!(
        !crate::support::thorough() || started.elapsed() < vault_sync_mcp::limits::HEARTBEAT * 2,
        "at the next heartbeat"
    );
}

/// Guesses at the same time, from however many addresses, are checked one after the other, with a
/// rest after each.
#[test]
fn guesses_at_the_same_time_are_delayed_one_after_the_other() {
    let (_folder, server) = Server::sample();
    let path = authorize_path(&register(&server), &[]);
    let started = Instant::now();
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| log_in(&server, &path, "wrong", "write"))));
    });
    assert!(
        started.elapsed() >= vault_sync_mcp::limits::FAILED_LOGIN_PAUSE * 4,
        "{:?}",
        started.elapsed()
    );
    assert_eq!(log_in(&server, &path, PASSWORD, "write").status, 303);
}

/// With a disk that cannot be written, a revoked token ends nevertheless, and the answer is 503.
#[test]
fn a_revocation_that_cannot_be_stored_still_ends_the_token() {
    let (_folder, state, server) = Server::sample_with_state();
    let client = register(&server);
    let (access, refresh_token) = tokens(&server, &client);
    let (kept, kept_refresh) = tokens(&server, &client);
    std::fs::remove_file(state.join("state.json")).unwrap();
    std::fs::create_dir_all(state.join("state.json/blocks it")).unwrap();
    assert_eq!(
        server.form("/oauth/revoke", &[("token", &refresh_token), ("client_id", &client)]).status,
        503
    );
    assert!(!works(&server, &access), "it is ended all the same");
    assert!(works(&server, &kept));
    assert_eq!(
        refresh(&server, &client, &kept_refresh).status,
        503,
        "what is given has to be stored"
    );
    std::fs::remove_dir_all(state.join("state.json")).unwrap();
    assert_eq!(refresh(&server, &client, &kept_refresh).status, 200);
    assert_eq!(refresh(&server, &client, &refresh_token).json()["error"], "invalid_grant");
}

/// A wrong request is not redirected to the scheme of an application without a login.
#[test]
fn an_error_is_not_redirected_to_a_scheme_of_an_application() {
    let (_folder, server) = Server::sample();
    let evil = "vscode://vscode.git/clone?url=https://evil.example/x";
    let wish = json!({ "redirect_uris": [evil], "token_endpoint_auth_method": "none" });
    let client = register_with(&server, &wish).json()["client_id"].as_str().unwrap().to_owned();
    let path = authorize_path(&client, &[("redirect_uri", Some(evil)), ("code_challenge", None)]);
    let answer = server.get(&path);
    assert_eq!((answer.status, answer.header("location")), (400, None), "{}", answer.text());
    // A web site that is well known gets its error.
    let path = authorize_path(&register(&server), &[("code_challenge", None)]);
    assert_eq!(server.get(&path).status, 303);
}

/// The names in the subscriptions of each session are bounded.
#[test]
fn one_session_cannot_use_up_the_memory_for_subscriptions() {
    let (_folder, server) = Server::sample();
    let client = register(&server);
    let (access, _) = tokens(&server, &client);
    let subscribe = |token: &str, session: &str, number: usize| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe",
            "params": { "uri": format!("vault:///{number}{}.md", "/x".repeat(17).replace('x', &"%79".repeat(50))) } });
        let headers = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
        server.post_with(token, &headers, &message).json()
    };
    let session = server.session(&access, "2025-11-25");
    let refused = (0..100)
        .filter(|number| subscribe(&access, &session, *number)["error"]["code"] == -32602)
        .count();
    assert!((50..99).contains(&refused), "{refused}");
    let session = server.session(TOKEN, "2025-11-25");
    assert!(subscribe(TOKEN, &session, 1)["error"].is_null());
}

/// A registration is never refused for number, stores nothing, and cannot fill the log, in which
/// the owner sees what clients did.
#[test]
fn a_stranger_who_registers_without_end_changes_nothing() {
    let (_folder, state, server) = Server::sample_with_state();
    let stored = || std::fs::read(state.join("state.json")).unwrap();
    let (mine, before) = (register(&server), stored());
    let wish = json!({ "client_name": "x".repeat(80), "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none" });
    for _ in 0..500 {
        assert_eq!(register_with(&server, &wish).status, 201);
    }
    assert_eq!(stored(), before);
    assert!(works(&server, &tokens(&server, &mine).0));
    let log = server.log_with("no more of this minute are logged");
    assert!(
        log.matches("registered client=").count()
            <= 2 * vault_sync_mcp::limits::REGISTRATIONS_LOGGED as usize,
        "{log}"
    );
}

/// Somebody with a readable copy of the state folder: everything that can be computed from
/// `state.json` is tried.
#[test]
fn the_state_file_alone_lets_nobody_in() {
    use vault_sync_mcp::secret;
    let (_folder, state, server) = Server::sample_with_state();
    let client = register(&server);
    let (access, _) = tokens(&server, &client);
    let code = code(&server, &client);
    let stolen: serde_json::Value =
        serde_json::from_slice(&std::fs::read(state.join("state.json")).unwrap()).unwrap();
    let key = secret::SecretHash::from_hex(stolen["key"].as_str().unwrap()).unwrap().bytes();
    // The proof of a login that the page of folders carries, for a client of the attacker's own.
    let theirs = register(&server);
    let fingerprint = &stolen["grants"][0]["mark"];
    let expires = vault_sync_mcp::clock::Moment::read().0 + 200;
    for scope in ["vault:read", "vault:read vault:write"] {
        let signed =
            json!(["login", "alex", fingerprint, theirs, REDIRECT, challenge(), scope, expires])
                .to_string();
        let proof = format!("{expires}.{}.alex", secret::keyed_hash(&key, &signed));
        let path = authorize_path(&theirs, &[("scope", Some(scope))]);
        let answer = server.form(
            &path,
            &[("login", &proof), ("decision", "allow"), ("folder:Projects", "change")],
        );
        assert_eq!((answer.status, answer.header("location")), (403, None), "{}", answer.text());
    }
    // Every text in it, as each kind of secret.
    let texts: Vec<String> =
        stolen.to_string().split('"').map(str::to_owned).filter(|text| text.len() >= 32).collect();
    assert!(texts.len() > 5 && !texts.contains(&access) && !texts.contains(&code));
    for text in &texts {
        assert!(!works(&server, text));
        assert_ne!(exchange(&server, &client, text, VERIFIER).status, 200);
        assert_ne!(refresh(&server, &client, text).status, 200);
    }
    // A browser that calls itself known has a place, and still needs the password.
    let mark = format!(
        "known-browser={expires}.{}",
        secret::keyed_hash(&key, &format!("browser {expires}"))
    );
    let form = encode(&[
        ("username", "alex"),
        ("password", "wrong"),
        ("access", "write"),
        ("decision", "allow"),
    ]);
    let head = format!(
        "POST {} HTTP/1.1\r\nCookie: {mark}\r\nContent-Type: application/x-www-form-urlencoded",
        authorize_path(&theirs, &[])
    );
    assert_eq!(server.request(&head, &form).status, 403);
    assert!(works(&server, &access), "and the login stands");
    // A refresh token with the right family, made with the key.
    let grant = stolen["grants"][0]["id"].as_str().unwrap();
    assert_eq!(
        refresh(&server, &client, &secret::in_family(&key, &"0".repeat(64), grant)).json()["error"],
        "invalid_grant"
    );
}
