//! `check --server URL`: tests a server as Claude sees it, from outside and through its proxy:
//! discovery, the documents and how they refer to each other, the 401 that leads to a login, and
//! common mistakes of proxies. Nothing is left behind: no client is registered and no login is
//! made. `curl` makes the requests, because a TLS stack of our own would be the largest part of
//! this program for the rarest of its uses.

use super::{print, print_mistakes};
use crate::clock::Deadline;
use crate::config::without_default_port;
use crate::process::{self, Process, SpawnOptions};
use crate::web::routes;
use serde_json::Value;
use std::io::ErrorKind;
use std::time::Duration;

/// Bytes that `check --server` keeps of one response; the documents have about two thousand.
const CHECK_BYTES: usize = 64 * 1024;
/// How long it waits for `curl`, which gives up by itself after 15 s.
const CHECK_PATIENCE: Duration = Duration::from_secs(20);

/// The user agent of Claude on the web; bot filters know it.
const CLAUDE: &str = "Claude-User";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"vault-sync-mcp check","version":"1"}}}"#;
/// Larger than what proxies let through by default (1 MiB), smaller than what the server takes.
const LARGE: usize = 1_500_000;

/// A response.
struct Answer {
    status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    /// Unless it is fine, an error with the status and what that means.
    fn must(&self, is_fine: bool) -> Result<(), String> {
        if is_fine { Ok(()) } else { Err(format!("status {}: {}", self.status, self.meaning())) }
    }

    /// Parses what `curl --include` prints: the last response head, and the body.
    fn read(bytes: &[u8]) -> Option<Answer> {
        let text = String::from_utf8_lossy(bytes);
        let mut rest = &*text;
        loop {
            let (head, body) = rest.split_once("\r\n\r\n")?;
            let mut lines = head.lines();
            let status: u16 = lines.next()?.split(' ').nth(1)?.parse().ok()?;
            // Skips 100 Continue, 103 Early Hints, and the head from a proxy of the caller.
            if status < 200 || body.starts_with("HTTP/") {
                rest = body;
                continue;
            }
            let headers = lines.filter_map(|line| line.split_once(':'));
            let headers = headers
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                .collect();
            return Some(Answer { status, headers, body: body.to_owned() });
        }
    }

    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    fn is_html(&self) -> bool {
        self.header("content-type").starts_with("text/html")
    }

    /// What a status usually means, when it is not the one that was expected.
    fn meaning(&self) -> &'static str {
        match self.status {
            300..=399 => {
                "a redirect; clients do not send their token along. The proxy must serve the URL \
                 itself"
            }
            401 if self.is_html() => {
                "a page; something in front of the server wants a login of its own"
            }
            403 | 429 if self.is_html() => {
                "a page; a bot filter or a login in front of the server refuses programs"
            }
            403 => {
                "refused; the proxy does not pass the Host header on, SERVER_URL is another URL, \
                 or a filter is in front"
            }
            404 => "not there; the proxy does not pass this path on",
            413 => "too large for the proxy; nginx needs client_max_body_size 16m",
            502..=504 => {
                "the proxy does not reach the server; is it running, and is LISTEN_ADDR what the \
                 proxy calls?"
            }
            200..=299 if self.is_html() => {
                "a page of something else; the proxy leads this path to another program"
            }
            _ => "not what the server itself answers; something in front of it does",
        }
    }
}

/// Makes a request with curl, for which `more` are further arguments; with a body it is a POST.
///
/// # Errors
/// Why there is no answer, in words.
fn ask(url: &str, more: &[&str], body: &str) -> Result<Answer, String> {
    let mut command = process::program("curl");
    // --globoff and --data-binary: curl interprets nothing of what it sends.
    command.args([
        "--disable",
        "--silent",
        "--show-error",
        "--include",
        "--globoff",
        "--proto",
        "=http,https",
        "--http1.1",
    ]);
    command.args([
        "--connect-timeout",
        "8",
        "--max-time",
        "15",
        "--max-filesize",
        "1000000",
        "--user-agent",
        CLAUDE,
    ]);
    command.args(more).args(["--url", url]);
    if !body.is_empty() {
        command.args(["--data-binary", "@-"]);
    }
    let spawn = SpawnOptions { hold_stdin: false, keep: CHECK_BYTES, kill_group_at_end: true };
    let mut process =
        Process::start(&mut command, body.into(), spawn).map_err(|error| match error.kind() {
            ErrorKind::NotFound => "curl is not installed; this check needs it".to_owned(),
            kind => format!("curl cannot be started: {kind}"),
        })?;
    let ended =
        process.wait_with_output(Deadline::after(CHECK_PATIENCE), CHECK_PATIENCE, &mut |_| true);
    if ended.is_none() {
        process.end(CHECK_PATIENCE);
    }
    let code = ended.and_then(|ended| ended.status.ok()?.code());
    // 55 and 56: the server answered and closed before everything was sent.
    let answer = Answer::read(&process.stdout).filter(|_| matches!(code, Some(0 | 55 | 56)));
    let words = process::plain(&process.stderr, 200);
    let words = words.trim_start_matches("curl: ").trim_end_matches('.');
    answer.ok_or_else(|| match code {
        Some(6) => "DNS does not know its name".into(),
        Some(7) => "nothing listens there, or a firewall refuses: is the proxy running, and is \
                    the port open and forwarded?"
            .into(),
        Some(28) => "no answer within 15 s: a firewall drops the connection, or the proxy waits \
                     for a server that does not answer"
            .into(),
        Some(35 | 51 | 53 | 58..=60 | 77 | 83 | 90 | 91) => {
            format!(
                "TLS does not work: {words}. The certificate must be valid, for this name, and \
                 from a public authority"
            )
        }
        _ => format!("no answer: {words}"),
    })
}

/// The checks so far.
#[derive(Default)]
struct Report {
    /// Each cause with the checks that failed because of it: one line per cause.
    problems: Vec<(String, Vec<String>)>,
}

impl Report {
    /// Records the outcome of a check and prints it at once, because the next one may take a while.
    fn expect(&mut self, what: &str, outcome: Result<(), String>) {
        print(&format!("{:<9}{what}\n", if outcome.is_ok() { "ok" } else { "problem" }));
        let Err(why) = outcome else { return };
        match self.problems.iter_mut().find(|(known, _)| *known == why) {
            Some((_, with)) => with.push(what.to_owned()),
            None => self.problems.push((why, vec![what.to_owned()])),
        }
    }

    /// Prints the problems; gives the exit code.
    fn end(&self) -> u8 {
        print_mistakes(
            self.problems.iter().map(|(why, whats)| format!("{}: {why}", whats.join(", "))),
        )
    }
}

/// Runs the check; gives the exit code.
pub(super) fn check_server(url: &str) -> u8 {
    let mut report = Report::default();
    let Some(origin) = origin(url, &mut report) else { return report.end() };
    let at = |path: &str| format!("{origin}{path}");
    let reached = ask(&at("/healthz"), &[], "");
    let is_reached = reached.is_ok();
    report.expect("the server is reached", reached.map(drop));
    if is_reached {
        ipv4(&origin, &mut report);
        documents(&origin, &mut report);
        challenge(&origin, &mut report);
        endpoints(&origin, &mut report);
    }
    if report.problems.is_empty() {
        return print(&format!("Clients can connect, with the URL {origin}/mcp\n"));
    }
    report.end()
}

/// The origin of a URL; what no client would accept in the URL is reported as a problem.
fn origin(url: &str, report: &mut Report) -> Option<String> {
    let split = url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"));
    let parts = split.map(|(scheme, rest)| (scheme, rest.split_once('/').unwrap_or((rest, ""))));
    let plain = |authority: &str| {
        authority.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte))
    };
    let Some((scheme, (authority, path))) =
        parts.filter(|(_, (authority, _))| !authority.is_empty() && plain(authority))
    else {
        report.expect(
            "the URL",
            Err(format!("{url:?} is no URL like https://vault.example.com/mcp")),
        );
        return None;
    };
    let authority = authority.to_ascii_lowercase();
    let authority = authority.as_str();
    let host = authority
        .rsplit_once(':')
        .filter(|(_, port)| !port.contains(']'))
        .map_or(authority, |(host, _)| host);
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    report.expect(
        "the URL",
        match (scheme, path) {
            ("http", _) if !is_local => Err("it is http; tokens could be intercepted, and Claude \
                                             on the web takes https only"
                .into()),
            _ if !is_local && host != authority && !authority.ends_with(":443") => {
                Err("it has a port; Claude on the web connects to 443 only".into())
            }
            (_, "" | "mcp") => Ok(()),
            (_, "mcp/") => {
                Err("drop the slash at its end: clients compare it character by character".into())
            }
            _ => Err("the endpoint is /mcp right below the host; the server cannot run below \
                      another path"
                .into()),
        },
    );
    Some(without_default_port(&format!("{scheme}://{authority}")).to_owned())
}

/// Claude on the web connects over IPv4.
fn ipv4(origin: &str, report: &mut Report) {
    if origin.contains("[") {
        return;
    }
    let answer = ask(&format!("{origin}/healthz"), &["--ipv4"], "");
    report.expect(
        "IPv4",
        answer.map(drop).map_err(|why| format!("Claude on the web connects over IPv4: {why}")),
    );
}

fn json_of(url: &str) -> Result<Value, String> {
    let answer = ask(url, &[], "")?;
    answer.must(answer.status == 200)?;
    serde_json::from_str(&answer.body)
        .map_err(|_| "it is not JSON; the proxy leads this path to another program".into())
}

/// Checks that a member of a document is a certain text.
fn same(document: &Value, member: &str, wanted: &str) -> Result<(), String> {
    let found =
        document.get(member).map_or(Value::Null, |value| value.get(0).unwrap_or(value).clone());
    if found == wanted {
        return Ok(());
    }
    match (found.as_str().and_then(origin_of), origin_of(wanted)) {
        (Some(other), Some(own)) if other != own => Err(other_url(other, own)),
        _ => Err(format!("its {member} is {found}, not {wanted:?}")),
    }
}

fn origin_of(url: &str) -> Option<&str> {
    let authority = url.find("://")? + 3;
    let end = url.get(authority..)?.find('/').map_or(url.len(), |at| authority + at);
    url.get(..end)
}

fn other_url(found: &str, origin: &str) -> String {
    format!(
        "it names {found}, not {origin}: SERVER_URL must be the URL in use, without a slash at \
         its end"
    )
}

fn documents(origin: &str, report: &mut Report) {
    let endpoint = format!("{origin}/mcp");
    for (path, resource) in [
        ("/.well-known/oauth-protected-resource/mcp", &*endpoint),
        ("/.well-known/oauth-protected-resource", origin),
    ] {
        let checked = json_of(&format!("{origin}{path}")).and_then(|document| {
            same(&document, "resource", resource)
                .and_then(|()| same(&document, "authorization_servers", origin))
        });
        report.expect(path, checked);
    }
    for path in
        ["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp"]
    {
        let checked = json_of(&format!("{origin}{path}")).and_then(|document| {
            same(&document, "issuer", origin)?;
            for endpoint in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
                let path = document
                    .get(endpoint)
                    .and_then(Value::as_str)
                    .and_then(|url| url.strip_prefix(origin));
                if path.and_then(routes::find).is_none() {
                    return Err(format!("its {endpoint} is not a URL of this server"));
                }
            }
            same(&document, "code_challenge_methods_supported", "S256")
        });
        report.expect(path, checked);
    }
    let nowhere = ask(&format!("{origin}/.well-known/openid-configuration"), &[], "");
    report.expect(
        "an unknown document is a 404",
        nowhere.and_then(|answer| answer.must(answer.status == 404)),
    );
}

/// The 401 by which a client finds the documents, for every request without a token.
fn challenge(origin: &str, report: &mut Report) {
    let url = &format!("{origin}/mcp");
    let post = |more: &[&str], body: &str| {
        let headers = [
            "--header",
            "Content-Type: application/json",
            "--header",
            "Accept: application/json, text/event-stream",
        ];
        ask(url, &[&headers[..], more].concat(), body)
    };
    let right = |answer: Answer| {
        if answer.status != 401 {
            return Err(format!("status {}, not 401: {}", answer.status, answer.meaning()));
        }
        let wanted =
            format!("resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\"");
        let challenge = answer.header("www-authenticate");
        let named =
            challenge.split_once("resource_metadata=\"").and_then(|(_, url)| origin_of(url));
        match challenge.starts_with("Bearer ") && challenge.contains(&wanted) {
            true => Ok(()),
            false if named.is_some_and(|named| named != origin) => {
                Err(other_url(named.unwrap_or_default(), origin))
            }
            false => Err(format!(
                "its WWW-Authenticate is {challenge:?}; it must begin with Bearer and have \
                 {wanted}. Does the proxy want a login of its own?"
            )),
        }
    };
    let claude = post(&[], INITIALIZE).and_then(right);
    let is_fine = claude.is_ok();
    report.expect("a call without a token is a 401 that leads to a login", claude);
    if !is_fine {
        let other = post(&["--user-agent", "curl"], INITIALIZE).and_then(right);
        if other.is_ok() {
            let why = "the same call with another user agent than Claude-User is answered \
                       correctly: a bot filter refuses Claude";
            report.expect("Claude is let through", Err(why.into()));
        }
        return;
    }
    report.expect("the same to a GET", ask(url, &[], "").and_then(right));
    let is_refused = |answer: Answer| match answer
        .header("www-authenticate")
        .contains("error=\"invalid_token\"")
    {
        true => Ok(()),
        false if answer.status == 401 => {
            Err("the proxy does not pass the Authorization header on".into())
        }
        false => answer.must(false),
    };
    report.expect(
        "a token is passed on",
        post(&["--header", "Authorization: Bearer none"], INITIALIZE).and_then(is_refused),
    );
    // Clients send no Expect: 100-continue; with it, Caddy closes before curl has read the answer.
    // A proxy that refuses the body may close like that without it; with it, curl reads the refusal
    // before it sends the body.
    let large = post(&["--header", "Expect:"], &" ".repeat(LARGE))
        .or_else(|_| post(&[], &" ".repeat(LARGE)))
        .and_then(right);
    report.expect("a body of 1.5 MB comes through", large);
    let browser = [
        "--header",
        "Origin: https://claude.ai",
        "--header",
        "Access-Control-Request-Method: POST",
    ];
    let preflight = [
        &["--request", "OPTIONS", "--header", "Access-Control-Request-Headers: authorization"][..],
        &browser,
    ]
    .concat();
    let asked = ask(url, &preflight, "");
    report.expect(
        "a browser may ask first (OPTIONS)",
        asked.and_then(|answer| {
            answer.must(
                answer.status / 100 == 2
                    && !answer.header("access-control-allow-origin").is_empty(),
            )
        }),
    );
}

/// The login endpoints, each with a request that it has to refuse with an error of its own.
fn endpoints(origin: &str, report: &mut Report) {
    let refused = |answer: Answer| {
        let has_error = serde_json::from_str::<Value>(&answer.body)
            .is_ok_and(|body| body.get("error").is_some());
        answer.must(has_error && matches!(answer.status, 400 | 401))
    };
    let post = |path: &str, media_type: &str, body: &str| {
        ask(&format!("{origin}{path}"), &["--header", &format!("Content-Type: {media_type}")], body)
            .and_then(refused)
    };
    report.expect("registration is reached", post("/oauth/register", "application/json", "{}"));
    let form = "application/x-www-form-urlencoded";
    report.expect(
        "the token endpoint is reached",
        post("/oauth/token", form, "grant_type=authorization_code"),
    );
    let page = ask(&format!("{origin}/oauth/authorize"), &[], "");
    report.expect(
        "the login page is reached",
        page.and_then(|answer| answer.must(answer.status == 400 && answer.is_html())),
    );
}
