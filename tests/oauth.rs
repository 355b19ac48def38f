//! Whole logins, and attacks on them in plain words.
//!
//! | requirement | source | test |
//! |---|---|---|
//! | discovery, challenge | RFC 9728, RFC 8414, RFC 6750 | `a_client_discovers_the_endpoints_from_the_first_401` |
//! | code flow with PKCE, `iss`, `state` | OAuth 2.1, RFC 7636, RFC 9207 | `a_login_from_registration_to_a_tool_call` |
//! | no open redirect | RFC 9700 section 2.1 | `redirects_go_to_registered_addresses_only` |
//! | PKCE cannot be left out or weakened | RFC 9700 section 2.1.1 | `a_request_without_s256_is_sent_back` |
//! | a code is used once, by its client, with its verifier | RFC 6749 section 4.1.2 | `a_code_needs_its_client_its_verifier_and_its_first_use` |
//! | refresh rotation | RFC 9700 section 4.14 | `refreshing_at_once_from_several_processes_leaves_all_with_one_working_token` |
//! | revocation | RFC 7009 | `a_grant_is_revoked_by_its_client_and_by_no_other` |
//! | client authentication | RFC 6749 section 2.3.1 | `clients_with_a_secret_may_send_it_by_both_methods` |
//! | registration | RFC 7591 | `registrations_are_liberal_in_and_exact_out` |
//! | durable state | README, security model | `oauth_state.rs`: `logins_survive_kill_9`, `a_damaged_state_file_grants_nothing` |

use crate::support::login::{
    REDIRECT, VERIFIER, authorize_path, code, exchange, log_in, refresh, register, register_with,
    sent_back, stream_of_a_revoked_login, tokens, works,
};
use crate::support::{Folder, ORIGIN, PASSWORD, Server, TOKEN, encode, eventually};
use serde_json::{Value, json};

#[test]
fn a_client_discovers_the_endpoints_from_the_first_401() {
    let (_folder, server) = Server::sample();
    for method in ["GET", "POST", "DELETE", "HEAD", "PUT"] {
        for token in [
            "",
            "\r\nAuthorization: Bearer wrong",
            "\r\nAuthorization: Basic YTpi",
            "\r\nAuthorization: Bearer",
        ] {
            let response = server
                .connect()
                .send(format!(
                    "{method} /mcp HTTP/1.1\r\nHost: evil.example\r\nOrigin: https://evil.example\r\nMcp-Session-Id: x{token}\r\n\r\n"
                ))
                .headless();
            assert_eq!(response.status, 401, "{method} {token}");
            let challenge = response.header("www-authenticate").unwrap();
            assert!(
                challenge.starts_with("Bearer ")
                    && challenge.contains("resource_metadata=\"https://vault.example.com/.well-known/oauth-protected-resource/mcp\""),
                "{challenge}"
            );
            assert_eq!(challenge.contains("error="), token.contains("wrong"), "{challenge}");
        }
    }
    let body = server.request("POST /mcp/ HTTP/1.1", "not even json").json();
    assert_eq!(body["error"]["code"], "AUTH_REQUIRED");
    let document = |path: &str| {
        let response = server.get(path);
        assert_eq!(
            (response.status, response.header("content-type")),
            (200, Some("application/json")),
            "{path}"
        );
        assert_eq!(response.header("access-control-allow-origin"), Some("*"));
        assert!(!response.text().contains("null"));
        let head = server
            .connect()
            .send(format!("HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            .headless();
        assert_eq!(head.header("content-length"), response.header("content-length"));
        response.json()
    };
    assert_eq!(
        document("/.well-known/oauth-protected-resource"),
        json!({ "resource": ORIGIN, "authorization_servers": [ORIGIN], "bearer_methods_supported": ["header"] })
    );
    assert_eq!(
        document("/.well-known/oauth-protected-resource/mcp")["resource"],
        format!("{ORIGIN}/mcp")
    );
    let server_metadata = document("/.well-known/oauth-authorization-server");
    assert_eq!(server_metadata, document("/.well-known/oauth-authorization-server/mcp"));
    assert_eq!(server_metadata["issuer"], ORIGIN);
    assert_eq!(server_metadata["authorization_endpoint"], format!("{ORIGIN}/oauth/authorize"));
    assert_eq!(server_metadata["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(
        server_metadata["grant_types_supported"],
        json!(["authorization_code", "client_credentials", "refresh_token"])
    );
    assert_eq!(
        server_metadata["token_endpoint_auth_methods_supported"],
        json!(["none", "client_secret_post", "client_secret_basic"])
    );
    for path in ["/.well-known/openid-configuration", "/nowhere", "/oauth"] {
        let response = server.get(path);
        assert_eq!(
            (response.status, response.header("content-type")),
            (404, Some("application/json")),
            "{path}"
        );
    }
}

#[test]
fn browsers_may_ask_before_they_send_a_token() {
    let (_folder, server) = Server::sample();
    for path in
        ["/mcp", "/oauth/token", "/oauth/register", "/.well-known/oauth-protected-resource/mcp"]
    {
        let response =
            server.request(&format!("OPTIONS {path} HTTP/1.1\r\nOrigin: https://app.example\r\nAccess-Control-Request-Method: POST"), "");
        assert_eq!(response.status, 204, "{path}");
        assert_eq!(response.header("access-control-allow-origin"), Some("*"));
        assert!(response.header("access-control-allow-headers").unwrap().contains("Authorization"));
    }
    let page =
        server.request("OPTIONS /oauth/authorize HTTP/1.1\r\nOrigin: https://app.example", "");
    assert_eq!(
        page.header("access-control-allow-origin"),
        None,
        "no script may read the login page"
    );
}

#[test]
fn a_login_from_registration_to_a_tool_call() {
    let (_folder, server) = Server::sample();
    let client = register(&server);
    let path = authorize_path(&client, &[]);
    let page = server.get(&path);
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let html = page.text();
    assert!(
        html.contains("<strong>Claude</strong>")
            && html.contains("<strong>claude.ai</strong>")
            && html.contains("Only read notes"),
        "{html}"
    );
    assert!(!html.contains("<script") && !html.contains("class=\"warning\""));
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.contains("default-src 'none'")
            && policy.contains("frame-ancestors 'none'")
            && !policy.contains("form-action"),
        "{policy}"
    );
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    let form = sent_back(&log_in(&server, &path, PASSWORD, "write"));
    assert_eq!((form.get("state"), form.get("iss")), (Some("s t&te"), Some(ORIGIN)));
    let response = exchange(&server, &client, form.get("code").unwrap(), VERIFIER);
    assert_eq!(
        (response.status, response.header("cache-control"), response.header("content-type")),
        (200, Some("no-store"), Some("application/json"))
    );
    let answer = response.json();
    assert_eq!(
        (answer["token_type"].as_str(), answer["expires_in"].as_u64(), answer["scope"].as_str()),
        (Some("Bearer"), Some(86_400), Some("vault:read vault:write"))
    );
    let access = answer["access_token"].as_str().unwrap();
    assert!(access.len() == 64 && access.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert!(works(&server, access));
    let log = server.log_with("login ok");
    assert!(log.contains("login ok user=\"alex\"") && log.contains("from=127.0.0.1"), "{log}");
    for secret in [
        access,
        answer["refresh_token"].as_str().unwrap(),
        form.get("code").unwrap(),
        PASSWORD,
        VERIFIER,
    ] {
        assert!(!log.contains(secret), "a secret in the log");
    }
}

#[test]
fn the_short_paths_of_older_clients_work_too() {
    let (_folder, server) = Server::sample();
    let client = server.request(
        "POST /register HTTP/1.1\r\nContent-Type: application/json",
        &json!({ "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none" }).to_string(),
    );
    let client = client.json()["client_id"].as_str().unwrap().to_owned();
    let path =
        authorize_path(&client, &[("resource", None)]).replace("/oauth/authorize", "/authorize");
    assert_eq!(server.get(&path).status, 200);
    let form = sent_back(&log_in(&server, &path, PASSWORD, "write"));
    let response = server.form(
        "/token",
        &[
            ("grant_type", "authorization_code"),
            ("client_id", &client),
            ("code", form.get("code").unwrap()),
            ("code_verifier", VERIFIER),
        ],
    );
    assert_eq!(response.status, 200, "{}", response.text());
}

#[test]
fn redirects_go_to_registered_addresses_only() {
    let (_folder, server) = Server::sample();
    let client = register(&server);
    for (name, value) in [
        ("redirect_uri", "https://evil.example/"),
        ("redirect_uri", "https://claude.ai/api/mcp/auth_callback/../../evil"),
        ("redirect_uri", "https://claude.ai/api/mcp/auth_callback?x=1"),
        ("redirect_uri", "javascript:alert(1)"),
        ("client_id", "no-such-client"),
    ] {
        let path = authorize_path(&client, &[(name, Some(value))]);
        for response in [server.get(&path), log_in(&server, &path, PASSWORD, "write")] {
            assert_eq!(response.status, 400, "{value}");
            assert_eq!(response.header("location"), None);
            assert!(response.text().contains("This did not work"));
        }
    }
    let twice = authorize_path(&client, &[]) + "&redirect_uri=https%3A%2F%2Fevil.example%2F";
    assert_eq!(server.get(&twice).status, 400, "a parameter given twice");
}

#[test]
fn a_request_without_s256_is_sent_back() {
    let (_folder, server) = Server::sample();
    let client = register(&server);
    for (name, value, error) in [
        ("code_challenge", None, "invalid_request"),
        ("code_challenge", Some("short"), "invalid_request"),
        ("code_challenge_method", None, "invalid_request"),
        ("code_challenge_method", Some("plain"), "invalid_request"),
        ("response_type", Some("token"), "unsupported_response_type"),
        ("resource", Some("https://evil.example/mcp"), "invalid_target"),
    ] {
        let form = sent_back(&server.get(&authorize_path(&client, &[(name, value)])));
        assert_eq!(
            (form.get("error"), form.get("state"), form.get("iss"), form.get("code")),
            (Some(error), Some("s t&te"), Some(ORIGIN), None),
            "{name} {value:?}"
        );
    }
}

#[test]
fn denying_sends_back_and_a_wrong_password_does_not() {
    let (_folder, server) = Server::sample();
    let client = register(&server);
    let path = authorize_path(&client, &[]);
    let denied = server.form(&path, &[("username", ""), ("password", ""), ("decision", "deny")]);
    assert_eq!(sent_back(&denied).get("error"), Some("access_denied"));
    for (user, password) in [("alex", "wrong"), ("unknown", PASSWORD), ("", ""), ("alex", "")] {
        let refused = server
            .form(&path, &[("username", user), ("password", password), ("decision", "allow")]);
        assert_eq!((refused.status, refused.header("location")), (403, None));
        assert!(refused.text().contains("User name or password is wrong"));
    }
    eventually("the log has all four", || server.log().matches("login failed").count() == 4);
    let log = server.log();
    assert_eq!(log.matches("login failed from=127.0.0.1").count(), 4, "{log}");
    assert!(!log.contains("unknown"), "a name that may be a password is not logged");
    // And after all that the right password works at once.
    assert_eq!(log_in(&server, &path, PASSWORD, "write").status, 303);
}

#[test]
fn a_form_from_another_site_is_refused() {
    let (_folder, server) = Server::sample();
    let path = authorize_path(&register(&server), &[]);
    let body = encode(&[("username", "alex"), ("password", PASSWORD), ("decision", "allow")]);
    for (header, status) in [
        ("Origin: https://evil.example", 403),
        ("Sec-Fetch-Site: cross-site", 403),
        ("Origin: null\r\nSec-Fetch-Site: same-origin", 303),
        ("Origin: https://vault.example.com", 303),
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n{header}"
        );
        let answer = server.request(&head, &body);
        assert_eq!(answer.status, status, "{header}");
        assert!(
            status != 403
                || answer.text().contains("<h1>")
                    && answer.text().contains("Start the login again"),
            "{}",
            answer.text()
        );
    }
}

/// Nor is more granted than the tools in use can do.
#[test]
fn where_nothing_writes_the_page_promises_no_changes() {
    let folder = Folder::sample();
    for settings in [[("READ_ONLY", "1")], [("TOOLSETS", "research")]] {
        let server = Server::with(&folder.vault(), &settings);
        let client = register(&server);
        let path = authorize_path(&client, &[]);
        let page = server.get(&path).text();
        assert!(
            page.contains("will not be able to change anything")
                && !page.contains("Read and change"),
            "{page}"
        );
        let token = exchange(&server, &client, &code(&server, &client), VERIFIER).json();
        assert_eq!(token["scope"], "vault:read");
    }
}

#[test]
fn nothing_a_client_says_becomes_markup_or_a_header() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("REDIRECT_HOSTS", "unknown.example")]);
    let evil = "<script>alert(1)</script>\"'><b>\r\nX: y\u{202e}";
    let id = register_with(
        &server,
        &json!({ "client_name": evil, "redirect_uris": ["https://unknown.example/cb"] }),
    )
    .json()["client_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = authorize_path(
        &id,
        &[
            ("redirect_uri", Some("https://unknown.example/cb")),
            ("state", Some("\r\nSet-Cookie: x=1\r\n\r\n<b>")),
        ],
    );
    let html = server.get(&path).text();
    assert!(
        !html.contains("<script") && !html.contains("<b>") && !html.contains('\u{202e}'),
        "{html}"
    );
    assert!(
        html.contains("<strong>unknown.example</strong>") && html.contains("class=\"warning\""),
        "a host that is not known"
    );
    let denied = server.form(&path, &[("decision", "deny")]);
    assert_eq!((denied.status, denied.header("set-cookie")), (303, None));
    assert!(denied.header("location").unwrap().contains("state=%0D%0ASet-Cookie"));
}

/// Anyone may register a site that only `*` allows, so a browser is not sent there before somebody
/// has logged in for it.
#[test]
fn a_denied_request_does_not_lead_to_a_site_that_nobody_has_agreed_to() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("REDIRECT_HOSTS", "*")]);
    let site = "https://unknown.example/cb";
    let wish = json!({ "redirect_uris": [site], "token_endpoint_auth_method": "none" });
    let id = register_with(&server, &wish).json()["client_id"].as_str().unwrap().to_owned();
    let path = authorize_path(&id, &[("redirect_uri", Some(site))]);
    let denied = server.form(&path, &[("decision", "deny")]);
    assert_eq!((denied.status, denied.header("location")), (200, None));
    assert!(denied.text().contains("Nothing has been granted"), "{}", denied.text());
}

#[test]
fn a_code_needs_its_client_its_verifier_and_its_first_use() {
    let (_folder, server) = Server::sample();
    let (client, other) = (register(&server), register(&server));
    let stolen = code(&server, &client);
    for response in [
        exchange(&server, &other, &stolen, VERIFIER),
        exchange(&server, &client, &stolen, "wrong-verifier-wrong-verifier-wrong-verifier"),
        exchange(&server, &client, &stolen, "short"),
        server.form(
            "/oauth/token",
            &[
                ("grant_type", "authorization_code"),
                ("client_id", &client),
                ("code", &stolen),
                ("code_verifier", VERIFIER),
                ("redirect_uri", "https://evil.example/"),
            ],
        ),
        exchange(&server, &client, "no-such-code", VERIFIER),
    ] {
        assert_eq!(
            (response.status, response.json()["error"].clone()),
            (400, json!("invalid_grant"))
        );
    }
    // None of these has used it up.
    let first = exchange(&server, &client, &stolen, VERIFIER);
    assert_eq!(first.status, 200, "{}", first.text());
    let access = first.json()["access_token"].as_str().unwrap().to_owned();
    assert!(works(&server, &access));
    // What was stolen is used second: both lose, and the log says so.
    assert_eq!(exchange(&server, &client, &stolen, VERIFIER).status, 400);
    assert!(!works(&server, &access));
    assert_eq!(
        refresh(&server, &client, first.json()["refresh_token"].as_str().unwrap()).status,
        400
    );
    server.log_with("code used twice");
}

#[test]
fn refreshing_at_once_from_several_processes_leaves_all_with_one_working_token() {
    let (_folder, server) = Server::sample();
    let client = register(&server);
    let (access, first) = tokens(&server, &client);
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..6).map(|_| scope.spawn(|| refresh(&server, &client, &first))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .map(|response| {
                assert_eq!(response.status, 200, "{}", response.text());
                response.json()
            })
            .collect()
    });
    for answer in &answers {
        assert_eq!(
            answer["refresh_token"], answers[0]["refresh_token"],
            "all hold the same successor"
        );
        assert_ne!(answer["refresh_token"], json!(first));
        assert!(works(&server, answer["access_token"].as_str().unwrap()));
    }
    assert!(works(&server, &access), "and the old access token still works");
    // A process that slept through two rotations is led to the newest.
    let second = answers[0]["refresh_token"].as_str().unwrap();
    let third =
        refresh(&server, &client, second).json()["refresh_token"].as_str().unwrap().to_owned();
    assert_eq!(refresh(&server, &client, &first).json()["refresh_token"], json!(third));
    assert_eq!(refresh(&server, &register(&server), &third).status, 400, "another client");
    assert_eq!(refresh(&server, &client, "no-such-token").json()["error"], "invalid_grant");
}

#[test]
fn a_grant_is_revoked_by_its_client_and_by_no_other() {
    let (_folder, server) = Server::sample();
    let (client, other) = (register(&server), register(&server));
    let (access, refresh_token) = tokens(&server, &client);
    let revoke = |client: &str, token: &str| {
        server
            .form(
                "/oauth/revoke",
                &[("token", token), ("client_id", client), ("token_type_hint", "access_token")],
            )
            .status
    };
    assert_eq!(revoke(&other, &refresh_token), 200);
    assert_eq!(revoke(&other, &access), 200);
    assert_eq!(revoke(&client, "unknown"), 200);
    assert!(works(&server, &access), "nothing has happened so far");
    assert_eq!(revoke("unknown", &access), 401);
    assert_eq!(revoke(&client, &access), 200);
    assert!(!works(&server, &access));
    let answer = refresh(&server, &client, &refresh_token).json();
    let (access, refresh_token) =
        (answer["access_token"].as_str().unwrap(), answer["refresh_token"].as_str().unwrap());
    assert_eq!(revoke(&client, refresh_token), 200);
    assert!(!works(&server, access), "the refresh token takes the whole grant with it");
    assert_eq!(refresh(&server, &client, refresh_token).status, 400);
}

#[test]
fn reading_only_can_be_chosen_by_the_person_and_by_the_client() {
    let (_folder, server) = Server::sample();
    let client = register(&server);
    for (scope, choice, granted) in [
        (None, "read", "vault:read"),
        (Some("vault:read vault:write"), "read", "vault:read"),
        (Some("vault:read"), "write", "vault:read"),
        (Some("vault:write offline_access"), "write", "vault:read vault:write"),
        (Some("claudeai"), "write", "vault:read vault:write"),
    ] {
        let path = authorize_path(&client, &[("scope", scope)]);
        let form = sent_back(&log_in(&server, &path, PASSWORD, choice));
        let answer = exchange(&server, &client, form.get("code").unwrap(), VERIFIER).json();
        assert_eq!(answer["scope"], granted, "{scope:?} {choice}");
        let list = server.post_with(
            answer["access_token"].as_str().unwrap(),
            "",
            &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
        );
        assert_eq!(list.text().contains("vault_write"), granted.contains("write"));
    }
}

#[test]
fn tokens_in_the_url_are_not_looked_at() {
    let (_folder, server) = Server::sample();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(
        server
            .request(
                &format!(
                    "POST /mcp?access_token={TOKEN} HTTP/1.1\r\nContent-Type: application/json"
                ),
                ping
            )
            .status,
        401
    );
}

// --- Regressions, each named after what went wrong ----------------------------------------------

#[test]
fn an_event_stream_ends_with_its_token() {
    let (folder, server) = Server::sample();
    let mut stream = stream_of_a_revoked_login(&server);
    std::fs::write(folder.vault().join("secret news.md"), "x").unwrap();
    assert!(stream.event().is_none(), "ended without an event");
}

/// Wrong passwords from one address, many at a time: the others have to wait, and the owner gets
/// in.
#[test]
fn one_address_cannot_fill_the_queue_of_logins() {
    let (_folder, server) = Server::sample();
    let path = authorize_path(&register(&server), &[]);
    let busy = std::thread::scope(|scope| {
        let flood: Vec<_> = (0..40)
            .map(|_| scope.spawn(|| log_in(&server, &path, "wrong", "write").status))
            .collect();
        flood
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .filter(|status| *status == 429)
            .count()
    });
    assert!(busy < 40, "some were checked");
    assert_eq!(log_in(&server, &path, PASSWORD, "write").status, 303);
}
