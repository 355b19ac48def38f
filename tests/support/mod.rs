//! A folder of its own and a server of its own for each test, and a client that sends exactly what
//! it is given.

mod client;
pub mod login;
pub mod repository;
mod schema;
mod server;
pub mod short_names;

pub use client::{Connection, Response};
pub use server::{
    HEALTH, ORIGIN, PASSWORD, PING, READ_TOKEN, Server, TOKEN, encode, initialize, mcp_head, post,
    stream_request,
};

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What takes until the time of a search is over in [`Folder::slow`]; it needs toolset `context`.
pub fn slow_call() -> serde_json::Value {
    serde_json::json!({ "name": "search_vault_content", "arguments": { "search_pattern": "(?:.{0,30}){0,30}q9q9", "regex": true } })
}

/// Whether two full stops end a sentence of a message, because one of its parts had its own.
pub fn has_double_stop(message: &str) -> bool {
    message.split_whitespace().any(|word| {
        word.ends_with("..") && !word.ends_with("...") && word.starts_with(char::is_alphanumeric)
    })
}

/// A temporary folder that goes away with the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("vsm-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    /// A copy of the sample vault.
    pub fn sample() -> Folder {
        let folder = Folder::new();
        vault_sync_mcp::commands::sample_vault::write(&folder.vault()).unwrap();
        folder
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The vault in it.
    pub fn vault(&self) -> PathBuf {
        self.0.join("vault")
    }

    /// A vault of these files.
    pub fn with(files: &[(&str, &[u8])]) -> Folder {
        let folder = Folder::new();
        std::fs::create_dir(folder.vault()).unwrap();
        for (path, bytes) in files {
            let on_disk = folder.vault().join(path);
            std::fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
            std::fs::write(on_disk, bytes).unwrap();
        }
        folder
    }

    /// A vault in which the call [`slow_call`] takes seconds: the same text under many names.
    pub fn slow() -> Folder {
        let folder = Folder::with(&[("000.md", "ab q9q ".repeat(9_000).as_bytes())]);
        let first = folder.vault().join("000.md");
        (1..300).for_each(|n| {
            std::fs::hard_link(&first, folder.vault().join(format!("{n:03}.md"))).unwrap()
        });
        folder
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.vault().join(path)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Every file below a folder of the repository, by its path below it, sorted.
pub fn fixtures(folder: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let (mut found, mut open) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The README and the pages next to the code.
pub const PAGES: [&str; 10] = [
    "README.md",
    ".ci/README.md",
    "src/README.md",
    "src/SECURITY.md",
    "src/accomplishments/README.md",
    "src/agent/README.md",
    "src/commands/README.md",
    "src/config/README.md",
    "src/git/README.md",
    "src/tools/README.md",
];

/// All of them.
pub fn pages() -> String {
    PAGES
        .iter()
        .map(|page| {
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap()
        })
        .collect()
}

/// What stands in the block of a page below `<!-- name -->`.
pub fn readme(name: &str) -> String {
    let readme = pages();
    let block = readme
        .split(&format!("<!-- {name} -->\n```"))
        .nth(1)
        .unwrap_or_else(|| panic!("no block {name}"));
    block.split_once('\n').unwrap().1.split("```").next().unwrap().to_owned()
}

/// Prints what a test lacks on this machine; `.ci/run` counts these lines. Not with `eprintln!`,
/// which the test harness captures.
pub fn skipped(why: &str) {
    std::io::stderr().write_all(format!("SKIPPED: {why}\n").as_bytes()).unwrap();
}

/// Whether races, floods and walks through every failure take the time they need: `THOROUGH=1`, as
/// in CI.
pub fn thorough() -> bool {
    std::env::var_os("THOROUGH").is_some()
}

/// Waits until something is true; fails the test after a while.
#[track_caller]
pub fn eventually(what: &str, mut check: impl FnMut() -> bool) {
    let started = Instant::now();
    while !check() {
        assert!(started.elapsed() < Duration::from_secs(10), "not within ten seconds: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
