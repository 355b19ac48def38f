//! Toolset `notes`: parts of notes read, text inserted, properties set, tasks listed and ticked;
//! and the names of files.

use crate::support::{Folder, Server, thorough};
use serde_json::{Value, json};
use std::io::Write;
use std::time::{Duration, Instant};

fn serve(folder: &Folder) -> Server {
    Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes"), ("TIME_ZONE", "UTC")])
}

fn text(folder: &Folder, path: &str) -> String {
    String::from_utf8(folder.read(path)).unwrap()
}

#[test]
fn several_notes_are_read_within_one_budget() {
    let long = "a line of twenty ch\n".repeat(100);
    let folder = Folder::with(&[
        (
            "a.md",
            b"---\nup: \"[[b]]\"\n---\n# One\ntext ^id\n## Deep\n- [ ] t\n- [x] d\n# Two\n"
                as &[u8],
        ),
        ("b.md", "\u{feff}Sét\r\n===\r\nx\r\n".as_bytes()),
        ("long.md", long.as_bytes()),
        ("broken.md", b"---\na: [\n---\nsee [[a]]\n"),
        ("json.md", b"---\n{\"a\": 1}\n---\n"),
        ("empty.md", b""),
    ]);
    let server = serve(&folder);
    let read = |arguments: Value| server.call("vault_read_notes", arguments);
    let found =
        read(json!({ "paths": ["a.md", "[[b]]", "empty", "none.md", ".obsidian/app.json"] }));
    assert_eq!(found["notes"][0]["text"], text(&folder, "a.md"));
    assert_eq!(found["notes"][1]["text"], text(&folder, "b.md"), "every byte");
    assert_eq!(
        (found["notes"][2]["text"].clone(), found["notes"][2]["total_lines"].clone()),
        (json!(""), json!(0))
    );
    assert_eq!(
        (found["missing"][0]["code"].clone(), found["missing"][1]["code"].clone()),
        (json!("FILE_NOT_FOUND"), json!("PATH_NOT_ALLOWED"))
    );
    let section = read(json!({ "paths": ["a.md", "b.md"], "heading": "One" }));
    assert_eq!(section["notes"][0]["text"], "# One\ntext ^id\n## Deep\n- [ ] t\n- [x] d\n");
    assert_eq!(
        (section["notes"][0]["from_line"].clone(), section["notes"][0]["to_line"].clone()),
        (json!(4), json!(8))
    );
    assert_eq!(section["missing"][0]["code"], "TARGET_NOT_FOUND");
    assert_eq!(
        read(json!({ "paths": ["a.md"], "block": "^ID" }))["notes"][0]["text"],
        "text ^id\n"
    );
    assert_eq!(read(json!({ "paths": ["b.md"], "heading": "sét" }))["notes"][0]["to_line"], 3);
    let outline = read(json!({ "paths": ["a.md"], "view": "outline" }))["notes"][0].clone();
    assert_eq!(
        outline["headings"],
        json!([{ "level": 1, "text": "One", "line": 4 }, { "level": 2, "text": "Deep", "line": 6 }, { "level": 1, "text": "Two", "line": 9 }])
    );
    assert_eq!(
        (outline["tasks"].clone(), outline["blocks"].clone()),
        (json!({ "open": 1, "done": 1 }), json!([{ "id": "id", "line": 5 }]))
    );
    assert_eq!((outline["links_out"].clone(), outline["links_in"].clone()), (json!(1), json!(1)));
    let properties =
        read(json!({ "paths": ["a.md", "b.md", "json.md", "broken.md"], "view": "properties" }));
    let of = |number: usize| properties["notes"][number]["properties"].clone();
    assert_eq!((of(0), of(1), of(2)), (json!({ "up": "[[b]]" }), json!({}), json!({ "a": 1 })));
    assert_eq!(properties["missing"][0]["code"], "PARSE_ERROR");
    // A note that is cut says where it goes on; those behind it come next.
    let cut = read(json!({ "paths": ["a.md", "long.md", "b.md"], "max_chars": 500 }));
    let last = cut["notes"][1].clone();
    assert!(
        last["truncated"] == true && last["text"].as_str().unwrap().chars().count() <= 500,
        "{cut}"
    );
    assert_eq!(
        (cut["next_paths"].clone(), cut["truncated"].clone()),
        (json!(["b.md"]), json!(true))
    );
    let rest = server.call("vault_read", json!({ "path": "long.md", "offset": last["next_line"] }));
    assert_eq!(
        format!("{}{}", last["text"].as_str().unwrap(), rest["content"].as_str().unwrap()),
        long
    );
    for wrong in [
        json!({ "paths": [] }),
        json!({ "paths": ["a.md"], "heading": "One", "block": "id" }),
        json!({ "paths": vec!["a.md"; 51] }),
    ] {
        assert_eq!(server.fail("vault_read_notes", wrong)["code"], "INVALID_ARGUMENT");
    }
}

#[test]
fn text_is_inserted_where_it_was_asked_for_and_every_other_byte_stays() {
    let before = "\u{feff}---\r\na: 1\r\n---\r\n# Log\r\n- one\r\n\r\n## Log\r\n# End\r\nlast";
    let folder = Folder::with(&[("n.md", before.as_bytes()), ("bin.md", b"a\xff\nb\n")]);
    let server = serve(&folder);
    let insert = |arguments: Value| server.call("vault_insert", arguments);
    let put = insert(json!({ "path": "n", "heading": "End", "text": "- two\n- three" }));
    assert_eq!(put["line"], 10);
    assert_eq!(text(&folder, "n.md"), format!("{before}\r\n- two\r\n- three"), "{put}");
    assert_eq!(server.call("vault_read", json!({ "path": "n.md" }))["etag"], put["etag"]);
    insert(json!({ "path": "n.md", "line": 5, "where": "replace", "text": "- 1" }));
    assert!(text(&folder, "n.md").contains("# Log\r\n- 1\r\n\r\n## Log"));
    let fail = |arguments: Value| server.fail("vault_insert", arguments);
    let ambiguous = fail(json!({ "path": "n.md", "heading": "Log", "text": "x" }));
    assert_eq!(ambiguous["code"], "AMBIGUOUS");
    assert_eq!(
        ambiguous["candidates"],
        json!([{ "line": 4, "text": "Log" }, { "line": 7, "text": "Log" }])
    );
    let missing = fail(json!({ "path": "n.md", "heading": "Lgo", "text": "x" }));
    assert_eq!(
        (missing["code"].clone(), missing["candidates"].clone()),
        (
            json!("TARGET_NOT_FOUND"),
            json!([
                { "line": 4, "text": "Log" },
                { "line": 7, "text": "Log" },
                { "line": 8, "text": "End" }
            ])
        )
    );
    for (arguments, code) in [
        (json!({ "path": "n.md", "line": 99, "text": "x" }), "TARGET_NOT_FOUND"),
        (json!({ "path": "n.md", "block": "none", "text": "x" }), "TARGET_NOT_FOUND"),
        (json!({ "path": "n.md", "line": 2, "text": "x" }), "INVALID_ARGUMENT"),
        (json!({ "path": "n.md", "where": "replace", "text": "x" }), "INVALID_ARGUMENT"),
        (json!({ "path": "n.md", "text": " " }), "INVALID_ARGUMENT"),
        (json!({ "path": "n.md", "text": "x", "line": 1, "heading": "End" }), "INVALID_ARGUMENT"),
        (json!({ "path": "n.md", "text": "x", "if_match": "0000000000000000" }), "CONFLICT"),
        (json!({ "path": "bin.md", "text": "x" }), "NOT_TEXT"),
        (json!({ "path": "none.md", "text": "x" }), "FILE_NOT_FOUND"),
        (json!({ "path": "../x.md", "text": "x", "create": true }), "PATH_NOT_ALLOWED"),
        (json!({ "path": "N.md", "text": "x", "create": true }), "INVALID_ARGUMENT"),
        (json!({ "path": "a:b.md", "text": "x", "create": true }), "INVALID_ARGUMENT"),
    ] {
        assert_eq!(fail(arguments.clone())["code"], code, "{arguments}");
    }
    assert_eq!(folder.read("bin.md"), b"a\xff\nb\n");
    let made =
        insert(json!({ "path": "new/x.md", "heading": "Log", "text": "- a", "create": true }));
    assert_eq!(
        (made["created"].clone(), made["line"].clone(), text(&folder, "new/x.md")),
        (json!(true), json!(2), "## Log\n- a\n".into())
    );
}

#[test]
fn a_note_is_made_with_its_ending_and_nothing_else_is_written_into() {
    let nfd = "U\u{308}bungen";
    let folder = Folder::with(&[
        ("Inbox.md", b"- a\n"),
        ("b.canvas", b"{}"),
        (&format!("{nfd}/a.md"), b"# A\n# A\n"),
    ]);
    let server = serve(&folder);
    for (path, made) in [
        ("Inbox", "Inbox.md"),
        ("New", "New.md"),
        ("v1.2 plan", "v1.2 plan.md"),
        ("\u{dc}bungen/Other", "\u{dc}bungen/Other.md"),
    ] {
        let put =
            server.call("vault_insert", json!({ "path": path, "text": "- b", "create": true }));
        assert_eq!(put["path"], made, "{put}");
    }
    assert_eq!(text(&folder, "Inbox.md"), "- a\n- b\n");
    for (tool, arguments) in [
        ("vault_insert", json!({ "path": "b.canvas", "text": "- b" })),
        ("vault_insert", json!({ "path": "c.canvas", "text": "- b", "create": true })),
        ("vault_write", json!({ "path": "Inbox", "content": "x" })),
    ] {
        assert_eq!(server.fail(tool, arguments.clone())["code"], "INVALID_ARGUMENT", "{arguments}");
    }
    server.call("vault_move", json!({ "path": "New.md", "to": "\u{dc}bungen/" }));
    assert!(
        folder.vault().join(nfd).join("New.md").exists()
            && !folder.vault().join("\u{dc}bungen").exists()
    );
    let missing =
        server
            .call("vault_read_notes", json!({ "paths": [format!("{nfd}/a.md")], "heading": "A" }))
            ["missing"][0]
            .clone();
    assert!(missing["message"].as_str().unwrap().contains("candidates: ["), "{missing}");
}

#[test]
fn daily_notes_are_found_and_made_from_their_template() {
    let settings: [(&str, &[u8]); 6] = [
        (".obsidian/daily-notes.json", br#"{ "folder": "Journal", "format": "YYYY/MM/YYYY-MM-DD", "template": "Templates/Day" }"#),
        (".obsidian/templates.json", br#"{ "dateFormat": "DD.MM.YYYY" }"#),
        (".obsidian/plugins/periodic-notes/data.json", br#"{ "weekly": { "enabled": true, "folder": "Weeks", "format": "" } }"#),
        ("Templates/Day.md", b"---\nday: {{date:YYYY-MM-DD}}\n---\n# {{title}} ({{date}})\n<% tp.x %>\n## Log\n"),
        ("Journal/2026/02/2026-02-08.md", b"# Sunday\n"),
        ("Weeks/2026-W06.md", b"# Week\n"),
    ];
    let folder = Folder::with(&settings);
    let server = serve(&folder);
    assert_eq!(
        server.call("vault_read", json!({ "path": "daily:2026-02-08" }))["content"],
        "# Sunday\n"
    );
    assert_eq!(
        server.call("vault_read", json!({ "path": "weekly:2026-02-03" }))["path"],
        "Weeks/2026-W06.md"
    );
    let made = server.call("vault_insert", json!({ "path": "daily:2026-03-04", "heading": "Log", "text": "- [ ] milk", "create": true }));
    assert_eq!(
        (made["path"].clone(), made["created"].clone()),
        (json!("Journal/2026/03/2026-03-04.md"), json!(true))
    );
    assert!(made["warning"].as_str().unwrap().contains("Templater"), "{made}");
    let expected =
        "---\nday: 2026-03-04\n---\n# 2026-03-04 (04.03.2026)\n<% tp.x %>\n## Log\n- [ ] milk\n";
    assert_eq!(text(&folder, "Journal/2026/03/2026-03-04.md"), expected);
    let again = server.call("vault_insert", json!({ "path": "daily:2026-03-04", "heading": "Log", "text": "- [ ] bread", "create": true }));
    assert_eq!((again["created"].clone(), again["line"].clone()), (json!(false), json!(8)));
    for (path, code) in [
        ("daily:today", "FILE_NOT_FOUND"),
        ("daily:someday", "INVALID_ARGUMENT"),
        ("monthly:2026-11", "INVALID_ARGUMENT"),
        ("daily:2026-02-30", "INVALID_ARGUMENT"),
    ] {
        assert_eq!(server.fail("vault_read", json!({ "path": path }))["code"], code, "{path}");
    }
    // Hostile settings choose names and never leave the vault.
    for (settings, code) in [
        (r#"{ "folder": "../../etc", "format": "[passwd]" }"#, "PATH_NOT_ALLOWED"),
        (r#"{ "folder": ".obsidian", "format": "[app]" }"#, "PATH_NOT_ALLOWED"),
        (r#"{ "format": "[../x]" }"#, "PATH_NOT_ALLOWED"),
        (r#"{ "format": "LL" }"#, "INVALID_ARGUMENT"),
        (r#"{ "format": "gggg-[W]ww", "folder": "W" }"#, "W/2026-W10.md"),
        (r#"{ "template": "../../../etc/passwd" }"#, ""),
        (r#"[ "broken" "#, ""),
    ] {
        std::fs::write(folder.vault().join(".obsidian/daily-notes.json"), settings).unwrap();
        let result = server.result(
            "vault_insert",
            json!({ "path": "daily:2026-03-05", "text": "x", "create": true }),
        );
        let result = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(
            result.contains("\"warning\":\"The template of the note does not exist"),
            settings.contains("template"),
            "{result}"
        );
        assert!(
            if code.is_empty() {
                result.contains("\"2026-03-05.md\"")
            } else {
                result.contains(code)
            },
            "{settings}: {result}"
        );
        let _ = std::fs::remove_file(folder.vault().join("2026-03-05.md"));
    }
}

#[cfg(feature = "default")]
#[test]
fn names_mean_the_files_that_obsidian_would_open_in_every_tool() {
    let folder = Folder::with(&[
        ("a/Heating.md", b"# Heating\n"),
        ("b/Same.md", b"b"),
        ("c/Same.md", b"c"),
        ("x.md", b"x"),
        ("img.png", b"\x89PNG"),
        (".obsidian/app.json", br#"{ "newFileLocation": "folder", "newFileFolderPath": "Inbox" }"#),
    ]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes,context")]);
    for name in ["[[Heating]]", "heating", "[[a/heating|shown]]", "Heating.md"] {
        assert_eq!(
            server.call("vault_read", json!({ "path": name }))["path"],
            "a/Heating.md",
            "{name}"
        );
    }
    server.call("vault_edit", json!({ "path": "Heating", "old_text": "#", "new_text": "##" }));
    assert_eq!(
        server.result("fetch_specific_file", json!({ "file_path": "[[Heating]]" }))["isError"],
        false
    );
    let ambiguous = server.fail("vault_read", json!({ "path": "Same" }));
    assert_eq!(
        (ambiguous["code"].clone(), ambiguous["candidates"].clone()),
        (json!("AMBIGUOUS"), json!(["b/Same.md", "c/Same.md"]))
    );
    assert_eq!(
        server.fail("vault_read", json!({ "path": "[[Heating#Part]]" }))["code"],
        "INVALID_ARGUMENT"
    );
    // What may be created is a name only in brackets.
    assert_eq!(
        server.call("vault_write", json!({ "path": "[[Heating]]", "content": "new" }))["path"],
        "a/Heating.md"
    );
    assert_eq!(
        server.call("vault_write", json!({ "path": "Heating", "content": "new" }))["path"],
        "Heating"
    );
    assert_eq!(
        server.call("vault_write", json!({ "path": "[[Fresh]]", "content": "new" }))["path"],
        "Inbox/Fresh.md"
    );
    for (path, code) in [
        ("X.md", "INVALID_ARGUMENT"),
        ("A/y.md", "INVALID_ARGUMENT"),
        ("CON.md", "INVALID_ARGUMENT"),
        ("a./y.md", "INVALID_ARGUMENT"),
        ("y?.md", "INVALID_ARGUMENT"),
    ] {
        assert_eq!(
            server.fail("vault_write", json!({ "path": path, "content": "y" }))["code"],
            code,
            "{path}"
        );
    }
    std::fs::write(folder.vault().join("a/Plan.canvas"), "{}").unwrap();
    let settings = [
        ("TOOLSETS", "accomplishments"),
        ("ACCOMPLISHMENTS_FOLDER", "p"),
        ("DEFAULT_CANVAS", "d.canvas"),
    ];
    let status = Server::with(&folder.vault(), &settings)
        .call("get_project_status", json!({ "canvas_source": "[[Plan.canvas]]" }));
    assert_eq!(status["canvas_source"], "a/Plan.canvas");
    let taken =
        server.fail("vault_write", json!({ "path": "x.md", "content": "y", "create_only": true }));
    assert_eq!(
        (taken["code"].clone(), text(&folder, "x.md")),
        (json!("ALREADY_EXISTS"), "x".into())
    );
    assert_eq!(
        server.call("vault_write", json!({ "path": "z.md", "content": "y", "create_only": true }))
            ["created"],
        true
    );
}

#[test]
fn several_replacements_are_made_or_none() {
    let folder = Folder::with(&[("n.md", b"one\r\ntwo\r\ntwo\r\nthree\r\n")]);
    let server = serve(&folder);
    let edits = |edits: Value| json!({ "path": "n.md", "edits": edits });
    let done = server.call(
        "vault_edit",
        edits(json!([{ "old_text": "one\ntwo", "new_text": "1\n2" }, { "old_text": "two", "new_text": "2", "replace_all": true }])),
    );
    assert_eq!(
        (done["replacements"].clone(), text(&folder, "n.md")),
        (json!(2), "1\r\n2\r\n2\r\nthree\r\n".into())
    );
    let failed = server.fail(
        "vault_edit",
        edits(
            json!([{ "old_text": "1", "new_text": "x" }, { "old_text": "thrice", "new_text": "" }]),
        ),
    );
    assert_eq!(failed["code"], "TEXT_NOT_FOUND");
    assert!(failed["message"].as_str().unwrap().contains("edit 2 of 2"), "{failed}");
    let all = server.call(
        "vault_edit",
        json!({ "path": "n.md", "old_text": "2", "new_text": "b", "replace_all": true }),
    );
    assert_eq!(
        (all["replacements"].clone(), text(&folder, "n.md")),
        (json!(2), "1\r\nb\r\nb\r\nthree\r\n".into())
    );
    for wrong in [
        json!({ "path": "n.md" }),
        json!({ "path": "n.md", "old_text": "1" }),
        json!({ "path": "n.md", "old_text": "1", "new_text": "2", "edits": [{ "old_text": "a", "new_text": "b" }] }),
        json!({ "path": "n.md", "replace_all": true, "edits": [{ "old_text": "b", "new_text": "c" }] }),
    ] {
        assert_eq!(server.fail("vault_edit", wrong)["code"], "INVALID_ARGUMENT");
    }
}

#[test]
fn properties_are_set_in_many_notes_or_in_none() {
    let styles = "---\r\n# mine\r\nstatus: \"open\" # why\r\ntags: [a, 'b']\r\nv: 1.10\r\nref: &x \
                  yes\r\nagain: *x\r\ntext: >\r\n  folded\r\n---\r\nbody";
    let folder = Folder::with(&[
        ("styles.md", styles.as_bytes()),
        ("none.md", b"# Body\n"),
        ("comma.md", b"---\ntags: a, b\nStatus: x\n---\n"),
        ("broken.md", b"---\na: [\n---\n"),
        ("json.md", b"---\n{\"a\": 1}\n---\n"),
        (".obsidian/types.json", br#"{ "types": { "people": "multitext" } }"#),
    ]);
    let server = serve(&folder);
    let set = |arguments: Value| server.call("vault_set_properties", arguments);
    let done = set(
        json!({ "paths": ["styles", "[[none]]", "comma.md"], "set": { "status": "done" }, "add_values": { "tags": ["#c"] } }),
    );
    assert_eq!(done["changed"].as_array().unwrap().len(), 3);
    assert_eq!(
        text(&folder, "styles.md"),
        styles.replace("\"open\"", "\"done\"").replace("[a, 'b']", "[a, 'b', c]")
    );
    assert_eq!(text(&folder, "none.md"), "---\nstatus: done\ntags:\n  - c\n---\n# Body\n");
    assert_eq!(text(&folder, "comma.md"), "---\ntags: a, b, c\nStatus: done\n---\n");
    let again = set(
        json!({ "paths": ["none.md"], "set": { "status": "done" }, "add_values": { "tags": "C" }, "remove": ["gone"] }),
    );
    assert_eq!(again, json!({ "changed": [], "unchanged": ["none.md"] }));
    set(
        json!({ "paths": ["none.md"], "set": { "people": "Ann", "due": "2026-11-30", "n": "5", "link": "[[x]]" }, "remove": ["status"], "remove_values": { "tags": ["c"] } }),
    );
    assert_eq!(
        text(&folder, "none.md"),
        "---\ntags: []\ndue: 2026-11-30\nlink: \"[[x]]\"\nn: \"5\"\npeople:\n  - Ann\n---\n# \
         Body\n"
    );
    let before = (text(&folder, "none.md"), text(&folder, "styles.md"));
    for (arguments, code) in [
        (json!({ "paths": ["none.md", "broken.md"], "set": { "a": 1 } }), "PARSE_ERROR"),
        (json!({ "paths": ["none.md", "json.md"], "set": { "a": 2 } }), "PARSE_ERROR"),
        (json!({ "paths": ["none.md", "gone.md"], "set": { "a": 2 } }), "FILE_NOT_FOUND"),
        (json!({ "paths": ["styles.md"], "set": { "ref": 2 } }), "PARSE_ERROR"),
        (json!({ "paths": ["none.md"] }), "INVALID_ARGUMENT"),
        (json!({ "paths": ["none.md"], "set": { "a\nb": 1 } }), "INVALID_ARGUMENT"),
        (
            json!({ "paths": ["none.md"], "set": { "a": 1 }, "if_match": "0000000000000000" }),
            "CONFLICT",
        ),
        (json!({ "paths": [".obsidian/x.md"], "set": { "a": 1 } }), "PATH_NOT_ALLOWED"),
    ] {
        assert_eq!(
            server.fail("vault_set_properties", arguments.clone())["code"],
            code,
            "{arguments}"
        );
    }
    assert_eq!(before, (text(&folder, "none.md"), text(&folder, "styles.md")), "all or nothing");
}

#[test]
fn tasks_are_listed_by_what_is_asked_for_and_ticked_by_their_text() {
    let folder = Folder::with(&[
        ("a.md", b"---\ntags: [home]\n---\n# Now\n- [ ] milk \xf0\x9f\x93\x85 2026-11-20\n- [x] bread\n## Later\n* [/] paint [due:: 2026-12-01] \xe2\x8f\xab\n> - [-] gone\n" as &[u8]),
        ("b/c.md", b"- [ ] call #work\r\n- [ ] rent \xf0\x9f\x94\x81 every month\r\n```\r\n- [ ] no\r\n```\r\n- [ ] \xc3\xa4nd\r\n"),
    ]);
    let server = serve(&folder);
    let texts = |arguments: Value| {
        let found = server.call("vault_tasks", arguments);
        let rows = found["tasks"].as_array().unwrap().iter();
        rows.map(|task| task["text"].as_str().unwrap().split(' ').next().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (arguments, expected) in [
        (json!({}), "milk bread paint gone call rent \u{e4}nd"),
        (json!({ "status": "todo" }), "milk paint call rent \u{e4}nd"),
        (json!({ "status": "done" }), "bread"),
        (json!({ "status": "/" }), "paint"),
        (json!({ "status": "todo", "path": "b" }), "call rent \u{e4}nd"),
        (json!({ "path": "[[a]]", "status": "todo" }), "milk paint"),
        (json!({ "tag": "#work" }), "call"),
        (json!({ "tag": "home", "status": "todo" }), "milk paint"),
        (json!({ "text": "\u{c4}ND" }), "\u{e4}nd"),
        (json!({ "due_before": "2026-12-01" }), "milk"),
        (json!({ "due_before": "2026-12-02" }), "milk paint"),
    ] {
        assert_eq!(texts(arguments.clone()), expected, "{arguments}");
    }
    let all = server.call("vault_tasks", json!({}));
    let paint = json!({ "path": "a.md", "line": 8, "status": "/", "text": "paint [due:: 2026-12-01] \u{23eb}", "heading": "Later", "due": "2026-12-01", "priority": "high" });
    assert_eq!(
        (all["tasks"][2].clone(), all["tasks"][5]["recurring"].clone()),
        (paint, json!(true))
    );
    let before = text(&folder, "b/c.md");
    let ticked =
        server.call("vault_set_task", json!({ "path": "b/c.md", "line": 1, "text": "call #work" }));
    assert_eq!(
        (ticked["before"].clone(), ticked["after"].clone()),
        (json!("- [ ] call #work"), json!("- [x] call #work"))
    );
    assert_eq!(text(&folder, "b/c.md"), before.replacen("[ ]", "[x]", 1));
    server.call(
        "vault_set_task",
        json!({ "path": "b/c.md", "line": 1, "text": "call #work", "status": "todo" }),
    );
    assert_eq!(text(&folder, "b/c.md"), before);
    for (arguments, code) in [
        (json!({ "path": "b/c.md", "line": 2, "text": "call #work" }), "TARGET_NOT_FOUND"),
        (json!({ "path": "b/c.md", "line": 4, "text": "no" }), "TARGET_NOT_FOUND"),
        (
            json!({ "path": "b/c.md", "line": 1, "text": "call #work", "status": "xx" }),
            "INVALID_ARGUMENT",
        ),
    ] {
        assert_eq!(server.fail("vault_set_task", arguments.clone())["code"], code, "{arguments}");
    }
    for wrong in [json!({ "status": "opened" }), json!({ "due_before": "soon" })] {
        assert_eq!(server.fail("vault_tasks", wrong)["code"], "INVALID_ARGUMENT");
    }
    assert_eq!(server.fail("vault_tasks", json!({ "path": "nowhere" }))["code"], "FILE_NOT_FOUND");
}

#[test]
fn long_lists_of_tasks_come_in_pages() {
    let notes: Vec<(String, String)> =
        (0..30).map(|n| (format!("{n:02}.md"), "- [ ] a task\n".repeat(30))).collect();
    let bytes: Vec<(&str, &[u8])> =
        notes.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let folder = Folder::with(&bytes);
    let server = serve(&folder);
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = server.call("vault_tasks", json!({ "status": "todo", "cursor": cursor }));
        assert_eq!(page["total"], 900);
        seen.extend(
            page["tasks"]
                .as_array()
                .unwrap()
                .iter()
                .map(|task| (task["path"].to_string(), task["line"].as_u64().unwrap())),
        );
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let mut sorted = seen.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!((seen.len(), &seen), (900, &sorted), "each once, in order");
}

/// Sixteen at once into one note, while a person saves: all land, and so does what the person
/// wrote.
#[test]
fn inserts_at_once_all_land() {
    let folder = Folder::with(&[("n.md", b"# Log\n")]);
    let server = serve(&folder);
    let rounds = if thorough() { 20 } else { 4 };
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let server = &server;
            scope.spawn(move || {
                for round in 0..rounds {
                    let text = format!("- {thread} {round}");
                    let insert = || {
                        server.result(
                            "vault_insert",
                            json!({ "path": "n.md", "heading": "Log", "text": text }),
                        )
                    };
                    // A person's save may block it for longer than a call waits.
                    let landed = (0..20).any(|_| insert()["isError"] == false);
                    assert!(landed, "{text}");
                }
            });
        }
        scope.spawn(|| {
            for save in 0..rounds {
                let mut file = std::fs::OpenOptions::new()
                    .append(true)
                    .open(folder.vault().join("n.md"))
                    .unwrap();
                file.write_all(format!("- person {save}\n").as_bytes()).unwrap();
                std::thread::sleep(Duration::from_millis(400));
            }
        });
    });
    let text = text(&folder, "n.md");
    let inserted =
        (0..16).flat_map(|thread| (0..rounds).map(move |round| format!("- {thread} {round}\n")));
    for line in inserted.chain((0..rounds).map(|save| format!("- person {save}\n"))) {
        assert!(text.contains(&line), "{line:?} is lost: {text}");
    }
}

#[test]
fn a_note_that_many_make_at_once_is_made_by_one_and_has_the_text_of_all() {
    let folder = Folder::with(&[]);
    let server = serve(&folder);
    let insert = &|number: usize| {
        let text = format!("- {number}");
        server.call(
            "vault_insert",
            json!({ "path": "daily:2026-03-04", "heading": "Log", "text": text, "create": true }),
        )["created"]
            == true
    };
    let created = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|number| scope.spawn(move || insert(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(|created| *created).count()
    });
    let text = text(&folder, "2026-03-04.md");
    assert_eq!((created, text.lines().count()), (1, 17), "{text}");
    assert!((0..16).all(|number| text.contains(&format!("- {number}\n"))), "{text}");
}

#[test]
fn tags_written_as_text_stay_text_and_nothing_is_added_for_nothing() {
    let folder = Folder::with(&[
        ("a.md", b"---\ntags: coffee recipe\n---\n"),
        ("b.md", b"---\ntags: a, b\n---\n"),
        ("c.md", b"text"),
    ]);
    let server = serve(&folder);
    let add = |path: &str, tags: Value| {
        server.call(
            "vault_set_properties",
            json!({ "paths": [path], "add_values": { "tags": tags } }),
        )
    };
    add("a.md", json!(["new"]));
    add("b.md", json!(["y2026"]));
    assert_eq!(add("c.md", json!([]))["unchanged"], json!(["c.md"]));
    assert_eq!(add("c.md", Value::Null)["unchanged"], json!(["c.md"]));
    assert_eq!(
        (text(&folder, "a.md"), text(&folder, "b.md")),
        ("---\ntags: coffee recipe new\n---\n".into(), "---\ntags: a, b, y2026\n---\n".into())
    );
    server.call(
        "vault_set_properties",
        json!({ "paths": ["a.md"], "remove_values": { "tags": ["#coffee"] } }),
    );
    assert_eq!(
        (text(&folder, "a.md"), text(&folder, "c.md")),
        ("---\ntags: recipe new\n---\n".into(), "text".into())
    );
}

#[test]
fn weeks_are_those_of_the_format() {
    let settings = br#"{ "weekly": { "enabled": true } }"#;
    let folder = Folder::with(&[
        (".obsidian/plugins/periodic-notes/data.json", settings),
        ("2027-W01.md", b"first"),
    ]);
    let server = serve(&folder);
    assert_eq!(server.call("vault_read", json!({ "path": "weekly:2027-W01" }))["content"], "first");
    for wrong in ["weekly:1970-W00", "weekly:2027-W54", "weekly:x-W01"] {
        assert_eq!(
            server.fail("vault_read", json!({ "path": wrong }))["code"],
            "INVALID_ARGUMENT",
            "{wrong}"
        );
    }
}

/// Notes that would make a scanner quadratic take linear time.
#[test]
fn hostile_notes_take_milliseconds_for_each_hundred_kilobytes() {
    let notes: Vec<(&str, String)> = vec![
        ("links.md", "](a)".repeat(60_000)),
        ("headings.md", "# A\n".repeat(60_000)),
        ("blocks.md", "^a\n".repeat(60_000)),
        ("fields.md", format!("- [ ] {}\n", "(due::".repeat(40_000))),
        ("tags.md", "# H\n- [ ] #t x\n".repeat(20_000)),
        ("underlines.md", format!("|\n{}", "=\n".repeat(80_000))),
        ("Template.md", "{{".repeat(100_000)),
        (".obsidian/daily-notes.json", r#"{ "template": "Template" }"#.into()),
    ];
    let files: Vec<(&str, &[u8])> =
        notes.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    let folder = Folder::with(&files);
    let server = serve(&folder);
    server.call("vault_list_all", json!({}));
    let started = Instant::now();
    for path in ["links.md", "headings.md", "blocks.md", "underlines.md"] {
        let outline =
            server.call("vault_read_notes", json!({ "paths": [path], "view": "outline" }));
        assert!(outline.to_string().len() < 100_000, "{path}");
    }
    server.call("vault_read_notes", json!({ "paths": ["headings.md"], "heading": "A > A" }));
    server.call("vault_tasks", json!({ "due_before": "2026-01-01", "tag": "t" }));
    let long = server.call("vault_tasks", json!({ "path": "fields.md" }));
    assert!(long["tasks"][0]["text"].as_str().unwrap().len() <= 2_000);
    server.call(
        "vault_set_task",
        json!({ "path": "fields.md", "line": 1, "text": long["tasks"][0]["text"] }),
    );
    server
        .call("vault_insert", json!({ "path": "daily:2026-03-04", "text": "- x", "create": true }));
    assert!(!thorough() || started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

/// kill -9 at any moment: the note has its old text or the new one, and properties of many notes
/// are all old or all new.
#[test]
fn kill_9_leaves_old_or_new_bytes() {
    let notes: Vec<(String, Vec<u8>)> =
        (0..20).map(|n| (format!("{n}.md"), b"---\ns: 0\n---\nbody\n".to_vec())).collect();
    let files: Vec<(&str, &[u8])> =
        notes.iter().map(|(path, text)| (path.as_str(), text.as_slice())).collect();
    let folder = Folder::with(&files);
    let state = folder.path().join("state").display().to_string();
    let settings = [("TOOLSETS", "vault,notes"), ("STATE_DIR", state.as_str())];
    let paths: Vec<&str> = notes.iter().map(|(path, _)| path.as_str()).collect();
    for round in 1..=if thorough() { 60 } else { 8_u64 } {
        let server = Server::with(&folder.vault(), &settings);
        server.call("vault_list_all", json!({}));
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_set_properties", "arguments": { "paths": paths, "set": { "s": round } } } });
        let body = message.to_string();
        let head = crate::support::mcp_head(crate::support::TOKEN, "");
        let mut connection = server.connect();
        connection.send(format!(
            "{head}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        std::thread::sleep(Duration::from_millis(round * 7 % 40));
        server.kill();
        let server = Server::with(&folder.vault(), &settings);
        server.call("vault_list_all", json!({}));
        let texts: std::collections::BTreeSet<String> =
            paths.iter().map(|path| text(&folder, path)).collect();
        assert_eq!(texts.len(), 1, "round {round}: {texts:?}");
        assert!(texts.iter().all(|text| text.ends_with("\n---\nbody\n")), "{texts:?}");
    }
}
