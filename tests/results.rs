//! What tools declare: descriptions, schemas, annotations.

use crate::tools::{listed, with_all_tools};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What a model sees of each tool, word for word. `UPDATE_FIXTURES=1 cargo test` writes the files;
/// the diff is the review.
#[test]
fn tools_are_described_as_in_their_snapshots() {
    let (_folder, server) = with_all_tools();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/tools");
    let mut names = Vec::new();
    for tool in listed(&server) {
        let name = tool["name"].as_str().unwrap().to_owned();
        let file = folder.join(format!("{name}.json"));
        let shown = serde_json::to_string_pretty(&tool).unwrap() + "\n";
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, &shown).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&file).unwrap_or_default(),
            shown,
            "{name}: see UPDATE_FIXTURES"
        );
        names.push(format!("{name}.json"));
    }
    for file in std::fs::read_dir(&folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&name), "a snapshot without a tool: {name}");
    }
}

/// Rules that hold for every tool; clients reject whole lists for breaking some of them.
#[test]
fn every_tool_is_complete() {
    let (_folder, server) = with_all_tools();
    let tools = listed(&server);
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        assert!(
            name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{name}"
        );
        assert!(
            tool["title"].is_string() && tool["description"].as_str().unwrap().len() < 2048,
            "{name}"
        );
        let is_text = name == "vault_read"
            || vault_sync_mcp::tools::Toolset::Context.tools().iter().any(|tool| tool.name == name);
        assert_eq!(tool.get("outputSchema").is_none(), is_text, "{name}");
        for schema in ["inputSchema", "outputSchema"] {
            assert!(
                tool[schema]["type"] == "object" || is_text && schema == "outputSchema",
                "{name}"
            );
            for combinator in ["anyOf", "oneOf", "allOf", "$ref"] {
                assert!(tool[schema].get(combinator).is_none(), "{name}");
            }
        }
        let first = tool["description"].as_str().unwrap().split(". ").next().unwrap();
        let names_another =
            |other: &Value| *other != tool["name"] && first.contains(other.as_str().unwrap());
        assert!(
            tools.iter().any(|other| names_another(&other["name"])),
            "{name}: which tool is meant instead? {first}"
        );
        let schemas = tool.to_string();
        assert!(
            !schemas.contains("additionalProperties"),
            "{name}: google-genai converts none of them"
        );
        let lengths = schemas
            .split("\"maxLength\":")
            .skip(1)
            .map(|rest| rest.split(&[',', '}']).next().unwrap().parse::<usize>().unwrap());
        assert!(lengths.max().unwrap_or(0) <= 1000, "{name}: llama.cpp makes no grammar of it");
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name} {hint}");
        }
    }
}

#[test]
fn every_tool_says_the_same_in_both_channels_or_uses_one() {
    let (folder, server) = with_all_tools();
    let tools = listed(&server);
    let mut seen = std::collections::BTreeSet::new();
    for (tool, arguments) in [
        ("vault_list_all", json!({})),
        ("vault_list_all", json!({ "limit": 3 })),
        ("vault_list", json!({})),
        ("vault_list", json!({ "path": "Projects" })),
        ("vault_read", json!({ "path": "Projects/Heating Logbook.md" })),
        ("vault_read", json!({ "path": "Inbox/Untitled.md" })),
        ("vault_read", json!({ "path": "Attachments/boiler-sketch.png" })),
        ("vault_search", json!({ "query": "heating" })),
        ("vault_write", json!({ "path": "new/note.md", "content": "a\nb" })),
        ("vault_edit", json!({ "path": "new/note.md", "old_text": "a", "new_text": "c" })),
        (
            "vault_insert",
            json!({ "path": "new/note.md", "text": "- [ ] t", "heading": "H", "create": true }),
        ),
        ("vault_set_properties", json!({ "paths": ["new/note.md"], "set": { "a": 1 } })),
        ("vault_read_notes", json!({ "paths": ["new/note.md", "none.md"], "view": "outline" })),
        ("vault_tasks", json!({ "path": "new" })),
        ("vault_set_task", json!({ "path": "new/note.md", "line": 8, "text": "t" })),
        ("vault_links", json!({ "path": "Projects/Heating System.md" })),
        ("vault_links", json!({ "show": "orphans" })),
        ("vault_move", json!({ "path": "new/note.md", "to": "new/other.md" })),
        (
            "vault_query",
            json!({ "where": "tags", "select": ["file.tags"], "group_by": "file.folder" }),
        ),
        ("vault_query", json!({ "count": "tag" })),
        ("vault_rename_tag", json!({ "path": "heating", "to": "heat" })),
        ("vault_delete", json!({ "paths": ["new/other.md"] })),
        ("fetch_context", json!({ "context_type": "none" })),
        ("fetch_matching_files", json!({ "tags": ["project"], "max_chars": 1000 })),
        ("fetch_frontmatter_index", json!({})),
        ("fetch_specific_file", json!({ "file_path": "Welcome.md" })),
        ("search_vault_content", json!({ "search_pattern": "heating" })),
        ("vault_list_files", json!({ "directory": "Projects" })),
        ("vault_read_file", json!({ "path": "Welcome.md", "limit": 10 })),
        (
            "vault_write_file",
            json!({ "path": "git.md", "content": "---\ndate: 1\ntags: []\ntype: x\n---\n" }),
        ),
        ("vault_history", json!({ "path": "git.md" })),
        ("vault_restore", json!({ "path": "git.md", "version": "HEAD" })),
        ("vault_delete_file", json!({ "path": "git.md" })),
        ("vault_undo", json!({ "dry_run": true })),
        (
            "manage_accomplishment",
            json!({ "operation": "create", "data": { "title": "A", "effort": "Infra", "acceptance_criteria": ["c"] } }),
        ),
        (
            "manage_accomplishment",
            json!({ "operation": "create", "data": { "title": "B", "effort": "Infra" } }),
        ),
        (
            "manage_dependency",
            json!({ "operation": "add", "blocker_id": "ACC-001", "blocked_id": "ACC-002" }),
        ),
        (
            "manage_task",
            json!({ "operation": "add", "accomplishment_id": "ACC-001", "data": { "name": "t", "goal": "g", "estimate": 1.5, "notes": "n" } }),
        ),
        (
            "set_work_focus",
            json!({ "accomplishment_id": "ACC-001", "task_id": "ACC-001:Task 1:t", "task_status": "InProgress" }),
        ),
        ("get_accomplishment", json!({ "id": "ACC-001" })),
        ("list_accomplishments", json!({ "canvas_source": "plan/main.canvas" })),
        ("get_current_work", json!({})),
        ("get_blocked_items", json!({})),
        ("get_ready_to_start", json!({})),
        ("get_project_status", json!({})),
        ("update_doc", json!({ "name": "d.md", "operation": "create", "content": "d" })),
        ("read_docs", json!({})),
        ("read_docs", json!({ "doc_name": "d.md" })),
        ("sync_dependencies", json!({})),
        (
            "manage_task",
            json!({ "operation": "remove", "accomplishment_id": "ACC-001", "task_id": "ACC-001:Task 1:t" }),
        ),
        ("manage_accomplishment", json!({ "operation": "delete", "id": "ACC-001" })),
        ("search", json!({ "query": "heating" })),
        ("fetch", json!({ "id": "Welcome.md" })),
        ("query", json!({ "question": "x" })),
        (
            "ingest",
            json!({ "content": "x", "files": [folder.vault().join("Welcome.md").to_str()] }),
        ),
        ("ingest", json!({ "content": "y", "background": true })),
        ("ingest_status", json!({})),
        ("ingest_status", json!({ "job_id": "NEWEST" })),
        ("ingest_cancel", json!({ "job_id": "NEWEST" })),
    ] {
        let mut arguments = arguments;
        if arguments["version"] == "HEAD" {
            arguments["version"] =
                server.call("vault_history", json!({ "path": "git.md" }))["versions"][0]["version"]
                    .clone();
        }
        if arguments["job_id"] == "NEWEST" {
            arguments["job_id"] =
                server.call("ingest_status", json!({}))["jobs"][0]["job_id"].clone();
        }
        let result = server.result(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        seen.insert(tool);
    }
    assert_eq!(seen.len(), tools.len(), "every tool was called");
}

#[test]
fn annotations_say_what_a_tool_may_lose_and_whom_it_reaches() {
    for tool in
        vault_sync_mcp::tools::Toolset::offered(&vault_sync_mcp::tools::Toolset::ALL, |_| true)
    {
        let listing = tool.listing(false);
        let annotations = &listing["annotations"];
        let name = tool.name;
        assert_eq!(annotations["openWorldHint"], ["ingest", "query"].contains(&name), "{name}");
        let pushes = tool.needs() == vault_sync_mcp::principal::Access::Write;
        assert_eq!(
            tool.listing(true)["annotations"]["openWorldHint"],
            pushes || name == "query",
            "{name}, where changes are pushed"
        );
        let loses = [
            "vault_write",
            "vault_edit",
            "vault_insert",
            "vault_set_properties",
            "vault_move",
            "vault_delete",
            "vault_rename_tag",
            "vault_write_file",
            "vault_delete_file",
            "vault_restore",
            "vault_undo",
            "update_doc",
            "manage_accomplishment",
            "manage_task",
            "ingest",
        ];
        assert_eq!(annotations["destructiveHint"], loses.contains(&name), "{name}");
        assert!(
            annotations["readOnlyHint"] == false || annotations["destructiveHint"] == false,
            "{name}"
        );
    }
}
