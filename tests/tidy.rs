//! The rules of this project, read from the sources. What can be a test is not left to memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every Rust file below `src`: path below it, and text without its unit tests.
fn sources() -> Vec<(String, String)> {
    let top = root().join("src");
    let mut files = Vec::new();
    let mut open = vec![top.clone()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap().to_owned();
                files.push((path.strip_prefix(&top).unwrap().display().to_string(), code));
            }
        }
    }
    files.sort();
    files
}

fn module_of(path: &str) -> &str {
    path.split(['/', '.']).next().unwrap()
}

/// Code without comments: a comment may name what it likes. A `use` of several lines is one.
fn code_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut in_use = false;
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.trim_start();
        match lines.last_mut() {
            _ if code.starts_with("//") => continue,
            Some((_, last)) if in_use => last.push_str(code),
            _ => {
                in_use = code.trim_start_matches(|c: char| c != ' ').starts_with(" use ")
                    || code.starts_with("use ");
                lines.push((number, line.to_owned()));
            }
        }
        in_use &= !code.ends_with(';');
    }
    lines
}

fn modules() -> BTreeMap<String, Vec<String>> {
    let names =
        |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let map = text("src/lib.rs");
    let rows = map.lines().filter_map(|line| line.strip_prefix("//! | `"));
    let modules: BTreeMap<String, Vec<String>> = rows
        .filter_map(|row| {
            let cells: Vec<&str> = row.split('|').collect();
            let name = cells.first()?.trim().trim_end_matches('`');
            (cells.len() == 4 && !name.contains(['/', '`']))
                .then(|| (name.to_owned(), names(cells[2])))
        })
        .collect();
    assert!(modules.len() > 15, "the table was not understood: {modules:?}");
    modules
}

#[test]
fn modules_use_only_what_their_row_in_the_map_names() {
    let modules = modules();
    let mut used_by: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, code) in sources() {
        let here = module_of(&path);
        if matches!(here, "lib" | "main") {
            continue;
        }
        let allowed = modules
            .get(here)
            .unwrap_or_else(|| panic!("{path}: the module {here} is not in the map"));
        for (number, line) in code_lines(&code) {
            for used in line.split("crate::").skip(1) {
                let braces = used.strip_prefix('{').map(|list| list.split('}').next().unwrap());
                let names: Vec<&str> = match braces {
                    Some(list) => list
                        .split(',')
                        .map(|name| name.trim().split("::").next().unwrap())
                        .collect(),
                    None => {
                        vec![used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap()]
                    }
                };
                for name in names {
                    used_by.entry(here.to_owned()).or_default().insert(name.to_owned());
                    assert!(
                        name == here || allowed.iter().any(|known| known == name),
                        "src/{path}:{number}: {here} must not use {name}"
                    );
                }
            }
        }
    }
    for (module, allowed) in &modules {
        let idle: Vec<_> = allowed
            .iter()
            .filter(|name| !used_by.get(module).is_some_and(|used| used.contains(*name)))
            .collect();
        assert!(idle.is_empty(), "{module} does not use {idle:?}");
    }
    let declared: Vec<String> = text("src/lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';').map(str::to_owned))
        .collect();
    assert_eq!(
        declared,
        modules.keys().cloned().collect::<Vec<_>>(),
        "the map and the modules differ"
    );
}

/// The table is in the order of the floors.
#[test]
fn a_module_uses_only_modules_above_it_in_the_map() {
    let text = text("src/lib.rs");
    let order: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `")?.split_once("` | ").map(|(name, _)| name))
        .collect();
    for (module, used) in modules() {
        let place = |name: &str| order.iter().position(|known| *known == name);
        let below: Vec<_> =
            used.iter().filter(|name| place(name).unwrap() > place(&module).unwrap()).collect();
        assert!(below.is_empty(), "{module} uses {below:?}, which the map has below it");
    }
}

#[test]
fn a_folder_has_fewer_than_twenty_files() {
    let mut files: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for (path, _) in sources() {
        *files.entry(Path::new(&path).parent().unwrap().to_owned()).or_default() += 1;
    }
    files.remove(Path::new(""));
    let full: Vec<_> = files.iter().filter(|(_, count)| **count >= 20).collect();
    assert!(full.is_empty(), "{full:?}");
}

/// The names after `super::`, and after the path of the module itself; those in braces too.
fn siblings_named(code: &str, module: &str) -> Vec<String> {
    let own = format!("crate::{}::", module.replace('/', "::"));
    let after = ["super::", own.as_str()].into_iter().flat_map(|prefix| code.split(prefix).skip(1));
    let first = |text: &str| {
        text.trim().split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned()
    };
    after
        .flat_map(|rest| match rest.strip_prefix('{') {
            // Of names in braces within braces the outer ones count.
            Some(list) => {
                list.split(';').next().unwrap().split([',', '{']).map(first).collect::<Vec<_>>()
            }
            None => vec![first(rest)],
        })
        .collect()
}

/// `mod.rs` is above the files of its folder: it uses them, and they use what it declares.
#[test]
fn files_of_one_module_do_not_use_each_other_in_a_circle() {
    let mut uses: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    // A name that `mod.rs` re-exports counts for the file that defines it.
    let mut files_of: BTreeMap<(String, String), String> = BTreeMap::new();
    for (path, code) in sources() {
        let Some(module) = path.strip_suffix("/mod.rs") else { continue };
        let lines = code_lines(&code);
        let exported = lines.iter().filter_map(|(_, line)| {
            line.strip_prefix("pub")?.split_once("use ")?.1.split_once("::")
        });
        for (file, names) in exported {
            for name in names
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|name| !name.is_empty())
            {
                files_of.insert((module.to_owned(), name.to_owned()), file.to_owned());
            }
        }
    }
    assert!(files_of.len() > 50, "the re-exports were not understood");
    for (path, code) in sources() {
        let Some((module, file)) = path.rsplit_once('/') else { continue };
        let file = file.trim_end_matches(".rs").to_owned();
        if file != "mod" {
            let tests = code.find("#[cfg(test)]\nmod tests").unwrap_or(code.len());
            let code: String =
                code_lines(&code[..tests]).iter().map(|(_, line)| format!("{line}\n")).collect();
            let file_of = |name: String| {
                files_of.get(&(module.to_owned(), name.clone())).cloned().unwrap_or(name)
            };
            let named =
                siblings_named(&code, module).into_iter().map(file_of).filter(|name| *name != file);
            uses.entry((module.to_owned(), file.clone())).or_default().extend(named);
        }
    }
    assert!(uses.len() > 100, "the sources were not understood");
    for (module, file) in uses.keys() {
        let (mut reached, mut open) = (BTreeSet::new(), vec![file.clone()]);
        while let Some(next) = open.pop() {
            let used = uses.get(&(module.clone(), next)).into_iter().flatten();
            open.extend(used.filter(|name| reached.insert((*name).clone())).cloned());
        }
        assert!(
            !reached.contains(file),
            "src/{module}/{file}.rs is used by a file that it uses: {reached:?}"
        );
    }
}

/// Calls with side effects are made in one file each.
#[test]
fn sharp_tools_are_used_in_one_module() {
    for (tool, home) in [
        ("SystemTime::now", "clock.rs"),
        ("Instant::now", "clock.rs"),
        ("fs::write", "disk/"),
        ("fs::rename", "disk/"),
        ("fs::remove", "disk/"),
        ("fs::create_dir", "disk/"),
        ("fs::copy", "disk/"),
        ("fs::set_permissions", "disk/"),
        ("OpenOptions", "disk/"),
        ("File::create", "disk/"),
        ("getrandom::", "secret.rs"),
        ("Command::new", "process.rs"),
        ("process::exit", "nowhere"),
        ("super::super::", "nowhere"),
        ("unsafe ", "nowhere"),
        ("async ", "nowhere"),
        ("todo!", "nowhere"),
        ("unimplemented!", "nowhere"),
    ] {
        for (path, code) in sources() {
            for (number, line) in code_lines(&code) {
                assert!(
                    path == home
                        || home == "disk/" && path.starts_with(home)
                        || !line.contains(tool),
                    "{path}:{number}: {tool} belongs to {home}"
                );
            }
        }
    }
}

/// Files that are still longer than [`CODE_CHARS`].
const LONG: [&str; 4] = [
    "accomplishments/manage.rs",
    "notes/query/eval.rs",
    "notes/query/functions.rs",
    "notes/query/table.rs",
];

/// Characters of code that a file may have, without white space, comments and tests.
const CODE_CHARS: usize = 12_000;

#[test]
fn files_say_what_they_hold_and_stay_readable() {
    for (path, code) in sources() {
        assert!(code.starts_with("//! "), "{path} does not begin by saying what it holds");
        let code = code.split("\n#[cfg(test)]").next().unwrap();
        let chars =
            |(_, line): &(usize, String)| line.chars().filter(|c| !c.is_whitespace()).count();
        let length: usize = code_lines(code).iter().map(chars).sum();
        let is_known = LONG.contains(&path.as_str());
        assert!(length <= CODE_CHARS || is_known, "{path} has {length} characters of code");
    }
}

/// Adding a dependency is a decision: it stands here, and has its reason in Cargo.toml.
#[test]
fn dependencies_are_those_that_were_decided_on() {
    const DECIDED: [&str; 30] = [
        "serde",
        "serde_json",
        "serde_yaml",
        "bcrypt",
        "sha2",
        "hmac",
        "subtle",
        "base64",
        "getrandom",
        "lexopt",
        "strsim",
        "log",
        "env_logger",
        "httparse",
        "httpdate",
        "memchr",
        "regex",
        "regex-syntax",
        "glob",
        "landlock",
        "zune-jpeg",
        "png",
        "jpeg-encoder",
        "rustix",
        "socket2",
        "signal-hook",
        "rpassword",
        "unicode-normalization",
        "tz-rs",
        "mimalloc",
    ];
    let manifest = text("Cargo.toml");
    let sections =
        manifest.split("dependencies]\n").skip(1).map(|rest| rest.split("\n[").next().unwrap());
    let lines: Vec<&str> = sections.flat_map(str::lines).filter(|line| !line.is_empty()).collect();
    let named = |lines: &[&str]| -> Vec<String> {
        let name = |pair: &[&str]| {
            assert!(pair[0].starts_with("# ") && pair[0].len() > 20, "no reason above {pair:?}");
            pair[1].split([' ', '=']).next().unwrap().to_owned()
        };
        lines.chunks(2).map(name).collect()
    };
    assert_eq!(named(&lines), DECIDED);
    let lock = text("Cargo.lock");
    for runtime in ["tokio", "async-std", "smol", "async-io", "futures", "mio", "hyper"] {
        assert!(!lock.contains(&format!("name = \"{runtime}\"")), "{runtime} is in Cargo.lock");
    }
}

#[test]
fn the_top_level_is_what_it_should_be() {
    let mut names: Vec<String> = std::process::Command::new("git")
        .args(["ls-files"])
        .current_dir(root())
        .output()
        .map(|output| {
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .map(|line| line.trim_matches('"').split('/').next().unwrap().to_owned())
                .collect()
        })
        .unwrap_or_default();
    names.dedup();
    if names.is_empty() {
        crate::support::skipped("not a git checkout");
        return;
    }
    names.retain(|name| !name.starts_with('.'));
    assert_eq!(
        names,
        [
            "CHANGELOG.md",
            "Cargo.lock",
            "Cargo.toml",
            "LICENSE",
            "README.md",
            "fixtures",
            "src",
            "tests",
            "vault-sync-mcp.service"
        ]
    );
}

/// The README names every setting, with its default, every tool and prompt with its parameters, and
/// every error code.
#[test]
fn the_readme_is_complete() {
    assert!(text("README.md").len() < 10_000, "the README is for users: the rest has pages");
    let readme = crate::support::pages();
    for setting in vault_sync_mcp::settings::SETTINGS {
        let flag = if setting.flag().is_empty() {
            "| none |".to_owned()
        } else {
            format!("`--{}`", setting.flag())
        };
        let row = readme.lines().find(|line| line.starts_with('|') && line.contains(&flag));
        let row = row.unwrap_or_else(|| panic!("no row for {}", setting.variable));
        assert!(
            row.contains(&format!("`{}`", setting.variable)) && row.contains(setting.default),
            "{row}"
        );
    }
    for tool in
        vault_sync_mcp::tools::Toolset::offered(&vault_sync_mcp::tools::Toolset::ALL, |_| true)
    {
        let row = readme
            .lines()
            .find(|line| line.starts_with(&format!("| `{}` |", tool.name)))
            .unwrap_or_else(|| panic!("no row for {}", tool.name));
        for parameter in tool.input {
            assert!(
                row.contains(&format!("`{}`", parameter.name)),
                "{} lacks {}",
                tool.name,
                parameter.name
            );
        }
    }
    for prompt in
        vault_sync_mcp::tools::Toolset::ALL.iter().flat_map(|&set| vault_sync_mcp::prompts::of(set))
    {
        let row = format!("| `{}` | `{}` |", prompt.name, prompt.argument.name);
        assert!(readme.contains(&row), "no row {row}");
    }
    let codes = text("src/tools/error.rs");
    let codes = codes.split("codes! {\n").nth(1).unwrap().split("\n}").next().unwrap();
    for code in codes.split(" = \"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(readme.contains(&format!("`{code}`")), "no word about {code}");
    }
}

/// Every block of the README has a name, and something runs what stands there.
#[test]
fn what_the_readme_says_is_tried() {
    let readme = crate::support::pages();
    let mut before = "";
    let mut blocks = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = !inside;
            let name = before.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
            if inside && line != "```mermaid" {
                blocks.push(
                    name.unwrap_or_else(|| panic!("a block without a name: {before} {line}"))
                        .to_owned(),
                );
            }
        }
        before = line;
    }
    let runners: Vec<(&str, String)> = [
        ".ci/image",
        ".ci/run",
        "tests/context.rs",
        "tests/clients/claude_code.py",
        "tests/install/run",
        "tests/proxies/run",
        "tests/readme/run",
        "tests/stdio.rs",
        "tests/sync/run",
    ]
    .map(|path| (path, text(path)))
    .into();
    // What a shell calls `block NAME`, and Rust and Python `readme("NAME"`; the editors' two stand
    // in a list.
    let called = |line: &str, name: &str| {
        let shell = line.match_indices("block ").any(|(at, found)| {
            let rest = line[at + found.len()..].strip_prefix(name);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
        });
        shell
            || line.contains(&format!("readme(\"{name}\""))
            || line.contains(&format!("(\"{name}\", "))
    };
    let lines = || {
        runners
            .iter()
            .flat_map(|(_, code)| code.lines())
            .filter(|line| !line.trim_start().starts_with(['#', '/']))
    };
    let untried: Vec<&String> =
        blocks.iter().filter(|name| !lines().any(|line| called(line, name))).collect();
    assert!(blocks.len() > 15 && untried.is_empty(), "not tried: {untried:?} of {blocks:?}");
    let names: BTreeSet<&String> = blocks.iter().collect();
    assert_eq!(names.len(), blocks.len(), "two blocks of one name");
    assert!(!readme.contains("TODO"), "something is missing in the README");
}

/// No path of the machine on which this was written is in it.
#[test]
fn no_path_of_a_developers_machine_is_in_the_sources() {
    let mut open: Vec<PathBuf> =
        ["src", "tests", ".ci", "README.md"].iter().map(|name| root().join(name)).collect();
    let mut looked_at = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            if path.file_name() != Some(Path::new("node_modules").as_os_str()) {
                open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            }
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            looked_at += 1;
            for word in [concat!("/wo", "rk/"), concat!("/ro", "ot/")] {
                assert!(!text.contains(word), "{} names {word}", path.display());
            }
        }
    }
    assert!(looked_at > 50);
}
