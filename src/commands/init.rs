//! `init`: from the program to a client that works. It asks for what no flag says, writes the
//! settings of a server, and prints the next lines.

use super::{FAILED, WRONG, check, environment, fail, print, print_error, print_mistakes, secrets};
use crate::cli::{Parsed, Raw};
use crate::config::{Config, Purpose, without_default_port};
use crate::disk;
use serde_json::{Value, json};
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

/// Where the settings go, if no flag says it.
const FILE: &str = "vault-sync-mcp.env";
const UNIT: &str = include_str!("../../vault-sync-mcp.service");
/// Bytes of Obsidian's list of vaults.
const LIST_BYTES: u64 = 1024 * 1024;
/// Vaults of that list that are offered.
const OFFERED: usize = 20;

/// For whom the vault is served.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    ClaudeCode,
    Desktop,
    Server,
}

impl Audience {
    /// With the word for it.
    const ALL: [(&str, &str, Audience); 3] = [
        ("code", "Claude Code on this computer", Audience::ClaudeCode),
        ("desktop", "Claude Desktop on this computer", Audience::Desktop),
        ("server", "a server, for Claude on the web and on phones", Audience::Server),
    ];

    fn of(word: &str) -> Option<Audience> {
        let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let by_number = number.and_then(|number| Audience::ALL.get(number));
        let found = by_number.or_else(|| Audience::ALL.iter().find(|(name, ..)| *name == word));
        found.map(|(.., audience)| *audience)
    }
}

/// # Errors
/// The exit code, after printing why.
pub(super) fn init(parsed: &Parsed) -> Result<u8, u8> {
    let mut raw = parsed.raw.clone();
    if !raw.contains_key("VAULT_PATH") {
        raw.insert("VAULT_PATH", ask_for_vault()?);
    }
    let is_audience = |word: &str| {
        let words = "give code, desktop or server";
        Audience::of(word).map(drop).ok_or_else(|| words.to_owned())
    };
    let audience = match parsed.flag("for") {
        Some(word) => word.to_owned(),
        None => {
            print_error("For whom?\n");
            for (number, (_, about, _)) in (1..).zip(Audience::ALL) {
                print_error(&format!("  {number}  {about}\n"));
            }
            ask("Number", "--for code, desktop or server", &is_audience)?
        }
    };
    let Some(audience) = Audience::of(&audience) else {
        return Err(fail("--for has to be code, desktop or server", WRONG));
    };
    raw.entry("TOOLSETS").or_insert_with(|| "vault,notes".into());
    match audience {
        Audience::ClaudeCode | Audience::Desktop => {
            Config::read(&raw, Purpose::Local, &environment())
                .map_err(|mistakes| print_mistakes(mistakes.iter()))?;
            let arguments = stdio_arguments(&raw);
            Ok(print(&match audience {
                Audience::Desktop => desktop_block(&arguments),
                _ => claude_code_line(&arguments),
            }))
        }
        Audience::Server => server(parsed, raw),
    }
}

/// The program and its arguments, with which a client on this computer starts it.
fn stdio_arguments(raw: &Raw) -> Vec<String> {
    let program = std::env::current_exe().and_then(std::fs::canonicalize);
    let program = program.map_or("vault-sync-mcp".into(), |path| path.display().to_string());
    let vault = raw.get("VAULT_PATH").cloned().unwrap_or_default();
    let toolsets = raw.get("TOOLSETS").cloned().unwrap_or_default();
    [&program, "stdio", "--vault-path", &vault, "--toolsets", &toolsets].map(str::to_owned).into()
}

fn claude_code_line(arguments: &[String]) -> String {
    let words: Vec<String> = arguments.iter().map(|word| shell_word(word)).collect();
    format!(
        "In a terminal, once; then the vault is there in every project:\n\n  claude mcp add --scope \
         user vault -- {}\n",
        words.join(" ")
    )
}

fn desktop_block(arguments: &[String]) -> String {
    let (program, rest) = arguments.split_first().map_or(("", &[][..]), |(a, b)| (a.as_str(), b));
    let block = json!({ "mcpServers": { "vault": { "command": program, "args": rest } } });
    format!(
        "In Claude Desktop: Settings, Developer, Edit Config. The file gets this; then start \
         Claude Desktop again:\n\n{block:#}\n"
    )
}

/// Writes the settings and the unit of a server, and says what to do with them.
fn server(parsed: &Parsed, mut raw: Raw) -> Result<u8, u8> {
    let file = PathBuf::from(parsed.flag("file").unwrap_or(FILE));
    let unit = file.with_extension("service");
    let is_forced = parsed.flag("force").is_some();
    for path in [&file, &unit] {
        if path.symlink_metadata().is_ok() && !is_forced {
            let shown = path.display();
            return Err(fail(format!("{shown} exists; --force sets it aside as .old"), WRONG));
        }
    }
    raw.entry("LISTEN_ADDR").or_insert_with(|| "127.0.0.1:8090".into());
    if !raw.contains_key("SERVER_URL") {
        let is_url = |url: &str| {
            let mut tried = raw.clone();
            tried.insert("SERVER_URL", url.to_owned());
            let (_, mistakes) = Config::with_mistakes(&tried, Purpose::Network, &environment());
            let wrong = mistakes.iter().find(|mistake| mistake.setting == "SERVER_URL");
            wrong.map_or(Ok(()), |mistake| Err(mistake.what.clone()))
        };
        let question = "Its URL, such as https://vault.example.com";
        let url = ask(question, "--server-url https://vault.example.com", &is_url)?;
        raw.insert("SERVER_URL", url);
    }
    // Before anybody thinks of a password.
    let (_, mut mistakes) = Config::with_mistakes(&raw, Purpose::Network, &environment());
    mistakes.retain(|mistake| mistake.setting != "AUTH_USERS");
    if !mistakes.is_empty() {
        return Err(print_mistakes(mistakes.iter()));
    }
    if !raw.contains_key("AUTH_USERS") {
        let is_name = |name: &str| {
            let words = "a name has letters, digits, - _ . only";
            crate::config::is_name(name).then_some(()).ok_or_else(|| words.to_owned())
        };
        let user = match parsed.flag("user") {
            Some(user) => user.to_owned(),
            None => ask("Your name at the login", "--user NAME", &is_name)?,
        };
        is_name(&user).map_err(|why| fail(format!("--user: {why}"), WRONG))?;
        raw.insert("AUTH_USERS", format!("{user}:{}", secrets::ask_for_hash()?));
    }
    let config = Config::read(&raw, Purpose::Network, &environment())
        .map_err(|mistakes| print_mistakes(mistakes.iter()))?;
    write(&file, &settings_text(&raw))?;
    write(&unit, &unit_text(&config.vault_path))?;
    print(&format!("Written: {} and {}\n\n", file.display(), unit.display()));
    let code = check::check(&raw);
    print(&next_lines(&config, &file, &unit));
    Ok(code)
}

/// Writes a file that only its owner can read; what was there is set aside.
fn write(file: &Path, text: &str) -> Result<(), u8> {
    let mut old = file.as_os_str().to_owned();
    old.push(".old");
    disk::none_if_missing(disk::set_aside(file, Path::new(&old)))
        .and_then(|_| disk::write_new(file, text.as_bytes()))
        .map_err(|error| fail(format!("{} cannot be written: {error}", file.display()), FAILED))
}

fn settings_text(raw: &Raw) -> String {
    let lines = raw.iter().map(|(name, value)| format!("{name}={}\n", file_value(value)));
    format!(
        "# Settings of vault-sync-mcp; systemd and --env-file read them.\n{}",
        lines.collect::<String>()
    )
}

/// A value as both systemd and [`crate::env_file`] read it.
fn file_value(value: &str) -> String {
    if !value.contains('\'') {
        return format!("'{value}'");
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$");
    format!("\"{}\"", escaped.replace('`', "\\`"))
}

/// The unit for the person who runs this, whose vault it is.
fn unit_text(vault: &Path) -> String {
    let user = std::env::var("USER").ok().filter(|user| user != "root");
    let vault = vault.display().to_string();
    let vault = if vault.contains(' ') { format!("\"{vault}\"") } else { vault };
    let line = |line: &str| match (line.split_once('='), &user) {
        (Some(("User", _)), Some(user)) => format!("User={user}\n"),
        (Some(("ReadWritePaths", _)), _) => format!("ReadWritePaths={vault}\n"),
        _ => format!("{line}\n"),
    };
    UNIT.lines().map(line).collect()
}

fn next_lines(config: &Config, file: &Path, unit: &Path) -> String {
    let [file, unit] = [file, unit].map(|path| shell_word(&path.display().to_string()));
    let program = std::env::current_exe()
        .map_or("vault-sync-mcp".into(), |path| shell_word(&path.display().to_string()));
    let host = config.origin.strip_prefix("https://");
    let proxy = host.map_or(String::new(), |host| {
        let listen = config.listen;
        format!(
            "\nTLS by Caddy, in its Caddyfile:\n\n  {host} {{\n      reverse_proxy {listen}\n  }}\n"
        )
    });
    format!(
        "\nTo try it at once:\n\n  {program} --env-file {file}\n\nAs a service:\n\n  sudo install \
         -m 755 {program} /usr/local/bin/vault-sync-mcp\n  sudo install -m 600 {file} \
         /etc/vault-sync-mcp.env\n  sudo install -m 644 {unit} /etc/systemd/system/vault-sync-mcp\
         .service\n  sudo systemctl enable --now vault-sync-mcp\n{proxy}\nIn Claude: Settings, \
         Connectors, Add custom connector:\n\n  {}/mcp\n",
        without_default_port(&config.origin)
    )
}

/// The path of the vault that a person chooses, of those that Obsidian knows or any other.
fn ask_for_vault() -> Result<String, u8> {
    let known = obsidian_vaults();
    if !known.is_empty() && io::stdin().is_terminal() {
        print_error("Vaults that Obsidian knows here:\n");
        for (number, path) in (1..).zip(&known) {
            print_error(&format!("  {number}  {path}\n"));
        }
    }
    let chosen = |answer: &str| -> Option<PathBuf> {
        let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let path = number.and_then(|number| known.get(number)).map_or(answer, String::as_str);
        let path = match path.strip_prefix("~/") {
            Some(rest) => std::env::home_dir()?.join(rest),
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
fn ask(
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

/// A word as a shell reads it.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-,:=@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
