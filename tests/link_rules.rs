//! What a link means: one test for each rule of Obsidian that a resolver has to know, in the order
//! in which they are tried.

use crate::support::{Folder, Server};
use serde_json::{Value, json};

/// What the links of a note mean, in order; a text for a file, null for none, a list for several.
fn meant(files: &[&str], source: &str, text: &str) -> Vec<Value> {
    let mut all: Vec<(&str, &[u8])> =
        files.iter().map(|path| (*path, b"# Heading\n" as &[u8])).collect();
    all.push((source, text.as_bytes()));
    let folder = Folder::with(&all);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    let listed = server.call("vault_links", json!({ "path": source, "show": "outgoing" }));
    let rows = listed["links"].as_array().unwrap().iter();
    rows.map(|row| {
        if row["candidates"].is_array() {
            row["candidates"].clone()
        } else {
            row["resolved"].clone()
        }
    })
    .collect()
}

#[test]
fn rule_1_a_name_is_compared_without_case_and_with_a_dot_first_as_it_is_and_then_with_md() {
    let files = ["Note.md", "v1.2.md", "p.png", "p.png.md"];
    assert_eq!(
        meant(&files, "n.md", "[[NOTE]] [[note.md]] [[v1.2]] [[p.png]] [[p]]"),
        [json!("Note.md"), json!("Note.md"), json!("v1.2.md"), json!("p.png"), Value::Null]
    );
}

#[test]
fn rule_1_an_alias_or_title_is_no_target() {
    let folder = Folder::with(&[
        ("a.md", b"---\naliases: [Other]\ntitle: Title\n---\n" as &[u8]),
        ("n.md", b"[[Other]] [[Title]]"),
    ]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    assert_eq!(server.call("vault_links", json!({ "show": "unresolved" }))["total"], 2);
}

#[test]
fn rule_2_a_name_of_one_file_means_it_from_everywhere() {
    assert_eq!(
        meant(&["deep/er/Only.md"], "x/n.md", "[[Only]] [t](Only)"),
        [json!("deep/er/Only.md"), json!("deep/er/Only.md")]
    );
}

#[test]
fn rule_3_a_relative_path_starts_at_the_folder_of_its_note_and_a_miss_goes_on() {
    let files = ["a/x/S.md", "a/S.md", "S.md"];
    assert_eq!(
        meant(&files, "a/x/n.md", "[[./S]] [[../S]] [[../../S]]"),
        [json!("a/x/S.md"), json!("a/S.md"), json!("S.md")]
    );
    assert_eq!(meant(&["b/Only.md"], "a/n.md", "[[./Only]]"), [json!("b/Only.md")]);
}

#[test]
fn rule_4_a_leading_slash_means_the_path_from_the_root_alone() {
    let files = ["a/S.md", "b/S.md", "b/c/T.md", "T.md"];
    assert_eq!(
        meant(&files, "b/n.md", "[[/a/S]] [[a/S]] [[/S]] [[T]]"),
        [json!("a/S.md"), json!("a/S.md"), Value::Null, json!("T.md")]
    );
}

#[test]
fn rule_5_else_the_nearer_and_then_the_shorter_path_with_this_end_and_a_tie_is_ambiguous() {
    let files = ["far/away/S.md", "here/x/S.md", "z/S.md", "b/T.md", "c/T.md"];
    let found = meant(&files, "here/n.md", "[[S]] [[away/S]] [[T]]");
    assert_eq!(found, [json!("here/x/S.md"), json!("far/away/S.md"), json!(["b/T.md", "c/T.md"])]);
    assert_eq!(meant(&files, "n.md", "[[S]]"), [json!("z/S.md")]);
}

#[test]
fn rule_6_a_markdown_target_is_decoded_but_for_what_separates_parts_of_a_uri() {
    let files = ["my note.md", "a&b.md", "(x).md"];
    let text = "[t](my%20note.md) [t](<my note.md>) [t](my%20note.md \"title\") [t](a%26b.md) [t](a&b.md) [t](%28x%29.md) [t]((x).md) [u](https://x.y/my%20note.md) [m](mailto:a)";
    let note = json!("my note.md");
    assert_eq!(
        meant(&files, "n.md", text),
        [
            note.clone(),
            note.clone(),
            note,
            Value::Null,
            json!("a&b.md"),
            json!("(x).md"),
            json!("(x).md")
        ]
    );
}

#[test]
fn rule_7_a_subpath_names_a_heading_nested_by_signs_and_compared_without_punctuation_or_a_block() {
    let folder = Folder::with(&[
        ("a.md", b"# A\n## What: (now)?\n# B\n## What: (now)?\np ^Id\n" as &[u8]),
        ("n.md", b"[[a#B#what now]] [[a#what   NOW]] [[a#^id]]"),
    ]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    let links = server.call("vault_links", json!({ "path": "a.md" }));
    let subpaths: Vec<&str> = links["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["subpath"].as_str().unwrap())
        .collect();
    assert_eq!(subpaths, ["#B#what now", "#what   NOW", "#^id"]);
    // The second one of the name is renamed by the path that means it, and the first link to it
    // with it.
    server.call("vault_move", json!({ "path": "a.md#B#What: (now)?", "to": "a.md#Then" }));
    assert_eq!(
        String::from_utf8(folder.read("n.md")).unwrap(),
        "[[a#B#Then]] [[a#what   NOW]] [[a#^id]]"
    );
}

#[test]
fn rule_8_the_display_text_begins_at_the_first_bar_which_is_escaped_in_tables() {
    assert_eq!(
        meant(&["a.md"], "n.md", "[[a#b | c|d]]\n\n| [[a\\|t]] |\n|---|\n"),
        [json!("a.md"), json!("a.md")]
    );
}

#[test]
fn rule_9_code_comments_of_html_and_math_have_no_links_and_comments_of_obsidian_have() {
    let text = "---\nup: \"[[a]]\"\nmd: \"[t](a.md)\"\n---\n`[[a]]` <!-- [[a]] --> $[[a]]$ %% \
                [[a]] %%\n```\n[[a]]\n```\n> [!note] [[a]]\n# [[a]]\n";
    assert_eq!(meant(&["a.md"], "n.md", text).len(), 5);
}

#[test]
fn rule_10_files_backgrounds_and_texts_of_a_canvas_link() {
    let canvas = r#"{"nodes":[{"id":"1","type":"file","file":"a.md"},{"id":"2","type":"text","text":"[[a]] `[[a]]`"},{"id":"3","type":"group","background":"p.png"}],"edges":[]}"#;
    assert_eq!(
        meant(&["a.md", "p.png"], "c.canvas", canvas),
        [json!("a.md"), json!("a.md"), json!("p.png")]
    );
}

#[test]
fn rule_11_unicode_forms_and_spaces_that_do_not_break_are_the_same() {
    assert_eq!(
        meant(&["Cafe\u{301} au lait.md"], "n.md", "[[Caf\u{e9}\u{a0}au lait]]"),
        [json!("Caf\u{e9} au lait.md")]
    );
}

#[test]
fn rule_12_bases_and_blocks_with_queries_are_left_alone_by_name() {
    let folder = Folder::with(&[
        ("Old.md", b"" as &[u8]),
        ("b.base", b"filters: file.name == \"Old\"\n"),
        ("q.md", b"```query\nx\n```\n```js\nOld\n```\n```query\nOld\n```\n"),
    ]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    let done = server.call("vault_move", json!({ "path": "Old.md", "to": "New.md" }));
    let left: Vec<(&str, u64)> = done["left_alone"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["path"].as_str().unwrap(), row["line"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        (left, folder.read("b.base")),
        (vec![("b.base", 1), ("q.md", 8)], b"filters: file.name == \"Old\"\n".to_vec())
    );
}

#[test]
fn a_name_of_several_files_means_the_nearest_and_shortest_alone() {
    let files = ["a/Same.md", "b/Same.md", "very/long/folder/Same.md"];
    assert_eq!(meant(&files, "n.md", "[[Same]]"), [json!(["a/Same.md", "b/Same.md"])]);
}

#[test]
fn a_markdown_link_whose_text_has_brackets_is_one() {
    assert_eq!(
        meant(&["refs/smith.md"], "n.md", "See [[1] Smith](refs/smith.md)."),
        ["refs/smith.md"]
    );
    assert_eq!(
        meant(
            &["refs/smith.md"],
            "n.md",
            "[[1] x](refs/smith.md) says, and [[smith]] too, [[smith|a [b] c]]"
        ),
        ["refs/smith.md"; 3]
    );
}
