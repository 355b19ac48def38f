//! `init`: from the program to a client that works. It asks for what no flag says, writes the
//! settings of a server, and prints the next lines.

use super::questions::{ask, ask_for_vault};
use super::{
    FAILED, WRONG, check, environment, fail, print, print_error, print_mistakes, probes, secrets,
};
use crate::cli::{Parsed, Raw};
use crate::config::{Config, Purpose, without_default_port};
use crate::disk;
use crate::settings::SETTINGS;
use crate::tools::Toolset;
use serde_json::json;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// Where the settings go, if no flag says it.
const FILE: &str = "vault-sync-mcp.env";
const UNIT: &str = include_str!("../../vault-sync-mcp.service");
/// Bytes of the list of users.
const USERS_BYTES: u64 = 1024 * 1024;
/// Characters of a password at least: a lane of the login takes 86,400 guesses a day.
const PASSWORD_CHARS: usize = 10;
/// How often two passwords may differ.
const PASSWORD_ATTEMPTS: usize = 3;
/// Settings that mean nothing to a program without a network.
const OF_NETWORK: [&str; 11] = [
    "LISTEN_ADDR",
    "SERVER_URL",
    "AUTH_USERS",
    "CLIENT_CREDENTIALS",
    "API_TOKENS",
    "REFRESH_WINDOW",
    "REDIRECT_HOSTS",
    "ALLOWED_ORIGINS",
    "ALLOWED_HOSTS",
    "TRUSTED_PROXIES",
    "MAX_CONNECTIONS",
];

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
        let named = |name: &str| name.eq_ignore_ascii_case(word);
        let found = by_number.or_else(|| Audience::ALL.iter().find(|(name, ..)| named(name)));
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
    let usual = Toolset::built_in().filter(|set| matches!(set, Toolset::Vault | Toolset::Notes));
    let usual: Vec<&str> = usual.map(Toolset::name).collect();
    raw.entry("TOOLSETS").or_insert_with(|| usual.join(","));
    match audience {
        Audience::ClaudeCode | Audience::Desktop => {
            let (config, mut mistakes) =
                Config::with_mistakes(&raw, Purpose::Local, &environment());
            probes::probe(&config, Purpose::Local, true, &mut mistakes, &mut Vec::new());
            if !mistakes.is_empty() {
                return Err(print_mistakes(mistakes.iter()));
            }
            raw.insert("VAULT_PATH", config.vault_path.display().to_string());
            let arguments = stdio_arguments(&raw);
            Ok(print(&match audience {
                Audience::Desktop => desktop_block(&arguments),
                _ => claude_code_line(&arguments),
            }))
        }
        Audience::Server => server(parsed, raw),
    }
}

/// The path of this program.
fn program() -> String {
    let path = std::env::current_exe().and_then(std::fs::canonicalize);
    path.map_or("vault-sync-mcp".into(), |path| path.display().to_string())
}

/// Where a service finds this program: where a package has put it, or where it is to be copied.
fn installed_program() -> String {
    let program = program();
    if program.starts_with("/usr/") { program } else { "/usr/local/bin/vault-sync-mcp".into() }
}

/// The program and its arguments, with which a client on this computer starts it.
fn stdio_arguments(raw: &Raw) -> Vec<String> {
    let mut arguments = vec![program(), "stdio".to_owned()];
    for setting in SETTINGS.iter().filter(|setting| !OF_NETWORK.contains(&setting.variable)) {
        let flag = setting.flag();
        match raw.get(setting.variable).filter(|_| !flag.is_empty()) {
            Some(value) if setting.placeholder.is_empty() => {
                arguments.push(format!("--{flag}={value}"));
            }
            Some(value) => arguments.extend([format!("--{flag}"), value.clone()]),
            None => {}
        }
    }
    arguments
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
    if file == unit {
        return Err(fail("--file is for the settings; the unit gets the ending .service", WRONG));
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    disk::try_writing(folder.unwrap_or(Path::new("."))).map_err(|error| {
        let shown = file.display();
        fail(format!("{shown} cannot be written here: {error}; --file FILE names another"), WRONG)
    })?;
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
        let without_slash = |url: &str| url.strip_suffix('/').unwrap_or(url).to_owned();
        let is_url_without_slash = |url: &str| is_url(&without_slash(url));
        let flag = "--server-url https://vault.example.com";
        let url = ask(question, flag, &is_url_without_slash)?;
        raw.insert("SERVER_URL", without_slash(&url));
    }
    // Before anybody thinks of a password.
    let (_, mut mistakes) = Config::with_mistakes(&raw, Purpose::Network, &environment());
    mistakes.retain(|mistake| mistake.setting != "AUTH_USERS");
    if !mistakes.is_empty() {
        return Err(print_mistakes(mistakes.iter()));
    }
    let has_logins = ["AUTH_USERS", "API_TOKENS", "CLIENT_CREDENTIALS"]
        .iter()
        .any(|name| raw.contains_key(name));
    if !has_logins || parsed.flag("user").is_some() {
        let is_name = |name: &str| {
            let words = "a name has letters, digits, - _ . only";
            crate::config::is_name(name).then_some(()).ok_or_else(|| words.to_owned())
        };
        let user = match parsed.flag("user") {
            Some(user) => user.to_owned(),
            None => ask("Your name at the login", "--user NAME", &is_name)?,
        };
        is_name(&user).map_err(|why| fail(format!("--user: {why}"), WRONG))?;
        raw.insert("AUTH_USERS", format!("{user}:{}", ask_for_hash()?));
    }
    let config = Config::read(&raw, Purpose::Network, &environment())
        .map_err(|mistakes| print_mistakes(mistakes.iter()))?;
    raw.insert("VAULT_PATH", config.vault_path.display().to_string());
    // The proxy on this machine is what it hears from; the log names its clients.
    if config.listen.ip().is_loopback() && config.origin.starts_with("https:") {
        let proxy = config.listen.ip().to_string();
        raw.entry("TRUSTED_PROXIES").or_insert(proxy);
    }
    match check::check(&raw) {
        0 => {}
        code => return Err(code),
    }
    let user = owner_of(&config.vault_path);
    write(&file, &settings_text(&raw))?;
    write(&unit, &unit_text(&config.vault_path, user.as_deref()))?;
    print(&format!("\nWritten: {} and {}\n", file.display(), unit.display()));
    print(&match &user {
        Some(user) => {
            format!("The service runs as {user}, whose vault it is (User= in the unit).\n")
        }
        None => {
            "Change User= in the unit to who owns the vault: nobody but root does now.\n".into()
        }
    });
    // Another user's files would not be the service's.
    let is_tried = owner_of(&file).is_some_and(|own| Some(own) == user);
    Ok(print(&next_lines(&config, &file, &unit, is_tried)))
}

/// The hash of a password that is asked for, on a terminal again if the two differ.
fn ask_for_hash() -> Result<String, u8> {
    let attempts = if io::stdin().is_terminal() { PASSWORD_ATTEMPTS } else { 1 };
    let mut asked = secrets::ask_for_hash(PASSWORD_CHARS);
    for _ in 1..attempts {
        if asked.is_err() {
            asked = secrets::ask_for_hash(PASSWORD_CHARS);
        }
    }
    asked
}

/// The name of the user who owns a folder, unless that is root or has none.
fn owner_of(folder: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let owner = folder.metadata().ok()?.uid().to_string();
    let users = disk::read_at_most(Path::new("/etc/passwd"), USERS_BYTES).ok()?;
    let users = String::from_utf8_lossy(&users);
    let mut names = users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id == owner && id != "0").then(|| name.to_owned())
    });
    names.next()
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

/// A value as systemd, podman and [`crate::env_file`] read it: podman knows no quotes.
fn file_value(value: &str) -> String {
    if !value.contains(|c: char| c.is_whitespace() || "'\"\\`".contains(c)) {
        return value.to_owned();
    }
    if !value.contains('\'') {
        return format!("'{value}'");
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$");
    format!("\"{}\"", escaped.replace('`', "\\`"))
}

/// The unit for this vault, and who owns it.
fn unit_text(vault: &Path, user: Option<&str>) -> String {
    let vault = vault.display().to_string();
    let vault = vault.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    let line = |line: &str| match (line.split_once('='), user) {
        (Some(("User", _)), Some(user)) => format!("User={user}\n"),
        (Some(("ReadWritePaths", _)), _) => format!("ReadWritePaths=\"{vault}\"\n"),
        (Some(("ExecStart", _)), _) => format!("ExecStart={} serve\n", installed_program()),
        _ => format!("{line}\n"),
    };
    UNIT.lines().map(line).collect()
}

/// `is_tried`: the service runs as the user who reads this.
fn next_lines(config: &Config, file: &Path, unit: &Path, is_tried: bool) -> String {
    let [file, unit] = [file, unit].map(|path| shell_word(&path.display().to_string()));
    let [program, installed] = [program(), installed_program()].map(|path| shell_word(&path));
    let install = match program == installed {
        true => String::new(),
        false => format!("  sudo install -m 755 {program} {installed}\n"),
    };
    let host = config.origin.strip_prefix("https://");
    let proxy = host.map_or(String::new(), |host| {
        let listen = config.listen;
        format!(
            "\nTLS by Caddy, in its Caddyfile:\n\n  {host} {{\n      reverse_proxy {listen}\n  }}\n"
        )
    });
    let url = without_default_port(&config.origin);
    let connect = match host {
        Some(_) => format!(
            "In Claude: Settings, Connectors, Add custom connector:\n\n  {url}/mcp\n\nBefore that, \
             from another machine: vault-sync-mcp check --server {url}/mcp\n"
        ),
        None => format!(
            "Clients on this computer alone can reach it, such as Claude Code:\n\n  claude mcp add \
             --transport http vault {url}/mcp\n"
        ),
    };
    let try_it = match is_tried {
        true => format!("\nTo try it at once:\n\n  {program} --env-file {file}\n"),
        false => String::new(),
    };
    format!(
        "{try_it}\nAs a service:\n\n{install}  sudo \
         install -m 600 {file} /etc/vault-sync-mcp.env\n  sudo install -m 644 {unit} /etc/systemd/system/vault-sync-mcp\
         .service\n  sudo systemctl daemon-reload\n  sudo systemctl enable vault-sync-mcp\n  sudo systemctl \
         restart vault-sync-mcp\n  rm {file} {unit}\n{proxy}\n{connect}"
    )
}

/// A word as a shell reads it.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-,:=@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
