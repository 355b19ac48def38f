//! Toolset `context`: notes by their frontmatter, loaded whole and in chunks.

use crate::stdio::Client;
use crate::support::{Folder, Server};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// Notes with the first the oldest, a minute apart.
fn vault(files: &[(&str, &str)]) -> Folder {
    let bytes: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    let folder = Folder::with(&bytes);
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_770_000_000);
    for (minute, (path, _)) in (0..).zip(files) {
        let file = std::fs::File::options().write(true).open(folder.vault().join(path)).unwrap();
        file.set_modified(start + Duration::from_secs(60 * minute)).unwrap();
    }
    folder
}

fn people() -> Folder {
    vault(&[
        ("z first.md", "---\ncontext: personal\ntags: [health, Body]\n---\nI run.\n"),
        (
            "job/plan.md",
            "---\ncontext: [work, personal]\ntags: project/big, active\ntype: plan\npriority: \
             2\ndone: false\nsince: 2026-02-08\nempty:\n---\nThe plan is neural network research.",
        ),
        (
            "job/old.md",
            "---\ncontext: work\ntitle: An | old thing\ntags:\n  - active\n---\nneural \
             net\nNeural NET\n",
        ),
        ("broken.md", "---\ncontext: [personal\n---\nbroken frontmatter\n"),
        ("plain.md", "no frontmatter, no neurons\n"),
        ("notes.txt", "---\ncontext: personal\n---\nnot a note\n"),
        (".obsidian/x.md", "---\ncontext: personal\n---\nhidden\n"),
    ])
}

fn serve(folder: &Folder) -> Server {
    Server::with(&folder.vault(), &[("TOOLSETS", "context")])
}

/// The text of a call's result, which is all that there is.
#[track_caller]
fn fetch(server: &Server, tool: &str, arguments: Value) -> String {
    let result = server.result(tool, arguments);
    assert_eq!(
        (&result["isError"], result.get("structuredContent")),
        (&json!(false), None),
        "{result}"
    );
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// How many notes a text shows: whole, as rows of a table, or as numbered results.
fn notes_in(text: &str) -> usize {
    let rows = text.lines().filter(|line| line.starts_with("| ")).count().saturating_sub(1);
    let is_result = |line: &str| {
        line.split_once(". ")
            .is_some_and(|(number, rest)| number.parse::<u32>().is_ok() && rest.contains(" match"))
    };
    text.matches(&head("")[..81]).count() / 2
        + rows
        + text.lines().filter(|line| is_result(line)).count()
}

fn head(path: &str) -> String {
    format!("{0}\n{path}\n{0}\n", "=".repeat(80))
}

#[test]
fn a_context_is_its_notes_whole_and_the_oldest_first() {
    let folder = people();
    let server = serve(&folder);
    let text = |path: &str| String::from_utf8(folder.read(path)).unwrap();
    let document = fetch(&server, "fetch_context", json!({ "context_type": "personal" }));
    let expected = format!(
        "{}{}\n{}{}",
        head("z first.md"),
        text("z first.md"),
        head("job/plan.md"),
        text("job/plan.md")
    );
    assert_eq!(document, expected);
    let words = fetch(&server, "fetch_context", json!({ "context_type": "Personal" }));
    assert!(
        words.contains("personal (2), work (2)") && notes_in(&words) == 0,
        "names are compared in their case: {words}"
    );
    let error = server.fail("fetch_context", json!({}));
    assert!(
        error["code"] == "INVALID_ARGUMENT"
            && error["message"].as_str().unwrap().contains("work (2)"),
        "{error}"
    );
}

#[test]
fn properties_and_tags_choose_notes_as_stated() {
    let folder = people();
    let server = serve(&folder);
    let all = ["z first.md", "job/plan.md", "job/old.md", "broken.md", "plain.md"];
    for (arguments, expected) in [
        (json!({}), &all[..]),
        (json!({ "properties": {}, "tags": [] }), &all[..]),
        (json!({ "properties": { "context": "work" } }), &all[1..3]),
        (json!({ "properties": { "context": "work", "type": "plan" } }), &all[1..2]),
        (json!({ "properties": { "context": ["work", "personal"] } }), &all[1..2]),
        (
            json!({ "properties": { "priority": 2, "done": false, "since": "2026-02-08", "empty": null } }),
            &all[1..2],
        ),
        (json!({ "properties": { "priority": "2" } }), &[]),
        (json!({ "properties": { "Context": "work" } }), &[]),
        (json!({ "properties": { "missing": null } }), &[]),
        (json!({ "tags": ["active"] }), &all[1..3]),
        (json!({ "tags": ["#active", "health"] }), &all[..3]),
        (json!({ "tags": ["active", "project/big"], "match_all_tags": true }), &all[1..2]),
        (json!({ "tags": ["project"] }), &[]),
        (json!({ "tags": ["Project/Big"] }), &all[1..2]),
        (json!({ "tags": ["body"] }), &all[..1]),
        (json!({ "tags": ["active"], "properties": { "type": "plan" } }), &all[1..2]),
    ] {
        let document = fetch(&server, "fetch_matching_files", arguments.clone());
        let found: Vec<&str> =
            all.into_iter().filter(|path| document.contains(&head(path))).collect();
        assert_eq!(found, expected, "{arguments}");
        assert_eq!(notes_in(&document), expected.len(), "{arguments}");
        assert_eq!(notes_in(&fetch(&server, "fetch_frontmatter_index", arguments)), expected.len());
    }
    for (arguments, word) in [
        (json!({ "properties": "context" }), "properties"),
        (json!({ "tags": "active" }), "tags"),
        (json!({ "tags": [1] }), "tags"),
        (json!({ "max_chars": 95_001 }), "max_chars"),
        (json!({ "max_chars": 999 }), "max_chars"),
    ] {
        let error = server.fail("fetch_matching_files", arguments);
        assert!(
            error["code"] == "INVALID_ARGUMENT"
                && error["message"].as_str().unwrap().contains(word),
            "{error}"
        );
    }
}

#[test]
fn the_index_is_a_table() {
    let folder = people();
    let server = serve(&folder);
    let table = fetch(&server, "fetch_frontmatter_index", json!({ "tags": ["active"] }));
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows[0], "| title | path | tags | context | type | modified | bytes |");
    assert_eq!(
        rows[2],
        format!(
            "| plan | job/plan.md | project/big, active | work, personal | plan | 2026-02-02 | {} \
             |",
            folder.read("job/plan.md").len()
        )
    );
    assert!(
        rows[3].starts_with("| An \\| old thing | job/old.md | active | work |  | 2026-02-02 |"),
        "{}",
        rows[3]
    );
    assert_eq!(rows.len(), 4);
}

#[test]
fn all_chunks_together_are_the_whole() {
    let notes: Vec<(String, String)> = (0..120)
        .map(|n| {
            (
                format!("n{n:03}.md"),
                format!("---\ncontext: c\n---\n{}", "§ line 🎻\n".repeat(n * 7 % 400)),
            )
        })
        .collect();
    let folder =
        vault(&notes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let server = serve(&folder);
    for (tool, arguments, files) in [
        ("fetch_context", json!({ "context_type": "c" }), 120),
        ("fetch_matching_files", json!({}), 120),
        ("fetch_frontmatter_index", json!({}), 120),
        ("search_vault_content", json!({ "search_pattern": "line" }), 119),
        ("fetch_specific_file", json!({ "file_path": "n057.md" }), 1),
    ] {
        let ask = |chunk: usize, max: usize| {
            let mut arguments = arguments.clone();
            arguments["chunk_index"] = chunk.into();
            arguments["max_chars"] = max.into();
            server.result(tool, arguments)
        };
        // The head of a table is repeated.
        let without_head = |text: String| match tool {
            "fetch_frontmatter_index" => text.splitn(3, '\n').nth(2).unwrap().to_owned(),
            _ => text,
        };
        let whole = fetch(&server, tool, arguments.clone());
        assert!(whole.chars().count() <= 95_000, "{tool}");
        let (mut together, mut index, mut chunks) = (String::new(), 0, 1);
        while index < chunks {
            let result = ask(index, 1_500);
            let text = result["content"][0]["text"].as_str().unwrap();
            let (header, text) = text.split_once('\n').unwrap();
            chunks = header.split(' ').nth(3).unwrap().trim_matches([';', ',']).parse().unwrap();
            assert!(chunks > 1 && header.len() + text.chars().count() < 1_500, "{tool}");
            assert!(
                header.starts_with(&format!("Chunk {} of {chunks}", index + 1)),
                "{tool}: {header}"
            );
            let next = format!(
                "; for the next one call again with chunk_index {} and digest n",
                index + 1
            );
            assert_eq!(header.contains(&next), index + 1 < chunks, "{header}");
            together.push_str(&without_head(text.to_owned()));
            index += 1;
        }
        assert_eq!(
            notes_in(&together) + usize::from(tool == "fetch_frontmatter_index"),
            files,
            "{tool}"
        );
        match whole.strip_prefix("Chunk 1 of ") {
            None => assert_eq!(together, without_head(whole), "{tool}"),
            Some(first) => {
                assert!(together.starts_with(first.split_once('\n').unwrap().1), "{tool}")
            }
        }
        let past: Value =
            serde_json::from_str(ask(chunks, 1_500)["content"][0]["text"].as_str().unwrap())
                .unwrap();
        assert_eq!(past["error"]["code"], "INVALID_RANGE");
        assert!(
            past["error"]["message"]
                .as_str()
                .unwrap()
                .contains(&format!("{chunks} chunks, 0 to {}", chunks - 1)),
            "{past}"
        );
    }
}

#[test]
fn contents_are_searched_plain_or_by_expression() {
    let folder = people();
    let server = serve(&folder);
    let ask = |arguments: Value| fetch(&server, "search_vault_content", arguments);
    let text = ask(json!({ "search_pattern": "NEURAL net", "context_chars": 6 }));
    assert!(
        text.starts_with(
            "3 matches in 2 notes for \"NEURAL net\"\n\n1. An | old thing (2 matches)\n   path: \
             job/old.md\n"
        ),
        "{text}"
    );
    assert!(text.contains("tags: active; context: work"), "{text}");
    assert!(
        text.contains(
            "   line 7: ...e --- **neural net** Neura...\n   line 8: ...l net **Neural NET** \n"
        ),
        "{text}"
    );
    assert!(
        text.contains("2. plan (1 match)")
            && text.contains("line 10: ...an is **neural net**work r..."),
        "{text}"
    );
    assert_eq!(notes_in(&text), 2);
    for (arguments, files) in [
        (json!({ "search_pattern": "Neural NET", "case_sensitive": true }), 1),
        (json!({ "search_pattern": "neural.*research", "regex": true }), 1),
        (json!({ "search_pattern": "NEURAL.NET", "regex": true }), 2),
        (json!({ "search_pattern": "NEURAL.NET", "regex": true, "case_sensitive": true }), 0),
        (json!({ "search_pattern": "q*", "regex": true }), 0),
        (json!({ "search_pattern": "neural.*net" }), 0),
        (json!({ "search_pattern": "broken frontmatter" }), 1),
        (json!({ "search_pattern": "not a note" }), 0),
        (json!({ "search_pattern": "hidden" }), 0),
    ] {
        assert_eq!(notes_in(&ask(arguments.clone())), files, "{arguments}");
    }
    for (arguments, word) in [
        (json!({ "search_pattern": "a(b", "regex": true }), "unclosed group"),
        (json!({ "search_pattern": "(?=x)", "regex": true }), "look-around"),
        (json!({ "search_pattern": "(\\w{1000}){1000}", "regex": true }), "too large"),
        (json!({ "search_pattern": "" }), "empty"),
    ] {
        let error = server.fail("search_vault_content", arguments);
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
    // A pattern that takes other engines for ever.
    let evil = "a".repeat(50_000) + "b";
    std::fs::write(folder.vault().join("evil.md"), &evil).unwrap();
    let started = std::time::Instant::now();
    ask(json!({ "search_pattern": "(a+)+$", "regex": true }));
    assert!(
        !crate::support::thorough() || started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn one_note_is_loaded_by_its_path() {
    let folder = people();
    let server = serve(&folder);
    let text = String::from_utf8(folder.read("job/old.md")).unwrap();
    for path in ["job/old.md", "/job/old.md"] {
        assert_eq!(
            fetch(&server, "fetch_specific_file", json!({ "file_path": path })),
            head("job/old.md") + &text
        );
    }
    let absolute = folder.vault().join("job/old.md").display().to_string();
    for (path, code) in [
        ("../secret.md", "PATH_NOT_ALLOWED"),
        (".obsidian/x.md", "PATH_NOT_ALLOWED"),
        ("notes.txt", "PATH_NOT_ALLOWED"),
        ("nowhere.md", "FILE_NOT_FOUND"),
        (absolute.as_str(), "FILE_NOT_FOUND"),
    ] {
        let error = server.fail("fetch_specific_file", json!({ "file_path": path }));
        assert_eq!(error["code"], code, "{path}");
        assert!(
            path == absolute
                || !error["message"]
                    .as_str()
                    .unwrap()
                    .contains(&*folder.path().display().to_string()),
            "{error}"
        );
    }
    // What the sync program writes is seen by the next call.
    std::fs::write(folder.vault().join("job/old.md"), "new").unwrap();
    assert_eq!(
        fetch(&server, "fetch_specific_file", json!({ "file_path": "job/old.md" })),
        head("job/old.md") + "new"
    );
}

#[test]
fn a_client_on_this_machine_sees_absolute_paths() {
    let folder = people();
    let mut client = Client::with(&folder, &[("TOOLSETS", "context")]);
    let root = std::fs::canonicalize(folder.vault()).unwrap();
    let path = root.join("plain.md").display().to_string();
    let mut call = |arguments: Value| {
        let answer = client.ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "fetch_specific_file", "arguments": arguments } }));
        answer["result"].clone()
    };
    for given in ["plain.md", &path] {
        let result = call(json!({ "file_path": given }));
        assert_eq!(result["content"][0]["text"], head(&path) + "no frontmatter, no neurons\n");
    }
    for outside in [
        "/etc/passwd.md",
        &root.join("../secret.md").display().to_string(),
        &root.join(".obsidian/x.md").display().to_string(),
    ] {
        assert_eq!(call(json!({ "file_path": outside }))["isError"], true, "{outside}");
    }
}

#[test]
fn the_configuration_file_of_the_source_works_as_it_is() {
    let folder = people();
    let file = folder.path().join("config.yaml");
    std::fs::write(
        &file,
        "vault_path: \"/somewhere/else\"\ndefault_context:\n  properties:\n    context: \
         \"personal\"\n  tags: [health]\n",
    )
    .unwrap();
    let settings = [("TOOLSETS", "context"), ("CONTEXT_CONFIG", file.to_str().unwrap())];
    let server = Server::with(&folder.vault(), &settings);
    let document = fetch(&server, "fetch_context", json!({}));
    assert!(document.starts_with(&head("z first.md")) && notes_in(&document) == 1, "{document}");
    assert_eq!(
        notes_in(&fetch(&server, "fetch_context", json!({ "context_type": "work" }))),
        2,
        "a type wins"
    );
    assert!(
        server.log().contains("CONTEXT_CONFIG has a vault_path that is not VAULT_PATH"),
        "{}",
        server.log()
    );
    std::fs::write(&file, crate::support::readme("context")).unwrap();
    let server = Server::with(&folder.vault(), &settings);
    assert_eq!(notes_in(&fetch(&server, "fetch_context", json!({}))), 2, "as in the README");
    for wrong in [
        "default_context: [",
        "default_context: 5",
        "default_context: { tags: work }",
        "API_KEY=the-secret of another file",
    ] {
        std::fs::write(&file, wrong).unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"))
            .args([
                "stdio",
                "--vault-path",
                folder.vault().to_str().unwrap(),
                "--context-config",
                file.to_str().unwrap(),
            ])
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2)
                && shown.contains("CONTEXT_CONFIG (--context-config) is malformed"),
            "{wrong}: {shown}"
        );
        assert!(!shown.contains("the-secret"), "{shown}");
    }
}

#[test]
fn what_there_is_to_load_can_be_seen() {
    let folder = people();
    let server = serve(&folder);
    let ask = |method: &str, params: Value| {
        server
            .post(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
            .json()["result"]
            .clone()
    };
    let first = ask("resources/list", json!({}))["resources"][0].clone();
    assert_eq!(first["uri"], "config://vault-info");
    let contents =
        ask("resources/read", json!({ "uri": "config://vault-info" }))["contents"][0].clone();
    let info: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
    assert_eq!(info["contexts"], json!({ "personal": 2, "work": 2 }));
    assert_eq!(
        (&info["notes"], &info["files"], &info["tags"]["active"]),
        (&json!(5), &json!(6), &json!(2))
    );
    assert!(!info.to_string().contains(folder.path().to_str().unwrap()), "nothing about the host");
}

/// A note that is large, or whose frontmatter is broken, cannot be chosen by its properties; the
/// answer says which.
#[test]
fn large_and_malformed_notes_are_listed_as_left_out() {
    let large = format!("---\ncontext: p\n---\n{}", "long line\n".repeat(500_000));
    let folder = vault(&[
        ("large.md", &large),
        ("small.md", "---\ncontext: p\n---\nx\n"),
        ("broken.md", "---\nx: [1\n---\ny\n"),
    ]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,context")]);
    let table =
        fetch(&server, "fetch_frontmatter_index", json!({ "properties": { "context": "p" } }));
    assert_eq!(notes_in(&table), 2, "{table}");
    server.log_with("frontmatter of \"broken.md\" is ignored: not valid YAML at line 3");
    server.log_with("\"large.md\" is larger than 4 MB");
}

#[test]
fn a_wrong_expression_is_reported_with_its_position() {
    let folder = people();
    let server = serve(&folder);
    for (pattern, position) in [("abc(def", "at character 4"), ("(a[z-b])", "at character 4")] {
        let error = server
            .fail("search_vault_content", json!({ "search_pattern": pattern, "regex": true }));
        assert!(error["message"].as_str().unwrap().contains(position), "{pattern}: {error}");
    }
}

/// Each chunk is of the vault as it is then: a note that was changed moves to the end, and another
/// would be in no chunk.
#[test]
fn chunks_of_notes_that_have_changed_since_are_refused() {
    let notes: Vec<(String, String)> = (0..40)
        .map(|n| (format!("n{n:02}.md"), format!("---\ncontext: c\n---\n{}", "line\n".repeat(60))))
        .collect();
    let folder =
        vault(&notes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let server = serve(&folder);
    let (mut index, mut digest, mut seen) = (0, Value::Null, String::new());
    let chunk = |index: u32, digest: &Value| {
        server.result("fetch_context", json!({ "context_type": "c", "max_chars": 1000, "chunk_index": index, "digest": digest }))
    };
    // The digest of the first chunk is that of all.
    loop {
        let result = chunk(index, &digest);
        let text = result["content"][0]["text"].as_str().unwrap();
        seen.push_str(text);
        let Some((_, next)) = text.lines().next().unwrap().split_once("and digest ") else { break };
        digest = next.trim_end_matches('.').into();
        index += 1;
    }
    assert!(notes.iter().all(|(path, _)| seen.contains(&head(path))), "every note is in one");
    std::fs::write(folder.vault().join("n01.md"), "---\ncontext: c\n---\nother\n").unwrap();
    let refused: Value =
        serde_json::from_str(chunk(2, &digest)["content"][0]["text"].as_str().unwrap()).unwrap();
    assert!(
        refused["error"]["code"] == "CONFLICT"
            && refused["error"]["message"]
                .as_str()
                .unwrap()
                .contains("have changed since the first chunk"),
        "{refused}"
    );
    assert_eq!(chunk(2, &Value::Null)["isError"], false);
}

/// What the error text counts can be asked for; and an answer without notes says which filter
/// excluded them.
#[test]
fn contexts_that_yaml_reads_as_numbers_are_found_and_filters_are_named() {
    let folder = Folder::with(&[
        ("five.md", b"---\ncontext: 5\n---\nfive\n"),
        ("yes.md", b"---\ncontext: true\nstatus: open\ntags: [a]\n---\nyes\n"),
        ("open.md", b"---\nstatus: open\n---\n"),
        ("tagged.md", b"---\nstatus: done\ntags: [b]\n---\n"),
    ]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "context")]);
    for (kind, text) in [("5", "five"), ("true", "yes")] {
        assert!(fetched(&server, "fetch_context", json!({ "context_type": kind })).contains(text));
    }
    for tool in ["fetch_matching_files", "fetch_frontmatter_index"] {
        let none = json!({ "properties": { "status": "open", "type": "log" }, "tags": ["a"] });
        assert!(fetched(&server, tool, none).contains("No note passes type: \"log\"."), "{tool}");
        let both = json!({ "properties": { "status": "open" }, "tags": ["b"] });
        assert!(fetched(&server, tool, both).contains("Each filter alone has notes"), "{tool}");
    }
}

fn fetched(server: &Server, tool: &str, arguments: Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    let result = server.result_of("tools/call", params);
    result["content"][0]["text"].as_str().unwrap().to_owned()
}
