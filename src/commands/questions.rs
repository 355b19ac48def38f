//! What `init` asks on a terminal.

use super::{FAILED, WRONG, fail, print_error};
use crate::disk;
use serde_json::Value;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

/// Bytes of Obsidian's list of vaults.
const LIST_BYTES: u64 = 1024 * 1024;
/// Vaults of that list that are offered.
const OFFERED: usize = 20;

/// The path of the vault that a person chooses, of those that Obsidian knows or any other.
pub(super) fn ask_for_vault() -> Result<String, u8> {
    let known = obsidian_vaults();
    if !known.is_empty() && io::stdin().is_terminal() {
        print_error("Vaults that Obsidian knows here:\n");
        for (number, path) in (1..).zip(&known) {
            print_error(&format!("  {number}  {path}\n"));
        }
    }
    let chosen = |answer: &str| -> Option<PathBuf> {
        // As a file manager puts it into a terminal.
        let quoted = |quote| answer.strip_prefix(quote)?.strip_suffix(quote);
        let answer = quoted('\'').or_else(|| quoted('"')).unwrap_or(answer);
        let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let path = number.and_then(|number| known.get(number)).map_or(answer, String::as_str);
        let path = match path.strip_prefix('~') {
            Some(rest) => std::env::home_dir()?.join(rest.trim_start_matches('/')),
            None => PathBuf::from(path),
        };
        std::fs::canonicalize(path).ok().filter(|path| path.is_dir())
    };
    let is_folder = |answer: &str| match chosen(answer) {
        Some(_) => Ok(()),
        None => Err("there is no such folder".to_owned()),
    };
    let question = if known.is_empty() { "Folder of the vault" } else { "Number, or a folder" };
    let answer = ask(question, "--vault-path /data/obsidian-vault", &is_folder)?;
    Ok(chosen(&answer).unwrap_or_default().display().to_string())
}

/// The vaults in Obsidian's own list, the last used first.
fn obsidian_vaults() -> Vec<String> {
    let Some(home) = std::env::home_dir() else { return Vec::new() };
    let lists = [
        ".config/obsidian",
        ".var/app/md.obsidian.Obsidian/config/obsidian",
        "snap/obsidian/current/.config/obsidian",
        "Library/Application Support/obsidian",
    ];
    let mut vaults: Vec<(u64, String)> = Vec::new();
    for list in lists.map(|folder| home.join(folder).join("obsidian.json")) {
        let bytes = disk::read_at_most(&list, LIST_BYTES).unwrap_or_default();
        let list: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let known = list.get("vaults").and_then(Value::as_object).into_iter().flatten();
        vaults.extend(known.filter_map(|(_, vault)| {
            let path = vault.get("path")?.as_str()?;
            let used = vault.get("ts").and_then(Value::as_u64).unwrap_or_default();
            Path::new(path).is_dir().then(|| (used, path.to_owned()))
        }));
    }
    vaults.sort_unstable_by(|a, b| b.cmp(a));
    vaults.truncate(OFFERED);
    vaults.into_iter().map(|(_, path)| path).collect()
}

/// Asks until the answer is right. Without a terminal nobody can answer, and the flag is named.
pub(super) fn ask(
    question: &str,
    flag: &str,
    is_right: &dyn Fn(&str) -> Result<(), String>,
) -> Result<String, u8> {
    if !io::stdin().is_terminal() {
        return Err(fail(format!("init: without a terminal give {flag}"), WRONG));
    }
    loop {
        print_error(&format!("{question}: "));
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(0) => return Err(fail("nothing was written", FAILED)),
            Ok(_) => {}
            Err(error) => return Err(fail(error, FAILED)),
        }
        let answer = line.trim().to_owned();
        match is_right(&answer) {
            Ok(()) => return Ok(answer),
            Err(why) => print_error(&format!("  {why}\n")),
        }
    }
}
