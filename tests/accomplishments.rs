//! Toolset `accomplishments`: conversations, and vaults before and after.

use crate::support::{Folder, Server};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};

const SETTINGS: [(&str, &str); 4] = [
    ("TOOLSETS", "accomplishments"),
    ("ACCOMPLISHMENTS_FOLDER", "accomplishments"),
    ("DEFAULT_CANVAS", "projects/main.canvas"),
    ("CONTEXT_DOCS_FOLDER", "docs"),
];

pub(crate) fn serve(folder: &Folder) -> Server {
    Server::with(&folder.vault(), &SETTINGS)
}

/// The same with a log, for what a crash is to be taken back by.
pub(crate) fn serve_with_log(folder: &Folder) -> Server {
    let state = folder.path().join("state").display().to_string();
    let settings: Vec<_> = SETTINGS.into_iter().chain([("STATE_DIR", state.as_str())]).collect();
    Server::with(&folder.vault(), &settings)
}

pub(crate) fn create(server: &Server, title: &str, depends_on: &[&str]) -> Value {
    let data = json!({ "title": title, "effort": "Engineering", "depends_on": depends_on });
    server.call("manage_accomplishment", json!({ "operation": "create", "data": data }))["accomplishment"].clone()
}

pub(crate) fn update(server: &Server, id: &str, data: Value) -> Value {
    server.call("manage_accomplishment", json!({ "operation": "update", "id": id, "data": data }))["accomplishment"].clone()
}

pub(crate) fn canvas(folder: &Folder) -> Value {
    let bytes = folder.read("projects/main.canvas");
    check_canvas(&bytes)
}

/// JSON Canvas 1.0, strictly: the members that nodes and edges must have, their types, and edges
/// between nodes that exist.
pub(crate) fn check_canvas(bytes: &[u8]) -> Value {
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
            assert!(
                edge.get(side).is_none_or(
                    |side| ["top", "right", "bottom", "left"].contains(&side.as_str().unwrap())
                ),
                "{edge}"
            );
        }
    }
    canvas
}

pub(crate) fn node<'a>(canvas: &'a Value, file: &str) -> &'a Value {
    canvas["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|node| node["file"] == file)
        .unwrap_or_else(|| panic!("{file} is not on {canvas}"))
}

pub(crate) fn edges(canvas: &Value) -> Vec<(String, String)> {
    let file = |id: &Value| {
        let node =
            canvas["nodes"].as_array().unwrap().iter().find(|node| node["id"] == *id).unwrap();
        node["file"]
            .as_str()
            .unwrap_or_default()
            .rsplit('/')
            .next()
            .unwrap()
            .trim_end_matches(".md")
            .to_owned()
    };
    canvas["edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| (file(&edge["fromNode"]), file(&edge["toNode"])))
        .collect()
}

/// Every file of a vault, hidden ones of our own aside.
pub(crate) fn all(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.vault()]);
    while let Some(on_disk) = open.pop() {
        for entry in std::fs::read_dir(on_disk).unwrap() {
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
    assert_eq!(server.call("read_docs", json!({}))["document_count"], 0);
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
    assert_eq!(
        (
            &node(&drawn, "accomplishments/Design.md")["x"],
            &node(&drawn, "accomplishments/Design.md")["y"]
        ),
        (&json!(0), &json!(50))
    );
    assert_eq!(
        (
            &node(&drawn, "accomplishments/Build.md")["x"],
            &node(&drawn, "accomplishments/Build.md")["y"]
        ),
        (&json!(500), &json!(50))
    );
    assert_eq!(
        (
            &node(&drawn, "accomplishments/Ship.md")["x"],
            &node(&drawn, "accomplishments/Ship.md")["y"]
        ),
        (&json!(1000), &json!(50))
    );
    let arrow = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        edges(&drawn),
        [arrow("Design", "Build"), arrow("Design", "Ship"), arrow("Build", "Ship")]
    );
    assert_eq!(drawn["edges"][0]["fromSide"], "right");

    let task = server.call(
        "manage_task",
        json!({ "operation": "add", "accomplishment_id": "ACC-001", "data": { "name": "Sketch", "goal": "See it", "estimate": 2.5 } }),
    );
    assert_eq!(
        task["task"],
        json!({ "task_id": "ACC-001:Task 1:Sketch", "number": 1, "name": "Sketch", "status": "Open" })
    );
    let focus = server
        .call("set_work_focus", json!({ "accomplishment_id": "ACC-001", "task_id": "ACC-001:Task 1:Sketch", "task_status": "InProgress" }));
    assert_eq!(
        (&focus["accomplishment"]["inProgress"], &focus["task"]["status"]),
        (&json!(true), &json!("InProgress"))
    );
    let work = server.call("get_current_work", json!({}));
    assert_eq!(work["accomplishments"][0]["tasks"][0]["task_id"], "ACC-001:Task 1:Sketch");
    assert_eq!(
        work["summary"],
        json!({ "accomplishments_in_progress": 1, "tasks_in_progress": 1, "orphaned_tasks": 0 })
    );
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
    assert_eq!(
        (&ready["count"], &ready["ready_items"][0]["outcome"]),
        (&json!(1), &json!("It is *drawn*."))
    );
    update(&server, "ACC-001", json!({ "status": "Completed" }));
    assert_eq!(server.call("get_ready_to_start", json!({}))["ready_items"][0]["id"], "ACC-002");
    let status = server.call("get_project_status", json!({}));
    let expected = json!({ "canvas_source": "projects/main.canvas", "total_accomplishments": 3, "by_status": { "Not Started": 2, "In Progress": 0, "Completed": 1, "Blocked": 0 }, "by_effort": { "Business": 0, "Infra": 0, "Engineering": 2, "Research": 1 }, "by_priority": { "Low": 0, "Medium": 0, "High": 2, "Critical": 1 }, "blocked_count": 1, "ready_to_start_count": 1, "in_progress_count": 0, "total_tasks": 1, "completed_tasks": 0, "task_completion_percentage": 0 });
    assert_eq!(status, expected);

    server.call("manage_accomplishment", json!({ "operation": "delete", "id": "ACC-002" }));
    assert_eq!(
        server.call("get_accomplishment", json!({ "id": "ACC-003" }))["depends_on"],
        json!(["ACC-001"])
    );
    assert_eq!(edges(&canvas(&folder)), [arrow("Design", "Ship")]);
    assert!(
        folder.vault().join(".trash/Build.md").exists()
            && !folder.vault().join("accomplishments/Build.md").exists()
    );
    server.call("manage_accomplishment", json!({ "operation": "delete", "id": "ACC-003" }));
    assert_eq!(create(&server, "Again", &[])["id"], "ACC-004", "an id is not given twice");
}

pub(crate) const NOTE: &str = "\u{feff}---\r\n# mine\r\ntype: accomplishment\r\nid: \"ACC-007\"   # do not change\r\ntitle: 'Old'\r\nstatus: In Progress\r\neffort: Infra\r\npriority:   Low\r\ndepends_on: # the first\r\n  - ACC-001\r\nowner: Ann\r\nnested: {a: [1, 1.50]}\r\n---\r\n\r\n# Old (Accomplishment)\r\n\r\nIntro %%private%%.\r\n\r\n## Outcome\r\nThe old outcome\r\n\r\n## Why\r\nBecause.\r\n## Acceptance Criteria\r\nBy hand:\r\n- [x] ticked\r\n- [ ] open\r\n  with more\r\n\r\n## Tasks\r\n<!-- a comment -->\r\n### Task 1: First\r\n- **Goal:** g\r\n- **Owner:** Bob\r\n- **Description:** line one\r\n  line two\r\n- **Status:** in progress, said Ann\r\n\r\nBetween tasks.\r\n\r\n### Task 2: Second\r\n- **Goal:** h\r\n- **Status:** done\r\n\r\n## Notes\r\n```\r\n## not a heading\r\n```\r\n\r\n## After\r\nno end";

pub(crate) fn first() -> String {
    "---\ntype: accomplishment\nid: ACC-001\ntitle: First\neffort: Business\nstatus: Completed\npriority: High\ninProgress: false\ndepends_on: []\n---\n".to_owned()
}

pub(crate) const CANVAS: &str = "{\n\t\"nodes\":[\n\t\t{\"id\":\"g\",\"type\":\"group\",\"x\":-50,\"y\":-50,\"width\":2000,\"height\":40,\"label\":\"Group\"},\n\t\t{\"id\":\"a\",\"x\":0,\"y\":0,\"width\":400,\"height\":300,\"type\":\"file\",\"file\":\"accomplishments/First.md\",\"color\":\"#ff0000\",\"mine\":[1.5,\"]\"]},\n\t\t{\"id\":\"b\",\"x\":900,\"y\":77,\"width\":420,\"height\":310,\"type\":\"file\",\"file\":\"accomplishments/Old.md\",\"subpath\":\"#Outcome\"},\n\t\t{\"id\":\"t\",\"type\":\"text\",\"text\":\"see ACC-041\",\"x\":0,\"y\":9000,\"width\":10,\"height\":10}\n\t],\n\t\"edges\":[\n\t\t{\"id\":\"e\",\"fromNode\":\"a\",\"fromSide\":\"bottom\",\"toNode\":\"b\",\"toSide\":\"top\",\"label\":\"first\",\"color\":\"4\"},\n\t\t{\"id\":\"f\",\"fromNode\":\"t\",\"toNode\":\"b\"}\n\t],\n\t\"metadata\":{\n\t\t\"version\":\"1.0-1.0\",\n\t\t\"frontmatter\":{}\n\t}\n}";

pub(crate) fn by_hand() -> Folder {
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
pub(crate) fn without_time(folder: &Folder, path: &str) -> String {
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
    step(
        json!({ "acceptance_criteria": ["ticked", "new", "open"] }),
        "- [ ] open",
        "- [ ] new\r\n- [ ] open",
    );
    step(
        json!({ "acceptance_criteria": ["ticked", "new", "[x] open"] }),
        "- [ ] open",
        "- [x] open",
    );
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
        "line two\r\n- **Estimate:** 4h\r\n- **Status:** OnHold",
    );
    task(json!({ "data": { "description": "short" } }), " line one\r\n  line two", " short");
    task(
        json!({ "operation": "add", "data": { "name": "Third", "goal": "i", "notes": "a\n- b" } }),
        "done\r\n\r\n## Notes",
        "done\r\n\r\n### Task 3: Third\r\n- **Goal:** i\r\n- **Description:**\r\n- **Status:** Open\r\n- **Notes:** a\r\n  - b\r\n\r\n## Notes",
    );
    task(
        json!({ "operation": "remove" }),
        "### Task 1: First\r\n- **Goal:** g\r\n- **Owner:** Bob\r\n- **Description:** short\r\n- **Estimate:** 4h\r\n- **Status:** OnHold\r\n\r\nBetween tasks.\r\n\r\n### Task 2: Second\r\n- **Goal:** h\r\n- **Status:** done\r\n\r\n### Task 3",
        "\r\nBetween tasks.\r\n\r\n### Task 1: Second\r\n- **Goal:** h\r\n- **Status:** done\r\n\r\n### Task 2",
    );
    for task_id in ["ACC-007:Task 2:Second", "ACC-007:Task 1", "ACC-001:Task 1:Second"] {
        let error = server.fail(
            "manage_task",
            json!({ "operation": "remove", "accomplishment_id": "ACC-007", "task_id": task_id }),
        );
        assert_eq!(
            (&error["code"], &error["status"]),
            (&json!("TASK_NOT_FOUND"), &json!(404)),
            "{task_id}"
        );
    }
    assert_eq!(
        folder.read("projects/main.canvas"),
        CANVAS.as_bytes(),
        "none of this is about the canvas"
    );
}

/// Every answer fits into what clients take, and says how to go on.
#[test]
fn answers_have_an_end() {
    let tasks: String = (1..=3_000)
        .map(|n| format!("### Task {n}: T{n}\n- **Status:** InProgress\n- **Goal:** g\n\n"))
        .collect();
    let criteria: String = (0..3_000).map(|n| format!("- [ ] criterion {n}\n")).collect();
    let ids: Vec<String> = (2..5_000).map(|n| format!("ACC-{n}")).collect();
    let huge = first().replace(
        "depends_on: []",
        &format!("depends_on: [{}]\ntitle2: {}", ids.join(", "), "x".repeat(10_000)),
    );
    let huge = format!("{huge}\n## Acceptance Criteria\n{criteria}\n## Tasks\n{tasks}");
    let folder = Folder::with(&[
        ("accomplishments/First.md", huge.as_bytes()),
        ("projects/main.canvas", CANVAS.as_bytes()),
    ]);
    for n in 0..300 {
        let path = folder.vault().join(format!("docs/{n} {}.md", "long ".repeat(30)));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "y".repeat(if n % 2 == 0 { 60_000 } else { 100 })).unwrap();
        std::fs::write(
            folder.vault().join(format!("accomplishments/twin {n}.md")),
            first().replace("ACC-001", "ACC-9000"),
        )
        .unwrap();
    }
    let server = serve(&folder);
    let error = server.fail("get_accomplishment", json!({ "id": "ACC-001" }));
    assert_eq!(error["code"], "TOO_LARGE");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("accomplishments/First.md") && message.contains("vault_read"));
    for (tool, arguments) in [
        ("get_blocked_items", json!({})),
        ("list_accomplishments", json!({})),
        ("get_project_status", json!({})),
        ("get_current_work", json!({})),
        ("set_work_focus", json!({ "accomplishment_id": "ACC-001", "in_progress": true })),
    ] {
        let answer = server.call(tool, arguments);
        assert!(answer.to_string().len() < 100_000, "{tool}: {}", answer.to_string().len());
        assert!(
            tool != "get_current_work" || answer["truncated"] == true,
            "tasks of what is not marked are cut"
        );
    }
    let current = server.call("get_current_work", json!({}));
    assert!(
        current["accomplishments"][0]["truncated"] == true && current.get("truncated").is_none(),
        "{}",
        current["summary"]
    );
    assert!(
        server.fail("get_accomplishment", json!({ "id": "ACC-9000" })).to_string().len() < 5_000
    );
    let error = server.fail("read_docs", json!({}));
    assert_eq!(error["code"], "TOO_LARGE");
    assert!(error.to_string().len() < 5_000);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("The 300 documents") && message.contains(" (60 KB)"), "{message}");
    // The last of many tasks goes as fast as the first.
    let started = std::time::Instant::now();
    server.call("manage_task", json!({ "operation": "remove", "accomplishment_id": "ACC-001", "task_id": "ACC-001:Task 1:T1" }));
    assert!(
        !crate::support::thorough() || started.elapsed() < std::time::Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn documents_are_read_and_changed_by_lines() {
    let folder = by_hand();
    std::fs::write(folder.vault().join("projects/shown.md"), "on the canvas").unwrap();
    let canvas = CANVAS.replace("\"see ACC-041\"", "\"x\"").replace(
        "\"type\":\"text\",\"text\":\"x\"",
        "\"type\":\"file\",\"file\":\"projects/shown.md\"",
    );
    std::fs::write(folder.vault().join("projects/main.canvas"), canvas).unwrap();
    let server = serve(&folder);
    let every = server.call("read_docs", json!({}));
    assert_eq!(every["document_names"], json!(["context:sub/ref.md", "notes.md"]));
    assert_eq!(
        every["documents"],
        json!({ "notes.md": "one\ntwo\nthree\n", "context:sub/ref.md": "ref\n" })
    );
    std::fs::write(folder.vault().join("docs/long.md"), "x".repeat(200_000)).unwrap();
    let read =
        server.call("read_docs", json!({ "doc_name": "notes.md", "from_line": 1, "to_line": 2 }));
    assert_eq!(
        (&read["content"], &read["line_count"], &read["range"]),
        (&json!("two\n"), &json!(3), &json!({ "from_line": 1, "to_line": 2 }))
    );
    assert_eq!(
        server.call("read_docs", json!({ "doc_name": "context:sub/ref.md" }))["range"],
        json!({ "from_line": 0, "to_line": 1 })
    );
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
    let done = change(
        json!({ "name": "notes.md", "operation": "insert_at", "start_line": 1, "content": "a\nb" }),
    );
    assert_eq!(
        (&done["message"], &done["line_count"], &done["affected_range"]),
        (
            &json!("Inserted 2 line(s) at line 1 in document: notes.md"),
            &json!(2),
            &json!({ "start_line": 1, "end_line": 3 })
        )
    );
    assert_eq!(folder.read("projects/notes.md"), b"one\na\nb\ntwo\nthree\n");
    change(
        json!({ "name": "notes.md", "operation": "replace_at", "start_line": 0, "end_line": 3, "content": "zero\n" }),
    );
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
        (
            json!({ "name": "notes.md", "operation": "insert_at", "content": "x" }),
            "INVALID_ARGUMENT",
        ),
        (
            json!({ "name": "notes.md", "operation": "insert_at", "content": "x", "start_line": 9 }),
            "INVALID_RANGE",
        ),
        (
            json!({ "name": "notes.md", "operation": "replace_at", "content": "x", "start_line": 1, "end_line": 9 }),
            "INVALID_RANGE",
        ),
        (json!({ "name": "shown.md", "operation": "delete" }), "PATH_NOT_ALLOWED"),
        (json!({ "name": "../x.md", "operation": "create", "content": "x" }), "PATH_NOT_ALLOWED"),
        (json!({ "name": "x.txt", "operation": "create", "content": "x" }), "INVALID_ARGUMENT"),
        (
            json!({ "name": "main.canvas", "operation": "replace", "content": "x" }),
            "INVALID_ARGUMENT",
        ),
        (
            json!({ "name": "notes.md", "operation": "delete", "if_match": "0000000000000000" }),
            "CONFLICT",
        ),
    ] {
        assert_eq!(server.fail("update_doc", arguments.clone())["code"], code, "{arguments}");
    }
    assert_eq!(all(&folder), before);
}
