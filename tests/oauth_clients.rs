//! Clients: registration, and clients with a secret.

use crate::support::login::{
    REDIRECT, VERIFIER, authorize_path, code, register, register_with, works,
};
use crate::support::{Folder, Server, encode};
use serde_json::json;

#[test]
fn clients_with_a_secret_may_send_it_by_both_methods() {
    let (_folder, server) = Server::sample();
    for method in [Some("client_secret_post"), Some("client_secret_basic"), None] {
        let mut wish = json!({ "redirect_uris": [REDIRECT] });
        if let Some(method) = method {
            wish["token_endpoint_auth_method"] = json!(method);
        }
        let client = register_with(&server, &wish).json();
        assert_eq!(
            client["token_endpoint_auth_method"],
            json!(method.unwrap_or("client_secret_basic"))
        );
        assert_eq!(client["client_secret_expires_at"], 0);
        let (id, secret) =
            (client["client_id"].as_str().unwrap(), client["client_secret"].as_str().unwrap());
        let basic = |id: &str, secret: &str| {
            use base64::Engine;
            format!(
                "\r\nAuthorization: Basic {}",
                base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}"))
            )
        };
        let ask = |header: &str, secret_in_body: Option<&str>, code: &str| {
            let mut fields = vec![
                ("grant_type", "authorization_code"),
                ("client_id", id),
                ("code", code),
                ("code_verifier", VERIFIER),
            ];
            fields.extend(secret_in_body.map(|secret| ("client_secret", secret)));
            server.request(
                &format!(
                    "POST /oauth/token HTTP/1.1\r\nContent-Type: \
                     application/x-www-form-urlencoded{header}"
                ),
                &encode(&fields),
            )
        };
        let code = code(&server, id);
        let missing = ask("", None, &code);
        assert_eq!(
            (missing.status, missing.json()["error"].clone(), missing.header("www-authenticate")),
            (401, json!("invalid_client"), None)
        );
        let wrong = ask(&basic(id, "wrong"), None, &code);
        assert_eq!((wrong.status, wrong.header("www-authenticate").is_some()), (401, true));
        assert_eq!(ask(&basic("another", secret), None, &code).status, 400, "two different ids");
        let right = if method == Some("client_secret_post") {
            ask(&basic(id, secret), None, &code)
        } else {
            ask("", Some(secret), &code)
        };
        assert_eq!(right.status, 200, "the method that was not registered: {}", right.text());
    }
}

#[test]
fn machine_clients_get_tokens_for_their_secret() {
    let (_folder, server) = Server::sample();
    let ask = |secret: &str, scope: &str| {
        server.form(
            "/oauth/token",
            &[
                ("grant_type", "client_credentials"),
                ("client_id", "robot"),
                ("client_secret", secret),
                ("scope", scope),
            ],
        )
    };
    let answer = ask("robot secret", "vault:read").json();
    assert_eq!(answer["scope"], "vault:read");
    assert!(answer.get("refresh_token").is_none());
    assert!(works(&server, answer["access_token"].as_str().unwrap()));
    assert_eq!(
        (ask("wrong", "").status, ask("wrong", "").json()["error"].clone()),
        (401, json!("invalid_client"))
    );
    let client = register(&server);
    let response = server
        .form("/oauth/token", &[("grant_type", "client_credentials"), ("client_id", &client)]);
    assert_eq!(response.json()["error"], "unauthorized_client", "registering gives no access");
    let response =
        server.form("/oauth/token", &[("grant_type", "password"), ("client_id", &client)]);
    assert_eq!(response.json()["error"], "unsupported_grant_type");
}

#[test]
fn registrations_are_liberal_in_and_exact_out() {
    let (_folder, server) = Server::sample();
    let uris = [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "evil:x",
        "http://localhost:8787/callback",
    ];
    let answer = register_with(
        &server,
        &json!({ "client_name": "Cursor", "redirect_uris": uris, "token_endpoint_auth_method": "none", "unknown": { "x": 1 }, "scope": "vault:read", "logo_uri": null }),
    );
    assert_eq!((answer.status, answer.header("cache-control")), (201, Some("no-store")));
    assert!(!answer.text().contains("null"));
    let client = answer.json();
    assert_eq!(client["redirect_uris"], json!(uris));
    assert_eq!(
        (
            client["token_endpoint_auth_method"].as_str(),
            client["scope"].as_str(),
            client["response_types"].clone()
        ),
        (Some("none"), Some("vault:read"), json!(["code"]))
    );
    assert!(client["client_id_issued_at"].is_u64() && client.get("client_secret").is_none());
    let id = client["client_id"].as_str().unwrap();
    assert_eq!(
        server.get(&authorize_path(id, &[("redirect_uri", Some("evil:x"))])).status,
        400,
        "the bad one is refused when used"
    );
    assert_eq!(
        server
            .get(&authorize_path(id, &[("redirect_uri", Some("http://localhost:50123/callback"))]))
            .status,
        200,
        "any port on loopback"
    );
    for (body, error) in [
        ("[]", "invalid_client_metadata"),
        (r#"["name","none",["https://claude.ai/cb"],null,null]"#, "invalid_client_metadata"),
        ("{", "invalid_client_metadata"),
        ("{}", "invalid_redirect_uri"),
        (r#"{"redirect_uris":[]}"#, "invalid_redirect_uri"),
        (r#"{"redirect_uris":["http://evil.example/"]}"#, "invalid_redirect_uri"),
        (r#"{"redirect_uris":[5]}"#, "invalid_redirect_uri"),
        (r#"{"redirect_uris":["https://a.example/"]}"#, "invalid_redirect_uri"),
        (
            r#"{"redirect_uris":["https://claude.ai/"],"token_endpoint_auth_method":"private_key_jwt"}"#,
            "invalid_client_metadata",
        ),
    ] {
        let response =
            server.request("POST /oauth/register HTTP/1.1\r\nContent-Type: application/json", body);
        assert_eq!(
            (response.status, response.json()["error"].clone()),
            (400, json!(error)),
            "{body}"
        );
    }
}

/// A `client_id` carries what was registered; what does not fit is refused, and never cut.
#[test]
fn a_registration_that_is_too_long_is_refused() {
    let (_folder, server) = Server::sample();
    for uris in [vec![format!("{REDIRECT}?{}", "x".repeat(800))], vec![REDIRECT.to_owned(); 30]] {
        let answer = register_with(&server, &json!({ "redirect_uris": uris }));
        assert_eq!(
            (answer.status, answer.json()["error"].as_str()),
            (400, Some("invalid_redirect_uri")),
            "{}",
            answer.text()
        );
    }
    let long = json!({ "client_name": "名".repeat(500), "redirect_uris": [REDIRECT, "http://127.0.0.1/callback"] });
    let id = register_with(&server, &long).json()["client_id"].as_str().unwrap().to_owned();
    assert!(
        id.len() < 1_000 && server.get(&authorize_path(&id, &[])).text().contains("名名"),
        "{id}"
    );
}

#[test]
fn a_secret_with_a_plus_is_accepted_in_the_header() {
    use base64::Engine;
    let secret = "p+q/r%41=";
    let folder = Folder::sample();
    let hash = vault_sync_mcp::secret::SecretHash::of(secret).to_hex();
    let server = Server::with(&folder.vault(), &[("CLIENT_CREDENTIALS", &format!("bot:{hash}"))]);
    for sent in [secret.to_owned(), vault_sync_mcp::percent::encode(secret, "")] {
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("bot:{sent}"));
        let head = format!(
            "POST /oauth/token HTTP/1.1\r\nContent-Type: \
             application/x-www-form-urlencoded\r\nAuthorization: Basic {basic}"
        );
        assert_eq!(server.request(&head, "grant_type=client_credentials").status, 200, "{sent}");
    }
}
