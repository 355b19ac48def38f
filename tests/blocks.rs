//! What is a paragraph, list item, heading or frontmatter, as insertions and outlines show it.

use crate::support::{Folder, Server};
use serde_json::{Value, json};

/// The note after an insertion.
#[track_caller]
fn inserted(note: &str, mut arguments: Value) -> String {
    let folder = Folder::with(&[("n.md", note.as_bytes())]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    arguments["path"] = "n.md".into();
    let done = server.result("vault_insert", arguments);
    assert_eq!(done["isError"], false, "{done}");
    String::from_utf8(folder.read("n.md")).unwrap()
}

/// Level and text of the headings of a note, and its tags.
fn read(note: &str) -> (Vec<(u64, String)>, Vec<String>) {
    let folder = Folder::with(&[("n.md", note.as_bytes())]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    let outline = server.call("vault_read_notes", json!({ "paths": ["n.md"], "view": "outline" }))
        ["notes"][0]["headings"]
        .clone();
    let heading =
        |row: &Value| (row["level"].as_u64().unwrap(), row["text"].as_str().unwrap().to_owned());
    let tags = server.call("vault_list_all", json!({}))["files"][0]["tags"].clone();
    let tags =
        tags.as_array().into_iter().flatten().map(|tag| tag.as_str().unwrap().to_owned()).collect();
    (outline.as_array().into_iter().flatten().map(heading).collect(), tags)
}

#[test]
fn a_number_at_the_start_of_a_line_does_not_end_a_paragraph() {
    let note = "The firm began in\n1986. It grew\nfast. ^firm\n";
    let replaced =
        inserted(note, json!({ "block": "firm", "where": "replace", "text": "New text" }));
    assert_eq!(replaced, "New text ^firm\n");
    assert_eq!(read("para `code\n1986. #nottag` end\n").1, [""; 0]);
    assert_eq!(
        read("> quoted\n2. item\n---\nText\n10) ten\n---\n").0,
        [(2, "Text 10) ten".to_owned())]
    );
}

#[test]
fn an_item_behind_the_continuation_of_an_item_is_in_the_same_list() {
    assert_eq!(
        inserted("1. a\n   more\n", json!({ "where": "end", "text": "2. b" })),
        "1. a\n   more\n2. b\n"
    );
    assert_eq!(
        inserted("- a\n  more\n", json!({ "where": "end", "text": "  2. b" })),
        "- a\n  more\n\n  2. b\n"
    );
}

#[test]
fn an_insertion_at_the_start_makes_no_frontmatter_behind_a_byte_order_mark_either() {
    let note =
        inserted("\u{feff}text\n---\nmore\n", json!({ "where": "start", "text": "---\nrule" }));
    assert_eq!(note, "\u{feff}\n---\nrule\n\ntext\n---\nmore\n");
}

#[test]
fn a_heading_that_begins_with_a_tag_is_found_by_its_text() {
    let note = "# Top\n\n## #tag notes\n\ntext\n\n## Aims\n";
    let added = inserted(note, json!({ "heading": "#tag notes", "text": "more", "create": true }));
    assert_eq!(added, "# Top\n\n## #tag notes\n\ntext\n\nmore\n\n## Aims\n");
    assert!(inserted(note, json!({ "heading": "##Aims", "text": "x" })).ends_with("## Aims\nx\n"));
}

#[test]
fn what_is_no_heading_and_no_tag_is_none() {
    assert_eq!(read("> - quoted item\nmore text\n---\nrest\n").0, []);
    assert_eq!(read("a\n\n---\n    #code\n").1, [""; 0]);
    assert_eq!(
        read("<!-- a\n--> <!-- b\n# Heading\n").0,
        [(1, "Heading".to_owned())],
        "a comment ends with its line"
    );
    assert_eq!(read("%% a\nb %% %%\n# no\n%%\n# yes\n").0, [(1, "yes".to_owned())]);
    assert_eq!(read("<!-- a\n--> text\n---\nrest\n").0, []);
    assert_eq!(read("---\ntags: [Work, work]\n---\n").1, ["Work"]);
}
