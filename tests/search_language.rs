//! The parts of Obsidian's search language, sorting, times, passages and pages of `vault_search`.

use crate::support::{Folder, Server, eventually, thorough};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::File;
use std::time::{Duration, UNIX_EPOCH};

pub fn paths(found: &Value) -> Vec<&str> {
    found["results"].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect()
}

#[test]
fn lines_blocks_sections_tasks_case_and_expressions() {
    let folder = Folder::with(&[
        ("tea.md", b"# Tea\r\nBrew the Leaves\r\nfor three minutes\r\n\r\n- [ ] buy leaves #shop\r\n- [x] wash the pot\r\n- [/] order a Kettle\r\n\r\n## Later\r\nminutes of silence\r\n"),
        ("coffee.md", b"---\nstatus: Open\ntags: [drinks/hot]\n---\nGrind, brew.\n\nfour minutes\n\n```\n- [ ] no task #nocode\n```\n%%\n- [ ] hidden task\n%%\n"),
        ("Kettle.png", b"\x89PNG"),
    ]);
    let server = Server::on(&folder.vault());
    let ask = |query: &str| {
        let found = server.call("vault_search", json!({ "query": query }));
        let mut found: Vec<String> = paths(&found).into_iter().map(str::to_owned).collect();
        found.sort_unstable();
        found
    };
    for (query, expected) in [
        ("line:(brew leaves)", &["tea.md"][..]),
        ("line:(brew minutes)", &[]),
        ("block:(brew minutes)", &["tea.md"]),
        ("block:(grind minutes)", &[]),
        ("section:(brew pot)", &["tea.md"]),
        ("section:(brew silence)", &[]),
        ("section:(later silence)", &["tea.md"]),
        ("task:leaves", &["tea.md"]),
        ("task:\"\"", &["tea.md"]),
        ("task-todo:pot", &[]),
        ("task-done:pot", &["tea.md"]),
        ("task-todo:kettle", &["tea.md"]),
        ("task:task", &[]),
        ("task:(match-case:kettle)", &[]),
        ("task:(match-case:Kettle)", &["tea.md"]),
        ("match-case:Brew", &["tea.md"]),
        ("match-case:brew", &["coffee.md"]),
        ("match-case:(Brew ignore-case:MINUTES)", &["tea.md"]),
        ("/^for three minutes$/", &["tea.md"]),
        ("/Minutes/", &[]),
        ("/(?i)MINUTES$/", &["coffee.md", "tea.md"]),
        ("line:(/^four/ minutes)", &["coffee.md"]),
        ("path:/^coff.*md$/", &["coffee.md"]),
        ("-/brew/", &["Kettle.png", "tea.md"]),
        ("/PNG/", &[]),
        ("content:/x*/", &["coffee.md", "tea.md"]),
        ("match-case:PNG", &[]),
        ("brew -md", &["coffee.md", "tea.md"]),
        ("tag:(shop OR drinks)", &["coffee.md", "tea.md"]),
        ("brew path:-tea", &["coffee.md"]),
        ("file:kettle", &["Kettle.png"]),
        ("tag:#shop", &["tea.md"]),
        ("(#drinks OR zzz)", &["coffee.md"]),
        ("brew -#drinks", &["tea.md"]),
        ("/e\\.md$/", &["coffee.md"]),
        ("path:/a\\.md$/", &["tea.md"]),
        ("tag:nocode", &[]),
        ("tag:drinks", &["coffee.md"]),
        ("task:(tag:shop leaves)", &["tea.md"]),
        ("task:(tag:shop pot)", &[]),
        ("[status:open] minutes", &["coffee.md"]),
        ("content:(brew minutes) -path:tea", &["coffee.md"]),
    ] {
        assert_eq!(ask(query), expected, "{query}");
    }
    let found = server.call("vault_search", json!({ "query": "line:(brew leaves)" }));
    assert_eq!(
        (&found["results"][0]["line"], &found["results"][0]["snippet"]),
        (&json!(2), &json!("**Brew** the **Leaves**"))
    );
    let found = server.call("vault_search", json!({ "query": "/f[o]r three/" }));
    assert_eq!(
        (&found["results"][0]["line"], &found["results"][0]["snippet"]),
        (&json!(3), &json!("**for three** minutes"))
    );
    let error = server.fail("vault_search", json!({ "query": "tea /a(b/" }));
    assert_eq!(error["code"], "INVALID_ARGUMENT");
    assert!(
        error["message"].as_str().unwrap().contains("unclosed group at character 2"),
        "{error}"
    );
    let error = server.fail("vault_search", json!({ "query": "/(?=a)b/" }));
    assert!(error["message"].as_str().unwrap().contains("look-around"), "{error}");
}

/// What is in quotes is found as it is written, with marks and stop words; its words alone make
/// partial matches when no file has it.
#[test]
fn quoted_text_is_found_as_it_is() {
    let folder = Folder::with(&[
        ("a.md", b"call f(x)! and the end"),
        ("b.md", "call f x, an end; 会議の議事録".as_bytes()),
    ]);
    let server = Server::on(&folder.vault());
    for (query, right) in [
        ("\"f(x)!\"", &["a.md"][..]),
        ("\"the\"", &["a.md"]),
        ("\"end;\" call", &["b.md"]),
        ("\"the call\"", &[]),
        ("\"議の議\"", &["b.md"]),
        ("\"議録\"", &[]),
    ] {
        let found = server.call("vault_search", json!({ "query": query, "max_results": 10 }));
        assert_eq!(found["total_matches"], right.len(), "{query}: {found}");
        assert!(right.iter().all(|path| paths(&found).contains(path)), "{query}");
    }
    for (query, total) in [
        ("what is the \"and the end\"?", 1),
        ("“and the end”", 1),
        ("(and the end)", 2),
        ("and the end?", 2),
    ] {
        let found = server.call("vault_search", json!({ "query": query }));
        assert_eq!(
            (&found["total_matches"], &found["results"][0]["path"]),
            (&json!(total), &json!("a.md")),
            "{query}: {found}"
        );
    }
    let found = server.call("vault_search", json!({ "query": "\"an end to the call\"" }));
    assert_eq!(
        (&found["total_matches"], &found["partial_matches"]),
        (&json!(0), &json!(2)),
        "{found}"
    );
    assert_eq!(found["did_you_mean"], json!({ "an end to the call": "end call" }));
    assert_eq!(found["results"][0]["missing"], json!(["an end to the call"]));
}

/// A word with a mark that nothing has is first one without it, as `wi-fi` is `wifi`; else its
/// parts are looked for.
#[test]
fn a_word_with_a_mark_is_corrected_or_taken_apart() {
    let folder = Folder::with(&[
        ("a.md", b"The wifi router"),
        ("b.md", b"with a filter"),
        ("c.md", b"state of the art"),
        ("d.md", b"statement"),
    ]);
    let server = Server::on(&folder.vault());
    for (query, used, first) in [
        ("wi-fi", "wifi", "a.md"),
        ("state-of-the-art", "state art", "c.md"),
        ("art+router", "art router", "a.md"),
    ] {
        let found = server.call("vault_search", json!({ "query": query }));
        assert_eq!(
            (&found["did_you_mean"][query], paths(&found)[0]),
            (&json!(used), first),
            "{found}"
        );
    }
}

#[test]
fn what_only_looks_like_the_language_is_words() {
    let folder = Folder::with(&[
        ("npm.md", b"Run npm install -g headless.\n"),
        ("draft.md", b"---\na: 5\n---\nThe [draft] of a plan.\n"),
        ("dash.md", b"publish your notes; an arrow\n"),
        ("other.md", b"---\nstatus: done\n---\nHappy days\n"),
    ]);
    let server = Server::on(&folder.vault());
    for (query, expected) in [
        ("npm install -g headless", &["npm.md"][..]),
        ("headless -an install", &["npm.md"]),
        ("install -npm", &[]),
        ("install -( npm OR other )", &[]),
        ("days -2", &["other.md"]),
        ("[\"draft\"] plan", &["draft.md"]),
        ("[draft] plan", &["draft.md"]),
        ("[draft]", &["draft.md"]),
        ("[a:5]", &["draft.md"]),
        ("[status:open OR Done]", &["other.md"]),
        ("[status:(open OR waiting)]", &[]),
        ("[status:\"open\" OR \"done\"]", &["other.md"]),
        ("[status:\"open OR done\"]", &[]),
        ("[status] days", &["other.md"]),
        ("-[status] days", &[]),
        ("publish — notes", &["dash.md"]),
        ("publish = notes", &["dash.md"]),
        ("ignore-case:HAPPY", &["other.md"]),
        ("ignore-case:(happy DAYS)", &["other.md"]),
    ] {
        let found = server.call("vault_search", json!({ "query": query }));
        assert_eq!(
            (paths(&found), &found["total_matches"]),
            (expected.to_vec(), &json!(expected.len())),
            "{query}"
        );
    }
}

#[test]
fn what_stands_in_for_an_unknown_word_is_a_word_of_the_vault() {
    let folder = Folder::with(&[
        ("a.md", "Wörter zählen im Café; a dark and quiet mode for the upgrade\n".as_bytes()),
        ("b.md", b"required sequence, unsure; Wardley maps forward; a sociologist\n"),
    ]);
    let server = Server::on(&folder.vault());
    for (query, instead) in [
        ("woerter", "wörter"),
        ("cafe", "café"),
        ("upgrading", "upgrade"),
        ("wardly", "wardley"),
        ("quietly", "quiet"),
    ] {
        let found = server.call("vault_search", json!({ "query": query }));
        assert_eq!(found["did_you_mean"], json!({ query: instead }), "{query}");
        assert_eq!((paths(&found).len(), &found["total_matches"]), (1, &json!(0)), "{query}");
    }
    for query in ["equations", "unsubscribe", "zaehler", "darkmode", "sociology"] {
        let found = server.call("vault_search", json!({ "query": query }));
        assert!(found["did_you_mean"].is_null() && paths(&found).is_empty(), "{query}: {found}");
    }
}

/// Also a word that was looked up in vain before the word index had what stands in for it.
#[test]
fn a_word_of_a_new_note_stands_in_for_an_unknown_one() {
    let folder = Folder::with(&[("a.md", b"tea")]);
    let server = Server::on(&folder.vault());
    let search = || server.call("vault_search", json!({ "query": "kettel" }));
    assert!(search()["did_you_mean"].is_null());
    server.call("vault_write", json!({ "path": "b.md", "content": "the kettle" }));
    eventually("it is corrected", || search()["did_you_mean"] == json!({ "kettel": "kettle" }));
    server.call("vault_write", json!({ "path": "b.md", "content": "no more" }));
    assert!(search()["did_you_mean"].is_null(), "it is gone at once");
}

#[test]
fn a_single_word_finds_its_other_forms_too() {
    let folder = Folder::with(&[
        ("Backup.md", b"how\n"),
        ("list.md", b"two backups of it\n"),
        ("one.md", b"a backup is made\n"),
        ("other.md", b"nothing\n"),
    ]);
    let server = Server::on(&folder.vault());
    let found = server.call("vault_search", json!({ "query": "backups" }));
    assert_eq!(paths(&found), ["Backup.md", "list.md", "one.md"]);
    assert_eq!((&found["total_matches"], &found["partial_matches"]), (&json!(1), &json!(2)));
    let types: Vec<&Value> =
        found["results"].as_array().unwrap().iter().map(|hit| &hit["match_type"]).collect();
    assert_eq!(types, ["filename", "content", "content"]);
    assert_eq!(found["results"][2]["missing"], json!(["backups"]));
}

#[test]
fn the_line_that_is_shown_is_in_what_was_asked_for() {
    let folder = Folder::with(&[
        ("a.md", b"first beta line\n\n> alpha here\n> then beta\n"),
        ("t.md", b"---\ntags: [gamma]\nStatus: done\n---\ntext\n- #delta/x here\n"),
        ("bold.md", b"**Lost the server** again\n"),
        ("K\u{e4}se plan.md", b"# Cheese\r\nfirst\r\nsecond\r\n"),
    ]);
    let server = Server::on(&folder.vault());
    for (query, match_type, line, snippet) in [
        ("block:(alpha beta)", "content", 3, "> **alpha** here"),
        ("tag:gamma", "tag", 2, "tags: [**gamma**]"),
        ("tag:delta", "tag", 6, "- #**delta**/x here"),
        ("[status:done]", "content", 3, "**Status**: done"),
        ("server", "content", 1, "Lost the **server** again"),
        ("/k?.se pl.n/i", "filename", 1, "**K\u{e4}se plan**.md"),
        ("content:cheese", "content", 1, "# **Cheese**"),
        ("/FIRST\\n.e/i", "content", 2, "**first se**cond"),
        ("tag:(gamma OR none)", "tag", 2, "tags: [**gamma**]"),
        ("/^$/ path:bold", "content", 1, "Lost the server again"),
        ("what is the [status:done]?", "content", 3, "**Status**: done"),
        ("[empty:null] OR [status:Done]", "content", 3, "**Status**: done"),
    ] {
        let found = server.call("vault_search", json!({ "query": query }));
        let hit = &found["results"][0];
        assert_eq!(
            (&hit["match_type"], &hit["line"], &hit["snippet"]),
            (&json!(match_type), &json!(line), &json!(snippet)),
            "{query}"
        );
    }
}

/// A question in a language without spaces, with other words and marks in it, finds the notes that
/// have the most of it.
#[test]
fn questions_without_spaces_are_answered() {
    let folder = Folder::with(&[
        ("a.md", "密歇根州的大学组成了Merit网络，以帮助该州的教育和经济发展。".as_bytes()),
        ("b.md", "网络的历史：ARPANET 是最早的网络之一。".as_bytes()),
        ("c.md", "ห้องสมุดของโรงเรียนเปิดทุกวันจันทร์".as_bytes()),
        ("d.md", "โรงเรียนปิดวันอาทิตย์".as_bytes()),
    ]);
    let server = Server::on(&folder.vault());
    for (query, first) in [
        ("密歇根州为什么组成了Merit网络？", "a.md"),
        ("最早的“网络”是什么?", "b.md"),
        ("ห้องสมุดเปิดวันไหน", "c.md"),
    ] {
        let found = server.call("vault_search", json!({ "query": query }));
        assert_eq!(
            (&found["total_matches"], paths(&found).first()),
            (&json!(0), Some(&first)),
            "{query}: {found}"
        );
        assert_eq!(found["results"][0]["missing"].as_array().unwrap().len(), 1, "{query}: {found}");
    }
}

/// Of a text with more words than are looked for those count that the fewest files have.
#[test]
fn a_whole_letter_as_a_query_finds_what_it_is_about() {
    let common = (0..60).map(|n| format!("common{n}")).collect::<Vec<_>>().join(" ");
    let files: Vec<(String, String)> =
        (0..20).map(|n| (format!("{n}.md"), format!("{common} rare{n}"))).collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let folder = Folder::with(&files);
    let server = Server::on(&folder.vault());
    let found = server.call("vault_search", json!({ "query": format!("{common} (rare7)") }));
    assert_eq!((&found["total_matches"], paths(&found)[0]), (&json!(1), "7.md"));
}

#[test]
fn inline_tags_count_wherever_tags_do() {
    let folder = Folder::with(&[
        ("a.md", b"---\ntags: [Home]\n---\ntext #home/garden and `#code`\n"),
        ("b.md", b"only here: #Home\n"),
        ("c.md", b"# home\n\nhttp://x/#home\n"),
    ]);
    let server = Server::on(&folder.vault());
    let all = server.call("vault_list_all", json!({ "tag": "home" }));
    let tags: Vec<&Value> =
        all["files"].as_array().unwrap().iter().map(|file| &file["tags"]).collect();
    assert_eq!(tags, [&json!(["Home", "home/garden"]), &json!(["Home"])]);
    assert_eq!(
        paths(&server.call("vault_search", json!({ "query": "text OR only", "tag": "#home" }))),
        ["b.md", "a.md"]
    );
    let found = server.call("vault_search", json!({ "query": "garden" }));
    assert_eq!(found["results"][0]["match_type"], "tag");
    assert_eq!(
        (&found["results"][0]["line"], &found["results"][0]["snippet"]),
        (&json!(4), &json!("text #home/**garden** and `#code`"))
    );
}

#[test]
fn times_narrow_and_sort() {
    let folder = Folder::with(&[
        ("old.md", b"tea and more tea"),
        ("day.md", b"tea"),
        ("new.md", b"tea with words"),
        ("none.md", b"words"),
    ]);
    // 2026-02-08T12:00:00Z and the days around it.
    for (name, day) in [("old.md", -1), ("day.md", 0), ("new.md", 1), ("none.md", 2_i64)] {
        let time = UNIX_EPOCH + Duration::from_secs((1_770_552_000 + day * 86_400) as u64);
        File::options()
            .write(true)
            .open(folder.vault().join(name))
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    let server = Server::on(&folder.vault());
    let ask = |mut arguments: Value| {
        arguments["query"] = "tea words".into();
        server.call("vault_search", arguments)
    };
    assert_eq!(
        paths(&ask(json!({ "sort": "modified" }))),
        ["new.md", "none.md", "day.md", "old.md"]
    );
    assert_eq!(
        ask(json!({ "sort": "modified" }))["results"][0]["modified"],
        "2026-02-09T12:00:00Z"
    );
    assert!(ask(json!({}))["results"][0].get("modified").is_none());
    let sorted = |arguments: Value| {
        let found = ask(arguments);
        paths(&found)
            .into_iter()
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        sorted(json!({ "modified_after": "2026-02-08", "modified_before": "2026-02-08" })),
        ["day.md"],
        "inclusive"
    );
    assert_eq!(sorted(json!({ "modified_after": "2026-02-09" })), ["new.md", "none.md"]);
    assert_eq!(sorted(json!({ "modified_before": "2026-02-08T12:00:00Z" })), ["day.md", "old.md"]);
    assert_eq!(sorted(json!({ "modified_before": "2026-02-08T13:59:59+02:00" })), ["old.md"]);
    for wrong in ["yesterday", "2026-13-01", "2026-02-30", "2026-02-08T25:00:00Z", "8.2.2026"] {
        let error = server.fail("vault_search", json!({ "query": "tea", "modified_after": wrong }));
        assert!(error["message"].as_str().unwrap().contains("modified_after"), "{wrong}: {error}");
    }
}

#[test]
fn passages_are_the_parts_that_answer_within_a_budget() {
    let filler = "Something else is said here, at length and without an end.\n".repeat(30);
    let note = format!(
        "# Boiler\n{filler}\n## Ignition\nThe burner ignites when the valve opens.\n\n## \
         Service\n{filler}The valve is oiled.\n"
    );
    let notes: Vec<(String, String)> =
        (0..40).map(|n| (format!("{n:02}.md"), note.clone())).collect();
    let notes: Vec<(&str, &[u8])> =
        notes.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let folder = Folder::with(&notes);
    let server = Server::on(&folder.vault());
    let arguments =
        json!({ "query": "when does the burner open its valve?", "snippets": "passages" });
    let found = server.call("vault_search", arguments);
    let passages = found["results"][0]["passages"].as_array().unwrap();
    let first = &passages[0];
    let text = first["text"].as_str().unwrap();
    assert!(text.starts_with("## Ignition\nThe burner") && text.chars().count() <= 600, "{text}");
    let from = first["from_line"].as_u64().unwrap() as usize;
    assert_eq!(note.lines().nth(from - 1), Some("## Ignition"));
    assert_eq!(
        note.lines().nth(first["to_line"].as_u64().unwrap() as usize - 1),
        text.lines().last()
    );
    assert!(found.to_string().chars().count() <= 8_000, "{}", found.to_string().len());
    assert!(found["next_cursor"].is_string() && paths(&found).len() > 1);
    for most in [1_500, 6_000] {
        let found = server
                .call("vault_search", json!({ "query": "burner valve", "snippets": "passages", "max_chars": most, "max_results": 40 }));
        let length = found.to_string().chars().count();
        assert!(length <= most && length > most * 2 / 3, "{length} of {most}");
    }
    // Where a cursor does not fit, there is one result at least.
    for most in [300, 400, 800] {
        let found =
            server.call("vault_search", json!({ "query": "burner valve", "max_chars": most }));
        assert!(
            found.to_string().chars().count() <= most
                && found["truncated"] == true
                && !paths(&found).is_empty(),
            "{most}: {found}"
        );
    }
    let found = server.call(
        "vault_search",
        json!({ "query": "valve is oiled?", "snippets": "passages", "max_results": 1 }),
    );
    assert!(
        found["results"][0]["passages"][0]["text"]
            .as_str()
            .unwrap()
            .contains("The valve is oiled."),
        "the phrase comes first"
    );
    let bare = server.call("vault_search", json!({ "query": "burner valve", "snippets": "none" }));
    assert!(
        bare["results"][0].get("snippet").is_none() && bare["results"][0].get("passages").is_none()
    );
}

#[test]
fn all_pages_together_have_each_result_once() {
    // More than are looked at closely.
    let (count, per_page) = if thorough() { (800, 90) } else { (150, 45) };
    let notes: Vec<(String, String)> = (0..count)
        .map(|n| {
            let text = ["words", "more words", "of it"][n % 3];
            (format!("{n:03}.md"), format!("{}{text}", "tea ".repeat(n % 7 + 1)))
        })
        .collect();
    let bytes: Vec<(&str, &[u8])> =
        notes.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let folder = Folder::with(&bytes);
    let server = Server::on(&folder.vault());
    for query in ["tea", "tea words more", "\"tea words\" OR more", "tea nowhereword"] {
        let is_found = |n: &usize| !query.contains("OR") || n % 3 != 2;
        let expected: BTreeSet<String> =
            (0..count).filter(is_found).map(|n| format!("{n:03}.md")).collect();
        for sort in ["relevance", "modified"] {
            let page = |length: usize, cursor: &Value| {
                let arguments = json!({ "query": query, "sort": sort, "max_results": length, "snippets": "none", "cursor": cursor });
                server.call("vault_search", arguments)
            };
            let (mut seen, mut cursor) = (Vec::new(), Value::Null);
            loop {
                // A page may be shorter than the one before.
                let found = page(per_page - seen.len() / per_page, &cursor);
                seen.extend(paths(&found).into_iter().map(str::to_owned));
                cursor = found["next_cursor"].clone();
                if cursor.is_null() {
                    break;
                }
            }
            assert_eq!(seen.len(), expected.len(), "{query}, {sort}: none twice");
            assert_eq!(BTreeSet::from_iter(seen), expected, "{query}, {sort}: none missing");
        }
    }
}

#[test]
fn a_cursor_of_another_query_is_refused() {
    let folder =
        Folder::with(&[("a.md", b"tea one"), ("b.md", b"tea two"), ("c.md", b"tea three")]);
    let server = Server::on(&folder.vault());
    // A mark that no text has behind the word.
    let first = server.call("vault_search", json!({ "query": "tea;", "max_results": 1 }));
    let cursor = &first["next_cursor"];
    let page = |cursor: &Value| json!({ "query": "tea;", "max_results": 1, "cursor": cursor });
    let second = server.call("vault_search", page(cursor));
    assert_ne!(first["results"][0]["path"], second["results"][0]["path"]);
    let other = json!({ "query": "tea", "cursor": cursor });
    assert_eq!(server.fail("vault_search", other)["code"], "INVALID_ARGUMENT");
    let text = URL_SAFE_NO_PAD.decode(cursor.as_str().unwrap()).unwrap();
    let call = String::from_utf8(text).unwrap().trim_end_matches('1').to_owned();
    for made_by_hand in ["x", "-1", "99999999999999999999999"] {
        let cursor = URL_SAFE_NO_PAD.encode(format!("{call}{made_by_hand}"));
        assert_eq!(
            server.fail("vault_search", page(&cursor.into()))["code"],
            "INVALID_ARGUMENT",
            "{made_by_hand}"
        );
    }
    // Results have gone meanwhile.
    let far = URL_SAFE_NO_PAD.encode(format!("{call}18446744073709551615"));
    assert_eq!(server.call("vault_search", page(&far.into()))["results"], json!([]));
}

/// Operators, expressions and words without end have bounded costs, and nothing is found wrong in
/// silence.
#[test]
fn hostile_queries_end_soon() {
    let big = format!("{}needle\n", "lorem ipsum dolor `unclosed $ [[ <!-- #tag \n".repeat(22_000));
    let notes: Vec<(String, Vec<u8>)> =
        (0..12).map(|n| (format!("{n}.md"), big.clone().into_bytes())).collect();
    let bytes: Vec<(&str, &[u8])> =
        notes.iter().map(|(path, text)| (path.as_str(), text.as_slice())).collect();
    let folder = Folder::with(&bytes);
    let server = Server::on(&folder.vault());
    server.call("vault_list_all", json!({}));
    for query in [
        "(a b) ".repeat(160),
        "-x ".repeat(300),
        "line:(a OR ".repeat(15) + "b" + &")".repeat(15),
        "section:(lorem block:(ipsum line:(dolor needle)))".into(),
        "line:(line:(absent))".into(),
        "/(x+x+)+y/ /(.*)(.*)(.*)z/".into(),
        "block:/needle$/ -line:/^never/".into(),
        "a".repeat(1_000),
        "lorem ".repeat(160),
        "\"".repeat(1_000),
    ] {
        let started = std::time::Instant::now();
        let found = server.call("vault_search", json!({ "query": query }));
        assert!(
            !thorough() || started.elapsed() < Duration::from_secs(10),
            "{query:.60}: {:?}",
            started.elapsed()
        );
        assert!(found["total_matches"].is_u64());
    }
    let error = server.fail("vault_search", json!({ "query": "x".repeat(10_000) }));
    assert_eq!(error["code"], "INVALID_ARGUMENT");
    let error = server.fail("vault_search", json!({ "query": "/a/ ".repeat(9) }));
    assert!(
        error["message"].as_str().unwrap().contains("more than 8 regular expressions"),
        "{error}"
    );
}
