//! What people and models give to tools that is nearly what the tools take: absolute paths,
//! headings in paths, empty strings, tags as text, names of deleted notes.

use crate::stdio::Client;
use crate::support::{Folder, Server};
use serde_json::{Value, json};

fn serve(folder: &Folder) -> Server {
    Server::with(
        &folder.vault(),
        &[
            ("TOOLSETS", "vault,notes"),
            ("STATE_DIR", folder.path().join("state").to_str().unwrap()),
        ],
    )
}

fn text(folder: &Folder, path: &str) -> String {
    String::from_utf8(folder.read(path)).unwrap()
}

/// A client on this machine is shown absolute paths by toolset `context`.
#[test]
fn over_stdio_an_absolute_path_in_the_vault_is_that_file() {
    let folder = Folder::with(&[("a/two.md", b"two")]);
    let mut client = Client::with(&folder, &[("TOOLSETS", "vault,notes")]);
    client.shake_hands();
    let root = folder.vault().canonicalize().unwrap();
    let mut call = |tool: &str, arguments: Value| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
        client.ask(message)["result"].clone()
    };
    let path = |rest: &str| root.join(rest).to_str().unwrap().to_owned();
    let written = call("vault_write", json!({ "path": path("a/two.md"), "content": "over" }));
    assert_eq!(
        (&written["structuredContent"]["path"], text(&folder, "a/two.md").as_str()),
        (&json!("a/two.md"), "over")
    );
    assert_eq!(
        call("vault_list", json!({ "path": path("a") }))["structuredContent"]["total_entries"],
        1
    );
    assert_eq!(
        call("vault_list", json!({ "path": path("") }))["structuredContent"]["total_entries"],
        1
    );
    assert_eq!(
        call("vault_delete", json!({ "paths": [path("two.md")] }))["isError"],
        true,
        "not another note of that name"
    );
    std::os::unix::fs::symlink(&root, folder.path().join("link")).unwrap();
    let through_link = folder.path().join("link/a/two.md");
    assert_eq!(
        call("vault_read", json!({ "path": through_link }))["structuredContent"]["content"],
        "over"
    );
    call("vault_move", json!({ "path": path("a/two.md"), "to": path("b/three.md") }));
    assert_eq!(text(&folder, "b/three.md"), "over");
    assert_eq!(
        call("vault_search", json!({ "query": "over", "path": path("b") }))["structuredContent"]["total_matches"],
        1
    );
}

#[test]
fn a_heading_in_a_path_makes_no_file() {
    let folder = Folder::with(&[("Plan.md", b"## Goals\nx\n"), ("link.md", b"[[Plan#Goals]]\n")]);
    let server = serve(&folder);
    for (tool, arguments) in [
        ("vault_move", json!({ "path": "Plan.md", "to": "Plan.md#Aims" })),
        ("vault_move", json!({ "path": "Plan.md#Goals", "to": "Goals.md" })),
        ("vault_insert", json!({ "path": "Plan#Goals", "text": "x", "create": true })),
        ("vault_insert", json!({ "path": "Plan.md#Goals", "text": "x", "create": true })),
        ("vault_write", json!({ "path": "Plan#Goals", "content": "x" })),
    ] {
        let error = server.fail(tool, arguments.clone());
        assert_eq!(error["code"], "INVALID_ARGUMENT", "{arguments}: {error}");
    }
    // A name may have the character otherwise.
    server.call("vault_write", json!({ "path": "Plan#1.canvas", "content": "{}" }));
    server.call("vault_write", json!({ "path": "b.md", "content": "b" }));
    server.call("vault_move", json!({ "path": "b.md", "to": "#1 priority.md" }));
    server.call("vault_move", json!({ "path": "#1 priority.md", "to": "Plan#2.md" }));
    assert_eq!(text(&folder, "Plan#2.md"), "b");
    server.call("vault_move", json!({ "path": "Plan.md#Goals", "to": "Plan.md#Aims" }));
    assert_eq!(
        (text(&folder, "Plan.md"), text(&folder, "link.md")),
        ("## Aims\nx\n".into(), "[[Plan#Aims]]\n".into())
    );
}

#[test]
fn an_empty_optional_string_counts_as_missing() {
    let folder = Folder::with(&[("a.md", b"kettle\n"), ("Sub/x.md", b"x")]);
    let server = serve(&folder);
    let error = server.fail("vault_list", json!({ "path": "sub" }));
    assert!(error["message"].as_str().unwrap().ends_with("Did you mean: Sub?"), "{error}");
    let found = server.call(
        "vault_search",
        json!({ "query": "kettle", "path": "", "tag": "", "cursor": "", "modified_after": "" }),
    );
    assert_eq!(found["total_matches"], 1);
    server.call("vault_edit", json!({ "path": "a.md", "old_text": "kettle", "new_text": "" }));
    assert_eq!(text(&folder, "a.md"), "\n");
    // A text that may be empty is one.
    server.call("vault_write", json!({ "path": "a.md", "content": "", "if_match": "" }));
    assert_eq!(text(&folder, "a.md"), "");
}

#[test]
fn tags_are_written_as_a_list_of_tags() {
    let folder = Folder::with(&[("a.md", b"a\n"), ("n.md", b"---\ntags: [1984, y1984]\n---\n")]);
    let server = serve(&folder);
    server.call(
        "vault_set_properties",
        json!({ "paths": ["a.md"], "set": { "tags": "home, #work" } }),
    );
    assert_eq!(text(&folder, "a.md"), "---\ntags:\n  - home\n  - work\n---\na\n");
    server.call(
        "vault_set_properties",
        json!({ "paths": ["a.md"], "add_values": { "tags": "x, home" }, "remove_values": { "tags": "#Work" } }),
    );
    assert_eq!(text(&folder, "a.md"), "---\ntags:\n  - home\n  - x\n---\na\n");
    for arguments in [
        json!({ "paths": ["a.md"], "set": { "tags": ["with space"] } }),
        json!({ "paths": ["a.md"], "add_values": { "tags": "1984" } }),
        json!({ "paths": ["a.md"], "add_values": { "tags": [1984] } }),
        json!({ "paths": ["a.md"], "set": { "x": 1 }, "remove": ["X"] }),
        json!({ "paths": ["a.md"], "set": { "tags": ["q"] }, "add_values": { "tags": ["z"] } }),
    ] {
        assert_eq!(
            server.fail("vault_set_properties", arguments.clone())["code"],
            "INVALID_ARGUMENT",
            "{arguments}"
        );
    }
    let folder_of_year = Folder::with(&[("y.md", b"---\ntags: [2026, a]\n---\n")]);
    serve(&folder_of_year).call(
        "vault_set_properties",
        json!({ "paths": ["y.md"], "remove_values": { "tags": ["2026"] } }),
    );
    assert_eq!(text(&folder_of_year, "y.md"), "---\ntags: [a]\n---\n");
    // A tag has a character that is no digit.
    let listed = server.call("vault_list_all", json!({ "path": "" }));
    assert_eq!(
        listed["files"].as_array().unwrap().iter().find(|file| file["path"] == "n.md").unwrap()["tags"],
        json!(["y1984"])
    );
}

/// A client may repeat a call whose answer it did not get.
#[test]
fn a_repeated_delete_takes_no_other_note() {
    let folder =
        Folder::with(&[("N.md", b"1"), ("A/N.md", b"2"), ("B/M.md", b"3"), ("x/B/M.md", b"4")]);
    let server = serve(&folder);
    for path in ["N.md", "B/M.md"] {
        server.call("vault_delete", json!({ "paths": [path] }));
        assert_eq!(
            server.fail("vault_delete", json!({ "paths": [path] }))["code"],
            "FILE_NOT_FOUND"
        );
        assert_eq!(
            server.fail("vault_move", json!({ "path": path, "to": "elsewhere.md" }))["code"],
            "FILE_NOT_FOUND"
        );
        let version =
            server.call("vault_history", json!({ "path": path }))["versions"][0]["version"].clone();
        assert_eq!(
            server.call("vault_restore", json!({ "path": path, "version": version }))["path"],
            path
        );
    }
    assert_eq!((text(&folder, "A/N.md"), text(&folder, "x/B/M.md")), ("2".into(), "4".into()));
}

#[test]
fn a_deleted_note_is_found_by_its_name() {
    let folder = Folder::with(&[("F/Heating.md", b"warm"), ("A/x.md", b"1"), ("B/x.md", b"2")]);
    let server = serve(&folder);
    server.call(
        "vault_edit",
        json!({ "path": "F/Heating.md", "old_text": "warm", "new_text": "hot" }),
    );
    server.call("vault_move", json!({ "path": "F", "to": "G" }));
    server.call("vault_delete", json!({ "paths": ["Heating", "A/x.md", "B/x.md"] }));
    for name in ["Heating", "[[Heating]]", "heating.md", "G/Heating"] {
        let history = server.call("vault_history", json!({ "path": name }));
        assert_eq!(
            (&history["path"], history["versions"].as_array().unwrap().len()),
            (&json!("G/Heating.md"), 2),
            "{name}"
        );
    }
    assert_eq!(
        server.fail("vault_history", json!({ "path": "x" }))["candidates"],
        json!(["A/x.md", "B/x.md"])
    );
    let version =
        server.call("vault_history", json!({ "path": "Heating" }))["versions"][0]["version"]
            .clone();
    server.call("vault_restore", json!({ "path": "Heating", "version": version }));
    assert_eq!(text(&folder, "G/Heating.md"), "hot");
}

/// Two notes of one name: links to it may mean either.
#[test]
fn a_second_note_of_a_name_does_not_take_the_backlinks_away() {
    let folder = Folder::with(&[("a/X.md", b"x"), ("n.md", b"[[X]]\n")]);
    let server = serve(&folder);
    let links = |path: &str| server.call("vault_links", json!({ "path": path }));
    assert_eq!(links("a/X.md")["total"], 1);
    server.call("vault_write", json!({ "path": "b/X.md", "content": "y" }));
    for path in ["a/X.md", "b/X.md"] {
        let found = links(path);
        assert_eq!(
            (&found["total"], &found["links"][0]["candidates"]),
            (&json!(1), &json!(["a/X.md", "b/X.md"])),
            "{found}"
        );
    }
}

#[test]
fn a_file_that_is_too_large_to_be_read_exists() {
    let folder = Folder::with(&[]);
    let server = serve(&folder);
    std::fs::File::create(folder.vault().join("large.md")).unwrap().set_len(11_000_000).unwrap();
    let large = server
        .fail("vault_write", json!({ "path": "large.md", "content": "y", "create_only": true }));
    assert_eq!(large["code"], "ALREADY_EXISTS", "{large}");
}

#[test]
fn a_note_of_many_tasks_with_a_tag_takes_milliseconds() {
    let folder = Folder::with(&[("tasks.md", "- [ ] #t x\n".repeat(60_000).as_bytes())]);
    let server = serve(&folder);
    server.call("vault_search", json!({ "query": "x" }));
    let started = std::time::Instant::now();
    server.call("vault_tasks", json!({ "tag": "t" }));
    assert!(
        !crate::support::thorough() || started.elapsed() < std::time::Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
}

/// A folder in another case is not a note elsewhere that has its name.
#[test]
fn a_folder_in_another_case_is_named_and_no_note_is_taken_for_it() {
    let folder = Folder::with(&[
        ("Recipes/Soup.md", b"- [ ] cook\n"),
        ("Categories/Recipes.md", b"list"),
        ("license/a.md", b"a"),
        ("LICENSE", b"text"),
        ("journal/a.md", b"a"),
        ("Journal.md", b"b"),
    ]);
    let server = serve(&folder);
    for (tool, arguments) in [
        ("vault_delete", json!({ "paths": ["recipes"] })),
        ("vault_move", json!({ "path": "recipes", "to": "Archive/recipes" })),
        ("vault_tasks", json!({ "path": "recipes" })),
        ("vault_links", json!({ "path": "RECIPES" })),
    ] {
        let error = server.fail(tool, arguments);
        assert_eq!(error["code"], "FILE_NOT_FOUND", "{tool}");
        assert!(error["message"].as_str().unwrap().contains("Did you mean: Recipes?"), "{error}");
    }
    assert_eq!(text(&folder, "Categories/Recipes.md"), "list");
    assert_eq!(
        server.fail("vault_search", json!({ "query": "a", "path": "LICense" }))["code"],
        "FILE_NOT_FOUND"
    );
    // A path that exists is meant, and a note at that path.
    for (path, deleted) in [("LICENSE", "LICENSE"), ("Journal", "Journal.md")] {
        assert_eq!(
            server.call("vault_delete", json!({ "paths": [path] }))["deleted"][0]["path"],
            deleted
        );
    }
    let error = server.fail(
        "vault_move",
        json!({ "path": "Categories/Recipes.md", "to": "Categories/Recipes#New" }),
    );
    assert!(error["message"].as_str().unwrap().contains("names a heading"), "{error}");
    assert_eq!(server.call("vault_tasks", json!({ "path": "Recipes" }))["total"], 1);
}

#[test]
fn a_note_beside_a_folder_of_its_name_is_the_file_that_is_meant() {
    let folder = Folder::with(&[
        ("Projects/Apollo.md", b"plan\n"),
        ("Projects/Apollo/log.md", b"x"),
        ("Only/x.md", b"x"),
    ]);
    let server = serve(&folder);
    assert_eq!(
        server.call("vault_read", json!({ "path": "Projects/Apollo" }))["path"],
        "Projects/Apollo.md"
    );
    assert_eq!(
        server.call("vault_insert", json!({ "path": "Projects/Apollo", "text": "more" }))["path"],
        "Projects/Apollo.md"
    );
    for path in ["Projects/Apollo", "Only"] {
        assert_eq!(
            server.fail("vault_write", json!({ "path": path, "content": "x" }))["code"],
            "PATH_NOT_ALLOWED",
            "{path}"
        );
    }
    assert_eq!(server.fail("vault_read", json!({ "path": "Only" }))["code"], "PATH_NOT_ALLOWED");
}

#[test]
fn a_name_without_a_note_is_reported_as_missing_with_what_to_do() {
    let folder = Folder::with(&[("Anna Berger.md", b"x"), ("data.csv", b"a,b")]);
    let server = serve(&folder);
    for (tool, arguments) in [
        ("vault_insert", json!({ "path": "Anna", "text": "x" })),
        ("vault_insert", json!({ "path": "Anna.md", "text": "x" })),
        ("vault_set_properties", json!({ "paths": ["Anna"], "set": { "a": 1 } })),
    ] {
        let error = server.fail(tool, arguments.clone());
        assert_eq!(error["code"], "FILE_NOT_FOUND", "{tool} {arguments}");
        assert_eq!(
            error["message"].as_str().unwrap().contains("set create to true"),
            arguments["path"] == "Anna.md",
            "{error}"
        );
    }
    assert_eq!(
        server.fail("vault_insert", json!({ "path": "data.csv", "text": "x" }))["code"],
        "INVALID_ARGUMENT"
    );
    let written = server.call("vault_write", json!({ "path": "Plan", "content": "x" }));
    assert!(written["warning"].as_str().unwrap().contains(".md"), "{written}");
    assert!(
        server
            .call("vault_write", json!({ "path": "Plan.md", "content": "x" }))
            .get("warning")
            .is_none()
    );
}

#[test]
fn previous_is_the_newest_version() {
    let folder = Folder::with(&[("n.md", b"one")]);
    let server = serve(&folder);
    for (old, new) in [("one", "two"), ("two", "three")] {
        server.call("vault_edit", json!({ "path": "n.md", "old_text": old, "new_text": new }));
    }
    server.call("vault_restore", json!({ "path": "n.md", "version": "previous" }));
    assert_eq!(text(&folder, "n.md"), "two");
    // Of a file that is gone it is no version of another file of its name.
    let folder = Folder::with(&[("P.canvas", b"{}"), ("sub/P.canvas", b"old")]);
    let server = serve(&folder);
    server.call(
        "vault_edit",
        json!({ "path": "sub/P.canvas", "old_text": "old", "new_text": "new" }),
    );
    server.call("vault_delete", json!({ "paths": ["P.canvas"] }));
    server.call("vault_restore", json!({ "path": "P.canvas", "version": "previous" }));
    assert_eq!(
        (text(&folder, "P.canvas"), text(&folder, "sub/P.canvas")),
        ("{}".into(), "new".into())
    );
    // The name of a file that exists is that of this file.
    let folder = Folder::with(&[("C/Only.base", b"old")]);
    let server = serve(&folder);
    server
        .call("vault_edit", json!({ "path": "C/Only.base", "old_text": "old", "new_text": "new" }));
    server.call("vault_restore", json!({ "path": "Only.base", "version": "previous" }));
    assert_eq!(text(&folder, "C/Only.base"), "old");
}

/// A model reads a section, and sends it back with its heading.
#[test]
fn a_section_that_is_replaced_by_itself_stays_as_it_is() {
    for note in [
        "# A\n\n## B\n\ntext\n\nmore\n\n## C\n\nend\n",
        "B\n---\n\ntext\n\n## C\n\nend\n",
        "## B\r\ntext\r\n## C\r\n",
    ] {
        let folder = Folder::with(&[("n.md", note.as_bytes())]);
        let server = serve(&folder);
        let section = server.call("vault_read_notes", json!({ "paths": ["n.md"], "heading": "B" }))
            ["notes"][0]["text"]
            .clone();
        let replace = |text: &str| {
            server.call(
                "vault_insert",
                json!({ "path": "n.md", "heading": "B", "where": "replace", "text": text }),
            );
        };
        replace(section.as_str().unwrap());
        assert_eq!(text(&folder, "n.md").matches("B").count(), 1, "{note:?}");
        assert!(text(&folder, "n.md").contains("text"), "{note:?}");
        replace("## D\n\nother");
        assert!(text(&folder, "n.md").contains("## D"), "another heading is text");
    }
}

/// Kanban and Excalidraw read their data from the end of the file.
#[test]
fn text_is_put_before_the_data_of_a_plugin_at_the_end() {
    let settings = "%% kanban:settings\n```\n{\"kanban-plugin\":\"board\"}\n```\n%%";
    let board =
        format!("## Todo\n\n- [ ] a\n\n\n## Done\n\n**Complete**\n- [x] b\n\n\n{settings}\n");
    let folder = Folder::with(&[
        ("Board.md", board.as_bytes()),
        ("Bases/Projects.base", b"views:\n  - type: table\n    name: All\n"),
        ("Projects/p.md", b"p"),
    ]);
    let server = serve(&folder);
    server.call("vault_insert", json!({ "path": "Board", "heading": "Done", "text": "- [x] new" }));
    server.call(
        "vault_insert",
        json!({ "path": "Board", "heading": "Later", "create": true, "text": "- [ ] later" }),
    );
    server.call("vault_insert", json!({ "path": "Board", "text": "- [ ] last" }));
    let expected =
        board.replace("- [x] b\n", "- [x] b\n- [x] new\n\n## Later\n- [ ] later\n- [ ] last\n");
    assert_eq!(text(&folder, "Board.md"), expected);
    // A section as it is read has the data, too.
    let read =
        server.call("vault_read_notes", json!({ "paths": ["Board"], "heading": "Later" }))["notes"]
            [0]["text"]
            .clone();
    server.call(
        "vault_insert",
        json!({ "path": "Board", "heading": "Later", "where": "replace", "text": read }),
    );
    assert_eq!(text(&folder, "Board.md"), expected);
    server.call(
        "vault_insert",
        json!({ "path": "Board", "heading": "Later", "where": "after", "text": "## Never" }),
    );
    assert!(
        text(&folder, "Board.md").ends_with(&format!("- [ ] last\n## Never\n\n\n{settings}\n")),
        "{}",
        text(&folder, "Board.md")
    );
    // A base by its name, also where a folder has that.
    for base in ["Projects", "Bases/Projects", "Projects.base"] {
        assert_eq!(server.call("vault_query", json!({ "base": base }))["total"], 3, "{base}");
    }
}

/// Phones and word processors type curly apostrophes and dashes; models type those of a keyboard.
#[test]
fn typographic_signs_are_found_by_plain_ones() {
    let folder = Folder::with(&[(
        "n.md",
        "# The Baker’s Daughter\n\nShe doesn’t know — where Anna’s coat went…\n".as_bytes(),
    )]);
    let server = serve(&folder);
    for query in ["\"Anna's coat\"", "doesn't know", "line:(anna's)"] {
        assert_eq!(
            server.call("vault_search", json!({ "query": query }))["total_matches"],
            1,
            "{query}"
        );
    }
    server
        .call("vault_read_notes", json!({ "paths": ["n.md"], "heading": "The Baker's Daughter" }));
    let error = server.fail(
        "vault_edit",
        json!({ "path": "n.md", "old_text": "She doesn't know - where", "new_text": "x" }),
    );
    assert!(error["message"].as_str().unwrap().contains("other quotation marks"), "{error}");
}

/// As macOS and PDFs have them in a text.
#[test]
fn decomposed_properties_values_and_tasks_are_the_same_as_composed_ones() {
    let folder = Folder::with(&[(
        "n.md",
        "---\nfa\u{308}llig: 1\nOrte: [Zu\u{308}rich]\n---\n- [ ] O\u{308}l\n".as_bytes(),
    )]);
    let server = serve(&folder);
    let change =
        json!({ "paths": ["n.md"], "set": { "fällig": 2 }, "add_values": { "Orte": ["Zürich"] } });
    server.call("vault_set_properties", change);
    server.call(
        "vault_set_task",
        json!({ "path": "n.md", "line": 5, "text": "Öl", "status": "done" }),
    );
    assert_eq!(
        text(&folder, "n.md"),
        "---\nfa\u{308}llig: 2\nOrte: [Zu\u{308}rich]\n---\n- [x] O\u{308}l\n"
    );
}

#[test]
fn a_search_may_be_limited_to_one_note() {
    let folder = Folder::with(&[
        ("Novel/Chapter 05.md", b"a blue coat"),
        ("Novel/Chapter 06.md", b"a blue coat"),
    ]);
    let server = serve(&folder);
    for path in ["Novel/Chapter 05.md", "Chapter 05"] {
        let found = server.call("vault_search", json!({ "query": "coat", "path": path }));
        assert_eq!(
            (&found["total_matches"], &found["results"][0]["path"]),
            (&json!(1), &json!("Novel/Chapter 05.md")),
            "{path}"
        );
    }
    assert_eq!(
        server.call("vault_search", json!({ "query": "coat", "path": "Novel" }))["total_matches"],
        2
    );
    assert_eq!(
        server.fail("vault_search", json!({ "query": "coat", "path": "Nowhere" }))["code"],
        "FILE_NOT_FOUND"
    );
}

/// A client may repeat a call; then there is nothing to take back.
#[test]
fn a_write_that_changes_nothing_makes_no_version_and_keeps_the_time() {
    let folder = Folder::with(&[("n.md", b"- [ ] a\n")]);
    let server = serve(&folder);
    let tick = json!({ "path": "n.md", "line": 1, "text": "- [ ] a", "status": "done" });
    assert!(server.call("vault_set_task", tick)["previous"].is_string());
    let time = || std::fs::metadata(folder.vault().join("n.md")).unwrap().modified().unwrap();
    let before = time();
    for (tool, arguments) in [
        (
            "vault_set_task",
            json!({ "path": "n.md", "line": 1, "text": "- [x] a", "status": "done" }),
        ),
        ("vault_write", json!({ "path": "n.md", "content": text(&folder, "n.md") })),
        ("vault_edit", json!({ "path": "n.md", "old_text": "a", "new_text": "a" })),
    ] {
        assert!(server.call(tool, arguments).get("previous").is_none(), "{tool}");
    }
    assert_eq!(time(), before);
    assert_eq!(
        server.call("vault_history", json!({ "path": "n.md" }))["versions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}
