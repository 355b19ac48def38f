//! Grants by folder: an answer under a grant equals the answer of a vault that holds only the
//! folders of the grant.

use crate::grant_choice::called;
use crate::support::{Folder, Server};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

pub(crate) const LIMITED: &str = "a-token-for-some-folders";

pub(crate) fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Numbers by chance that are the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    fn of<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }
}

const FOLDERS: [&str; 9] = [
    "",
    "Projects/",
    "Projects/Alpha/",
    "Projects/Beta/",
    "Projects/Beta/deep/",
    "Journal/",
    "Private/",
    "Private/Deep/",
    "Inbox/",
];
const WORDS: [&str; 14] = [
    "boiler",
    "heating",
    "garden",
    "kettle",
    "summer",
    "invoice",
    "Überweisung",
    "plan",
    "secret",
    "water",
    "a",
    "the",
    "north",
    "pump",
];

/// Notes whose names repeat in several folders, with links, tags, tasks, properties and text by
/// chance.
pub(crate) fn files(seed: u64) -> BTreeMap<String, String> {
    let mut chance = Chance(seed);
    let names = ["Heating", "Plan", "note one", "2026-11-20", "Kettle", "Map", "ungewöhnlich"];
    let mut files = BTreeMap::new();
    for folder in FOLDERS {
        for _ in 0..5 {
            let name = chance.of(&names);
            let mut text = String::new();
            if chance.below(2) == 0 {
                text += &format!(
                    "---\ntags: [{}, {}/sub]\naliases: [{} alias]\nstatus: {}\n---\n",
                    chance.of(&WORDS),
                    chance.of(&WORDS),
                    chance.of(&WORDS),
                    chance.of(&["open", "done"])
                );
            }
            text += &format!("# {}\n\n", chance.of(&WORDS));
            for _ in 0..chance.below(12) {
                text += &match chance.below(7) {
                    0 => format!(
                        "- [{}] {} #{} 📅 2026-11-2{}\n",
                        chance.of(&[" ", "x"]),
                        chance.of(&WORDS),
                        chance.of(&WORDS),
                        chance.below(9)
                    ),
                    1 => format!(
                        "See [[{}]] and [[{}{}|that]].\n",
                        chance.of(&names),
                        chance.of(&FOLDERS),
                        chance.of(&names)
                    ),
                    2 => format!(
                        "[text](../{}{}.md)\n",
                        chance.of(&FOLDERS),
                        chance.of(&names).replace(' ', "%20")
                    ),
                    3 => format!("## {}\n", chance.of(&WORDS)),
                    4 => format!("A line. ^b{}\n", chance.below(3)),
                    _ => format!(
                        "{} {} {} {}.\n",
                        chance.of(&WORDS),
                        chance.of(&WORDS),
                        chance.of(&WORDS),
                        chance.of(&WORDS)
                    ),
                };
            }
            files.insert(format!("{folder}{name}.md"), text);
        }
        files.insert(format!("{folder}image.png"), "png".into());
    }
    files
}

pub(crate) fn put(root: &Path, files: &BTreeMap<String, String>, wanted: impl Fn(&str) -> bool) {
    for (number, (path, text)) in files.iter().enumerate().filter(|(_, (path, _))| wanted(path)) {
        let on_disk = root.join(path);
        fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
        fs::write(&on_disk, text).unwrap();
        let modified =
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000 + number as u64 * 100);
        fs::File::options().write(true).open(&on_disk).unwrap().set_modified(modified).unwrap();
    }
}

/// Two servers: one with a vault of which a token covers a part, one with a vault that holds just
/// that.
struct Pair {
    whole: (Folder, Server),
    part: (Folder, Server),
    /// Answers that were compared, by tool or method, and how many of them were no errors.
    compared: BTreeMap<String, (usize, usize)>,
}

impl Pair {
    fn new(seed: u64, grant: &str, hide: &str, covers: impl Fn(&str) -> bool) -> Pair {
        let files = files(seed);
        let hash = |secret: &str| vault_sync_mcp::secret::SecretHash::of(secret).to_hex();
        let serve = |tokens: String, hide: &str, covers: &dyn Fn(&str) -> bool| {
            let folder = Folder::new();
            fs::create_dir_all(folder.vault()).unwrap();
            put(&folder.vault(), &files, covers);
            let state = folder.path().join("state");
            let settings = [
                ("TOOLSETS", "vault,notes,context,research"),
                ("API_TOKENS", &tokens),
                ("HIDE", hide),
                ("STATE_DIR", state.to_str().unwrap()),
                ("TIME_ZONE", "UTC"),
            ];
            let server = Server::with(&folder.vault(), &settings);
            (folder, server)
        };
        let whole = serve(format!("limited:{}:{grant}", hash(LIMITED)), hide, &|_| true);
        let rights = if grant.contains("write") { "" } else { ":read" };
        let part = serve(format!("limited:{}{rights}", hash(LIMITED)), "", &covers);
        Pair { whole, part, compared: BTreeMap::new() }
    }

    /// Asks both the same, and compares.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let answers = [&self.whole.1, &self.part.1].map(|server| {
            let mut answer = server.post_with(LIMITED, "", &request(method, params.clone())).json();
            // Ids of kept versions are by chance; the text of a result is its structure once more.
            if let Some(result) = answer["result"]
                .as_object_mut()
                .filter(|result| result.contains_key("structuredContent"))
            {
                result.remove("content");
                strip(&mut result["structuredContent"]);
            }
            answer
        });
        assert_eq!(answers[0], answers[1], "{method} {params}");
        let about =
            self.compared.entry(params["name"].as_str().unwrap_or(method).to_owned()).or_default();
        about.0 += 1;
        about.1 += usize::from(
            answers[0].get("error").is_none() && answers[0]["result"]["isError"] != true,
        );
        answers[0].clone()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))["result"]
            ["structuredContent"]
            .clone()
    }

    /// The same, page by page.
    fn pages(&mut self, tool: &str, mut arguments: Value) {
        for _ in 0..50 {
            let page = self.call(tool, arguments.clone());
            let Some(cursor) = page["next_cursor"].as_str() else { return };
            arguments["cursor"] = cursor.into();
        }
    }
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for name in ["previous", "version", "at", "modified"] {
                if members.get(name).is_some_and(Value::is_string) {
                    members.insert(name.into(), "by chance".into());
                }
            }
            members.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// A grant, what is hidden from every login, and the paths that are left.
type Case = (&'static str, &'static str, fn(&str) -> bool);

pub(crate) fn grants() -> [Case; 4] {
    [
        ("read=Projects/Alpha/;Journal/:write=Inbox/", "", |path| {
            ["Projects/Alpha/", "Journal/", "Inbox/"].iter().any(|folder| path.starts_with(folder))
        }),
        ("write=Projects/", "", |path| path.starts_with("Projects/")),
        ("read=Private/Deep/", "", |path| path.starts_with("Private/Deep/")),
        ("read:write=Inbox/;Journal/", "Private/;Projects/**/deep;*.png", |path| {
            !path.starts_with("Private/") && !path.contains("/deep/") && !path.ends_with(".png")
        }),
    ]
}

#[test]
fn reading_under_a_grant_is_reading_a_vault_of_those_folders() {
    let mut compared = BTreeMap::new();
    for (number, (grant, hide, covers)) in grants().into_iter().enumerate() {
        let mut pair = Pair::new(7 + number as u64, grant, hide, covers);
        pair.ask("tools/list", json!({}));
        pair.ask("prompts/list", json!({}));
        pair.ask("resources/templates/list", json!({}));
        let listed = pair.ask("resources/list", json!({}));
        assert!(!listed["result"]["resources"].as_array().unwrap().is_empty());
        pair.pages("vault_list_all", json!({ "limit": 7 }));
        let paths: Vec<String> = files(7 + number as u64).into_keys().collect();
        for path in &paths {
            let name = path.rsplit('/').next().unwrap().trim_end_matches(".md");
            for (tool, arguments) in [
                ("vault_read", json!({ "path": path })),
                ("vault_read", json!({ "path": format!("[[{name}]]") })),
                ("vault_read_notes", json!({ "paths": [path, name], "view": "outline" })),
                ("vault_read_notes", json!({ "paths": [path], "view": "properties" })),
                ("vault_links", json!({ "path": path, "show": "backlinks" })),
                ("vault_links", json!({ "path": path, "show": "outgoing" })),
                ("vault_history", json!({ "path": path })),
                ("fetch", json!({ "id": path })),
                ("fetch_specific_file", json!({ "file_path": path })),
            ] {
                pair.call(tool, arguments);
            }
            pair.ask("resources/read", json!({ "uri": format!("vault:///{}", path.replace(' ', "%20").replace('ö', "%C3%B6")) }));
            let start: String = path.chars().take(path.chars().count() / 2).collect();
            pair.ask(
                "completion/complete",
                json!({ "ref": { "type": "ref/resource", "uri": "vault:///{path}" }, "argument": { "name": "path", "value": start } }),
            );
        }
        for folder in FOLDERS {
            pair.call("vault_list", json!({ "path": folder }));
            pair.call("vault_list_all", json!({ "path": folder }));
            pair.call("vault_search", json!({ "query": "boiler", "path": folder }));
            pair.pages("vault_tasks", json!({ "path": folder }));
            pair.call("vault_query", json!({ "where": "file.name", "path": folder, "select": ["file.tags", "file.links"] }));
        }
        for word in WORDS {
            for query in [
                word.to_owned(),
                format!("{word} plan"),
                format!("where is the {word} of the garden?"),
                format!("tag:#{word}"),
                format!("file:{word}"),
                format!("[status:open] {word}"),
                word[..word.len() / 2 + 1].to_owned() + "x",
            ] {
                pair.pages("vault_search", json!({ "query": query, "max_results": 4 }));
            }
            pair.call(
                "vault_search",
                json!({ "query": word, "snippets": "passages", "sort": "modified" }),
            );
            pair.call("search", json!({ "query": word }));
            pair.call("search_vault_content", json!({ "search_pattern": word }));
            pair.call("vault_list_all", json!({ "tag": word }));
            pair.call("vault_tasks", json!({ "tag": word }));
            pair.pages("vault_query", json!({ "where": format!("file.hasTag(\"{word}\") || file.hasLink(\"{word}\")"), "limit": 3 }));
            pair.call("fetch_matching_files", json!({ "tags": [word] }));
        }
        pair.call("fetch_frontmatter_index", json!({}));
        for count in
            ["tag", "property", "folder", "value:file.backlinks", "value:file.links.length"]
        {
            pair.call("vault_query", json!({ "count": count }));
        }
        pair.ask("resources/read", json!({ "uri": "config://vault-info" }));
        pair.ask(
            "prompts/get",
            json!({ "name": "review_day", "arguments": { "date": "2026-09-21" } }),
        );
        for show in ["unresolved", "orphans", "deadends", "ambiguous"] {
            pair.pages("vault_links", json!({ "show": show }));
        }
        for (what, (all, good)) in pair.compared {
            let sum: &mut (usize, usize) = compared.entry(what).or_default();
            *sum = (sum.0 + all, sum.1 + good);
        }
    }
    println!("{compared:?}");
    assert!(compared.values().map(|(all, _)| all).sum::<usize>() > 2_900);
    assert!(
        compared.iter().all(|(_, (all, good))| good * 10 > *all),
        "answers and not only errors were compared"
    );
}

/// All files of a vault, without the trash.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let on_disk = entry.unwrap().path();
            let name = on_disk.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if on_disk.is_dir() && !name.starts_with('.') {
                open.push(on_disk);
            } else if !name.starts_with('.') {
                found.insert(name, fs::read_to_string(&on_disk).unwrap());
            }
        }
    }
    found
}

#[test]
fn writing_under_a_grant_changes_those_folders_as_if_there_were_no_others() {
    let (grant, hide, covers) = grants()[1];
    let mut pair = Pair::new(23, grant, hide, covers);
    let before = tree(&pair.whole.0.vault());
    let notes: Vec<String> =
        before.keys().filter(|path| covers(path) && path.ends_with(".md")).cloned().collect();
    for (number, path) in notes.iter().enumerate() {
        pair.call(
            "vault_insert",
            json!({ "path": path, "text": "an inserted line", "where": "end" }),
        );
        pair.call("vault_set_properties", json!({ "paths": [path], "set": { "number": number } }));
        pair.call(
            "vault_edit",
            json!({ "path": path, "old_text": "inserted", "new_text": "edited" }),
        );
        pair.call("vault_write", json!({ "path": format!("Projects/New/{number}.md"), "content": format!("[[{path}]]") }));
        pair.call(
            "vault_move",
            json!({ "path": path, "to": format!("Projects/Moved/{number}.md"), "dry_run": true }),
        );
        pair.call(
            "vault_move",
            json!({ "path": path, "to": format!("Projects/Moved/{number}.md") }),
        );
    }
    pair.call("vault_rename_tag", json!({ "path": "boiler", "to": "kettle" }));
    pair.call("vault_move", json!({ "path": "Projects/Moved", "to": "Projects/Again" }));
    pair.call("vault_delete", json!({ "paths": ["Projects/Again/0.md"] }));
    pair.call("vault_read", json!({ "path": "Projects/Again/1.md" }));
    let (whole, part) = (tree(&pair.whole.0.vault()), tree(&pair.part.0.vault()));
    let covered: BTreeMap<String, String> = whole
        .iter()
        .filter(|(path, _)| covers(path))
        .map(|(path, text)| (path.clone(), text.clone()))
        .collect();
    assert_eq!(covered, part);
    let rest = |tree: &BTreeMap<String, String>| {
        tree.iter()
            .filter(|(path, _)| !covers(path))
            .map(|(path, text)| (path.clone(), text.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(rest(&whole), rest(&before), "nothing else has changed");
    println!("{:?}", pair.compared);
    assert!(
        pair.compared.values().all(|(all, good)| good * 2 > *all),
        "answers and not only errors were compared"
    );
}

#[test]
fn what_a_grant_does_not_let_a_login_change_stays() {
    let (grant, hide, covers) = grants()[0];
    let pair = Pair::new(31, grant, hide, covers);
    let (folder, server) = &pair.whole;
    fs::write(folder.vault().join("Inbox/Target.md"), "x").unwrap();
    fs::write(folder.vault().join("Journal/Source.md"), "See [[Inbox/Target]] #mine.").unwrap();
    let before = tree(&folder.vault());
    let call = |tool: &str, arguments: Value| called(server, tool, arguments);
    for (tool, arguments) in [
        ("vault_write", json!({ "path": "Journal/Source.md", "content": "x" })),
        ("vault_write", json!({ "path": "Journal/new/x.md", "content": "x" })),
        ("vault_write", json!({ "path": "Private/x.md", "content": "x" })),
        ("vault_write", json!({ "path": "Private/Heating.md", "content": "x" })),
        ("vault_write", json!({ "path": "x.md", "content": "x" })),
        ("vault_edit", json!({ "path": "Journal/Source.md", "old_text": "See", "new_text": "x" })),
        ("vault_insert", json!({ "path": "Journal/Source.md", "text": "x" })),
        (
            "vault_set_properties",
            json!({ "paths": ["Inbox/Target.md", "Journal/Source.md"], "set": { "a": 1 } }),
        ),
        ("vault_move", json!({ "path": "Inbox/Target.md", "to": "Journal/Target.md" })),
        ("vault_move", json!({ "path": "Inbox/Target.md", "to": "Private/Target.md" })),
        ("vault_move", json!({ "path": "Journal/Source.md", "to": "Inbox/Source.md" })),
        ("vault_move", json!({ "path": "Journal", "to": "Inbox/Journal" })),
        ("vault_move", json!({ "path": "Projects", "to": "Inbox/Projects" })),
        ("vault_delete", json!({ "paths": ["Journal/Source.md"] })),
    ] {
        let result = call(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        assert_eq!(tree(&folder.vault()), before, "{tool} {arguments}");
    }
    let moved = call("vault_move", json!({ "path": "Inbox/Target.md", "to": "Inbox/Renamed.md" }))
        ["structuredContent"]
        .clone();
    assert_eq!(moved["left_alone"][0]["reason"], "this login may not change it", "{moved}");
    assert_eq!(moved["links_updated"], 0);
    let tag =
        call("vault_rename_tag", json!({ "path": "mine", "to": "yours" }))["structuredContent"]
            .clone();
    assert_eq!(
        (tag["tags_updated"].clone(), tag["left_alone"][0]["path"].clone()),
        (json!(0), json!("Journal/Source.md")),
        "{tag}"
    );
}

#[test]
fn a_login_is_notified_only_of_what_its_grant_covers() {
    let (grant, hide, covers) = grants()[0];
    let pair = Pair::new(41, grant, hide, covers);
    let (folder, server) = &pair.whole;
    let session = server.session(LIMITED, "2025-06-18");
    let mut stream = server.connect();
    stream.send(crate::support::stream_request(LIMITED, &session, "text/event-stream"));
    assert_eq!(stream.headless().status, 200);
    for folder_uri in ["vault:///Inbox", "vault:///Private", "vault:///Inbox/heard.md"] {
        server.post_with(
            LIMITED,
            &format!("Mcp-Session-Id: {session}"),
            &request("resources/subscribe", json!({ "uri": folder_uri })),
        );
    }
    fs::write(folder.vault().join("Private/unheard.md"), "x").unwrap();
    fs::remove_file(folder.vault().join("image.png")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    fs::write(folder.vault().join("Inbox/heard.md"), "x").unwrap();
    let events: Vec<Value> =
        (0..3).map(|_| serde_json::from_str(&stream.event().unwrap()).unwrap()).collect();
    let count = |method: &str| events.iter().filter(|event| event["method"] == method).count();
    assert_eq!(count("notifications/resources/list_changed"), 1, "{events:?}");
    assert!(events.iter().all(|event| !event.to_string().contains("Private")), "{events:?}");
}

/// Of the parts that grants cover so many are kept; one with a listener stays.
#[test]
fn a_listener_is_notified_while_many_other_grants_are_used() {
    let hash = |secret: &str| vault_sync_mcp::secret::SecretHash::of(secret).to_hex();
    let folder = Folder::with(&[("Mine/a.md", b"0")]);
    let mut tokens = format!("me:{}:read=Mine/", hash(LIMITED));
    for number in 0..12 {
        fs::create_dir(folder.vault().join(format!("g{number}"))).unwrap();
        tokens += &format!(",g{number}:{}:read=g{number}/", hash(&format!("g{number}")));
    }
    let server = Server::with(&folder.vault(), &[("API_TOKENS", &tokens)]);
    let session = server.session(LIMITED, "2025-06-18");
    let mut stream = server.connect();
    stream.send(crate::support::stream_request(LIMITED, &session, "text/event-stream"));
    assert_eq!(stream.headless().status, 200);
    server.post_with(
        LIMITED,
        &format!("Mcp-Session-Id: {session}"),
        &request("resources/subscribe", json!({ "uri": "vault:///Mine/a.md" })),
    );
    for round in 1..4 {
        for number in 0..12 {
            server.post_with(
                &format!("g{number}"),
                "",
                &request("tools/call", json!({ "name": "vault_list", "arguments": {} })),
            );
        }
        fs::write(folder.vault().join("Mine/a.md"), format!("{round}")).unwrap();
        assert!(stream.event().unwrap().contains("resources/updated"), "round {round}");
    }
}
