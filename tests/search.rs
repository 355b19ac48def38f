//! Search against a slow reference that does without everything that makes the real one fast; and
//! what it does while the vault is being indexed, replaced or gone.

use crate::support::{Folder, Server, eventually, thorough};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use unicode_normalization::UnicodeNormalization;
use vault_sync_mcp::search::Search;
use vault_sync_mcp::search::results::{Hit, Query};
use vault_sync_mcp::text::words::query_words;
use vault_sync_mcp::vault::{Vault, composed};

/// Texts by chance: words of letters that are hard to fold.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn word(&mut self) -> String {
        const PIECES: [&str; 24] = [
            "a", "B", "ss", "ß", "ẞ", "İ", "i", "k", "\u{212a}", "é", "E\u{301}", "Σ", "ς", "ö",
            "O\u{308}", "ﬁ", "🎻", "st", "ing", "the", "Tor", "x", "9", "-",
        ];
        (0..1 + self.below(5)).map(|_| PIECES[self.below(24)]).collect()
    }

    fn text(&mut self, words: usize) -> String {
        let mut text = String::new();
        for _ in 0..words {
            text.push_str(&self.word());
            text.push_str([" ", " ", "\n", ". "][self.below(4)]);
        }
        text
    }
}

/// Composed, in lower case, with the letters whose capital does not come back by it as the same.
fn folded(text: &str) -> String {
    text.nfc()
        .flat_map(|c| match c {
            'ẞ' => vec!['ß'],
            'İ' => vec!['i'],
            c => c.to_lowercase().collect(),
        })
        .collect::<String>()
        .replace('ß', "ss")
        .replace('ς', "σ")
}

#[test]
fn a_search_finds_what_a_slow_one_finds() {
    let mut chance = Chance(7);
    let files: Vec<(String, String)> = (0..300)
        .map(|n| {
            let name = chance.word().replace(['.', '/'], "_");
            let words = 1 + chance.below(40);
            (format!("folder {}/{name} {n}.md", n % 7), chance.text(words))
        })
        .collect();
    let bytes: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let folder = Folder::with(&bytes);
    let search = Search::new(Vault::open(&folder.vault()).unwrap());
    for round in 0..if thorough() { 400 } else { 120 } {
        let query = match round % 4 {
            0 => chance.word(),
            1 => format!("{} {}", chance.word(), chance.word()),
            2 => chance.word().to_uppercase(),
            // A piece of a text, from anywhere to anywhere.
            _ => {
                let text: Vec<char> = files[chance.below(300)].1.chars().collect();
                let from = chance.below(text.len());
                text[from..(from + 1 + chance.below(12)).min(text.len())].iter().collect()
            }
        };
        let ends = ['?', '!', '.', ',', ';'];
        let whole = folded(&query);
        let bare = whole.trim().trim_end_matches(ends);
        let asked: Vec<String> = (if bare.is_empty() { whole.trim() } else { bare })
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let counting: Vec<String> = query_words(&query).iter().map(|word| folded(word)).collect();
        // What a minus sign excludes is tested with the language.
        if asked.is_empty() || asked.iter().any(|word| word.starts_with('-')) {
            continue;
        }
        // Each word somewhere: in the name or in the text.
        let having = |words: &[String]| -> BTreeSet<String> {
            let has = |(path, text): &&(String, String)| {
                let (path, text) = (folded(path.strip_suffix(".md").unwrap()), folded(text));
                words
                    .iter()
                    .all(|word| path.contains(word.as_str()) || text.contains(word.as_str()))
            };
            files.iter().filter(has).map(|(path, _)| composed(path).into()).collect()
        };
        let mut right = having(if asked.len() > 1 { &counting } else { &asked });
        if right.is_empty() && counting.len() == 1 {
            right = having(&counting);
        }
        let wanted = Query { text: &query, max_results: 1000, ..Query::default() };
        let found = search.run(&wanted, &|_, _| true).unwrap();
        let (whole, partly): (Vec<&Hit>, Vec<&Hit>) =
            found.hits.iter().partition(|hit| hit.missing.is_empty());
        assert_eq!(partly.len(), found.partial, "{query:?}");
        let paths: BTreeSet<String> = whole.iter().map(|hit| hit.entry.path.to_string()).collect();
        assert_eq!(paths, right, "{query:?}");
        assert_eq!((found.total, found.not_searched), (right.len(), 0), "{query:?}");
        for hit in &found.hits {
            assert!(hit.snippet.contains("**"), "{query:?}: {}", hit.snippet);
        }
    }
}

#[test]
fn searches_answer_while_notes_change() {
    let folder = Folder::sample();
    let server = Server::on(&folder.vault());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                std::fs::write(
                    folder.vault().join(format!("changing {}.md", number % 50)),
                    format!("heating number {number}"),
                )
                .unwrap();
            }
        });
        let searches: Vec<_> = (0..4)
            .map(|own| {
                let server = &server;
                scope.spawn(move || {
                    for number in 0..100 {
                        let query = ["heating", "-heating", "heating OR broker", "number"]
                            [(own + number) % 4];
                        let found = server.call("vault_search", json!({ "query": query }));
                        assert!(found["results"].is_array(), "{found}");
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = searches.into_iter().map(|search| search.join()).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(outcomes.iter().all(Result::is_ok));
    });
}

#[test]
fn results_are_ordered_as_a_model_likes() {
    let folder = Folder::with(&[
        ("a/Boiler.md", b"x"),
        ("a/Boiler manual.md", b"x"),
        ("a/The boiler room.md", b"x"),
        ("a/Preboiler.md", b"x"),
        ("boiler/x.md", b"x"),
        ("tag.md", b"---\ntags: boiler\n---\n"),
        ("sub.md", b"---\ntags: boiler/gas\n---\n"),
        ("often.md", b"late late boiler boiler boiler"),
        ("once, older.md", b"something before the boiler"),
        ("once, newer.md", b"something before the boiler"),
    ]);
    let server = Server::on(&folder.vault());
    let found = server.call("vault_search", json!({ "query": "Boiler" }));
    let paths: Vec<&str> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["path"].as_str().unwrap())
        .collect();
    let expected = [
        "a/Boiler.md",
        "a/Boiler manual.md",
        "a/The boiler room.md",
        "a/Preboiler.md",
        "boiler/x.md",
        "tag.md",
        "sub.md",
        "often.md",
        "once, newer.md",
        "once, older.md",
    ];
    assert_eq!(paths, expected);
    let folder = Folder::with(&[
        ("apart.md", b"talks to the controller of the heating"),
        ("phrase.md", b"x x x the heating controller"),
    ]);
    let server = Server::on(&folder.vault());
    let found = server.call("vault_search", json!({ "query": "heating controller" }));
    assert_eq!(found["results"][0]["path"], "phrase.md", "the phrase before the words");
    assert_eq!(found["total_matches"], 2);
}

/// An alias is another name; the words of a name may be in another order, with other stop words or
/// in another form.
#[test]
fn a_note_whose_name_or_alias_is_the_query_is_the_first() {
    let folder = Folder::with(&[
        ("Heating.md", b"---\naliases: [Boiler, Warm Rooms]\n---\nx"),
        ("Old boiler.md", b"boiler boiler boiler"),
        ("Plugins for daily notes.md", b"A list."),
        ("Roundup.md", b"The daily notes plugins, and how a room is kept warm: warm rooms, and daily notes plugins again."),
        ("GitHub Pages.md", b"A host."),
        ("Git.md", b"How to publish: a vault on github, its pages, and publish pages of a vault again."),
    ]);
    let server = Server::on(&folder.vault());
    for (query, right) in [
        ("boiler", "Heating.md"),
        ("the warm rooms", "Heating.md"),
        ("rooms, warm", "Heating.md"),
        ("daily notes plugins", "Plugins for daily notes.md"),
        ("plugin for the daily note", "Plugins for daily notes.md"),
        ("github pages domain", "GitHub Pages.md"),
    ] {
        let found = server.call("vault_search", json!({ "query": query }));
        assert_eq!(found["results"][0]["path"], right, "{query}");
    }
}

/// A vault that goes and comes back: an error that says so, and nothing forgotten; also where its
/// folder still exists, as an empty folder, which is what an unmounted one leaves.
#[test]
fn a_vault_that_goes_and_comes_back_is_not_forgotten() {
    let folder = Folder::sample();
    let server = Server::on(&folder.vault());
    let search = || server.result("vault_search", json!({ "query": "heating" }));
    let before = search()["structuredContent"].clone();
    let away = folder.path().join("away");
    for empty_folder in [false, true] {
        std::fs::rename(folder.vault(), &away).unwrap();
        if empty_folder {
            std::fs::create_dir(folder.vault()).unwrap();
        }
        eventually("it is said", || {
            search()["content"][0]["text"].as_str().unwrap().contains("not available")
        });
        server.log_with("the vault cannot be read");
        if empty_folder {
            std::fs::remove_dir(folder.vault()).unwrap();
        }
        std::fs::rename(&away, folder.vault()).unwrap();
        eventually("it is back", || search()["structuredContent"] == before);
    }
    // Another folder with other notes is the vault now.
    std::fs::rename(folder.vault(), &away).unwrap();
    std::fs::create_dir(folder.vault()).unwrap();
    std::fs::write(folder.vault().join("new.md"), "heating only here").unwrap();
    eventually("the new one is served", || search()["structuredContent"]["total_matches"] == 1);
}

/// While a large vault is indexed for the first time a search does not wait for the end, and says
/// so.
#[test]
fn a_search_does_not_wait_for_the_whole_of_a_large_vault() {
    let folder =
        Folder::with(&[("0000.md", "lighthouse and what else there is ".repeat(400).as_bytes())]);
    let first = folder.vault().join("0000.md");
    (1..6000).for_each(|n| {
        std::fs::hard_link(&first, folder.vault().join(format!("{n:04}.md"))).unwrap()
    });
    let server = Server::on(&folder.vault());
    let ask = || server.call("vault_search", json!({ "query": "lighthouse", "max_results": 1 }));
    let mut last = 0;
    loop {
        let found = ask();
        let total = found["total_matches"].as_u64().unwrap();
        assert!(total >= last, "what was found stays found");
        last = total;
        if found.get("indexing").is_none() {
            break;
        }
        assert!(found["indexing"] == true && total <= 6000, "{found}");
    }
    assert_eq!(last, 6000);
}

/// What is written while the vault's file system is away would be hidden when it is back.
#[test]
fn nothing_is_written_to_the_mount_point_of_an_absent_vault() {
    let folder = Folder::sample();
    let server = Server::on(&folder.vault());
    server.call("vault_search", json!({ "query": "heating" }));
    let away = folder.path().join("away");
    std::fs::rename(folder.vault(), &away).unwrap();
    std::fs::create_dir(folder.vault()).unwrap();
    let error = server.fail("vault_write", json!({ "path": "lost.md", "content": "x" }));
    assert!(error["message"].as_str().unwrap().contains("not available"), "{error}");
    assert_eq!(std::fs::read_dir(folder.vault()).unwrap().count(), 0);
    std::fs::remove_dir(folder.vault()).unwrap();
    std::fs::rename(&away, folder.vault()).unwrap();
    server.call("vault_write", json!({ "path": "found.md", "content": "x" }));
}

#[test]
fn text_is_found_in_either_unicode_form() {
    use unicode_normalization::UnicodeNormalization;
    let texts = ["회의록 2026", "கொழும்பு", "Tiếng Việt", "λόγος \u{1f7b}"];
    for decompose in [true, false] {
        let form = |text: &str| {
            if decompose { text.nfd().collect::<String>() } else { text.nfc().collect() }
        };
        let notes: Vec<(String, String)> =
            texts.iter().enumerate().map(|(n, text)| (format!("{n}.md"), form(text))).collect();
        let notes: Vec<(&str, &[u8])> =
            notes.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
        let folder = Folder::with(&notes);
        let server = Server::on(&folder.vault());
        for (n, query) in ["회의", "கொழு", "tiếng việt", "\u{3cd}"].iter().enumerate()
        {
            for query in [query.nfc().collect::<String>(), query.nfd().collect()] {
                let found = server.call("vault_search", json!({ "query": query }));
                assert_eq!(
                    (&found["total_matches"], &found["results"][0]["path"]),
                    (&json!(1), &json!(format!("{n}.md"))),
                    "{query:?}"
                );
            }
        }
    }
}

#[test]
fn text_files_without_a_known_ending_are_searched_and_others_are_not() {
    let folder = Folder::with(&[
        ("Makefile", b"all: build needle\n"),
        ("notes.foo", "n\u{e9}edle needle\n".as_bytes()),
        ("long.foo", format!("{}needle\n", "\u{e9}".repeat(1_000)).as_bytes()),
        ("program.bin", b"needle\0\x01"),
        ("later.bin", [b"a".repeat(2_000), b"needle\xff\xfe".to_vec()].concat().as_slice()),
    ]);
    let server = Server::on(&folder.vault());
    let found = server.call("vault_search", json!({ "query": "needle" }));
    let mut paths: Vec<&str> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["path"].as_str().unwrap())
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, ["Makefile", "long.foo", "notes.foo"], "{found}");
}

#[cfg(feature = "context")]
#[test]
fn results_that_were_cut_say_so_and_cursors_belong_to_their_call() {
    let notes: Vec<String> = (0..30).map(|n| format!("a/{n:02}.md")).collect();
    let mut files: Vec<(&str, &[u8])> =
        notes.iter().map(|path| (path.as_str(), &b"word"[..])).collect();
    files.extend([("b/05.md", &b"other"[..]), ("c/x.md", b"")]);
    let folder = Folder::with(&files);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    assert_eq!(
        server.call("vault_search", json!({ "query": "word", "max_results": 5 }))["truncated"],
        true
    );
    assert!(
        server
            .call("vault_search", json!({ "query": "word", "max_results": 30 }))
            .get("truncated")
            .is_none()
    );
    let page = server.call("vault_list_all", json!({ "path": "a", "limit": 10 }));
    let cursor = page["next_cursor"].as_str().unwrap();
    let next = server.call("vault_list_all", json!({ "path": "a", "limit": 20, "cursor": cursor }));
    assert_eq!(
        (next["files"].as_array().unwrap().len(), next["files"][0]["path"].as_str().unwrap()),
        (20, "a/10.md"),
        "another length is fine"
    );
    for (tool, arguments) in [
        ("vault_list_all", json!({ "cursor": cursor })),
        ("vault_list_all", json!({ "path": "b", "cursor": cursor })),
        ("vault_list", json!({ "path": "a", "cursor": cursor })),
    ] {
        assert_eq!(server.fail(tool, arguments)["code"], "INVALID_ARGUMENT", "{tool}");
    }
    let missing = server.fail("vault_read", json!({ "path": "b/x.md" }))["message"].to_string();
    assert!(missing.contains("c/x.md"), "{missing}");
    let missing =
        server.fail("vault_read", json!({ "path": "b/deep/05.md" }))["message"].to_string();
    assert!(missing.find("b/05.md") < missing.find("a/05.md"), "the same folder first: {missing}");
    let cut =
        server.result("search_vault_content", json!({ "search_pattern": "^word$", "regex": true }));
    assert!(
        cut["content"][0]["text"].as_str().unwrap().starts_with("30 matches in 30 notes"),
        "^ and $ match at line ends: {cut}"
    );
}

#[cfg(feature = "context")]
#[test]
fn an_expression_finds_a_line_in_files_with_either_line_end() {
    let folder = Folder::with(&[
        ("lf.md", b"---\nstatus: active\n---\n"),
        ("crlf.md", b"---\r\nstatus: active\r\n---\r\n"),
        ("no.md", b"status: active now\n"),
    ]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    let found = server.result(
        "search_vault_content",
        json!({ "search_pattern": "^status: active$", "regex": true }),
    );
    assert!(
        found["content"][0]["text"].as_str().unwrap().starts_with("2 matches in 2 notes"),
        "{found}"
    );
}

/// A file that cannot be read is counted as not searched, and not as one without a match.
#[cfg(feature = "context")]
#[test]
fn a_file_that_cannot_be_read_is_counted_as_not_searched() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with(&[("open.md", b"word\n"), ("closed.md", b"word\n")]);
    let on_disk = folder.vault().join("closed.md");
    std::fs::set_permissions(&on_disk, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&on_disk).is_ok() {
        // Root reads everything; bytes beyond what is read stand in for it.
        std::fs::set_permissions(&on_disk, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::File::options().write(true).open(&on_disk).unwrap().set_len(11 << 20).unwrap();
    }
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    let found = server.result("search_vault_content", json!({ "search_pattern": "word" }));
    let text = found["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("1 matches in 1 notes")
            && text.contains("\n1 notes were not searched to their end"),
        "{text}"
    );
}

#[test]
fn the_search_language_narrows_what_is_found() {
    let folder = Folder::with(&[
        (
            "Drinks/Black tea.md",
            "---\ntags: [drinks/hot]\nstatus: Done\nkinds: [leaf, 12]\n---\nSteep it for four \
             minutes. No milk.\n"
                .as_bytes(),
        ),
        (
            "Drinks/Green tea.md",
            "---\ntags: drinks\nstatus: open\n---\nA leaf at eighty degrees; is it black\ntea? It \
             takes more.\n"
                .as_bytes(),
        ),
        ("Cake.md", "Goes with tea, black or green. Milk and sugar.\n".as_bytes()),
        ("Old/Notes.md", "C++ and -fast: \"quoted [x] text.\n".as_bytes()),
    ]);
    let server = Server::on(&folder.vault());
    let paths = |query: &str| -> BTreeSet<String> {
        let found = server.call("vault_search", json!({ "query": query }));
        let results = found["results"].as_array().unwrap();
        let whole = results.iter().filter(|hit| hit.get("missing").is_none());
        let whole: BTreeSet<String> = whole
            .map(|hit| hit["path"].as_str().unwrap().rsplit('/').next().unwrap().replace(".md", ""))
            .collect();
        assert_eq!(found["total_matches"], whole.len(), "{query}: {found}");
        whole
    };
    for (query, expected) in [
        ("tea", &["Black tea", "Green tea", "Cake"][..]),
        ("tea -milk", &["Green tea"]),
        ("tea -(milk OR eighty)", &[]),
        ("\"black tea\"", &["Black tea"]),
        ("\"tea, black\" sugar", &["Cake"]),
        ("steep OR sugar", &["Black tea", "Cake"]),
        ("tea (steep OR sugar)", &["Black tea", "Cake"]),
        ("tea?", &["Black tea", "Green tea", "Cake"]),
        ("file:tea", &["Black tea", "Green tea"]),
        ("path:md", &["Black tea", "Green tea", "Cake", "Notes"]),
        ("file:.m -old", &["Black tea", "Green tea", "Cake"]),
        ("path:drinks -file:green", &["Black tea"]),
        ("content:black", &["Green tea", "Cake"]),
        ("tag:#drinks", &["Black tea", "Green tea"]),
        ("tag:drinks/hot leaf", &["Black tea"]),
        ("[status]", &["Black tea", "Green tea"]),
        ("[status:done]", &["Black tea"]),
        ("[kinds:LEAF]", &["Black tea"]),
        ("[kinds:12] steep", &["Black tea"]),
        ("-tea", &["Notes"]),
        ("C++", &["Notes"]),
        ("[x] text", &["Notes"]),
        ("\"quoted", &["Notes"]),
    ] {
        assert_eq!(
            paths(query),
            expected.iter().map(|name| (*name).to_owned()).collect(),
            "{query}"
        );
    }
    let found = server.call("vault_search", json!({ "query": "steep \"tea, black\"" }));
    assert_eq!(
        (&found["total_matches"], &found["partial_matches"]),
        (&json!(0), &json!(2)),
        "{found}"
    );
    let found = server.call("vault_search", json!({ "query": "(".repeat(900) }));
    assert_eq!(found["total_matches"], 0, "{found}");
    let found = server.call("vault_search", json!({ "query": "content:sugar", "max_results": 1 }));
    assert!(found["results"][0]["snippet"].as_str().unwrap().contains("**sugar**"), "{found}");
}
