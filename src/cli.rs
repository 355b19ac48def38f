//! The command line: which command, and the settings as typed. Nothing is looked up or checked
//! beyond syntax.

use crate::settings::{self, SETTINGS, Setting};
use lexopt::{Arg, Parser, ValueExt};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

struct Command {
    name: &'static str,
    usage: &'static str,
    /// Its own flags; those that take a value end in `=`.
    flags: &'static [&'static str],
    /// The positional arguments that it takes at most.
    arguments: usize,
    /// The settings that it needs, or that are most often given.
    settings: &'static [&'static str],
    /// What it does.
    about: &'static str,
}

macro_rules! commands {
    ($($name:literal $usage:literal [$($flag:literal)*] $arguments:literal [$($setting:literal)*] $about:literal;)*) => {
        &[$(Command {
            name: $name,
            usage: $usage,
            flags: &[$($flag),*],
            arguments: $arguments,
            settings: &[$($setting),*],
            about: $about,
        }),*]
    };
}

/// The flag of every command: a file of settings, for those that are neither flags nor variables.
pub const ENV_FILE: &str = "env-file";

static COMMANDS: &[Command] = commands! {
    "serve" "serve" [] 0
        ["VAULT_PATH" "SERVER_URL" "AUTH_USERS" "LISTEN_ADDR" "TOOLSETS" "STATE_DIR"]
        "the HTTP server (the default command)";
    "stdio" "stdio" [] 0 ["VAULT_PATH" "TOOLSETS" "READ_ONLY" "STATE_DIR"]
        "the same tools over stdin and stdout, for clients on this machine";
    "demo" "demo" [] 0 ["LISTEN_ADDR" "TOOLSETS"]
        "a sample vault with a login, ready to try; no configuration";
    "init" "init [--for code|desktop|server] [--user NAME] [--file FILE] [--force]"
        ["for=" "user=" "file=" "force"] 0 ["VAULT_PATH" "SERVER_URL" "LISTEN_ADDR" "TOOLSETS"]
        "set it up: for Claude on this computer (prints a line), or as a server (writes FILE, vault-sync-mcp.env unless another is named, and a unit beside it; --force sets older ones aside). Asks what no flag says; NAME is who logs in, and without a terminal the password is the first line of stdin";
    "check" "check [--server URL]" ["server="] 0 ["VAULT_PATH" "SERVER_URL" "AUTH_USERS"]
        "show what would be served, and every mistake in the configuration; or test a server from outside, through its proxy, as Claude would (needs curl)";
    "init-wiki" "init-wiki" [] 0 ["VAULT_PATH"]
        "write the starter wiki of toolset agent into the vault, overwriting nothing";
    "grants" "grants" [] 0 ["STATE_DIR" "VAULT_PATH"]
        "list who is logged in: user, client, scope, when; from the state folder";
    "revoke" "revoke ID | --all" ["all"] 1 ["STATE_DIR" "VAULT_PATH"]
        "end a grant, or all of them, at once, also while the server runs";
    "undo" "undo --login ID --since TIME [--dry-run]" ["login=" "since=" "dry-run"] 0
        ["VAULT_PATH" "STATE_DIR"]
        "undo all that a login has changed in that time (30m, 2h, 7d), also while the server runs; what others changed after it is left alone and listed. ID is one of grants, the name of an API token or machine client, local for stdio, or owner for what undo or /account took back; --dry-run only lists it";
    "hash-password" "hash-password" [] 0 [] "hash a password with bcrypt, for AUTH_USERS";
    "generate-token" "generate-token [NAME]" [] 1 [] "make an API token and its entry for API_TOKENS";
    "help" "help [COMMAND | settings]" [] 1 [] "this text, that of a command, or all settings";
};

/// Settings as typed: variable name to value. A flag wins over the variable; an empty variable
/// counts as unset.
pub type Raw = BTreeMap<&'static str, String>;

/// A command line and an environment, read.
#[derive(Debug)]
pub struct Parsed {
    /// The name of the command, or `version`; `help` if the command or what belongs to it is
    /// wrong: then the configuration is not checked.
    pub command: &'static str,
    pub words: Vec<String>,
    /// The command's own flags with their values.
    flags: BTreeMap<&'static str, String>,
    pub raw: Raw,
    /// Every mistake on the command line, as a message.
    pub mistakes: Vec<String>,
}

/// Reads a command line and an environment.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl Fn(&str) -> Option<String>,
) -> Parsed {
    let set = SETTINGS
        .iter()
        .filter_map(|setting| Some((setting.variable, environment(setting.variable)?)));
    let raw = set.filter(|(_, value)| !value.trim().is_empty()).collect();
    let mut parsed = Parsed {
        command: "serve",
        words: Vec::new(),
        flags: BTreeMap::new(),
        raw,
        mistakes: Vec::new(),
    };
    let mut parser = Parser::from_args(arguments);
    loop {
        match parser.next() {
            Ok(Some(Arg::Short('h') | Arg::Long("help"))) => {
                parsed.words.truncate(1);
                return Parsed { command: "help", mistakes: Vec::new(), ..parsed };
            }
            Ok(Some(Arg::Short('V') | Arg::Long("version"))) => {
                return Parsed { command: "version", mistakes: Vec::new(), ..parsed };
            }
            Ok(Some(Arg::Long(flag))) => {
                let flag = flag.to_owned();
                parsed.read_flag(&flag, &mut parser);
            }
            Ok(Some(Arg::Short(flag))) => {
                parsed.mistakes.push(format!("-{flag} is not a flag; see --help"))
            }
            Ok(Some(Arg::Value(word))) => parsed.words.push(word.to_string_lossy().into_owned()),
            Ok(None) => break,
            Err(error) => {
                parsed.mistakes.push(error.to_string());
                break;
            }
        }
    }
    parsed.find_command();
    parsed
}

impl Parsed {
    fn read_flag(&mut self, flag: &str, parser: &mut Parser) {
        if flag == ENV_FILE {
            match parser.value().and_then(|value| value.string()) {
                Ok(file) => drop(self.flags.insert(ENV_FILE, file)),
                Err(_) => self.mistakes.push(format!("--{ENV_FILE} needs a file")),
            }
            return;
        }
        let own = COMMANDS
            .iter()
            .flat_map(|command| command.flags)
            .find(|own| own.trim_end_matches('=') == flag);
        if let Some(own) = own {
            let value = if own.ends_with('=') {
                parser.value().and_then(|value| value.string())
            } else {
                Ok(String::new())
            };
            if value.is_err() {
                self.mistakes.push(format!("--{flag} needs a value; see --help"));
            }
            self.flags.insert(own.trim_end_matches('='), value.unwrap_or_default());
            return;
        }
        let Some(setting) = settings::of_flag(flag) else {
            let meant = settings::meant_by(flag);
            let hint = meant
                .filter(|setting| !setting.flag().is_empty())
                .map(|setting| format!(", --{} is", setting.flag()));
            self.mistakes
                .push(format!("--{flag} is not a flag{}; see --help", hint.unwrap_or_default()));
            // Its value may be a secret, and must not be taken for an argument, which a message
            // would repeat.
            let takes_value = meant.is_none_or(|setting| !setting.placeholder.is_empty());
            let is_value = |word: &OsStr| {
                let word = word.to_string_lossy();
                !word.starts_with("--")
                    && !["-h", "-V"].contains(&&*word)
                    && COMMANDS.iter().all(|command| word != command.name)
            };
            if parser.optional_value().is_none()
                && takes_value
                && let Some(mut rest) = parser.try_raw_args()
            {
                rest.next_if(|word| meant.is_some() || is_value(word));
            }
            return;
        };
        let value = match setting.placeholder {
            "" => Ok(parser
                .optional_value()
                .map_or_else(|| "true".into(), |value| value.to_string_lossy().into_owned())),
            _ => parser.value().and_then(|value| value.string()),
        };
        match value {
            Ok(value) => drop(self.raw.insert(setting.variable, value)),
            Err(_) => self
                .mistakes
                .push(format!("--{flag} needs a value, for example {}", setting.example)),
        }
    }

    /// Takes the command from the positional arguments, and checks the others and the flags.
    fn find_command(&mut self) {
        let first = if self.words.is_empty() { "serve".to_owned() } else { self.words.remove(0) };
        let Some(Command { name, flags: own, arguments, .. }) =
            COMMANDS.iter().find(|command| command.name == first)
        else {
            let is_near = |known: &&str| {
                strsim::osa_distance(known, &first) <= 2
                    || known.len() > 3 && first.starts_with(*known)
            };
            let near = COMMANDS
                .iter()
                .map(|command| command.name)
                .filter(is_near)
                .min_by_key(|known| strsim::osa_distance(known, &first));
            let meant = if ["server", "run", "start", "http"].contains(&&*first) {
                Some("serve")
            } else {
                near
            };
            let meant = match meant {
                _ if settings::switch(&first).is_some() => {
                    " A switch has its value after =, as in --read-only=false".to_owned()
                }
                meant => meant.map(|meant| format!(" Did you mean {meant}?")).unwrap_or_default(),
            };
            self.mistakes.push(format!("{first:?} is not a command; see --help.{meant}"));
            self.command = "help";
            return;
        };
        let before = self.mistakes.len();
        if self.words.len() > *arguments {
            let word = self.words.last().map(String::as_str).unwrap_or_default();
            self.mistakes.push(format!(
                "{name} does not take {word:?}: a path with spaces needs quotes, and a switch has \
                 its value after =, as in --read-only=false"
            ));
        }
        for flag in self
            .flags
            .keys()
            .filter(|flag| **flag != ENV_FILE)
            .filter(|flag| !own.iter().any(|own| own.trim_end_matches('=') == **flag))
        {
            self.mistakes.push(format!("--{flag} does not belong to {name}; see --help"));
        }
        if before == 0
            && *name == "revoke"
            && self.words.is_empty() != self.flags.contains_key("all")
        {
            self.mistakes.push("revoke needs the id of a grant (see grants), or --all".into());
        }
        if let Some(since) = self.flags.get("since").filter(|_| self.since().is_none()) {
            self.mistakes.push(format!("undo: --since {since:?} is no time such as 30m, 2h or 7d"));
        } else if *name == "undo"
            && !["login", "since"].iter().all(|flag| self.flags.contains_key(flag))
        {
            self.mistakes.push(
                "undo needs --login ID (see grants; the name of an API token or machine client; \
                 local for stdio) and --since TIME (30m, 2h, 7d)"
                    .into(),
            );
        }
        self.command = if self.mistakes.len() > before { "help" } else { name };
    }

    /// Takes settings from a file, but for those that were typed or are in the environment.
    pub fn add_file(&mut self, settings: Vec<(String, String)>) {
        // Of two lines with one name the last one counts.
        let settings: BTreeMap<String, String> = settings.into_iter().collect();
        for (name, value) in settings {
            if let Some(setting) = SETTINGS.iter().find(|setting| setting.variable == name) {
                if !value.trim().is_empty() {
                    self.raw.entry(setting.variable).or_insert(value);
                }
            } else if let Some(meant) = settings::meant_by(&name) {
                let meant = meant.variable;
                self.mistakes.push(format!("--{ENV_FILE}: {name} is not a setting; {meant} is"));
            }
        }
    }

    /// The value of a flag, if it was given; empty for one that takes none.
    pub fn flag(&self, name: &str) -> Option<&str> {
        self.flags.get(name).map(String::as_str)
    }

    /// The time of `--since`.
    pub fn since(&self) -> Option<Duration> {
        duration(self.flags.get("since")?)
    }
}

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

/// Characters in a line of help.
const WIDTH: usize = 100;

/// Words in lines, each behind `indent` spaces.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if indent + line.len() + 1 + word.len() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| format!("{:indent$}{line}\n", "")).collect()
}

fn setting_help(setting: &Setting) -> String {
    let head = match (setting.flag().as_str(), setting.placeholder) {
        ("", placeholder) => format!("{}={placeholder}", setting.variable),
        (flag, "") => format!("--{flag}  ({})", setting.variable),
        (flag, placeholder) => format!("--{flag} {placeholder}  ({})", setting.variable),
    };
    let default = match setting.default {
        "" => String::new(),
        default => format!(" Default: {default}"),
    };
    format!("  {head}\n{}", wrapped(&format!("{}{default}", setting.help), 6))
}

/// The text of `--help`, of that of a command, or of `help settings`.
pub fn help(topic: Option<&str>) -> String {
    let program = "vault-sync-mcp";
    let named = |name: &str| COMMANDS.iter().find(|command| command.name == name);
    if topic == Some("settings") {
        let settings: String = SETTINGS.iter().map(setting_help).collect();
        return format!(
            "Settings, as flag, environment variable or in --env-file FILE; the first wins:\n\
             {settings}"
        );
    }
    if let Some(Command { name, usage, settings, about, .. }) = topic.and_then(named)
        && *name != "help"
    {
        let own = SETTINGS.iter().filter(|setting| settings.contains(&setting.variable));
        let own: String = own.map(setting_help).collect();
        let all = "Settings, as flag or environment variable, or in --env-file FILE; help settings \
                   has all:";
        let own = if own.is_empty() { own } else { format!("\n{all}\n{own}") };
        return format!("Usage: {program} {usage}\n\n{}{own}", wrapped(about, 0));
    }
    let mut text = format!(
        "{program}: an Obsidian vault for Claude and other MCP clients\n\nUsage: {program} [COMMAND] \
         [FLAGS]\n\nCommands:\n"
    );
    for Command { name, about, .. } in COMMANDS {
        let first = about.split([';', '(']).next().unwrap_or(about).trim();
        text += &format!("  {name:16}{first}\n");
    }
    text + "\n  COMMAND --help   its flags\n  help settings    all settings, which are flags or \
            environment variables\n  --env-file FILE  settings from a file, as systemd reads \
            it\n  -V, --version    the version\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<(&'static str, Raw), Vec<String>> {
        let lookup = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let parsed = super::parse(words.iter().map(OsString::from), lookup);
        if parsed.mistakes.is_empty() {
            Ok((parsed.command, parsed.raw))
        } else {
            Err(parsed.mistakes)
        }
    }

    #[test]
    fn a_flag_wins_and_an_empty_variable_is_unset() {
        let (command, raw) = parse(
            &["--read-lines", "5", "--read-only"],
            &[("READ_LINES", "7"), ("VAULT_PATH", ""), ("LOG_LEVEL", "warn")],
        )
        .unwrap();
        assert_eq!(command, "serve");
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
        assert_eq!(parse(&["--nonsense", "--help"], &[]).unwrap().0, "help");
    }

    #[test]
    fn help_names_every_setting() {
        for setting in SETTINGS {
            let flag = if setting.flag().is_empty() {
                String::new()
            } else {
                format!("--{} ", setting.flag())
            };
            assert!(
                help(Some("settings")).contains(flag.trim_end())
                    && help(Some("settings")).contains(setting.variable),
                "{}",
                setting.variable
            );
        }
    }
}
