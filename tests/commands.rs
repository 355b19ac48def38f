//! The command line: what a person types, reads and gets wrong.

use crate::support::{Connection, Folder, ORIGIN, Server, eventually};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
    command.args(arguments).env_clear().env("TMPDIR", std::env::temp_dir());
    command
}

pub fn run(arguments: &[&str], variables: &[(&str, &str)], input: &str) -> Output {
    let mut child = command(arguments)
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn err(output: &Output) -> String {
    let words = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(!crate::support::has_double_stop(&words), "{words}");
    words
}

#[test]
fn help_and_version() {
    let shown = |words: &[&str]| {
        let output = run(words, &[], "");
        assert!(output.status.success(), "{words:?}");
        out(&output)
    };
    let settings = shown(&["help", "settings"]);
    assert!(settings.contains("--vault-path FOLDER  (VAULT_PATH)"), "{settings}");
    assert!(settings.lines().all(|line| line.chars().count() <= 100), "{settings}");
    // What a person asks for fits a screen.
    for words in [&["--help"][..], &["undo", "--help"], &["help", "serve"], &["stdio", "-h"]] {
        let help = shown(words);
        assert!(help.lines().count() <= 24, "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
    assert!(shown(&["undo", "--help"]).contains("undo --login ID --since TIME [--dry-run]"));
    let version = out(&run(&["--version"], &[], ""));
    assert!(
        version.starts_with(concat!("vault-sync-mcp ", env!("CARGO_PKG_VERSION"), " (vault, ")),
        "{version}"
    );
    for (toolset, is_built_in) in
        [("research", true), ("git", cfg!(feature = "git")), ("agent", cfg!(feature = "agent"))]
    {
        assert_eq!(version.contains(toolset), is_built_in, "{toolset}: {version}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once_and_nothing_starts() {
    let output = run(
        &["--listen-addr", "nowhere", "--colour"],
        &[("VAULT_PATH", "/does/not/exist"), ("AUTH_USERS", "alex:secret-in-the-clear")],
        "",
    );
    assert_eq!(output.status.code(), Some(2));
    let shown = err(&output);
    for word in ["5 mistakes", "--colour", "VAULT_PATH", "LISTEN_ADDR", "SERVER_URL", "AUTH_USERS"]
    {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert!(!shown.contains("secret-in-the-clear"));
    assert_eq!(out(&output), "");
}

#[test]
fn a_value_of_a_flag_that_does_not_exist_is_not_repeated() {
    for arguments in [
        &["--anthropic-api-key", "sk-secret"][..],
        &["--anthropic-api-key=sk-secret"],
        &["--key", "sk-secret"],
        &["--key=sk-secret"],
    ] {
        let output = run(&[&["serve"], arguments].concat(), &[], "");
        assert_eq!(output.status.code(), Some(2));
        let shown = err(&output);
        assert!(shown.contains("is not a flag") && !shown.contains("sk-secret"), "{shown}");
    }
    let shown = err(&run(&["--verbose", "stdio"], &[("VAULT_PATH", "/does/not/exist")], ""));
    assert!(!shown.contains("SERVER_URL"), "the command is one: {shown}");
    assert!(err(&run(&["--read-only", "false"], &[], "")).contains("--read-only=false"));
}

#[test]
fn a_misspelt_setting_is_reported() {
    let folder = Folder::sample();
    let vault = folder.vault();
    let token = "a:0000000000000000000000000000000000000000000000000000000000000000";
    let output = run(
        &["check", "--server-ulr", "x"],
        &[("VAULT_PAHT", vault.to_str().unwrap()), ("api_tokens", token), ("READONLY", "true")],
        "",
    );
    assert_eq!(output.status.code(), Some(2));
    let shown = err(&output);
    for words in [
        "--server-ulr is not a flag, --server-url is;",
        "is required; VAULT_PAHT is set, which is not a setting",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // One that is not required: the server would run without it, and write.
    let good = [
        ("VAULT_PATH", vault.to_str().unwrap()),
        ("SERVER_URL", "http://127.0.0.1:8090"),
        ("API_TOKENS", token),
        ("READONLY", "true"),
    ];
    let output = run(&["check", "--listen-addr", "127.0.0.1:0"], &good, "");
    assert!(
        out(&output)
            .contains("Note: READONLY is set, which is not a setting: did you mean READ_ONLY?"),
        "{}",
        out(&output)
    );
    // Neither are other programs' variables, nor what is set under both names.
    let others = [
        good[0],
        good[1],
        good[2],
        ("READ_ONLY", "false"),
        ("READONLY", "true"),
        ("GIT_DIR", "/"),
        ("WORK", "1"),
        ("HOME", "/"),
    ];
    let output = run(&["check", "--listen-addr", "127.0.0.1:0"], &others, "");
    assert!(output.status.success() && !out(&output).contains("Note"), "{}", out(&output));
}

/// As systemd reads it; what is typed, or in the environment, wins.
#[test]
fn settings_come_from_a_file_too() {
    let folder = Folder::sample();
    let file = folder.path().join("settings.env");
    let hash = bcrypt::hash("a password", 4).unwrap();
    let vault = folder.vault().display().to_string();
    let text = format!(
        "# The server.\nVAULT_PATH=/nowhere\nVAULT_PATH=\"{vault}\"\nSERVER_URL={ORIGIN}\n; who\nAUTH_USERS='alex:{hash}'\n\
         TOOLSETS=vault,research \nPATH=/nowhere\n"
    );
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let state = folder.path().join("state").display().to_string();
    let checked = |variables: &[(&str, &str)], more: &[&str]| {
        let words = [&["check", "--env-file", file, "--state-dir", &state], more].concat();
        run(&words, variables, "")
    };
    let plain = checked(&[], &[]);
    assert!(plain.status.success() && out(&plain).contains("vault, research"), "{}", out(&plain));
    let typed = checked(&[("TOOLSETS", "research")], &[]);
    assert!(out(&typed).contains("research") && !out(&typed).contains("vault, research"));
    let flag = checked(&[("TOOLSETS", "research")], &["--toolsets=vault"]);
    assert!(!out(&flag).contains("research"), "{}", out(&flag));
    let piped = std::fs::read_to_string(file).unwrap();
    let words = ["check", "--env-file", "-", "--state-dir", &state];
    assert!(run(&words, &[], &piped).status.success(), "from a pipe");
    std::fs::write(file, "VALT_PATH=/x\n").unwrap();
    assert!(err(&checked(&[], &[])).contains("VALT_PATH is not a setting; VAULT_PATH is"));
    for (words, why) in [
        (&["check", "--env-file", "/nowhere/x"][..], "/nowhere/x cannot be read"),
        (&["serve", "--env-file"], "needs a file"),
    ] {
        let wrong = run(words, &[], "");
        assert!(wrong.status.code() == Some(2) && err(&wrong).contains(why), "{}", err(&wrong));
    }
}

/// From nothing to a client that works, without a terminal.
#[test]
fn init_writes_the_settings_of_a_server_and_the_lines_of_clients() {
    let folder = Folder::with(&[("a.md", b"x")]);
    let vault = folder.path().join("My $vault");
    std::fs::rename(folder.vault(), &vault).unwrap();
    let (vault, file) = (vault.display().to_string(), folder.path().join("v.env"));
    let file_name = file.display().to_string();
    let init = |arguments: &[&str], input: &str| {
        let arguments = [&["init", "--vault-path", &vault], arguments].concat();
        run(&arguments, &[("USER", "alex"), ("STATE_DIR", "none")], input)
    };
    let server = ["--for", "server", "--file", &file_name, "--user", "alex"];
    let with_url = [&server[..], &["--server-url", "https://vault.example.com"]].concat();
    let made = init(&with_url, "correct horse\n");
    assert!(made.status.success(), "{made:?}");
    for line in ["users           alex", "vault.example.com {", "https://vault.example.com/mcp"] {
        assert!(out(&made).contains(line), "{}", out(&made));
    }
    let unit = std::fs::read_to_string(folder.path().join("v.service")).unwrap();
    assert!(unit.contains("\nUser="), "{unit}");
    assert!(unit.contains(&format!("ReadWritePaths=\"{vault}\"\n")), "{unit}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let checked = run(&["check", "--env-file", &file_name], &[], "");
    assert!(out(&checked).contains(&vault), "{checked:?}");
    // Another one is not written over, but set aside where that is wanted.
    let before = std::fs::read(&file).unwrap();
    let refused = init(&with_url, "");
    assert!(err(&refused).contains("--force"), "{refused:?}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let forced = [&with_url[..], &["--force"]].concat();
    let short = init(&forced, "123456789\n");
    assert!(err(&short).contains("10 characters"), "{short:?}");
    assert!(init(&forced, "another password\n").status.success());
    assert_eq!(std::fs::read(folder.path().join("v.env.old")).unwrap(), before);
    // What nobody can answer is named, and nothing is written.
    let elsewhere = folder.path().join("w.env").display().to_string();
    for (arguments, word) in [
        (vec!["--for", "server", "--file", &elsewhere, "--user", "a"], "--server-url"),
        (vec!["--for", "phone"], "--for"),
        (vec![], "--for"),
        (
            vec![
                "--for",
                "server",
                "--file",
                &elsewhere,
                "--server-url",
                "http://x.com",
                "--user",
                "a",
            ],
            "https",
        ),
    ] {
        let wrong = init(&arguments, "");
        assert_eq!(wrong.status.code(), Some(2), "{arguments:?}");
        assert!(err(&wrong).contains(word), "{arguments:?}: {}", err(&wrong));
    }
    assert!(!std::path::Path::new(&elsewhere).exists());
    // The line starts a server in a shell, and the block has the same words.
    let line = out(&init(&["--for", "code"], ""));
    let command = line.split_once(" -- ").unwrap().1.trim().to_owned();
    let shell = Command::new("sh")
        .args(["-c", &format!("{command} </dev/null")])
        .env("STATE_DIR", "none")
        .output()
        .unwrap();
    assert!(shell.status.success(), "{shell:?}");
    let block = out(&init(&["--for", "desktop"], ""));
    let block: Value = serde_json::from_str(block.split_once("\n\n").unwrap().1).unwrap();
    assert_eq!(block["mcpServers"]["vault"]["args"][2], json!(vault));
    // What was given is not forgotten.
    let line = out(&init(&["--for", "code", "--read-only", "--hide", "Private/"], ""));
    assert!(line.contains("--read-only=true") && line.contains("--hide Private/"), "{line}");
    let wrong = init(&["--for", "code", "--toolsets", "accomplishments"], "");
    assert_eq!(wrong.status.code(), Some(2), "what would not start is not printed");
}

#[test]
fn hash_password_takes_a_line_from_a_pipe() {
    let output = run(&["hash-password"], &[], "correct horse\n");
    let hash = out(&output);
    assert!(hash.starts_with("$2b$12$") && hash.trim().len() == 60, "{hash}");
    assert!(bcrypt::verify("correct horse", hash.trim()).unwrap());
    for (input, word) in [("\n", "empty"), ("", "empty"), (&*"x".repeat(73), "72")] {
        let output = run(&["hash-password"], &[], input);
        assert_eq!((output.status.code(), out(&output)), (Some(2), String::new()));
        assert!(err(&output).contains(word), "{}", err(&output));
    }
}

#[test]
fn generate_token_prints_a_pair_that_belongs_together() {
    let output = out(&run(&["generate-token", "laptop"], &[], ""));
    let value =
        |name: &str| output.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
    let token = value("token: ");
    assert_eq!(
        value("entry: "),
        format!("laptop:{}", vault_sync_mcp::secret::SecretHash::of(&token).to_hex())
    );
    assert_ne!(out(&run(&["generate-token"], &[], "")), output);
    assert_eq!(run(&["generate-token", "two words"], &[], "").status.code(), Some(2));
}

#[test]
fn what_prevents_the_start_is_reported_with_its_remedy() {
    let folder = Folder::sample();
    let vault = folder.vault();
    let token = "a:0000000000000000000000000000000000000000000000000000000000000000";
    let good = [
        ("VAULT_PATH", vault.to_str().unwrap()),
        ("SERVER_URL", "https://vault.example.com"),
        ("API_TOKENS", token),
    ];
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let output =
        run(&["serve", "--listen-addr", &taken.local_addr().unwrap().to_string()], &good, "");
    assert!(
        !output.status.success() && err(&output).contains("another program has the port"),
        "{}",
        err(&output)
    );
    let output = run(&["serve", "--vault-path", "/nowhere/vault"], &good, "");
    assert!(
        !output.status.success()
            && err(&output).contains("is \"/nowhere/vault\", which does not exist"),
        "{}",
        err(&output)
    );
}

#[test]
fn check_reports_what_would_be_served() {
    let folder = Folder::sample();
    let hash = bcrypt::hash("x", 4).unwrap();
    let users = format!("alex:{hash}");
    let vault = folder.vault();
    let good = [
        ("VAULT_PATH", vault.to_str().unwrap()),
        ("SERVER_URL", "https://vault.example.com"),
        ("AUTH_USERS", users.as_str()),
    ];
    let output = run(&["check"], &good, "");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let shown = out(&output);
    assert!(
        shown.contains("56 files")
            && shown.contains("https://vault.example.com/mcp")
            && shown.contains("alex")
            && shown.contains("Nothing is wrong, but see the notes"),
        "{shown}"
    );
    assert!(!shown.contains(&hash));
    assert!(
        shown.contains("Note: LISTEN_ADDR is [::]:8090: plain HTTP on every address"),
        "{shown}"
    );
    let shown = out(&run(&["check", "--listen-addr", "127.0.0.1:0"], &good, ""));
    assert!(shown.contains("Everything is in order.") && !shown.contains("Note:"), "{shown}");
    let wrong =
        run(&["check", "--listen-addr", "127.0.0.1", "--hide", "Private,Secret"], &good, "");
    let shown = out(&wrong);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        shown.contains("listen          see the mistakes")
            && !shown.contains("LISTEN_ADDR is")
            && shown.contains("one pattern with a comma"),
        "{shown}"
    );
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let output =
        run(&["check", "--listen-addr", &taken.local_addr().unwrap().to_string()], &good, "");
    let shown = out(&output);
    assert!(
        shown.contains("Note: LISTEN_ADDR: something is already listening on 127.0.0.1:")
            && !shown.contains("plain HTTP"),
        "{shown}"
    );
    assert!(!shown.contains("in order"), "{shown}");
    let empty = Folder::with(&[]);
    let shown = out(&run(&["check", "--vault-path", empty.vault().to_str().unwrap()], &good, ""));
    assert!(shown.contains("no files") && !shown.contains("in order"), "{shown}");
    for (arguments, settings, words) in [
        (vec!["server"], &good[..], "Did you mean serve?"),
        (vec!["chek"], &good, "Did you mean check?"),
        (vec![], &[("VAULT_DIR", "/x")], "VAULT_DIR is set, which is not a setting"),
        (vec![], &[], "vault-sync-mcp demo"),
        (vec!["check", "--vault-path", "'/x'"], &good, "has quotes around its value"),
        (vec!["check", "--server-url", "http://192.168.1.5:8080"], &good, "tunnel"),
    ] {
        let output = run(&arguments, settings, "");
        assert!(
            output.status.code() == Some(2) && err(&output).contains(words),
            "{arguments:?}: {}",
            err(&output)
        );
    }
    let state = vault.join("state");
    let inside = [good[0], good[1], good[2], ("STATE_DIR", state.to_str().unwrap())];
    let output = run(&["check"], &inside, "");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("inside the vault"));
    assert!(!state.exists());
}

#[test]
#[cfg(feature = "accomplishments")]
fn the_settings_of_toolset_accomplishments_are_checked() {
    let folder = Folder::sample();
    let vault = folder.vault();
    let good = [
        ("VAULT_PATH", vault.to_str().unwrap()),
        ("SERVER_URL", "https://vault.example.com"),
        ("API_TOKENS", &*format!("laptop:{}", "0".repeat(64))),
    ];
    let without = run(
        &["check", "--toolsets", "accomplishments", "--context-docs-folder", "../docs"],
        &good,
        "",
    );
    assert_eq!(without.status.code(), Some(2));
    for words in [
        "ACCOMPLISHMENTS_FOLDER (--accomplishments-folder) is required",
        "DEFAULT_CANVAS (--default-canvas) is required",
        "CONTEXT_DOCS_FOLDER",
    ] {
        assert!(err(&without).contains(words), "{}", err(&without));
    }
    let projects = [
        "check",
        "--toolsets",
        "all",
        "--accomplishments-folder",
        "acc",
        "--default-canvas",
        "notes.md",
    ];
    assert!(err(&run(&projects, &good, "")).contains("must be a file that ends in .canvas"));
}

#[test]
#[cfg(not(feature = "git"))]
fn a_toolset_that_was_not_compiled_is_named() {
    let folder = Folder::sample();
    let output = run(
        &["stdio", "--vault-path", folder.vault().to_str().unwrap(), "--toolsets", "git"],
        &[],
        "",
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("\"git\", which this program was built without"),
        "{}",
        err(&output)
    );
}

/// The demo, and the curl line that it prints, taken apart.
#[test]
fn the_demo_works_as_printed() {
    let refused = run(&["demo", "--listen-addr", "127.0.0.1:0"], &[], "");
    assert_eq!(refused.status.code(), Some(1), "port 0 would print a line that cannot work");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = command(&["demo", "--listen-addr", &format!(":{port}")])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut shown = String::new();
    while !shown.contains("max_results") {
        let mut bytes = [0; 4096];
        let count = stdout.read(&mut bytes).unwrap();
        assert!(count > 0, "{shown}");
        shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    let curl = shown.lines().find(|line| line.starts_with("curl ")).unwrap();
    let quoted: Vec<&str> = curl.split('\'').collect();
    let (token, body) = (quoted[1], quoted[5]);
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n{token}\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer =
        Connection::open(format!("127.0.0.1:{port}").parse().unwrap()).send(request).response();
    assert!(answer.text().contains("**heating controller**"), "{}", answer.text());
    assert!(shown.contains("claude mcp add --transport http vault http"), "{shown}");
    let folder =
        shown.lines().find(|line| line.contains("vault-sync-mcp-demo-")).unwrap().trim().to_owned();
    assert!(std::path::Path::new(&folder).join("Welcome.md").exists());
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
    eventually("the copy is gone", || !std::path::Path::new(&folder).exists());
}

/// What is built in is what is in the repository.
#[test]
fn the_sample_vault_is_the_fixture() {
    let found = crate::support::fixtures("fixtures/vault");
    let mut built_in: Vec<&str> =
        vault_sync_mcp::commands::sample_vault::FILES.iter().map(|(path, _)| *path).collect();
    built_in.sort_unstable();
    assert_eq!(built_in, found);
}

/// `check --server URL`, unless curl is missing, by which it asks.
fn check_server(url: &str) -> Option<Output> {
    if Command::new("curl").arg("--version").output().is_err() {
        crate::support::skipped("curl is missing");
        return None;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    Some(run(&["check", "--server", url], &[("PATH", &path)], ""))
}

#[test]
fn a_server_is_tried_from_outside() {
    let (_folder, server) = Server::sample();
    let url = before(&server, |_| None);
    let Some(output) = check_server(&format!("{url}/mcp")) else { return };
    let shown = out(&output);
    assert!(
        output.status.success() && shown.ends_with(&format!("with the URL {url}/mcp\n")),
        "{shown}{}",
        err(&output)
    );
    assert_eq!(shown.matches("ok  ").count(), 16, "{shown}");
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, shown) in [
        (format!("{url}/mcp/"), "drop the slash"),
        (url.replace("127.0.0.1", "localhost"), "SERVER_URL must be the URL in use"),
        (format!("https://{}", server.address), "TLS does not work"),
        (format!("http://{unused}"), "nothing listens there"),
        ("https://nowhere.invalid/mcp".into(), "DNS does not know its name"),
        ("http://nowhere.invalid/mcp".into(), "it is http"),
        ("vault.example.com".into(), "is no URL like"),
        ("https://user:word@vault.example.com/mcp".into(), "is no URL like"),
    ] {
        let output = check_server(&url).unwrap();
        let is_one_cause =
            shown != "SERVER_URL must be the URL in use" || err(&output).contains("1 mistake:");
        assert!(is_one_cause, "{}", err(&output));
        assert_eq!(output.status.code(), Some(2), "{url}");
        assert!(err(&output).contains(shown), "{url}: {}", err(&output));
    }
}

/// Proxies that are set up as they often are set up wrongly; each word is in the row of the one
/// problem.
#[test]
fn the_usual_mistakes_of_proxies_are_named() {
    let (_folder, server) = Server::sample();
    let page = |status: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: \
             close\r\n\r\n<html>"
        )
    };
    for (what, shown) in [
        ("Claude-User", "a bot filter refuses Claude"),
        ("1500000", "client_max_body_size"),
        ("/.well-known", "does not pass this path on"),
    ] {
        let (page, what) = (
            page(if what == "1500000" {
                "413 Large"
            } else if what == "/.well-known" {
                "404 Nothing"
            } else {
                "403 Forbidden"
            }),
            what.to_owned(),
        );
        let url = before(&server, move |head| {
            let matters = head.starts_with("POST") || what != "Claude-User";
            (head.contains(&what) && matters).then(|| page.clone())
        });
        let Some(output) = check_server(&url) else { return };
        assert_eq!(output.status.code(), Some(2));
        assert!(err(&output).contains(shown), "{shown}: {}{}", out(&output), err(&output));
    }
    let gone = before(&server, |_| {
        Some("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into())
    });
    assert!(err(&check_server(&gone).unwrap()).contains("does not reach the server"));
}

/// A proxy before a server that answers some requests by itself. What the server takes for its own
/// URL is the proxy's.
fn before(server: &Server, own: impl Fn(&str) -> Option<String> + Send + 'static) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (here, behind) = (listener.local_addr().unwrap().to_string(), server.address);
    let there = ORIGIN.trim_start_matches("https://");
    let url = format!("http://{here}");
    let outside = url.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut bytes, mut piece) = (stream.unwrap(), Vec::new(), [0; 65536]);
            let head = loop {
                let count = stream.read(&mut piece).unwrap_or(0);
                bytes.extend_from_slice(&piece[..count]);
                if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                    break String::from_utf8_lossy(&bytes[..end]).into_owned();
                }
                if count == 0 {
                    break String::new();
                }
            };
            if let Some(answer) = own(&head) {
                let _ = stream.write_all(answer.as_bytes());
                continue;
            }
            let mut behind = std::net::TcpStream::connect(behind).unwrap();
            let sent = String::from_utf8_lossy(&bytes).replace(&here, there).replacen(
                "\r\n",
                "\r\nConnection: close\r\n",
                1,
            );
            behind.write_all(sent.as_bytes()).unwrap();
            let mut rest = stream.try_clone().unwrap();
            let mut onwards = behind.try_clone().unwrap();
            std::thread::spawn(move || std::io::copy(&mut rest, &mut onwards));
            let mut answer = Vec::new();
            let _ = behind.read_to_end(&mut answer);
            let answer = String::from_utf8_lossy(&answer).into_owned();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
            let (head, body) = (head.replace(ORIGIN, &outside), body.replace(ORIGIN, &outside));
            let head: String = head
                .lines()
                .filter(|line| !line.starts_with("Content-Length"))
                .map(|line| format!("{line}\r\n"))
                .collect();
            let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    });
    url
}
