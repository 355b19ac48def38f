//! `vault_query`: expressions over notes, bases, and counts.

use crate::support::{Folder, Server};
use serde_json::{Value, json};

const NOTES: [(&str, &[u8]); 7] = [
    ("Projects/Boiler.md", b"---\nstatus: active\ndue: 2026-01-05\nprice: 120.5\nrating: 4\nowner: \"[[Ada]]\"\ntags: [home/heat]\n---\nSee [[Ada]] #urgent\n"),
    ("Projects/Roof.md", b"---\nstatus: active\ndue: 2099-01-05\nprice: 80\ndone: true\ntags: [home]\n---\n![[roof.png]]\n"),
    ("Projects/Garden/Fence.md", b"---\nstatus: done\nprice: 20\ndone: false\n---\n"),
    ("People/Ada.md", b"---\naliases: [Countess]\nborn: 1815-12-10\n---\n# Ada\n"),
    ("Plain.md", b"no properties\n"),
    ("Books.base", b"formulas:\n  half: price / 2\n  label: 'status + \": \" + formula.half.toString()'\nsummaries:\n  spread: values.sort()[values.length - 1] - values.sort()[0]\nfilters:\n  and:\n    - file.inFolder(\"Projects\")\n    - not:\n        - status == \"dropped\"\nviews:\n  - type: table\n    name: All\n    order: [file.name, price, formula.half, formula.label]\n    sort:\n      - property: price\n        direction: DESC\n    summaries:\n      price: Sum\n      formula.half: spread\n    rowHeight: tall\n  - type: cards\n    name: Active\n    filters: status == \"active\"\n    groupBy:\n      property: done\n      direction: ASC\n    limit: 1\n    order: [file.name]\n"),
    ("Overview.md", b"# Overview\n\n```js\nnot a base\n```\n\n```base\nviews:\n  - type: table\n    filters: file.hasLink(this.file)\n```\n\n```base\nviews:\n  - type: table\n    name: Second\n    filters: 'file.ext == \"png\"'\n```\n[[Plain]]\n"),
];

fn server() -> (Folder, Server) {
    let folder = Folder::with(&NOTES);
    std::fs::write(folder.vault().join("roof.png"), b"png").unwrap();
    std::fs::write(folder.vault().join("People/Bob.md"), b"Reads [[Overview]].\n").unwrap();
    let server =
        Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes"), ("TIME_ZONE", "UTC")]);
    (folder, server)
}

/// The paths that a filter gives.
fn paths(server: &Server, condition: &str) -> Vec<String> {
    let answer = server.call("vault_query", json!({ "where": condition }));
    answer["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn filters_choose_notes_by_properties_tags_dates_folders_and_links() {
    let (_folder, server) = server();
    let (boiler, roof, fence, ada) =
        ("Projects/Boiler.md", "Projects/Roof.md", "Projects/Garden/Fence.md", "People/Ada.md");
    for (condition, expected) in [
        ("status == \"active\"", &[boiler, roof][..]),
        ("status == 'active' && due < today() + \"7d\"", &[boiler]),
        ("due", &[boiler, roof]),
        ("!status", &["Overview.md", ada, "People/Bob.md", "Plain.md"]),
        ("file.hasTag(\"home\")", &[boiler, roof]),
        ("file.hasTag(\"#HOME/heat\", \"nothing\")", &[boiler]),
        ("file.hasTag(\"urgent\") || done", &[boiler, roof]),
        ("file.inFolder(\"Projects\") && !file.inFolder(\"Projects/Garden\")", &[boiler, roof]),
        ("file.folder == \"Projects/Garden\"", &[fence]),
        ("file.folder == \"/\" && file.fullname.endsWith(\".md\")", &["Overview.md", "Plain.md"]),
        // What is missing is in no folder, and no part of a text.
        (
            "file.inFolder(missing) || file.name.contains(missing) || \
             file.path.startsWith(missing)",
            &[],
        ),
        ("file.hasLink(\"Ada\")", &[boiler]),
        ("owner == link(\"People/Ada\")", &[boiler]),
        ("owner == \"Ada\"", &[boiler]),
        (
            "max(price, missing) == null && status == \"done\" && (2.5).toFixed(0) == \"3\"",
            &[fence],
        ),
        ("file.name == \"Ada\" && born.year == 1815 && aliases.contains(\"Countess\")", &[ada]),
        ("price > 50 && price <= 120.5", &[boiler, roof]),
        ("price * 2 == 160", &[roof]),
        (
            "file.mtime > now() - \"1 hour\" && file.size > 0 && file.path == \"Plain.md\"",
            &["Plain.md"],
        ),
        ("/^proj/i.matches(file.path) && done == false", &[fence]),
        ("file.backlinks.length > 0", &["Overview.md", ada, "Plain.md"]),
        (
            "[price, 90].filter(value > 85).map(value + index).reduce(acc + value, 0) > 150",
            &[boiler],
        ),
        (
            "file.properties.status == \"done\" && file.properties.keys().contains(\"price\")",
            &[fence],
        ),
        ("born < \"1900-01-01\"", &[ada]),
        // What cannot be computed is not true.
        ("number(status) > 0", &[]),
        ("price.lower() == \"x\" || status == \"done\"", &[]),
        ("number(\"nan\") != 1 || true", &[]),
        (
            "file.name == \"Ada\" && (1 / 0).toFixed(2) == \"Infinity\" && (0 / 0).toFixed(1) == \
             \"NaN\"",
            &[ada],
        ),
        // As JavaScript rounds, of the number that the digits stand for.
        (
            "file.name == \"Ada\" && [(10.235).toFixed(2), (0.35).toFixed(1), \
             (2.5).toFixed(0)].join(\",\") == \"10.23,0.3,3\"",
            &[ada],
        ),
    ] {
        assert_eq!(paths(&server, condition), expected, "{condition}");
    }
}

#[test]
fn what_is_unknown_or_malformed_is_an_error_with_its_position() {
    let (_folder, server) = server();
    for (condition, words) in [
        ("status = \"active\"", &["character 8", "=="][..]),
        ("statsu() == 1", &["character 1", "no function statsu"]),
        ("status.lowr() == 1", &["character 8", "did you mean lower"]),
        ("file.tag == 1", &["character 6", "did you mean tags"]),
        ("formula.x == 1", &["no formula x"]),
        ("status == \"active", &["character 11", "quote"]),
        ("(status", &["character 8", ") is missing"]),
        ("status ==", &["ends too early"]),
        ("a && html(\"x\")", &["character 6", "html()", "not supported"]),
        ("/(?=a)/.matches(status)", &["character 1", "look-around"]),
        ("/(a)\\1/.matches(status)", &["character 1", "backreferences"]),
        ("1.round()", &["parentheses"]),
        ("+1", &["unexpected +"]),
        ("due < 2026-12-01", &["character 7", "needs quotes"]),
        ("{\"a\": 1}", &["objects"]),
        ("if(1)", &["2 to 3 arguments"]),
        ("file.hasLink(this)", &["`this`", "needs base"]),
        (&"(".repeat(5_000), &["nested deeper"]),
        (&"!".repeat(5_000), &["nested deeper"]),
        (&"a || ".repeat(1_900), &["nested deeper"]),
        (&"a".repeat(20_000), &["longer than"]),
    ] {
        let error = server.fail("vault_query", json!({ "where": condition }));
        let message = error["message"].as_str().unwrap();
        assert!(
            error["code"] == "QUERY_ERROR" && words.iter().all(|word| message.contains(word)),
            "{condition:.40}: {error}"
        );
    }
    assert_eq!(
        server.call("vault_query", json!({ "where": "statsu == 1" }))["unknown_properties"],
        json!(["statsu"])
    );
    assert!(
        server
            .call("vault_query", json!({ "where": "status == \"none\"" }))
            .get("unknown_properties")
            .is_none()
    );
    let query = json!({ "where": "status != activ", "select": ["prize", "STATUS", "file.name"], "sort": ["-due"] });
    assert_eq!(
        server.call("vault_query", query)["unknown_properties"],
        json!(["-due", "activ", "prize"])
    );
    // Only notes with another status have `due` and `owner`.
    let query = json!({ "where": "status == \"done\"", "select": ["due", "owner", "prize"] });
    assert_eq!(server.call("vault_query", query)["unknown_properties"], json!(["prize"]));
    for arguments in [
        json!({ "count": "words" }),
        json!({ "where": "a", "cursor": "x" }),
        json!({ "base": "Books.base", "view": "None" }),
    ] {
        assert_eq!(
            server.fail("vault_query", arguments.clone())["code"],
            "INVALID_ARGUMENT",
            "{arguments}"
        );
    }
}

/// Work that grows without end stops, and the server goes on.
#[test]
fn hostile_expressions_end() {
    let (folder, server) = server();
    let nested = format!("[{}].reduce([acc, acc], [1])", ["1"; 60].join(","));
    let started = std::time::Instant::now();
    for condition in [
        "\"x\".repeat(99999).split(\"\").map(\"x\".repeat(99999).split(\"\").map(value)).length > \
         0",
        "\"x\".repeat(1e9) == 1",
        "[1,2,3,4,5,6,7,8,9,10].reduce(acc + acc, \"xxxxxxxxxxxxxxxx\").repeat(99999)",
        "\"ab\".repeat(50000).split(\"\").unique().length",
        "\"x\".repeat(9999).split(\"\").slice(0,4).reduce(\"x\".repeat(9999).split(\"\").\
         reduce([acc],acc),1).length > 0",
        "\"x\".repeat(9999).split(\"\").reduce([acc, acc], \"\").toString()",
        "\"x\".repeat(99999).replace(\"x\", \"y\".repeat(99999))",
        "\"x\".repeat(99999).replace(/x/g, \"y\".repeat(99999))",
        "[1].reduce(\"x\".repeat(99999).split(\"\").map(acc).join(\"\"), \"x\".repeat(99999))",
        "[1].reduce(\"x\".repeat(99999).split(\"\").map(acc).flat().length, \
         \"x\".repeat(99999).split(\"\"))",
        "\"x\".repeat(99999).split(\"\").map(\"x\".repeat(99999 + index)).length",
        "\"x\".repeat(9999).split(\"\").map(/[ab]*a[ab]{300}c/.matches(\"ab\".repeat(30000) + \
         index)).length > 0",
        // Lists that have others many times.
        &format!("{nested} == {nested}"),
        &format!("{nested}.sort() == [{nested}, 1].sort()"),
        "\"a,\".repeat(1500).split(\",\").map(\"a,\".repeat(300).split(\",\").map(note)).length > \
         0",
        "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1].reduce(acc + acc, [\"x\".repeat(90000)]).sort().length \
         > 1",
        &format!("[{}].length > 0", vec!["/\\w{40}/"; 1000].join(",")),
    ] {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "vault_query", "arguments": { "where": condition } } });
        assert!(server.post(&message).status < 500, "{condition}");
    }
    let formulas = "formulas:\n  cell: \
                    '[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1].reduce([acc, acc], [])'\n";
    std::fs::write(folder.vault().join("Nested.base"), formulas).unwrap();
    let cells =
        server.call("vault_query", json!({ "base": "Nested.base", "select": ["formula.cell"], "sort": ["formula.cell"], "limit": 1 }));
    assert!(
        cells["rows"][0]["formula.cell"]["error"].as_str().unwrap().contains("more than"),
        "{cells}"
    );
    assert!(
        !crate::support::thorough() || started.elapsed() < std::time::Duration::from_secs(30),
        "{:?}",
        started.elapsed()
    );
    assert!(server.peak_kb() < 300_000, "{} kB", server.peak_kb());
    assert_eq!(paths(&server, "status == \"done\"").len(), 1);
}

#[test]
fn rows_have_what_is_selected_in_the_order_that_is_asked_for() {
    let (folder, server) = server();
    let answer = server.call(
        "vault_query",
        json!({ "where": "price", "select": ["price", "owner", "due", "file.tags", "file.name"], "sort": ["status", "price desc"] }),
    );
    assert_eq!((&answer["total"], &answer["columns"][1]), (&json!(3), &json!("owner")));
    let rows = answer["rows"].as_array().unwrap();
    assert_eq!(
        rows[0],
        json!({ "path": "Projects/Boiler.md", "price": 120.5, "owner": "[[Ada]]", "due": "2026-01-05", "file.tags": ["home/heat", "urgent"], "file.name": "Boiler" })
    );
    assert_eq!(
        rows.iter().map(|row| row["price"].to_string()).collect::<Vec<_>>(),
        ["120.5", "80", "20"]
    );
    // What is empty comes last in both directions.
    let due = |sort: &str| {
        server.call("vault_query", json!({ "where": "price", "sort": [sort] }))["rows"][2]["path"]
            .clone()
    };
    assert_eq!(
        (due("due"), due("due desc")),
        (json!("Projects/Garden/Fence.md"), json!("Projects/Garden/Fence.md"))
    );
    // Not a number, and dates at the end of time.
    let base = "formulas:\n  ratio: (price - 20) / (price - 20)\n  far: 'today() + \
                \"99999999999999999999s\" + \"300000000000y\"'\n  list: 'if(price, [])'\n";
    std::fs::write(folder.vault().join("Odd.base"), base).unwrap();
    let odd = server
        .call("vault_query", json!({ "base": "Odd.base", "sort": ["formula.ratio desc", "formula.list desc"], "select": ["formula.far"] }));
    assert!(odd["rows"][0]["formula.far"].is_string(), "{odd}");
    assert_eq!(
        server.call(
            "vault_query",
            json!({ "where": "(date(\"2026-03-02\") - date(\"2026-03-01\")).hours == 24" })
        )["total"],
        7
    );
    assert_eq!(
        server.call(
            "vault_query",
            json!({ "where": "(today() + \"99999999999999999999s\").format(\"ww gggg\")" })
        )["total"],
        7
    );
    let grouped = server.call(
        "vault_query",
        json!({ "where": "price", "group_by": "status desc", "path": "Projects" }),
    );
    assert_eq!(
        grouped["groups"],
        json!([{ "value": "done", "count": 1 }, { "value": "active", "count": 2 }])
    );
    let listed = server.call(
        "vault_query",
        json!({ "where": "price", "group_by": ["status desc"], "path": "Projects" }),
    );
    assert_eq!(listed["groups"], grouped["groups"]);
    assert_eq!(
        server.fail("vault_query", json!({ "where": "price", "group_by": ["a", "b"] }))["code"],
        "INVALID_ARGUMENT"
    );
    // Without a condition, all notes.
    let all = server.call("vault_query", json!({ "where": "true", "select": ["file.name"] }));
    assert_eq!(server.call("vault_query", json!({ "where": " ", "select": ["file.name"] })), all);
    let message =
        server.fail("vault_query", json!({ "where": "price > 4 and price < 9" }))["message"]
            .clone();
    assert!(message.as_str().unwrap().contains("write &&"), "{message}");
    let cells = server.call(
        "vault_query",
        json!({ "where": "born", "select": ["born", "note.born", "file.links", "missing"] }),
    );
    assert_eq!(cells["rows"][0]["missing"], Value::Null);
}

#[test]
fn counts_answer_maps_of_the_vault() {
    let (_folder, server) = server();
    let counts = |arguments: Value| server.call("vault_query", arguments);
    assert_eq!(
        counts(json!({ "count": "tag" }))["counts"],
        json!({ "home/heat": 1, "home": 1, "urgent": 1 })
    );
    assert_eq!(
        counts(json!({ "count": "value:status" }))["counts"],
        json!({ "active": 2, "done": 1 })
    );
    let folders = counts(json!({ "count": "folder" }));
    assert_eq!(
        folders["counts"],
        json!({ "Projects": 2, "People": 2, "/": 2, "Projects/Garden": 1 })
    );
    assert_eq!(folders["total"], 7);
    assert_eq!(counts(json!({ "count": "property", "where": "due" }))["counts"]["due"], 2);
    assert_eq!(
        counts(json!({ "count": "value:formula.half", "base": "Books.base" }))["counts"]["40"],
        1
    );
}

#[test]
fn a_base_is_answered_as_its_view_describes() {
    let (folder, server) = server();
    let all = server.call("vault_query", json!({ "base": "Books.base" }));
    assert_eq!(all["columns"], json!(["file.name", "price", "formula.half", "formula.label"]));
    assert_eq!(
        all["rows"][0],
        json!({ "path": "Projects/Boiler.md", "file.name": "Boiler", "price": 120.5, "formula.half": 60.25, "formula.label": "active: 60.25" })
    );
    assert_eq!(all["summaries"], json!({ "price": 220.5, "formula.half": 50.25 }));
    let active = server.call("vault_query", json!({ "base": "Books.base", "view": "active" }));
    assert_eq!(
        (&active["total"], active["rows"].as_array().unwrap().len()),
        (&json!(2), 1),
        "the view's limit"
    );
    assert_eq!(active["rows"][0]["path"], "Projects/Roof.md", "what is empty comes last");
    let both =
        server.call("vault_query", json!({ "base": "Books.base", "where": "formula.half < 50" }));
    assert_eq!(both["total"], 2);
    // What a view does not use may be wrong, an empty part is no condition, and not every file is a
    // base.
    for (name, text, total) in
        [("Not", "filters:\n  not:\n", 10), ("Sum", "summaries:\n  bad: values.nothing()\n", 11)]
    {
        std::fs::write(folder.vault().join(format!("{name}.base")), text).unwrap();
        assert_eq!(
            server.call("vault_query", json!({ "base": format!("{name}.base") }))["total"],
            total,
            "{name}"
        );
    }
    std::fs::write(folder.vault().join("c.canvas"), "{\"nodes\":[]}").unwrap();
    assert_eq!(
        server.fail("vault_query", json!({ "base": "c.canvas" }))["code"],
        "INVALID_ARGUMENT"
    );
    // Blocks in notes: `this` is the note.
    let block = server.call("vault_query", json!({ "base": "Overview.md#base" }));
    assert_eq!(block["rows"], json!([{ "path": "People/Bob.md" }]));
    assert_eq!(
        server.call("vault_query", json!({ "base": "[[Overview]]#base-2" }))["rows"],
        json!([{ "path": "roof.png" }])
    );
    assert_eq!(
        server.fail("vault_query", json!({ "base": "Overview.md#base-3" }))["code"],
        "INVALID_ARGUMENT"
    );
    // Blocks in a callout, behind indented code, and not closed.
    let odd = "text\n\n    indented\n\n> [!note]\n> ```base\n> filters: file.name == \"Plain\"\n> \
               ```\n\n~~~base\nfilters: file.name == \"Ada\"\n";
    std::fs::write(folder.vault().join("Odd.md"), odd).unwrap();
    for (block, path) in [("#base", "Plain.md"), ("#base-2", "People/Ada.md")] {
        assert_eq!(
            server.call("vault_query", json!({ "base": format!("Odd.md{block}") }))["rows"],
            json!([{ "path": path }]),
            "{block}"
        );
    }
    std::fs::write(
        folder.vault().join("Bom.base"),
        "\u{feff}views:\r\n  - name: 2024\r\n    filters: file.name == \"Ada\"\r\n",
    )
    .unwrap();
    assert_eq!(
        server.call("vault_query", json!({ "base": "Bom.base", "view": "2024" }))["total"],
        1
    );
    // A mistake in one view is none in another.
    std::fs::write(
        folder.vault().join("Two.base"),
        "views:\n  - name: A\n  - name: B\n    filters: foo()\n",
    )
    .unwrap();
    assert!(
        server.call("vault_query", json!({ "base": "Two.base" }))["total"].as_u64().unwrap() > 5
    );
    assert_eq!(
        server.fail("vault_query", json!({ "base": "Two.base", "view": "B" }))["code"],
        "QUERY_ERROR"
    );
    let chain: String =
        (1..190).map(|n| format!("  f{n}: '{}formula.f{}'\n", "-".repeat(80), n - 1)).collect();
    std::fs::write(folder.vault().join("Chain.base"), format!("formulas:\n  f0: '1'\n{chain}"))
        .unwrap();
    let deep = server.call(
        "vault_query",
        json!({ "base": "Chain.base", "select": ["formula.f189"], "path": "Plain.md" }),
    );
    assert!(deep["rows"][0]["formula.f189"]["error"].is_string(), "{deep}");
    // A formula that is wrong is none of the views that do not use it.
    std::fs::write(
        folder.vault().join("Cover.base"),
        "formulas:\n  cover: image(1)\n  own: formula.own\nviews:\n  - order: [price]\n",
    )
    .unwrap();
    assert!(
        server.call("vault_query", json!({ "base": "Cover.base" }))["total"].as_u64().unwrap() > 5
    );
    for (text, code, words) in [
        ("views:\n  - name: [\n", "PARSE_ERROR", "line"),
        ("- a\n", "PARSE_ERROR", "filters, formulas or views, at line 1"),
        (
            "filters:\n  xor: [a]\n",
            "PARSE_ERROR",
            "\"xor\" where and, or or not should be, at line 2",
        ),
        ("views:\n  - name: V\n    filters:\n      and: [7]\n", "PARSE_ERROR", "at line 4"),
        ("formulas:\n  a: [1]\n", "PARSE_ERROR", "at line 1"),
        ("a: 1\nviews: 7\n", "PARSE_ERROR", "at line 2"),
        (
            "formulas:\n  a: formula.b\n  b: formula.a + 1\nviews:\n  - sort: [formula.b]\n",
            "QUERY_ERROR",
            "own value",
        ),
        (
            "formulas:\n  a: formula.b\n  b: image(1)\nviews:\n  - order: [formula.a]\n",
            "QUERY_ERROR",
            "formula \"b\"",
        ),
        ("formulas:\n  b: image(1)\nfilters: formula.b\n", "QUERY_ERROR", "formula \"b\""),
        ("filters: a ==\n", "QUERY_ERROR", "filters of the base"),
        ("views:\n  - name: V\n    filters: foo()\n", "QUERY_ERROR", "view \"V\""),
        ("views:\n  - summaries: {price: Mode}\n", "QUERY_ERROR", "Mode"),
        ("views:\n  - order: [file.nothing]\n", "QUERY_ERROR", "nothing"),
    ] {
        std::fs::write(folder.vault().join("Bad.base"), text).unwrap();
        let error = server.fail("vault_query", json!({ "base": "Bad.base" }));
        assert!(
            error["code"] == code && error["message"].as_str().unwrap().contains(words),
            "{text}: {error}"
        );
    }
}

#[test]
fn every_summary_of_obsidian_is_computed() {
    let notes: Vec<(String, String)> = [
        (1, "2026-01-01", "true"),
        (2, "2026-01-11", "false"),
        (2, "2026-01-05", "true"),
        (7, "", ""),
    ]
    .iter()
    .enumerate()
    .map(|(number, (n, day, flag))| {
        (format!("{number}.md"), format!("---\nn: {n}\nday: {day}\nflag: {flag}\n---\n"))
    })
    .collect();
    let files: Vec<(&str, &[u8])> =
        notes.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let folder = Folder::with(&files);
    let server =
        Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes"), ("TIME_ZONE", "UTC")]);
    for (property, name, expected) in [
        ("n", "Average", json!(3)),
        ("n", "Min", json!(1)),
        ("n", "Max", json!(7)),
        ("n", "Sum", json!(12)),
        ("n", "Range", json!(6)),
        ("n", "Median", json!(2)),
        ("n", "Stddev", json!(2.345_207_879_911_715)),
        ("n", "Unique", json!(3)),
        ("day", "Earliest", json!("2026-01-01")),
        ("day", "Latest", json!("2026-01-11")),
        ("day", "Range", json!("10 days")),
        ("day", "Empty", json!(1)),
        ("day", "Filled", json!(3)),
        ("flag", "Checked", json!(2)),
        ("flag", "Unchecked", json!(1)),
    ] {
        let base = format!(
            "filters: 'file.ext == \"md\"'\nviews:\n  - summaries: {{{property}: {name}}}\n"
        );
        std::fs::write(folder.vault().join("s.base"), base).unwrap();
        assert_eq!(
            server.call("vault_query", json!({ "base": "s.base" }))["summaries"][property],
            expected,
            "{name}"
        );
    }
}

/// Whatever notes, formulas and groups hold.
#[test]
fn no_answer_is_longer_than_a_client_takes() {
    let notes: Vec<(String, String)> = (0..1000)
        .map(|n| {
            (
                format!("{n:04}.md"),
                format!(
                    "---\nk: {n:04}{}\nbig: {}\n---\n",
                    "k".repeat(100),
                    "q".repeat(if n == 7 { 60_000 } else { 2 })
                ),
            )
        })
        .collect();
    let files: Vec<(&str, &[u8])> =
        notes.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let folder = Folder::with(&files);
    let text = "formulas:\n  x: \
                '\"x\".repeat(9999).split(\"\").map(\"y\".repeat(999))'\nsummaries:\n  all: \
                values\nfilters: 'file.ext == \"md\"'\nviews:\n  - summaries: {k: all}\n";
    std::fs::write(folder.vault().join("x.base"), text).unwrap();
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    for arguments in [
        json!({ "where": "k", "group_by": "k", "limit": 5 }),
        json!({ "where": "k", "group_by": "k", "limit": 1000 }),
        json!({ "base": "x.base", "limit": 1 }),
        json!({ "base": "x.base", "limit": 1, "select": ["formula.x", "formula.x"] }),
        json!({ "where": "k", "select": ["big"], "sort": ["k"] }),
        json!({ "count": "value:k", "limit": 1000 }),
    ] {
        let answer = server.call("vault_query", arguments.clone());
        assert!(answer.to_string().len() < 100_000, "{arguments}: {}", answer.to_string().len());
    }
    let counts = server.call("vault_query", json!({ "count": "value:big" }))["counts"]
        .as_object()
        .unwrap()
        .len();
    assert_eq!(counts, 2, "a long name stops nothing");
}

/// Pages do not skip or repeat rows while notes come and go.
#[test]
fn long_answers_come_in_pages() {
    let notes: Vec<String> = (0..500).map(|number| format!("n{number:03}.md")).collect();
    let text = format!("---\nn: 1\nlong: {}\n---\n", "x".repeat(200));
    let files: Vec<(&str, &[u8])> =
        notes.iter().map(|path| (path.as_str(), text.as_bytes())).collect();
    let folder = Folder::with(&files);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    let (mut seen, mut cursor) = (Vec::new(), None::<Value>);
    loop {
        let mut arguments = json!({ "where": "n == 1", "select": ["long"], "limit": 1000 });
        if let Some(cursor) = &cursor {
            arguments["cursor"] = cursor.clone();
        }
        let answer = server.call("vault_query", arguments);
        assert!(answer["total"].as_u64().unwrap() >= 499 && answer.to_string().len() < 100_000);
        seen.extend(
            answer["rows"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["path"].as_str().unwrap().to_owned()),
        );
        match answer.get("next_cursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
        let _ = std::fs::remove_file(folder.vault().join("n000.md"));
    }
    assert_eq!(seen, notes);
}

#[test]
fn a_base_with_many_columns_or_summaries_has_a_bounded_answer() {
    let columns: String = (0..60).map(|number| format!("      c{number}: all\n")).collect();
    let summaries = format!(
        "summaries:\n  all: 'values.map(\"y\".repeat(80)).join(\"\")'\nviews:\n  - type: \
             table\n    summaries:\n{columns}"
    );
    let order: String = (0..20_000).map(|number| format!("      - c{number}\n")).collect();
    let folder = Folder::with(&[
        ("summaries.base", summaries.as_bytes()),
        ("columns.base", format!("views:\n  - type: table\n    order:\n{order}").as_bytes()),
        ("a.md", b"---\nn: 1\n---\n"),
        ("b.md", b"---\nn: 2\n---\n"),
    ]);
    let notes: Vec<String> = (0..60).map(|number| format!("n{number}.md")).collect();
    notes.iter().for_each(|name| std::fs::write(folder.vault().join(name), "x").unwrap());
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    let answer = server.call("vault_query", json!({ "base": "summaries.base" }));
    assert!(answer.to_string().len() < 100_000, "{}", answer.to_string().len());
    assert_eq!(answer["summaries"].as_object().unwrap().len(), 60);
    for (wrong, says) in [
        (json!({ "base": "columns.base", "limit": 1 }), "columns"),
        (json!({ "where": "n", "select": vec!["n"; 101] }), "columns"),
        (json!({ "where": "n", "select": ["n".repeat(10_001)] }), "columns"),
        (json!({ "where": "n", "view": "x" }), "base"),
        (json!({ "count": "tag", "sort": ["n"] }), "count"),
    ] {
        let failed = server.fail("vault_query", wrong);
        assert_eq!(failed["code"], "INVALID_ARGUMENT");
        assert!(failed["message"].as_str().unwrap().contains(says), "{failed}");
    }
}

#[test]
fn many_properties_of_many_notes_can_be_asked_for() {
    let text = format!("---\nlong: {}\nn: 1\n---\n", "x".repeat(4000));
    let names: Vec<String> = (0..2000).map(|number| format!("{number}.md")).collect();
    let files: Vec<(&str, &[u8])> =
        names.iter().map(|name| (name.as_str(), text.as_bytes())).collect();
    let folder = Folder::with(&files);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    let condition = vec!["n + 1 == 2"; 30].join(" && ");
    assert_eq!(
        server.call("vault_query", json!({ "where": condition, "limit": 1 }))["total"],
        2000
    );
}

#[test]
fn a_row_whose_value_changes_between_pages_moves_no_other() {
    let files: Vec<(String, String)> =
        (0..6).map(|n| (format!("f{n}.md"), format!("---\nn: {n}\n---\n"))).collect();
    let bytes: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    for changed in [json!(0.5), json!(4.5), json!(99), Value::Null] {
        let folder = Folder::with(&bytes);
        let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
        let page = |cursor: &Value| {
            let found = server.call(
                "vault_query",
                json!({ "where": "n >= 0", "sort": ["n desc"], "limit": 2, "cursor": cursor }),
            );
            let paths: Vec<String> = found["rows"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["path"].as_str().unwrap().to_owned())
                .collect();
            (paths, found["next_cursor"].clone())
        };
        let (first, cursor) = page(&json!(null));
        assert_eq!(first, ["f5.md", "f4.md"]);
        if changed.is_null() {
            std::fs::remove_file(folder.vault().join("f4.md")).unwrap();
        } else {
            server.call(
                "vault_set_properties",
                json!({ "paths": ["f4.md"], "set": { "n": changed } }),
            );
        }
        assert_eq!(page(&cursor).0, ["f3.md", "f2.md"], "{changed}");
    }
}

#[test]
fn names_of_properties_and_tags_are_compared_without_case() {
    let folder = Folder::with(&[
        ("a.md", b"---\nStatus: x\n---\n#Book #book\n"),
        ("b.md", b"---\nstatus: x\n---\n#book\n"),
        ("c.md", b"---\nstatus: y\n---\n#book/new\n"),
    ]);
    let server = Server::with(&folder.vault(), &[("TOOLSETS", "vault,notes")]);
    assert_eq!(server.call("vault_query", json!({ "where": "status == \"x\"" }))["total"], 2);
    for (count, expected) in [
        ("tag", json!({ "book": 2, "book/new": 1 })),
        ("property", json!({ "status": 3 })),
        ("value:STATUS", json!({ "x": 2, "y": 1 })),
    ] {
        assert_eq!(
            server.call("vault_query", json!({ "count": count }))["counts"],
            expected,
            "{count}"
        );
    }
}
