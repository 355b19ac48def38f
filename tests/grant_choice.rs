//! Choosing the folders of a grant, and what leads out of none.

use crate::grants::{LIMITED, files, put, request, tree};
use crate::support::login::{
    VERIFIER, authorize_path, exchange, log_in, refresh, register, sent_back,
};
use crate::support::{Folder, PASSWORD, Server, TOKEN};
use serde_json::{Value, json};
use std::fs;

/// A value of a hidden field of a page.
fn field(page: &str, name: &str) -> String {
    let rest =
        page.split_once(&format!(r#"name="{name}" value=""#)).unwrap_or_else(|| panic!("{page}")).1;
    rest.split_once('"').unwrap().0.to_owned()
}

#[test]
fn a_person_chooses_folders_after_the_password() {
    let folder = Folder::new();
    put(&folder.vault(), &files(3), |_| true);
    let state = folder.path().join("state");
    let users = format!("alex:{}", bcrypt::hash(PASSWORD, 4).unwrap());
    let settings = [
        ("TOOLSETS", "vault,notes"),
        ("STATE_DIR", state.to_str().unwrap()),
        ("AUTH_USERS", &users),
    ];
    let server = Server::with(&folder.vault(), &settings);
    let client = register(&server);
    let path = authorize_path(&client, &[]);
    let login = server.get(&path).text();
    assert!(
        login.contains("Only some folders") && !login.contains("Projects"),
        "nothing of the vault is named before the login"
    );
    let wrong = log_in(&server, &path, "wrong", "folders");
    assert_eq!(wrong.status, 403);
    assert!(
        wrong.text().contains(r#"value="folders" checked"#) && !wrong.text().contains("Projects"),
        "the choice is kept"
    );
    let page = log_in(&server, &path, PASSWORD, "folders");
    assert_eq!(page.status, 200);
    let page = page.text();
    for name in ["Inbox", "Projects", "Projects/Alpha", "Projects/Beta"] {
        assert!(page.contains(&format!(r#"name="folder:{name}""#)), "{name}: {page}");
    }
    assert!(
        !page.contains("Projects/Beta/deep") && page.len() < 20_000 && !page.contains("<script")
    );
    assert!(page.contains("<summary>2 in it</summary>"), "{page}");
    let proof = field(&page, "login");
    // A folder that is typed has to be one, and something has to be allowed in it.
    for (typed, access) in [
        ("Projects/None", "read"),
        ("Projects/Beta", ""),
        ("../etc", "read"),
        (".obsidian", "read"),
    ] {
        let fields =
            [("login", &*proof), ("decision", "allow"), ("path", typed), ("path_access", access)];
        let again = server.form(&path, &fields);
        assert!(again.status == 200 && again.text().contains("role=\"alert\""), "{typed}");
    }
    let deep = [
        ("login", &*proof),
        ("decision", "allow"),
        ("path", "/Projects/Beta/deep/"),
        ("path_access", "read"),
    ];
    assert!(sent_back(&server.form(&path, &deep)).get("code").is_some());
    // Nothing chosen: the page again. A proof that is not the server's, or for another request, is
    // worth nothing.
    assert_eq!(server.form(&path, &[("login", &proof), ("decision", "allow")]).status, 200);
    let chosen = [
        ("decision", "allow"),
        ("folder:Projects/Alpha", "read"),
        ("folder:Inbox", "change"),
        ("folder:Private", ""),
    ];
    let post =
        |path: &str, proof: &str| server.form(path, &[&[("login", proof)], &chosen[..]].concat());
    for forged in
        [proof.replace('.', ".0"), format!("{proof}x"), "9999999999..alex".into(), String::new()]
    {
        let refused = post(&path, &forged);
        assert!(refused.status == 403 && refused.header("location").is_none(), "{forged}");
        let refused = server.form(&path, &[("login", &forged), ("decision", "allow")]);
        assert!(
            refused.status == 403 && !refused.text().contains("Projects"),
            "{forged}: no folder is named without a login"
        );
    }
    let other = register(&server);
    assert_eq!(post(&authorize_path(&other, &[]), &proof).status, 403, "another client");
    assert_eq!(
        post(&authorize_path(&client, &[("code_challenge", Some(&"x".repeat(43)))]), &proof).status,
        403,
        "another challenge"
    );
    let code = sent_back(&post(&path, &proof)).get("code").unwrap().to_owned();
    let tokens = exchange(&server, &client, &code, VERIFIER).json();
    let (access, renewed) =
        (tokens["access_token"].as_str().unwrap(), tokens["refresh_token"].as_str().unwrap());
    let served = |token: &str| {
        let call = request("tools/call", json!({ "name": "vault_list", "arguments": {} }));
        server.post_with(token, "", &call).json()["result"]["structuredContent"].to_string()
    };
    let expected = served(access);
    assert!(
        expected.contains("Inbox")
            && expected.contains("Projects")
            && !expected.contains("Journal")
            && !expected.contains("Private"),
        "{expected}"
    );
    let again = refresh(&server, &client, renewed).json();
    assert_eq!(served(again["access_token"].as_str().unwrap()), expected, "also after a refresh");
    server.log_with("folders=\"read=Projects/Alpha/:write=Inbox/\"");
    // A restart knows it too, and the owner sees it.
    assert_eq!(server.terminate(), 0);
    let server = Server::with(&folder.vault(), &settings);
    let call = request(
        "tools/call",
        json!({ "name": "vault_read", "arguments": { "path": "Private/image.png" } }),
    );
    let answer = server.post_with(again["access_token"].as_str().unwrap(), "", &call).json();
    assert!(answer.to_string().contains("FILE_NOT_FOUND"), "{answer}");
    let grants = std::process::Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"))
        .args(["grants", "--state-dir"])
        .arg(&state)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&grants.stdout).contains("read=Projects/Alpha/:write=Inbox/"));
    // A program that knows nothing of folders refuses the file rather than give such a login
    // everything.
    assert!(fs::read_to_string(state.join("state.json")).unwrap().contains("\"version\":2"));
}

#[test]
fn a_grant_of_nothing_and_a_pattern_that_is_none_are_configuration_errors() {
    let hash = vault_sync_mcp::secret::SecretHash::of("x").to_hex();
    for (setting, value, says) in [
        ("API_TOKENS", format!("a:{hash}:read="), "folders"),
        ("API_TOKENS", format!("a:{hash}:write=;"), "folders"),
        ("API_TOKENS", format!("a:{hash}:write=../x"), "folders"),
        ("API_TOKENS", format!("a:{hash}:read:read=A/"), "name:sha256"),
        ("CLIENT_CREDENTIALS", format!("a:{hash}:everything"), "name:sha256"),
        ("HIDE", "[a".into(), "pattern"),
    ] {
        let folder = Folder::sample();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"))
            .arg("check")
            .env_clear()
            .envs([
                ("VAULT_PATH", folder.vault().to_str().unwrap()),
                ("SERVER_URL", "http://localhost:8090"),
                (setting, &value),
            ])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(
            output.status.code() == Some(2) && text.contains(setting) && text.contains(says),
            "{value}: {text}"
        );
    }
}

/// A server over these files with one token for a part of them, and another for all.
fn limited(files: &[(&str, &[u8])], grant: &str, hide: &str) -> (Folder, Server) {
    let folder = Folder::with(files);
    let hash = |secret: &str| vault_sync_mcp::secret::SecretHash::of(secret).to_hex();
    let tokens = format!("limited:{}:{grant},all:{}", hash(LIMITED), hash(TOKEN));
    let state = folder.path().join("state");
    let settings = [
        ("TOOLSETS", "vault,notes"),
        ("API_TOKENS", &*tokens),
        ("HIDE", hide),
        ("STATE_DIR", state.to_str().unwrap()),
    ];
    let server = Server::with(&folder.vault(), &settings);
    (folder, server)
}

pub(crate) fn called(server: &Server, tool: &str, arguments: Value) -> Value {
    server
        .post_with(
            LIMITED,
            "",
            &request("tools/call", json!({ "name": tool, "arguments": arguments })),
        )
        .json()["result"]
        .clone()
}

/// No later change takes it for an interrupted one.
#[test]
fn a_refused_change_of_several_files_is_never_made_later() {
    let (folder, server) = limited(
        &[("Work/a.md", b"a\n"), ("Pub/p.md", b"p\n"), ("Work/t.md", b"t\n")],
        "read=Pub/:write=Work/",
        "",
    );
    let refused = called(
        &server,
        "vault_set_properties",
        json!({ "paths": ["Work/a.md", "Pub/p.md"], "set": { "k": "evil" } }),
    );
    assert_eq!(refused["isError"], true);
    called(
        &server,
        "vault_write",
        json!({ "path": "Work/a.md", "content": "---\nk: evil\n---\na\nand more\n" }),
    );
    called(&server, "vault_move", json!({ "path": "Work/t.md", "to": "Work/u.md" }));
    assert_eq!(folder.read("Pub/p.md"), b"p\n");
}

#[test]
fn that_a_login_may_not_change_a_path_is_said_first() {
    let (_folder, server) = limited(&[("Pub/p.md", b"p\n")], "read=Pub/:write=Work/", "");
    for (tool, arguments) in [
        ("vault_write", json!({ "path": "Pub/p.md", "content": "x", "create_only": true })),
        ("vault_write", json!({ "path": "pub/con.md", "content": "x" })),
        ("vault_insert", json!({ "path": "pub/con.md", "text": "x", "create": true })),
    ] {
        let refused = called(&server, tool, arguments.clone());
        assert!(refused.to_string().contains("PATH_NOT_ALLOWED"), "{arguments}: {refused}");
    }
}

#[test]
fn a_link_leads_no_change_out_of_a_grant() {
    let (folder, server) = limited(
        &[("Inbox/i.md", b"i"), ("Private/b.md", b"secret words")],
        "read:write=Inbox/",
        "",
    );
    std::os::unix::fs::symlink("../Private/b.md", folder.vault().join("Inbox/b.md")).unwrap();
    std::os::unix::fs::symlink("../Private", folder.vault().join("Inbox/pd")).unwrap();
    std::os::unix::fs::symlink("../Nowhere", folder.vault().join("Inbox/le")).unwrap();
    let before = tree(&folder.vault().join("Private"));
    for (tool, arguments) in [
        ("vault_write", json!({ "path": "Inbox/b.md", "content": "x" })),
        ("vault_edit", json!({ "path": "Inbox/b.md", "old_text": "secret", "new_text": "x" })),
        ("vault_insert", json!({ "path": "Inbox/pd/b.md", "text": "x" })),
        ("vault_write", json!({ "path": "Inbox/pd/n/new.md", "content": "x" })),
        ("vault_move", json!({ "path": "Inbox/i.md", "to": "Inbox/pd/i.md" })),
    ] {
        assert_eq!(called(&server, tool, arguments.clone())["isError"], true, "{tool} {arguments}");
        assert_eq!(tree(&folder.vault().join("Private")), before, "{tool} {arguments}");
    }
    // Whether there is something behind it is not shown either.
    let answer = |path: &str| called(&server, "vault_read", json!({ "path": path })).to_string();
    assert_eq!(answer("Inbox/pd/b.md"), answer("Inbox/pd/nothing.md").replace("nothing", "b"));
    assert_eq!(answer("Inbox/pd/b.md").replace("pd", "le"), answer("Inbox/le/b.md"));
}

#[test]
fn what_is_hidden_stays_hidden_under_other_names() {
    let files: [(&str, &[u8]); 4] = [
        ("Work/sub/secret.md", b"hidden"),
        ("Work/sub/ok.md", b"ok"),
        ("U\u{308}ber.md", b"hidden"),
        ("Work/other.md", b"x"),
    ];
    let (folder, server) = limited(&files, "write=Work/", "Work/sub/secret.md;Über.md");
    let before = tree(&folder.vault());
    for (tool, arguments) in [
        ("vault_move", json!({ "path": "Work/sub", "to": "Work/sub2" })),
        ("vault_delete", json!({ "paths": ["Work/sub/ok.md", "Work/sub"] })),
    ] {
        for token in [LIMITED, TOKEN] {
            let result = server
                .post_with(
                    token,
                    "",
                    &request("tools/call", json!({ "name": tool, "arguments": arguments })),
                )
                .json();
            assert_eq!(result["result"]["isError"], true, "{tool}: {result}");
            assert_eq!(tree(&folder.vault()), before);
        }
    }
    assert_eq!(
        server.call("vault_list_all", json!({}))["total_files"],
        2,
        "macOS writes names in NFD"
    );
    let folder = Folder::with(&[("Cafe\u{301}/a.md", b"hidden"), ("b.md", b"b")]);
    let server = Server::with(&folder.vault(), &[("HIDE", "Café/")]);
    assert_eq!(server.call("vault_list", json!({}))["total_entries"], 1);
    assert_eq!(server.fail("vault_list", json!({ "path": "Café" }))["code"], "FILE_NOT_FOUND");
}

#[test]
fn a_granted_folder_that_is_missing_can_be_made() {
    let (folder, server) = limited(&[("Projects/x.md", b"x")], "write=Projects/New/;Q/R/", "");
    for path in ["Projects/New/x.md", "Q/R/deep/x.md"] {
        let written = called(&server, "vault_write", json!({ "path": path, "content": "x" }));
        assert_eq!(written["isError"], false, "{written}");
        assert_eq!(folder.read(path), b"x");
    }
}
