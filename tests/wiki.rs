//! The command `init-wiki`.

use crate::support::Folder;
use std::path::Path;
use std::process::Command;

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

/// What is built in is what is in the repository.
#[test]
fn the_starter_wiki_is_the_fixture() {
    let found = crate::support::fixtures("fixtures/wiki");
    assert_eq!(
        vault_sync_mcp::wiki::starter::FILES.iter().map(|(path, _)| *path).collect::<Vec<_>>(),
        found
    );
    let folder = Folder::with(&[]);
    assert_eq!(run(&folder.vault(), "init-wiki").0, 0);
}
