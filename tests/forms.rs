//! The forms in which models and people write names, lists, quotations and conditions.

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

fn message(error: &Value) -> &str {
    error["message"].as_str().unwrap()
}

/// As in a Markdown link, with white space around it, or with a space where the name has a no-break
/// space.
#[test]
fn a_path_in_another_form_is_that_file_for_every_tool() {
    let folder = Folder::with(&[("P/Deep Note.md", b"a\n"), ("P/44 Café\u{a0}Noir.md", b"b\n")]);
    let server = serve(&folder);
    for (path, real) in [
        ("P/Deep%20Note.md", "P/Deep Note.md"),
        (" P/Deep Note.md ", "P/Deep Note.md"),
        ("P%2FDeep Note.md", "P/Deep Note.md"),
    ] {
        assert_eq!(server.call("vault_read", json!({ "path": path }))["path"], real);
        assert_eq!(
            server.call("vault_write", json!({ "path": path, "content": "new\n" }))["path"],
            real
        );
        server.call("vault_insert", json!({ "path": path, "text": "- x", "create": true }));
        assert_eq!(text(&folder, real), "new\n- x\n");
    }
    for (tool, arguments) in [
        ("vault_links", json!({ "path": "P/Deep%20Note.md" })),
        ("vault_tasks", json!({ "path": " P/Deep Note.md" })),
        ("vault_search", json!({ "query": "x", "path": "%50" })),
        ("vault_list", json!({ "path": "P " })),
        ("vault_move", json!({ "path": "P/Deep%20Note.md", "to": "P/Deep Note 2.md" })),
        ("vault_delete", json!({ "paths": ["P/Deep%20Note%202.md"] })),
    ] {
        server.call(tool, arguments);
    }
    server.call("vault_write", json!({ "path": "P/a%20b.md", "content": "1" }));
    server.call("vault_write", json!({ "path": "P/a b.md", "content": "2" }));
    server.call("vault_delete", json!({ "paths": ["P/a%20b.md"] }));
    assert_eq!(
        server.fail("vault_delete", json!({ "paths": ["P/a%20b.md"] }))["code"],
        "FILE_NOT_FOUND"
    );
    server.call("vault_delete", json!({ "paths": ["P/a b.md"] }));
    let path = "P/44 Café Noir.md";
    server.call("vault_edit", json!({ "path": path, "old_text": "b", "new_text": "c" }));
    server.call("vault_restore", json!({ "path": path, "version": "previous" }));
    server.call("vault_links", json!({ "path": path }));
    server.call("vault_delete", json!({ "paths": [path] }));
    assert_eq!(
        server.call("vault_history", json!({ "path": path }))["versions"].as_array().unwrap().len(),
        3
    );
    assert_eq!(std::fs::read_dir(folder.vault().join("P")).unwrap().count(), 0);
}

#[test]
fn a_heading_in_a_path_is_named_as_such_wherever_the_note_is() {
    let folder = Folder::with(&[("P/Heating.md", b"## Plan\n"), ("Home.md", b"[[Heating]]\n")]);
    let server = serve(&folder);
    for (tool, arguments) in [
        ("vault_read", json!({ "path": "P/Heating.md#Plan" })),
        ("vault_read", json!({ "path": "Heating#Plan" })),
        ("vault_edit", json!({ "path": "P/Heating#Plan", "old_text": "a", "new_text": "b" })),
        ("vault_read", json!({ "path": "A #2.md#Plan" })),
        ("vault_insert", json!({ "path": "Heating#Plan", "text": "x", "create": true })),
        ("vault_write", json!({ "path": "Heating.md#Plan", "content": "x" })),
        ("vault_move", json!({ "path": "Home.md", "to": "P/Heating.md#Plants" })),
        ("vault_move", json!({ "path": "Home.md", "to": "[[Heating#Plants]]" })),
    ] {
        let error = server.fail(tool, arguments.clone());
        assert_eq!(error["code"], "INVALID_ARGUMENT", "{tool} {arguments}: {error}");
    }
    server.call("vault_write", json!({ "path": "C.md", "content": "x" }));
    for name in ["C# notes", "Issue #13", "C#"] {
        server.call("vault_insert", json!({ "path": name, "text": "x", "create": true }));
        server.call("vault_delete", json!({ "paths": [name] }));
        assert_eq!(
            server.call("vault_history", json!({ "path": name }))["path"],
            format!("{name}.md")
        );
    }
}

#[test]
fn a_missing_name_is_answered_with_the_alias_or_folder_that_may_be_meant() {
    let folder = Folder::with(&[
        ("People/Anna Berg.md", b"---\naliases: [Anna]\n---\n"),
        ("Years/2026/7b/list.md", b"x"),
    ]);
    let server = serve(&folder);
    for (tool, arguments, meant) in [
        ("vault_links", json!({ "path": "[[anna]]" }), "People/Anna Berg.md"),
        ("vault_tasks", json!({ "path": "7B" }), "Years/2026/7b"),
        ("vault_list", json!({ "path": "2026/7b" }), "Years/2026/7b"),
        ("vault_read", json!({ "path": "anna be" }), "People/Anna Berg.md"),
    ] {
        let error = server.fail(tool, arguments);
        assert!(
            error["code"] == "FILE_NOT_FOUND"
                && message(&error).contains(&format!("Did you mean: {meant}?")),
            "{error}"
        );
    }
}

/// `.obsidian` is often not synced, and then nothing says where daily notes are.
#[test]
fn without_settings_the_daily_note_is_the_one_that_exists() {
    let folder = Folder::with(&[("Journal/2026/2026-11-20.md", b"a\n")]);
    let server = serve(&folder);
    server
        .call("vault_insert", json!({ "path": "daily:2026-11-20", "text": "- x", "create": true }));
    assert_eq!(text(&folder, "Journal/2026/2026-11-20.md"), "a\n- x\n");
    let made = server
        .call("vault_insert", json!({ "path": "daily:2026-11-21", "text": "- x", "create": true }));
    assert_eq!(made["path"], "2026-11-21.md");
}

#[test]
fn the_history_of_a_moved_note_is_found_by_its_earlier_name() {
    let folder = Folder::with(&[("S/Jana Weiß.md", "a".as_bytes())]);
    let server = serve(&folder);
    server.call("vault_edit", json!({ "path": "Jana Weiß", "old_text": "a", "new_text": "b" }));
    server.call("vault_move", json!({ "path": "Jana Weiß", "to": "S/Jana Schwarz.md" }));
    for name in ["S/Jana Weiß.md", "Jana Weiß", "[[Jana Weiß]]", "s/jana weiß.md"] {
        assert_eq!(
            server.call("vault_history", json!({ "path": name }))["versions"]
                .as_array()
                .unwrap()
                .len(),
            1,
            "{name}"
        );
    }
}

#[test]
fn previous_does_not_take_back_what_a_person_wrote_after_it() {
    let folder = Folder::with(&[("n.md", b"a\n")]);
    let server = serve(&folder);
    let edited =
        server.call("vault_edit", json!({ "path": "n.md", "old_text": "a", "new_text": "b" }));
    std::fs::write(folder.vault().join("n.md"), "b\nmine\n").unwrap();
    let error = server.fail("vault_restore", json!({ "path": "n.md", "version": "previous" }));
    assert_eq!(
        (&error["code"], text(&folder, "n.md")),
        (&json!("CONFLICT"), "b\nmine\n".into()),
        "{error}"
    );
    server.call("vault_restore", json!({ "path": "n.md", "version": edited["previous"] }));
    assert_eq!(text(&folder, "n.md"), "a\n");
    server.call("vault_delete", json!({ "paths": ["n.md"] }));
    std::fs::write(folder.vault().join("n.md"), "mine\n").unwrap();
    assert_eq!(
        server.fail("vault_restore", json!({ "path": "n.md", "version": "previous" }))["code"],
        "CONFLICT"
    );
}

#[test]
fn one_text_is_a_list_of_one_and_a_list_is_no_text() {
    let folder = Folder::with(&[("a.md", b"---\nk: 1\nm: 2\n---\n")]);
    let server = serve(&folder);
    server.call("vault_set_properties", json!({ "paths": "a.md", "remove": "m" }));
    assert_eq!(text(&folder, "a.md"), "---\nk: 1\n---\n");
    let found = server.call("vault_query", json!({ "where": "k", "select": "k", "sort": "k", "group_by": "", "base": "", "count": "" }));
    assert_eq!(found["rows"], json!([{ "k": 1, "path": "a.md" }]));
    assert!(
        server.call("vault_read_notes", json!({ "paths": "a.md", "heading": "", "block": "" }))
            ["notes"][0]["text"]
            .is_string()
    );
    for arguments in [
        json!({ "paths": "[1]", "remove": "k" }),
        json!({ "paths": ["a.md"], "set": { "aliases": "[\"a\", \"b\"]" } }),
        json!({ "paths": ["a.md"], "add_values": { "x": "[\"a\"]" } }),
    ] {
        assert_eq!(server.fail("vault_set_properties", arguments)["code"], "INVALID_ARGUMENT");
    }
    let error = server.fail("vault_read_notes", json!({ "paths": ["a.md", { "path": "b.md" }] }));
    assert!(message(&error).contains("paths[1] must be a string"), "{error}");
}

#[test]
fn a_sentence_quoted_imprecisely_is_shown_as_the_note_has_it() {
    let long = "The first sentence is about something else entirely, and it is long enough to \
                fill the line. "
        .repeat(4);
    let note = format!("# A\n\n{long}“At 9\u{a0}o’clock,” she said — and left…  {long}\n");
    let folder = Folder::with(&[("n.md", note.as_bytes())]);
    let server = serve(&folder);
    for (quote, shown) in [
        ("\"At 9 o'clock,\" she said - and left...", "“At 9\u{a0}o’clock,” she said — and left…"),
        ("At 9 o'clock,\" she said -- and left", "At 9\u{a0}o’clock,” she said — and left"),
        (
            "line. \n\"At 9 o'clock,\" she said -- and left",
            "line. “At 9\u{a0}o’clock,” she said — and left",
        ),
    ] {
        let error = server
            .fail("vault_edit", json!({ "path": "n.md", "old_text": quote, "new_text": "x" }));
        assert!(
            message(&error).contains("line 3") && message(&error).contains(shown),
            "{quote}: {error}"
        );
    }
}

#[test]
fn what_looks_like_a_mistake_in_a_text_is_refused_or_said() {
    let canvas = r#"{"nodes":[{"id":"1","type":"text","text":"a b"}],"edges":[]}"#;
    let folder = Folder::with(&[("c.canvas", canvas.as_bytes())]);
    let server = serve(&folder);
    let error = server
        .fail("vault_edit", json!({ "path": "c.canvas", "old_text": "a b", "new_text": "a\nb" }));
    assert_eq!(
        (&error["code"], text(&folder, "c.canvas")),
        (&json!("PARSE_ERROR"), canvas.into()),
        "{error}"
    );
    server
        .call("vault_edit", json!({ "path": "c.canvas", "old_text": "a b", "new_text": "a\\nb" }));
    assert_eq!(
        server.fail("vault_write", json!({ "path": "sub/", "content": "x" }))["code"],
        "INVALID_ARGUMENT"
    );
    for (tool, arguments) in [
        ("vault_write", json!({ "path": "n.md", "content": "- a\\n- b" })),
        ("vault_insert", json!({ "path": "n.md", "text": "- a\\n- b" })),
    ] {
        assert!(
            server.call(tool, arguments)["warning"].as_str().unwrap().contains("no line break"),
            "{tool}"
        );
    }
    assert!(
        server
            .call("vault_insert", json!({ "path": "n.md", "text": "- a\n- \\n" }))
            .get("warning")
            .is_none()
    );
}

#[test]
fn a_star_finds_every_file_that_the_other_arguments_want() {
    let folder = Folder::with(&[("A/x.md", b"#t\n"), ("A/y.md", b"b\n"), ("z.md", b"#t * c\n")]);
    let server = serve(&folder);
    let paths = |arguments: Value| -> Vec<String> {
        let found = server.call("vault_search", arguments);
        let mut paths: Vec<String> = found["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["path"].as_str().unwrap().into())
            .collect();
        paths.sort_unstable();
        assert_eq!(found["total_matches"], paths.len());
        paths
    };
    assert_eq!(paths(json!({ "query": "*", "path": "A" })), ["A/x.md", "A/y.md"]);
    assert_eq!(paths(json!({ "query": " * ", "tag": "t" })), ["A/x.md", "z.md"]);
    assert_eq!(paths(json!({ "query": "* tag:#t" })), ["A/x.md", "z.md"]);
    assert_eq!(paths(json!({ "query": "\"*\"" })), ["z.md"]);
}

/// Of alternatives, and of one word next to a condition, a passage says more than the first of the
/// words.
#[test]
fn a_snippet_shows_where_most_words_of_a_condition_are() {
    let note = format!(
        "POV: Mia\n\n{}\n\nMia has green eyes.\n",
        "Nothing of interest here.\n\n".repeat(60)
    );
    let folder = Folder::with(&[("n.md", note.as_bytes())]);
    let server = serve(&folder);
    for query in
        ["Mia (eyes OR hair)", "(Mia eyes green) OR (Mia eyes blue)", "Mia eyes green OR blue"]
    {
        assert_eq!(
            server.call("vault_search", json!({ "query": query }))["results"][0]["line"],
            125,
            "{query}"
        );
    }
}

#[test]
fn conditions_are_evaluated_as_they_are_meant_or_said_to_fail() {
    let folder = Folder::with(&[
        ("2026-01-02.md", b"---\nsleep: \"5.5\"\npeople: \"[[Anna]]\"\nw: 80 kg\n---\n"),
        ("2026-02-03.md", b"---\nsleep: 5\npeople: [\"[[Anna]]\"]\nw: 79\n---\n"),
        ("Anna.md", b"x\n"),
    ]);
    let server = serve(&folder);
    let query = |arguments: Value| server.call("vault_query", arguments);
    let total = |condition: &str| query(json!({ "where": condition }))["total"].clone();
    assert_eq!(
        (total("sleep < 6"), total("6 >= sleep"), total("sleep == 5")),
        (json!(2), json!(2), json!(1))
    );
    for condition in [
        "people.contains(\"[[Anna]]\")",
        "people.contains(link(\"Anna\"))",
        "people.containsAny(\"[[Bo]]\", \"[[Anna]]\")",
    ] {
        assert_eq!(total(condition), 2, "{condition}");
    }
    let failing = query(json!({ "where": "w.replace(\" kg\", \"\") == \"80\"" }));
    assert!(
        failing["total"] == 1 && failing["problems"][0].as_str().unwrap().starts_with("1 file"),
        "{failing}"
    );
    assert!(query(json!({ "where": "sleep < 6" })).get("problems").is_none());
    for condition in ["\"sleep < 6\"", "['sleep < 6']"] {
        assert_eq!(
            server.fail("vault_query", json!({ "where": condition }))["code"],
            "QUERY_ERROR",
            "{condition}"
        );
    }
    let month = "file.name.slice(0, 7)";
    let grouped = query(
        json!({ "where": "sleep", "group_by": month, "select": [month], "sort": [format!("{month} desc")] }),
    );
    assert_eq!(
        grouped["groups"],
        json!([{ "value": "2026-01", "count": 1 }, { "value": "2026-02", "count": 1 }])
    );
    assert_eq!(grouped["rows"][0][month], "2026-01");
    let computed =
        query(json!({ "where": "sleep == 5", "select": ["sleep * 2", "file.mtime.year"] }))["rows"]
            [0]
        .clone();
    assert!(computed["sleep * 2"] == 10 && computed["file.mtime.year"].is_number(), "{computed}");
    assert_eq!(
        query(json!({ "count": format!("value:{month}"), "where": "sleep" }))["counts"],
        json!({ "2026-01": 1, "2026-02": 1 })
    );
    let error = server.fail("vault_query", json!({ "where": "file.mtime > now() - 7d" }));
    assert!(message(&error).contains("durations in quotes"), "{error}");
}

#[test]
fn tasks_are_asked_for_without_a_date_or_tag() {
    let folder =
        Folder::with(&[("n.md", "- [ ] a 📅 2020-01-01\n- [ ] b 📅 2999-01-01\n".as_bytes())]);
    let server = serve(&folder);
    assert_eq!(server.call("vault_tasks", json!({ "due_before": "today" }))["total"], 1);
    assert_eq!(
        server.call("vault_tasks", json!({ "due_before": "", "tag": "", "status": "todo" }))["total"],
        2
    );
}

#[test]
fn a_tag_that_is_merged_is_once_in_its_list_and_a_note_may_have_hundreds() {
    let many: String = (0..400).map(|number| format!("#t{number}\n")).collect();
    let folder = Folder::with(&[
        ("a.md", b"---\ntags:\n  - work # mine\n  - job\n  - x\n---\n"),
        ("b.md", b"---\ntags: [job, work, 5]\n---\n"),
        ("many.md", many.as_bytes()),
    ]);
    let server = serve(&folder);
    server.call("vault_rename_tag", json!({ "path": "work", "to": "job" }));
    assert_eq!(text(&folder, "a.md").matches("job").count(), 1, "{}", text(&folder, "a.md"));
    assert_eq!(text(&folder, "b.md"), "---\ntags: [job, 5]\n---\n");
    assert_eq!(
        server.call("vault_rename_tag", json!({ "path": "t399", "to": "last" }))["files_changed"],
        1
    );
    assert!(text(&folder, "many.md").ends_with("#t398\n#last\n"));
}

/// A login that only reads must not keep the server busy, nor use up its memory.
#[test]
fn comparisons_and_links_count_as_work_of_a_query() {
    let folder = Folder::with(&[("a.md", b"x\n")]);
    let server = serve(&folder);
    let list = "[1].reduce(\"x\".repeat(9999).split(\"\").map";
    for condition in [
        format!(
            "{list}(acc[0]).containsAny(acc[1], acc[1], acc[1]), [\"[[\" + \"a\".repeat(99000) + \
             \"]]\", link(\"zzz\")])"
        ),
        format!("{list}(link(acc)), \"a\".repeat(99999))"),
    ] {
        let started = std::time::Instant::now();
        assert_eq!(
            server.fail("vault_query", json!({ "where": condition }))["code"],
            "QUERY_ERROR",
            "{condition}"
        );
        assert!(
            !crate::support::thorough() || started.elapsed().as_secs() < 20,
            "{condition}: {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn an_old_version_is_read_without_changing_the_note() {
    let folder = Folder::with(&[("n.md", b"one\n")]);
    let server = serve(&folder);
    let edited =
        server.call("vault_edit", json!({ "path": "n.md", "old_text": "one", "new_text": "two" }));
    for version in [&edited["previous"], &json!("previous")] {
        let read = server.call("vault_read", json!({ "path": "n.md", "version": version }));
        assert_eq!(
            (&read["content"], read.get("modified"), read.get("etag")),
            (&json!("one\n"), None, None),
            "{read}"
        );
    }
    assert_eq!(
        server.call("vault_read", json!({ "path": "n.md", "version": "" }))["content"],
        "two\n"
    );
    assert_eq!(
        server.fail("vault_read", json!({ "path": "n.md", "version": "0123456789abcdef" }))["code"],
        "TARGET_NOT_FOUND"
    );
    server.call("vault_delete", json!({ "paths": ["n.md"] }));
    assert_eq!(
        server.call("vault_read", json!({ "path": "n", "version": "previous" }))["content"],
        "two\n"
    );
    assert!(!folder.vault().join("n.md").exists());
}

/// On phones people type without accents, and models write with them; numbers and codes are written
/// with and without spaces.
#[test]
fn words_are_found_in_the_spelling_of_another_keyboard() {
    let folder = Folder::with(&[
        ("a.md", "żółty Łucja kızamık coeur Mueller Sørensen\n".as_bytes()),
        ("b.md", "zolty ogretmeni lozko Müller cœur\n".as_bytes()),
        ("c.md", "sha256 as a checksum; दीन\n".as_bytes()),
        ("İzmir yaz.md", "İstanbul ٠٥٠١٢٣٤٥٦٧ TK 1766\n".as_bytes()),
    ]);
    let server = serve(&folder);
    let paths = |query: &str| -> Vec<String> {
        let found = server.call("vault_search", json!({ "query": query }));
        found["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["path"].as_str().unwrap().into())
            .collect()
    };
    for (query, path) in [
        ("lucja", "a.md"),
        ("kizamik", "a.md"),
        ("soerensen", "a.md"),
        ("öğretmeni", "b.md"),
        ("łóżko", "b.md"),
        ("izmir", "İzmir yaz.md"),
        ("ISTANBUL", "İzmir yaz.md"),
        ("0501234567", "İzmir yaz.md"),
        ("TK1766", "İzmir yaz.md"),
        ("i\u{307}stanbul", "İzmir yaz.md"),
        ("\"sha256 checksum\"", "c.md"),
    ] {
        assert_eq!(paths(query), [path], "{query}");
    }
    assert!(paths("दान").is_empty(), "marks of this script are vowels");
    let error = server.fail("vault_links", json!({ "path": "Izmır yaz" }));
    assert!(message(&error).contains("Did you mean: İzmir yaz.md?"), "{error}");
}

#[test]
fn a_link_or_formula_is_searched_for_as_it_is_copied() {
    let folder = Folder::with(&[
        ("smith2001.md", b"a\n"),
        ("Citing.md", b"See [[smith2001]].\n"),
        ("Entropy.md", b"$H=-\\sum p_i \\log p_i$\n"),
    ]);
    let server = serve(&folder);
    let first = |query: &str| {
        server.call("vault_search", json!({ "query": query }))["results"][0]["path"].clone()
    };
    assert_eq!(
        (first("[[smith2001]]"), first("[[smith2001|Smith]]")),
        (json!("smith2001.md"), json!("smith2001.md"))
    );
    assert_eq!(first("H = -\\sum p_i"), "Entropy.md");
}

#[test]
fn what_obsidian_would_not_read_is_refused_or_said() {
    let template = "---\ntags:\n  - daily\ncreated: {{date}} {{time}}\n---\n";
    let folder = Folder::with(&[
        ("T.md", template.as_bytes()),
        ("n.md", b"#daily\n"),
        ("p.png", b"x"),
        ("b.base", b"views: []\n"),
    ]);
    let server = serve(&folder);
    assert_eq!(
        server.fail("vault_write", json!({ "path": "c.canvas", "content": "{\"nodes\":[}" }))["code"],
        "PARSE_ERROR"
    );
    server.call("vault_write", json!({ "path": "c.canvas", "content": "" }));
    let note = "---\ntitle: Grit: The Power\n---\nx\n";
    let written = server.call("vault_write", json!({ "path": "g.md", "content": note }));
    let inserted =
        server.call("vault_insert", json!({ "path": "h.md", "text": note, "create": true }));
    for answer in [written, inserted] {
        assert!(answer["warning"].as_str().unwrap().contains("not valid YAML"), "{answer}");
    }
    let renamed = server.call("vault_rename_tag", json!({ "path": "daily", "to": "journal" }));
    assert_eq!(
        (&renamed["files_changed"], &renamed["left_alone"][0]["path"]),
        (&json!(1), &json!("T.md")),
        "{renamed}"
    );
    let error = server.fail("vault_query", json!({ "base": "b.base#Read" }));
    assert!(message(&error).contains("as view"), "{error}");
    assert_eq!(server.call("vault_query", json!({ "where": "file.ext == \"png\"" }))["total"], 1);
}

/// What is not a text arrives as JSON in one, what is optional arrives empty, and some clients add
/// names of their own.
#[test]
fn arguments_are_taken_in_the_forms_that_clients_send() {
    let folder = Folder::with(&[("a.md", b"one\ntwo\n"), ("b.md", b"one\n"), ("1.md", b"[[a]]\n")]);
    let server = serve(&folder);
    let notes = server.call(
        "vault_read_notes",
        json!({ "paths": r#"["a.md", "b.md"]"#, "heading": null, "max_chars": 0 }),
    );
    assert_eq!(notes["notes"].as_array().unwrap().len(), 2);
    assert_eq!(
        server.call("vault_read_notes", json!({ "paths": "[[1]]" }))["notes"][0]["path"],
        "1.md",
        "a link is no list"
    );
    let found =
        server.call("vault_search", json!({ "query": "one", "max_results": "1", "toolCallId": "x", "sessionId": "y", "chatInput": "z" }));
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    server.call("vault_edit", json!({ "path": "a.md", "edits": r#"[{"old_text": "one", "new_text": "[1]"}, {"old_text": "two\n", "new_text": ""}]"#, "old_text": "", "if_match": "" }));
    assert_eq!(text(&folder, "a.md"), "[1]\n", "a text that is one stays as it is");
    server.call(
        "vault_set_properties",
        json!({ "paths": "a.md", "set": r#"{"done": true, "n": "5"}"# }),
    );
    assert_eq!(text(&folder, "a.md"), "---\ndone: true\nn: \"5\"\n---\n[1]\n");
    server.call("vault_insert", json!({ "path": "c.md", "text": "{\"a\": 1}", "create": "true" }));
    assert_eq!(text(&folder, "c.md"), "{\"a\": 1}\n");
    server.call("vault_move", json!({ "from": "c.md", "to": "d.md" }));
    for (tool, arguments, words) in [
        ("vault_read_notes", json!({ "paths": 5 }), "a number arrived, send the array itself"),
        (
            "vault_edit",
            json!({ "path": "a.md", "edits": "one" }),
            "a string arrived, send the array itself",
        ),
        ("vault_search", json!({ "query": ["one"] }), "an array arrived, send the string itself"),
        (
            "vault_search",
            json!({ "query": "one", "max_results": "many" }),
            "a string arrived, send the number itself",
        ),
        (
            "vault_search",
            json!({ "query": "one", "toolcallid": "x" }),
            "Unknown argument \"toolcallid\"",
        ),
        (
            "vault_set_properties",
            json!({ "paths": "a.md", "set": "done" }),
            "a string arrived, send the object itself",
        ),
        ("vault_search", json!({ "query": "" }), "empty"),
    ] {
        let error = server.fail(tool, arguments);
        assert!(error["code"] == "INVALID_ARGUMENT" && message(&error).contains(words), "{error}");
    }
}

#[test]
fn what_was_never_there_has_no_history() {
    let folder = Folder::with(&[("a.md", b"x\n")]);
    std::os::unix::fs::symlink("/etc/hostname", folder.vault().join("link.md")).unwrap();
    let server = serve(&folder);
    assert_eq!(server.call("vault_history", json!({ "path": "a.md" }))["versions"], json!([]));
    for (path, code) in [("never.md", "FILE_NOT_FOUND"), ("link.md", "PATH_NOT_ALLOWED")] {
        assert_eq!(server.fail("vault_history", json!({ "path": path }))["code"], code);
        let restore = json!({ "path": path, "version": "previous" });
        assert_eq!(server.fail("vault_restore", restore)["code"], code);
    }
}

#[test]
fn headings_that_are_missing_are_made_with_those_above_them() {
    let folder = Folder::with(&[("a.md", b"# Top\nx\n")]);
    let server = serve(&folder);
    let insert = |heading: &str| {
        let arguments =
            json!({ "path": "a.md", "heading": heading, "text": "- new", "create": true });
        server.call("vault_insert", arguments)["line"].clone()
    };
    assert_eq!(insert("Log > Monday"), 6);
    assert_eq!(text(&folder, "a.md"), "# Top\nx\n\n## Log\n### Monday\n- new\n");
}

/// A letter with a mark is one sign or two, and some are composed in lower case alone.
#[test]
fn a_letter_is_found_in_either_form_and_case() {
    let folder =
        Folder::with(&[("a.md", "ma\u{1f0}a\n".as_bytes()), ("b.md", "MAJ\u{30c}A\n".as_bytes())]);
    let server = serve(&folder);
    for query in ["ma\u{1f0}a", "maj\u{30c}a", "MAJ\u{30c}A"] {
        assert_eq!(server.call("vault_search", json!({ "query": query }))["total_matches"], 2);
    }
}

#[test]
fn a_tight_list_stays_tight() {
    let folder = Folder::with(&[
        ("a.md", b"---\ntags: [a,b]\n---\n"),
        ("b.md", b"---\ntags: [a, b]\n---\n"),
    ]);
    let server = serve(&folder);
    server.call(
        "vault_set_properties",
        json!({ "paths": ["a.md", "b.md"], "add_values": { "tags": "c" } }),
    );
    assert_eq!(text(&folder, "a.md"), "---\ntags: [a,b,c]\n---\n");
    assert_eq!(text(&folder, "b.md"), "---\ntags: [a, b, c]\n---\n");
}
