//! Which words of a note are the words that were asked for: forms, stop words, phrases, parts of
//! longer words.

use crate::search_language::paths;
use crate::support::{Folder, Server, eventually};
use serde_json::json;

#[test]
fn a_note_of_that_name_is_found_although_its_text_has_the_word_only_inside_of_others() {
    let folder = Folder::with(&[
        ("Graph.md", b"See the subgraph and the hypergraph." as &[u8]),
        ("Network.md", b"One graph and a network."),
        ("Plural.md", b"many graphs in a row, hypergraph"),
        ("Hypergraph.md", b"hypergraph"),
    ]);
    let server = Server::on(&folder.vault());
    let found = server.call("vault_search", json!({ "query": "graphs" }));
    assert_eq!(
        (&found["total_matches"], &found["partial_matches"]),
        (&json!(1), &json!(2)),
        "{found}"
    );
    assert!(paths(&found).contains(&"Graph.md"), "{found}");
}

#[test]
fn occurrences_inside_of_other_words_do_not_displace_the_word_itself() {
    let long = "We said again and again in the main station in the rain: again.\n".repeat(40);
    let meeting =
        format!("{long}\n## Decision\nThe AI ethics committee decided to stop the project.\n");
    let ethics = b"Ethics of war. Ethics of work. The chair of ethics." as &[u8];
    let folder = Folder::with(&[("Meeting.md", meeting.as_bytes()), ("Ethics.md", ethics)]);
    let server = Server::on(&folder.vault());
    let found = server.call("vault_search", json!({ "query": "AI ethics committee decision" }));
    assert_eq!(paths(&found), ["Meeting.md", "Ethics.md"], "{found}");
}

#[test]
fn words_that_only_begin_alike_are_not_forms_of_each_other() {
    let folder = Folder::with(&[
        ("Car.md", b"parked" as &[u8]),
        ("Luggage.md", b"What I carry on a flight: one bag."),
        ("Early.md", b"dawn"),
    ]);
    let server = Server::on(&folder.vault());
    assert_eq!(
        paths(&server.call("vault_search", json!({ "query": "carry on" })))[0],
        "Luggage.md"
    );
    let found = server.call("vault_search", json!({ "query": "carried" }));
    assert_eq!(
        (&found["partial_matches"], paths(&found)),
        (&json!(1), vec!["Luggage.md"]),
        "{found}"
    );
}

#[test]
fn a_phrase_may_have_quotes_of_another_kind() {
    let folder = Folder::with(&[
        ("a.md", "Er sagte „guten Morgen“ zu mir".as_bytes()),
        ("b.md", "Er sagte zu mir: guten Morgen, sagte er".as_bytes()),
    ]);
    let server = Server::on(&folder.vault());
    let found =
        server.call("vault_search", json!({ "query": "\"Er sagte „guten Morgen“ zu mir\"" }));
    assert_eq!((&found["total_matches"], paths(&found)), (&json!(1), vec!["a.md"]), "{found}");
    let total = |query: &str| {
        server.call("vault_search", json!({ "query": query }))["total_matches"].clone()
    };
    assert_eq!(
        (total("„guten Morgen“"), total("„guten Morgen“ \"sagte er\"")),
        (2.into(), 1.into())
    );
}

#[test]
fn stop_words_are_left_out_of_alternatives_too() {
    let folder = Folder::with(&[
        ("rename.md", b"Rename your vault: settings." as &[u8]),
        ("move.md", b"Move the vault."),
        ("who.md", b"The Who: a band."),
    ]);
    let server = Server::on(&folder.vault());
    let total = |query: &str| {
        server.call("vault_search", json!({ "query": query }))["total_matches"].clone()
    };
    assert_eq!(total("how to rename a vault OR how to move a vault"), 2);
    assert_eq!(total("(what is a vault) (rename OR how)"), 1);
    assert_eq!(
        (total("(\"who\" OR nothing)"), total("(\"who\") band"), total("ignore-case:\"who\" band")),
        (1.into(), 1.into(), 1.into())
    );
}

#[test]
fn a_task_goes_on_to_the_end_of_its_item() {
    let folder = Folder::with(&[(
        "a.md",
        b"- [ ] call Mum\n  about the gift\n- [x] done\n\nno gift card" as &[u8],
    )]);
    let server = Server::on(&folder.vault());
    let total = |query: &str| {
        server.call("vault_search", json!({ "query": query }))["total_matches"].clone()
    };
    for (query, expected) in [
        ("task:gift", 1),
        ("task-todo:(call gift)", 1),
        ("task-done:gift", 0),
        ("task:card", 0),
        ("line:(task:call)", 1),
    ] {
        assert_eq!(total(query), expected, "{query}");
    }
}

#[test]
fn a_property_is_found_by_a_link_in_quotes() {
    let folder = Folder::with(&[
        ("a.md", b"---\nauthor: \"[[Jane Doe]]\"\n---\n" as &[u8]),
        ("b.md", b"---\nauthor: Joe\n---\nJane Doe"),
    ]);
    let server = Server::on(&folder.vault());
    for query in [
        "[author:\"[[Jane Doe]]\"]",
        "[author: \"[[Jane Doe|Jane]]\"]",
        "[author:\"[[Jane Doe]]\" OR \"[[Ann]]\"]",
        "[author:(\"[[Jane Doe]]\" OR \"[[Ann]]\")]",
        "[author:Ann OR \"[[Jane Doe]]\" ]",
        "[author:Jane Doe]",
    ] {
        assert_eq!(
            paths(&server.call("vault_search", json!({ "query": query }))),
            ["a.md"],
            "{query}"
        );
    }
}

#[test]
fn a_result_that_is_found_by_its_path_is_shown_so() {
    let folder = Folder::with(&[
        ("Evaluation/Recall.md", b"Nothing here." as &[u8]),
        ("Other.md", b"We evaluate it."),
    ]);
    let server = Server::on(&folder.vault());
    let found = server.call("vault_search", json!({ "query": "evaluates" }));
    let hit = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .find(|hit| hit["path"] == "Evaluation/Recall.md")
        .unwrap();
    assert_eq!(hit["match_type"], "filename", "{found}");
}

/// How rare a word is decides the order, and must not be as old as the index of a large vault may
/// be.
#[test]
fn in_a_small_vault_each_change_counts_for_the_order() {
    let note = |text: &str| text.as_bytes().to_vec();
    let files: Vec<(String, Vec<u8>)> = (0..8)
        .map(|number| (format!("{number}.md"), note(["boiler", "pump"][number % 2])))
        .collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_slice())).collect();
    let folder = Folder::with(&files);
    let server = Server::on(&folder.vault());
    let ask = |server: &Server| {
        server.call("vault_search", json!({ "query": "boiler pump" }))["results"].clone()
    };
    ask(&server);
    for number in [1, 3, 5] {
        std::fs::write(folder.vault().join(format!("{number}.md")), "boiler").unwrap();
    }
    let fresh = Server::on(&folder.vault());
    eventually("the order is that of a server that has just started", || {
        ask(&server) == ask(&fresh)
    });
}
