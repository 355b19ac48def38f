//! Weights, signs in words, snippets and the time that they take.

use crate::search_language::paths;
use crate::support::{Folder, Server};
use serde_json::json;
use std::time::{Duration, Instant};

/// Also a word whose stem has an ending of its own: `databas` is stemmed to `databa`.
#[test]
fn a_word_of_most_notes_weighs_less_than_one_of_few() {
    let notes: Vec<(String, String)> = (0..30)
        .map(|number| {
            (
                format!("n{number}.md"),
                format!("a database, {}\n", if number == 20 { "zebra" } else { "and" }),
            )
        })
        .collect();
    let folder = Folder::with(
        &notes.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect::<Vec<_>>(),
    );
    std::fs::write(folder.vault().join("other.md"), "zebra, and much else about animals\n")
        .unwrap();
    let server = Server::with(&folder.vault(), &[]);
    let found = server.call(
        "vault_search",
        json!({ "query": "which database has unicorn zebra", "max_results": 3 }),
    );
    assert_eq!(paths(&found).get(..2), Some(&["n20.md", "other.md"][..]), "{found}");
}

/// As macOS writes them: a match in the original may end inside of a letter.
#[test]
fn a_match_in_decomposed_letters_is_shown_in_its_line() {
    let folder = Folder::with(&[("n.md", "Intro\n\nIch trinke Cafe\u{301} gern\n".as_bytes())]);
    let server = Server::on(&folder.vault());
    for query in ["match-case:Cafe", "/Caf\\w/"] {
        let found = server.call("vault_search", json!({ "query": query }));
        assert_eq!(found["results"][0]["line"], 3, "{query} {found}");
    }
}

#[test]
fn the_snippet_is_the_line_whose_words_weigh_most() {
    let mut notes: Vec<(String, String)> =
        (0..9).map(|n| (format!("n{n}.md"), format!("## Decisions\n- about {n}\n"))).collect();
    notes.push((
        "here.md".into(),
        "# Meeting\n\n## Decisions\n- Postpone the migration to spring\n".into(),
    ));
    let folder = Folder::with(
        &notes.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect::<Vec<_>>(),
    );
    let server = Server::on(&folder.vault());
    let found = server.call("vault_search", json!({ "query": "decisions about the migration" }));
    assert_eq!(
        (&found["results"][0]["path"], &found["results"][0]["line"]),
        (&json!("here.md"), &json!(4)),
        "{found}"
    );
    // All words of a line count, also where they are before its first rare one or in an address.
    for (text, query, shown) in [
        (
            "The alpha version of this was made to be a beta\ngamma\n",
            "alpha beta gamma",
            "**alpha** version of this was made to be a **beta**",
        ),
        (
            "get http://localhost:3000/bank now\nmethod post\n",
            "method localhost http",
            "**localhost**",
        ),
    ] {
        let folder = Folder::with(&[("n.md", text.as_bytes())]);
        let server = Server::on(&folder.vault());
        let found = server.call("vault_search", json!({ "query": query }));
        assert!(found["results"][0]["snippet"].as_str().unwrap().contains(shown), "{found}");
    }
}

#[test]
fn a_word_is_shown_rather_than_a_part_of_another() {
    let folder = Folder::with(&[("n.md", b"Areas of knowledge.\n\nAt night an owl flies.\n")]);
    let server = Server::on(&folder.vault());
    assert_eq!(server.call("vault_search", json!({ "query": "owl" }))["results"][0]["line"], 3);
}

#[test]
fn a_number_is_no_part_of_a_longer_one_in_a_phrase() {
    let long = format!("see chapter 12 and chapter 13\n{}", "words of another kind\n".repeat(300));
    let folder = Folder::with(&[
        ("a12.md", b"chapter 12 chapter 12 chapter 12 chapter 1x"),
        ("b.md", long.as_bytes()),
        ("c.md", b"Chapter 1\n\nIt begins.\n"),
    ]);
    let server = Server::on(&folder.vault());
    let found = server.call("vault_search", json!({ "query": "chapter 1" }));
    assert_eq!(found["results"][0]["path"], "a12.md", "{found}");
    assert_eq!(found["results"][1]["path"], "c.md", "{found}");
}

#[test]
fn a_line_with_many_matches_and_changed_letters_takes_milliseconds() {
    let line = format!("{}needle {}**y**\n", "\u{1d160} ".repeat(120_000), "Aa a ".repeat(1_000));
    let folder = Folder::with(&[("n.md", line.as_bytes())]);
    let server = Server::with(&folder.vault(), &[]);
    server.call("vault_search", json!({ "query": "needle" }));
    let started = Instant::now();
    server.call("vault_search", json!({ "query": "a" }));
    assert!(
        !crate::support::thorough() || started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn options_endings_signs_and_slashes_are_part_of_what_is_asked() {
    let folder = Folder::with(&[
        ("ssh.md", b"Check a key with ssh-keygen -lf key.pub\n" as &[u8]),
        ("keys.md", b"ssh-keygen makes keys, one line feed (lf) each; show them\n"),
        ("Food/Kimchi.md", b"---\ntags: [ferment]\n---\nsalt and cabbage\n"),
        ("Food/Salt.md", b"salt, kimchi, ferment: salt and more salt\n"),
        ("Dishwasher.md", b"salt salt salt, kimchi\n"),
        ("Tax 2026.md", b"due in May\n"),
    ]);
    let server = Server::on(&folder.vault());
    let found = |query: &str| server.call("vault_search", json!({ "query": query }));
    for (query, first) in [
        ("what does ssh-keygen -lf show", "ssh.md"),
        ("Kimchi.md salt", "Food/Kimchi.md"),
        ("Food/Kimchi.md: salt", "Food/Kimchi.md"),
        ("#ferment salt", "Food/Kimchi.md"),
        ("/Food/Kimchi.md", "Food/Kimchi.md"),
        ("path:/Food cabbage", "Food/Kimchi.md"),
        ("/* cabbage */ salt", "Food/Kimchi.md"),
    ] {
        assert_eq!(paths(&found(query))[0], first, "{query}");
    }
    assert_eq!(
        paths(&found("ssh-keygen -makes")),
        ["ssh.md"],
        "what no file has behind this word is excluded"
    );
    let other_year = found("tax 2024");
    assert_eq!(
        (&other_year["total_matches"], other_year.get("did_you_mean")),
        (&json!(0), None),
        "another number is another thing"
    );
}

/// The order of the source: names, then tags, then text.
#[test]
fn all_words_in_the_name_or_the_tags_are_a_match_there() {
    let folder = Folder::with(&[
        (
            "a.md",
            b"---\nname: x\ntags: [heating, controller, go, mqtt]\n---\nThe heating controller.\n",
        ),
        ("Controller of heating.md", b"The heating controller.\n"),
        ("c.md", b"---\ntags: [heating]\n---\nThe heating controller.\n"),
    ]);
    let server = Server::with(&folder.vault(), &[]);
    let found = server.call("vault_search", json!({ "query": "heating controller" }));
    let of = |path: &str| {
        let results = found["results"].as_array().unwrap();
        results.iter().find(|result| result["path"] == path).unwrap().clone()
    };
    let by_tag = of("a.md");
    assert_eq!(
        (&by_tag["match_type"], &by_tag["snippet"], &by_tag["line"]),
        (&json!("tag"), &json!("tags: [**heating**, **controller**, go, mqtt]"), &json!(3))
    );
    assert_eq!(of("Controller of heating.md")["match_type"], "filename");
    assert_eq!(of("c.md")["match_type"], "content");
}
