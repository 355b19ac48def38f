//! What Obsidian documents and people report: conditions on properties, tags, excluded files, task
//! dates, what may not become invalid.

use crate::support::{Folder, Server};
use serde_json::{Value, json};

fn serve(files: &[(&str, &str)]) -> (Folder, Server) {
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    let folder = Folder::with(&files);
    let state = folder.path().join("state").display().to_string();
    let settings = [("TOOLSETS", "vault,notes"), ("TIME_ZONE", "UTC"), ("STATE_DIR", &*state)];
    let server = Server::with(&folder.vault(), &settings);
    (folder, server)
}

fn text(folder: &Folder, path: &str) -> String {
    String::from_utf8(folder.read(path)).unwrap()
}

fn paths(answer: &Value, list: &str) -> Vec<String> {
    let rows = answer[list].as_array().unwrap().iter();
    rows.map(|row| row["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_valid_stays_valid_and_what_is_broken_may_be_mended() {
    let base = "views:\n  - type: table\n    name: All\n";
    let canvas = r#"{"nodes":[{"id":"a","type":"text","text":"say","x":0}],"edges":[]}"#;
    let broken = "---\ntitle: a: b\n---\nQ3 Planning\n";
    let (folder, server) = serve(&[
        ("plan.md", "---\ntitle: Q3 Planning\n---\nQ3 Planning\n"),
        ("broken.md", broken),
        ("plain.md", "Q3 Planning\n"),
        ("all.base", base),
        ("board.canvas", canvas),
    ]);
    let edit = |path: &str, old: &str, new: &str| json!({ "path": path, "edits": [{ "old_text": old, "new_text": new, "replace_all": true }] });
    for (arguments, says) in [
        (edit("plan.md", "Q3 Planning", "Q3: Planning"), "quotes"),
        (edit("plan.md", "title:", "\ttitle:"), "tab"),
        (edit("plan.md", "title: Q3 Planning", "title: *bold*"), "quotes"),
        (edit("plan.md", "title: Q3 Planning", "see: [[A]], [[B]]"), "link"),
        (edit("plan.md", "Planning\n---\n", "Planning\n"), "closing line"),
        (edit("all.base", "views:", "views: x"), "not valid YAML"),
        (edit("board.canvas", "say", "say \"no\""), "JSON"),
    ] {
        let before = text(&folder, arguments["path"].as_str().unwrap());
        let error = server.fail("vault_edit", arguments.clone());
        assert_eq!(error["code"], "PARSE_ERROR", "{arguments}: {error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{says}: {error}");
        assert_eq!(text(&folder, arguments["path"].as_str().unwrap()), before);
    }
    let whole = json!({ "path": "plan.md", "content": "---\na: b: c\n---\n" });
    assert_eq!(server.fail("vault_write", whole)["code"], "PARSE_ERROR");
    let end = json!({ "path": "plan.md", "text": "more: text", "where": "end" });
    server.call("vault_insert", end);
    // Broken before and after; a note without properties; a new note, whose author is warned.
    server.call("vault_edit", edit("broken.md", "Q3 Planning", "Q4"));
    server.call("vault_edit", edit("plain.md", "Q3", "Q3:"));
    server.call("vault_edit", edit("broken.md", "a: b", "\"a: b\""));
    let new = json!({ "path": "new.md", "content": "---\na: b: c\n---\n" });
    let warning = server.call("vault_write", new)["warning"].clone();
    assert!(warning.as_str().unwrap().contains("line 2 has a value with a colon"), "{warning}");
    for path in ["a.png", "b.pdf", "c.mp3"] {
        let error = server.fail("vault_write", json!({ "path": path, "content": "text" }));
        assert_eq!(error["code"], "INVALID_ARGUMENT", "{path}");
        assert!(!folder.vault().join(path).exists());
    }
}

#[test]
fn properties_are_compared_as_numbers_dates_and_durations() {
    let note = |properties: &str| format!("---\n{properties}\n---\nzebra\n");
    let notes = [
        ("a.md", note("count: 41\nstatus: In progress\ndue: 2026-02-02\nduration: 3")),
        ("b.md", note("count: 40\nstatus: invited\ndue: 2026-02-01\nduration: 10 min")),
        ("c.md", note("count: many\nstatus: done\ndue:\nduration: 1h")),
    ];
    let files: Vec<(&str, &str)> = notes.iter().map(|(path, text)| (*path, &**text)).collect();
    let (_folder, server) = serve(&files);
    for (query, expected, said) in [
        ("[count:>40]", &["a.md"][..], Some("1 note has a count that is no number")),
        ("[\"count\":>=40]", &["a.md", "b.md"], Some("1 note")),
        ("[duration:<5]", &["a.md"], Some("2 notes have a duration that is no number")),
        ("[duration:<30 min]", &["b.md"], Some("1 note")),
        ("[due:>2026-02-01]", &["a.md"], None),
        ("zebra [due:<=2026-02-01]", &["b.md"], None),
        ("[status:/^in/i]", &["a.md", "b.md"], None),
        ("[status:/^[di]/]", &["b.md", "c.md"], None),
        ("[due:null]", &["c.md"], None),
        ("[status:>much]", &[], Some("as it is")),
    ] {
        let found = server.call("vault_search", json!({ "query": query }));
        let mut results = paths(&found, "results");
        results.sort();
        assert_eq!(results, expected, "{query}");
        match said {
            Some(said) => {
                assert!(found["not_compared"][0].as_str().unwrap().contains(said), "{found}")
            }
            None => assert_eq!(found["not_compared"], Value::Null, "{query}"),
        }
    }
    for (query, expected) in [("[status] content:/zeb/", 3), ("[status] path:/a/", 1)] {
        let found = server.call("vault_search", json!({ "query": query }));
        assert_eq!(found["total_matches"], expected, "{query}: {found}");
    }
    let error = server.fail("vault_search", json!({ "query": "[status:/(/]" }));
    assert!(error["message"].as_str().unwrap().contains("regular expression"), "{error}");
}

#[test]
fn a_word_finds_itself_first_and_its_other_spellings_as_partial_hits() {
    let (_folder, server) = serve(&[
        ("plain.md", "Frau Muller ruft an"),
        ("marks.md", "Frau Müller ruft an"),
        ("two.md", "Frau Mueller ruft an"),
        ("cafe.md", "im café"),
    ]);
    for (query, first, others) in [
        ("muller", "plain.md", &["marks.md"][..]),
        ("Müller", "marks.md", &["plain.md", "two.md"]),
        ("mueller", "two.md", &["marks.md"]),
    ] {
        let found = server.call("vault_search", json!({ "query": query }));
        let mut results = paths(&found, "results");
        assert_eq!(results.remove(0), first, "{query}");
        results.sort();
        assert_eq!(results, others, "{query}");
        assert_eq!((&found["total_matches"], &found["did_you_mean"]), (&json!(1), &Value::Null));
    }
    let found = server.call("vault_search", json!({ "query": "cafe" }));
    assert_eq!(paths(&found, "results"), ["cafe.md"], "there is no exact one");
}

#[test]
fn tags_in_bases_are_equal_with_and_without_a_sign_and_in_any_case() {
    let (_folder, server) = serve(&[
        ("a.md", "---\ntags: [Home/heat, c]\n---\n"),
        ("b.md", "#home/heat text\n"),
        ("c.md", "#other text\n"),
    ]);
    for (condition, expected) in [
        ("file.tags.contains(\"#home/heat\")", &["a.md", "b.md"][..]),
        ("file.tags.containsAny(\"#C\", \"x\")", &["a.md"]),
        ("file.tags[0] == \"#home/heat\"", &["a.md", "b.md"]),
        ("file.tags.filter(value.startsWith(\"#hom\")).length > 0", &["a.md", "b.md"]),
        ("file.tags.filter(value.contains(\"HEAT\")).length > 0", &["a.md", "b.md"]),
        ("tags.contains(\"#home/heat\")", &["a.md"]),
        ("file.tags.join(\",\") == \"other\"", &["c.md"]),
        ("!file.tags.contains(\"home\")", &["a.md", "b.md", "c.md"]),
    ] {
        let found = server.call("vault_query", json!({ "where": condition }));
        assert_eq!(paths(&found, "rows"), expected, "{condition}");
    }
}

#[test]
fn files_that_the_owner_excluded_are_counted_and_shown_by_path_alone() {
    let (_folder, server) = serve(&[
        (".obsidian/app.json", r#"{"userIgnoreFilters":["Archive/","/\\.draft\\.md$/"]}"#),
        (".obsidian/templates.json", r#"{"folder":"Templates"}"#),
        ("Archive/old.md", "zebra\n- [ ] old\n"),
        ("x.draft.md", "zebra\n- [ ] draft\n"),
        ("Templates/day.md", "zebra\n- [ ] template\n"),
        ("new.md", "zebra\n- [ ] new\n"),
    ]);
    let found = server.call("vault_search", json!({ "query": "zebra" }));
    let mut results = paths(&found, "results");
    results.sort();
    assert_eq!(results, ["Templates/day.md", "new.md"]);
    assert_eq!((&found["total_matches"], &found["excluded"]), (&json!(2), &json!(2)));
    for arguments in
        [json!({ "query": "zebra path:Archive" }), json!({ "query": "zebra", "path": "Archive" })]
    {
        let found = server.call("vault_search", arguments);
        assert_eq!(paths(&found, "results"), ["Archive/old.md"]);
        assert_eq!(found["excluded"], Value::Null);
    }
    let found = server.call("vault_search", json!({ "query": "zebra -path:Templates" }));
    assert_eq!((paths(&found, "results"), &found["excluded"]), (vec!["new.md".into()], &json!(2)));
    let tasks = server.call("vault_tasks", json!({}));
    assert_eq!(paths(&tasks, "tasks"), ["new.md"]);
    assert_eq!((&tasks["total"], &tasks["excluded"]), (&json!(1), &json!(3)));
    let tasks = server.call("vault_tasks", json!({ "path": "Templates" }));
    assert_eq!(paths(&tasks, "tasks"), ["Templates/day.md"]);
}

#[test]
fn a_path_in_a_query_holds_for_every_result() {
    let (_folder, server) = serve(&[
        ("Obsidian/zebra.md", "one\n"),
        ("Obsidian/horse.md", "horse\n"),
        ("else/zebra horse.md", "zebra horse Obsidian\n"),
    ]);
    for (query, expected) in [
        ("zebra path:Obsidian", &["Obsidian/zebra.md"][..]),
        ("zebra horse path:Obsidian", &["Obsidian/horse.md", "Obsidian/zebra.md"]),
        ("horse file:zebra", &["else/zebra horse.md"]),
    ] {
        let found = server.call("vault_search", json!({ "query": query, "snippets": "passages" }));
        let mut results = paths(&found, "results");
        results.sort();
        assert_eq!(results, expected, "{query}");
    }
}

#[test]
fn dates_of_tasks_come_and_go_as_the_plugin_writes_them() {
    let settings = r#"{"globalFilter":"","setDoneDate":true,"setCancelledDate":false,
        "statusSettings":{"coreStatuses":[{"symbol":"x","type":"DONE"}],
        "customStatuses":[{"symbol":"!","type":"TODO"},{"symbol":"d","type":"DONE"},{"symbol":"n","type":"NON_TASK"}]}}"#;
    let (folder, server) = serve(&[
        (".obsidian/plugins/obsidian-tasks-plugin/data.json", settings),
        (
            "t.md",
            "- [ ] open 📅 2026-01-01 ^id\n- [x] done ✅ 2025-12-31\n- [d] custom\n- [n] none\n- [ ] later 📅 2026-03-01\n- [!] urgent ➕ 2026-01-02\n",
        ),
    ]);
    let set = |line: usize, text: &str, status: &str| {
        let arguments = json!({ "path": "t.md", "line": line, "text": text, "status": status });
        server.call("vault_set_task", arguments)["after"].as_str().unwrap().to_owned()
    };
    let done = set(1, "open 📅 2026-01-01 ^id", "done");
    assert!(done.starts_with("- [x] open 📅 2026-01-01 ✅ 20") && done.ends_with(" ^id"), "{done}");
    assert_eq!(set(1, &done[6..], "todo"), "- [ ] open 📅 2026-01-01 ^id");
    assert_eq!(set(2, "done ✅ 2025-12-31", "X"), "- [X] done ✅ 2025-12-31", "it was done before");
    assert_eq!(set(2, "done ✅ 2025-12-31", "-"), "- [-] done", "and is not any more");
    assert_eq!(set(2, "done", "todo"), "- [ ] done");
    assert_eq!(set(2, "done", "-"), "- [-] done", "the settings want no date");
    let lines = |arguments: Value| {
        let found = server.call("vault_tasks", arguments);
        let lines = found["tasks"].as_array().unwrap().iter();
        lines.map(|task| task["line"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(lines(json!({ "status": "open" })), [1, 5, 6]);
    assert_eq!(lines(json!({ "status": "done" })), [3]);
    assert_eq!(lines(json!({ "due_before": "2026-02-01" })), [1]);
    assert_eq!(lines(json!({ "due_before": "+7d" })), [1, 5]);
    assert_eq!(lines(json!({ "sort": "due", "limit": 3 })), [1, 5, 2]);
    assert_eq!(text(&folder, "t.md").lines().count(), 6);
    // Without the plugin only the box changes, and reopening takes the date away.
    let (_folder, server) = serve(&[("t.md", "- [ ] a\n- [x] b [completion:: 2026-01-01]\n")]);
    let set = |line: usize, text: &str, status: &str| {
        let arguments = json!({ "path": "t.md", "line": line, "text": text, "status": status });
        server.call("vault_set_task", arguments)["after"].clone()
    };
    assert_eq!(set(1, "a", "done"), "- [x] a");
    assert_eq!(set(2, "b [completion:: 2026-01-01]", "todo"), "- [ ] b");
}

#[test]
fn a_block_id_on_a_list_item_means_the_item_with_its_children() {
    let (folder, server) =
        serve(&[("n.md", "- a ^x\n  - child\n- b\n"), ("log.md", "# Log\n<!-- below -->\n")]);
    let read = server.call("vault_read_notes", json!({ "paths": ["n.md"], "block": "x" }));
    assert_eq!(read["notes"][0]["text"], "- a ^x\n  - child\n");
    let replace =
        json!({ "path": "n.md", "block": "x", "where": "replace", "text": "- new\n  - other" });
    server.call("vault_insert", replace);
    assert_eq!(text(&folder, "n.md"), "- new ^x\n  - other\n- b\n");
    server.call("vault_insert", json!({ "path": "log.md", "heading": "Log", "text": "- entry" }));
    assert_eq!(text(&folder, "log.md"), "# Log\n<!-- below -->\n- entry\n");
}

#[test]
fn a_move_says_its_totals_and_asks_which_of_two_things_is_meant() {
    let links = "[[Old]] ".repeat(3);
    let mut files = vec![("Old.md", ""), ("n.md", &*links)];
    let names: Vec<String> = (0..30).map(|number| format!("d/{number}.md")).collect();
    files.extend(names.iter().map(|name| (&**name, "")));
    let (folder, server) = serve(&files);
    let error = server.fail("vault_move", json!({ "path": "Old.md", "to": "Archive" }));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("Archive/") && message.contains("Archive.md"), "{error}");
    let moved = server.call("vault_move", json!({ "path": "d", "to": "e" }));
    assert_eq!((moved["moved"].as_array().unwrap().len(), &moved["moved_total"]), (20, &json!(30)));
    assert_eq!(moved["left_alone_total"], 0);
    server.call("vault_move", json!({ "path": "Old.md", "to": "Archive/" }));
    assert!(folder.vault().join("Archive/Old.md").exists());
}

#[test]
fn all_lines_that_match_are_shown_with_their_numbers() {
    let long = format!("- [ ] a quote {}\n", "x".repeat(80)).repeat(400);
    let (_folder, server) = serve(&[
        ("Books/a.md", "# A\r\n> first quote\r\nmore\r\n> Quotes differ\r\n"),
        ("Books/b.md", "---\nkind: quote\n---\nA *quote* of two words.\nquote again\n"),
        ("Books/quote.md", "Nothing of the kind.\n"),
        ("Long/long.md", &long),
    ]);
    let lines = |query: &str, path: &str| {
        let arguments = json!({ "query": query, "path": path, "snippets": "lines" });
        let found = server.call("vault_search", arguments);
        let mut rows: Vec<(String, u64, String)> = Vec::new();
        for result in found["results"].as_array().unwrap() {
            for line in result["lines"].as_array().into_iter().flatten() {
                rows.push((
                    result["path"].as_str().unwrap().into(),
                    line["line"].as_u64().unwrap(),
                    line["text"].as_str().unwrap().into(),
                ));
            }
        }
        rows.sort();
        rows
    };
    let row = |path: &str, line: u64, text: &str| (path.to_owned(), line, text.to_owned());
    assert_eq!(
        lines("quote", "Books"),
        [
            row("Books/a.md", 2, "> first quote"),
            row("Books/a.md", 4, "> Quotes differ"),
            row("Books/b.md", 2, "kind: quote"),
            row("Books/b.md", 4, "A *quote* of two words."),
            row("Books/b.md", 5, "quote again"),
        ]
    );
    assert_eq!(lines("/^> /", "Books").len(), 2);
    assert_eq!(lines("line:(quote again)", "Books"), [row("Books/b.md", 5, "quote again")]);
    assert_eq!(lines("\"two words\" -first", "Books").len(), 1);
    // What does not fit is counted.
    let arguments = json!({ "query": "quote", "path": "Long", "snippets": "lines" });
    let found = server.call("vault_search", arguments);
    let result = &found["results"][0];
    assert_eq!(result["lines_total"], 400, "{result}");
    assert!(result["lines"].as_array().unwrap().len() < 200);
    assert!(found.to_string().len() < 21_000);
}

#[test]
fn a_text_is_replaced_in_several_notes_or_in_none() {
    let files =
        [("a.md", "Acme, Acme\r\n"), ("b.md", "- Acme\n"), ("c.md", "other\n"), ("d.md", "none\n")];
    let (folder, server) = serve(&files);
    let edit = |paths: &[&str], dry_run: bool| {
        json!({ "paths": paths, "old_text": "Acme", "new_text": "Ajax", "replace_all": true,
                "dry_run": dry_run })
    };
    let would = server.call("vault_edit", edit(&["a.md", "[[b]]"], true));
    assert_eq!((&would["replacements"], &would["dry_run"]), (&json!(3), &json!(true)), "{would}");
    assert_eq!(would["replaced"], false);
    let error = server.fail("vault_edit", edit(&["a.md", "c.md", "d.md"], false));
    assert!(error["message"].as_str().unwrap().contains("missing in c.md, d.md;"), "{error}");
    for (path, before) in files {
        assert_eq!(text(&folder, path), before);
    }
    let done = server.call("vault_edit", edit(&["a.md", "[[b]]"], false));
    assert_eq!(done["changed"][0]["path"], "a.md");
    assert_eq!(done["changed"][0]["replacements"], 2);
    assert_eq!(
        (text(&folder, "a.md"), text(&folder, "b.md")),
        ("Ajax, Ajax\r\n".into(), "- Ajax\n".into())
    );
    // A dry run refuses what the change itself would.
    let (folder, server) = serve(&[("n.md", "foo"), ("x.canvas", "{\"nodes\":[],\"k\":\"foo\"}")]);
    for dry_run in [true, false] {
        let edit = json!({ "paths": ["n.md", "x.canvas"], "old_text": "foo", "new_text": "\"b\"",
                           "dry_run": dry_run });
        assert_eq!(server.fail("vault_edit", edit)["code"], "PARSE_ERROR");
    }
    assert_eq!(text(&folder, "n.md"), "foo");
    let letters = "a".repeat(50_000);
    server.call("vault_write", json!({ "path": "big.md", "content": letters }));
    let huge =
        json!({ "path": "big.md", "old_text": "a", "new_text": letters, "replace_all": true });
    assert_eq!(server.fail("vault_edit", huge)["code"], "INVALID_ARGUMENT", "2.5 GB");
    for wrong in [
        json!({ "old_text": "a", "new_text": "b" }),
        json!({ "path": "a.md", "paths": ["b.md"], "old_text": "a", "new_text": "b" }),
        json!({ "paths": ["a.md"], "if_match": "x", "old_text": "a", "new_text": "b" }),
    ] {
        assert_eq!(server.fail("vault_edit", wrong)["code"], "INVALID_ARGUMENT");
    }
}

#[test]
fn several_files_are_moved_into_a_folder_together() {
    let (folder, server) = serve(&[
        ("a.md", "[[b]] [x](b.md) ![[p.png]]\n"),
        ("b.md", "[y](a.md)\n"),
        ("p.png", "png"),
        ("d/e.md", "[z](../a.md)\n"),
        ("n.md", "[[a]] [b](b.md)\n"),
        ("taken/p.png", ""),
    ]);
    let arguments = |from: &[&str], to: &str| json!({ "path": from, "to": to });
    for (from, to) in [
        (&["a.md", "b.md"][..], "nowhere"),
        (&["a.md", "p.png"], "taken"),
        (&["a.md", "none.md"], "new/"),
        (&["d", "d/e.md"], "new/"),
    ] {
        server.fail("vault_move", arguments(from, to));
        assert!(folder.vault().join("a.md").exists() && folder.vault().join("d/e.md").exists());
    }
    let moved = server.call("vault_move", arguments(&["a.md", "[[b]]", "d", "p.png"], "new/"));
    assert_eq!(moved["moved_total"], 4, "{moved}");
    assert_eq!(text(&folder, "new/a.md"), "[[b]] [x](b.md) ![[p.png]]\n");
    assert_eq!(text(&folder, "new/b.md"), "[y](a.md)\n");
    assert_eq!(text(&folder, "new/d/e.md"), "[z](../a.md)\n");
    assert_eq!(text(&folder, "n.md"), "[[a]] [b](b.md)\n");
}

#[test]
fn names_with_brackets_are_linked_where_the_link_reads_back() {
    let (folder, server) = serve(&[
        ("plain.md", ""),
        ("n.md", "[[plain]] ![[plain|text]] [m](plain.md)\n"),
        ("Sq]uare.md", ""),
        ("[Bug] crash.md", ""),
        ("a^b.md", ""),
        ("links.md", "[[Sq]uare]] [[[Bug] crash]] [[a^b]] [m](a%5Eb.md)\n"),
    ]);
    let links = server.call("vault_links", json!({ "path": "links.md", "show": "outgoing" }));
    for link in links["links"].as_array().unwrap() {
        assert!(link["resolved"].is_string(), "{link}");
    }
    let mut last = "plain.md".to_owned();
    for (name, first) in [
        ("Sq]u", "[[Sq]u]] ![[Sq]u|text]] [m](Sq]u.md)\n"),
        ("[Bug] fix", "[[[Bug] fix]] ![[[Bug] fix|text]] [m]([Bug]%20fix.md)\n"),
        ("c^d", "[[c^d]] ![[c^d|text]] [m](c^d.md)\n"),
    ] {
        let to = format!("{name}.md");
        let moved = server.call("vault_move", json!({ "path": last, "to": to }));
        assert_eq!((text(&folder, "n.md"), &moved["links_updated"]), (first.into(), &json!(3)));
        assert!(moved["warning"].is_null(), "{moved}");
        last = to;
    }
    // What no link can name is said, and its links are left alone.
    let moved = server.call("vault_move", json!({ "path": last, "to": "x.md", "dry_run": true }));
    assert!(moved["warning"].is_null(), "{moved}");
    let moved = server.call("vault_move", json!({ "path": last, "to": "e # f.md" }));
    assert!(moved["warning"].is_string() && moved["left_alone_total"] != 0, "{moved}");
    let written = server.call("vault_write", json!({ "path": "g#h.md", "content": "" }));
    assert!(written["warning"].is_string(), "{written}");
}

#[test]
fn what_is_no_link_of_obsidian_is_named_when_its_file_moves() {
    let note =
        "[r]: My%20note.md\n<img src=\"p.png\">\n[f]: http://x.com/a.md\n```\n[r]: p.png\n```\n";
    let (folder, server) =
        serve(&[("My note.md", ""), ("p.png", "png"), ("n.md", note), ("a.md", "")]);
    for (path, line) in [("My note.md", 1), ("p.png", 2)] {
        let moved = server.call("vault_move", json!({ "path": path, "to": "new/" }));
        assert_eq!(moved["left_alone_total"], 1, "{moved}");
        assert_eq!(moved["left_alone"][0]["line"], line);
    }
    assert_eq!(text(&folder, "n.md"), note);
}

#[test]
fn a_link_is_rewritten_to_the_whole_path_where_two_files_share_the_name() {
    let (folder, server) =
        serve(&[("x/old.md", ""), ("y/same.md", ""), ("x/n.md", "[[old]] [o](old.md)\n")]);
    server.call("vault_move", json!({ "path": "x/old.md", "to": "x/same.md" }));
    assert_eq!(text(&folder, "x/n.md"), "[[x/same]] [o](x/same.md)\n");
}

#[test]
fn a_note_is_made_from_any_template_and_its_variables_are_filled_in() {
    let periodic = json!({
        "weekly": { "enabled": true, "folder": "W", "template": "Templates/Week" },
        "quarterly": { "enabled": true, "folder": "Q" },
        "yearly": { "enabled": true, "folder": "Y" },
    })
    .to_string();
    let (folder, server) = serve(&[
        (".obsidian/templates.json", r#"{ "folder": "Templates" }"#),
        (".obsidian/plugins/periodic-notes/data.json", &periodic),
        (
            ".obsidian/daily-notes.json",
            r#"{ "format": "DD.MM.YYYY", "template": "Templates/Day" }"#,
        ),
        ("Templates/Meeting.md", "# {{title}}\n\n## Agenda\n\n## Notes\n"),
        ("Templates/Week.md", "{{date}} {{monday:DD}} {{date+7d:DD}}\n"),
        ("Templates/Day.md", "[[{{yesterday}}]]\n"),
    ]);
    let insert = |arguments: Value| server.call("vault_insert", arguments);
    let made = insert(json!({ "path": "M/Call", "template": "Meeting" }));
    assert_eq!((&made["path"], &made["created"]), (&json!("M/Call.md"), &json!(true)));
    assert_eq!(text(&folder, "M/Call.md"), "# Call\n\n## Agenda\n\n## Notes\n");
    insert(
        json!({ "path": "M/Two.md", "template": "[[Meeting]]", "text": "- a", "heading": "Agenda" }),
    );
    assert_eq!(text(&folder, "M/Two.md"), "# Two\n\n## Agenda\n- a\n\n## Notes\n");
    for (wrong, code) in [
        (json!({ "path": "M/Two.md", "template": "Meeting" }), "ALREADY_EXISTS"),
        (json!({ "path": "M/Three.md", "template": "None" }), "FILE_NOT_FOUND"),
        (json!({ "path": "M/Three.md" }), "INVALID_ARGUMENT"),
    ] {
        assert_eq!(server.fail("vault_insert", wrong.clone())["code"], code, "{wrong}");
    }
    let add = |path: &str| insert(json!({ "path": path, "text": "x", "create": true }));
    assert_eq!(add("weekly:2026-11-26")["path"], "W/2026-W48.md");
    // Weeks of this format begin on Sunday.
    assert_eq!(text(&folder, "W/2026-W48.md"), "2026-11-22 23 29\n\nx\n");
    assert_eq!(add("quarterly:2026-Q4")["path"], "Q/2026-Q4.md");
    assert_eq!(add("yearly:2026-11-26")["path"], "Y/2026.md");
    add("daily:2026-11-22");
    assert_eq!(text(&folder, "22.11.2026.md"), "[[21.11.2026]]\n\nx\n");
}

#[test]
fn a_task_that_recurs_gets_its_next_occurrence_as_the_plugin_writes_it() {
    let settings =
        |below: bool| json!({ "setDoneDate": true, "recurrenceOnNextLine": below }).to_string();
    let plugin = ".obsidian/plugins/obsidian-tasks-plugin/data.json";
    let note = "# T\r\n> 1. [ ] rent 🔁 every month 📅 2026-01-31 ^r\r\n>    - [ ] call\r\n\
                - [ ] odd 🔁 every full moon\r\n- [ ] two\r\n- [ ] three 🔁 every day";
    let done = |status: &str, line: usize, text: &str| json!({ "path": "t.md", "line": line, "text": text, "status": status });
    for below in [false, true] {
        let (folder, server) = serve(&[(plugin, &settings(below)), ("t.md", note)]);
        let rent = "rent 🔁 every month 📅 2026-01-31 ^r";
        let set = server.call("vault_set_task", done("done", 2, rent));
        assert_eq!(set["next"], "> 1. [ ] rent 🔁 every month 📅 2026-02-28");
        assert_eq!(set["line"], if below { 2 } else { 3 });
        let lines: Vec<String> = text(&folder, "t.md").split("\r\n").map(str::to_owned).collect();
        let (next, ended) = if below { (2, 1) } else { (1, 2) };
        assert_eq!(lines[next], "> 1. [ ] rent 🔁 every month 📅 2026-02-28");
        assert!(lines[ended].starts_with("> 1. [x] rent 🔁 every month 📅 2026-01-31 ✅ 20"));
        assert_eq!(lines[3], ">    - [ ] call");
        let error = server.fail("vault_set_task", done("done", 5, "odd 🔁 every full moon"));
        assert!(error["message"].as_str().unwrap().contains("every full moon"), "{error}");
        // Cancelled, it has no next; and several at once are all done or none.
        server.call("vault_set_task", done("-", 5, "odd 🔁 every full moon"));
        let several = |last: &str| {
            json!({ "path": "t.md", "tasks": [
            { "line": 6, "text": "two" }, { "line": 7, "text": last }] })
        };
        let before = text(&folder, "t.md");
        server.fail("vault_set_task", several("other"));
        assert_eq!(text(&folder, "t.md"), before);
        let set = server.call("vault_set_task", several("three 🔁 every day"));
        assert_eq!(set["tasks"].as_array().unwrap().len(), 2, "{set}");
        assert_eq!(set["tasks"][1]["line"], if below { 7 } else { 8 });
        let last = text(&folder, "t.md");
        let last: Vec<&str> = last.lines().rev().take(2).collect();
        let (next, ended) = if below { (0, 1) } else { (1, 0) };
        assert_eq!(last[next], "- [ ] three 🔁 every day");
        assert!(last[ended].starts_with("- [x] three 🔁 every day ✅ 20"), "{last:?}");
    }
}

#[test]
fn what_is_missing_or_odd_is_said_where_it_is() {
    let (folder, server) = serve(&[
        (".obsidian/types.json", r#"{ "types": { "rating": "number", "due": "date" } }"#),
        ("n.md", "---\nrating: 1\n---\n# One\n## Sub\n# Link [[dup|Alias]]\n# <b>Notes:</b>\n"),
    ]);
    let read = |heading: &str| {
        server.call("vault_read_notes", json!({ "paths": ["n.md"], "heading": heading }))
    };
    for (heading, line) in [("Link Alias", 6), ("notes:", 7), ("One > Sub", 5)] {
        assert_eq!(read(heading)["notes"][0]["from_line"], line, "{heading}");
    }
    let missing = read("New > Sub")["missing"][0]["message"].as_str().unwrap().to_owned();
    assert!(missing.contains("no heading \"New\""), "{missing}");
    assert!(missing.contains("{\"line\":4,\"text\":\"One\"}"), "{missing}");
    let set = |name: &str, value: Value| {
        let arguments = json!({ "paths": ["n.md"], "set": { name: value } });
        server.call("vault_set_properties", arguments)["warning"].clone()
    };
    assert!(set("rating", json!("seven")).as_str().unwrap().contains("number"));
    assert!(set("due", json!("soon")).is_string());
    for (name, value) in [("rating", json!(7)), ("due", json!("2026-11-30")), ("due", json!(null))]
    {
        assert!(set(name, value).is_null(), "{name}");
    }
    let remove = json!({ "paths": ["n.md"], "remove": ["rating", "due"] });
    server.call("vault_set_properties", remove);
    assert!(text(&folder, "n.md").starts_with("# One\n"), "the fences go with the last property");
}

#[test]
fn inline_fields_are_asked_for_like_properties() {
    let (_folder, server) = serve(&[
        (
            "a.md",
            "---\nrating: 1\n---\nRating:: 5\nby [author:: [[Ann]]] (due date:: 2026-02-01)\n",
        ),
        ("b.md", "rating:: 3\nrating:: 4\n`rating:: 9`\n"),
        ("c.md", "nothing\n"),
    ]);
    let rows = |query: Value| server.call("vault_query", query)["rows"].clone();
    let above = rows(json!({
        "where": "inline.rating > 4", "select": ["inline.rating", "rating", "inline.author", "inline.due date"]
    }));
    assert_eq!(
        above,
        json!([{ "path": "a.md", "inline.rating": 5, "rating": 1, "inline.author": "[[Ann]]",
                 "inline.due date": "2026-02-01" }])
    );
    assert_eq!(rows(json!({ "where": "inline.rating.contains(4)" }))[0]["path"], "b.md");
    let due = rows(json!({ "where": "inline[\"due date\"] < \"2026-03-01\"" }));
    assert_eq!(due.as_array().unwrap().len(), 1, "{due}");
    let sorted = rows(json!({ "where": "inline.rating", "sort": ["inline.rating desc"] }));
    assert_eq!(sorted.as_array().unwrap().len(), 2, "{sorted}");
}

#[test]
fn a_task_recurs_only_where_the_plugin_would_act() {
    let plugin = ".obsidian/plugins/obsidian-tasks-plugin/data.json";
    let far = "far 🔁 every day 📅9999-12-31 ⏳9999-12-31";
    let note = format!("- [ ] pay 🔁 every month 📅 2026-01-01\n- [ ] #task {far}\n");
    let settings = r##"{ "globalFilter": "#task", "setDoneDate": false }"##;
    let (folder, server) = serve(&[(plugin, settings), ("t.md", &note)]);
    let set = |line: usize, text: &str| json!({ "path": "t.md", "line": line, "text": text });
    let done = server.call("vault_set_task", set(1, "pay 🔁 every month 📅 2026-01-01"));
    assert!(done["next"].is_null(), "it lacks the filter: {done}");
    let error = server.fail("vault_set_task", set(2, &format!("#task {far}")));
    assert_eq!(error["code"], "INVALID_ARGUMENT", "no date has five digits of a year");
    assert_eq!(text(&folder, "t.md").lines().count(), 2);
    let (_folder, server) = serve(&[("t.md", "- [ ] icon 🔁 button\n")]);
    let done = server.call("vault_set_task", set(1, "icon 🔁 button"));
    assert_eq!(done["after"], "- [x] icon 🔁 button", "without the plugin it is a sign");
}

#[test]
fn of_headings_on_one_path_the_one_of_a_line_is_meant() {
    let note = "# Log\n\n## Day\n\n- one\n\n## Day\n\n- two\n\n## Plan (line 3)\n\n- x\n";
    let (folder, server) = serve(&[("n.md", note)]);
    let insert = |heading: &str, line: &str| json!({ "path": "n.md", "heading": heading, "text": line, "create": true });
    let error = server.fail("vault_insert", insert("Log > Day", "- three"));
    assert_eq!(error["code"], "AMBIGUOUS");
    assert_eq!(error["candidates"][1], json!({ "line": 7, "text": "Day" }), "{error}");
    server.call("vault_insert", insert("Log > Day (line 7)", "- three"));
    assert!(text(&folder, "n.md").contains("- two\n- three\n"), "{}", text(&folder, "n.md"));
    // A line that has moved since.
    assert_eq!(server.fail("vault_insert", insert("Day (line 8)", "four"))["code"], "AMBIGUOUS");
    let read = json!({ "paths": ["n.md"], "heading": "Day (line 3)" });
    assert_eq!(server.call("vault_read_notes", read)["notes"][0]["text"], "## Day\n\n- one\n\n");
    server.call("vault_move", json!({ "path": "n.md#Day (line 3)", "to": "Friday" }));
    assert!(text(&folder, "n.md").contains("## Friday\n\n- one\n\n## Day\n"));
    // As it is written, and one of only one whose line has moved.
    server.call("vault_insert", insert("Plan (line 3)", "- y"));
    server.call("vault_insert", insert("Friday (line 99)", "- f"));
    assert!(text(&folder, "n.md").contains("- x\n- y\n"));
    assert!(text(&folder, "n.md").contains("- one\n- f\n"));
}

#[test]
fn a_path_that_was_moved_answers_where_it_is_now() {
    let (_folder, server) = serve(&[("Old.md", "x\n"), ("Sub/Kept.md", "see [[Old]]\n")]);
    server.call("vault_move", json!({ "path": "Old.md", "to": "Then.md" }));
    server.call("vault_move", json!({ "path": "Then.md", "to": "Now.md" }));
    server.call("vault_move", json!({ "path": "Sub", "to": "Other" }));
    let message = |tool: &str, arguments: Value| {
        let error = server.fail(tool, arguments);
        assert_eq!(error["code"], "FILE_NOT_FOUND", "{error}");
        error["message"].as_str().unwrap().to_owned()
    };
    for (tool, arguments) in [
        ("vault_read", json!({ "path": "Old.md" })),
        ("vault_read", json!({ "path": "[[Old]]" })),
        ("vault_edit", json!({ "path": "Old.md", "old_text": "x", "new_text": "y" })),
        ("vault_delete", json!({ "paths": ["Other/Kept.md", "Old.md"] })),
    ] {
        let said = message(tool, arguments);
        assert_eq!(said, "File not found: Old.md. It was moved to Now.md.");
    }
    let kept = message("vault_delete", json!({ "paths": ["Sub/Kept.md"] }));
    assert_eq!(kept, "File not found: Sub/Kept.md. It was moved to Other/Kept.md.");
    let missing = server.call("vault_read_notes", json!({ "paths": ["Old.md"] }));
    assert!(missing["missing"][0]["message"].as_str().unwrap().contains("Now.md"));
    assert!(!message("vault_read", json!({ "path": "Never.md" })).contains("moved"));
}

#[test]
fn counts_alone_after_a_dry_run() {
    let (folder, server) = serve(&[
        ("Old.md", "x #a\n"),
        ("by.md", "[[Old]] #a\n```dataview\nlist from [[Old]] or #a\n```\n"),
    ]);
    let rename = json!({ "path": "Old.md", "to": "New.md", "show": "counts" });
    let moved = server.call("vault_move", rename);
    assert_eq!([&moved["links_updated"], &moved["moved_total"]], [1, 1], "{moved}");
    assert_eq!(moved["left_alone_total"], 1, "{moved}");
    for list in ["moved", "changes", "left_alone"] {
        assert_eq!(moved[list], json!([]), "{list}");
    }
    let tag = server.call("vault_rename_tag", json!({ "path": "a", "to": "b", "show": "counts" }));
    assert_eq!([&tag["tags_updated"], &tag["left_alone_total"]], [2, 1], "{tag}");
    assert_eq!([&tag["changes"], &tag["left_alone"]], [&json!([]), &json!([])]);
    assert!(text(&folder, "by.md").starts_with("[[New]] #b\n"));
}

#[test]
fn an_attachment_is_written_as_base64() {
    let (folder, server) = serve(&[("n.md", "![[dot.png]]\n")]);
    let write = |path: &str, content: &str| json!({ "path": path, "content": content, "encoding": "base64" });
    let gif = "R0lGODlhAQABAAAAACw=";
    let written = server.call("vault_write", write("files/dot.gif", gif));
    assert_eq!([&written["size"], &written["created"]], [&json!(14), &json!(true)]);
    assert!(written["total_lines"].is_null() && written["warning"].is_null(), "{written}");
    assert_eq!(folder.read("files/dot.gif"), b"GIF89a\x01\0\x01\0\0\0\0,");
    let url = format!("data:image/gif;base64,{gif}\n");
    let again = json!({ "path": "files/dot.gif", "content": url, "encoding": "base64", "if_match": written["etag"] });
    assert_eq!(server.call("vault_write", again)["etag"], written["etag"]);
    let refused = |arguments: Value| server.fail("vault_write", arguments)["code"].clone();
    assert_eq!(refused(write("note.md", "aGFsbG8=")), "INVALID_ARGUMENT");
    assert_eq!(refused(write("dot.png", "not base64!")), "INVALID_ARGUMENT");
    assert_eq!(refused(write(".obsidian/x.png", gif)), "PATH_NOT_ALLOWED");
    assert_eq!(refused(write("big.png", &"A".repeat(7_000_000))), "TOO_LARGE");
    assert_eq!(refused(json!({ "path": "dot.png", "content": "text" })), "INVALID_ARGUMENT");
    server.call("vault_delete", json!({ "paths": ["files/dot.gif"] }));
    server.call("vault_undo", json!({}));
    assert_eq!(folder.read("files/dot.gif").len(), 14);
}

#[cfg(feature = "pictures")]
#[test]
fn a_picture_that_is_too_large_is_shown_scaled_down() {
    use base64::Engine;
    let (width, height) = (1000, 2000);
    let mut state = 7_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(width * height)
    .collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&noise).unwrap();
    assert!(bytes.len() > 1_000_000);
    let folder = Folder::with(&[("noise.png", &bytes), ("cut.png", &bytes[..1_000_000])]);
    let server = Server::on(&folder.vault());
    let result = server.result("vault_read", json!({ "path": "noise.png" }));
    let image = &result["content"][0];
    assert_eq!([&image["type"], &image["mimeType"]], ["image", "image/jpeg"]);
    let about: Value =
        serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(about["scaled_from"], json!([1000, 2000]));
    assert_eq!(about["size"], bytes.len());
    let jpeg = base64::engine::general_purpose::STANDARD;
    let jpeg = jpeg.decode(image["data"].as_str().unwrap()).unwrap();
    assert!(jpeg.starts_with(b"\xff\xd8") && jpeg.len() <= 700 * 1024);
    let uri = json!({ "uri": "vault:///noise.png" });
    let contents = server.result_of("resources/read", uri)["contents"][0].clone();
    assert_eq!(contents["mimeType"], "image/jpeg", "{contents}");
    assert_eq!(server.fail("vault_read", json!({ "path": "cut.png" }))["code"], "TOO_LARGE");
}
