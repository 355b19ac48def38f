//! `/account`, the owner's page: what it shows, what it takes back, and who is kept out.

use crate::support::login::{log_in, register, tokens, works};
use crate::support::{Folder, PASSWORD, READ_TOKEN, Response, Server, TOKEN, encode};
use serde_json::{Value, json};
use std::path::PathBuf;

const OTHER_PASSWORD: &str = "the password of another";

/// A server that keeps versions, with one user or two.
fn serve(users: usize, more: &[(&str, &str)]) -> (Folder, Server) {
    let folder = Folder::with(&[
        ("a.md", b"one\ntwo\nthree\n".as_slice()),
        ("b.md", b"see [[a]]\n"),
        ("dir/c.md", b"c\n"),
    ]);
    let state: PathBuf = folder.path().join("state");
    let hash = |password: &str| bcrypt::hash(password, 4).unwrap();
    let both = format!("alex:{},sam:{}", hash(PASSWORD), hash(OTHER_PASSWORD));
    let alex = both.split(',').next().unwrap();
    let settings = [
        &[
            ("TOOLSETS", "vault,notes"),
            ("STATE_DIR", state.to_str().unwrap()),
            ("AUTH_USERS", if users == 1 { alex } else { both.as_str() }),
        ],
        more,
    ]
    .concat();
    let server = Server::with(&folder.vault(), &settings);
    (folder, server)
}

fn log_in_to_account(server: &Server, user: &str, password: &str) -> Response {
    server.form("/account", &[("username", user), ("password", password)])
}

/// A browser in a session.
struct Browser<'a> {
    server: &'a Server,
    cookie: String,
}

impl<'a> Browser<'a> {
    fn of(server: &'a Server, user: &str, password: &str) -> Browser<'a> {
        let answer = log_in_to_account(server, user, password);
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        Browser { server, cookie }
    }

    fn get(&self, path: &str) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nCookie: {}", self.cookie);
        let answer = self.server.request(&head, "");
        assert_eq!(answer.status, 200, "{}", answer.text());
        is_proper(&answer.text());
        answer.text()
    }

    fn send(&self, headers: &str, fields: &[(&str, &str)]) -> Response {
        let head = format!(
            "POST /account HTTP/1.1\r\nCookie: {}\r\n{headers}Content-Type: application/x-www-form-urlencoded",
            self.cookie
        );
        self.server.request(&head, &encode(fields))
    }

    /// The token of the forms.
    fn token(&self) -> String {
        let page = self.get("/account");
        between(&page, "name=\"token\" value=\"", "\"").expect("a form")
    }

    fn press(&self, fields: &[(&str, &str)]) -> String {
        let token = self.token();
        let answer = self.send("", &[&[("token", token.as_str())], fields].concat());
        is_proper(&answer.text());
        answer.text()
    }

    /// The ids of the calls that are listed, newest first.
    fn calls(&self) -> Vec<String> {
        let page = self.get("/account");
        let parts = page.split("/account?call=").skip(1);
        parts.map(|part| part.split('"').next().unwrap().to_owned()).collect()
    }
}

fn between(text: &str, before: &str, after: &str) -> Option<String> {
    Some(text.split_once(before)?.1.split_once(after)?.0.to_owned())
}

fn is_proper(page: &str) {
    assert!(page.len() < 20_000, "{}", page.len());
    assert!(!page.contains("<script") && page.ends_with("</html>\n"), "{page}");
}

fn call_as(server: &Server, token: &str, tool: &str, arguments: &Value) {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    let answer = server.post_with(token, "", &message).json();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[test]
fn the_owner_sees_what_was_done_and_takes_it_back() {
    let (folder, server) = serve(1, &[]);
    let (access, _) = tokens(&server, &register(&server));
    let edit = json!({ "path": "a.md", "old_text": "two", "new_text": "<b>2</b>" });
    call_as(&server, &access, "vault_edit", &edit);
    call_as(&server, &access, "vault_move", &json!({ "path": "dir", "to": "Other" }));
    call_as(&server, &access, "vault_write", &json!({ "path": "b.md", "content": "all new\n" }));
    call_as(&server, TOKEN, "vault_write", &json!({ "path": "t.md", "content": "t\n" }));
    let wrong = log_in_to_account(&server, "alex", "guess");
    assert_eq!((wrong.status, wrong.header("set-cookie")), (403, None));
    server.log_with("login failed from=127.0.0.1 client=\"account page\"");
    let right = log_in_to_account(&server, "alex", PASSWORD);
    let cookie = right.header("set-cookie").unwrap();
    for part in
        ["__Host-account=", "Path=/", "Max-Age=900", "Secure", "HttpOnly", "SameSite=Strict"]
    {
        assert!(cookie.contains(part), "{cookie}");
    }
    let browser = Browser::of(&server, "alex", PASSWORD);
    let page = browser.get("/account");
    for words in
        ["Claude", "claude.ai", "reads and changes all notes", "API token all", "vault_move"]
    {
        assert!(page.contains(words), "{words}: {page}");
    }
    let calls = browser.calls();
    assert_eq!(calls.len(), 4, "{page}");
    let [_, write, moved, edited] = [0, 1, 2, 3].map(|number| calls[number].as_str());
    let shown = browser.get(&format!("/account?call={edited}"));
    assert!(
        shown.contains("a.md: changed") && shown.contains("\n&lt;b&gt;2&lt;/b&gt;\n"),
        "{shown}"
    );
    assert!(shown.contains("one\ntwo\nthree"), "{shown}");
    assert!(browser.get(&format!("/account?call={moved}")).contains("dir: moved to Other"));

    // A person changes a note since: that is left alone, and named before anything is done.
    std::fs::write(folder.vault().join("b.md"), "by hand\n").unwrap();
    let all = [("call", edited), ("all", "1")];
    let asked = browser.press(&[&all[..], &[("do", "look")]].concat());
    assert!(asked.contains("Left alone (1)") && asked.contains("b.md"), "{asked}");
    assert!(asked.contains("This would be taken back (2)"), "{asked}");
    assert_eq!(folder.read("a.md"), b"one\n<b>2</b>\nthree\n", "it only asks");
    let one = browser.press(&[("call", moved), ("do", "undo")]);
    assert!(one.contains("Taken back (1)"), "{one}");
    assert_eq!(folder.read("dir/c.md"), b"c\n");
    assert_eq!(folder.read("a.md"), b"one\n<b>2</b>\nthree\n", "one call alone");
    let rest = browser.press(&[&all[..], &[("do", "undo")]].concat());
    assert!(rest.contains("Taken back (1)") && rest.contains("Left alone (1)"), "{rest}");
    assert_eq!(folder.read("a.md"), b"one\ntwo\nthree\n");
    assert_eq!(folder.read("b.md"), b"by hand\n");
    assert_eq!(folder.read("t.md"), b"t\n", "another login's");
    assert!(browser.get("/account").contains("taken back"));
    let again = browser.press(&[("call", edited), ("do", "undo")]);
    assert!(again.contains("nothing to take back"), "{again}");
    assert!(browser.press(&[("call", write), ("do", "look")]).contains("Left alone (1)"));

    assert!(works(&server, &access));
    let grant = between(&browser.get("/account"), "name=\"grant\" value=\"", "\"").unwrap();
    assert!(browser.press(&[("grant", &grant), ("do", "revoke")]).contains("The login has ended"));
    assert!(!works(&server, &access) && works(&server, TOKEN));
    assert!(browser.get("/account").contains("No application is logged in"));
}

#[test]
fn nobody_else_gets_in() {
    let (folder, server) = serve(2, &[]);
    call_as(
        &server,
        TOKEN,
        "vault_edit",
        &json!({ "path": "a.md", "old_text": "two", "new_text": "2" }),
    );
    let (access, _) = tokens(&server, &register(&server));
    let edit = json!({ "path": "b.md", "old_text": "see", "new_text": "look at" });
    call_as(&server, &access, "vault_edit", &edit);
    let alex = Browser::of(&server, "alex", PASSWORD);
    let sam = Browser::of(&server, "sam", OTHER_PASSWORD);
    let (calls, token) = (alex.calls(), alex.token());
    // With several users each sees their own logins, and no API tokens.
    assert_eq!((calls.len(), sam.calls().len()), (1, 0));
    let call = calls[0].as_str();
    let grant = between(&alex.get("/account"), "name=\"grant\" value=\"", "\"").unwrap();
    assert!(sam.get("/account").contains("No application is logged in"));
    for fields in [
        [("call", call), ("do", "look")],
        [("call", call), ("do", "undo")],
        [("grant", grant.as_str()), ("do", "revoke")],
    ] {
        let said = sam.press(&fields);
        assert!(said.contains("This did not work") && !said.contains("b.md"), "{said}");
        // Without a session, or with the token of another.
        for headers in ["", &format!("Authorization: Bearer {TOKEN}\r\n")] {
            let stranger = Browser { server: &server, cookie: "x=y".into() };
            let fields = [&[("token", token.as_str())], &fields[..]].concat();
            assert_eq!(stranger.send(headers, &fields).status, 403);
            assert_eq!(sam.send(headers, &fields).status, 403, "a token of another session");
        }
        // From another site, if a browser sent the cookie there at all.
        let whole = [&[("token", token.as_str())], &fields[..]].concat();
        assert_eq!(alex.send("Sec-Fetch-Site: cross-site\r\n", &whole).status, 400);
        assert_eq!(alex.send("Origin: https://evil.example\r\n", &whole).status, 403);
        assert_eq!(alex.send("", &fields).status, 403, "without the token of the form");
    }
    let head = format!("GET /account?call={call} HTTP/1.1\r\nCookie: {}", sam.cookie);
    assert_eq!(server.request(&head, "").status, 400);
    for token in [TOKEN, READ_TOKEN, access.as_str()] {
        let head = format!("GET /account HTTP/1.1\r\nAuthorization: Bearer {token}");
        let page = server.request(&head, "").text();
        assert!(page.contains("type=\"password\"") && !page.contains("b.md"), "{page}");
    }
    let elsewhere = server.connect().send(format!("GET /account HTTP/1.1\r\nHost: evil.example\r\nCookie: {}\r\nConnection: close\r\n\r\n", alex.cookie)).response();
    assert_eq!(elsewhere.status, 403);
    assert_eq!(folder.read("b.md"), b"look at [[a]]\n");
    assert!(works(&server, &access));

    // A login that has ended leaves what it did on the page, whoever ended it.
    assert!(alex.press(&[("grant", &grant), ("do", "revoke")]).contains("The login has ended"));
    assert_eq!(alex.calls(), [call]);
    assert_eq!(sam.calls().len(), 0);
    for (headers, expected) in [
        ("Origin: null\r\nSec-Fetch-Site: same-origin\r\n", 200),
        ("Origin: http://localhost:9999\r\n", 403),
        ("Origin: https://claude.ai\r\n", 403),
        ("Sec-Fetch-Site: same-site\r\n", 400),
    ] {
        let fields = [("token", token.as_str()), ("call", call), ("do", "look")];
        assert_eq!(alex.send(headers, &fields).status, expected, "{headers}");
    }
    // What a browser does not take for a cookie with the prefix is none.
    let forged = alex.cookie.replace("__Host", "\u{2000}__Host");
    let forged = Browser { server: &server, cookie: forged };
    assert!(forged.get("/account").contains("type=\"password\""));

    // A cookie that was stolen is worth nothing after Log out.
    let log_out = alex.send("", &[("token", &token), ("do", "logout")]);
    assert_eq!(log_out.status, 303);
    assert!(log_out.header("set-cookie").unwrap().contains("Max-Age=0"));
    let fields = [("token", token.as_str()), ("call", call), ("do", "undo")];
    assert_eq!(alex.send("", &fields).status, 403);
    assert!(alex.get("/account").contains("type=\"password\""));
    assert_eq!(folder.read("b.md"), b"look at [[a]]\n");
}

#[test]
fn what_is_taken_back_is_what_was_shown() {
    let (folder, server) = serve(1, &[]);
    let write = |path: &str| {
        call_as(&server, TOKEN, "vault_write", &json!({ "path": path, "content": "new\n" }));
    };
    // All within a second.
    ["one.md", "two.md", "three.md"].into_iter().for_each(write);
    let browser = Browser::of(&server, "alex", PASSWORD);
    let calls = browser.calls();
    let all = [("call", calls[1].as_str()), ("all", "1")];
    let asked = browser.press(&[&all[..], &[("do", "look")]].concat());
    assert!(asked.contains("taken back (2)") && !asked.contains("one.md"), "{asked}");
    let until = between(&asked, "name=\"until\" value=\"", "\"").unwrap();
    assert_eq!(until, calls[0]);
    write("later.md");
    let done = browser.press(&[&all[..], &[("until", until.as_str()), ("do", "undo")]].concat());
    assert!(done.contains("Taken back (2)"), "{done}");
    let has = |path: &str| folder.vault().join(path).exists();
    assert!(has("one.md") && has("later.md") && !has("two.md") && !has("three.md"));

    // Taking back is a change like others: undone, the first stands again, and can be taken back.
    let edit = json!({ "path": "a.md", "old_text": "two", "new_text": "2" });
    call_as(&server, TOKEN, "vault_edit", &edit);
    let edited = browser.calls()[0].clone();
    for round in 0..2 {
        assert!(browser.press(&[("call", &edited), ("do", "undo")]).contains("Taken back (1)"));
        assert_eq!(folder.read("a.md"), b"one\ntwo\nthree\n", "{round}");
        let undo = browser.calls()[0].clone();
        assert!(browser.press(&[("call", &undo), ("do", "undo")]).contains("Taken back (1)"));
        assert_eq!(folder.read("a.md"), b"one\n2\nthree\n", "{round}");
    }
}

#[test]
fn of_hidden_files_nothing_is_shown_or_taken_back() {
    let (folder, server) = serve(1, &[]);
    let write = json!({ "path": "Private/secret name.md", "content": "secret text\n" });
    call_as(&server, TOKEN, "vault_write", &write);
    call_as(&server, TOKEN, "vault_write", &json!({ "path": "d.md", "content": "d\n" }));
    let state = folder.path().join("state").display().to_string();
    server.kill();
    let hidden = [("TOOLSETS", "vault,notes"), ("STATE_DIR", &*state), ("HIDE", "Private/")];
    let server = Server::with(&folder.vault(), &hidden);
    let browser = Browser::of(&server, "alex", PASSWORD);
    let calls = browser.calls();
    assert_eq!(calls.len(), 1);
    for act in ["look", "undo"] {
        let said = browser.press(&[("call", &calls[0]), ("all", "1"), ("do", act)]);
        assert!(!said.contains("secret"), "{said}");
    }
    assert_eq!(folder.read("Private/secret name.md"), b"secret text\n");
}

#[test]
fn it_can_be_switched_off_and_needs_a_user() {
    for settings in [("ACCOUNT_PAGE", "0"), ("AUTH_USERS", "")] {
        let (_folder, server) = serve(1, &[settings]);
        assert_eq!(server.get("/account").status, 404, "{settings:?}");
        assert_eq!(log_in_to_account(&server, "alex", PASSWORD).status, 404);
        assert!(!server.get("/").text().contains("/account"));
    }
    let (_folder, server) = serve(1, &[("STATE_DIR", "none")]);
    assert!(server.get("/").text().contains("href=\"/account\""));
    let browser = Browser::of(&server, "alex", PASSWORD);
    assert!(browser.get("/account").contains("No versions are kept"));
}

#[test]
fn pages_stay_small_whatever_was_done() {
    let (_folder, server) = serve(1, &[]);
    let name = "\"&'<".repeat(50);
    for n in 0..30 {
        let path = format!("{}{n}.md", "ü&'".repeat(60));
        let text = format!("{n}\n{}", "<&>\"'\n".repeat(20_000));
        call_as(&server, TOKEN, "vault_write", &json!({ "path": path, "content": text }));
    }
    let client = json!({ "client_name": name, "redirect_uris": ["http://127.0.0.1/cb"], "token_endpoint_auth_method": "none" });
    for _ in 0..30 {
        let id = crate::support::login::register_with(&server, &client).json()["client_id"].clone();
        let path = crate::support::login::authorize_path(
            id.as_str().unwrap(),
            &[("redirect_uri", Some("http://127.0.0.1/cb"))],
        );
        let sent = log_in(&server, &path, PASSWORD, "write");
        let code = between(sent.header("location").unwrap(), "code=", "&").unwrap();
        let exchanged = server.form(
            "/oauth/token",
            &[
                ("grant_type", "authorization_code"),
                ("client_id", id.as_str().unwrap()),
                ("code", &code),
                ("code_verifier", crate::support::login::VERIFIER),
                ("redirect_uri", "http://127.0.0.1/cb"),
            ],
        );
        assert_eq!(exchanged.status, 200, "{}", exchanged.text());
    }
    let names: Vec<String> = (0..20).map(|n| format!("{}{n}.md", "&&'".repeat(60))).collect();
    for path in &names {
        call_as(&server, TOKEN, "vault_write", &json!({ "path": path, "content": "&&\n" }));
    }
    let edit = json!({ "paths": names, "old_text": "&", "new_text": "<<<<", "replace_all": true });
    call_as(&server, TOKEN, "vault_edit", &edit);
    // The pages are measured as they are fetched.
    let browser = Browser::of(&server, "alex", PASSWORD);
    let page = browser.get("/account");
    assert!(page.contains("and 18 more") && page.contains("Older changes"), "{page}");
    assert!(browser.get("/account?from=36").contains("/account?from=48"));
    let call = browser.calls()[0].clone();
    browser.get(&format!("/account?call={call}"));
    let oldest = between(&browser.get("/account?from=48"), "?call=", "\"").unwrap();
    let asked = browser.press(&[("call", &oldest), ("all", "1"), ("do", "look")]);
    assert!(asked.contains("This would be taken back"), "{asked}");
}

#[test]
fn guesses_at_the_password_wait_as_those_at_the_login_do() {
    let (_folder, server) = serve(1, &[]);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let guess = || log_in_to_account(&server, "alex", "guess").status;
        let guesses: Vec<_> = (0..40).map(|_| scope.spawn(guess)).collect();
        guesses.into_iter().map(|guess| guess.join().unwrap()).collect()
    });
    let busy = statuses.iter().filter(|status| **status == 429).count();
    assert!(busy >= 20, "most are sent away at once: {statuses:?}");
    assert!(statuses.iter().all(|status| [403, 429].contains(status)), "{statuses:?}");
    Browser::of(&server, "alex", PASSWORD);
}
