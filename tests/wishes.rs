//! What people ask of their notes, each with the calls that do it, on the sample vault. `cargo test wishes -- --nocapture` prints the
//! number of calls and of characters that go to the model and back.

use crate::support::{Folder, Server};
use serde_json::{Value, json};

/// A wish, its calls, and what the last answer, or with a path the file, then has.
type Wish = (&'static str, Vec<(&'static str, Value)>, &'static str, &'static str);

fn wishes() -> Vec<Wish> {
    let read = |arguments: Value| ("vault_read_notes", arguments);
    let insert = |arguments: Value| ("vault_insert", arguments);
    let set = |arguments: Value| ("vault_set_properties", arguments);
    let tasks = |arguments: Value| ("vault_tasks", arguments);
    let tick = |arguments: Value| ("vault_set_task", arguments);
    let search = |arguments: Value| ("vault_search", arguments);
    let edit = |arguments: Value| ("vault_edit", arguments);
    vec![
        ("what is still open in my daily notes?", vec![tasks(json!({ "status": "todo", "path": "Daily" }))], "", "rosin, return chairs"),
        (
            "add milk to the shopping list",
            vec![insert(json!({ "path": "[[Shopping list]]", "text": "- [ ] milk" }))],
            "Inbox/Shopping list.md",
            "- [ ] milk\n",
        ),
        (
            "put 'call Tomek' into the note of 3 March",
            vec![insert(json!({ "path": "daily:2026-03-03", "heading": "Today", "text": "- [ ] call Tomek", "create": true }))],
            "Daily/2026-03-03.md",
            "## Today\n\n- [ ]\n- [ ] call Tomek\n\n## Notes",
        ),
        ("show me that note", vec![read(json!({ "paths": ["daily:2026-03-03"] }))], "", "call Tomek"),
        ("what did I do on 8 February?", vec![read(json!({ "paths": ["daily:2026-02-08"] }))], "", "2026-02-08"),
        (
            "what did I decide about the boiler?",
            vec![search(json!({ "query": "what did I decide about the boiler?", "snippets": "passages", "max_chars": 4000 }))],
            "",
            "boiler",
        ),
        (
            "I have bought the rosin",
            vec![
                tasks(json!({ "text": "rosin", "path": "[[Shopping list]]" })),
                tick(json!({ "path": "Inbox/Shopping list.md", "line": 6, "text": "rosin" })),
            ],
            "Inbox/Shopping list.md",
            "- [x] rosin\n",
        ),
        (
            "no, not yet",
            vec![tick(json!({ "path": "[[Shopping list]]", "line": 6, "text": "rosin", "status": "todo" }))],
            "Inbox/Shopping list.md",
            "- [ ] rosin\n",
        ),
        (
            "the heating project is paused",
            vec![set(json!({ "paths": ["Heating System"], "set": { "status": "paused" } }))],
            "Projects/Heating System.md",
            "status: paused\n",
        ),
        (
            "tag the backup plan as urgent",
            vec![set(json!({ "paths": ["Backup Plan"], "add_values": { "tags": ["urgent"] } }))],
            "Homelab/Backup Plan.md",
            "tags: [homelab, backup, urgent]   # keep in sync with the map",
        ),
        (
            "it is not urgent any more",
            vec![set(json!({ "paths": ["Backup Plan"], "remove_values": { "tags": ["urgent"] } }))],
            "Homelab/Backup Plan.md",
            "tags: [homelab, backup]   # keep",
        ),
        (
            "the firmware and the shelf are due at the end of March",
            vec![set(json!({ "paths": ["Boiler Firmware", "Projects/Kitchen Shelf.md"], "set": { "due": "2026-03-31" } }))],
            "Projects/Boiler Firmware.md",
            "version: 1.10\n",
        ),
        ("which version is the firmware?", vec![read(json!({ "paths": ["Boiler Firmware"], "view": "properties" }))], "", "version"),
        (
            "give me the outline of the heating logbook",
            vec![read(json!({ "paths": ["Heating Logbook"], "view": "outline" }))],
            "",
            "headings",
        ),
        (
            "read me the overview of the heating system",
            vec![read(json!({ "paths": ["Heating System"], "heading": "Overview" }))],
            "",
            "## Overview",
        ),
        ("which notes link to it, and how many?", vec![read(json!({ "paths": ["Heating System"], "view": "outline" }))], "", "links_in"),
        (
            "open my notes on Tomek, Henrike and Ingrid",
            vec![read(json!({ "paths": ["Tomek Wilk", "Henrike Vogt", "Mormor Ingrid"] }))],
            "",
            "\"missing\":[]",
        ),
        (
            "begin a section Ideas in the map",
            vec![insert(json!({ "path": "[[Map of Content]]", "heading": "## Ideas", "text": "- a greenhouse", "create": true }))],
            "Map of Content.md",
            "## Ideas\n- a greenhouse",
        ),
        (
            "and another idea, first",
            vec![insert(json!({ "path": "Map of Content", "heading": "Ideas", "where": "start", "text": "- a pond" }))],
            "Map of Content.md",
            "## Ideas\n- a pond\n- a greenhouse",
        ),
        (
            "replace the ideas by one",
            vec![insert(json!({ "path": "Map of Content", "heading": "Ideas", "where": "replace", "text": "- a pond with a greenhouse" }))],
            "Map of Content.md",
            "## Ideas\n- a pond with a greenhouse",
        ),
        (
            "make it a lake, everywhere",
            vec![edit(json!({ "path": "Map of Content", "old_text": "pond", "new_text": "lake", "replace_all": true }))],
            "Map of Content.md",
            "- a lake with",
        ),
        (
            "red lentils become green ones, and the flour is fine",
            vec![edit(
                json!({ "path": "Shopping list", "edits": [{ "old_text": "red lentils", "new_text": "green lentils" }, { "old_text": "coarse", "new_text": "fine" }] }),
            )],
            "Inbox/Shopping list.md",
            "- [ ] green lentils\n",
        ),
        (
            "a new note on garden ideas",
            vec![("vault_write", json!({ "path": "[[Garden ideas]]", "content": "# Garden ideas\n", "create_only": true }))],
            "Inbox/Garden ideas.md",
            "# Garden ideas\n",
        ),
        ("which recipes do I have?", vec![("vault_list_all", json!({ "path": "Recipes" }))], "", "Cold Brew"),
        ("what is tagged heating?", vec![("vault_list_all", json!({ "tag": "heating" }))], "", "Heating System"),
        ("which projects are active?", vec![search(json!({ "query": "[status:active]", "snippets": "none" }))], "", "total_matches"),
        ("where do I mention Henrike?", vec![search(json!({ "query": "Henrike" }))], "", "Henrike Vogt"),
        ("what have I written about mqtt lately?", vec![search(json!({ "query": "mqtt", "sort": "modified" }))], "", "MQTT"),
        ("all open tasks about the shelf", vec![tasks(json!({ "status": "todo", "text": "shelf" }))], "", "wall plugs"),
        (
            "move on: tick nothing, just tell me what is in the inbox",
            vec![("vault_list", json!({ "path": "Inbox" }))],
            "",
            "Quick thoughts.md",
        ),
    ]
}

#[test]
fn thirty_wishes_take_one_call_each_as_a_rule() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes"), ("TIME_ZONE", "UTC")]);
    let mut numbers: Vec<usize> = Vec::new();
    let mut most = 0;
    for (wish, calls, path, wanted) in wishes() {
        let mut chars = 0;
        let mut last = Value::Null;
        for (tool, arguments) in &calls {
            last = server.call(tool, arguments.clone());
            chars += arguments.to_string().chars().count() + last.to_string().chars().count();
        }
        println!("{:>2} {:>6}  {wish}", calls.len(), chars);
        let found = if path.is_empty() { last.to_string() } else { String::from_utf8(folder.read(path)).unwrap() };
        assert!(found.contains(wanted), "{wish}: {found}");
        numbers.push(calls.len());
        most = most.max(chars);
    }
    numbers.sort_unstable();
    println!("{} wishes, median {} call, at most {most} characters", numbers.len(), numbers[numbers.len() / 2]);
    assert_eq!((numbers.len(), numbers[numbers.len() / 2]), (30, 1));
    assert!(most < 10_000, "{most}");
}

/// What a client loads before its first call.
#[test]
fn the_tools_for_everyday_work_are_listed_in_few_characters() {
    let folder = Folder::sample();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    let listed = server.result_of("tools/list", json!({})).to_string();
    assert!(listed.len() < 24_000, "{}", listed.len());
}
