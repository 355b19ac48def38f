//! The commands `init-wiki` and `lint`.

use crate::support::Folder;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn run(vault: &Path, command: &str) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"))
        .args([command, "--vault-path", vault.to_str().unwrap(), "--state-dir", "none"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), text)
}

#[test]
fn the_starter_wiki_is_written_over_nothing() {
    let folder =
        Folder::with(&[("CLAUDE.md", b"my own rules\n"), ("work/wiki/index.md", b"# mine\n")]);
    let (code, text) = run(&folder.vault(), "init-wiki");
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("kept     CLAUDE.md")
            && text.contains("written  aliases.md")
            && text.contains("15 written, 2 kept"),
        "{text}"
    );
    assert_eq!(folder.read("CLAUDE.md"), b"my own rules\n");
    assert_eq!(folder.read("work/wiki/index.md"), b"# mine\n");
    let (code, text) = run(&folder.vault(), "init-wiki");
    assert!(code == 0 && text.contains("0 written, 17 kept"), "{text}");
    let outside = Folder::new();
    let linked = Folder::with(&[]);
    std::os::unix::fs::symlink(outside.path(), linked.vault().join("raw")).unwrap();
    let (code, text) = run(&linked.vault(), "init-wiki");
    assert!(code == 1 && text.contains("raw/assets"), "{text}");
    assert_eq!(
        std::fs::read_dir(outside.path()).unwrap().count(),
        0,
        "nothing is written through a link"
    );
}

/// What is built in is what is in the repository, and it keeps its own rules.
#[test]
fn the_starter_wiki_is_the_fixture() {
    let found = crate::support::fixtures("fixtures/wiki");
    assert_eq!(
        vault_sync_mcp::wiki::starter::FILES.iter().map(|(path, _)| *path).collect::<Vec<_>>(),
        found
    );
    let folder = Folder::with(&[]);
    assert_eq!(run(&folder.vault(), "init-wiki").0, 0);
    assert_eq!(run(&folder.vault(), "lint"), (0, "The wiki keeps its rules.\n".into()));
}

#[test]
fn lint_finds_what_breaks_the_rules_and_repairs_nothing() {
    let files: [(&str, &[u8]); 10] = [
        ("work/wiki/index.md", b"# Work\n[[Ada]] [[Plan]]\n"),
        ("work/wiki/log.md", b"# Work log\n- [[2026-01-31 Mail]]\n"),
        (
            "work/wiki/entities/Ada.md",
            b"---\ntype: entity\n---\n# Ada\nKnows [[Bob]], plays [[Cello]], lives in [[Oslo]]. `[[no]]`\n```\n- [ ] not a task\n```\n",
        ),
        ("work/wiki/concepts/Plan.md", b"# The plan\n[[Ada]] [[#here]]\n- [ ] call\n1. [x] done\n- [link](x)\n"),
        ("work/wiki/sources/2026-01-31 Mail.md", b"# 2026-01-31 Mail\n[[Plan|it]]\n"),
        ("life/wiki/index.md", b"# Life\n[[Cello]] [[Loose]]\n"),
        ("life/wiki/concepts/Cello.md", b"# Cello\n"),
        ("life/wiki/concepts/Loose.md", b"no heading\n"),
        ("life/old-reminders/reminders/tomorrow.md", b"# tomorrow\n"),
        ("shared/wiki/entities/Oslo.md", b"# Oslo\n"),
    ];
    let folder = Folder::with(&files);
    let (code, text) = run(&folder.vault(), "lint");
    assert_eq!(code, 1);
    let found: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.contains("  "))
        .map(|line| {
            line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).take(2).collect()
        })
        .collect();
    let expected = [
        ["life/old-reminders/reminders", "knowledge-only"],
        ["life/old-reminders/reminders/tomorrow.md", "index-gap"],
        ["life/old-reminders/reminders/tomorrow.md", "orphan"],
        ["life/wiki/concepts/Loose.md", "file-name"],
        ["life/wiki/concepts/Loose.md", "orphan"],
        ["work/wiki/concepts/Plan.md:1", "file-name"],
        ["work/wiki/concepts/Plan.md:3", "knowledge-only"],
        ["work/wiki/concepts/Plan.md:4", "knowledge-only"],
        ["work/wiki/concepts/Plan.md:5", "broken-link"],
        ["work/wiki/entities/Ada.md:5", "broken-link"],
        ["work/wiki/entities/Ada.md:5", "cross-domain"],
        ["work/wiki/sources/2026-01-31 Mail.md", "index-gap"],
        ["work/wiki/sources/2026-01-31 Mail.md", "orphan"],
    ];
    assert_eq!(found, expected, "{text}");
    for (path, bytes) in files {
        assert_eq!(folder.read(path), bytes);
    }
}

#[test]
fn linting_takes_time_in_proportion_to_the_pages() {
    let folder = Folder::with(&[]);
    vault_sync_mcp::wiki::starter::write(&folder.vault()).unwrap();
    for n in 0..3_000 {
        std::fs::write(
            folder.vault().join(format!("work/wiki/concepts/C{n}.md")),
            format!("# C{n}\n[[Hub]]\n"),
        )
        .unwrap();
    }
    let started = Instant::now();
    assert_eq!(run(&folder.vault(), "lint").0, 1);
    assert!(
        !crate::support::thorough() || started.elapsed() < Duration::from_secs(4),
        "{:?}",
        started.elapsed()
    );
}
