//! Thirty wishes in users' words: the tool that a client's search for tools finds first, and the
//! calls that do what was wished, on the sample vault. `cargo test wishes -- --nocapture` prints
//! rank, calls and the characters that go to the model and back.

use crate::support::{Folder, Server};
use serde_json::{Value, json};
use std::collections::HashMap;

struct Wish {
    words: &'static str,
    /// The tool that does it.
    tool: &'static str,
    /// The calls, the last one with that tool; `{VERSION}` is the first version of the answer
    /// before.
    calls: Vec<(&'static str, Value)>,
    /// What the last answer has, or the file after the path.
    then: (&'static str, &'static str),
}

fn wish(
    words: &'static str,
    tool: &'static str,
    arguments: Value,
    path: &'static str,
    has: &'static str,
) -> Wish {
    Wish { words, tool, calls: vec![(tool, arguments)], then: (path, has) }
}

/// After other calls.
fn then(before: &[(&'static str, Value)], wish: Wish) -> Wish {
    Wish { calls: before.iter().cloned().chain(wish.calls).collect(), ..wish }
}

/// Each goes on from the vault that the one before has left.
fn wishes() -> Vec<Wish> {
    let (search, insert, tick) = ("vault_search", "vault_insert", "vault_set_task");
    let passages = json!({ "query": "what did I decide about the boiler?", "snippets": "passages", "max_chars": 4000 });
    let heating = "Projects/Heating System.md";
    vec![
        wish("what did I decide about the boiler?", search, passages, "", "boiler"),
        wish(
            "where do I mention Henrike?",
            search,
            json!({ "query": "Henrike" }),
            "",
            "Henrike Vogt",
        ),
        wish(
            "what have I written about mqtt lately?",
            search,
            json!({ "query": "mqtt", "sort": "modified" }),
            "",
            "MQTT",
        ),
        wish(
            "add milk to today's list",
            insert,
            json!({ "path": "daily:2026-03-03", "heading": "Today", "text": "- [ ] milk", "create": true }),
            "Daily/2026-03-03.md",
            "## Today\n\n- [ ]\n- [ ] milk\n\n## Notes",
        ),
        wish(
            "put a line under the heading Ideas in the map",
            insert,
            json!({ "path": "[[Map of Content]]", "heading": "## Ideas", "text": "- a pond", "create": true }),
            "Map of Content.md",
            "## Ideas\n- a pond",
        ),
        wish(
            "append this paragraph to my logbook",
            insert,
            json!({ "path": "Heating Logbook", "text": "The valve is new." }),
            "Projects/Heating Logbook.md",
            "\nThe valve is new.",
        ),
        wish(
            "show me today's daily note",
            "vault_read_notes",
            json!({ "paths": ["daily:2026-03-03"] }),
            "",
            "milk",
        ),
        wish(
            "give me the outline of the heating logbook",
            "vault_read_notes",
            json!({ "paths": ["Heating Logbook"], "view": "outline" }),
            "",
            "headings",
        ),
        wish(
            "open the picture of the boiler",
            "vault_read",
            json!({ "path": "Attachments/boiler-sketch.png" }),
            "",
            "image/png",
        ),
        wish(
            "replace the word pond by lake in the map",
            "vault_edit",
            json!({ "path": "Map of Content", "old_text": "pond", "new_text": "lake", "replace_all": true }),
            "Map of Content.md",
            "- a lake",
        ),
        then(
            &[("vault_history", json!({ "path": "Map of Content" }))],
            wish(
                "undo what you just did",
                "vault_undo",
                json!({}),
                "Map of Content.md",
                "- a pond",
            ),
        ),
        wish(
            "show me the earlier versions of the map",
            "vault_history",
            json!({ "path": "Map of Content" }),
            "",
            "vault_edit",
        ),
        wish(
            "create a new note on garden ideas",
            "vault_write",
            json!({ "path": "[[Garden ideas]]", "content": "# Garden ideas\n", "create_only": true }),
            "Inbox/Garden ideas.md",
            "# Garden ideas\n",
        ),
        wish(
            "delete the note on garden ideas",
            "vault_delete",
            json!({ "paths": ["Garden ideas"] }),
            ".trash/Garden ideas.md",
            "# Garden",
        ),
        then(
            &[("vault_history", json!({ "path": "Inbox/Garden ideas.md" }))],
            wish(
                "bring back the note that I deleted",
                "vault_restore",
                json!({ "path": "Inbox/Garden ideas.md", "version": "{VERSION}" }),
                "Inbox/Garden ideas.md",
                "# Garden ideas\n",
            ),
        ),
        wish(
            "which tasks are still open?",
            "vault_tasks",
            json!({ "status": "todo", "path": "Daily" }),
            "",
            "rosin, return chairs",
        ),
        then(
            &[(
                "vault_insert",
                json!({ "path": "Shopping list", "text": "- [ ] pay the plumber 📅 2026-01-31" }),
            )],
            wish(
                "what is overdue?",
                "vault_tasks",
                json!({ "status": "todo", "due_before": "2026-03-03" }),
                "",
                "pay the plumber",
            ),
        ),
        then(
            &[("vault_tasks", json!({ "text": "rosin", "path": "[[Shopping list]]" }))],
            wish(
                "tick off the rosin",
                tick,
                json!({ "path": "Inbox/Shopping list.md", "line": 6, "text": "rosin" }),
                "Inbox/Shopping list.md",
                "- [x] rosin\n",
            ),
        ),
        then(
            &[("vault_tasks", json!({ "text": "buy wall plugs" }))],
            wish(
                "mark the task with the wall plugs as done",
                tick,
                json!({ "path": "Kitchen Shelf", "line": 27, "text": "buy wall plugs ([[Shopping list]])" }),
                "Projects/Kitchen Shelf.md",
                "- [x] buy wall plugs",
            ),
        ),
        wish(
            "which notes link to the heating system?",
            "vault_links",
            json!({ "path": heating }),
            "",
            "Map of Content.md",
        ),
        wish(
            "are there broken links?",
            "vault_links",
            json!({ "show": "unresolved" }),
            "",
            "links",
        ),
        wish(
            "set the status of the heating project to paused",
            "vault_set_properties",
            json!({ "paths": ["Heating System"], "set": { "status": "paused" } }),
            heating,
            "status: paused\n",
        ),
        wish(
            "tag the backup plan as urgent",
            "vault_set_properties",
            json!({ "paths": ["Backup Plan"], "add_values": { "tags": ["urgent"] } }),
            "Homelab/Backup Plan.md",
            "tags: [homelab, backup, urgent]   # keep in sync with the map",
        ),
        wish(
            "how many notes have status active?",
            "vault_query",
            json!({ "where": "status == \"active\"" }),
            "",
            "\"total\":1",
        ),
        wish(
            "what has changed this week?",
            "vault_query",
            json!({ "where": "file.mtime > now() - \"7 days\"", "select": ["file.mtime"], "sort": ["file.mtime desc"] }),
            "",
            "Kitchen Shelf",
        ),
        wish(
            "rename the tag heating to warmth",
            "vault_rename_tag",
            json!({ "path": "heating", "to": "warmth" }),
            heating,
            "warmth",
        ),
        wish(
            "rename the boiler note to Heating",
            "vault_move",
            json!({ "path": "Boiler Firmware", "to": "Projects/Heating.md" }),
            "Map of Content.md",
            "[[Heating]]",
        ),
        wish(
            "move Quick thoughts to the folder Projects",
            "vault_move",
            json!({ "path": "Quick thoughts", "to": "Projects/" }),
            "",
            "Projects/Quick thoughts.md",
        ),
        wish("list every file of the vault", "vault_list_all", json!({}), "", "Cold Brew"),
        wish(
            "what is in the folder Inbox?",
            "vault_list",
            json!({ "path": "Inbox" }),
            "",
            "Shopping list.md",
        ),
    ]
}

#[test]
fn thirty_wishes_take_one_call_each_as_a_rule() {
    let folder = Folder::sample();
    let state = folder.path().join("state").display().to_string();
    let server = Server::with(
        &folder.vault(),
        &[("TOOLSETS", "vault,notes"), ("TIME_ZONE", "UTC"), ("STATE_DIR", &state)],
    );
    let (mut numbers, mut most) = (Vec::new(), 0);
    for Wish { words, calls, then: (path, has), .. } in wishes() {
        let (mut chars, mut last) = (0, Value::Null);
        for (tool, arguments) in &calls {
            let version = last["versions"][0]["version"].as_str().unwrap_or_default().to_owned();
            let arguments: Value =
                serde_json::from_str(&arguments.to_string().replace("{VERSION}", &version))
                    .unwrap();
            chars += arguments.to_string().chars().count();
            last = server.result_of("tools/call", json!({ "name": tool, "arguments": arguments }));
            assert_eq!(last["isError"], false, "{words}: {last}");
            let content = last["content"].to_string();
            last = last["structuredContent"].take();
            chars += last.to_string().chars().count();
            last["blocks"] = content.into();
        }
        println!("{:>2} {chars:>6}  {words}", calls.len());
        let found = if path.is_empty() {
            last.to_string()
        } else {
            String::from_utf8(folder.read(path)).unwrap()
        };
        assert!(found.contains(has), "{words}: {found}");
        numbers.push(calls.len());
        most = most.max(chars);
    }
    numbers.sort_unstable();
    println!(
        "{} wishes, median {} call, at most {most} characters",
        numbers.len(),
        numbers[numbers.len() / 2]
    );
    assert_eq!((numbers.len(), numbers[numbers.len() / 2]), (30, 1));
    assert!(most < 20_000, "{most}");
}

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Okapi BM25 (k1 1.5, b 0.75), as clients rank tools that they do not show the model from the
/// start.
fn rank<'a>(tools: &'a [(String, Vec<String>)], query: &str) -> Vec<(&'a str, f64)> {
    let average =
        tools.iter().map(|(_, document)| document.len()).sum::<usize>() as f64 / tools.len() as f64;
    let having: HashMap<String, f64> = words(query)
        .into_iter()
        .map(|word| {
            (
                word.clone(),
                tools.iter().filter(|(_, document)| document.contains(&word)).count() as f64,
            )
        })
        .collect();
    let score = |document: &[String]| {
        let of_word = |(word, having): (&String, &f64)| {
            let frequency = document.iter().filter(|other| *other == word).count() as f64;
            let rarity = (1.0 + (tools.len() as f64 - having + 0.5) / (having + 0.5)).ln();
            rarity * frequency * 2.5
                / (frequency + 1.5 * (0.25 + 0.75 * document.len() as f64 / average))
        };
        having.iter().map(of_word).sum::<f64>()
    };
    let mut ranked: Vec<_> =
        tools.iter().map(|(name, document)| (name.as_str(), score(document))).collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    ranked
}

/// At least 27 of 30, with the toolsets that are recommended and with all of them.
#[test]
#[cfg(feature = "default")]
fn a_search_for_tools_finds_the_right_one_first() {
    let folder = Folder::sample();
    let everyday = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    let (_folder, all) = crate::tools::with_all_tools();
    for (name, server) in [("vault,notes", &everyday), ("all", &all)] {
        let listed = server.result_of("tools/list", json!({}));
        let text = |tool: &Value, member: &str| tool[member].as_str().unwrap().to_owned();
        let tools: Vec<(String, Vec<String>)> = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| {
                (
                    text(tool, "name"),
                    words(&format!("{} {}", text(tool, "name"), text(tool, "description"))),
                )
            })
            .collect();
        let mut right = 0;
        for Wish { words, tool, .. } in wishes() {
            let ranked = rank(&tools, words);
            if ranked[0].0 == tool && ranked[0].1 > ranked[1].1 {
                right += 1;
            } else {
                println!("{name}: {words}: {tool} is behind {} ({:.2})", ranked[0].0, ranked[0].1);
            }
        }
        println!("{name}: {right} of {}", wishes().len());
        assert!(right >= 27, "{name}: {right}");
    }
}

/// What a client loads before its first call.
#[test]
fn the_tools_for_everyday_work_are_listed_in_few_characters() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    let listed = server.result_of("tools/list", json!({})).to_string();
    assert!(listed.len() < 24_000, "{}", listed.len());
}

#[test]
#[cfg(feature = "default")]
fn all_tools_are_listed_in_60_kilobytes() {
    let (_folder, server) = crate::tools::with_all_tools();
    let listed = server.result_of("tools/list", json!({})).to_string();
    assert!(listed.len() <= 60_000, "{}", listed.len());
}
