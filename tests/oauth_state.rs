//! What the authorization server keeps, through kill -9, damage, a disk that refuses and a second
//! server.

use crate::support::login::{
    REDIRECT, VERIFIER, authorize_path, code, exchange, log_in, refresh, register, register_with,
    tokens, works,
};
use crate::support::{Folder, ORIGIN, PASSWORD, Server, TOKEN};
use serde_json::json;

/// Kill -9 between any two steps: what was answered is remembered.
#[test]
fn logins_survive_kill_9() {
    let folder = Folder::sample();
    let state = folder.path().join("state");
    // The same password hash each time: another one would end the grants.
    let users = format!("alex:{}", bcrypt::hash(PASSWORD, 4).unwrap());
    let start = |users: &str| {
        Server::with(
            &folder.vault(),
            &[("STATE_DIR", state.to_str().unwrap()), ("AUTH_USERS", users)],
        )
    };
    let server = start(&users);
    let client = register(&server);
    server.kill();
    let server = start(&users);
    let code = code(&server, &client);
    server.kill();
    let server = start(&users);
    let answer = exchange(&server, &client, &code, VERIFIER).json();
    let (access, first) =
        (answer["access_token"].as_str().unwrap(), answer["refresh_token"].as_str().unwrap());
    server.kill();
    let server = start(&users);
    assert!(works(&server, access));
    let second =
        refresh(&server, &client, first).json()["refresh_token"].as_str().unwrap().to_owned();
    server.kill();
    let server = start(&users);
    assert_eq!(
        refresh(&server, &client, first).json()["refresh_token"],
        json!(second),
        "the lost answer is given again"
    );
    server.kill();
    let file = state.join("state.json");
    let text = std::fs::read_to_string(&file).unwrap();
    for secret in [access, first, &second, &code, PASSWORD] {
        assert!(!text.contains(secret), "only hashes are stored");
    }
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let server = start(&users);
    assert!(works(&server, access));
    server.kill();
    let server = start(&format!("alex:{}", bcrypt::hash("another password", 4).unwrap()));
    assert!(!works(&server, access), "another password ends the grants");
    assert_eq!(refresh(&server, &client, &second).json()["error"], "invalid_grant");
}

#[test]
fn a_damaged_state_file_grants_nothing() {
    let folder = Folder::sample();
    let state = folder.path().join("state");
    std::fs::create_dir(&state).unwrap();
    for damage in [
        "",
        "{",
        "{\"version\":1}",
        "\0\0\0",
        "{\"version\":1,\"key\":\"zz\",\"clients\":[],\"grants\":[],\"codes\":[],\"access_tokens\"\
         :[]}",
    ] {
        std::fs::write(state.join("state.json"), damage).unwrap();
        let server = Server::with(&folder.vault(), &[("STATE_DIR", state.to_str().unwrap())]);
        assert!(server.log().contains("state.json is damaged"), "{damage:?}");
        let aside = std::fs::read_dir(&state)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().contains("damaged"));
        let kept: Vec<Vec<u8>> = aside.map(|path| std::fs::read(path).unwrap()).collect();
        assert!(kept.contains(&damage.as_bytes().to_vec()), "each is kept for a look: {damage:?}");
        assert_eq!(refresh(&server, "someone", "x").status, 401);
        assert!(works(&server, TOKEN), "what is configured still works");
        assert_eq!(server.terminate(), 0);
    }
}

/// A disk that refuses: 503, never an error that makes clients throw away what is good; and nothing
/// half done.
#[test]
fn a_state_folder_that_cannot_be_written_is_503() {
    let (folder, state, server) = Server::sample_with_state();
    let client = register(&server);
    let (access, first) = tokens(&server, &client);
    let code = code(&server, &client);
    std::fs::rename(&state, folder.path().join("away")).unwrap();
    for response in [
        refresh(&server, &client, &first),
        exchange(&server, &client, &code, VERIFIER),
        log_in(&server, &authorize_path(&client, &[]), PASSWORD, "write"),
    ] {
        assert_eq!(
            (response.status, response.header("retry-after").is_some()),
            (503, true),
            "{}",
            response.text()
        );
    }
    assert_eq!(
        register_with(&server, &json!({ "redirect_uris": [REDIRECT] })).status,
        201,
        "nothing is stored for it"
    );
    assert!(works(&server, &access), "who is in stays in");
    std::fs::rename(folder.path().join("away"), &state).unwrap();
    assert_eq!(exchange(&server, &client, &code, VERIFIER).status, 200, "the code was not used up");
    assert_eq!(refresh(&server, &client, &first).status, 200);
}

#[test]
fn a_changed_machine_secret_ends_its_tokens() {
    let folder = Folder::sample();
    let state = folder.path().join("state");
    let ask = |server: &Server, secret: &str| {
        server.form(
            "/oauth/token",
            &[
                ("grant_type", "client_credentials"),
                ("client_id", "robot"),
                ("client_secret", secret),
            ],
        )
    };
    let server = Server::with(&folder.vault(), &[("STATE_DIR", state.to_str().unwrap())]);
    let token = ask(&server, "robot secret").json()["access_token"].as_str().unwrap().to_owned();
    assert!(works(&server, &token));
    server.kill();
    let other = format!("robot:{}", vault_sync_mcp::secret::SecretHash::of("another").to_hex());
    let server = Server::with(
        &folder.vault(),
        &[("STATE_DIR", state.to_str().unwrap()), ("CLIENT_CREDENTIALS", &other)],
    );
    assert!(!works(&server, &token));
    assert_eq!((ask(&server, "robot secret").status, ask(&server, "another").status), (401, 200));
}

#[test]
fn two_servers_on_one_state_folder_keep_each_others_logins() {
    let (folder, state, server) = Server::sample_with_state();
    let users = format!("a:{}", bcrypt::hash("x", 4).unwrap());
    let second = std::process::Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"))
        .env_clear()
        .envs([
            ("VAULT_PATH", folder.vault().to_str().unwrap()),
            ("STATE_DIR", state.to_str().unwrap()),
            ("AUTH_USERS", &users),
        ])
        .envs([("SERVER_URL", ORIGIN), ("LISTEN_ADDR", "127.0.0.1:0")])
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&second.stderr).contains("another server is using this folder")
    );
    drop(server);
}

#[test]
fn refused_requests_do_not_write_the_state() {
    use std::os::unix::fs::MetadataExt;
    let (folder, state, server) = Server::sample_with_state();
    let client = register(&server);
    let inode = || std::fs::metadata(state.join("state.json")).unwrap().ino();
    let before = inode();
    assert_eq!(refresh(&server, &client, "bad").status, 400);
    assert_eq!(exchange(&server, &client, "bad", VERIFIER).status, 400);
    assert_eq!(inode(), before);
    std::fs::rename(&state, folder.path().join("away")).unwrap();
    assert_eq!(refresh(&server, &client, "bad").status, 400, "a refusal needs no disk");
}

/// Kill -9 at any instant of a refresh, between the change and its answer too: whoever holds the
/// last token that it has heard of goes on.
#[test]
fn after_kill_9_at_any_moment_a_client_keeps_its_login() {
    use std::io::Write;
    let folder = Folder::sample();
    let state = folder.path().join("state");
    let users = format!("alex:{}", bcrypt::hash(PASSWORD, 4).unwrap());
    let start = || {
        Server::with(
            &folder.vault(),
            &[("STATE_DIR", state.to_str().unwrap()), ("AUTH_USERS", &users)],
        )
    };
    let mut server = start();
    let client = register(&server);
    let (_, mut held) = tokens(&server, &client);
    for round in 0..24 {
        let body = crate::support::encode(&[
            ("grant_type", "refresh_token"),
            ("client_id", &client),
            ("refresh_token", &held),
        ]);
        let connection = server.connect();
        let head = format!(
            "POST /oauth/token HTTP/1.1\r\nHost: vault.example.com\r\nContent-Type: \
             application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        connection.stream().write_all(format!("{head}{body}").as_bytes()).unwrap();
        std::thread::sleep(std::time::Duration::from_micros(round * 400));
        server.kill();
        server = start();
        let answer = refresh(&server, &client, &held);
        assert_eq!(answer.status, 200, "round {round}: {}", answer.text());
        held = answer.json()["refresh_token"].as_str().unwrap().to_owned();
    }
}
