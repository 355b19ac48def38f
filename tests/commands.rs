//! The command line: what a person types, reads and gets wrong.

use crate::support::{Connection, Folder, eventually};
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
    command.args(arguments).env_clear().env("TMPDIR", std::env::temp_dir());
    command
}

fn run(arguments: &[&str], variables: &[(&str, &str)], input: &str) -> Output {
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

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn help_and_version() {
    let help = run(&["--help"], &[], "");
    assert!(help.status.success() && out(&help).contains("--vault-path FOLDER  (VAULT_PATH)"), "{}", out(&help));
    assert_eq!(out(&run(&["--version"], &[], "")), concat!("vault-sync-mcp ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn all_mistakes_are_told_at_once_and_nothing_starts() {
    let output = run(
        &["--listen-addr", "nowhere", "--colour"],
        &[("VAULT_PATH", "/does/not/exist"), ("AUTH_USERS", "alex:secret-in-the-clear")],
        "",
    );
    assert_eq!(output.status.code(), Some(2));
    let told = err(&output);
    for word in ["5 mistakes", "--colour", "VAULT_PATH", "LISTEN_ADDR", "SERVER_URL", "AUTH_USERS"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert!(!told.contains("secret-in-the-clear"));
    assert_eq!(out(&output), "");
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
    let value = |name: &str| output.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
    let token = value("token: ");
    assert_eq!(value("entry: "), format!("laptop:{}", vault_sync_mcp::secret::SecretHash::of(&token).to_hex()));
    assert_ne!(out(&run(&["generate-token"], &[], "")), output);
    assert_eq!(run(&["generate-token", "two words"], &[], "").status.code(), Some(2));
}

#[test]
fn check_says_what_would_be_served() {
    let folder = Folder::sample();
    let hash = bcrypt::hash("x", 4).unwrap();
    let users = format!("alex:{hash}");
    let vault = folder.vault();
    let good = [("VAULT_PATH", vault.to_str().unwrap()), ("SERVER_URL", "https://vault.example.com"), ("AUTH_USERS", users.as_str())];
    let output = run(&["check"], &good, "");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let told = out(&output);
    assert!(
        told.contains("55 files") && told.contains("https://vault.example.com/mcp") && told.contains("alex") && told.contains("in order"),
        "{told}"
    );
    assert!(!told.contains(&hash));
    let without = run(&["check", "--toolsets", "accomplishments", "--context-docs-folder", "../docs"], &good, "");
    assert_eq!(without.status.code(), Some(2));
    for words in [
        "ACCOMPLISHMENTS_FOLDER (--accomplishments-folder) is required",
        "DEFAULT_CANVAS (--default-canvas) is required",
        "CONTEXT_DOCS_FOLDER",
    ] {
        assert!(err(&without).contains(words), "{}", err(&without));
    }
    let projects = ["check", "--toolsets", "all", "--accomplishments-folder", "acc", "--default-canvas", "notes.md"];
    assert!(err(&run(&projects, &good, "")).contains("must be a file that ends in .canvas"));
    let state = vault.join("state");
    let inside = [good[0], good[1], good[2], ("STATE_DIR", state.to_str().unwrap())];
    let output = run(&["check"], &inside, "");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("inside the vault"));
    assert!(!state.exists());
}

/// The demo, and the curl line that it prints, taken apart.
#[test]
fn the_demo_works_as_printed() {
    let refused = run(&["demo", "--listen-addr", "127.0.0.1:0"], &[], "");
    assert_eq!(refused.status.code(), Some(1), "port 0 would print a line that cannot work");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = command(&["demo", "--listen-addr", &format!(":{port}")]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut told = String::new();
    while !told.contains("claude mcp add --transport http vault http") {
        let mut bytes = [0; 4096];
        let count = stdout.read(&mut bytes).unwrap();
        assert!(count > 0, "{told}");
        told.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    let curl = told.lines().find(|line| line.starts_with("curl ")).unwrap();
    let quoted: Vec<&str> = curl.split('\'').collect();
    let (token, body) = (quoted[1], quoted[5]);
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n{token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = Connection::open(format!("127.0.0.1:{port}").parse().unwrap()).send(request).response();
    assert!(answer.text().contains("**heating controller**"), "{}", answer.text());
    let folder = told.lines().find(|line| line.contains("vault-sync-mcp-demo-")).unwrap().trim().to_owned();
    assert!(std::path::Path::new(&folder).join("Welcome.md").exists());
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    eventually("the copy is gone", || !std::path::Path::new(&folder).exists());
}

/// What is built in is what is in the repository.
#[test]
fn the_sample_vault_is_the_fixture() {
    let found = crate::support::fixtures("fixtures/vault");
    let mut built_in: Vec<&str> = vault_sync_mcp::commands::sample_vault::FILES.iter().map(|(path, _)| *path).collect();
    built_in.sort_unstable();
    assert_eq!(built_in, found);
}
