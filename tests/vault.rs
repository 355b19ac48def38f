//! The vault under attack and in bad company: hostile paths, links, odd files, other programs,
//! crashes.

use crate::support::{Folder, Server, eventually};
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

/// Every operation on every path that leads out. Nothing is read, written or shown.
#[test]
fn no_path_leads_out_of_the_vault_or_to_hidden_files() {
    let (folder, server) = Server::sample();
    std::fs::write(folder.path().join("secret.txt"), "outside").unwrap();
    let vault = folder.vault();
    symlink(folder.path(), vault.join("leads out")).unwrap();
    symlink(folder.path().join("secret.txt"), vault.join("leak.md")).unwrap();
    symlink("/nowhere/at/all", vault.join("dangling.md")).unwrap();
    symlink("circle.md", vault.join("circle.md")).unwrap();
    symlink(vault.join(".obsidian"), vault.join("settings")).unwrap();
    symlink("../../../../etc", vault.join("relative")).unwrap();
    let secret = folder.path().join("secret.txt").display().to_string();
    let paths = [
        "../secret.txt",
        "Projects/../../secret.txt",
        "..",
        "/../secret.txt",
        "./../secret.txt",
        "..\\secret.txt",
        "a/\0b.md",
        "a\nb.md",
        ".obsidian/app.json",
        ".trash/old draft.md",
        "Projects/.hidden.md",
        ".git/config",
        "leads out/secret.txt",
        "leak.md",
        "dangling.md",
        "circle.md",
        "settings/app.json",
        "relative/passwd",
        "leads out",
        "%2e%2e/secret.txt/..",
        &secret,
    ];
    for path in paths {
        for (tool, arguments) in [
            ("vault_read", json!({ "path": path })),
            ("vault_list", json!({ "path": path })),
            ("vault_list_all", json!({ "path": path })),
            ("vault_write", json!({ "path": path, "content": "owned" })),
            ("vault_edit", json!({ "path": path, "old_text": "o", "new_text": "owned" })),
            ("vault_search", json!({ "query": "outside", "path": path })),
        ] {
            if tool == "vault_search" && path != ".." || path == secret && tool == "vault_write" {
                continue;
            }
            let error = server.fail(tool, arguments);
            let code = error["code"].as_str().unwrap();
            assert!(
                code == "PATH_NOT_ALLOWED" || code == "FILE_NOT_FOUND",
                "{tool} {path:?}: {error}"
            );
            let message = error["message"].as_str().unwrap();
            assert!(
                path == secret || !message.contains(folder.path().to_str().unwrap()),
                "an absolute path: {message}"
            );
        }
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("secret.txt")).unwrap(), "outside");
    assert_eq!(
        server.call("vault_search", json!({ "query": "outside" }))["results"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|result| result["path"] == "leak.md")
            .count(),
        0
    );
    // An absolute path means the same name below the root.
    server.call("vault_write", json!({ "path": "/etc/passwd", "content": "harmless" }));
    assert_eq!(folder.read("etc/passwd"), b"harmless");
}

/// Wherever it leads, also within the vault: one file would have two paths.
#[test]
fn no_symbolic_link_is_listed_followed_or_changed() {
    let folder = Folder::with(&[("real/note.md", b"inside needle"), ("other.md", b"x")]);
    let vault = folder.vault();
    symlink(vault.join("real"), vault.join("alias")).unwrap();
    symlink("note.md", vault.join("real/same.md")).unwrap();
    let server = Server::on(&vault);
    let paths = || {
        let all = server.call("vault_list_all", json!({}));
        let files = all["files"].as_array().unwrap().iter();
        files.map(|file| file["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(), ["other.md", "real/note.md"]);
    // One that is made meanwhile neither, and it stands for no file that was there before.
    symlink("../other.md", vault.join("real/later.md")).unwrap();
    std::fs::remove_file(vault.join("other.md")).unwrap();
    symlink("real/note.md", vault.join("other.md")).unwrap();
    assert_eq!(paths(), ["real/note.md"]);
    let root = server.call("vault_list", json!({}))["entries"].clone();
    assert_eq!(root.as_array().unwrap().len(), 1, "{root}");
    assert_eq!(root[0]["children"], 1, "{root}");
    for path in ["alias/note.md", "alias/new.md", "real/same.md", "other.md"] {
        for (tool, arguments) in [
            ("vault_read", json!({ "path": path })),
            ("vault_edit", json!({ "path": path, "old_text": "needle", "new_text": "thread" })),
            ("vault_write", json!({ "path": path, "content": "thread" })),
        ] {
            assert_eq!(server.fail(tool, arguments)["code"], "PATH_NOT_ALLOWED", "{tool} {path}");
        }
    }
    assert_eq!(folder.read("real/note.md"), b"inside needle");
    assert!(vault.join("real/same.md").is_symlink() && vault.join("alias").is_symlink());
}

#[test]
fn odd_files_are_handled() {
    let folder = Folder::with(&[
        ("latin1.md", b"caf\xe9 needle"),
        ("nul.md", b"a\0needle"),
        ("big.md", &vec![b'x'; 11 * 1024 * 1024]),
        ("deep/a/b/c/d/e/f/g/h.md", b"needle"),
        ("no ending", b"plain needle"),
        ("q?*|\"<>:.md", b"needle"),
        ("unfinished.md", b"---\ntags: [a"),
        ("tabs.md", b"---\n\ttags:\n---\n"),
    ]);
    let vault = folder.vault();
    assert!(
        std::process::Command::new("mkfifo").arg(vault.join("pipe.md")).status().unwrap().success()
    );
    use std::os::unix::ffi::OsStrExt;
    std::fs::write(vault.join(std::ffi::OsStr::from_bytes(b"not-utf8-\xff.md")), "x").unwrap();
    let server = Server::on(&vault);
    assert_eq!(
        server.call("vault_list_all", json!({}))["total_files"],
        8,
        "the pipe and the unreadable name are not there"
    );
    let latin = server.call("vault_read", json!({ "path": "latin1.md" }));
    assert_eq!(
        (latin["content"].clone(), latin["lossy"].clone()),
        (json!("caf\u{fffd} needle"), json!(true))
    );
    let edit = json!({ "path": "latin1.md", "old_text": "needle", "new_text": "thread" });
    let refused = server.fail("vault_edit", edit);
    assert!(
        refused["code"] == "NOT_TEXT" && refused.to_string().contains("windows-1252"),
        "{refused}"
    );
    assert_eq!(server.fail("vault_read", json!({ "path": "nul.md" }))["code"], "NOT_TEXT");
    assert_eq!(server.fail("vault_read", json!({ "path": "big.md" }))["code"], "TOO_LARGE");
    assert_eq!(server.fail("vault_read", json!({ "path": "pipe.md" }))["code"], "PATH_NOT_ALLOWED");
    assert_eq!(
        server.fail("vault_write", json!({ "path": "pipe.md", "content": "" }))["code"],
        "PATH_NOT_ALLOWED"
    );
    assert_eq!(
        server.call("vault_read", json!({ "path": "no ending" }))["content"],
        "plain needle"
    );
    let found = server.call("vault_search", json!({ "query": "needle" }));
    assert_eq!(
        (found["total_matches"].clone(), found["not_searched"].clone()),
        (json!(4), json!(2)),
        "with the file that has no ending: {found}"
    );
}

/// Models write NFC, macOS wrote NFD: answers have NFC, and the file keeps the name it has.
#[test]
fn a_name_in_another_unicode_form_is_the_same_note() {
    let (folder, server) = Server::sample();
    let (nfc, nfd) =
        ("Recipes/Cr\u{e8}me br\u{fb}l\u{e9}e.md", "Recipes/Cre\u{300}me bru\u{302}le\u{301}e.md");
    assert!(folder.vault().join(nfd).exists() && !folder.vault().join(nfc).exists());
    for path in [nfc, nfd] {
        assert_eq!(server.call("vault_read", json!({ "path": path }))["path"], nfc);
        let written = server.call("vault_write", json!({ "path": path, "content": path }));
        assert_eq!((&written["created"], &written["path"]), (&json!(false), &json!(nfc)));
        assert!(!folder.vault().join(nfc).exists(), "no twin");
        assert_eq!(folder.read(nfd), path.as_bytes());
    }
    server.call("vault_search", json!({ "query": "welcome" }));
    std::fs::write(folder.vault().join(nfd), "changed elsewhere").unwrap();
    let found = server.call("vault_search", json!({ "query": "changed elsewhere" }));
    assert_eq!(found["results"][0]["path"], nfc);
    // Of two names that differ in nothing else, the one in NFC is served.
    std::fs::write(folder.vault().join(nfd), "decomposed").unwrap();
    std::fs::write(folder.vault().join(nfc), "composed").unwrap();
    let found = server.call("vault_search", json!({ "query": "composed" }));
    assert_eq!(found["total_matches"], 1);
    assert_eq!(server.call("vault_read", json!({ "path": nfd }))["content"], "composed");
    let listed = server.call("vault_list", json!({ "path": "Recipes" }))["entries"].to_string();
    assert_eq!(listed.matches("br\u{fb}l").count(), 1, "{listed}");
    assert_eq!(folder.read(nfd), b"decomposed");
}

#[cfg(feature = "notes")]
#[test]
fn a_folder_named_in_another_unicode_form_is_the_same_folder() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    std::fs::create_dir(folder.vault().join("Bu\u{308}ro")).unwrap();
    std::fs::write(
        folder.vault().join("Bu\u{308}ro/Note.md"),
        "---\nkind: letter\n---\n- [ ] task\n[[Welcome]]\n",
    )
    .unwrap();
    let path = "B\u{fc}ro";
    let total = |tool: &str, arguments: Value| server.call(tool, arguments)["total"].clone();
    assert_eq!(total("vault_tasks", json!({ "path": path })), 1);
    assert_eq!(total("vault_query", json!({ "where": "kind == \"letter\"", "path": path })), 1);
    assert_eq!(
        total("vault_links", json!({ "show": "outgoing", "path": format!("{path}/Note.md") })),
        1
    );
    server.call("vault_move", json!({ "path": path, "to": "Office" }));
    assert_eq!(folder.read("Office/Note.md"), b"---\nkind: letter\n---\n- [ ] task\n[[Welcome]]\n");
}

#[test]
fn a_vault_that_is_away_is_unavailable_and_served_again_afterwards() {
    let (folder, server) = Server::sample();
    let files = server.call("vault_list_all", json!({}))["total_files"].clone();
    std::fs::rename(folder.vault(), folder.path().join("unmounted")).unwrap();
    for (tool, arguments) in [
        ("vault_list_all", json!({})),
        ("vault_search", json!({ "query": "x" })),
        ("vault_list", json!({})),
        ("vault_read", json!({ "path": "Welcome.md" })),
        ("vault_write", json!({ "path": "new/x.md", "content": "x" })),
    ] {
        let error = server.fail(tool, arguments);
        assert_eq!(error["code"], "READ_ERROR", "{tool}: {error}");
        assert!(error["message"].as_str().unwrap().contains("not available"), "{error}");
    }
    assert!(!folder.vault().exists(), "nothing was made instead");
    std::fs::rename(folder.path().join("unmounted"), folder.vault()).unwrap();
    assert_eq!(server.call("vault_list_all", json!({}))["total_files"], files);
}

#[test]
fn modes_are_kept_and_read_only_files_respected() {
    let folder = Folder::with(&[("shared.md", b"a"), ("locked.md", b"a")]);
    let mode = |path: &str, mode: u32| {
        std::fs::set_permissions(folder.vault().join(path), std::fs::Permissions::from_mode(mode))
            .unwrap()
    };
    mode("shared.md", 0o664);
    mode("locked.md", 0o444);
    let server = Server::on(&folder.vault());
    server.call("vault_write", json!({ "path": "shared.md", "content": "b" }));
    server.call("vault_edit", json!({ "path": "shared.md", "old_text": "b", "new_text": "c" }));
    assert_eq!(
        std::fs::metadata(folder.vault().join("shared.md")).unwrap().permissions().mode() & 0o777,
        0o664
    );
    assert_eq!(
        server.fail("vault_write", json!({ "path": "locked.md", "content": "b" }))["code"],
        "READ_ONLY"
    );
    assert_eq!(
        server.fail("vault_edit", json!({ "path": "locked.md", "old_text": "a", "new_text": "b" }))
            ["code"],
        "READ_ONLY"
    );
    assert_eq!(folder.read("locked.md"), b"a");
}

/// One malformed note never hides the others, and says so once.
#[test]
fn malformed_notes_cost_one_warning_each() {
    let (_folder, server) = Server::sample();
    for _ in 0..3 {
        server.call("vault_list_all", json!({}));
    }
    server.log_with("outcome=ok");
    assert_eq!(
        server.log().matches("\"Inbox/Broken frontmatter.md\" is ignored").count(),
        1,
        "{}",
        server.log()
    );
    assert!(server.log().matches("WARN").count() < 6, "no storm");
}

/// Ten thousand notes: answers, not timeouts. (Speed has its own benchmarks.)
#[test]
fn ten_thousand_notes_in_one_folder() {
    let folder = Folder::new();
    let many = folder.vault().join("many");
    std::fs::create_dir_all(&many).unwrap();
    for n in 0..10_000 {
        std::fs::write(
            many.join(format!("note {n}.md")),
            format!("---\ntags: [t{}]\n---\n{}unique{n}x", n % 7, "lorem ipsum ".repeat(20)),
        )
        .unwrap();
    }
    let server = Server::on(&folder.vault());
    let started = Instant::now();
    // The first answers may come before all is indexed.
    eventually("it is found", || {
        server.call("vault_search", json!({ "query": "unique7777x" }))["results"][0]["path"]
            == "many/note 7777.md"
    });
    assert_eq!(
        server.call("vault_list_all", json!({ "tag": "t3" }))["total_files"],
        json!((0..10_000).filter(|n| n % 7 == 3).count())
    );
    assert_eq!(
        server.call("vault_list", json!({}))["entries"][0],
        json!({ "name": "many", "type": "folder", "children": 10_000 })
    );
    assert!(!crate::support::thorough() || started.elapsed() < Duration::from_secs(20));
    let _: Value = server.call(
        "vault_edit",
        json!({ "path": "many/note 5.md", "old_text": "unique5x", "new_text": "changed5x" }),
    );
    assert_eq!(server.call("vault_search", json!({ "query": "changed5x" }))["total_matches"], 1);
}

// --- Regressions, each named after what went wrong ----------------------------------------------

#[test]
fn a_pipe_named_like_a_temporary_file_does_not_block_the_start() {
    let folder = Folder::with(&[("a.md", b"x")]);
    let pipe = folder.vault().join(format!(".vault-sync-mcp-{}.tmp", "0".repeat(32)));
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let server = Server::on(&folder.vault());
    assert_eq!(server.call("vault_list_all", json!({}))["total_files"], 1);
}

#[test]
fn an_unreadable_note_or_a_clock_ahead_is_logged_once() {
    let folder = Folder::with(&[("future.md", b"---\ntags: [a\n---\n"), ("a.md", b"x")]);
    let file =
        std::fs::File::options().append(true).open(folder.vault().join("future.md")).unwrap();
    file.set_modified(std::time::SystemTime::now() + Duration::from_secs(30 * 86_400)).unwrap();
    std::fs::set_permissions(folder.vault().join("a.md"), std::fs::Permissions::from_mode(0o000))
        .unwrap();
    let server = Server::on(&folder.vault());
    for _ in 0..50 {
        server.call("vault_list_all", json!({}));
    }
    assert!(server.log().matches("WARN").count() <= 3, "{}", server.log());
}

#[test]
fn a_folder_in_another_unicode_form_is_the_same_folder() {
    let (nfc, nfd) = ("Ordn\u{e9}r", "Ordne\u{301}r");
    let folder = Folder::with(&[(&format!("{nfd}/old.md"), b"needle cr\xc3\xa8me")]);
    let server = Server::on(&folder.vault());
    let written =
        server.call("vault_write", json!({ "path": format!("{nfc}/new.md"), "content": "x" }));
    assert_eq!(written["path"], format!("{nfc}/new.md"));
    assert_eq!(std::fs::read_dir(folder.vault()).unwrap().count(), 1);
    assert_eq!(server.call("vault_list", json!({ "path": nfc }))["total_entries"], 2);
    assert_eq!(server.call("vault_list_all", json!({ "path": nfc }))["total_files"], 2);
    assert_eq!(
        server.call("vault_search", json!({ "query": "needle", "path": nfc }))["total_matches"],
        1
    );
    assert_eq!(server.call("vault_search", json!({ "query": "cre\u{300}me" }))["total_matches"], 1);
    assert_eq!(
        server.call("vault_search", json!({ "query": nfc }))["total_matches"],
        2,
        "and in names"
    );
}

#[test]
fn an_if_match_write_does_not_read_a_huge_file() {
    let folder = Folder::with(&[("huge.md", b"")]);
    std::fs::File::options()
        .write(true)
        .open(folder.vault().join("huge.md"))
        .unwrap()
        .set_len(3 << 30)
        .unwrap();
    let server = Server::on(&folder.vault());
    let started = Instant::now();
    assert_eq!(
        server.fail("vault_write", json!({ "path": "huge.md", "content": "x", "if_match": "abc" }))
            ["code"],
        "TOO_LARGE"
    );
    assert!(!crate::support::thorough() || started.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_search_below_a_missing_folder_is_an_error() {
    let (_folder, server) = Server::sample();
    assert_eq!(
        server.fail("vault_search", json!({ "query": "x", "path": "Nowhere" }))["code"],
        "FILE_NOT_FOUND"
    );
}

#[test]
fn the_query_md_does_not_match_every_name() {
    let folder = Folder::with(&[("one.md", b"x"), ("two.md", b"an md file"), ("md.md", b"x")]);
    let server = Server::on(&folder.vault());
    let found = server.call("vault_search", json!({ "query": "md" }));
    let results: Vec<(&str, &str)> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| (result["path"].as_str().unwrap(), result["match_type"].as_str().unwrap()))
        .collect();
    assert_eq!(results, [("md.md", "filename"), ("two.md", "content")]);
    assert_eq!(server.call("vault_search", json!({ "query": "one.md" }))["total_matches"], 1);
}

#[test]
fn a_thousand_malformed_notes_cost_few_warnings() {
    let names: Vec<String> = (0..1000).map(|n| format!("n{n}.md")).collect();
    let files: Vec<(&str, &[u8])> =
        names.iter().map(|name| (name.as_str(), &b"---\ntags: [a\n---\n"[..])).collect();
    let folder = Folder::with(&files);
    let server = Server::on(&folder.vault());
    assert_eq!(server.call("vault_list_all", json!({}))["total_files"], 1000);
    assert!(server.log().matches("WARN").count() < 30);
}

/// A file without its access control list could be read by its group.
#[test]
fn extended_attributes_and_access_lists_of_a_file_are_kept() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let folder = Folder::with(&[("a.md", b"one")]);
    let on_disk = folder.vault().join("a.md");
    if setxattr(&on_disk, "user.tags", b"mine", XattrFlags::empty()).is_err() {
        return;
    }
    // user::rw-, user:1234:rw-, group::---, mask::rw-, other::--- as the kernel has it.
    let entry = |tag: u16, rights: u16, id: u32| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let none = u32::MAX;
    let entries = [
        entry(1, 6, none),
        entry(2, 6, 1234),
        entry(4, 0, none),
        entry(16, 6, none),
        entry(32, 0, none),
    ]
    .concat();
    let list = [&2u32.to_le_bytes()[..], &entries].concat();
    let has_list =
        setxattr(&on_disk, "system.posix_acl_access", &list, XattrFlags::empty()).is_ok();
    let server = Server::on(&folder.vault());
    server.call("vault_edit", json!({ "path": "a.md", "old_text": "one", "new_text": "two" }));
    let read = |name: &str| {
        let mut value = [0; 256];
        getxattr(&on_disk, name, &mut value).map(|length| value[..length].to_vec())
    };
    assert_eq!(read("user.tags").unwrap(), b"mine");
    if has_list {
        assert_eq!(read("system.posix_acl_access").unwrap(), list);
    }
}
