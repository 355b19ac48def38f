//! Parts of notes that other programs write in ways of their own: ids of blocks, names and lists of
//! properties, thematic breaks.

use crate::support::{Folder, Server};
use serde_json::{Value, json};

/// The note after one call of a tool that changes it.
#[track_caller]
fn after(text: &str, tool: &str, arguments: Value) -> String {
    let folder = Folder::with(&[("n.md", text.as_bytes())]);
    let server =
        Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes"), ("TIME_ZONE", "UTC")]);
    server.call(tool, arguments);
    String::from_utf8(folder.read("n.md")).unwrap()
}

#[test]
fn a_text_with_the_id_of_the_block_that_it_replaces_brings_it_along() {
    let replace = |text: &str, new: &str| {
        after(
            text,
            "vault_insert",
            json!({ "path": "n.md", "block": "id", "where": "replace", "text": new }),
        )
    };
    for (text, new, expected) in [
        ("| a |\n|---|\n\n^id\n\nend\n", "| x |\n|---|\n\n^id", "| x |\n|---|\n\n^id\n\nend\n"),
        ("| a |\n|---|\n\n^id\n\nend\n", "| x |\n|---|", "| x |\n|---|\n\n^id\n\nend\n"),
        ("para ^id\n", "new ^id\n\n", "new ^id\n"),
        ("para ^id\n", "new", "new ^id\n"),
    ] {
        let made = replace(text, new);
        assert_eq!(made.matches("^id").count(), 1, "{made:?}");
        assert_eq!(made.trim_end(), expected.trim_end(), "{text:?} {new:?}");
    }
}

#[test]
fn the_id_of_a_block_is_found_before_a_quote_or_a_thematic_break() {
    for text in
        ["para ^id\n> quote\n", "- item ^id\n> quote\n", "para ^id\n***\n", "> quote ^id\n***\n"]
    {
        let made = after(
            text,
            "vault_insert",
            json!({ "path": "n.md", "block": "id", "where": "before", "text": "new\n" }),
        );
        assert!(made.starts_with("new\n") && made.ends_with(text), "{made:?}");
    }
}

#[test]
fn a_text_that_replaces_a_thematic_break_is_a_paragraph_of_its_own() {
    for (text, arguments, expected) in [
        (
            "## N\n***\nNext\n====\n",
            json!({ "path": "n.md", "heading": "N", "where": "replace", "text": "prose" }),
            "## N\nprose\n\nNext\n====\n",
        ),
        (
            "a\n***\nb\n",
            json!({ "path": "n.md", "line": 2, "where": "replace", "text": "prose" }),
            "a\n\nprose\n\nb\n",
        ),
    ] {
        assert_eq!(after(text, "vault_insert", arguments), expected);
    }
}

#[test]
fn numbered_tasks_of_a_quote_are_tasks_below_its_heading() {
    let folder =
        Folder::with(&[("n.md", b"> # H\n> 2. [ ] x\n> 3. [ ] y\n\n> ---\n> 2. [ ] z\n" as &[u8])]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    assert_eq!(server.call("vault_tasks", json!({}))["total"], 3);
}

#[test]
fn aliases_in_one_text_are_a_list() {
    let set = |arguments: Value| {
        after("---\naliases: One, Two\n---\n", "vault_set_properties", arguments)
    };
    assert_eq!(
        set(json!({ "paths": ["n"], "add_values": { "aliases": ["Three"] } })),
        "---\naliases: [One, Two, Three]\n---\n"
    );
    assert_eq!(
        set(json!({ "paths": ["n"], "remove_values": { "aliases": ["One"] } })),
        "---\naliases: [Two]\n---\n"
    );
}

#[test]
fn a_property_is_changed_however_its_name_is_quoted() {
    for (text, name, expected) in [
        ("---\n\"\\\"x\\\" y\": 1\n---\n", "\"x\" y", "---\n\"\\\"x\\\" y\": 2\n---\n"),
        ("---\n'Don''t': 1\n---\n", "Don't", "---\n'Don''t': 2\n---\n"),
    ] {
        assert_eq!(
            after(text, "vault_set_properties", json!({ "paths": ["n"], "set": { name: 2 } })),
            expected
        );
    }
    let made = after(
        "---\naliases: [a]\n---\n",
        "vault_set_properties",
        json!({ "paths": ["n"], "add_values": { "aliases": ["?why", ":x"] } }),
    );
    assert_eq!(made, "---\naliases: [a, \"?why\", \":x\"]\n---\n");
}
