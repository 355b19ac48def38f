//! Headings, tags and files get other names: what changes with them, and what a fault in between
//! leaves.

use crate::links::{after_move, all, serve, text, vault};
use serde_json::{Value, json};
use std::path::Path;

/// The paths of the files that a result says were left alone.
fn left_alone(done: &Value) -> Vec<&str> {
    let rows = done["left_alone"].as_array().unwrap();
    rows.iter().map(|row| row["path"].as_str().unwrap()).collect()
}

#[test]
fn headings_are_renamed_with_the_links_to_them() {
    let files = [
        (
            "n.md",
            "# Top\n## Old: one ##\n[[#Old: one]] [[n#Top#Old one]] [s](#Old:%20one)\n## \
             Old\ntext\n\nSetext\n======\n",
        ),
        ("m.md", "[[n#Old one|x]] ![[n#Old]] [t](n.md#Old:%20one) [[n]] [[m#Old one]]"),
    ];
    assert_eq!(
        after_move(&files, "n.md#Old: one", "n.md#New [x] #1", "n.md"),
        "# Top\n## New [x] #1 ##\n[[#New x 1]] [[n#Top#New x 1]] [s](#New%20x%201)\n## \
         Old\ntext\n\nSetext\n======\n"
    );
    assert_eq!(
        after_move(&files, "[[n#Old: one]]", "n#New", "m.md"),
        "[[n#New|x]] ![[n#Old]] [t](n.md#New) [[n]] [[m#Old one]]"
    );
    assert_eq!(after_move(&files, "n.md#Setext", "#Sub", "n.md").lines().nth(6), Some("Sub"));
    let folder = vault(&files);
    let server = serve(&folder);
    for (from, to, code) in [
        ("n.md#None", "n.md#New", "TARGET_NOT_FOUND"),
        ("n.md#Old", "n.md#Old", "INVALID_ARGUMENT"),
        ("n.md#Old", "n.md#Top", "ALREADY_EXISTS"),
        ("n.md#Old", "m.md#New", "INVALID_ARGUMENT"),
        ("n.md#Old", "n.md#", "INVALID_ARGUMENT"),
    ] {
        assert_eq!(
            server.fail("vault_move", json!({ "path": from, "to": to }))["code"],
            code,
            "{from} {to}"
        );
    }
}

/// Files that come back have other ids than before, which other files may have had.
#[test]
fn links_to_files_that_were_away_mean_them_again() {
    let folder = vault(&[
        ("People/Anna.md", "a"),
        ("People/Bob.md", "b"),
        ("Home.md", "[[Anna]] [[Bob]]\n"),
    ]);
    let server = serve(&folder);
    let unresolved =
        || server.call("vault_links", json!({ "show": "unresolved" }))["total"].clone();
    assert_eq!(unresolved(), 0);
    let on_disk = |name: &str| folder.vault().join(name);
    std::fs::rename(on_disk("People"), on_disk(".away")).unwrap();
    assert_eq!(unresolved(), 2);
    std::fs::create_dir(on_disk("People")).unwrap();
    for name in ["Bob.md", "Anna.md"] {
        std::fs::rename(on_disk(".away").join(name), on_disk("People").join(name)).unwrap();
        server.call("vault_read", json!({ "path": format!("People/{name}") }));
    }
    assert_eq!(unresolved(), 0);
    server.call("vault_move", json!({ "path": "People/Anna.md", "to": "People/Eva.md" }));
    assert_eq!(text(&folder, "Home.md"), "[[Eva]] [[Bob]]\n");
}

#[test]
fn deleted_files_go_to_the_trash_and_broken_links_are_named() {
    let folder = vault(&[
        ("a.md", "[[b]]"),
        ("b.md", "b"),
        ("n.md", "x\n[[a]] [[a]] [[b]]"),
        ("d/e/x.md", ""),
        ("d/y.png", "1"),
        (".trash/a.md", "older"),
    ]);
    std::fs::create_dir(folder.vault().join("empty")).unwrap();
    let server = serve(&folder);
    let before = all(&folder);
    for (arguments, code) in [
        (json!({ "paths": [] }), "INVALID_ARGUMENT"),
        (json!({ "paths": ["a.md", "none.md"] }), "FILE_NOT_FOUND"),
        (json!({ "paths": ["d"] }), "INVALID_ARGUMENT"),
        (json!({ "paths": ["/"] }), "PATH_NOT_ALLOWED"),
        (json!({ "paths": ["a.md"], "if_match": "0000000000000000" }), "CONFLICT"),
    ] {
        assert_eq!(server.fail("vault_delete", arguments.clone())["code"], code, "{arguments}");
    }
    assert_eq!(all(&folder), before);
    let deleted = server.call("vault_delete", json!({ "paths": ["a.md", "b.md"] }));
    assert_eq!(deleted["deleted"][0], json!({ "path": "a.md", "trashed_to": ".trash/a 1.md" }));
    assert_eq!(deleted["broken_links"], 3);
    assert_eq!(
        deleted["broken"][0],
        json!({ "path": "n.md", "line": 2, "text": "[[a]] [[a]] [[b]]" })
    );
    assert_eq!(
        (text(&folder, ".trash/a 1.md"), text(&folder, ".trash/a.md")),
        ("[[b]]".into(), "older".into())
    );
    // A conflict copy is not served, so nobody can have named it.
    let copy = folder.vault().join("d/e/x.sync-conflict-20261123-101500-ABCDEFG.md");
    std::fs::write(&copy, "the other text").unwrap();
    assert_eq!(
        server.fail("vault_delete", json!({ "paths": ["d", "d/e/x.md", "d/y.png"] }))["code"],
        "PATH_NOT_ALLOWED"
    );
    std::fs::remove_file(copy).unwrap();
    server.call("vault_delete", json!({ "paths": ["empty", "d", "d/e/x.md", "d/y.png"] }));
    assert!(!folder.vault().join("empty").exists() && !folder.vault().join("d").exists());
    assert_eq!(all(&folder).into_keys().collect::<Vec<_>>(), ["n.md"]);
    assert_eq!(server.fail("vault_read", json!({ "path": "a.md" }))["code"], "FILE_NOT_FOUND");
}

#[test]
fn a_deletion_breaks_the_links_that_then_resolve_to_nothing() {
    for (deleted, broken) in [
        (&["A/Garden.md"][..], 0),
        (&["A/Garden.md", "P/Garden.md"], 1),
        (&["Long/Plan.md"], 0),
        (&["Plan.md"], 0),
    ] {
        let folder = vault(&[
            ("A/Garden.md", ""),
            ("P/Garden.md", ""),
            ("Plan.md", ""),
            ("Long/Plan.md", ""),
            ("moc.md", "[[Garden]] [[Plan]]"),
        ]);
        let server = serve(&folder);
        let answer = server.call("vault_delete", json!({ "paths": deleted }));
        assert_eq!(answer["broken_links"], broken, "{deleted:?}");
        let unresolved = server.call("vault_links", json!({ "show": "unresolved" }));
        assert_eq!(unresolved["total"], broken, "{deleted:?}");
    }
}

#[test]
fn tags_are_renamed_wherever_they_are_tags_and_nowhere_else() {
    let note = "---\ntags: [Old, 'old/sub', \"other\", oldie] # old\ntag: old, x\nother: old\n---\n#old text #OLD/deep #older `#old` [[n#old]] https://x.y/#old\n# old\n```\n#old\n```\n%% #old %%\n- [ ] #old\n";
    let folder = vault(&[
        ("n.md", note),
        ("block.md", "---\r\ntags:\r\n  - old # mine\r\n  - \"#old/x\"\r\n  - zold\r\n---\r\n"),
        ("text.md", "---\ntags: a old b\n---\n"),
        ("q.md", "#z\n```query\ntag:#old\n```\n"),
        ("x.base", "filters: file.hasTag(\"old\")\n"),
    ]);
    let server = serve(&folder);
    let planned = server
        .call("vault_rename_tag", json!({ "path": "#old", "to": "New/one", "dry_run": true }));
    assert_eq!(text(&folder, "n.md"), note);
    let done = server.call("vault_rename_tag", json!({ "path": "old", "to": "#New/one" }));
    assert_eq!(
        (planned["changes"].clone(), planned["tags_updated"].clone()),
        (done["changes"].clone(), done["tags_updated"].clone())
    );
    assert_eq!(
        (done["tags_updated"].clone(), done["files_changed"].clone()),
        (json!(10), json!(3)),
        "{done}"
    );
    assert_eq!(
        text(&folder, "n.md"),
        "---\ntags: [New/one, 'New/one/sub', \"other\", oldie] # old\ntag: New/one, x\nother: old\n---\n#New/one text #New/one/deep #older `#old` [[n#old]] https://x.y/#old\n# old\n```\n#old\n```\n%% #New/one %%\n- [ ] #New/one\n"
    );
    assert_eq!(
        text(&folder, "block.md"),
        "---\r\ntags:\r\n  - New/one # mine\r\n  - \"#New/one/x\"\r\n  - zold\r\n---\r\n"
    );
    assert_eq!(text(&folder, "text.md"), "---\ntags: a New/one b\n---\n");
    assert_eq!(left_alone(&done), ["q.md", "x.base"]);
    assert_eq!(
        server.call("vault_list_all", json!({ "tag": "New/one" }))["files"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    for (from, to, code) in [
        ("none", "x", "TARGET_NOT_FOUND"),
        ("New/one", "1", "INVALID_ARGUMENT"),
        ("New/one", "a b", "INVALID_ARGUMENT"),
        ("z", "#z", "INVALID_ARGUMENT"),
    ] {
        assert_eq!(
            server.fail("vault_rename_tag", json!({ "path": from, "to": to }))["code"],
            code,
            "{from} {to}"
        );
    }
}

/// Tags that are one then are listed once, unless a comment stands beside one of them.
#[test]
fn a_tag_that_gets_the_name_of_another_keeps_every_comment() {
    for (before, after, count) in [
        (
            "tags:\n  - project # mine\n  - work # theirs\n",
            "tags:\n  - work # mine\n  - work # theirs\n",
            1,
        ),
        (
            "tags:\n  - project\n  - project/alpha\n  - '#Project' # why\n",
            "tags:\n  - work\n  - work/alpha\n  - '#work' # why\n",
            3,
        ),
        ("tags:\n  - work\n  - project\n  - x\n", "tags:\n  - work\n  - x\n", 1),
        ("tags: [x, 'project', \"Work\", y]\n", "tags: [x, 'work', y]\n", 2),
        ("tags: work, project\n", "tags: work\n", 1),
    ] {
        let folder = vault(&[("n.md", &format!("---\n{before}---\n"))]);
        let server = serve(&folder);
        let done = server.call("vault_rename_tag", json!({ "path": "project", "to": "work" }));
        assert_eq!(text(&folder, "n.md"), format!("---\n{after}---\n"), "{before}");
        assert_eq!(done["tags_updated"], count, "{done}");
    }
}

/// A person saves one of the notes while the links in many are rewritten: their text wins, and its
/// link is rewritten in it.
#[test]
fn a_note_that_is_saved_during_a_move_keeps_what_was_saved() {
    let many: Vec<(String, String)> =
        (0..60).map(|n| (format!("n{n:02}.md"), format!("{n} [[Old]]"))).collect();
    let mut files: Vec<(&str, &str)> =
        many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("Old.md", ""));
    let folder = vault(&files);
    let server = serve(&folder);
    server.call("vault_links", json!({ "path": "Old.md" }));
    let on_disk = folder.vault().join("n55.md");
    let save = |on_disk: &Path| std::fs::write(on_disk, "mine [[Old]]").unwrap();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(15));
            save(&on_disk);
        });
        server.result("vault_move", json!({ "path": "Old.md", "to": "New.md" }))
    });
    let is_done = outcome["isError"] != true;
    let expected = if is_done { "New" } else { "Old" };
    for (path, _) in &many {
        let now = text(&folder, path);
        let saved_after = path == "n55.md" && now == "mine [[Old]]";
        assert!(now.ends_with(&format!("[[{expected}]]")) || saved_after, "{path}: {now}");
    }
    assert!(text(&folder, "n55.md").starts_with("mine"));
    assert_eq!(folder.vault().join("New.md").exists(), is_done);
}

#[test]
fn a_link_that_another_program_has_just_written_is_rewritten_too() {
    let many: Vec<(String, String)> =
        (0..600).map(|n| (format!("d{}/n{n}.md", n % 40), format!("{n}"))).collect();
    let mut files: Vec<(&str, &str)> =
        many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("a0.md", ""));
    let folder = vault(&files);
    let server = serve(&folder);
    for round in 0..10 {
        server.call("vault_links", json!({ "path": format!("a{round}.md") }));
        std::fs::write(folder.vault().join(format!("new {round}.md")), format!("[[a{round}]]"))
            .unwrap();
        server.call(
            "vault_move",
            json!({ "path": format!("a{round}.md"), "to": format!("a{}.md", round + 1) }),
        );
        assert_eq!(text(&folder, &format!("new {round}.md")), format!("[[a{}]]", round + 1));
    }
}

#[test]
fn a_tag_is_renamed_only_where_it_is_a_tag_afterwards() {
    let folder = vault(&[
        ("a.md", "---\nTags: [old, k]\n---\n#old\n"),
        ("b.md", "---\ntags:\n  - old\n---\n"),
        ("alias.md", "---\nx: &a old\ntags: *a\n---\n#old\n"),
        ("json.md", "---\n{\"tags\": [\"old\"]}\n---\n"),
        ("bad.md", "---\na: [\n---\n#old\n"),
    ]);
    let server = serve(&folder);
    let rename =
        |from: &str, to: &str| server.call("vault_rename_tag", json!({ "path": from, "to": to }));
    let done = rename("old", "older");
    assert_eq!(text(&folder, "a.md"), "---\nTags: [older, k]\n---\n#older\n");
    assert_eq!(
        (text(&folder, "alias.md"), text(&folder, "bad.md")),
        ("---\nx: &a old\ntags: *a\n---\n#older\n".into(), "---\na: [\n---\n#older\n".into())
    );
    assert_eq!(text(&folder, "json.md"), "---\n{\"tags\": [\"old\"]}\n---\n");
    assert_eq!(left_alone(&done), ["alias.md", "json.md"]);
    for name in ["null", "1e3", "0x1F", "true", "_"] {
        rename("older", name);
        assert_eq!(
            server.call("vault_list_all", json!({ "tag": name }))["files"].as_array().map(Vec::len),
            Some(4),
            "{name}: {}",
            text(&folder, "a.md")
        );
        rename(name, "older");
    }
    assert_eq!(rename("older", "Older")["tags_updated"], rename("Older", "older")["tags_updated"]);
}

/// macOS writes names decomposed, and models composed.
#[test]
fn a_name_that_exists_in_another_unicode_form_is_taken() {
    let folder = vault(&[
        ("f/cafe\u{301}.md", "1"),
        ("f/b.md", "2"),
        ("a.md", "[[b]] [[f/café]]"),
        ("n.md", "## Café\n[[#Cafe\u{301}]]\n"),
    ]);
    let server = serve(&folder);
    let before = all(&folder);
    assert_eq!(
        server.fail("vault_move", json!({ "path": "f/b.md", "to": "f/café.md" }))["code"],
        "ALREADY_EXISTS"
    );
    assert_eq!(all(&folder), before);
    let renamed =
        server.call("vault_move", json!({ "path": "n.md#Cafe\u{301}", "to": "n.md#Bar" }));
    assert_eq!(
        (&renamed["links_updated"], text(&folder, "n.md")),
        (&json!(1), "## Bar\n[[#Bar]]\n".into())
    );
}

#[test]
fn of_files_whose_names_differ_in_case_only_no_link_is_moved_to_the_other() {
    let canvas = r#"{"nodes":[{"id":"1","type":"file","file":"f/a.md"}],"edges":[]}"#;
    let folder = vault(&[
        ("f/A.md", "1"),
        ("f/a.md", "2"),
        ("n.md", "[[f/a]] [t](f/a.md)"),
        ("c.canvas", canvas),
    ]);
    let server = serve(&folder);
    let moved = server.call("vault_move", json!({ "path": "f/A.md", "to": "g/Other.md" }));
    assert_eq!(
        (text(&folder, "n.md"), text(&folder, "c.canvas")),
        ("[[f/a]] [t](f/a.md)".into(), canvas.into())
    );
    assert_eq!(moved["left_alone"].as_array().unwrap().len(), 2, "{moved}");
}

#[test]
fn names_that_look_like_others_are_moved_as_they_are() {
    let files = [("README.md.md", "1"), ("a.md", "[[README.md]] [t](README.md)")];
    assert_eq!(
        after_move(&files, "README.md.md", "sub/Read.md", "a.md"),
        "[[Read.md]] [t](Read.md)"
    );
    let files = [(" plan.md", "1"), ("plan.md", "2"), ("Straße.md", "3")];
    assert_eq!(after_move(&files, " plan.md", "old plan.md", "plan.md"), "2");
    assert_eq!(after_move(&files, "plan.md", "Strasse.md", "Strasse.md"), "2");
    let files = [("N.md", "# Old\n")];
    assert_eq!(after_move(&files, "N.md#Old", "N.md#About [[Bob]]", "N.md"), "# About [[Bob]]\n");
}

#[test]
fn a_folder_has_no_etag() {
    let folder = vault(&[("d/x.md", "x")]);
    let server = serve(&folder);
    let error = server
        .fail("vault_move", json!({ "path": "d", "to": "e", "if_match": "0000000000000000" }));
    assert!(
        error["code"] == "INVALID_ARGUMENT"
            && error["message"].as_str().unwrap().contains("if_match"),
        "{error}"
    );
}
