//! What people write by hand in the notes of a project: tools understand it, keep it, and say what
//! they do not understand.

use crate::support::{Folder, Server};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SETTINGS: [(&str, &str); 3] = [
    ("TOOLSETS", "vault,accomplishments"),
    ("ACCOMPLISHMENTS_FOLDER", "Projects"),
    ("DEFAULT_CANVAS", "Plan.canvas"),
];

fn note(properties: &str, body: &str) -> String {
    format!(
        "---\ntype: accomplishment\nid: ACC-001\n{properties}---\n# One (Accomplishment)\n{body}"
    )
}

fn serve(text: &str) -> (Folder, Server) {
    let folder = Folder::with(&[
        ("Projects/One.md", text.as_bytes()),
        ("Plan.canvas", b"{\"nodes\":[],\"edges\":[]}"),
    ]);
    let server = Server::with(&folder.vault(), &SETTINGS);
    (folder, server)
}

fn update(server: &Server, data: Value) -> Value {
    server.call(
        "manage_accomplishment",
        json!({ "operation": "update", "id": "ACC-001", "data": data }),
    )
}

fn text_of(folder: &Folder) -> String {
    let text = String::from_utf8(folder.read("Projects/One.md")).unwrap();
    text.lines()
        .filter(|line| !line.starts_with("updated:"))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn an_unknown_value_counts_as_its_nearest_meaning_is_listed_and_can_be_set() {
    let (folder, server) = serve(&note("status: Done\npriority: Urgent\neffort: Design\n", ""));
    let got = server.call("get_accomplishment", json!({ "id": "ACC-001" }));
    assert_eq!(
        (&got["status"], &got["priority"], &got["effort"]),
        (&json!("Completed"), &json!("Critical"), &json!("Engineering"))
    );
    let problems = server.call("list_accomplishments", json!({}))["problems"].to_string();
    assert!(
        ["Done", "Urgent", "Design", "One.md"].iter().all(|word| problems.contains(word)),
        "{problems}"
    );
    update(&server, json!({ "status": "In Progress", "effort": "Research" }));
    assert_eq!(
        text_of(&folder),
        note("status: In Progress\npriority: Urgent\neffort: Research\n", "")
    );
    assert!(
        !server.call("list_accomplishments", json!({}))["problems"].to_string().contains("Design")
    );
}

#[test]
fn underlined_sections_rules_between_criteria_and_statuses_that_say_not_yet_are_what_they_are() {
    let body =
        "\nOutcome\n-------\n\nold\n\n## Acceptance Criteria\n\n- [ ] one\n\n- - -\n\n- [ ] two\n";
    let (folder, server) = serve(&note("status: to be done\n", body));
    let got = server.call("get_accomplishment", json!({ "id": "ACC-001" }));
    assert_eq!(
        (&got["outcome"], &got["acceptance_criteria"]),
        (&json!("old"), &json!(["one", "two"]))
    );
    assert_ne!(got["status"], "Completed");
    update(&server, json!({ "outcome": "new", "acceptance_criteria": ["[x] one", "two"] }));
    assert_eq!(
        text_of(&folder),
        note("status: to be done\n", &body.replace("old", "new").replace("[ ] one", "[x] one"))
    );
}

#[test]
fn an_integer_of_twenty_digits_loses_no_other_property() {
    let (_folder, server) = serve(&note("serial: 12345678901234567890123\nstatus: Blocked\n", ""));
    let got = server.call("get_accomplishment", json!({ "id": "ACC-001" }));
    assert_eq!(
        (&got["status"], &got["other_properties"]["serial"]),
        (&json!("Blocked"), &json!("12345678901234567890123"))
    );
}

#[test]
fn only_the_status_and_the_estimate_change_and_other_words_stay() {
    let tasks = "\n## Tasks\n\n### Task 1: Paint\n- **Goal:** white ^g\n- **Estimate:** 4h if \
                 dry\n- **Status:** Open %% waiting for parts %% ^st\n";
    let (folder, server) = serve(&note("", tasks));
    let task = json!({ "operation": "update", "accomplishment_id": "ACC-001", "task_id": "ACC-001:Task 1:Paint", "data": { "status": "OnHold", "estimate": 6, "goal": "grey" } });
    server.call("manage_task", task);
    let expected = tasks
        .replace("4h if dry", "6h if dry")
        .replace("Open %%", "OnHold %%")
        .replace("white", "grey");
    assert_eq!(text_of(&folder), note("", &expected));
}

#[test]
fn what_stands_below_a_criterion_is_shown_and_stays_with_its_words() {
    let list = "\n## Acceptance Criteria\n\n### Must\n- [x] Starts cold ^c1\n  - measured 4 s\n- \
                [ ] Burns clean\n\n### Should\n- [ ] Is quiet\n- [ ] Is cheap\n";
    let (folder, server) = serve(&note("", list));
    let got = server.call("get_accomplishment", json!({ "id": "ACC-001" }));
    assert_eq!(got["acceptance_criteria_details"], json!(["- measured 4 s", "", "", ""]));
    update(
        &server,
        json!({ "acceptance_criteria": ["Starts when it is cold", "Burns clean", "Is cheap", "Is quiet"] }),
    );
    let expected = list
        .replace("- [x] Starts cold ^c1\n  - measured 4 s\n", "- [ ] Starts when it is cold\n")
        .replace("- [ ] Is quiet\n- [ ] Is cheap\n", "- [ ] Is cheap\n- [ ] Is quiet\n");
    assert_eq!(text_of(&folder), note("", &expected));
}

#[test]
fn a_new_note_has_empty_sections() {
    let (folder, server) = serve(&note("", ""));
    server.call(
        "manage_accomplishment",
        json!({ "operation": "create", "data": { "title": "Two", "effort": "Infra" } }),
    );
    let text = String::from_utf8(folder.read("Projects/Two.md")).unwrap();
    assert!(
        text.ends_with(
            "# Two (Accomplishment)\n\n## Outcome\n\n## Acceptance Criteria\n\n## Tasks\n\n## \
             Notes\n"
        ),
        "{text}"
    );
}

#[test]
fn a_list_with_a_comment_in_it_keeps_its_order() {
    let list = "depends_on:\n  - ACC-002 # first the paint\n  - ACC-003\n";
    let (folder, server) = serve(&note(list, ""));
    for id in ["ACC-002", "ACC-003"] {
        std::fs::write(
            folder.vault().join(format!("Projects/{id}.md")),
            format!("---\ntype: accomplishment\nid: {id}\n---\n"),
        )
        .unwrap();
    }
    let other = json!({ "operation": "update", "id": "ACC-001", "data": { "depends_on": ["ACC-003", "ACC-002"] } });
    let refused = server.fail("manage_accomplishment", other);
    assert!(
        refused["code"] == "PARSE_ERROR"
            && refused.to_string().contains("first the paint")
            && refused.to_string().contains("vault_edit"),
        "{refused}"
    );
    assert_eq!(text_of(&folder), note(list, ""));
}

#[test]
fn calls_in_a_row_do_not_wait_for_each_other() {
    let (_folder, server) = serve(&note("", ""));
    let started = Instant::now();
    for number in 0..20 {
        update(&server, json!({ "outcome": format!("Outcome {number}") }));
    }
    assert!(
        !crate::support::thorough() || started.elapsed() < Duration::from_secs(2),
        "{:?} for 20 calls",
        started.elapsed()
    );
}

#[test]
fn documents_are_found_without_their_ending_and_current_work_has_its_status() {
    let (folder, server) = serve(&note("status: In Progress\ninProgress: true\n", ""));
    std::fs::write(folder.vault().join("ideas.md"), "an idea\n").unwrap();
    assert_eq!(server.call("read_docs", json!({ "doc_name": "ideas" }))["content"], "an idea\n");
    assert_eq!(
        server.call("get_current_work", json!({}))["accomplishments"][0]["status"],
        "In Progress"
    );
}

#[test]
fn no_file_of_ours_is_left_in_the_vault() {
    let (folder, server) = serve(&note("", ""));
    update(&server, json!({ "outcome": "x" }));
    let names: Vec<String> = std::fs::read_dir(folder.vault())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
}

/// Three accomplishments on one canvas, the first blocking the second and third.
fn three() -> (Folder, Server) {
    let note = |number: usize, properties: &str| {
        format!(
            "---\ntype: accomplishment\nid: ACC-00{number}\n{properties}---\n# N{number} \
             (Accomplishment)\n"
        )
    };
    let node = |number: usize| {
        format!(
            r#"{{"id":"n{number}","type":"file","file":"Projects/N{number}.md","x":0,"y":{number}000,"width":4,"height":3}}"#
        )
    };
    let edge = |to: usize| format!(r#"{{"id":"e{to}","fromNode":"n1","toNode":"n{to}"}}"#);
    let canvas = format!(
        r#"{{"nodes":[{},{},{}],"edges":[{},{}]}}"#,
        node(1),
        node(2),
        node(3),
        edge(2),
        edge(3)
    );
    let folder = Folder::with(&[
        ("Projects/N1.md", note(1, "").as_bytes()),
        (
            "Projects/N2.md",
            note(2, "depends_on: [ACC-001]\ncanvas_source: \"[[Plan.canvas]]\"\n").as_bytes(),
        ),
        ("Projects/N3.md", note(3, "depends_on: [ACC-001]\n").as_bytes()),
        ("Plan.canvas", canvas.as_bytes()),
    ]);
    let server = Server::with(&folder.vault(), &SETTINGS);
    (folder, server)
}

#[test]
fn a_dependency_on_a_note_that_cannot_be_read_stays() {
    let (folder, server) = three();
    let write = |text: &str| std::fs::write(folder.vault().join("Projects/N1.md"), text).unwrap();
    write("---\ntype: accomplishment\nid: ACC-001\nstatus: [\n---\n");
    let synced = server.call("sync_dependencies", json!({}));
    assert!(
        synced["updates"] == json!([]) && synced["errors"][0].as_str().unwrap().contains("N1.md"),
        "{synced}"
    );
    assert!(String::from_utf8(folder.read("Projects/N2.md")).unwrap().contains("[ACC-001]"));
}

#[test]
fn an_edge_that_a_person_has_erased_is_drawn_again_only_for_the_dependency_that_is_named() {
    let (folder, server) = three();
    let path = folder.vault().join("Plan.canvas");
    let erased = std::fs::read_to_string(&path)
        .unwrap()
        .replace(r#"{"id":"e2","fromNode":"n1","toNode":"n2"},"#, "");
    std::fs::write(&path, &erased).unwrap();
    let depend = |operation: &str, blocker: &str, blocked: &str| {
        let arguments =
            json!({ "operation": operation, "blocker_id": blocker, "blocked_id": blocked });
        server.result("manage_dependency", arguments)["structuredContent"].clone()
    };
    let removed = depend("remove", "ACC-003", "ACC-002");
    assert!(
        removed["message"].as_str().unwrap().contains("ACC-002 did not depend on ACC-003."),
        "{removed}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), erased);
    depend("add", "ACC-003", "ACC-002");
    let edges = || {
        serde_json::from_slice::<Value>(&folder.read("Plan.canvas")).unwrap()["edges"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(edges(), 2, "the one that was left, and the new one");
    depend("add", "ACC-001", "ACC-002");
    assert_eq!(edges(), 3);
    // An update names all of them.
    std::fs::write(&path, &erased).unwrap();
    let data = json!({ "depends_on": ["ACC-001"] });
    server.call(
        "manage_accomplishment",
        json!({ "operation": "update", "id": "ACC-002", "data": data }),
    );
    assert_eq!(edges(), 2);
}

#[test]
fn a_dependency_can_be_removed_while_another_closes_a_cycle() {
    let (folder, server) = three();
    std::fs::write(
        folder.vault().join("Projects/N1.md"),
        "---\ntype: accomplishment\nid: ACC-001\ndepends_on: [ACC-002]\n---\n# N1 \
         (Accomplishment)\n",
    )
    .unwrap();
    std::fs::write(
        folder.vault().join("Projects/N2.md"),
        "---\ntype: accomplishment\nid: ACC-002\ndepends_on: [ACC-001, ACC-003]\n---\n# N2 \
         (Accomplishment)\n",
    )
    .unwrap();
    let arguments =
        json!({ "operation": "remove", "blocker_id": "ACC-003", "blocked_id": "ACC-002" });
    let removed = server.result("manage_dependency", arguments);
    assert_eq!(removed["isError"], false, "{removed}");
}

#[test]
fn a_list_of_one_is_what_it_has() {
    let (_folder, server) = serve(&note("status: [Completed]\npriority:\n  - High\n", ""));
    let got = server.call("get_accomplishment", json!({ "id": "ACC-001" }));
    assert_eq!((&got["status"], &got["priority"]), (&json!("Completed"), &json!("High")));
}

#[test]
fn the_title_given_back_renames_nothing() {
    let (folder, server) = serve(&note("title: Another\nstatus: Blocked\n", ""));
    let title = server.call("get_accomplishment", json!({ "id": "ACC-001" }))["title"].clone();
    update(&server, json!({ "title": title, "status": "Completed" }));
    assert!(
        text_of(&folder).contains("status: Completed"),
        "the file has the name that a person gave it"
    );
}

#[test]
fn an_estimate_in_another_unit_is_no_number_of_hours() {
    for (written, read, changed) in [
        ("30 min", None, "5h"),
        ("1,5 h", None, "5h"),
        ("1h30m", None, "5h"),
        ("2h (guess)", Some(2.0), "5h (guess)"),
    ] {
        let (folder, server) = serve(&note(
            "",
            &format!("\n## Tasks\n\n### Task 1: A\n- **Goal:** g\n- **Estimate:** {written}\n"),
        ));
        let task =
            server.call("get_accomplishment", json!({ "id": "ACC-001" }))["tasks"][0].clone();
        assert_eq!(task["estimate"].as_f64(), read, "{written}: {task}");
        server.call(
            "manage_task",
            json!({ "operation": "update", "accomplishment_id": "ACC-001", "task_id": "ACC-001:Task 1:A", "data": { "estimate": 5 } }),
        );
        assert!(
            text_of(&folder).contains(&format!("- **Estimate:** {changed}\n")),
            "{}",
            text_of(&folder)
        );
    }
}

#[test]
fn a_replaced_text_keeps_its_block_id_outside_of_code() {
    let body = "\n## Tasks\n\n### Task 1: A\n- **Goal:** g ^g1\n- **Notes:** n ^n1\n\n## \
                Notes\n\nold ^o1\n";
    let (folder, server) = serve(&note("", body));
    let task = |data: Value| {
        server.call(
            "manage_task",
            json!({ "operation": "update", "accomplishment_id": "ACC-001", "task_id": "ACC-001:Task 1:A", "data": data }),
        )
    };
    task(json!({ "goal": "new ^g1", "notes": "x" }));
    update(&server, json!({ "notes": "x\n```\ncode\n```" }));
    let expected = body
        .replace("g ^g1", "new ^g1")
        .replace("n ^n1", "x ^n1")
        .replace("old ^o1", "x\n```\ncode\n```\n\n^o1");
    assert_eq!(text_of(&folder), note("", &expected));
}

#[test]
fn the_case_of_a_property_does_not_matter_and_stays() {
    let (folder, server) =
        serve(&note("Status: Blocked\nPriority: Low\nDepends_on: ACC-002\n", ""));
    let got = server.call("get_accomplishment", json!({ "id": "ACC-001" }));
    assert_eq!(
        (&got["status"], &got["priority"], &got["is_blocked"]),
        (&json!("Blocked"), &json!("Low"), &json!(true))
    );
    assert!(got.get("other_properties").is_none(), "{got}");
    update(&server, json!({ "status": "Completed" }));
    assert_eq!(
        text_of(&folder),
        note("Status: Completed\nPriority: Low\nDepends_on: ACC-002\n", "")
    );
}

#[test]
fn a_tasks_own_fields_are_shown_and_its_heading_may_have_a_dash() {
    let body = "## Tasks\n\n### Task 1 - Cable\n- **Goal:** g\n- **Owner:** Ben\n- **Estimate:** \
                3 days\n- **Status:** Complete\n";
    let (folder, server) = serve(&note("", body));
    let got = server.call("get_accomplishment", json!({ "id": "ACC-001" }));
    let task = &got["tasks"][0];
    assert_eq!(
        (&task["task_id"], &task["other_fields"]),
        (&json!("ACC-001:Task 1:Cable"), &json!({ "Owner": "Ben", "Estimate": "3 days" }))
    );
    let change = |data: Value| {
        server.call(
            "manage_task",
            json!({ "operation": "update", "accomplishment_id": "ACC-001", "task_id": "ACC-001:Task 1:Cable", "data": data }),
        )
    };
    change(json!({ "estimate": 5, "description": "1. lay\n2. test" }));
    let expected = body.replace("3 days", "5h");
    let expected = expected
        .replace("- **Goal:** g\n", "- **Goal:** g\n- **Description:**\n  1. lay\n  2. test\n");
    assert_eq!(text_of(&folder), note("", &expected));
    change(json!({ "name": "Wire" }));
    assert_eq!(text_of(&folder), note("", &expected.replace("Task 1 - Cable", "Task 1: Wire")));
}

#[test]
fn of_two_tasks_with_one_id_none_is_changed() {
    let body = "## Tasks\n### Task 1: Plan\n- **Goal:** a\n### Task 1: Plan\n- **Goal:** b\n";
    let (folder, server) = serve(&note("", body));
    let remove = json!({ "operation": "remove", "accomplishment_id": "ACC-001", "task_id": "ACC-001:Task 1:Plan" });
    assert_eq!(server.fail("manage_task", remove)["code"], "DUPLICATE_ID");
    assert_eq!(text_of(&folder), note("", body));
}
