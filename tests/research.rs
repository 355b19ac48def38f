//! Toolset `research`: the exchange that ChatGPT's deep research has with a server, and the page
//! that its citations lead to.

use crate::support::login::{register, tokens};
use crate::support::{Folder, Server};
use serde_json::{Value, json};

fn folder() -> Folder {
    Folder::with(&[
        (
            "Heating/Boiler & co.md",
            "---\ntitle: The boiler\ntags: [heat]\n---\n# Decision\nWe decided to replace the \
             boiler in spring.\n"
                .as_bytes(),
        ),
        ("other.md", b"nothing of it\n"),
    ])
}

/// Over OAuth, by tools with these names alone: the documented shape, with ids that can be fetched
/// and urls that can be cited.
#[test]
fn a_question_is_searched_and_its_notes_are_fetched_and_cited() {
    let folder = folder();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "research")]);
    let (token, _) = tokens(&server, &register(&server));
    let call = |name: &str, arguments: Value| -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
        let result = server.post_with(&token, "", &message).json()["result"].clone();
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(
            (result["content"].as_array().unwrap().len(), &text),
            (1, &result["structuredContent"])
        );
        text
    };
    let found = call("search", json!({ "query": "what did we decide about the boiler?" }));
    let first = &found["results"][0];
    assert_eq!(
        (first["id"].clone(), first["title"].clone()),
        (json!("Heating/Boiler & co.md"), json!("The boiler"))
    );
    assert!(first["text"].as_str().unwrap().contains("in spring"));
    let note = call("fetch", json!({ "id": first["id"] }));
    assert_eq!(note["text"].as_str().unwrap().as_bytes(), folder.read("Heating/Boiler & co.md"));
    assert_eq!(
        (note["url"].clone(), note["metadata"]["tags"].clone()),
        (first["url"].clone(), json!(["heat"]))
    );
    let path = note["url"].as_str().unwrap().strip_prefix("https://vault.example.com").unwrap();
    let page = server.get(path);
    assert_eq!(page.status, 200);
    assert!(
        page.text().contains(
            r#"href="obsidian://open?vault=vault&amp;file=Heating%2FBoiler%20%26%20co.md""#
        ),
        "{}",
        page.text()
    );
    // A picture of that name cannot be fetched; of a long note each part names the next.
    let long = "A line about the pump.\n".repeat(10_000);
    std::fs::write(folder.vault().join("pump.md"), &long).unwrap();
    std::fs::write(folder.vault().join("pump.png"), b"\x89PNG").unwrap();
    let results = call("search", json!({ "query": "pump" }))["results"].clone();
    assert_eq!((results.as_array().unwrap().len(), &results[0]["id"]), (1, &json!("pump.md")));
    let (mut id, mut text) = (json!("pump.md"), String::new());
    while !id.is_null() {
        let part = call("fetch", json!({ "id": id }));
        text.push_str(part["text"].as_str().unwrap());
        id = part["metadata"]["next_id"].clone();
    }
    assert!(text == long, "{} {}", text.len(), long.len());
    for part in ["9", "4294967295", "99999999999999999999"] {
        server.fail("fetch", json!({ "id": format!("pump.md#part-{part}") }));
    }
    assert_eq!(
        server.fail("fetch", json!({ "id": ".obsidian/app.json" }))["code"],
        "PATH_NOT_ALLOWED"
    );
}

#[test]
fn the_page_that_opens_obsidian_shows_its_address_and_runs_nothing() {
    let folder = folder();
    let server = Server::on(&folder.vault());
    let page = server.get("/open?vault=%22%3E%3Cscript%3E&file=%3Cb%3E%22x.md").text();
    assert!(
        !page.contains("<script") && !page.contains("<b>") && page.contains("&lt;b&gt;"),
        "{page}"
    );
    for path in ["/open", "/open?vault=x", "/open?file=%zz&vault=x"] {
        assert_eq!(server.get(path).status, 400, "{path}");
    }
}

#[test]
fn without_a_server_the_url_is_that_of_obsidian() {
    let folder = folder();
    let mut client = crate::stdio::Client::with(&folder, &[("TOOLSETS", "research")]);
    client.shake_hands();
    let answer = client.ask(
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "search", "arguments": { "query": "boiler" } } }),
    );
    let url =
        answer["result"]["structuredContent"]["results"][0]["url"].as_str().unwrap().to_owned();
    assert_eq!(url, "obsidian://open?vault=vault&file=Heating%2FBoiler%20%26%20co.md");
}

/// As notes write it, and as clients copy it.
#[test]
fn a_link_or_citation_finds_the_note_of_its_key() {
    let folder = Folder::with(&[
        ("@jones2002.md", b"On pumps.\n"),
        ("Citing.md", b"[[@jones2002]], [@jones2002; p. 3]\n"),
    ]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "research")]);
    for query in ["[[@jones2002]]", "[@jones2002]", "@jones2002", "What does [[@jones2002]] say?"] {
        assert_eq!(
            server.call("search", json!({ "query": query }))["results"][0]["id"],
            "@jones2002.md",
            "{query}"
        );
    }
}
