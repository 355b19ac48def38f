//! A login over HTTP, step by step, as a client and a browser make it.

use super::{Connection, ORIGIN, PASSWORD, Response, Server, encode, stream_request};
use serde_json::{Value, json};

pub const REDIRECT: &str = "https://claude.ai/api/mcp/auth_callback";
pub const VERIFIER: &str = "abcdefghijklmnopqrstuvwxyz0123456789-._~ABCDEFG";

pub fn challenge() -> String {
    vault_sync_mcp::secret::s256(VERIFIER)
}

pub fn register_with(server: &Server, body: &Value) -> Response {
    server.request(
        "POST /oauth/register HTTP/1.1\r\nContent-Type: application/json",
        &body.to_string(),
    )
}

pub fn register(server: &Server) -> String {
    let response = register_with(
        server,
        &json!({ "client_name": "Claude", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none" }),
    );
    assert_eq!(response.status, 201, "{}", response.text());
    response.json()["client_id"].as_str().unwrap().to_owned()
}

pub fn authorize_path(client: &str, changes: &[(&str, Option<&str>)]) -> String {
    let challenge = challenge();
    let resource = format!("{ORIGIN}/mcp");
    let mut fields = vec![
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", REDIRECT),
        ("state", "s t&te"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("resource", &resource),
    ];
    for (name, value) in changes {
        fields.retain(|(known, _)| known != name);
        fields.extend(value.map(|value| (*name, value)));
    }
    format!("/oauth/authorize?{}", encode(&fields))
}

pub fn log_in(server: &Server, path: &str, password: &str, access: &str) -> Response {
    server.form(
        path,
        &[("username", "alex"), ("password", password), ("access", access), ("decision", "allow")],
    )
}

/// The parameters that the browser is sent back with.
pub fn sent_back(response: &Response) -> vault_sync_mcp::form::Form {
    assert_eq!(response.status, 303, "{}", response.text());
    let location = response.header("location").unwrap();
    let query =
        location.strip_prefix(&format!("{REDIRECT}?")).unwrap_or_else(|| panic!("{location}"));
    vault_sync_mcp::form::Form::parse(query).unwrap()
}

pub fn code(server: &Server, client: &str) -> String {
    let form = sent_back(&log_in(server, &authorize_path(client, &[]), PASSWORD, "write"));
    form.get("code").unwrap().to_owned()
}

pub fn exchange(server: &Server, client: &str, code: &str, verifier: &str) -> Response {
    server.form(
        "/oauth/token",
        &[
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", REDIRECT),
        ],
    )
}

pub fn refresh(server: &Server, client: &str, token: &str) -> Response {
    server.form(
        "/oauth/token",
        &[("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token)],
    )
}

/// Access and refresh token of a whole login.
pub fn tokens(server: &Server, client: &str) -> (String, String) {
    let response = exchange(server, client, &code(server, client), VERIFIER);
    assert_eq!(response.status, 200, "{}", response.text());
    let answer = response.json();
    (
        answer["access_token"].as_str().unwrap().into(),
        answer["refresh_token"].as_str().unwrap().into(),
    )
}

pub fn works(server: &Server, token: &str) -> bool {
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    match server.post_with(token, "", &ping).status {
        200 => true,
        401 => false,
        other => panic!("{other}"),
    }
}

/// A session's event stream that was open when its login was revoked.
pub fn stream_of_a_revoked_login(server: &Server) -> Connection {
    let client = register(server);
    let (access, refresh_token) = tokens(server, &client);
    let mut stream = server.connect();
    stream.send(stream_request(
        &access,
        &server.session(&access, "2025-11-25"),
        "text/event-stream",
    ));
    assert_eq!(stream.headless().status, 200);
    assert_eq!(
        server.form("/oauth/revoke", &[("token", &refresh_token), ("client_id", &client)]).status,
        200
    );
    stream
}
