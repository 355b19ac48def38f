//! What the owner of a server decides and sees: how strict the login is, who is logged in, and what
//! a flood may cost. And time, which may jump.

use crate::support::login::{
    REDIRECT, VERIFIER, authorize_path, code, exchange, log_in, refresh, register, register_with,
    sent_back, tokens, works,
};
use crate::support::{Folder, PASSWORD, Response, Server, TOKEN, encode, eventually};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn run(state: &Path, words: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"))
        .args(words)
        .env_clear()
        .env("STATE_DIR", state)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), text)
}

#[test]
fn the_owner_sees_who_is_logged_in_and_ends_it_at_once() {
    let (folder, state, server) = Server::sample_with_state();
    assert_eq!(run(&state, &["grants"]), (0, "No one is logged in.\n".into()));
    let client = register(&server);
    let (one, two) = (tokens(&server, &client), tokens(&server, &client));
    let (status, listed) = run(&state, &["grants"]);
    let rows: Vec<&str> = listed.lines().collect();
    assert_eq!((status, rows.len()), (0, 3), "{listed}");
    assert!(
        rows[1].contains("alex")
            && rows[1].contains("Claude")
            && rows[1].contains("claude.ai")
            && rows[1].contains("read+write"),
        "{listed}"
    );
    for secret in [&one.0, &one.1, &two.0, &two.1] {
        assert!(!listed.contains(secret.as_str()));
    }
    let ids: Vec<&str> = rows[1..].iter().map(|row| row.split(' ').next().unwrap()).collect();
    assert_eq!(run(&state, &["revoke", ids[0]]), (0, "1 grant ended.\n".into()));
    let left = [works(&server, &one.0), works(&server, &two.0)];
    assert_eq!(left.iter().filter(|works| **works).count(), 1, "the other one goes on");
    assert_eq!(run(&state, &["revoke", ids[0]]).0, 2, "it is gone");
    assert_eq!(run(&state, &["revoke"]).0, 2);
    assert_eq!(run(&state, &["revoke", ""]).0, 2, "an empty variable of a shell");
    assert_eq!(run(&state, &["revoke", ids[1], "--all"]).0, 2);
    assert_eq!(run(&state, &["grants", "--all"]).0, 2);
    let waiting = code(&server, &client);
    assert_eq!(run(&state, &["revoke", "--all"]), (0, "1 grant ended.\n".into()));
    assert!(!works(&server, &one.0) && !works(&server, &two.0) && works(&server, TOKEN));
    assert_eq!(
        exchange(&server, &client, &waiting, VERIFIER).status,
        400,
        "a login that is not finished is ended too"
    );
    let three = tokens(&server, &client);
    server.kill();
    assert_eq!(
        run(&state, &["revoke", "--all"]),
        (0, "1 grant ended.\n".into()),
        "also without a server"
    );
    let server = Server::with(&folder.vault(), &[("STATE_DIR", state.to_str().unwrap())]);
    assert!(!works(&server, &three.0));
    assert_eq!(refresh(&server, &client, &three.1).status, 400);
    assert_eq!(run(&folder.path().join("none"), &["grants"]).0, 1);
}

#[test]
fn removing_a_user_ends_what_that_user_allowed() {
    let folder = Folder::sample();
    let state = folder.path().join("state");
    let hash = bcrypt::hash(PASSWORD, 4).unwrap();
    let start = |users: String| {
        Server::with(
            &folder.vault(),
            &[("STATE_DIR", state.to_str().unwrap()), ("AUTH_USERS", &users)],
        )
    };
    let server = start(format!("alex:{hash}"));
    let client = register(&server);
    let (access, refresh_token) = tokens(&server, &client);
    drop(server);
    let server = start(format!("kim:{hash}"));
    assert!(!works(&server, &access));
    assert_eq!(refresh(&server, &client, &refresh_token).json()["error"], "invalid_grant");
}

/// Without a window a second use of a refresh token is a theft at once; and a window of a day is
/// one.
#[test]
fn the_owner_sets_the_window_of_a_refresh_token() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("REFRESH_WINDOW", "0")]);
    let client = register(&server);
    let (access, first) = tokens(&server, &client);
    let second = refresh(&server, &client, &first).json();
    assert!(works(&server, &access));
    assert_eq!(refresh(&server, &client, &first).json()["error"], "invalid_grant");
    assert!(!works(&server, &access), "the login has ended");
    assert_eq!(refresh(&server, &client, second["refresh_token"].as_str().unwrap()).status, 400);
    server.log_with("refresh token used long after its exchange");
}

#[test]
fn unknown_redirect_hosts_are_the_owners_decision() {
    let folder = Folder::sample();
    let (site, application) = ("https://app.example.com/cb", "warp://mcp/oauth2callback");
    for (elsewhere, hosts, registered, shown, warned) in [
        (site, "", 400, 400, false),
        (site, "app.example.com", 201, 200, true),
        (site, "*", 201, 200, true),
        (application, "app.example.com", 400, 400, false),
        (application, "*", 400, 400, false),
        (application, "raycast:,WARP:", 201, 200, true),
    ] {
        let wish = json!({ "redirect_uris": [elsewhere, REDIRECT] });
        let path = |id: &str| authorize_path(id, &[("redirect_uri", Some(elsewhere))]);
        let server = Server::with(&folder.vault(), &[("REDIRECT_HOSTS", hosts)]);
        assert_eq!(
            register_with(&server, &json!({ "redirect_uris": [elsewhere] })).status,
            registered,
            "{hosts}"
        );
        let id = register_with(&server, &wish).json()["client_id"].as_str().unwrap().to_owned();
        let page = server.get(&path(&id));
        assert_eq!(page.status, shown, "{hosts}");
        assert_eq!(page.text().contains("class=\"warning\""), warned);
        assert_eq!(
            page.text().contains("REDIRECT_HOSTS"),
            !warned,
            "the page says what the owner can do"
        );
        assert_eq!(
            server.get(&authorize_path(&id, &[])).status,
            200,
            "the one that is known is fine"
        );
    }
}

/// Documents of clients are not fetched, and the page says what to do.
#[test]
fn a_client_that_names_itself_by_a_document_is_told_to_register() {
    let server = Server::sample().1;
    let metadata = server.get("/.well-known/oauth-authorization-server").json();
    assert!(metadata.get("client_id_metadata_document_supported").is_none());
    let claude = "https://claude.ai/oauth/mcp-oauth-client-metadata";
    assert!(server.get(&authorize_path(claude, &[])).text().contains("does not fetch"));
}

#[test]
fn a_machine_client_may_be_one_that_only_reads() {
    let folder = Folder::sample();
    let hash = vault_sync_mcp::secret::SecretHash::of("s").to_hex();
    let server = Server::with(
        &folder.vault(),
        &[("CLIENT_CREDENTIALS", &format!("reader:{hash}:read,writer:{hash}"))],
    );
    for (id, scope, granted) in [
        ("reader", "", "vault:read"),
        ("reader", "vault:read vault:write", "vault:read"),
        ("writer", "", "vault:read vault:write"),
        ("writer", "vault:read", "vault:read"),
    ] {
        let answer = server.form(
            "/oauth/token",
            &[
                ("grant_type", "client_credentials"),
                ("client_id", id),
                ("client_secret", "s"),
                ("scope", scope),
            ],
        );
        assert_eq!(answer.json()["scope"], granted, "{id} {scope:?}");
    }
}

/// A token that may only read gets 403 with a challenge from which a client can ask for more; and
/// the login that follows gives it.
#[test]
fn a_step_up_login_gives_what_was_missing() {
    let (_folder, server) = Server::sample();
    let client = register(&server);
    let path = authorize_path(&client, &[("scope", Some("vault:read"))]);
    let code =
        sent_back(&log_in(&server, &path, PASSWORD, "write")).get("code").unwrap().to_owned();
    let first = exchange(&server, &client, &code, VERIFIER).json();
    assert_eq!(first["scope"], "vault:read", "no more than was asked for");
    let write = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_write", "arguments": { "path": "x.md", "content": "x" } } });
    let refused = server.post_with(first["access_token"].as_str().unwrap(), "", &write);
    let challenge = refused.header("www-authenticate").unwrap();
    assert_eq!(refused.status, 403);
    assert!(
        challenge.starts_with("Bearer error=\"insufficient_scope\", scope=\"vault:read vault:write\", resource_metadata=\"https://"),
        "{challenge}"
    );
    let path = authorize_path(&client, &[("scope", Some("vault:read vault:write"))]);
    let code =
        sent_back(&log_in(&server, &path, PASSWORD, "write")).get("code").unwrap().to_owned();
    let second = exchange(&server, &client, &code, VERIFIER).json();
    assert_eq!(server.post_with(second["access_token"].as_str().unwrap(), "", &write).status, 200);
}

/// A token for another server is not asked for here, and one from there opens nothing.
#[test]
fn tokens_are_for_this_server_alone() {
    let (_folder, server) = Server::sample();
    let client = register(&server);
    for (resource, status) in [
        ("https://vault.example.com/mcp", 200),
        ("https://vault.example.com", 200),
        ("https://evil.example/mcp", 400),
        ("https://vault.example.com.evil.example/mcp", 400),
    ] {
        let code = code(&server, &client);
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", &client),
            ("code", &code),
            ("code_verifier", VERIFIER),
            ("redirect_uri", REDIRECT),
            ("resource", resource),
        ];
        let answer = server.form("/oauth/token", &fields);
        assert_eq!(answer.status, status, "{resource}");
        if status == 400 {
            assert_eq!(answer.json()["error"], "invalid_target");
            assert_eq!(
                exchange(&server, &client, &code, VERIFIER).status,
                200,
                "and the code is not used up by it"
            );
        }
    }
}

/// Whatever is too long is refused with the status that says so, and costs nothing.
#[test]
fn oversized_everything_is_refused() {
    let (_folder, server) = Server::sample();
    let client = register(&server);
    let long = |length: usize| "x".repeat(length);
    let json_head = "POST /oauth/register HTTP/1.1\r\nContent-Type: application/json";
    let registration = |members: Value| server.request(json_head, &members.to_string());
    assert_eq!(
        registration(json!({ "redirect_uris": [REDIRECT], "client_name": long(60_000) })).status,
        201,
        "a long name is cut"
    );
    assert_eq!(
        registration(json!({ "redirect_uris": [REDIRECT], "client_name": long(70_000) })).status,
        413
    );
    assert_eq!(
        registration(json!({ "redirect_uris": [format!("{REDIRECT}/{}", long(3_000))] })).status,
        400
    );
    assert_eq!(registration(json!({ "redirect_uris": vec![REDIRECT; 30] })).status, 400);
    let sent = server.get(&authorize_path(&client, &[("state", Some(&long(3_000)))]));
    assert!(
        sent.status == 303 && sent.header("location").unwrap().contains("error=invalid_request")
    );
    assert_eq!(server.get(&authorize_path(&client, &[("state", Some(&long(13_000)))])).status, 414);
    let path = authorize_path(&client, &[]);
    for (user, password, status) in [
        (long(50_000), "x".to_owned(), 403),
        ("alex".into(), long(50_000), 403),
        (long(70_000), "x".into(), 413),
    ] {
        let answer = server.form(
            &path,
            &[
                ("username", &user),
                ("password", &password),
                ("access", "write"),
                ("decision", "allow"),
            ],
        );
        assert_eq!(answer.status, status);
        assert!(answer.body.len() < 200_000);
    }
    let almost = format!("{PASSWORD}{}", long(72));
    assert_eq!(
        log_in(&server, &path, &almost, "write").status,
        403,
        "what bcrypt would cut is not a shorter password"
    );
    assert_eq!(
        exchange(&server, &client, &long(40_000), VERIFIER).json()["error"],
        "invalid_grant"
    );
    assert_eq!(refresh(&server, &client, &long(40_000)).json()["error"], "invalid_grant");
    assert_eq!(
        server
            .form("/oauth/token", &[("grant_type", "refresh_token"), ("client_id", &long(70_000))])
            .status,
        413
    );
    let many: Vec<(String, &str)> = (0..65).map(|n| (format!("f{n}"), "x")).collect();
    let many: Vec<(&str, &str)> =
        many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert_eq!(server.form("/oauth/token", &many).status, 400);
    assert_eq!(
        server
            .request(&format!("POST /mcp HTTP/1.1\r\nAuthorization: Bearer {}", long(8_000)), "")
            .status,
        401
    );
    assert_eq!(
        server
            .request(&format!("POST /mcp HTTP/1.1\r\nAuthorization: Bearer {}", long(20_000)), "")
            .status,
        431
    );
    assert!(works(&server, TOKEN));
}

// --- Floods --------------------------------------------------------------------------------------

fn through_proxy(server: &Server, from: &str, path: &str, password: &str) -> Response {
    let form = encode(&[
        ("username", "alex"),
        ("password", password),
        ("access", "write"),
        ("decision", "allow"),
    ]);
    let head = format!(
        "POST {path} HTTP/1.1\r\nX-Forwarded-For: {from}\r\nContent-Type: \
         application/x-www-form-urlencoded"
    );
    server.request(&head, &form)
}

#[cfg(feature = "accomplishments")]
#[test]
fn what_was_chosen_survives_a_wrong_password_and_the_page_says_what_the_tools_can_do() {
    let folder = Folder::sample();
    let settings = [
        ("TOOLSETS", "vault,accomplishments"),
        ("ACCOMPLISHMENTS_FOLDER", "Projects"),
        ("DEFAULT_CANVAS", "Projects.canvas"),
    ];
    let server = Server::with(&folder.vault(), &settings);
    let path = authorize_path(&register(&server), &[]);
    let page = server.get(&path).text();
    assert!(page.contains("move notes to the trash") && !page.contains(" checked"), "{page}");
    let again = log_in(&server, &path, "wrong", "read").text();
    assert!(
        again.contains("value=\"read\" checked") && !again.contains("value=\"write\" checked"),
        "{again}"
    );
    let again = log_in(&server, &path, "wrong", "write").text();
    assert!(again.contains("value=\"write\" checked"), "{again}");
}

#[test]
fn the_control_socket_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, state, _server) = Server::sample_with_state();
    let socket = state.join("control.sock");
    eventually("the socket exists", || socket.exists());
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
}

/// A password that is too long takes a place in its lane as any other does, and holds up nobody
/// else.
#[test]
fn passwords_that_are_too_long_keep_nobody_from_the_vault() {
    let folder = Folder::sample();
    let server = Server::with(
        &folder.vault(),
        &[("TRUSTED_PROXIES", "127.0.0.1"), ("MAX_CONNECTIONS", "100")],
    );
    let path = authorize_path(&register(&server), &[]);
    let long = "x".repeat(100);
    std::thread::scope(|scope| {
        for n in 0..90 {
            let (server, path, long) = (&server, &path, &long);
            scope.spawn(move || {
                let status = through_proxy(server, &format!("203.0.113.{n}"), path, long).status;
                assert!(matches!(status, 403 | 429 | 503), "{status}");
            });
        }
        std::thread::sleep(Duration::from_millis(300));
        assert!(works(&server, TOKEN), "the vault is reached");
    });
    assert_eq!(through_proxy(&server, "198.51.100.7", &path, PASSWORD).status, 303);
}

/// A registration is in its client's id, so a server that was killed after its answer knows it.
#[test]
fn a_burst_of_registrations_is_durable() {
    let (folder, state, server) = Server::sample_with_state();
    let ids: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..24).map(|_| scope.spawn(|| register(&server))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    server.kill();
    let server = Server::with(&folder.vault(), &[("STATE_DIR", state.to_str().unwrap())]);
    assert!(ids.iter().all(|id| server.get(&authorize_path(id, &[])).status == 200));
}

// --- Every path, every method --------------------------------------------------------------------

#[test]
fn every_path_answers_every_method_as_it_should() {
    let (_folder, server) = Server::sample();
    let reading = ["GET", "HEAD"];
    let paths: &[(&str, &[&str], bool)] = &[
        ("/mcp", &["GET", "HEAD", "POST", "DELETE"], true),
        ("/mcp/", &["GET", "HEAD", "POST", "DELETE"], true),
        ("/.well-known/oauth-protected-resource", &reading, true),
        ("/.well-known/oauth-protected-resource/mcp", &reading, true),
        ("/.well-known/oauth-authorization-server", &reading, true),
        ("/.well-known/oauth-authorization-server/mcp", &reading, true),
        ("/oauth/authorize", &["GET", "HEAD", "POST"], false),
        ("/authorize", &["GET", "HEAD", "POST"], false),
        ("/oauth/token", &["POST"], true),
        ("/token", &["POST"], true),
        ("/oauth/register", &["POST"], true),
        ("/register", &["POST"], true),
        ("/oauth/revoke", &["POST"], true),
        ("/revoke", &["POST"], true),
        ("/", &reading, false),
        ("/healthz", &reading, true),
        ("/nowhere", &[], true),
    ];
    for (path, methods, is_open) in paths {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let mut connection = server.connect();
            connection.send(format!(
                "{method} {path} HTTP/1.1\r\nHost: vault.example.com\r\nConnection: \
                 close\r\nContent-Length: 0\r\n\r\n"
            ));
            let answer = connection.headless();
            let at = format!("{method} {path}");
            let expected: &[u16] = match method {
                "OPTIONS" if *path == "/nowhere" => &[404],
                "OPTIONS" => &[204],
                _ if path.starts_with("/mcp") => &[401],
                _ if *path == "/nowhere" => &[404],
                _ if !methods.contains(&method) => &[405],
                _ if path.ends_with("authorize") => &[400],
                "POST" => &[400],
                _ => &[200],
            };
            assert!(expected.contains(&answer.status), "{at}: {}", answer.status);
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{at}");
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{at}");
            assert_eq!(answer.header("access-control-allow-origin").is_some(), *is_open, "{at}");
            assert!(
                answer.header("access-control-allow-credentials").is_none()
                    && answer.header("set-cookie").is_none(),
                "{at}"
            );
            let kept = path.starts_with("/.well-known/") && answer.status == 200;
            let cache = if kept { "public, max-age=300" } else { "no-store" };
            assert_eq!(answer.header("cache-control"), Some(cache), "{at}");
            if answer.status == 405 {
                let allow = answer.header("allow").unwrap();
                assert!(
                    methods.iter().all(|method| allow.contains(method))
                        && allow.contains("OPTIONS"),
                    "{at}: {allow}"
                );
            }
            if !is_open && method != "OPTIONS" && answer.status != 405 {
                let policy = answer.header("content-security-policy").unwrap();
                assert!(
                    policy.contains("frame-ancestors 'none'")
                        && !policy.contains("form-action")
                        && !policy.contains("script"),
                    "{at}: {policy}"
                );
                assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{at}");
            }
        }
    }
}

// --- Time ----------------------------------------------------------------------------------------

/// A name that no user has takes as long as a wrong password, and so does one whose hash is cheaper
/// than another's. The quickest of several is compared: what else the machine does only makes an
/// answer slower.
#[test]
fn unknown_users_take_as_long_as_wrong_passwords() {
    let folder = Folder::sample();
    let users = format!(
        "alex:{},eve:{}",
        bcrypt::hash(PASSWORD, 11).unwrap(),
        bcrypt::hash(PASSWORD, 4).unwrap()
    );
    let server = Server::with(
        &folder.vault(),
        &[("TRUSTED_PROXIES", "127.0.0.0/8"), ("AUTH_USERS", &users)],
    );
    let path = authorize_path(&register(&server), &[]);
    let time = |user: &str| {
        let form = encode(&[
            ("username", user),
            ("password", "wrong"),
            ("access", "write"),
            ("decision", "allow"),
        ]);
        let head = format!(
            "POST {path} HTTP/1.1\r\nX-Forwarded-For: 203.0.113.100\r\nContent-Type: \
             application/x-www-form-urlencoded"
        );
        let started = Instant::now();
        assert_eq!(server.request(&head, &form).status, 403);
        started.elapsed().saturating_sub(vault_sync_mcp::limits::FAILED_LOGIN_PAUSE).as_secs_f64()
    };
    let quickest = |user: &str| (0..6).map(|_| time(user)).fold(f64::INFINITY, f64::min);
    let (dear, cheap, unknown) = (quickest("alex"), quickest("eve"), quickest("unknown"));
    // A hash of cost 4 alone takes a hundredth of one of cost 11.
    assert!(
        !crate::support::thorough()
            || (0.4..2.5).contains(&(cheap / dear)) && (0.4..2.5).contains(&(unknown / dear)),
        "{dear}, {cheap} and {unknown}"
    );
    eventually("the log has the failures", || {
        server.log().contains("login failed from=203.0.113.100")
    });
    assert!(!server.log().contains("unknown"), "no name in the log: people type passwords there");
}
