//! What each tool answers on the sample vault, and vaults before and after.

use crate::support::repository::Repository;
use crate::support::{Folder, Server, TOKEN};
use serde_json::{Value, json};
use std::fs::File;
use std::time::{Duration, SystemTime};

pub(crate) fn listed(server: &Server) -> Vec<Value> {
    let answer = server.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).json();
    answer["result"]["tools"].as_array().unwrap().clone()
}

pub fn with_all_tools() -> (Folder, Server) {
    let repository = Repository::of(Folder::sample());
    let claude = crate::agent::that_works(&repository.folder);
    let state = repository.folder.path().join("state");
    let settings = [
        ("STATE_DIR", state.to_str().unwrap()),
        ("AGENT_COMMAND", claude.to_str().unwrap()),
        ("ANTHROPIC_API_KEY", "sk-ant-x"),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("TOOLSETS", "all"),
        ("ACCOMPLISHMENTS_FOLDER", "acc"),
        ("DEFAULT_CANVAS", "plan/main.canvas"),
        ("CONTEXT_DOCS_FOLDER", "Projects"),
    ];
    let server = Server::with(&repository.folder.vault(), &settings);
    (repository.folder, server)
}

#[test]
fn list_all_is_the_map_of_the_vault() {
    let (_folder, server) = Server::sample();
    let all = server.call("vault_list_all", json!({}));
    let files = all["files"].as_array().unwrap();
    assert_eq!(all["total_files"], files.len());
    let paths: Vec<&str> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert!(
        paths.is_sorted()
            && paths.contains(&"Hmm...md")
            && paths.contains(&"Attachments/warranty.pdf")
    );
    assert!(
        paths.iter().all(|path| !path.split('/').any(|name| name.starts_with('.'))),
        "nothing hidden"
    );
    let tags = |path: &str| files.iter().find(|file| file["path"] == path).unwrap()["tags"].clone();
    assert_eq!(
        tags("Projects/Heating System.md"),
        json!(["project", "heating", "mqtt", "heating/summer"]),
        "inline tags too"
    );
    assert_eq!(tags("Recipes/Cold Brew.md"), json!(["coffee", "recipe"]));
    assert_eq!(tags("Daily/2026-02-08.md"), json!(["daily"]));
    assert_eq!(
        tags("Inbox/Broken frontmatter.md"),
        json!(["inbox"]),
        "malformed YAML hides no file"
    );
    assert!(
        tags("Reading/Kalevala.md").as_array().is_some_and(|tags| !tags.is_empty()),
        "a byte order mark is no obstacle"
    );
    assert!(
        tags("Homelab/Router Notes.md").as_array().is_some_and(|tags| !tags.is_empty()),
        "nor is CRLF"
    );
    let daily = server.call("vault_list_all", json!({ "tag": "#Daily" }));
    assert!(daily["total_files"].as_u64().unwrap() >= 5);
    let below = server.call("vault_list_all", json!({ "path": "/Recipes/" }));
    assert_eq!(below["total_files"], 5);
    assert_eq!(
        server.fail("vault_list_all", json!({ "path": "Nowhere" }))["code"],
        "FILE_NOT_FOUND"
    );
    // Pages of any size give the same list.
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = server.call("vault_list_all", json!({ "limit": 7, "cursor": cursor }));
        assert_eq!(page["total_files"], all["total_files"]);
        seen.extend(
            page["files"]
                .as_array()
                .unwrap()
                .iter()
                .map(|file| file["path"].as_str().unwrap().to_owned()),
        );
        if page.get("truncated").is_none() {
            break;
        }
        cursor = page["next_cursor"].clone();
    }
    assert_eq!(seen, paths);
    assert_eq!(
        server.fail("vault_list_all", json!({ "cursor": "???" }))["code"],
        "INVALID_ARGUMENT"
    );
}

#[test]
fn a_large_vault_never_answers_more_than_a_client_takes() {
    let names: Vec<String> = (0..3000)
        .map(|n| format!("folder with a long name/and another one below/note number {n:05}.md"))
        .collect();
    let files: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), &b"---\ntags: [one, two, three]\n---\nneedle"[..]))
        .collect();
    let folder = Folder::with(&files);
    let server = Server::on(&folder.vault());
    for (tool, arguments) in [
        ("vault_list_all", json!({})),
        ("vault_list", json!({ "path": "folder with a long name/and another one below" })),
        ("vault_search", json!({ "query": "needle", "max_results": 200 })),
    ] {
        let result = server.result(tool, arguments);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.chars().count() < 100_000, "{tool}: {}", text.len());
        let total = ["total_files", "total_entries", "total_matches"]
            .iter()
            .find_map(|name| result["structuredContent"][name].as_u64());
        assert_eq!(total, Some(3000), "{tool}");
    }
    let (mut seen, mut cursor) = (0, Value::Null);
    loop {
        let page = server.call(
            "vault_list",
            json!({ "path": "folder with a long name/and another one below", "cursor": cursor }),
        );
        seen += page["entries"].as_array().unwrap().len();
        if page["truncated"] != true {
            break;
        }
        cursor = page["next_cursor"].clone();
    }
    assert_eq!(seen, 3000);
}

#[test]
fn list_shows_one_folder() {
    let (folder, server) = Server::sample();
    std::fs::create_dir(folder.vault().join("Empty")).unwrap();
    let root = server.call("vault_list", json!({}));
    assert_eq!(root["path"], "/");
    let entries = root["entries"].as_array().unwrap();
    let names: Vec<&str> = entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names[..5], ["Attachments", "Daily", "Empty", "Homelab", "Inbox"]);
    assert!(names.ends_with(&["Hmm...md", "Map of Content.md", "Welcome.md"]), "{names:?}");
    assert_eq!(root["total_entries"], entries.len());
    let of = |name: &str| entries.iter().find(|entry| entry["name"] == name).unwrap().clone();
    assert_eq!(of("Empty"), json!({ "name": "Empty", "type": "folder", "children": 0 }));
    assert_eq!(of("Recipes")["children"], 5);
    assert_eq!(
        (of("Welcome.md")["type"].clone(), of("Welcome.md")["size"].clone()),
        (json!("file"), json!(folder.read("Welcome.md").len()))
    );
    for (path, shown) in [
        ("/Projects", "/Projects"),
        ("Projects/", "/Projects"),
        ("Projects/Archive", "/Projects/Archive"),
    ] {
        assert_eq!(server.call("vault_list", json!({ "path": path }))["path"], shown);
    }
    assert_eq!(server.fail("vault_list", json!({ "path": "Nowhere" }))["code"], "FILE_NOT_FOUND");
    assert_eq!(
        server.fail("vault_list", json!({ "path": "Welcome.md" }))["code"],
        "PATH_NOT_ALLOWED"
    );
}

#[test]
fn read_shows_exact_lines() {
    let (folder, server) = Server::sample();
    let whole = server.call("vault_read", json!({ "path": "Recipes/Cold Brew.md" }));
    assert_eq!(whole["content"].as_str().unwrap().as_bytes(), folder.read("Recipes/Cold Brew.md"));
    assert_eq!(whole["showing"], json!([1, whole["total_lines"]]));
    assert!(whole.get("truncated").is_none());
    let long = server.call("vault_read", json!({ "path": "Projects/Heating Logbook.md" }));
    assert_eq!(
        (long["showing"].clone(), long["truncated"].clone(), long["next_offset"].clone()),
        (json!([1, 200]), json!(true), json!(201))
    );
    let rest =
        server.call("vault_read", json!({ "path": "Projects/Heating Logbook.md", "offset": 201 }));
    let both =
        format!("{}{}", long["content"].as_str().unwrap(), rest["content"].as_str().unwrap());
    assert_eq!(both.as_bytes(), folder.read("Projects/Heating Logbook.md"));
    let part = server
        .call("vault_read", json!({ "path": "Homelab/Router Notes.md", "offset": 2, "limit": 2 }));
    assert_eq!(part["content"].as_str().unwrap().matches("\r\n").count(), 2, "line ends are kept");
    let empty = server.call("vault_read", json!({ "path": "Inbox/Untitled.md" }));
    assert_eq!(
        (empty["total_lines"].clone(), empty["showing"].clone(), empty["content"].clone()),
        (json!(0), json!([0, 0]), json!(""))
    );
    for (arguments, code) in [
        (json!({ "path": "Welcome.md", "offset": 5000 }), "INVALID_RANGE"),
        (json!({ "path": "Welcome.md", "offset": 0 }), "INVALID_RANGE"),
        (json!({ "path": "Welcome.md", "limit": -1 }), "INVALID_RANGE"),
        (json!({ "path": "Welcome.md", "offset": "one" }), "INVALID_ARGUMENT"),
        (json!({ "path": "Welcome.md", "lines": 1 }), "INVALID_ARGUMENT"),
        (json!({}), "INVALID_ARGUMENT"),
        (json!({ "path": "welcomed" }), "FILE_NOT_FOUND"),
        (json!({ "path": "Projects" }), "PATH_NOT_ALLOWED"),
        (json!({ "path": "/" }), "PATH_NOT_ALLOWED"),
    ] {
        assert_eq!(server.fail("vault_read", arguments.clone())["code"], code, "{arguments}");
    }
    assert_eq!(
        server.fail("vault_read", json!({ "path": "Notes/welcome" }))["message"],
        "File not found: Notes/welcome. Did you mean: Welcome.md?"
    );
}

#[test]
fn read_shows_pictures_sounds_and_documents() {
    use base64::Engine;
    let (folder, server) = Server::sample();
    let decode = |block: &Value| {
        base64::engine::general_purpose::STANDARD.decode(block.as_str().unwrap()).unwrap()
    };
    let picture = server.result("vault_read", json!({ "path": "Attachments/boiler-sketch.png" }));
    assert_eq!(
        (picture["content"][0]["type"].clone(), picture["content"][0]["mimeType"].clone()),
        (json!("image"), json!("image/png"))
    );
    assert_eq!(
        decode(&picture["content"][0]["data"]),
        folder.read("Attachments/boiler-sketch.png")
    );
    for (path, media_type) in
        [("Attachments/warranty.pdf", "application/pdf"), ("Attachments/cello-a.wav", "audio/wav")]
    {
        let resource =
            server.result("vault_read", json!({ "path": path }))["content"][0]["resource"].clone();
        assert_eq!(resource["mimeType"], media_type);
        assert_eq!(decode(&resource["blob"]), folder.read(path));
    }
    std::fs::write(folder.vault().join("data.bin"), [0, 159, 146, 150]).unwrap();
    let error = server.fail("vault_read", json!({ "path": "data.bin" }));
    assert_eq!((error["code"].clone(), error["size"].clone()), (json!("NOT_TEXT"), json!(4)));
    std::fs::write(folder.vault().join("huge.png"), vec![0; 800 * 1024]).unwrap();
    assert_eq!(server.fail("vault_read", json!({ "path": "huge.png" }))["code"], "TOO_LARGE");
}

#[test]
fn a_line_longer_than_an_answer_is_read_in_pieces() {
    let line = "0123456789 \"ü🎻\\".repeat(30_000);
    let text = format!("first\n{line}\nlast");
    let folder = Folder::with(&[("long.md", text.as_bytes())]);
    let server = Server::on(&folder.vault());
    let (mut offset, mut column, mut whole) = (1, 1, String::new());
    for _ in 0..100 {
        let part = server.call(
            "vault_read",
            json!({ "path": "long.md", "offset": offset, "column": column, "limit": 100 }),
        );
        whole.push_str(part["content"].as_str().unwrap());
        if part["truncated"] != true {
            break;
        }
        offset = part["next_offset"].as_u64().unwrap();
        column = part["next_column"].as_u64().unwrap_or(1);
    }
    assert!(whole == text, "every byte once");
}

#[test]
fn search_finds_names_then_tags_then_text() {
    let (_folder, server) = Server::sample();
    let search = |query: &str| server.call("vault_search", json!({ "query": query }));
    let found = search("heating");
    let kinds: Vec<&str> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["match_type"].as_str().unwrap())
        .collect();
    let order = |kind: &&str| {
        ["filename", "tag", "content"].iter().position(|known| known == kind).unwrap()
    };
    assert!(kinds.iter().map(order).is_sorted(), "{kinds:?}");
    assert!(kinds.contains(&"filename") && kinds.contains(&"tag") && kinds.contains(&"content"));
    let paths: Vec<&str> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths.len(),
        paths.iter().collect::<std::collections::BTreeSet<_>>().len(),
        "one result a file"
    );
    let phrase = search("Heating CONTROLLER");
    assert_eq!(phrase["query"], "Heating CONTROLLER");
    let first = &phrase["results"][0];
    assert_eq!(first["match_type"], "content");
    assert!(first["snippet"].as_str().unwrap().to_lowercase().contains("**heating controller**"));
    let read = server
        .call("vault_read", json!({ "path": first["path"], "offset": first["line"], "limit": 1 }));
    assert!(
        read["content"].as_str().unwrap().to_lowercase().contains("heating controller"),
        "line is where the match is"
    );
    let rare = search("quixotically");
    assert_eq!(
        (rare["total_matches"].clone(), rare["results"][0]["path"].clone()),
        (json!(1), json!("Reading/Don Quijote.md"))
    );
    assert_eq!(search("strasse")["results"][0]["path"], "People/Henrike Vogt.md");
    assert!(search("strasse")["results"][0]["snippet"].as_str().unwrap().contains("**Straße**"));
    for hidden in ["zanzibarlong", "workspace.json"] {
        assert_eq!(search(hidden)["total_matches"], 0, "{hidden}");
    }
    let tag = server.call("vault_search", json!({ "query": "coffee", "path": "Recipes" }));
    let cold_brew = tag["results"]
        .as_array()
        .unwrap()
        .iter()
        .find(|result| result["path"] == "Recipes/Cold Brew.md")
        .unwrap();
    assert_eq!(
        (cold_brew["match_type"].clone(), cold_brew["snippet"].clone()),
        (json!("tag"), json!("tags: **coffee**, recipe"))
    );
    let line = cold_brew["line"].as_u64().unwrap();
    let at = server
        .call("vault_read", json!({ "path": "Recipes/Cold Brew.md", "offset": line, "limit": 1 }));
    assert_eq!(at["content"], "tags: coffee, recipe\n");
    let few = server.call("vault_search", json!({ "query": "e", "max_results": 3 }));
    assert_eq!(few["results"].as_array().unwrap().len(), 3);
    assert!(few["total_matches"].as_u64().unwrap() > 30, "all matching files are counted");
    let tagged =
        server.call("vault_search", json!({ "query": "e", "tag": "recipe", "max_results": 100 }));
    assert!(tagged["total_matches"].as_u64().unwrap() < few["total_matches"].as_u64().unwrap());
    for (arguments, word) in [
        (json!({ "query": "  " }), "empty"),
        (json!({ "query": "x".repeat(2000) }), "1000"),
        (json!({ "query": "x", "max_results": -1 }), "max_results"),
    ] {
        let error = server.fail("vault_search", arguments);
        assert_eq!(error["code"], "INVALID_ARGUMENT");
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
}

#[test]
fn search_ranks_what_a_person_would() {
    let folder = Folder::with(&[
        ("garden.md", b"x"),
        ("garden plan.md", b"x"),
        ("my garden.md", b"x"),
        ("kindergarden.md", b"x"),
        ("garden/other.md", b"x"),
        ("a.md", b"---\ntags: [garden]\n---\n"),
        ("b.md", b"---\ntags: [garden/roses]\n---\n"),
        ("c.md", b"garden garden garden"),
        ("d.md", b"in the garden, sooner"),
        ("e.md", b"in the garden, later."),
    ]);
    let earlier = SystemTime::now() - Duration::from_secs(60);
    let file = File::options().append(true).open(folder.vault().join("d.md")).unwrap();
    file.set_modified(earlier).unwrap();
    let server = Server::on(&folder.vault());
    let paths = |query: &str| -> Vec<String> {
        let found = server.call("vault_search", json!({ "query": query }));
        found["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| result["path"].as_str().unwrap().to_owned())
            .collect()
    };
    let expected = [
        "garden.md",
        "my garden.md",
        "garden plan.md",
        "kindergarden.md",
        "garden/other.md",
        "a.md",
        "b.md",
        "c.md",
        "e.md",
        "d.md",
    ];
    assert_eq!(paths("Garden"), expected);
    assert_eq!(paths("Garden"), expected, "the same each time");
    assert_eq!(paths("later garden")[0], "e.md", "all words, in any order, before those with some");
    let found = server.call("vault_search", json!({ "query": "when is the later garden?" }));
    assert_eq!((&found["total_matches"], &found["partial_matches"]), (&json!(1), &json!(9)));
    assert_eq!(
        (found["results"][0].get("missing"), &found["results"][1]["missing"]),
        (None, &json!(["later"]))
    );
    let found = server.call("vault_search", json!({ "query": "gardem" }));
    assert_eq!(
        (&found["total_matches"], &found["did_you_mean"]),
        (&json!(0), &json!({ "gardem": "garden" })),
        "{found}"
    );
    assert_eq!(found["results"][0]["path"], "garden.md");
}

#[test]
fn write_creates_and_replaces() {
    let (folder, server) = Server::sample();
    let created = server.call(
        "vault_write",
        json!({ "path": "New/Deep/Idea.md", "content": "# Idea\n\nno newline at the end" }),
    );
    assert_eq!(
        (created["created"].clone(), created["size"].clone(), created["total_lines"].clone()),
        (json!(true), json!(29), json!(3))
    );
    assert_eq!(folder.read("New/Deep/Idea.md"), b"# Idea\n\nno newline at the end");
    let replaced =
        server.call("vault_write", json!({ "path": "/New/Deep/Idea.md", "content": "" }));
    assert_eq!(
        (replaced["created"].clone(), replaced["path"].clone(), replaced["total_lines"].clone()),
        (json!(false), json!("New/Deep/Idea.md"), json!(0))
    );
    assert_eq!(
        server.call("vault_search", json!({ "query": "deep/idea" }))["total_matches"],
        1,
        "known at once"
    );
    for (arguments, code) in [
        (json!({ "path": "Nowhere/x.md", "content": "", "create_dirs": false }), "FILE_NOT_FOUND"),
        (json!({ "path": "Projects", "content": "" }), "PATH_NOT_ALLOWED"),
        (json!({ "path": "Welcome.md/x.md", "content": "" }), "PATH_NOT_ALLOWED"),
        (json!({ "path": ".obsidian/app.json", "content": "{}" }), "PATH_NOT_ALLOWED"),
        (json!({ "path": "x.md" }), "INVALID_ARGUMENT"),
        (json!({ "path": "x.md", "content": "x".repeat(10 * 1024 * 1024 + 1) }), "TOO_LARGE"),
    ] {
        assert_eq!(server.fail("vault_write", arguments)["code"], code);
    }
    assert!(!folder.vault().join("Nowhere").exists() && !folder.vault().join("x.md").exists());
}

#[test]
fn lost_updates_are_noticed() {
    let (folder, server) = Server::sample();
    let path = "Recipes/Cold Brew.md";
    let etag = server.call("vault_read", json!({ "path": path }))["etag"].clone();
    std::fs::write(folder.vault().join(path), "changed in Obsidian").unwrap();
    for (tool, mut arguments) in [
        ("vault_write", json!({ "content": "x" })),
        ("vault_edit", json!({ "old_text": "changed", "new_text": "x" })),
    ] {
        arguments["path"] = json!(path);
        arguments["if_match"] = etag.clone();
        let error = server.fail(tool, arguments.clone());
        assert_eq!(error["code"], "CONFLICT");
        assert_eq!(folder.read(path), b"changed in Obsidian");
        let now = server.call("vault_read", json!({ "path": path }))["etag"].clone();
        assert_eq!(error["etag"], now);
    }
    let now = server.call("vault_read", json!({ "path": path }))["etag"].clone();
    let edited = server.call(
        "vault_edit",
        json!({ "path": path, "old_text": "changed", "new_text": "edited", "if_match": now }),
    );
    assert_eq!(edited["etag"], server.call("vault_read", json!({ "path": path }))["etag"]);
    assert_eq!(
        server
            .fail("vault_write", json!({ "path": "missing.md", "content": "x", "if_match": "0" }))
            ["code"],
        "CONFLICT"
    );
    assert!(!folder.vault().join("missing.md").exists());
}

/// One text changes; every other byte of every kind of file stays.
#[test]
fn edit_keeps_every_other_byte() {
    for (before, old, new, after) in [
        (&b"a\nb\nc"[..], "b", "B", &b"a\nB\nc"[..]),
        (
            b"\xef\xbb\xbf---\r\ntags: [x] # comment\r\n'q': \"1.10\"\r\n---\r\nbody\r\n",
            "body",
            "two\nlines",
            b"\xef\xbb\xbf---\r\ntags: [x] # comment\r\n'q': \"1.10\"\r\n---\r\ntwo\r\nlines\r\n",
        ),
        (b"one\r\ntwo\r\nthree", "one\ntwo", "1\n2", b"1\r\n2\r\nthree"),
        ("Stra\u{df}e \u{1f3bb}".as_bytes(), "\u{1f3bb}", "", "Stra\u{df}e ".as_bytes()),
        (b"$1 (a+)* \\0", "(a+)*", "$0", b"$1 $0 \\0"),
    ] {
        let folder = Folder::with(&[("n.md", before)]);
        let server = Server::on(&folder.vault());
        let answer =
            server.call("vault_edit", json!({ "path": "n.md", "old_text": old, "new_text": new }));
        assert_eq!(answer["replaced"], true);
        assert_eq!(folder.read("n.md"), after, "{old}");
    }
}

#[test]
fn an_edit_that_is_not_clear_changes_nothing() {
    let (folder, server) = Server::sample();
    let before = folder.read("Projects/Heating Logbook.md");
    let fail = |old: &str| {
        server.fail(
            "vault_edit",
            json!({ "path": "Projects/Heating Logbook.md", "old_text": old, "new_text": "x" }),
        )
    };
    assert_eq!(fail("no such text anywhere")["code"], "TEXT_NOT_FOUND");
    assert!(
        fail("no such text anywhere")["message"]
            .as_str()
            .unwrap()
            .starts_with("Text not found in file")
    );
    let many = fail("e");
    assert_eq!(many["code"], "TEXT_NOT_UNIQUE");
    let message = many["message"].as_str().unwrap();
    assert!(
        message.starts_with("Text appears ") && message.contains(" times in file, must be unique"),
        "{message}"
    );
    assert_eq!(fail("")["code"], "INVALID_ARGUMENT");
    assert_eq!(
        server.fail("vault_edit", json!({ "path": "none.md", "old_text": "a", "new_text": "b" }))["code"],
        "FILE_NOT_FOUND"
    );
    assert_eq!(folder.read("Projects/Heating Logbook.md"), before);
}

#[test]
fn calls_are_logged_without_their_text() {
    let (folder, server) = Server::sample();
    server.call("vault_write", json!({ "path": "log me.md", "content": "never in a log" }));
    server.fail("vault_read", json!({ "path": "not/here.md" }));
    #[cfg(feature = "notes")]
    {
        let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
        server.call("vault_move", json!({ "path": "log me.md", "to": "moved.md" }));
        server
            .fail("vault_move", json!({ "path": "moved.md#Secret heading", "to": "moved.md#New" }));
        server.call("vault_delete", json!({ "paths": ["moved.md"] }));
        let log = server.log_with("tool=vault_delete");
        assert!(
            log.contains(r#"path="log me.md" path="moved.md" outcome=ok"#)
                && !log.contains("heading"),
            "{log}"
        );
        assert!(
            log.contains(
                r#"tool=vault_delete user="token:all" login="all" path="moved.md" outcome=ok"#
            ),
            "{log}"
        );
    }
    let research = Server::with(&folder.vault(), &[("TOOLSETS", "vault,research")]);
    research.fail("fetch", json!({ "id": "gone.md" }));
    let log = research.log_with("tool=fetch");
    assert!(log.contains(r#"path="gone.md" outcome=FILE_NOT_FOUND"#), "{log}");
    server.call("vault_search", json!({ "query": "a private question" }));
    let log = server.log_with("tool=vault_search");
    assert!(
        log.contains(
            r#"tool=vault_write user="token:all" login="all" path="log me.md" outcome=ok"#
        ),
        "{log}"
    );
    assert!(log.contains(r#"path="not/here.md" outcome=FILE_NOT_FOUND"#), "{log}");
    assert!(
        !log.contains("never in a log")
            && !log.contains("private question")
            && !log.contains(TOKEN)
    );
    drop(folder);
}
