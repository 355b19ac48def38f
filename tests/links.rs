//! Links: what they mean, and files, headings and tags renamed with what refers to them. One rule
//! of Obsidian for each name of a test.

use crate::support::{Folder, Server};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) fn serve(folder: &Folder) -> Server {
    Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes"), ("TIME_ZONE", "UTC")])
}

pub(crate) fn text(folder: &Folder, path: &str) -> String {
    String::from_utf8(folder.read(path)).unwrap()
}

/// Every file of a vault that is not hidden.
pub(crate) fn all(folder: &Folder) -> BTreeMap<String, String> {
    let mut open = vec![folder.vault()];
    let mut found = BTreeMap::new();
    while let Some(on_disk) = open.pop() {
        for entry in std::fs::read_dir(on_disk).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.strip_prefix(folder.vault()).unwrap().display().to_string();
            if entry.file_name().unwrap().to_str().unwrap().starts_with('.') {
                continue;
            } else if entry.is_dir() {
                open.push(entry);
            } else {
                found.insert(
                    name,
                    String::from_utf8_lossy(&std::fs::read(&entry).unwrap()).into_owned(),
                );
            }
        }
    }
    found
}

pub(crate) fn vault(files: &[(&str, &str)]) -> Folder {
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    Folder::with(&files)
}

/// Moves a file in a vault, and gives what one of its files then says. A dry run says the same and
/// does nothing.
pub(crate) fn after_move(files: &[(&str, &str)], from: &str, to: &str, read: &str) -> String {
    let folder = vault(files);
    let server = serve(&folder);
    let before = all(&folder);
    let mut planned = server.call("vault_move", json!({ "path": from, "to": to, "dry_run": true }));
    assert_eq!(all(&folder), before, "a dry run");
    let done = server.call("vault_move", json!({ "path": from, "to": to }));
    planned["dry_run"] = false.into();
    assert_eq!(planned, done);
    text(&folder, read)
}

#[test]
fn a_link_that_still_means_the_file_stays_letter_for_letter() {
    let files = [("a.md", "x"), ("n.md", "[[a]] [[A|x]] [t](a.md) ![[a#h]]")];
    assert_eq!(after_move(&files, "a.md", "Deep/er/a.md", "n.md"), files[1].1);
}

#[test]
fn a_link_that_would_break_keeps_kind_text_size_subpath_and_ending() {
    let files = [
        ("Old.md", "# H\np ^id\n"),
        ("img/p.png", "png"),
        (
            "n.md",
            "[[Old]] ![[Old#H]] [[Old#^id|shown Old]] [[Old.md]] [t Old](Old.md#H) [u](<Old.md> \"Old\") [v](Old)\n| [[Old\\|Old]] |\n%% [[Old]] %%\n- [ ] [[old]]\n> [!a] [[Old]]\n## [[Old]]\n",
        ),
    ];
    let expected = "[[New 1]] ![[New 1#H]] [[New 1#^id|shown Old]] [[New 1.md]] [t Old](New%201.md#H) [u](<New%201.md> \"Old\") [v](New%201)\n| [[New 1\\|Old]] |\n%% [[New 1]] %%\n- [ ] [[New 1]]\n> [!a] [[New 1]]\n## [[New 1]]\n";
    assert_eq!(after_move(&files, "Old.md", "x/New 1.md", "n.md"), expected);
    let embedded =
        [("img/p.png", "png"), ("n.md", "![[p.png|100x20]] ![alt|50](img/p.png) ![](<img/p.png>)")];
    assert_eq!(
        after_move(&embedded, "img/p.png", "q (1).png", "n.md"),
        "![[q (1).png|100x20]] ![alt|50](q%20%281%29.png) ![](<q%20%281%29.png>)"
    );
}

#[test]
fn code_comments_of_html_math_and_aliases_are_no_links() {
    let note = "---\naliases: [Old]\n# \"[[Old]]\"\n---\n`[[Old]]` <!-- [[Old]] --> $[[Old]]$ \\[[Old]] Old\n```\n[[Old]]\n```\n    [[Old]]\n";
    let files = [
        ("Old.md", ""),
        ("n.md", note),
        ("m.md", "[[Name|Old]] [Old](other.md) https://x.y/Old.md"),
    ];
    assert_eq!(after_move(&files, "Old.md", "New.md", "n.md"), note);
    assert_eq!(after_move(&files, "Old.md", "New.md", "m.md"), files[2].1);
}

#[test]
fn links_in_properties_are_rewritten_in_their_quotes() {
    let note = "\u{feff}---\r\nup: \"[[Old|u]]\" # \"[[Old]]\"\r\nlist: ['[[Old]]', \"x\", '[[Bob''s]]']\r\nmd: \"[t](Old.md)\"\r\nplain: Old\r\n---\r\n";
    let expected = "\u{feff}---\r\nup: \"[[It's|u]]\" # \"[[Old]]\"\r\nlist: ['[[It''s]]', \"x\", '[[Bob''s]]']\r\nmd: \"[t](It's.md)\"\r\nplain: Old\r\n---\r\n";
    assert_eq!(
        after_move(&[("Old.md", ""), ("n.md", note)], "Old.md", "It's.md", "n.md"),
        expected
    );
    let note = "---\nwho: '[[Bob''s]]'\n---\n";
    assert_eq!(
        after_move(&[("Bob's.md", ""), ("n.md", note)], "Bob's.md", "Bob.md", "n.md"),
        "---\nwho: '[[Bob]]'\n---\n"
    );
}

#[test]
fn links_of_canvases_are_rewritten_in_nodes_backgrounds_and_texts() {
    let canvas = "{\n\t\"nodes\":[\n\t\t{\"id\":\"1\",\"type\":\"file\",\"file\":\"a/Old.md\",\"subpath\":\"#H\",\"x\":1.0},\n\t\t{\"id\":\"2\",\"type\":\"text\",\"text\":\"\\\"q\\\" [[Old#H|t]]\\n[x](Old.md) `[[Old]]` \\u00fc\"},\n\t\t{\"id\":\"3\",\"type\":\"group\",\"background\":\"a/Old.md\",\"label\":\"Old\"}\n\t],\n\t\"edges\":[]\n}";
    let expected = canvas
        .replace("a/Old.md", "b/N 1.md")
        .replace("[[Old#H", "[[N 1#H")
        .replace("(Old.md)", "(N%201.md)");
    assert_eq!(
        after_move(&[("a/Old.md", ""), ("c.canvas", canvas)], "a/Old.md", "b/N 1.md", "c.canvas"),
        expected
    );
    assert_eq!(
        after_move(
            &[("a/Old.md", ""), ("c.canvas", "{ no"), ("n.md", "[[Old]]")],
            "a/Old.md",
            "New.md",
            "c.canvas"
        ),
        "{ no"
    );
}

#[test]
fn a_target_is_the_name_where_that_is_unique_and_else_the_whole_path() {
    let files =
        [("Old.md", ""), ("b/New.md", ""), ("n.md", "[[Old]]"), ("b/m.md", "[[Old]] [[New]]")];
    assert_eq!(after_move(&files, "Old.md", "a/New.md", "n.md"), "[[a/New]]");
    assert_eq!(after_move(&files, "Old.md", "a/New.md", "b/m.md"), "[[a/New]] [[New]]");
    // Also where the nearer one would be found.
    assert_eq!(
        after_move(
            &[("Old.md", ""), ("b/New.md", ""), ("a/n.md", "[[Old]]")],
            "Old.md",
            "a/New.md",
            "a/n.md"
        ),
        "[[a/New]]"
    );
}

#[test]
fn the_format_of_new_links_is_that_of_the_settings() {
    let of = |format: &str, link: &str| {
        let settings = format!("{{ \"newLinkFormat\": \"{format}\", \"useMarkdownLinks\": true }}");
        let files = [(".obsidian/app.json", settings.as_str()), ("Old.md", ""), ("x/n.md", link)];
        after_move(&files, "Old.md", "a b/New.md", "x/n.md")
    };
    assert_eq!(of("absolute", "[[Old]] [t](Old.md)"), "[[a b/New]] [t](a%20b/New.md)");
    assert_eq!(of("relative", "[[Old]] [t](../Old.md)"), "[[../a b/New]] [t](../a%20b/New.md)");
    assert_eq!(of("shortest", "[[Old]] [t](Old.md)"), "[[New]] [t](New.md)");
}

#[test]
fn relative_links_of_the_moved_note_are_repaired() {
    let files = [
        ("A/n.md", "![i](../img/p.png) [m](./m.md) [[m]] [[#H]] [s](#H)\n# H"),
        ("A/m.md", ""),
        ("img/p.png", ""),
    ];
    assert_eq!(
        after_move(&files, "A/n.md", "B/C/n.md", "B/C/n.md"),
        "![i](p.png) [m](m.md) [[m]] [[#H]] [s](#H)\n# H"
    );
}

#[test]
fn links_that_a_move_would_steal_or_free_are_lengthened() {
    // A new file of the name: what meant the only one still means it.
    let stolen = [("a/Note.md", ""), ("Other.md", ""), ("n.md", "[[Note]] [[Other]]")];
    assert_eq!(after_move(&stolen, "Other.md", "b/Note.md", "n.md"), "[[a/Note]] [[b/Note]]");
    assert_eq!(after_move(&stolen, "Other.md", "Note.md", "n.md"), "[[a/Note]] [[Note]]");
    // The moved note is not where its neighbour was any more.
    let freed = [("a/n.md", "[[Note]]"), ("a/Note.md", ""), ("b/Note.md", "")];
    assert_eq!(after_move(&freed, "a/n.md", "b/n.md", "b/n.md"), "[[a/Note]]");
}

#[test]
fn a_folder_moves_with_everything_below_it() {
    let files = [
        ("A/x/n.md", "[[A/x/m]] ![](../p.png) [[out]]"),
        ("A/x/m.md", "[[n]]"),
        ("A/p.png", "png"),
        ("A/.hidden", "h"),
        ("out.md", "[[A/x/n|n]] [t](A/x/n.md) [[n]] ![](A/p.png)"),
        ("c.canvas", r#"{"nodes":[{"id":"1","type":"file","file":"A/x/n.md"}],"edges":[]}"#),
    ];
    let folder = vault(&files);
    let server = serve(&folder);
    let done = server.call("vault_move", json!({ "path": "A", "to": "Archive/B" }));
    assert_eq!(done["moved"].as_array().unwrap().len(), 3, "{done}");
    let found = all(&folder);
    assert_eq!(found["Archive/B/x/n.md"], "[[m]] ![](../p.png) [[out]]");
    assert_eq!(found["out.md"], "[[n|n]] [t](n.md) [[n]] ![](p.png)");
    assert!(found["c.canvas"].contains("\"file\":\"Archive/B/x/n.md\""));
    assert!(
        folder.vault().join("Archive/B/.hidden").exists() && !folder.vault().join("A").exists()
    );
    assert_eq!(server.call("vault_links", json!({ "path": "Archive/B/x/n.md" }))["total"], 5);
    assert_eq!(
        server.fail("vault_move", json!({ "path": "Archive", "to": "Archive/C" }))["code"],
        "INVALID_ARGUMENT"
    );
    assert_eq!(
        server.call("vault_move", json!({ "path": "out.md", "to": "Archive/" }))["moved"][0]["to"],
        "Archive/out.md"
    );
}

#[test]
fn a_name_changes_in_case_alone() {
    assert_eq!(
        after_move(&[("note.md", ""), ("n.md", "[[note]]")], "note.md", "Note.md", "n.md"),
        "[[note]]"
    );
    let folder = vault(&[("d/x.md", "")]);
    let server = serve(&folder);
    assert_eq!(
        server.call("vault_move", json!({ "path": "d", "to": "D" }))["moved"][0]["to"],
        "D/x.md"
    );
}

#[test]
fn nothing_is_replaced_and_a_refusal_changes_nothing() {
    let folder = vault(&[
        ("a.md", "[[b]]"),
        ("b.md", "b"),
        ("Up.md", ""),
        ("d/x.md", ""),
        ("ro.md", "[[a]]"),
        ("x.base", "filters: 'file.name == \"a\"'\n"),
    ]);
    let server = serve(&folder);
    let before = all(&folder);
    for (from, to, code) in [
        ("a.md", "b.md", "ALREADY_EXISTS"),
        ("a.md", "B.md", "INVALID_ARGUMENT"),
        ("a.md", "up.md", "INVALID_ARGUMENT"),
        ("a.md", "a.md", "INVALID_ARGUMENT"),
        ("a.md", "../x.md", "PATH_NOT_ALLOWED"),
        ("a.md", ".trash/x.md", "PATH_NOT_ALLOWED"),
        ("a.md", "CON.md", "INVALID_ARGUMENT"),
        ("a.md", "a:b.md", "INVALID_ARGUMENT"),
        ("none.md", "x.md", "FILE_NOT_FOUND"),
        ("/", "x", "INVALID_ARGUMENT"),
        ("d", "d/e", "INVALID_ARGUMENT"),
    ] {
        assert_eq!(
            server.fail("vault_move", json!({ "path": from, "to": to }))["code"],
            code,
            "{from} {to}"
        );
    }
    let conflict = server.fail(
        "vault_move",
        json!({ "path": "a.md", "to": "c.md", "if_match": "0000000000000000" }),
    );
    assert_eq!((conflict["code"].clone(), all(&folder)), (json!("CONFLICT"), before));
    // A name that a link cannot have, a base, a file that is only to be read: named, and left
    // alone.
    let mut permissions = std::fs::metadata(folder.vault().join("ro.md")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(folder.vault().join("ro.md"), permissions).unwrap();
    let done = server.call("vault_move", json!({ "path": "a.md", "to": "a#1.md" }));
    let reasons: Vec<String> = done["left_alone"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{}: {}", row["path"], row["reason"]))
        .collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(
        reasons[0].contains("characters of the new name") && reasons[1].contains("a base"),
        "{reasons:?}"
    );
    let done = server.call("vault_move", json!({ "path": "a#1.md", "to": "c.md" }));
    assert_eq!(
        (done["links_updated"].clone(), done["files_changed"].clone()),
        (json!(0), json!(0))
    );
    let kept =
        server.call("vault_move", json!({ "path": "b.md", "to": "e.md", "update_links": false }));
    assert_eq!(kept["left_alone"][0]["reason"], "update_links is false");
    assert_eq!(text(&folder, "c.md"), "[[b]]");
}

#[test]
fn an_ambiguous_link_is_named_and_never_rewritten() {
    let folder = vault(&[
        ("a/S.md", ""),
        ("b/S.md", ""),
        ("n.md", "see [[S]]"),
        ("q.md", "```query\nS\n```\n"),
    ]);
    let server = serve(&folder);
    let done = server.call("vault_move", json!({ "path": "a/S.md", "to": "a/T.md" }));
    assert_eq!(done["left_alone"][0]["text"], "see [[S]]");
    assert!(done["left_alone"][0]["reason"].as_str().unwrap().contains("a/S.md, b/S.md"), "{done}");
    assert_eq!(
        (done["left_alone"][1]["path"].clone(), done["left_alone"][1]["line"].clone()),
        (json!("q.md"), json!(2))
    );
    assert_eq!(text(&folder, "n.md"), "see [[S]]");
}

/// Names, folders and links by chance: what each link means before, it means afterwards, and moving
/// back gives the same tree where all links are names.
#[test]
fn every_link_means_the_same_file_after_any_move() {
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let names = ["a", "b", "Note", "x y", "v1.2"];
    let folders = ["", "p/", "p/q/", "r/"];
    for _ in 0..if crate::support::thorough() { 200 } else { 8 } {
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for _ in 0..7 {
            let path = format!("{}{}.md", folders[random(4)], names[random(5)]);
            let links: Vec<String> = (0..5)
                .map(|_| {
                    let (folder, name) = (folders[random(4)], names[random(5)]);
                    match random(5) {
                        0 => format!("[[{folder}{name}]]"),
                        1 => format!("[t]({}.md)", format!("{folder}{name}").replace(' ', "%20")),
                        2 => format!("[t](../{}.md)", name.replace(' ', "%20")),
                        _ => format!("[[{name}|shown]]"),
                    }
                })
                .collect();
            files.insert(path, links.join("\n"));
        }
        let rows: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let folder = vault(&rows);
        let server = serve(&folder);
        let from = rows[random(rows.len())].0.to_owned();
        let to = format!("{}{}.md", folders[random(4)], ["a", "New", "Note"][random(3)]);
        let meanings = || {
            let mut found: Vec<(String, u64, Value)> = Vec::new();
            for path in all(&folder).keys() {
                let listed =
                    server.call("vault_links", json!({ "path": path, "show": "outgoing" }));
                let links = listed["links"].as_array().unwrap();
                found.extend(links.iter().map(|link| {
                    (path.clone(), link["line"].as_u64().unwrap(), link["resolved"].clone())
                }));
            }
            found
        };
        let before = meanings();
        if server.result("vault_move", json!({ "path": from, "to": to }))["isError"] == true {
            continue;
        }
        let moved = |path: &str| if path == from { to.clone() } else { path.to_owned() };
        let expected: Vec<(String, u64, Value)> = before
            .into_iter()
            .map(|(path, line, resolved)| {
                (
                    moved(&path),
                    line,
                    resolved.as_str().map_or(Value::Null, |path| moved(path).into()),
                )
            })
            .collect();
        let after: BTreeMap<(String, u64), Value> =
            meanings().into_iter().map(|(path, line, resolved)| ((path, line), resolved)).collect();
        for (path, line, resolved) in
            expected.into_iter().filter(|(.., resolved)| !resolved.is_null())
        {
            assert_eq!(
                after[&(path.clone(), line)],
                resolved,
                "{from} to {to}: {path}:{line} in {:?}",
                all(&folder)
            );
        }
    }
}

#[test]
fn what_a_link_means_is_listed_with_where_it_stands() {
    let folder = vault(&[
        ("hub.md", "x\n[[a]] and ![[p.png]]\n[t](a.md#H) [[none]] [[S#x]]\n"),
        ("a.md", "---\nup: \"[[hub]]\"\n---\n"),
        ("p.png", "png"),
        ("x/S.md", "[[a]]"),
        ("y/S.md", "no links"),
        ("c.canvas", r#"{"nodes":[{"id":"1","type":"file","file":"a.md"}],"edges":[]}"#),
    ]);
    let server = serve(&folder);
    let links = |arguments: Value| server.call("vault_links", arguments);
    let back = links(json!({ "path": "[[a]]" }));
    let rows: Vec<String> = back["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{}:{}:{}", row["path"], row["line"], row["target"]))
        .collect();
    assert_eq!(
        rows,
        [
            "\"c.canvas\":1:\"a.md\"",
            "\"hub.md\":2:\"a\"",
            "\"hub.md\":3:\"a.md#H\"",
            "\"x/S.md\":1:\"a\""
        ]
    );
    assert_eq!(
        (back["total"].clone(), back["links"][2]["subpath"].clone()),
        (json!(4), json!("#H"))
    );
    assert_eq!(links(json!({ "path": "p.png" }))["links"][0]["embed"], true);
    assert_eq!(links(json!({ "path": "hub.md", "show": "outgoing" }))["total"], 5);
    let unresolved = links(json!({ "show": "unresolved" }));
    assert_eq!(
        (unresolved["total"].clone(), unresolved["links"][0]["target"].clone()),
        (json!(1), json!("none"))
    );
    assert_eq!(unresolved["links"][0]["resolved"], Value::Null);
    assert_eq!(
        links(json!({ "show": "ambiguous" }))["links"][0]["candidates"],
        json!(["x/S.md", "y/S.md"])
    );
    assert_eq!(links(json!({ "show": "orphans" })), json!({ "total": 0, "paths": [] }));
    assert_eq!(links(json!({ "show": "deadends" }))["paths"], json!(["y/S.md"]));
    assert_eq!(server.fail("vault_links", json!({}))["code"], "INVALID_ARGUMENT");
    assert_eq!(server.fail("vault_links", json!({ "path": "none.md" }))["code"], "FILE_NOT_FOUND");
    // The next call sees what another program has written.
    std::fs::write(folder.vault().join("new.md"), "[[a]] [[a]]").unwrap();
    std::fs::remove_file(folder.vault().join("x/S.md")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(links(json!({ "path": "a.md" }))["total"], 5);
    assert_eq!(links(json!({ "show": "ambiguous" }))["total"], 0);
}

#[test]
fn links_come_in_pages_that_miss_and_repeat_nothing() {
    let many: Vec<(String, String)> =
        (0..70).map(|n| (format!("n{n:02}.md"), "[[a]] [[a]]\n[[a]]".into())).collect();
    let mut files: Vec<(&str, &str)> =
        many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("a.md", ""));
    let folder = vault(&files);
    let server = serve(&folder);
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = server.call("vault_links", json!({ "path": "a.md", "cursor": cursor }));
        assert_eq!(page["total"], 210);
        seen.extend(
            page["links"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| format!("{} {}", row["path"], row["line"])),
        );
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen.len(), 210);
    assert!(seen.is_sorted());
}

#[test]
fn code_between_lines_of_a_paragraph_is_code() {
    let note = "para\n~~~\n[[Old]]\n~~~\npara [[Old]]\n- item\n```\n[[Old]]\n```\nodd ` tick\n```\n[[Old]]\n```\n[[Old]] and `code`\n> q\n> ```\n> [[Old]]\n> ```\n$$\n[[Old]]\n$$\n";
    let expected =
        note.replace("para [[Old]]", "para [[New]]").replace("[[Old]] and", "[[New]] and");
    assert_eq!(after_move(&[("Old.md", ""), ("n.md", note)], "Old.md", "New.md", "n.md"), expected);
}

#[test]
fn of_several_files_the_one_with_the_shorter_path_is_meant_and_a_path_may_begin_within_a_name() {
    let files = [("longfoldername/S.md", ""), ("b/c/S.md", ""), ("n.md", "[[S]]")];
    assert_eq!(after_move(&files, "b/c/S.md", "T.md", "n.md"), "[[T]]");
    assert_eq!(after_move(&files, "longfoldername/S.md", "T.md", "n.md"), "[[S]]");
    assert_eq!(
        after_move(
            &[("abc/S.md", ""), ("x/S.md", ""), ("n.md", "[[c/S]]")],
            "abc/S.md",
            "T.md",
            "n.md"
        ),
        "[[T]]"
    );
}

#[test]
fn what_is_no_link_in_markdown_or_properties_stays() {
    let note = "---\n# todo: \"[[Old]]\"\na: x # see: \"[[Old]]\"\n\"[[Old]]\": key\nb: |\n  say \"[[Old]]\"\nc: [\"[[Old]]\"]\n---\n[repo](Old repo for it) [t](Old \"title\")\n";
    let expected =
        note.replace("c: [\"[[Old]]", "c: [\"[[New]]").replace("(Old \"title", "(New \"title");
    assert_eq!(after_move(&[("Old.md", ""), ("n.md", note)], "Old.md", "New.md", "n.md"), expected);
    // A target that would be a URL is not written.
    let files = [("A/x: y.md", ""), ("n.md", "[t](A/x:%20y.md)")];
    assert_eq!(after_move(&files, "A", "B", "n.md"), "[t](B/x:%20y.md)");
}

#[test]
fn names_that_are_given_for_a_move_mean_what_a_person_means() {
    let folder = vault(&[
        ("p/a.md", ""),
        ("q v.png", "1"),
        ("b.md", "# B\n## Old\nx ^id\n\n## Id\n[[b#B#Old]]\n"),
        ("c.canvas", r##"{"nodes":[{"id":"1","file":"b.md","subpath":"#Old"}]}"##),
    ]);
    let server = serve(&folder);
    let to = |from: &str, to: &str| {
        server.call("vault_move", json!({ "path": from, "to": to }))["moved"][0]["to"].clone()
    };
    assert_eq!(to("[[a]]", "[[New]]"), "p/New.md");
    assert_eq!(to("p/New.md", "v1.2"), "v1.2.md");
    assert_eq!(to("q v.png", "r v1.2"), "r v1.2.png");
    assert_eq!(to("b.md#B#Old", "b.md#B#New"), "b.md#New");
    assert_eq!(text(&folder, "b.md"), "# B\n## New\nx ^id\n\n## Id\n[[b#B#New]]\n");
    assert!(text(&folder, "c.canvas").contains(r##""subpath":"#New""##));
    for (from, to) in [
        ("b.md#^id", "b.md#^new"),
        ("b.md#New", "b.md#:::"),
        ("b.md", ""),
        ("", "x"),
        ("b.md", "v1.2.md/x.md"),
    ] {
        for dry_run in [true, false] {
            let failed =
                server.fail("vault_move", json!({ "path": from, "to": to, "dry_run": dry_run }));
            assert!(
                ["INVALID_ARGUMENT", "PATH_NOT_ALLOWED"]
                    .contains(&failed["code"].as_str().unwrap()),
                "{from} {to}: {failed}"
            );
        }
    }
}

/// Thousands of links of one name, and in one line.
#[test]
fn many_links_of_one_name_or_in_one_line_take_no_longer_each() {
    let index = |n: usize| {
        (0..10).map(|m| format!("[t](../s{}/index.md)\n", (n * 7 + m) % 500)).collect::<String>()
    };
    let many: Vec<(String, String)> =
        (0..500).map(|n| (format!("docs/s{n}/index.md"), index(n))).collect();
    let line = "[[a]] ".repeat(30_000);
    let nodes: Vec<String> =
        (0..8_000).map(|n| format!(r#"{{"id":"{n}","type":"file","file":"a.md"}}"#)).collect();
    let canvas = format!("{{\"nodes\":[{}]}}", nodes.join(","));
    let mut files: Vec<(&str, &str)> =
        many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.extend([("a.md", ""), ("line.md", line.as_str()), ("c.canvas", canvas.as_str())]);
    let folder = vault(&files);
    let server = serve(&folder);
    let started = std::time::Instant::now();
    assert_eq!(server.call("vault_links", json!({ "path": "docs/s3/index.md" }))["total"], 10);
    assert_eq!(server.call("vault_links", json!({ "path": "a.md" }))["total"], 38_000);
    assert_eq!(
        server.call("vault_move", json!({ "path": "docs", "to": "pages", "dry_run": true }))["links_updated"],
        0
    );
    server.call(
        "vault_move",
        json!({ "path": "a.md", "to": "b.md", "update_links": false, "dry_run": true }),
    );
    assert_eq!(server.call("vault_delete", json!({ "paths": ["a.md"] }))["broken_links"], 38_000);
    assert!(
        !crate::support::thorough() || started.elapsed() < std::time::Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
}

/// Notes of other toolsets stay what they are.
#[cfg(feature = "default")]
#[test]
fn a_moved_accomplishment_and_a_moved_page_of_the_wiki_stay_what_they_are() {
    let folder = vault(&[("a.md", "")]);
    let settings = [
        ("TOOLSETS", "vault,notes,accomplishments"),
        ("ACCOMPLISHMENTS_FOLDER", "plan/items"),
        ("DEFAULT_CANVAS", "plan/main.canvas"),
    ];
    let server = Server::with(&folder.vault(), &settings);
    let create = |title: &str, needs: &[&str]| {
        let data = json!({ "title": title, "effort": "Infra", "depends_on": needs });
        server.call("manage_accomplishment", json!({ "operation": "create", "data": data }));
    };
    create("First", &[]);
    create("Second", &["ACC-001"]);
    let before = text(&folder, "plan/main.canvas");
    server.call(
        "vault_move",
        json!({ "path": "plan/items/Second.md", "to": "plan/items/later/Second step.md" }),
    );
    let expected = before.replace("plan/items/Second.md", "plan/items/later/Second step.md");
    assert_eq!(text(&folder, "plan/main.canvas"), expected, "ids, edges and positions stay");
    assert_eq!(
        server.call("get_accomplishment", json!({ "id": "ACC-002" }))["depends_on"],
        json!(["ACC-001"])
    );
    // The wiki of toolset `agent`: its index names the page.
    let mut init = std::process::Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"));
    assert!(
        init.args(["init-wiki", "--state-dir", "none"])
            .env("VAULT_PATH", folder.vault())
            .status()
            .unwrap()
            .success()
    );
    let put = |path: &str, text: &str| std::fs::write(folder.vault().join(path), text).unwrap();
    std::fs::create_dir_all(folder.vault().join("work/wiki/entities")).unwrap();
    put("work/wiki/entities/Boiler.md", "---\ntype: entity\ntitle: Boiler\n---\n# Boiler\n");
    let index = text(&folder, "work/wiki/index.md")
        + "- [[work/wiki/entities/Boiler|Boiler]]\n- [[Boiler]]\n";
    put("work/wiki/index.md", &index);
    server.call("vault_move", json!({ "path": "work/wiki/entities/Boiler.md", "to": "work/wiki/entities/parts/Boiler.md" }));
    let expected = index.replace("work/wiki/entities/Boiler|", "Boiler|");
    assert_eq!(text(&folder, "work/wiki/index.md"), expected);
}

#[test]
fn links_to_a_part_of_the_note_itself_are_links() {
    let folder = Folder::with(&[
        ("a/n.md", b"# x\n[[#x]] [t](#x)\n"),
        ("a/a/n.md", b"another\n"),
        ("lonely.md", b"[[#y]]\n"),
    ]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    for show in ["outgoing", "backlinks"] {
        let links = server.call("vault_links", json!({ "path": "a/n.md", "show": show }));
        assert_eq!(links["total"], 2, "{show}: {links}");
        for link in links["links"].as_array().unwrap() {
            assert_eq!(
                (&link["target"], &link["resolved"], &link["subpath"]),
                (&json!("#x"), &json!("a/n.md"), &json!("#x"))
            );
        }
    }
    let orphans = server.call("vault_links", json!({ "show": "orphans" })).to_string();
    assert!(orphans.contains("lonely.md"), "a link to itself is none from another: {orphans}");
    let deadends = server.call("vault_links", json!({ "show": "deadends" })).to_string();
    assert!(deadends.contains("lonely.md"), "nor one to another: {deadends}");
}
