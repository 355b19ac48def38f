//! Projects: errors, faults, and calls at the same time.

use crate::accomplishments::{
    CANVAS, all, by_hand, canvas, check_canvas, create, serve, serve_with_log, update,
};
use crate::support::{Connection, Folder, Server, TOKEN};
use serde_json::{Value, json};
use std::collections::HashSet;

#[test]
fn every_error_has_its_code() {
    let folder = by_hand();
    for (path, text) in [
        ("accomplishments/broken.md", "---\ntype: accomplishment\nid: ACC-003\na: [\n---\n"),
        (
            "accomplishments/status.md",
            "---\ntype: accomplishment\nid: ACC-004\nstatus: Someday\n---\n",
        ),
        ("accomplishments/twin.md", "---\ntype: accomplishment\nid: ACC-001\ntitle: Twin\n---\n"),
        ("accomplishments/other.md", "no accomplishment"),
        (
            "accomplishments/doubled.md",
            "---\ntype: accomplishment\nid: ACC-010\npriority: normal\n---\n## Tasks\n### Task 1: \
             a\n- **Status:** Open\n- **Status:** Complete\n",
        ),
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
        (server.fail("get_accomplishment", json!({ "id": "ACC-003" })), "PARSE_ERROR", None, "broken.md"),
        (server.fail("list_accomplishments", json!({ "status": "Done" })), "INVALID_STATUS", Some(400), "Not Started"),
        (server.fail("get_project_status", json!({ "canvas_source": "none.canvas" })), "CANVAS_NOT_FOUND", Some(404), "none.canvas"),
        (
            server.fail("get_project_status", json!({ "canvas_source": "projects/broken.canvas" })),
            "PARSE_ERROR",
            None,
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
                json!({ "operation": "add", "accomplishment_id": "ACC-007", "data": { "name": "x", "goal": "a\n%%" } }),
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
        (
            server.fail(
                "manage_task",
                json!({ "operation": "update", "accomplishment_id": "ACC-010", "task_id": "ACC-010:Task 1:a", "data": { "status": "OnHold" } }),
            ),
            "INVALID_ARGUMENT",
            None,
            "Status twice",
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
    assert_eq!(listed["count"], 5, "both of one id are shown: {listed}");
    let of_id = |id: &str| {
        listed["accomplishments"]
            .as_array()
            .unwrap()
            .iter()
            .find(|found| found["id"] == id)
            .cloned()
    };
    assert_eq!(of_id("ACC-010").unwrap()["priority"], "Medium", "normal, in a person's words");
    let problems = listed["problems"].to_string();
    assert!(
        problems.contains("First.md and accomplishments/twin.md")
            && problems.contains("broken.md")
            && problems.contains("status.md"),
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
        assert_eq!(
            (&made["title"], &made["vault_path"]),
            (&json!(title), &json!(format!("accomplishments/{file}")))
        );
        assert_eq!(server.call("get_accomplishment", json!({ "id": made["id"] }))["title"], title);
    }
    let before = all(&folder);
    for title in ["café", "Cafe\u{301}", "CAFE\u{301}", "A\\B/C- D*"] {
        let error = server.fail(
            "manage_accomplishment",
            json!({ "operation": "create", "data": { "title": title, "effort": "Infra" } }),
        );
        assert_eq!(error["code"], "ALREADY_EXISTS", "{title}");
    }
    assert_eq!(all(&folder), before);
    assert_eq!(
        all(&folder)
            .keys()
            .filter(|name| !name.starts_with("accomplishments/") && !name.starts_with("projects/"))
            .count(),
        0
    );
    // Its own title in other letters is a new title, not that of another.
    assert_eq!(
        update(&server, "ACC-004", json!({ "title": "CAFÉ" }))["vault_path"],
        "accomplishments/CAFÉ.md"
    );
}

/// A small generator of numbers, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Whatever a model does, what it did not name stays, byte for byte: words of a person's, unknown
/// properties and fields, comments, nodes, groups, colours.
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
            let tasks =
                server.call("get_accomplishment", json!({ "id": "ACC-007" }))["tasks"].clone();
            // The first task has a field of a person's, so it is not removed here.
            let task = |dice: &mut Dice, from: usize| {
                tasks
                    .as_array()
                    .unwrap()
                    .get(from + dice.below(9))
                    .map(|task| task["task_id"].clone())
            };
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
                    Some(id) => (
                        "manage_task",
                        json!({ "operation": "remove", "accomplishment_id": "ACC-007", "task_id": id }),
                    ),
                    None => continue,
                },
                7 => {
                    made.push(
                        create(
                            &server,
                            &format!("Made {number}"),
                            if dice.below(2) == 0 { &[] } else { &["ACC-007"] },
                        )["id"]
                            .as_str()
                            .unwrap()
                            .to_owned(),
                    );
                    continue;
                }
                8 if !made.is_empty() => (
                    "manage_accomplishment",
                    json!({ "operation": "delete", "id": made.remove(dice.below(made.len())) }),
                ),
                9 if !made.is_empty() => (
                    "manage_dependency",
                    json!({ "operation": (["add", "remove"][dice.below(2)]), "blocker_id": "ACC-007", "blocked_id": made[dice.below(made.len())] }),
                ),
                10 if !made.is_empty() => (
                    "manage_accomplishment",
                    json!({ "operation": "update", "id": made[dice.below(made.len())], "data": { "title": format!("Renamed {number}") } }),
                ),
                _ => (
                    "set_work_focus",
                    json!({ "accomplishment_id": "ACC-007", "in_progress": dice.below(2) == 0 }),
                ),
            };
            server.call(tool, arguments.clone());
            let text = String::from_utf8(folder.read("accomplishments/Old.md")).unwrap();
            for kept in KEPT {
                assert!(
                    text.contains(kept),
                    "seed {seed}, {number}: {arguments} lost {kept:?}:\n{text}"
                );
            }
            assert!(
                !text.replace("\r\n", "").contains('\n'),
                "seed {seed}, {number}: {arguments} mixed line ends"
            );
            let drawn = String::from_utf8(folder.read("projects/main.canvas")).unwrap();
            check_canvas(drawn.as_bytes());
            for kept in
                CANVAS.lines().filter(|line| line.contains("\"id\":") || line.contains("metadata"))
            {
                assert!(
                    drawn.contains(kept.trim_end_matches(',')),
                    "seed {seed}, {number}: {arguments} lost {kept}:\n{drawn}"
                );
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
    // The other server may change the canvas first.
    let until_made = |server: &Server, tool: &str, arguments: Value| {
        while let Some(refused) =
            Some(server.result(tool, arguments.clone())).filter(|result| result["isError"] == true)
        {
            assert!(refused.to_string().contains("CONFLICT"), "{refused}");
        }
    };
    std::thread::scope(|scope| {
        for (number, server) in servers.iter().enumerate() {
            for thread in 0..3 {
                scope.spawn(move || {
                    for n in 0..5 {
                        let name = format!("{number} {thread} {n}");
                        let data = json!({ "title": name, "effort": "Engineering", "depends_on": ["ACC-001"] });
                        until_made(server, "manage_accomplishment", json!({ "operation": "create", "data": data }));
                        until_made(server, "manage_task", json!({ "operation": "add", "accomplishment_id": "ACC-001", "data": { "name": name, "goal": "g" } }));
                    }
                });
            }
        }
    });
    let listed = servers[1].call("list_accomplishments", json!({}));
    let ids: HashSet<&str> = listed["accomplishments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["id"].as_str().unwrap())
        .collect();
    assert_eq!((ids.len(), &listed["count"], listed.get("problems")), (31, &json!(31), None));
    let drawn = canvas(&folder);
    assert_eq!(
        (drawn["nodes"].as_array().unwrap().len(), drawn["edges"].as_array().unwrap().len()),
        (31, 30)
    );
    let tasks = servers[0].call("get_accomplishment", json!({ "id": "ACC-001" }))["tasks"].clone();
    let numbers: Vec<u64> =
        tasks.as_array().unwrap().iter().map(|task| task["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=30).collect::<Vec<u64>>());
}

/// Killed at any moment, or refused by the disk in between: note and canvas are both changed, or
/// both as before.
#[test]
fn killed_at_random_moments_note_and_canvas_agree() {
    let folder = Folder::with(&[]);
    {
        let server = serve_with_log(&folder);
        for number in 0..6 {
            create(&server, &format!("N{number}"), if number == 0 { &[] } else { &["ACC-001"] });
        }
    }
    for round in 0..25_u64 {
        let server = serve_with_log(&folder);
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
            let request = format!(
                "{head}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{message}",
                message.len()
            );
            let Ok(mut connection) = Connection::try_open(server.address) else { break };
            if !connection.try_send(request) || connection.try_response().is_none() {
                break;
            }
        }
        killer.join().unwrap();
        drop(server);
        let server = serve_with_log(&folder);
        let drawn = canvas(&folder);
        let files: HashSet<String> = drawn["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["file"].as_str().unwrap().to_owned())
            .collect();
        let notes: HashSet<String> = all(&folder)
            .into_keys()
            .filter(|name| name.starts_with("accomplishments/") && name.ends_with(".md"))
            .collect();
        assert_eq!(files, notes, "round {round}: every note has its node, and every node its note");
        assert_eq!(
            server.call("sync_dependencies", json!({}))["updated_count"],
            0,
            "round {round}"
        );
    }
}

#[test]
fn a_disk_that_refuses_in_between_leaves_both_as_before() {
    use std::os::unix::fs::PermissionsExt;
    let folder = by_hand();
    let server = serve(&folder);
    let on_disk = folder.vault().join("projects/main.canvas");
    std::fs::set_permissions(&on_disk, std::fs::Permissions::from_mode(0o444)).unwrap();
    let before = all(&folder);
    for arguments in [
        json!({ "operation": "create", "data": { "title": "X", "effort": "Infra" } }),
        json!({ "operation": "update", "id": "ACC-007", "data": { "title": "Y" } }),
        json!({ "operation": "delete", "id": "ACC-001" }),
    ] {
        assert_eq!(
            server.fail("manage_accomplishment", arguments.clone())["code"],
            "READ_ONLY",
            "{arguments}"
        );
        assert_eq!(all(&folder), before, "{arguments}");
    }
    assert_eq!(
        server.fail(
            "manage_dependency",
            json!({ "operation": "remove", "blocker_id": "ACC-001", "blocked_id": "ACC-007" })
        )["code"],
        "READ_ONLY"
    );
    assert_eq!(all(&folder), before);
}
