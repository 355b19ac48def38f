//! The command line: which command, and the settings as typed. Nothing is looked up or checked beyond syntax.

use crate::settings::{self, SETTINGS};
use lexopt::{Arg, Parser, ValueExt};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::time::Duration;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// The HTTP server.
    Serve,
    /// The tools over stdin and stdout.
    Stdio,
    /// Everything with no configuration.
    Demo,
    /// Say what would be served, and every mistake.
    Check,
    /// Try the server at a URL from outside.
    CheckServer(String),
    /// Write the starter wiki.
    InitWiki,
    /// Check the wiki's rules.
    Lint {
        /// Have a session repair what breaks them.
        fix: bool,
    },
    /// List the sessions of toolset agent, and what they have cost.
    Jobs,
    /// Run a session; for the server itself.
    Supervise,
    /// List the grants.
    Grants,
    /// End a grant, or all of them without an id.
    Revoke(Option<String>),
    /// Take back what a login has done.
    Undo {
        /// Its id or name.
        login: String,
        /// How long ago it began.
        since: Duration,
        /// Only say what would be taken back.
        dry_run: bool,
    },
    /// Make a bcrypt hash.
    HashPassword,
    /// Make an API token of this name.
    GenerateToken(String),
    /// Print the help.
    Help,
    /// Print the version.
    Version,
}

/// Settings as typed: variable name to value. A flag wins over the variable; an empty variable counts as unset.
pub type Raw = BTreeMap<&'static str, String>;

/// A command line and an environment, read.
#[derive(Debug)]
pub struct Parsed {
    /// What to do, as far as it could be understood.
    pub command: Command,
    /// The settings.
    pub raw: Raw,
    /// Every mistake of the command line, in words.
    pub mistakes: Vec<String>,
}

/// Reads a command line and an environment.
pub fn parse(arguments: impl IntoIterator<Item = OsString>, environment: impl Fn(&str) -> Option<String>) -> Parsed {
    let mut raw: Raw = SETTINGS
        .iter()
        .filter_map(|setting| environment(setting.variable).filter(|value| !value.trim().is_empty()).map(|value| (setting.variable, value)))
        .collect();
    let mut words: Vec<String> = Vec::new();
    let mut mistakes = Vec::new();
    let (mut shown, mut all, mut fix, mut server) = (None, false, false, None);
    let (mut login, mut since, mut dry_run) = (None, None, false);
    let mut parser = Parser::from_args(arguments);
    loop {
        let argument = match parser.next() {
            Ok(Some(argument)) => argument,
            Ok(None) => break,
            Err(error) => {
                mistakes.push(error.to_string());
                break;
            }
        };
        match argument {
            Arg::Short('h') | Arg::Long("help") => shown = Some(Command::Help),
            Arg::Short('V') | Arg::Long("version") => shown = Some(Command::Version),
            Arg::Long("all") => all = true,
            Arg::Long("fix") => fix = true,
            Arg::Long("dry-run") => dry_run = true,
            Arg::Long(flag @ ("login" | "since")) => match (flag == "login", parser.value().and_then(|value| value.string())) {
                (true, Ok(value)) => login = Some(value),
                (false, Ok(value)) => since = Some(value),
                (true, Err(_)) => {
                    mistakes.push("--login needs the id of a grant (see grants), or the name of an API token or machine client".into())
                }
                (false, Err(_)) => mistakes.push("--since needs a time, for example 30m, 2h or 7d".into()),
            },
            Arg::Long("server") => match parser.value().and_then(|value| value.string()) {
                Ok(url) => server = Some(url),
                Err(_) => {
                    mistakes.push("--server needs the URL of a server, for example https://vault.example.com/mcp".into());
                    // Not the check of a configuration, whose mistakes would be reported too.
                    server = Some(String::new());
                }
            },
            Arg::Long(flag) => match settings::of_flag(flag) {
                None => {
                    let meant = settings::meant_by(flag).filter(|setting| !setting.flag().is_empty());
                    let hint = meant.map(|setting| format!(", --{} is", setting.flag())).unwrap_or_default();
                    mistakes.push(format!("--{flag} is not a flag{hint}; see --help"));
                    // Its value is not a command.
                    if meant.is_some_and(|setting| !setting.value.is_empty()) {
                        drop(parser.value());
                    }
                }
                Some(setting) if setting.value.is_empty() => {
                    let value = parser.optional_value().map_or_else(|| "true".into(), |value| value.to_string_lossy().into_owned());
                    raw.insert(setting.variable, value);
                }
                Some(setting) => match parser.value().and_then(|value| value.string()) {
                    Ok(value) => drop(raw.insert(setting.variable, value)),
                    Err(_) => mistakes.push(format!("--{} needs a value, for example {}", setting.flag(), setting.example)),
                },
            },
            Arg::Short(flag) => mistakes.push(format!("-{flag} is not a flag; see --help")),
            Arg::Value(word) => words.push(word.to_string_lossy().into_owned()),
        }
    }
    if let Some(command) = shown {
        return Parsed { command, raw, mistakes: Vec::new() };
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if all && words.first() != Some(&"revoke") {
        mistakes.push("--all belongs to revoke; see --help".into());
    }
    if fix && words != ["lint"] {
        mistakes.push("--fix belongs to lint; see --help".into());
    }
    if server.is_some() && words != ["check"] {
        mistakes.push("--server belongs to check; see --help".into());
    }
    if (login.is_some() || since.is_some() || dry_run) && words != ["undo"] {
        mistakes.push("--login, --since and --dry-run belong to undo; see --help".into());
    }
    let command = match words.as_slice() {
        [] | ["serve"] => Command::Serve,
        ["stdio"] => Command::Stdio,
        ["demo"] => Command::Demo,
        ["check"] => server.map_or(Command::Check, Command::CheckServer),
        ["grants"] => Command::Grants,
        ["revoke"] if all => Command::Revoke(None),
        ["revoke", id] if !all => Command::Revoke(Some((*id).into())),
        ["revoke", ..] => {
            mistakes.push("revoke needs the id of a grant (see grants), or --all".into());
            Command::Help
        }
        ["undo"] => match (login, since.as_deref().and_then(duration)) {
            (Some(login), Some(since)) => Command::Undo { login, since, dry_run },
            _ => {
                mistakes.push("undo needs --login ID (see grants, or the name of an API token) and --since TIME (30m, 2h, 7d)".into());
                Command::Help
            }
        },
        ["init-wiki"] => Command::InitWiki,
        ["lint"] => Command::Lint { fix },
        ["jobs"] => Command::Jobs,
        ["supervise"] => Command::Supervise,
        ["hash-password"] => Command::HashPassword,
        ["generate-token"] => Command::GenerateToken("token".into()),
        ["generate-token", name] => Command::GenerateToken((*name).into()),
        ["help"] => Command::Help,
        [known, ..] if COMMANDS.contains(known) => {
            mistakes.push(format!("{known} takes no further words; see --help"));
            Command::Help
        }
        [other, ..] => {
            let is_near = |known: &&&str| strsim::osa_distance(known, other) <= 2 || known.len() > 3 && other.starts_with(**known);
            let meant = COMMANDS.iter().filter(is_near).min_by_key(|known| strsim::osa_distance(known, other));
            let meant = if ["server", "run", "start", "http"].contains(other) { Some(&"serve") } else { meant };
            let meant = meant.map(|meant| format!(" Is {meant} meant?")).unwrap_or_default();
            mistakes.push(format!("{other:?} is not a command; see --help.{meant}"));
            Command::Help
        }
    };
    Parsed { command, raw, mistakes }
}

const COMMANDS: [&str; 14] = [
    "serve",
    "stdio",
    "demo",
    "check",
    "grants",
    "revoke",
    "undo",
    "init-wiki",
    "lint",
    "jobs",
    "hash-password",
    "generate-token",
    "supervise",
    "help",
];

/// A number of minutes, hours or days: `30m`, `2h`, `7d`.
fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    Some(Duration::from_secs(number.parse::<u32>().ok()? as u64 * seconds))
}

/// The text of `--help`.
pub fn help() -> String {
    let mut text = String::from(
        "vault-sync-mcp: an Obsidian vault for Claude and other MCP clients

Usage: vault-sync-mcp [COMMAND] [FLAGS]

Commands:
  serve                  the HTTP server (what happens without a command)
  stdio                  the same tools over stdin and stdout, for clients on this machine
  demo                   a sample vault with a login, ready to try; no configuration
  check                  say what would be served, and every mistake in the configuration
  check --server URL     try a server from outside, through its proxy, as Claude would (needs curl)
  init-wiki              write the starter wiki of toolset agent into the vault, over nothing
  lint                   check the rules of that wiki; a table, and exit code 1 if something is wrong
  lint --fix             have a session of toolset agent repair it: one change, which undo --login owner takes back
  jobs                   list the sessions of toolset agent: who, what, model, turns, dollars, pages; from the state folder
  supervise              for the server itself, which runs its sessions with it
  grants                 list who is logged in: user, client, scope, when; from the state folder
  revoke ID | --all      end a grant, or all of them, at once, also while the server runs
  undo --login ID --since TIME [--dry-run]
                         take back all that a login has changed since (30m, 2h, 7d), also while the server runs; what was
                         changed since is left alone and named
  hash-password          make the bcrypt hash of a password, for AUTH_USERS
  generate-token [NAME]  make an API token and its entry for API_TOKENS

Settings, as flag or environment variable; the flag wins:
",
    );
    for setting in SETTINGS {
        let value = if setting.value.is_empty() { String::new() } else { format!(" {}", setting.value) };
        let default = if setting.default.is_empty() { String::new() } else { format!(" Default: {}", setting.default) };
        // Writing to a String cannot fail.
        let _ = match setting.flag().as_str() {
            "" => write!(text, "  {}={}\n      {}{default}\n", setting.variable, setting.value, setting.help),
            flag => write!(text, "  --{flag}{value}  ({})\n      {}{default}\n", setting.variable, setting.help),
        };
    }
    text.push_str("\n  -h, --help     this text\n  -V, --version  the version\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str], variables: &[(&str, &str)]) -> Result<(Command, Raw), Vec<String>> {
        let lookup = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let parsed = super::parse(words.iter().map(OsString::from), lookup);
        if parsed.mistakes.is_empty() { Ok((parsed.command, parsed.raw)) } else { Err(parsed.mistakes) }
    }

    #[test]
    fn a_flag_wins_and_an_empty_variable_is_unset() {
        let (command, raw) =
            parse(&["--read-lines", "5", "--read-only"], &[("READ_LINES", "7"), ("VAULT_PATH", ""), ("LOG_LEVEL", "warn")]).unwrap();
        assert_eq!(command, Command::Serve);
        assert_eq!(raw.get("READ_LINES").map(String::as_str), Some("5"));
        assert_eq!(raw.get("READ_ONLY").map(String::as_str), Some("true"));
        assert_eq!(raw.get("LOG_LEVEL").map(String::as_str), Some("warn"));
        assert!(!raw.contains_key("VAULT_PATH"));
        let (_, raw) = parse(&["check", "--read-only=false"], &[]).unwrap();
        assert_eq!(raw.get("READ_ONLY").map(String::as_str), Some("false"));
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        let mistakes = parse(&["sing", "--volume", "--port=1", "-x"], &[]).unwrap_err();
        assert_eq!(mistakes.len(), 4, "{mistakes:?}");
        assert!(parse(&["stdio", "now"], &[]).is_err());
        assert_eq!(parse(&["--nonsense", "--help"], &[]).unwrap().0, Command::Help);
    }

    #[test]
    fn help_names_every_setting() {
        for setting in SETTINGS {
            let flag = if setting.flag().is_empty() { String::new() } else { format!("--{} ", setting.flag()) };
            assert!(help().contains(flag.trim_end()) && help().contains(setting.variable), "{}", setting.variable);
        }
    }
}
