//! Toolset `accomplishments`: conversations, and vaults before and after.

use crate::support::{Connection, Folder, Server, TOKEN};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};

const SETTINGS: [(&str, &str); 4] = [
    ("TOOLSETS", "accomplishments"),
    ("ACCOMPLISHMENTS_FOLDER", "accomplishments"),
    ("DEFAULT_CANVAS", "projects/main.canvas"),
    ("CONTEXT_DOCS_FOLDER", "docs"),
];

fn serve(folder: &Folder) -> Server {
    Server::with(&folder.vault(), &SETTINGS)
}

fn create(server: &Server, title: &str, depends_on: &[&str]) -> Value {
    let data = json!({ "title": title, "effort": "Engineering", "depends_on": depends_on });
    server.call("manage_accomplishment", json!({ "operation": "create", "data": data }))["accomplishment"].clone()
}

fn update(server: &Server, id: &str, data: Value) -> Value {
    server.call("manage_accomplishment", json!({ "operation": "update", "id": id, "data": data }))["accomplishment"].clone()
}

fn canvas(folder: &Folder) -> Value {
    let bytes = folder.read("projects/main.canvas");
    check_canvas(&bytes)
}

/// JSON Canvas 1.0, strictly: the members that nodes and edges must have, their types, and edges between nodes that exist.
fn check_canvas(bytes: &[u8]) -> Value {
    let canvas: Value = serde_json::from_slice(bytes).unwrap();
    let mut ids = HashSet::new();
    for node in canvas["nodes"].as_array().unwrap() {
        assert!(ids.insert(node["id"].as_str().unwrap()), "an id twice: {node}");
        for number in ["x", "y", "width", "height"] {
            assert!(node[number].is_i64(), "{number} is a whole number: {node}");
        }
        let needed = match node["type"].as_str().unwrap() {
            "file" => "file",
            "text" => "text",
            "link" => "url",
            "group" => "id",
            other => panic!("{other}"),
        };
        assert!(node[needed].is_string(), "{node}");
    }
    let mut edges = HashSet::new();
    for edge in canvas["edges"].as_array().unwrap() {
        assert!(edges.insert(edge["id"].as_str().unwrap()), "an id twice: {edge}");
        for end in ["fromNode", "toNode"] {
            assert!(ids.contains(edge[end].as_str().unwrap()), "{edge}");
        }
        for side in ["fromSide", "toSide"] {
            assert!(edge.get(side).is_none_or(|side| ["top", "right", "bottom", "left"].contains(&side.as_str().unwrap())), "{edge}");
        }
    }
    canvas
}

fn node<'a>(canvas: &'a Value, file: &str) -> &'a Value {
    canvas["nodes"].as_array().unwrap().iter().find(|node| node["file"] == file).unwrap_or_else(|| panic!("{file} is not on {canvas}"))
}

fn edges(canvas: &Value) -> Vec<(String, String)> {
    let file = |id: &Value| {
        let node = canvas["nodes"].as_array().unwrap().iter().find(|node| node["id"] == *id).unwrap();
        node["file"].as_str().unwrap_or_default().rsplit('/').next().unwrap().trim_end_matches(".md").to_owned()
    };
    canvas["edges"].as_array().unwrap().iter().map(|edge| (file(&edge["fromNode"]), file(&edge["toNode"]))).collect()
}

/// Every file of a vault, hidden ones of our own aside.
fn all(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.vault()]);
    while let Some(place) = open.pop() {
        for entry in std::fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder.vault()).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                open.push(path);
            } else if name != ".vault-sync-mcp.lock" {
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_project_is_planned() {
    let folder = Folder::with(&[]);
    let server = serve(&folder);
    assert_eq!(server.call("list_accomplishments", json!({}))["count"], 0);
    assert_eq!(server.fail("get_project_status", json!({}))["code"], "CANVAS_NOT_FOUND");
    let first = server.call(
        "manage_accomplishment",
        json!({ "operation": "create", "data": { "title": "Design", "effort": "Research", "priority": "Critical", "outcome": "It is *drawn*.", "acceptance_criteria": ["a", "b"] } }),
    );
    let made = &first["accomplishment"];
    let expected = json!({ "id": "ACC-001", "title": "Design", "type": "accomplishment", "effort": "Research", "status": "Not Started", "priority": "Critical", "inProgress": false, "is_blocked": false, "depends_on": [], "outcome": "It is *drawn*.", "acceptance_criteria": ["a", "b"], "acceptance_criteria_done": [false, false], "tasks": [], "notes": "", "canvas_source": "projects/main.canvas", "vault_path": "accomplishments/Design.md", "created_by_plugin": true, "expanded_width": 400 });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&made[name], value, "{name}: {made}");
    }
    assert_eq!(create(&server, "Build", &["ACC-001"])["id"], "ACC-002");
    assert_eq!(create(&server, "Ship", &["ACC-001", "ACC-002"])["is_blocked"], true);
    let drawn = canvas(&folder);
    assert_eq!((&node(&drawn, "accomplishments/Design.md")["x"], &node(&drawn, "accomplishments/Design.md")["y"]), (&json!(0), &json!(50)));
    assert_eq!((&node(&drawn, "accomplishments/Build.md")["x"], &node(&drawn, "accomplishments/Build.md")["y"]), (&json!(500), &json!(50)));
    assert_eq!((&node(&drawn, "accomplishments/Ship.md")["x"], &node(&drawn, "accomplishments/Ship.md")["y"]), (&json!(1000), &json!(50)));
    let arrow = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(edges(&drawn), [arrow("Design", "Build"), arrow("Design", "Ship"), arrow("Build", "Ship")]);
    assert_eq!(drawn["edges"][0]["fromSide"], "right");

    let task = server.call(
        "manage_task",
        json!({ "operation": "add", "accomplishment_id": "ACC-001", "data": { "name": "Sketch", "goal": "See it", "estimate": 2.5 } }),
    );
    assert_eq!(task["task"], json!({ "task_id": "ACC-001:Task 1:Sketch", "number": 1, "name": "Sketch", "status": "Open" }));
    let focus = server
        .call("set_work_focus", json!({ "accomplishment_id": "ACC-001", "task_id": "ACC-001:Task 1:Sketch", "task_status": "InProgress" }));
    assert_eq!((&focus["accomplishment"]["inProgress"], &focus["task"]["status"]), (&json!(true), &json!("InProgress")));
    let work = server.call("get_current_work", json!({}));
    assert_eq!(work["accomplishments"][0]["tasks"][0]["task_id"], "ACC-001:Task 1:Sketch");
    assert_eq!(work["summary"], json!({ "accomplishments_in_progress": 1, "tasks_in_progress": 1, "orphaned_tasks": 0 }));
    server.call("set_work_focus", json!({ "accomplishment_id": "ACC-001", "in_progress": false }));
    let work = server.call("get_current_work", json!({}));
    assert_eq!(work["orphaned_in_progress_tasks"][0]["accomplishment_id"], "ACC-001");

    let blocked = server.call("get_blocked_items", json!({}));
    assert_eq!(blocked["count"], 2);
    assert_eq!(
        blocked["blocked_items"][1]["blocking_items"],
        json!([{ "id": "ACC-001", "title": "Design", "status": "Not Started" }, { "id": "ACC-002", "title": "Build", "status": "Not Started" }])
    );
    let ready = server.call("get_ready_to_start", json!({}));
    assert_eq!((&ready["count"], &ready["ready_items"][0]["outcome"]), (&json!(1), &json!("It is *drawn*.")));
    update(&server, "ACC-001", json!({ "status": "Completed" }));
    assert_eq!(server.call("get_ready_to_start", json!({}))["ready_items"][0]["id"], "ACC-002");
    let status = server.call("get_project_status", json!({}));
    let expected = json!({ "canvas_source": "projects/main.canvas", "total_accomplishments": 3, "by_status": { "Not Started": 2, "In Progress": 0, "Completed": 1, "Blocked": 0 }, "by_effort": { "Business": 0, "Infra": 0, "Engineering": 2, "Research": 1 }, "by_priority": { "Low": 0, "Medium": 0, "High": 2, "Critical": 1 }, "blocked_count": 1, "ready_to_start_count": 1, "in_progress_count": 0, "total_tasks": 1, "completed_tasks": 0, "task_completion_percentage": 0 });
    assert_eq!(status, expected);

    server.call("manage_accomplishment", json!({ "operation": "delete", "id": "ACC-002" }));
    assert_eq!(server.call("get_accomplishment", json!({ "id": "ACC-003" }))["depends_on"], json!(["ACC-001"]));
    assert_eq!(edges(&canvas(&folder)), [arrow("Design", "Ship")]);
    assert!(folder.vault().join(".trash/Build.md").exists() && !folder.vault().join("accomplishments/Build.md").exists());
    server.call("manage_accomplishment", json!({ "operation": "delete", "id": "ACC-003" }));
    assert_eq!(create(&server, "Again", &[])["id"], "ACC-004", "an id is not given twice");
}

const NOTE: &str = "\u{feff}---\r\n# mine\r\ntype: accomplishment\r\nid: \"ACC-007\"   # do not change\r\ntitle: 'Old'\r\nstatus: In Progress\r\neffort: Infra\r\npriority:   Low\r\ndepends_on:\r\n  - ACC-001 # the first\r\nowner: Ann\r\nnested: {a: [1, 1.50]}\r\n---\r\n\r\n# Old (Accomplishment)\r\n\r\nIntro %%private%%.\r\n\r\n## Outcome\r\nThe old outcome\r\n\r\n## Why\r\nBecause.\r\n## Acceptance Criteria\r\nBy hand:\r\n- [x] ticked\r\n- [ ] open\r\n  with more\r\n\r\n## Tasks\r\n<!-- a comment -->\r\n### Task 1: First\r\n- **Goal:** g\r\n- **Owner:** Bob\r\n- **Description:** line one\r\n  line two\r\n- **Status:** in progress, said Ann\r\n\r\nBetween tasks.\r\n\r\n### Task 2: Second\r\n- **Goal:** h\r\n- **Status:** done\r\n\r\n## Notes\r\n```\r\n## not a heading\r\n```\r\n\r\n## After\r\nno end";

fn first() -> String {
    "---\ntype: accomplishment\nid: ACC-001\ntitle: First\neffort: Business\nstatus: Completed\npriority: High\ninProgress: false\ndepends_on: []\n---\n".to_owned()
}

const CANVAS: &str = "{\n\t\"nodes\":[\n\t\t{\"id\":\"g\",\"type\":\"group\",\"x\":-50,\"y\":-50,\"width\":2000,\"height\":40,\"label\":\"Group\"},\n\t\t{\"id\":\"a\",\"x\":0,\"y\":0,\"width\":400,\"height\":300,\"type\":\"file\",\"file\":\"accomplishments/First.md\",\"color\":\"#ff0000\",\"mine\":[1.50,\"]\"]},\n\t\t{\"id\":\"b\",\"x\":900,\"y\":77,\"width\":420,\"height\":310,\"type\":\"file\",\"file\":\"accomplishments/Old.md\",\"subpath\":\"#Outcome\"},\n\t\t{\"id\":\"t\",\"type\":\"text\",\"text\":\"see ACC-041\",\"x\":0,\"y\":9000,\"width\":10,\"height\":10}\n\t],\n\t\"edges\":[\n\t\t{\"id\":\"e\",\"fromNode\":\"a\",\"fromSide\":\"bottom\",\"toNode\":\"b\",\"toSide\":\"top\",\"label\":\"first\",\"color\":\"4\"},\n\t\t{\"id\":\"f\",\"fromNode\":\"t\",\"toNode\":\"b\"}\n\t],\n\t\"metadata\":{\"version\":\"1.0-1.0\"}\n}";

fn by_hand() -> Folder {
    Folder::with(&[
        ("accomplishments/First.md", first().as_bytes()),
        ("accomplishments/Old.md", NOTE.as_bytes()),
        ("projects/main.canvas", CANVAS.as_bytes()),
        (
            "projects/second.canvas",
            br#"{"nodes":[{"id":"z","type":"file","file":"accomplishments/Old.md","x":1,"y":2,"width":3,"height":4}],"edges":[]}"#,
        ),
        ("projects/notes.md", b"one\ntwo\nthree\n"),
        ("docs/sub/ref.md", b"ref\n"),
    ])
}

/// The text of a note without the line that says when it was changed.
fn without_time(folder: &Folder, path: &str) -> String {
    let text = String::from_utf8(folder.read(path)).unwrap();
    text.split_inclusive('\n').filter(|line| !line.starts_with("updated: ")).collect()
}

#[test]
fn a_note_is_edited_and_not_rewritten() {
    let folder = by_hand();
    let server = serve(&folder);
    let got = server.call("get_accomplishment", json!({ "id": "ACC-007" }));
    assert_eq!(got["acceptance_criteria"], json!(["ticked", "open"]));
    assert_eq!(got["acceptance_criteria_done"], json!([true, false]));
    assert_eq!(
        (&got["tasks"][0]["description"], &got["tasks"][0]["status"], &got["tasks"][1]["status"]),
        (&json!("line one\nline two"), &json!("InProgress"), &json!("Complete"))
    );
    assert_eq!(got["other_properties"], json!({ "owner": "Ann", "nested": { "a": [1, 1.5] } }));
    let mut expected = NOTE.to_owned();
    let mut step = |data: Value, from: &str, to: &str| {
        update(&server, "ACC-007", data);
        assert!(expected.contains(from), "{from}");
        expected = expected.replacen(from, to, 1);
        assert_eq!(without_time(&folder, "accomplishments/Old.md"), expected);
    };
    step(json!({}), "", "");
    step(json!({ "status": "Blocked" }), "status: In Progress\r\n", "status: Blocked\r\n");
    step(json!({ "priority": "Critical" }), "priority:   Low", "priority:   Critical");
    step(json!({ "outcome": "New\nand more" }), "The old outcome", "New\r\nand more");
    step(json!({ "acceptance_criteria": ["ticked", "new", "open"] }), "- [ ] open", "- [ ] new\r\n- [ ] open");
    step(json!({ "acceptance_criteria": ["ticked", "new", "[x] open"] }), "- [ ] open", "- [x] open");
    step(json!({ "notes": "mine" }), "```\r\n## not a heading\r\n```", "mine");
    step(json!({ "inProgress": true }), "---\r\n\r\n# Old", "inProgress: true\r\n---\r\n\r\n# Old");
    let mut task = |arguments: Value, from: &str, to: &str| {
        let mut call = json!({ "operation": "update", "accomplishment_id": "ACC-007", "task_id": "ACC-007:Task 1:First" });
        call.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        server.call("manage_task", call);
        assert!(expected.contains(from), "{from}");
        expected = expected.replacen(from, to, 1);
        assert_eq!(without_time(&folder, "accomplishments/Old.md"), expected);
    };
    task(json!({ "data": { "status": "InProgress" } }), "", "");
    task(
        json!({ "data": { "status": "OnHold", "estimate": 4 } }),
        "line two\r\n- **Status:** in progress, said Ann",
        "line two\r\n- **Estimate:** 4h\r\n- **Status:** OnHold, said Ann",
    );
    task(json!({ "data": { "description": "short" } }), " line one\r\n  line two", " short");
    task(
        json!({ "operation": "add", "data": { "name": "Third", "goal": "i", "notes": "a\n- b" } }),
        "done\r\n\r\n## Notes",
        "done\r\n\r\n### Task 3: Third\r\n- **Goal:** i\r\n- **Description:**\r\n- **Status:** Open\r\n- **Notes:** a\r\n  - b\r\n\r\n## Notes",
    );
    task(
        json!({ "operation": "remove" }),
        "### Task 1: First\r\n- **Goal:** g\r\n- **Owner:** Bob\r\n- **Description:** short\r\n- **Estimate:** 4h\r\n- **Status:** OnHold, said Ann\r\n\r\nBetween tasks.\r\n\r\n### Task 2: Second\r\n- **Goal:** h\r\n- **Status:** done\r\n\r\n### Task 3",
        "\r\nBetween tasks.\r\n\r\n### Task 1: Second\r\n- **Goal:** h\r\n- **Status:** done\r\n\r\n### Task 2",
    );
    for task_id in ["ACC-007:Task 2:Second", "ACC-007:Task 1", "", "ACC-001:Task 1:Second"] {
        let error = server.fail("manage_task", json!({ "operation": "remove", "accomplishment_id": "ACC-007", "task_id": task_id }));
        assert_eq!((&error["code"], &error["status"]), (&json!("TASK_NOT_FOUND"), &json!(404)), "{task_id}");
    }
    assert_eq!(folder.read("projects/main.canvas"), CANVAS.as_bytes(), "none of this is about the canvas");
}

#[test]
fn a_canvas_is_edited_and_not_rewritten() {
    let folder = by_hand();
    let server = serve(&folder);
    let made = create(&server, "New \"one\"", &["ACC-007"]);
    assert_eq!(made["id"], "ACC-042", "after the number in a text node");
    let after = String::from_utf8(folder.read("projects/main.canvas")).unwrap();
    let (new_node, new_edge) = {
        let read = check_canvas(after.as_bytes());
        (
            node(&read, "accomplishments/New -one-.md")["id"].as_str().unwrap().to_owned(),
            read["edges"][2]["id"].as_str().unwrap().to_owned(),
        )
    };
    let expected = CANVAS
        .replace("\"height\":10}\n", &format!("\"height\":10}},\n\t\t{{\"id\":\"{new_node}\",\"type\":\"file\",\"file\":\"accomplishments/New -one-.md\",\"x\":1420,\"y\":77,\"width\":400,\"height\":300,\"color\":\"3\"}}\n"))
        .replace("\"toNode\":\"b\"}\n", &format!("\"toNode\":\"b\"}},\n\t\t{{\"id\":\"{new_edge}\",\"fromNode\":\"b\",\"fromSide\":\"right\",\"toNode\":\"{new_node}\",\"toSide\":\"left\"}}\n"));
    assert_eq!(after, expected);
    // A new title: the file, the nodes on both canvases, the heading that was made; no edge.
    let renamed = update(&server, "ACC-007", json!({ "title": "New: name?" }));
    assert_eq!((&renamed["title"], &renamed["vault_path"]), (&json!("New: name?"), &json!("accomplishments/New- name-.md")));
    let text = without_time(&folder, "accomplishments/New- name-.md");
    let wanted = NOTE
        .replace("title: 'Old'", "title: 'New: name?'")
        .replace("# Old (Acc", "# New: name? (Acc")
        .replace("---\r\n\r\n# New", "vault_path: accomplishments/New- name-.md\r\n---\r\n\r\n# New");
    assert_eq!(text, wanted);
    assert!(!folder.vault().join("accomplishments/Old.md").exists());
    assert_eq!(
        String::from_utf8(folder.read("projects/main.canvas")).unwrap(),
        expected.replace("accomplishments/Old.md", "accomplishments/New- name-.md")
    );
    assert!(String::from_utf8(folder.read("projects/second.canvas")).unwrap().contains("accomplishments/New- name-.md"));
    // Deleted again: its node and its edge, and not a byte more.
    server.call("manage_accomplishment", json!({ "operation": "delete", "id": "ACC-042" }));
    assert_eq!(
        String::from_utf8(folder.read("projects/main.canvas")).unwrap(),
        CANVAS.replace("accomplishments/Old.md", "accomplishments/New- name-.md")
    );
    // The same in a file that is indented otherwise.
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Value>(CANVAS).unwrap()).unwrap();
    std::fs::write(folder.vault().join("projects/main.canvas"), &pretty).unwrap();
    let made = create(&server, "Pretty", &[]);
    let drawn = String::from_utf8(folder.read("projects/main.canvas")).unwrap();
    assert!(drawn.contains("    {\n      \"id\": \"") && drawn.lines().all(|line| !line.contains("\",\"")), "{drawn}");
    server.call("manage_accomplishment", json!({ "operation": "delete", "id": made["id"] }));
    assert_eq!(String::from_utf8(folder.read("projects/main.canvas")).unwrap(), pretty);
}

#[test]
fn dependencies_are_kept_on_both_sides_and_never_go_in_a_circle() {
    let folder = Folder::with(&[]);
    let server = serve(&folder);
    for title in ["A", "B", "C", "D"] {
        create(&server, title, &[]);
    }
    let depend =
        |operation: &str, blocker: &str, blocked: &str| json!({ "operation": operation, "blocker_id": blocker, "blocked_id": blocked });
    let added = server.call("manage_dependency", depend("add", "ACC-001", "ACC-002"));
    assert_eq!((&added["new_position"], &added["message"]), (&json!({ "x": 500, "y": 50 }), &json!("ACC-001 blocks ACC-002 now.")));
    server.call("manage_dependency", depend("add", "ACC-002", "ACC-003"));
    server.call("manage_dependency", depend("add", "ACC-001", "ACC-003"));
    let before = all(&folder);
    for (call, words) in [
        (depend("add", "ACC-003", "ACC-001"), "ACC-001 -> ACC-003 -> ACC-001"),
        (depend("add", "ACC-002", "ACC-001"), "ACC-001 -> ACC-002 -> ACC-001"),
        (depend("add", "ACC-001", "ACC-001"), "itself"),
    ] {
        let error = server.fail("manage_dependency", call);
        assert_eq!((&error["code"], &error["status"]), (&json!("CIRCULAR_DEPENDENCY"), &json!(400)));
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
    }
    let error = server
        .fail("manage_accomplishment", json!({ "operation": "update", "id": "ACC-001", "data": { "depends_on": ["ACC-004", "ACC-003"] } }));
    assert_eq!(error["code"], "CIRCULAR_DEPENDENCY");
    assert_eq!(server.fail("manage_dependency", depend("add", "ACC-009", "ACC-001"))["code"], "ACCOMPLISHMENT_NOT_FOUND");
    assert_eq!(
        server.fail(
            "manage_accomplishment",
            json!({ "operation": "create", "data": { "title": "E", "effort": "Infra", "depends_on": ["ACC-009"] } })
        )["code"],
        "ACCOMPLISHMENT_NOT_FOUND"
    );
    assert_eq!(all(&folder), before, "nothing was written");
    // Again is no mistake, and removing gives back what was.
    assert!(server.call("manage_dependency", depend("add", "ACC-001", "ACC-003"))["message"].as_str().unwrap().contains("already"));
    assert_eq!(edges(&canvas(&folder)).len(), 3);
    let removed = server.call("manage_dependency", depend("remove", "ACC-001", "ACC-003"));
    assert_eq!(removed["success"], true);
    assert_eq!(edges(&canvas(&folder)).len(), 2);
    assert_eq!(server.call("get_accomplishment", json!({ "id": "ACC-003" }))["depends_on"], json!(["ACC-002"]));
    update(&server, "ACC-003", json!({ "depends_on": ["ACC-004"] }));
    assert_eq!(edges(&canvas(&folder)), [("A".into(), "B".into()), ("D".into(), "C".into())]);
    // A circle that only the canvas closes: somebody drew D -> A.
    let text = String::from_utf8(folder.read("projects/main.canvas")).unwrap();
    let read = canvas(&folder);
    let id = |file: &str| node(&read, &format!("accomplishments/{file}.md"))["id"].as_str().unwrap().to_owned();
    let drawn =
        text.replace("\"edges\":[", &format!("\"edges\":[{{\"id\":\"hand\",\"fromNode\":\"{}\",\"toNode\":\"{}\"}},", id("C"), id("A")));
    std::fs::write(folder.vault().join("projects/main.canvas"), drawn).unwrap();
    let error = server.fail("manage_dependency", depend("add", "ACC-001", "ACC-004"));
    assert!(error["message"].as_str().unwrap().contains("sync_dependencies"), "{error}");
    let removed = server.call("manage_dependency", depend("remove", "ACC-001", "ACC-002"));
    assert!(removed["message"].as_str().unwrap().contains("sync_dependencies"), "{removed}");
    assert!(server.call("get_project_status", json!({}))["warning"].as_str().unwrap().contains("sync_dependencies"));
}

#[test]
fn a_dependency_lies_on_one_canvas_and_may_be_missing() {
    let folder = by_hand();
    let missing = first()
        .replace("ACC-001", "ACC-005")
        .replace("First", "Waits")
        .replace("depends_on: []", "depends_on: [ACC-099]")
        .replace("Completed", "Not Started");
    std::fs::write(folder.vault().join("accomplishments/Waits.md"), missing).unwrap();
    let server = serve(&folder);
    let got = server.call("get_blocked_items", json!({}));
    let waits = got["blocked_items"].as_array().unwrap().iter().find(|item| item["id"] == "ACC-005").unwrap();
    assert_eq!(waits["blocking_items"], json!([{ "id": "ACC-099", "title": "", "status": "Missing" }]));
    let before = all(&folder);
    for (tool, arguments) in [
        ("manage_dependency", json!({ "operation": "add", "blocker_id": "ACC-005", "blocked_id": "ACC-007" })),
        ("manage_accomplishment", json!({ "operation": "update", "id": "ACC-007", "data": { "depends_on": ["ACC-005"] } })),
        ("manage_accomplishment", json!({ "operation": "create", "data": { "title": "X", "effort": "Infra", "depends_on": ["ACC-005"] } })),
        (
            "manage_accomplishment",
            json!({ "operation": "create", "data": { "title": "X", "effort": "Infra", "canvas_source": "projects/second.canvas", "depends_on": ["ACC-001"] } }),
        ),
    ] {
        let error = server.fail(tool, arguments);
        assert!(error["code"] == "INVALID_ARGUMENT" && error["message"].as_str().unwrap().contains("is not on the canvas"), "{error}");
    }
    assert_eq!(all(&folder), before);
    // What does not exist can still be removed, also where there is no edge.
    server.call("manage_dependency", json!({ "operation": "remove", "blocker_id": "ACC-099", "blocked_id": "ACC-005" }));
    assert_eq!(server.call("get_accomplishment", json!({ "id": "ACC-005" }))["is_blocked"], false);
    // A second canvas is a project of its own.
    let made = server.call(
        "manage_accomplishment",
        json!({ "operation": "create", "data": { "title": "Elsewhere", "effort": "Infra", "canvas_source": "projects/second.canvas" } }),
    );
    assert_eq!(made["accomplishment"]["canvas_source"], "projects/second.canvas");
    let status = |canvas: &str| server.call("get_project_status", json!({ "canvas_source": canvas }))["total_accomplishments"].clone();
    assert_eq!((status("projects/main.canvas"), status("projects/second.canvas")), (json!(2), json!(2)));
}

/// Every answer fits into what clients take, and says how to go on.
#[test]
fn answers_have_an_end() {
    let tasks: String = (1..=3_000).map(|n| format!("### Task {n}: T{n}\n- **Goal:** g\n\n")).collect();
    let criteria: String = (0..3_000).map(|n| format!("- [ ] criterion {n}\n")).collect();
    let ids: Vec<String> = (2..5_000).map(|n| format!("ACC-{n}")).collect();
    let huge = first().replace("depends_on: []", &format!("depends_on: [{}]\ntitle2: {}", ids.join(", "), "x".repeat(10_000)));
    let huge = format!("{huge}\n## Acceptance Criteria\n{criteria}\n## Tasks\n{tasks}");
    let folder = Folder::with(&[("accomplishments/First.md", huge.as_bytes()), ("projects/main.canvas", CANVAS.as_bytes())]);
    for n in 0..300 {
        let path = folder.vault().join(format!("docs/{n} {}.md", "long ".repeat(30)));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "y".repeat(if n % 2 == 0 { 60_000 } else { 100 })).unwrap();
        std::fs::write(folder.vault().join(format!("accomplishments/twin {n}.md")), first().replace("ACC-001", "ACC-9000")).unwrap();
    }
    let server = serve(&folder);
    let mut from = 0;
    let mut seen = 0;
    loop {
        let answer = server.call("get_accomplishment", json!({ "id": "ACC-001", "from_task": from }));
        assert!(answer.to_string().len() < 100_000);
        seen += answer["tasks"].as_array().unwrap().len();
        match answer["next_task"].as_u64() {
            Some(next) => from = next,
            None => break,
        }
    }
    assert_eq!(seen, 3_000);
    for (tool, arguments) in [
        ("get_blocked_items", json!({})),
        ("list_accomplishments", json!({})),
        ("get_project_status", json!({})),
        ("get_current_work", json!({})),
        ("set_work_focus", json!({ "accomplishment_id": "ACC-001", "in_progress": true })),
    ] {
        let answer = server.call(tool, arguments);
        assert!(answer.to_string().len() < 100_000, "{tool}: {}", answer.to_string().len());
    }
    assert!(server.fail("get_accomplishment", json!({ "id": "ACC-9000" })).to_string().len() < 5_000);
    let (mut cursor, mut documents) = (Value::Null, 0);
    loop {
        let page = server.call("read_docs", json!({ "cursor": cursor }));
        assert!(page.to_string().len() < 100_000);
        documents += page["documents"].as_object().unwrap().len() + page["too_long"].as_array().map_or(0, Vec::len);
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(documents, 300);
    // The last of many tasks goes as fast as the first.
    let started = std::time::Instant::now();
    server.call("manage_task", json!({ "operation": "remove", "accomplishment_id": "ACC-001", "task_id": "ACC-001:Task 1:T1" }));
    assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
}

/// What an attack found: bytes that nobody named.
#[test]
fn bytes_that_no_argument_names_stay() {
    let folder = by_hand();
    // An edge that a person drew, and that no note knows.
    let hand = "{\"id\":\"hand\",\"fromNode\":\"c\",\"toNode\":\"b\",\"label\":\"mine\"}";
    let drawn = CANVAS
        .replace("{\"id\":\"t\"", "{\"id\":\"c\",\"type\":\"file\",\"file\":\"accomplishments/Third.md\",\"x\":5,\"y\":500,\"width\":1,\"height\":1},\n\t\t{\"id\":\"t\"")
        .replace("{\"id\":\"f\"", &format!("{hand},\n\t\t{{\"id\":\"f\""));
    std::fs::write(folder.vault().join("projects/main.canvas"), &drawn).unwrap();
    std::fs::write(folder.vault().join("accomplishments/Third.md"), first().replace("ACC-001", "ACC-003").replace("First", "Third"))
        .unwrap();
    let server = serve(&folder);
    let depend = |operation: &str, blocker: &str| {
        server.call("manage_dependency", json!({ "operation": operation, "blocker_id": blocker, "blocked_id": "ACC-007" }))
    };
    let has = |what: &str| String::from_utf8(folder.read("projects/main.canvas")).unwrap().contains(what);
    depend("remove", "ACC-001");
    assert!(has(hand) && !has("\"id\":\"e\""));
    depend("add", "ACC-001");
    update(&server, "ACC-007", json!({ "depends_on": ["ACC-001"] }));
    assert!(has(hand));
    assert!(depend("remove", "ACC-003")["message"].as_str().unwrap().contains("does not block"), "one that only the canvas has");
    assert!(!has(hand));
    // What is no canvas is not made into one, and not into something else.
    for odd in [
        "[]",
        "[[],[]]",
        "{\"nodes\":[[\"a\"]]}",
        "{\"nodes\":[{\"id\":\"n\",\"type\":\"text\",\"x\":0,\"y\":1.7e308,\"width\":1,\"height\":1.7e308}]}",
    ] {
        std::fs::write(folder.vault().join("projects/main.canvas"), odd).unwrap();
        let error = server.fail("manage_accomplishment", json!({ "operation": "create", "data": { "title": "X", "effort": "Infra" } }));
        assert_eq!(error["code"], "PARSE_ERROR", "{odd}: {error}");
        assert_eq!(folder.read("projects/main.canvas"), odd.as_bytes());
    }
    // A canvas that cannot be read and may show the note keeps it where it is.
    std::fs::write(folder.vault().join("projects/main.canvas"), drawn.replace("\"edges\"", "edges")).unwrap();
    let before = all(&folder);
    for arguments in
        [json!({ "operation": "delete", "id": "ACC-007" }), json!({ "operation": "update", "id": "ACC-007", "data": { "title": "New" } })]
    {
        assert_eq!(server.fail("manage_accomplishment", arguments)["code"], "PARSE_ERROR");
    }
    assert_eq!(all(&folder), before);
    // A title that would hide the note's text.
    assert_eq!(
        server.fail("manage_accomplishment", json!({ "operation": "create", "data": { "title": "50%% less", "effort": "Infra" } }))["code"],
        "INVALID_ARGUMENT"
    );
}

#[test]
fn notes_are_brought_in_line_with_a_canvas() {
    let folder = Folder::with(&[]);
    let server = serve(&folder);
    for title in ["A", "B", "C"] {
        create(&server, title, &[]);
    }
    let read = canvas(&folder);
    let id = |file: &str| node(&read, &format!("accomplishments/{file}.md"))["id"].as_str().unwrap().to_owned();
    let (a, b, c) = (id("A"), id("B"), id("C"));
    let edge =
        |name: &str, from: &str, to: &str, more: &str| format!("{{\"id\":\"{name}\",\"fromNode\":\"{from}\",\"toNode\":\"{to}\"{more}}}");
    let drawn = [
        edge("1", &a, &b, ""),
        edge("2", &c, &b, ",\"fromEnd\":\"arrow\",\"toEnd\":\"none\""),
        edge("3", &c, &a, ""),
        edge("4", &a, "text", ""),
        edge("5", &a, &c, ",\"toEnd\":\"none\""),
    ];
    let text = String::from_utf8(folder.read("projects/main.canvas")).unwrap();
    let text = text
        .replace("\"edges\":[]", &format!("\"edges\":[{}]", drawn.join(",")))
        .replace("\"nodes\":[", "\"nodes\":[{\"id\":\"text\",\"type\":\"text\",\"text\":\"x\",\"x\":0,\"y\":0,\"width\":1,\"height\":1},");
    std::fs::write(folder.vault().join("projects/main.canvas"), &text).unwrap();
    let synced = server.call("sync_dependencies", json!({}));
    assert_eq!((&synced["total_accomplishments"], &synced["updated_count"]), (&json!(3), &json!(2)));
    assert_eq!(synced["updates"][0], json!({ "id": "ACC-002", "title": "B", "old_depends_on": [], "new_depends_on": ["ACC-001"] }));
    assert_eq!(synced["updates"][1]["new_depends_on"], json!(["ACC-002"]), "an edge counts in the direction of its arrow");
    let errors = synced["errors"].to_string();
    assert!(errors.contains("has no arrow") && errors.contains("left out"), "{errors}");
    assert_eq!(synced["errors"].as_array().unwrap().len(), 2, "an edge to another card is a person's");
    let before = all(&folder);
    assert_eq!(server.call("sync_dependencies", json!({}))["updated_count"], 0);
    assert_eq!(all(&folder), before, "twice is once");
    assert_eq!(String::from_utf8(folder.read("projects/main.canvas")).unwrap(), text);
}

#[test]
fn every_error_has_its_code() {
    let folder = by_hand();
    for (path, text) in [
        ("accomplishments/broken.md", "---\ntype: accomplishment\nid: ACC-003\na: [\n---\n"),
        ("accomplishments/status.md", "---\ntype: accomplishment\nid: ACC-004\nstatus: Someday\n---\n"),
        ("accomplishments/twin.md", "---\ntype: accomplishment\nid: ACC-001\ntitle: Twin\n---\n"),
        ("accomplishments/other.md", "no accomplishment"),
        ("projects/broken.canvas", "{\"nodes\": 5}"),
    ] {
        std::fs::write(folder.vault().join(path), text).unwrap();
    }
    let server = serve(&folder);
    let before = all(&folder);
    let manage = |arguments: Value| server.fail("manage_accomplishment", arguments);
    let make = |data: Value| json!({ "operation": "create", "data": data });
    for (error, code, status, words) in [
        (server.fail("get_accomplishment", json!({ "id": "ACC-099" })), "ACCOMPLISHMENT_NOT_FOUND", Some(404), "ACC-099"),
        (server.fail("get_accomplishment", json!({ "id": "ACC-001" })), "DUPLICATE_ID", Some(409), "twin.md"),
        (server.fail("get_accomplishment", json!({ "id": "ACC-003" })), "PARSE_ERROR", Some(500), "broken.md"),
        (server.fail("list_accomplishments", json!({ "status": "Done" })), "INVALID_STATUS", Some(400), "Not Started"),
        (server.fail("get_project_status", json!({ "canvas_source": "none.canvas" })), "CANVAS_NOT_FOUND", Some(404), "none.canvas"),
        (
            server.fail("get_project_status", json!({ "canvas_source": "projects/broken.canvas" })),
            "PARSE_ERROR",
            Some(500),
            "broken.canvas",
        ),
        (server.fail("get_project_status", json!({ "canvas_source": "../x.canvas" })), "PATH_NOT_ALLOWED", None, ".."),
        (server.fail("get_project_status", json!({ "canvas_source": "notes.md" })), "INVALID_ARGUMENT", None, ".canvas"),
        (manage(make(json!({ "title": "X", "effort": "Infra", "status": "Done" }))), "INVALID_STATUS", Some(400), "data.status"),
        (manage(make(json!({ "title": "X", "effort": "Fun" }))), "INVALID_ARGUMENT", None, "data.effort"),
        (manage(make(json!({ "title": "X" }))), "INVALID_ARGUMENT", None, "data.effort"),
        (manage(make(json!({ "effort": "Infra" }))), "INVALID_ARGUMENT", None, "data.title"),
        (manage(make(json!({ "title": " ", "effort": "Infra" }))), "INVALID_ARGUMENT", None, "data.title"),
        (manage(make(json!({ "title": "a\nb", "effort": "Infra" }))), "INVALID_ARGUMENT", None, "data.title"),
        (manage(make(json!({ "title": "X", "effort": "Infra", "colour": 1 }))), "INVALID_ARGUMENT", None, "colour"),
        (manage(make(json!({ "title": "X", "effort": "Infra", "notes": "n" }))), "INVALID_ARGUMENT", None, "notes"),
        (
            manage(make(json!({ "title": "X", "effort": "Infra", "canvas_source": "no.canvas" }))),
            "CANVAS_NOT_FOUND",
            Some(404),
            "no.canvas",
        ),
        (manage(make(json!({ "title": "FIRST", "effort": "Infra" }))), "ALREADY_EXISTS", None, "title"),
        (manage(make(json!({ "title": "Other", "effort": "Infra" }))), "ALREADY_EXISTS", None, "other.md"),
        (
            manage(json!({ "operation": "create", "id": "ACC-7", "data": { "title": "X", "effort": "Infra" } })),
            "DUPLICATE_ID",
            Some(409),
            "Old.md",
        ),
        (manage(json!({ "operation": "update", "data": {} })), "INVALID_ARGUMENT", None, "id"),
        (
            manage(json!({ "operation": "update", "id": "ACC-007", "data": { "canvas_source": "x.canvas" } })),
            "INVALID_ARGUMENT",
            None,
            "canvas",
        ),
        (manage(json!({ "operation": "update", "id": "ACC-007", "data": { "title": "first" } })), "ALREADY_EXISTS", None, "ACC-001"),
        (
            manage(json!({ "operation": "update", "id": "ACC-007", "data": { "outcome": "x\n## Notes\ny" } })),
            "INVALID_ARGUMENT",
            None,
            "Outcome",
        ),
        (manage(json!({ "operation": "update", "id": "ACC-007", "data": { "notes": "```" } })), "INVALID_ARGUMENT", None, "Notes"),
        (
            manage(json!({ "operation": "update", "id": "ACC-007", "data": { "status": "Blocked" }, "if_match": "0000000000000000" })),
            "CONFLICT",
            None,
            "etag",
        ),
        (manage(json!({ "operation": "rename", "id": "ACC-007" })), "INVALID_ARGUMENT", None, "create"),
        (
            server.fail("manage_task", json!({ "operation": "add", "accomplishment_id": "ACC-007", "data": { "name": "x" } })),
            "INVALID_ARGUMENT",
            None,
            "goal",
        ),
        (
            server.fail(
                "manage_task",
                json!({ "operation": "add", "accomplishment_id": "ACC-007", "data": { "name": "x", "goal": "a\n# b" } }),
            ),
            "INVALID_ARGUMENT",
            None,
            "Tasks",
        ),
        (
            server.fail(
                "manage_task",
                json!({ "operation": "add", "accomplishment_id": "ACC-007", "data": { "name": "x", "goal": "a", "status": "Done" } }),
            ),
            "INVALID_STATUS",
            Some(400),
            "InProgress",
        ),
        (
            server.fail(
                "manage_task",
                json!({ "operation": "add", "accomplishment_id": "ACC-007", "data": { "name": "x", "goal": "a", "estimate": -1 } }),
            ),
            "INVALID_ARGUMENT",
            None,
            "estimate",
        ),
        (server.fail("set_work_focus", json!({ "accomplishment_id": "ACC-007" })), "INVALID_ARGUMENT", None, "in_progress"),
        (server.fail("set_work_focus", json!({ "accomplishment_id": "ACC-007", "task_id": "x" })), "INVALID_ARGUMENT", None, "together"),
    ] {
        assert_eq!(error["code"], code, "{error}");
        assert_eq!(error["status"].as_u64(), status, "{error}");
        assert!(error["message"].as_str().unwrap().contains(words), "{words}: {error}");
        assert!(!error.to_string().contains(folder.path().to_str().unwrap()), "{error}");
    }
    assert_eq!(all(&folder), before, "nothing was written");
    let listed = server.call("list_accomplishments", json!({}));
    assert_eq!(listed["count"], 4, "both of one id are shown: {listed}");
    let problems = listed["problems"].to_string();
    assert!(
        problems.contains("First.md and accomplishments/twin.md") && problems.contains("broken.md") && problems.contains("status.md"),
        "{problems}"
    );
}

#[test]
fn titles_stay_in_the_folder_and_differ() {
    let folder = Folder::with(&[]);
    let server = serve(&folder);
    for (title, file) in [
        ("../../escape", "-.-..-escape.md"),
        ("a/b\\c: d?", "a-b-c- d-.md"),
        (".hidden", "-hidden.md"),
        ("Café", "Café.md"),
        ("[[link]] #tag ^x | y", "--link-- -tag -x - y.md"),
        ("CON", "CON-.md"),
        ("\u{1f3bb} ---", "\u{1f3bb} ---.md"),
        ("key: \"value\" # no comment", "key- -value- - no comment.md"),
    ] {
        let made = create(&server, title, &[]);
        assert_eq!((&made["title"], &made["vault_path"]), (&json!(title), &json!(format!("accomplishments/{file}"))));
        assert_eq!(server.call("get_accomplishment", json!({ "id": made["id"] }))["title"], title);
    }
    let before = all(&folder);
    for title in ["café", "Cafe\u{301}", "CAFE\u{301}", "A\\B/C- D*"] {
        let error = server.fail("manage_accomplishment", json!({ "operation": "create", "data": { "title": title, "effort": "Infra" } }));
        assert_eq!(error["code"], "ALREADY_EXISTS", "{title}");
    }
    assert_eq!(all(&folder), before);
    assert_eq!(all(&folder).keys().filter(|name| !name.starts_with("accomplishments/") && !name.starts_with("projects/")).count(), 0);
    // Its own title in other letters is a new title, not somebody else's.
    assert_eq!(update(&server, "ACC-004", json!({ "title": "CAFÉ" }))["vault_path"], "accomplishments/CAFÉ.md");
}

#[test]
fn documents_are_read_and_changed_by_lines() {
    let folder = by_hand();
    std::fs::write(folder.vault().join("docs/long.md"), "x".repeat(200_000)).unwrap();
    std::fs::write(folder.vault().join("projects/shown.md"), "on the canvas").unwrap();
    let canvas = CANVAS
        .replace("\"see ACC-041\"", "\"x\"")
        .replace("\"type\":\"text\",\"text\":\"x\"", "\"type\":\"file\",\"file\":\"projects/shown.md\"");
    std::fs::write(folder.vault().join("projects/main.canvas"), canvas).unwrap();
    let server = serve(&folder);
    let every = server.call("read_docs", json!({}));
    assert_eq!(every["document_names"], json!(["notes.md", "context:long.md", "context:sub/ref.md"]));
    assert_eq!(
        (&every["documents"], &every["too_long"]),
        (&json!({ "notes.md": "one\ntwo\nthree\n", "context:sub/ref.md": "ref\n" }), &json!(["context:long.md"]))
    );
    let read = server.call("read_docs", json!({ "doc_name": "notes.md", "from_line": 1, "to_line": 2 }));
    assert_eq!(
        (&read["content"], &read["line_count"], &read["range"]),
        (&json!("two\n"), &json!(3), &json!({ "from_line": 1, "to_line": 2 }))
    );
    assert_eq!(server.call("read_docs", json!({ "doc_name": "context:sub/ref.md" }))["range"], json!({ "from_line": 0, "to_line": 1 }));
    for (arguments, code) in [
        (json!({ "doc_name": "notes.md", "from_line": 4 }), "INVALID_RANGE"),
        (json!({ "doc_name": "notes.md", "to_line": 4 }), "INVALID_RANGE"),
        (json!({ "doc_name": "notes.md", "from_line": 2, "to_line": 1 }), "INVALID_RANGE"),
        (json!({ "doc_name": "notes.md", "from_line": -1 }), "INVALID_RANGE"),
        (json!({ "doc_name": "none.md" }), "FILE_NOT_FOUND"),
        (json!({ "doc_name": "../accomplishments/Old.md" }), "PATH_NOT_ALLOWED"),
        (json!({ "doc_name": "sub/x.md" }), "PATH_NOT_ALLOWED"),
        (json!({ "doc_name": "context:../projects/notes.md" }), "PATH_NOT_ALLOWED"),
        (json!({ "doc_name": "context:" }), "PATH_NOT_ALLOWED"),
        (json!({ "from_line": 1 }), "INVALID_ARGUMENT"),
        (json!({ "doc_name": "context:long.md" }), "TOO_LARGE"),
    ] {
        assert_eq!(server.fail("read_docs", arguments.clone())["code"], code, "{arguments}");
    }
    let change = |arguments: Value| server.call("update_doc", arguments);
    let done = change(json!({ "name": "notes.md", "operation": "insert_at", "start_line": 1, "content": "a\nb" }));
    assert_eq!(
        (&done["message"], &done["line_count"], &done["affected_range"]),
        (&json!("Inserted 2 line(s) at line 1 in document: notes.md"), &json!(2), &json!({ "start_line": 1, "end_line": 3 }))
    );
    assert_eq!(folder.read("projects/notes.md"), b"one\na\nb\ntwo\nthree\n");
    change(json!({ "name": "notes.md", "operation": "replace_at", "start_line": 0, "end_line": 3, "content": "zero\n" }));
    assert_eq!(folder.read("projects/notes.md"), b"zero\ntwo\nthree\n");
    change(json!({ "name": "context:new.md", "operation": "create", "content": "n" }));
    change(json!({ "name": "context:new.md", "operation": "replace", "content": "m\n" }));
    assert_eq!(folder.read("docs/new.md"), b"m\n");
    change(json!({ "name": "context:new.md", "operation": "delete" }));
    assert!(folder.vault().join(".trash/new.md").exists());
    let before = all(&folder);
    for (arguments, code) in [
        (json!({ "name": "notes.md", "operation": "create", "content": "x" }), "ALREADY_EXISTS"),
        (json!({ "name": "new.md", "operation": "replace", "content": "x" }), "FILE_NOT_FOUND"),
        (json!({ "name": "new.md", "operation": "delete" }), "FILE_NOT_FOUND"),
        (json!({ "name": "notes.md", "operation": "replace" }), "INVALID_ARGUMENT"),
        (json!({ "name": "notes.md", "operation": "insert_at", "content": "x" }), "INVALID_ARGUMENT"),
        (json!({ "name": "notes.md", "operation": "insert_at", "content": "x", "start_line": 9 }), "INVALID_RANGE"),
        (json!({ "name": "notes.md", "operation": "replace_at", "content": "x", "start_line": 1, "end_line": 9 }), "INVALID_RANGE"),
        (json!({ "name": "shown.md", "operation": "delete" }), "PATH_NOT_ALLOWED"),
        (json!({ "name": "../x.md", "operation": "create", "content": "x" }), "PATH_NOT_ALLOWED"),
        (json!({ "name": "x.txt", "operation": "create", "content": "x" }), "INVALID_ARGUMENT"),
        (json!({ "name": "main.canvas", "operation": "replace", "content": "x" }), "INVALID_ARGUMENT"),
        (json!({ "name": "notes.md", "operation": "delete", "if_match": "0000000000000000" }), "CONFLICT"),
    ] {
        assert_eq!(server.fail("update_doc", arguments.clone())["code"], code, "{arguments}");
    }
    assert_eq!(all(&folder), before);
}

/// A small generator of numbers, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Whatever a model does, what it did not name stays, byte for byte: words of a person's, unknown properties and fields,
/// comments, nodes, groups, colours.
#[test]
fn a_hundred_random_operations_keep_what_people_wrote() {
    const KEPT: [&str; 13] = [
        "# mine\r\n",
        "id: \"ACC-007\"   # do not change\r\n",
        "owner: Ann\r\nnested: {a: [1, 1.50]}\r\n",
        "Intro %%private%%.\r\n",
        "## Why\r\nBecause.\r\n",
        "By hand:\r\n",
        "- [x] ticked\r\n",
        "<!-- a comment -->\r\n",
        "- **Owner:** Bob\r\n",
        "Between tasks.\r\n",
        "## After\r\nno end",
        "\u{feff}---\r\n",
        "# Old (Accomplishment)",
    ];
    for seed in 0..6 {
        let folder = by_hand();
        let server = serve(&folder);
        let mut dice = Dice(seed);
        let mut made: Vec<String> = Vec::new();
        for number in 0..100 {
            let tasks = server.call("get_accomplishment", json!({ "id": "ACC-007" }))["tasks"].clone();
            // The first task has a field of a person's, so it is not removed here.
            let task =
                |dice: &mut Dice, from: usize| tasks.as_array().unwrap().get(from + dice.below(9)).map(|task| task["task_id"].clone());
            let (tool, arguments) = match dice.below(12) {
                0 => (
                    "manage_accomplishment",
                    json!({ "operation": "update", "id": "ACC-007", "data": { "outcome": format!("Outcome {number}\n\n- list\n### deeper") } }),
                ),
                1 => (
                    "manage_accomplishment",
                    json!({ "operation": "update", "id": "ACC-007", "data": { "status": (["Blocked", "In Progress"][dice.below(2)]), "priority": "Low" } }),
                ),
                2 => (
                    "manage_accomplishment",
                    json!({ "operation": "update", "id": "ACC-007", "data": { "acceptance_criteria": ["ticked", format!("c{}", dice.below(5)), format!("d{}", dice.below(5))] } }),
                ),
                3 => (
                    "manage_accomplishment",
                    json!({ "operation": "update", "id": "ACC-007", "data": { "notes": format!("Note {number}\n```\n## code\n```") } }),
                ),
                4 => (
                    "manage_task",
                    json!({ "operation": "add", "accomplishment_id": "ACC-007", "data": { "name": format!("T{number}"), "goal": "g\n\nmore", "estimate": 1 } }),
                ),
                5 => match task(&mut dice, 0) {
                    Some(id) => (
                        "manage_task",
                        json!({ "operation": "update", "accomplishment_id": "ACC-007", "task_id": id, "data": { "description": format!("d {number}\nsecond"), "status": "OnHold" } }),
                    ),
                    None => continue,
                },
                6 => match task(&mut dice, 1) {
                    Some(id) => ("manage_task", json!({ "operation": "remove", "accomplishment_id": "ACC-007", "task_id": id })),
                    None => continue,
                },
                7 => {
                    made.push(
                        create(&server, &format!("Made {number}"), if dice.below(2) == 0 { &[] } else { &["ACC-007"] })["id"]
                            .as_str()
                            .unwrap()
                            .to_owned(),
                    );
                    continue;
                }
                8 if !made.is_empty() => {
                    ("manage_accomplishment", json!({ "operation": "delete", "id": made.remove(dice.below(made.len())) }))
                }
                9 if !made.is_empty() => (
                    "manage_dependency",
                    json!({ "operation": (["add", "remove"][dice.below(2)]), "blocker_id": "ACC-007", "blocked_id": made[dice.below(made.len())] }),
                ),
                10 if !made.is_empty() => (
                    "manage_accomplishment",
                    json!({ "operation": "update", "id": made[dice.below(made.len())], "data": { "title": format!("Renamed {number}") } }),
                ),
                _ => ("set_work_focus", json!({ "accomplishment_id": "ACC-007", "in_progress": dice.below(2) == 0 })),
            };
            server.call(tool, arguments.clone());
            let text = String::from_utf8(folder.read("accomplishments/Old.md")).unwrap();
            for kept in KEPT {
                assert!(text.contains(kept), "seed {seed}, {number}: {arguments} lost {kept:?}:\n{text}");
            }
            assert!(!text.replace("\r\n", "").contains('\n'), "seed {seed}, {number}: {arguments} mixed line ends");
            let drawn = String::from_utf8(folder.read("projects/main.canvas")).unwrap();
            check_canvas(drawn.as_bytes());
            for kept in CANVAS.lines().filter(|line| line.contains("\"id\":") || line.contains("metadata")) {
                assert!(drawn.contains(kept.trim_end_matches(',')), "seed {seed}, {number}: {arguments} lost {kept}:\n{drawn}");
            }
        }
        let status = server.call("sync_dependencies", json!({}));
        assert_eq!(status["updated_count"], 0, "canvas and notes agree: {status}");
    }
}

#[test]
fn calls_at_once_lose_nothing() {
    let folder = Folder::with(&[]);
    let servers = [serve(&folder), serve(&folder)];
    create(&servers[0], "Root", &[]);
    std::thread::scope(|scope| {
        for (number, server) in servers.iter().enumerate() {
            for thread in 0..3 {
                scope.spawn(move || {
                    for n in 0..5 {
                        create(server, &format!("{number} {thread} {n}"), &["ACC-001"]);
                        server.call("manage_task", json!({ "operation": "add", "accomplishment_id": "ACC-001", "data": { "name": format!("{number} {thread} {n}"), "goal": "g" } }));
                    }
                });
            }
        }
    });
    let listed = servers[1].call("list_accomplishments", json!({}));
    let ids: HashSet<&str> = listed["accomplishments"].as_array().unwrap().iter().map(|found| found["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), &listed["count"], listed.get("problems")), (31, &json!(31), None));
    let drawn = canvas(&folder);
    assert_eq!((drawn["nodes"].as_array().unwrap().len(), drawn["edges"].as_array().unwrap().len()), (31, 30));
    let tasks = servers[0].call("get_accomplishment", json!({ "id": "ACC-001" }))["tasks"].clone();
    let numbers: Vec<u64> = tasks.as_array().unwrap().iter().map(|task| task["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=30).collect::<Vec<u64>>());
}

/// Killed at any moment, or refused by the disk half way: note and canvas are both changed, or both as before.
#[test]
fn killed_at_random_moments_note_and_canvas_agree() {
    let folder = Folder::with(&[]);
    {
        let server = serve(&folder);
        for number in 0..6 {
            create(&server, &format!("N{number}"), if number == 0 { &[] } else { &["ACC-001"] });
        }
    }
    for round in 0..25_u64 {
        let server = serve(&folder);
        let pid = server.pid();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_micros(500 + round * 1_700));
            let _ = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
        });
        for step in 0..50 {
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "manage_accomplishment", "arguments":
                if step % 3 == 0 { json!({ "operation": "create", "data": { "title": format!("R{round} {step}"), "effort": "Infra", "depends_on": ["ACC-001"] } }) }
                else { json!({ "operation": "update", "id": "ACC-001", "data": { "title": format!("Root {round} {step}") } }) } } })
            .to_string();
            let head = crate::support::mcp_head(TOKEN, "");
            let request = format!("{head}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{message}", message.len());
            let Ok(mut connection) = Connection::try_open(server.address) else { break };
            if !connection.try_send(request) || connection.try_response().is_none() {
                break;
            }
        }
        killer.join().unwrap();
        drop(server);
        let server = serve(&folder);
        let drawn = canvas(&folder);
        let files: HashSet<String> =
            drawn["nodes"].as_array().unwrap().iter().map(|node| node["file"].as_str().unwrap().to_owned()).collect();
        let notes: HashSet<String> =
            all(&folder).into_keys().filter(|name| name.starts_with("accomplishments/") && name.ends_with(".md")).collect();
        assert_eq!(files, notes, "round {round}: every note has its node, and every node its note");
        assert_eq!(server.call("sync_dependencies", json!({}))["updated_count"], 0, "round {round}");
        assert!(!folder.vault().join(".vault-sync-mcp-journal.json").exists());
    }
}

#[test]
fn a_disk_that_refuses_half_way_leaves_both_as_before() {
    use std::os::unix::fs::PermissionsExt;
    let folder = by_hand();
    let server = serve(&folder);
    let place = folder.vault().join("projects/main.canvas");
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o444)).unwrap();
    let before = all(&folder);
    for arguments in [
        json!({ "operation": "create", "data": { "title": "X", "effort": "Infra" } }),
        json!({ "operation": "update", "id": "ACC-007", "data": { "title": "Y" } }),
        json!({ "operation": "delete", "id": "ACC-001" }),
    ] {
        assert_eq!(server.fail("manage_accomplishment", arguments.clone())["code"], "READ_ONLY", "{arguments}");
        assert_eq!(all(&folder), before, "{arguments}");
    }
    assert_eq!(
        server.fail("manage_dependency", json!({ "operation": "remove", "blocker_id": "ACC-001", "blocked_id": "ACC-007" }))["code"],
        "READ_ONLY"
    );
    assert_eq!(all(&folder), before);
}

#[test]
fn prompts_show_the_project_and_begin_a_session() {
    let folder = by_hand();
    let server = serve(&folder);
    create(&server, "Quote \" and | #1", &["ACC-001"]);
    let read = server.result_of("resources/read", json!({ "uri": "accomplishments://status" }));
    let text = read["contents"][0]["text"].as_str().unwrap();
    for words in [
        "```mermaid\nflowchart LR\n",
        "ACC001[\"ACC-001: First\"]:::Completed",
        "ACC001 --> ACC007",
        "Quote #quot; and | #35;1",
        "| ACC-042 | Quote \" and \\| #1 |",
        "3 accomplishments",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let prompt = server.result_of("prompts/get", json!({ "name": "plan_project", "arguments": { "goal": "a heated house" } }));
    let said = prompt["messages"].to_string();
    assert!(said.contains("a heated house") && said.contains("manage_accomplishment") && said.contains("flowchart LR"), "{said}");
    let empty = Folder::with(&[]);
    let server = serve(&empty);
    assert!(server.result_of("prompts/get", json!({ "name": "plan_project" }))["messages"].to_string().contains("nothing on the canvas"));
}

/// A document that is on the canvas too was left out of all documents, and refused by its name.
#[test]
fn a_document_that_is_on_the_canvas_is_a_document() {
    let canvas = CANVAS.replace(
        "\"nodes\":[",
        "\"nodes\":[{\"id\":\"r\",\"type\":\"file\",\"file\":\"docs/r.md\",\"x\":0,\"y\":5000,\"width\":10,\"height\":10},",
    );
    let folder = Folder::with(&[
        ("accomplishments/First.md", first().as_bytes()),
        ("projects/main.canvas", canvas.as_bytes()),
        ("docs/r.md", b"reference\n"),
        ("docs/bin.md", b"caf\xe9\n"),
    ]);
    let server = serve(&folder);
    let all = server.call("read_docs", json!({}));
    assert_eq!((&all["documents"]["context:r.md"], &all["unreadable"]), (&json!("reference\n"), &json!(["context:bin.md"])), "{all}");
    assert_eq!(server.call("read_docs", json!({ "doc_name": "context:r.md" }))["content"], "reference\n");
    let refused = server.fail("update_doc", json!({ "name": "context:r.md", "operation": "delete" }));
    assert_eq!(refused["code"], "PATH_NOT_ALLOWED");
}

/// Two notes on one canvas were said not to be, because a property named another one.
#[test]
fn notes_dragged_to_another_canvas_can_depend_on_each_other() {
    let note = |id: &str| first().replace("ACC-001", id).replace("canvas_source: projects/main.canvas\n", "");
    let node = |id: &str, file: &str, x: usize| {
        format!(
            "{{\"id\":\"{id}\",\"type\":\"file\",\"file\":\"accomplishments/{file}.md\",\"x\":{x},\"y\":0,\"width\":400,\"height\":300}}"
        )
    };
    let other = format!("{{\"nodes\":[{},{}],\"edges\":[]}}", node("a", "A", 0), node("b", "B", 900));
    let folder = Folder::with(&[
        ("accomplishments/A.md", note("ACC-001").as_bytes()),
        ("accomplishments/B.md", note("ACC-002").as_bytes()),
        ("projects/main.canvas", b"{\"nodes\":[],\"edges\":[]}"),
        ("projects/other.canvas", other.as_bytes()),
    ]);
    let server = serve(&folder);
    let done = server.call("manage_dependency", json!({ "operation": "add", "blocker_id": "ACC-001", "blocked_id": "ACC-002" }));
    assert_eq!(done["success"], true);
    assert!(String::from_utf8(folder.read("projects/other.canvas")).unwrap().contains("\"fromNode\""));
}
