//! Projects: canvases, and what depends on what.

use crate::accomplishments::{
    CANVAS, NOTE, all, by_hand, canvas, check_canvas, create, edges, first, node, serve, update,
    without_time,
};
use crate::support::Folder;
use serde_json::{Value, json};

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
        .replace(
            "\"height\":10}\n",
            &format!(
                "\"height\":10}},\n\t\t{{\"id\":\"{new_node}\",\"type\":\"file\",\"file\":\"\
                 accomplishments/New \
                 -one-.md\",\"x\":1420,\"y\":77,\"width\":400,\"height\":300,\"color\":\"3\"}}\n"
            ),
        )
        .replace(
            "\"toNode\":\"b\"}\n",
            &format!(
                "\"toNode\":\"b\"}},\n\t\t{{\"id\":\"{new_edge}\",\"fromNode\":\"b\",\"fromSide\":\
                 \"right\",\"toNode\":\"{new_node}\",\"toSide\":\"left\"}}\n"
            ),
        );
    assert_eq!(after, expected);
    // A new title: the file, the nodes on both canvases, the heading that was made; no edge.
    let renamed = update(&server, "ACC-007", json!({ "title": "New: name?" }));
    assert_eq!(
        (&renamed["title"], &renamed["vault_path"]),
        (&json!("New: name?"), &json!("accomplishments/New- name-.md"))
    );
    let text = without_time(&folder, "accomplishments/New- name-.md");
    let wanted = NOTE
        .replace("title: 'Old'", "title: 'New: name?'")
        .replace("# Old (Acc", "# New: name? (Acc")
        .replace(
            "---\r\n\r\n# New",
            "vault_path: accomplishments/New- name-.md\r\n---\r\n\r\n# New",
        );
    assert_eq!(text, wanted);
    assert!(!folder.vault().join("accomplishments/Old.md").exists());
    assert_eq!(
        String::from_utf8(folder.read("projects/main.canvas")).unwrap(),
        expected.replace("accomplishments/Old.md", "accomplishments/New- name-.md")
    );
    assert!(
        String::from_utf8(folder.read("projects/second.canvas"))
            .unwrap()
            .contains("accomplishments/New- name-.md")
    );
    // Deleted again: its node and its edge, and not a byte more.
    server.call("manage_accomplishment", json!({ "operation": "delete", "id": "ACC-042" }));
    assert_eq!(
        String::from_utf8(folder.read("projects/main.canvas")).unwrap(),
        CANVAS.replace("accomplishments/Old.md", "accomplishments/New- name-.md")
    );
    // Indented otherwise it gets Obsidian's layout, and its members stay in their order.
    let pretty =
        CANVAS.replace("\n\t", "\n    ").replace("\":", "\": ").replace(": [\n", ": \n\n[\n");
    std::fs::write(folder.vault().join("projects/main.canvas"), &pretty).unwrap();
    let made = create(&server, "Pretty", &[]);
    server.call("manage_accomplishment", json!({ "operation": "delete", "id": made["id"] }));
    assert_eq!(String::from_utf8(folder.read("projects/main.canvas")).unwrap(), CANVAS);
}

#[test]
fn another_title_rewrites_the_links_to_the_note() {
    let day = "Done: [[Old plan#Tasks|that]], ![[accomplishments/Old plan]] and \
               [it](accomplishments/Old%20plan.md), not `[[Old plan]]`.\r\n";
    let board = r#"{"nodes":[{"id":"n","type":"file","x":9,"y":9,"width":1,"height":1,"file":"accomplishments/Old plan.md"},{"id":"t","type":"text","x":0,"y":0,"width":1,"height":1,"text":"see [[Old plan]]"}],"edges":[]}"#;
    let folder =
        Folder::with(&[("day.md", day.as_bytes()), ("boards/own.canvas", board.as_bytes())]);
    let server = serve(&folder);
    let made = create(&server, "Old plan", &[]);
    create(&server, "Other", &[]);
    let card = r#"{"id":"card","type":"text","x":-900,"y":0,"width":1,"height":1,"text":"see [[Old plan]]"}"#;
    let main = String::from_utf8(folder.read("projects/main.canvas")).unwrap();
    std::fs::write(
        folder.vault().join("projects/main.canvas"),
        main.replacen("\"nodes\":[", &format!("\"nodes\":[{card},"), 1),
    )
    .unwrap();
    let data = json!({ "title": "New plan", "priority": "Low", "depends_on": ["ACC-002"] });
    let before = folder.read("accomplishments/Old plan.md");
    let linked =
        [String::from_utf8(before).unwrap(), "See [[Old plan#Notes]] of this note.\n".into()]
            .concat();
    std::fs::write(folder.vault().join("accomplishments/Old plan.md"), &linked).unwrap();
    let renamed = update(&server, made["id"].as_str().unwrap(), data);
    assert_eq!(
        (&renamed["priority"], &renamed["depends_on"]),
        (&json!("Low"), &json!(["ACC-002"]))
    );
    let text = |path: &str| String::from_utf8(folder.read(path)).unwrap();
    assert_eq!(
        text("day.md"),
        "Done: [[New plan#Tasks|that]], ![[New plan]] and [it](New%20plan.md), not `[[Old \
         plan]]`.\r\n"
    );
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(read(&text("boards/own.canvas")), read(&board.replace("Old", "New")));
    let own = text("accomplishments/New plan.md");
    assert!(
        own.contains("# New plan")
            && own.contains("title: New plan")
            && own.contains("[[New plan#Notes]]"),
        "{own}"
    );
    let main = text("projects/main.canvas");
    assert!(
        main.contains("see [[New plan]]")
            && main.contains("accomplishments/New plan.md")
            && !main.contains("Old plan")
            && edges(&check_canvas(main.as_bytes())).len() == 1
    );
}

#[test]
fn a_card_that_was_drawn_before_is_used_with_its_edges() {
    let folder = Folder::with(&[]);
    let server = serve(&folder);
    for title in ["Plan", "Build", "Ship"] {
        create(&server, title, &[]);
    }
    let old = canvas(&folder);
    let id = |title: &str| node(&old, &format!("accomplishments/{title}.md"))["id"].clone();
    let (plan, build, ship) = (id("Plan"), id("Build"), id("Ship"));
    let text = String::from_utf8(folder.read("projects/main.canvas")).unwrap();
    let edge = |name: &str, from: &Value, to: &Value| {
        json!({ "id": name, "fromNode": from, "toNode": to }).to_string()
    };
    let edges_drawn = [edge("one", &plan, &build), edge("two", &build, &ship)].join(",");
    let drawn = text.replace("\"edges\":[]", &format!("\"edges\":[{edges_drawn}]"));
    std::fs::write(folder.vault().join("projects/main.canvas"), &drawn).unwrap();
    std::fs::remove_file(folder.vault().join("accomplishments/Build.md")).unwrap();
    let synced = server.call("sync_dependencies", json!({}));
    let said = synced["errors"].to_string();
    assert!(said.contains("ACC-001") && said.contains("accomplishments/Build.md"), "{synced}");
    assert!(said.contains("two") && synced["updated_count"] == 0, "{synced}");
    // The caller names one of its edges; the others are there too.
    let made = create(&server, "Build", &["ACC-001"]);
    assert_eq!(made["depends_on"], json!(["ACC-001"]));
    assert_eq!(String::from_utf8(folder.read("projects/main.canvas")).unwrap(), drawn);
    let ship = server.call("get_accomplishment", json!({ "id": "ACC-003" }));
    assert_eq!(ship["depends_on"], json!([made["id"]]));
    assert_eq!(server.call("sync_dependencies", json!({}))["updated_count"], 0);
}

#[test]
fn a_canvas_that_was_renamed_is_not_made_again() {
    let folder = Folder::with(&[]);
    let server = serve(&folder);
    create(&server, "Plan", &[]);
    let at = |name: &str| folder.vault().join(format!("projects/{name}.canvas"));
    std::fs::rename(at("main"), at("house")).unwrap();
    let shown = server.call("get_accomplishment", json!({ "id": "ACC-001" }));
    assert_eq!(shown["canvas_source"], "projects/house.canvas", "where the card is");
    let data = json!({ "title": "Build", "effort": "Infra" });
    let error =
        server.fail("manage_accomplishment", json!({ "operation": "create", "data": data }));
    assert_eq!(error["code"], "CANVAS_NOT_FOUND");
    assert!(error["message"].as_str().unwrap().contains("projects/house.canvas"), "{error}");
    assert!(!at("main").exists());
}

#[test]
fn links_in_depends_on_are_ids_and_finished_work_is_not_blocked() {
    let note = |id: &str, title: &str, more: &str| {
        first().replace("ACC-001", id).replace("First", title).replace("depends_on: []", more)
    };
    let folder = Folder::with(&[
        ("accomplishments/Roof.md", note("ACC-001", "Roof", "depends_on: []").as_bytes()),
        (
            "accomplishments/House.md",
            note("ACC-002", "House", "depends_on: [\"[[Roof|the roof]]\", '[[Wall]]']").as_bytes(),
        ),
    ]);
    let by_title = note("ACC-003", "Yard", "depends_on: [\"A/B test of C#\"]");
    std::fs::write(folder.vault().join("accomplishments/Yard.md"), by_title).unwrap();
    let test = note("ACC-004", "A/B test of C#", "depends_on: []");
    std::fs::write(folder.vault().join("accomplishments/Test.md"), test).unwrap();
    let open = |path: &str| {
        let text = String::from_utf8(folder.read(path)).unwrap();
        std::fs::write(folder.vault().join(path), text.replace("Completed", "Not Started"))
            .unwrap();
    };
    open("accomplishments/Roof.md");
    let server = serve(&folder);
    let shown = server.call("get_accomplishment", json!({ "id": "ACC-002" }));
    assert_eq!(shown["depends_on"], json!(["ACC-001", "[[Wall]]"]));
    assert_eq!(shown["is_blocked"], false, "it is completed");
    let shown = server.call("get_accomplishment", json!({ "id": "ACC-003" }));
    assert_eq!(shown["depends_on"], json!(["ACC-004"]));
    let listed = server.call("list_accomplishments", json!({}));
    assert!(listed["problems"].to_string().contains("[[Wall]]"), "{listed}");
    open("accomplishments/House.md");
    let blocked = server.call("get_blocked_items", json!({}));
    assert_eq!(blocked["blocked_items"][0]["blocking_items"][0]["id"], "ACC-001", "{blocked}");
}

#[test]
fn dependencies_are_kept_on_both_sides_and_never_go_in_a_circle() {
    let folder = Folder::with(&[]);
    let server = serve(&folder);
    for title in ["A", "B", "C", "D"] {
        create(&server, title, &[]);
    }
    let depend = |operation: &str, blocker: &str, blocked: &str| json!({ "operation": operation, "blocker_id": blocker, "blocked_id": blocked });
    let added = server.call("manage_dependency", depend("add", "ACC-001", "ACC-002"));
    assert_eq!(
        (&added["new_position"], &added["message"]),
        (&json!({ "x": 500, "y": 50 }), &json!("ACC-001 blocks ACC-002 now."))
    );
    server.call("manage_dependency", depend("add", "ACC-002", "ACC-003"));
    server.call("manage_dependency", depend("add", "ACC-001", "ACC-003"));
    let before = all(&folder);
    for (call, words) in [
        (depend("add", "ACC-003", "ACC-001"), "ACC-001 -> ACC-003 -> ACC-001"),
        (depend("add", "ACC-002", "ACC-001"), "ACC-001 -> ACC-002 -> ACC-001"),
        (depend("add", "ACC-001", "ACC-001"), "itself"),
    ] {
        let error = server.fail("manage_dependency", call);
        assert_eq!(
            (&error["code"], &error["status"]),
            (&json!("CIRCULAR_DEPENDENCY"), &json!(400))
        );
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
    }
    let error = server
        .fail("manage_accomplishment", json!({ "operation": "update", "id": "ACC-001", "data": { "depends_on": ["ACC-004", "ACC-003"] } }));
    assert_eq!(error["code"], "CIRCULAR_DEPENDENCY");
    assert_eq!(
        server.fail("manage_dependency", depend("add", "ACC-009", "ACC-001"))["code"],
        "ACCOMPLISHMENT_NOT_FOUND"
    );
    assert_eq!(
        server.fail(
            "manage_accomplishment",
            json!({ "operation": "create", "data": { "title": "E", "effort": "Infra", "depends_on": ["ACC-009"] } })
        )["code"],
        "ACCOMPLISHMENT_NOT_FOUND"
    );
    assert_eq!(all(&folder), before, "nothing was written");
    // Again is no mistake, and removing gives back what was.
    assert!(
        server.call("manage_dependency", depend("add", "ACC-001", "ACC-003"))["message"]
            .as_str()
            .unwrap()
            .contains("already")
    );
    assert_eq!(edges(&canvas(&folder)).len(), 3);
    let removed = server.call("manage_dependency", depend("remove", "ACC-001", "ACC-003"));
    assert_eq!(removed["success"], true);
    assert_eq!(edges(&canvas(&folder)).len(), 2);
    assert_eq!(
        server.call("get_accomplishment", json!({ "id": "ACC-003" }))["depends_on"],
        json!(["ACC-002"])
    );
    update(&server, "ACC-003", json!({ "depends_on": ["ACC-004"] }));
    assert_eq!(edges(&canvas(&folder)), [("A".into(), "B".into()), ("D".into(), "C".into())]);
    // A circle that only the canvas closes: a person drew D -> A.
    let text = String::from_utf8(folder.read("projects/main.canvas")).unwrap();
    let read = canvas(&folder);
    let id = |file: &str| {
        node(&read, &format!("accomplishments/{file}.md"))["id"].as_str().unwrap().to_owned()
    };
    let drawn = text.replace(
        "\"edges\":[",
        &format!(
            "\"edges\":[{{\"id\":\"hand\",\"fromNode\":\"{}\",\"toNode\":\"{}\"}},",
            id("C"),
            id("A")
        ),
    );
    std::fs::write(folder.vault().join("projects/main.canvas"), drawn).unwrap();
    let error = server.fail("manage_dependency", depend("add", "ACC-001", "ACC-004"));
    assert!(error["message"].as_str().unwrap().contains("sync_dependencies"), "{error}");
    let removed = server.call("manage_dependency", depend("remove", "ACC-001", "ACC-002"));
    assert!(removed["message"].as_str().unwrap().contains("sync_dependencies"), "{removed}");
    assert!(
        server.call("get_project_status", json!({}))["warning"]
            .as_str()
            .unwrap()
            .contains("sync_dependencies")
    );
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
    let waits = got["blocked_items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["id"] == "ACC-005")
        .unwrap();
    assert_eq!(
        waits["blocking_items"],
        json!([{ "id": "ACC-099", "title": "", "status": "Missing" }])
    );
    let before = all(&folder);
    for (tool, arguments) in [
        (
            "manage_dependency",
            json!({ "operation": "add", "blocker_id": "ACC-005", "blocked_id": "ACC-007" }),
        ),
        (
            "manage_accomplishment",
            json!({ "operation": "update", "id": "ACC-007", "data": { "depends_on": ["ACC-005"] } }),
        ),
        (
            "manage_accomplishment",
            json!({ "operation": "create", "data": { "title": "X", "effort": "Infra", "depends_on": ["ACC-005"] } }),
        ),
        (
            "manage_accomplishment",
            json!({ "operation": "create", "data": { "title": "X", "effort": "Infra", "canvas_source": "projects/second.canvas", "depends_on": ["ACC-001"] } }),
        ),
    ] {
        let error = server.fail(tool, arguments);
        assert!(
            error["code"] == "INVALID_ARGUMENT"
                && error["message"].as_str().unwrap().contains("is not on the canvas"),
            "{error}"
        );
    }
    assert_eq!(all(&folder), before);
    // What does not exist can still be removed, also where there is no edge.
    server.call(
        "manage_dependency",
        json!({ "operation": "remove", "blocker_id": "ACC-099", "blocked_id": "ACC-005" }),
    );
    assert_eq!(server.call("get_accomplishment", json!({ "id": "ACC-005" }))["is_blocked"], false);
    // A second canvas is a project of its own.
    let made = server.call(
        "manage_accomplishment",
        json!({ "operation": "create", "data": { "title": "Elsewhere", "effort": "Infra", "canvas_source": "projects/second.canvas" } }),
    );
    assert_eq!(made["accomplishment"]["canvas_source"], "projects/second.canvas");
    let status = |canvas: &str| {
        server.call("get_project_status", json!({ "canvas_source": canvas }))
            ["total_accomplishments"]
            .clone()
    };
    assert_eq!(
        (status("projects/main.canvas"), status("projects/second.canvas")),
        (json!(2), json!(2))
    );
}

/// Edges, properties and lines that a call does not name stay byte for byte.
#[test]
fn bytes_that_no_argument_names_stay() {
    let folder = by_hand();
    // An edge that a person drew, and that no note knows.
    let hand = "{\"id\":\"hand\",\"fromNode\":\"c\",\"toNode\":\"b\",\"label\":\"mine\"}";
    let drawn = CANVAS
        .replace(
            "{\"id\":\"t\"",
            "{\"id\":\"c\",\"type\":\"file\",\"file\":\"accomplishments/Third.md\",\"x\":5,\"y\":\
             500,\"width\":1,\"height\":1},\n\t\t{\"id\":\"t\"",
        )
        .replace("{\"id\":\"f\"", &format!("{hand},\n\t\t{{\"id\":\"f\""));
    std::fs::write(folder.vault().join("projects/main.canvas"), &drawn).unwrap();
    std::fs::write(
        folder.vault().join("accomplishments/Third.md"),
        first().replace("ACC-001", "ACC-003").replace("First", "Third"),
    )
    .unwrap();
    let server = serve(&folder);
    let depend = |operation: &str, blocker: &str| {
        server.call(
            "manage_dependency",
            json!({ "operation": operation, "blocker_id": blocker, "blocked_id": "ACC-007" }),
        )
    };
    let has =
        |what: &str| String::from_utf8(folder.read("projects/main.canvas")).unwrap().contains(what);
    depend("remove", "ACC-001");
    assert!(has(hand) && !has("\"id\":\"e\""));
    depend("add", "ACC-001");
    update(&server, "ACC-007", json!({ "depends_on": ["ACC-001"] }));
    assert!(has(hand));
    assert!(
        depend("remove", "ACC-003")["message"].as_str().unwrap().contains("does not block"),
        "one that only the canvas has"
    );
    assert!(!has(hand));
    // What is no canvas is not made into one, and not into something else.
    for odd in [
        "[]",
        "[[],[]]",
        "{\"nodes\":[[\"a\"]]}",
        "{\"nodes\":[{\"id\":\"n\",\"type\":\"text\",\"x\":0,\"y\":1.7e308,\"width\":1,\"height\":\
         1.7e308}]}",
    ] {
        std::fs::write(folder.vault().join("projects/main.canvas"), odd).unwrap();
        let error = server.fail(
            "manage_accomplishment",
            json!({ "operation": "create", "data": { "title": "X", "effort": "Infra" } }),
        );
        assert_eq!(error["code"], "PARSE_ERROR", "{odd}: {error}");
        assert_eq!(folder.read("projects/main.canvas"), odd.as_bytes());
    }
    // A canvas that cannot be read and may show the note keeps it where it is.
    std::fs::write(
        folder.vault().join("projects/main.canvas"),
        drawn.replace("\"edges\"", "edges"),
    )
    .unwrap();
    let before = all(&folder);
    for arguments in [
        json!({ "operation": "delete", "id": "ACC-007" }),
        json!({ "operation": "update", "id": "ACC-007", "data": { "title": "New" } }),
    ] {
        assert_eq!(server.fail("manage_accomplishment", arguments)["code"], "PARSE_ERROR");
    }
    assert_eq!(all(&folder), before);
    // But not a broken one elsewhere that names it.
    std::fs::write(folder.vault().join("projects/main.canvas"), &drawn).unwrap();
    let title = server.call("get_accomplishment", json!({ "id": "ACC-007" }))["title"].clone();
    let broken = format!("{{\"nodes\": 5, \"{}.md\"", title.as_str().unwrap());
    std::fs::write(folder.vault().join("broken.canvas"), &broken).unwrap();
    server.call(
        "manage_accomplishment",
        json!({ "operation": "update", "id": "ACC-007", "data": { "title": "New" } }),
    );
    server.call(
        "manage_accomplishment",
        json!({ "operation": "update", "id": "ACC-007", "data": { "title": title } }),
    );
    assert_eq!(folder.read("broken.canvas"), broken.as_bytes());
    std::fs::remove_file(folder.vault().join("broken.canvas")).unwrap();
    // A title that would hide the note's text.
    assert_eq!(
        server.fail(
            "manage_accomplishment",
            json!({ "operation": "create", "data": { "title": "50%% less", "effort": "Infra" } })
        )["code"],
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
    let id = |file: &str| {
        node(&read, &format!("accomplishments/{file}.md"))["id"].as_str().unwrap().to_owned()
    };
    let (a, b, c) = (id("A"), id("B"), id("C"));
    let edge = |name: &str, from: &str, to: &str, more: &str| {
        format!("{{\"id\":\"{name}\",\"fromNode\":\"{from}\",\"toNode\":\"{to}\"{more}}}")
    };
    let drawn = [
        edge("1", &a, &b, ""),
        edge("2", &c, &b, ",\"fromEnd\":\"arrow\",\"toEnd\":\"none\""),
        edge("3", &c, &a, ""),
        edge("4", &a, "text", ""),
        edge("5", &a, &c, ",\"toEnd\":\"none\""),
    ];
    let text = String::from_utf8(folder.read("projects/main.canvas")).unwrap();
    let text = text.replace("\"edges\":[]", &format!("\"edges\":[{}]", drawn.join(","))).replace(
        "\"nodes\":[",
        "\"nodes\":[{\"id\":\"text\",\"type\":\"text\",\"text\":\"x\",\"x\":0,\"y\":0,\"width\":1,\
         \"height\":1},",
    );
    std::fs::write(folder.vault().join("projects/main.canvas"), &text).unwrap();
    let synced = server.call("sync_dependencies", json!({}));
    assert_eq!(
        (&synced["total_accomplishments"], &synced["updated_count"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(
        synced["updates"][0],
        json!({ "id": "ACC-002", "title": "B", "old_depends_on": [], "new_depends_on": ["ACC-001"] })
    );
    assert_eq!(
        synced["updates"][1]["new_depends_on"],
        json!(["ACC-002"]),
        "an edge counts in the direction of its arrow"
    );
    let errors = synced["errors"].to_string();
    assert!(errors.contains("has no arrow") && errors.contains("left out"), "{errors}");
    assert_eq!(
        synced["errors"].as_array().unwrap().len(),
        2,
        "an edge to another card is a person's"
    );
    let before = all(&folder);
    assert_eq!(server.call("sync_dependencies", json!({}))["updated_count"], 0);
    assert_eq!(all(&folder), before, "twice is once");
    assert_eq!(String::from_utf8(folder.read("projects/main.canvas")).unwrap(), text);
}

/// A document that is on the canvas, too, is listed and read by its name.
#[test]
fn a_document_that_is_on_the_canvas_is_a_document() {
    let canvas = CANVAS.replace(
        "\"nodes\":[",
        "\"nodes\":[{\"id\":\"r\",\"type\":\"file\",\"file\":\"docs/r.md\",\"x\":0,\"y\":5000,\"\
         width\":10,\"height\":10},",
    );
    let folder = Folder::with(&[
        ("accomplishments/First.md", first().as_bytes()),
        ("projects/main.canvas", canvas.as_bytes()),
        ("docs/r.md", b"reference\n"),
        ("docs/bin.md", b"caf\xe9\n"),
    ]);
    let server = serve(&folder);
    let all = server.call("read_docs", json!({}));
    assert_eq!(
        (&all["documents"]["context:r.md"], &all["unreadable"]),
        (&json!("reference\n"), &json!(["context:bin.md"])),
        "{all}"
    );
    assert_eq!(
        server.call("read_docs", json!({ "doc_name": "context:r.md" }))["content"],
        "reference\n"
    );
    let refused =
        server.fail("update_doc", json!({ "name": "context:r.md", "operation": "delete" }));
    assert_eq!(refused["code"], "PATH_NOT_ALLOWED");
}

/// The canvas on which two notes are decides, and not the property that names another one.
#[test]
fn notes_dragged_to_another_canvas_can_depend_on_each_other() {
    let note = |id: &str| {
        first().replace("ACC-001", id).replace("canvas_source: projects/main.canvas\n", "")
    };
    let node = |id: &str, file: &str, x: usize| {
        format!(
            "{{\"id\":\"{id}\",\"type\":\"file\",\"file\":\"accomplishments/{file}.md\",\"x\":{x},\
             \"y\":0,\"width\":400,\"height\":300}}"
        )
    };
    let other =
        format!("{{\"nodes\":[{},{}],\"edges\":[]}}", node("a", "A", 0), node("b", "B", 900));
    let folder = Folder::with(&[
        ("accomplishments/A.md", note("ACC-001").as_bytes()),
        ("accomplishments/B.md", note("ACC-002").as_bytes()),
        ("projects/main.canvas", b"{\"nodes\":[],\"edges\":[]}"),
        ("projects/other.canvas", other.as_bytes()),
    ]);
    let server = serve(&folder);
    let done = server.call(
        "manage_dependency",
        json!({ "operation": "add", "blocker_id": "ACC-001", "blocked_id": "ACC-002" }),
    );
    assert_eq!(done["success"], true);
    assert!(
        String::from_utf8(folder.read("projects/other.canvas")).unwrap().contains("\"fromNode\"")
    );
}
