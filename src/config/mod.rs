//! The configuration: the settings as typed, checked as a whole. A wrong one starts nothing, and
//! all mistakes are reported at once. The settings of a toolset are in the file of its name.

#[cfg(feature = "accomplishments")]
mod accomplishments;
#[cfg(feature = "agent")]
mod agent;
#[cfg(feature = "context")]
mod context;
#[cfg(feature = "git")]
mod git;
mod reader;
mod value;

use crate::cli::Raw;
use crate::network::Network;
use crate::oauth::{Logins, Policy};
use crate::settings::SETTINGS;
use crate::tools::{Options, Toolset};
use crate::vault::Hidden;
use log::LevelFilter;
use reader::Reader;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
pub use value::is_name;
pub(crate) use value::{state_folder, without_default_port};

/// Connections held open at once unless `--max-connections` says otherwise. About 20 kB of memory
/// each, so a full table costs a Pi 10 MB.
const CONNECTIONS_DEFAULT: usize = 512;
/// Requests in a handler at once, per processor core, unless `--workers` says otherwise: handlers
/// wait for disks.
const WORKERS_PER_CORE: usize = 8;

/// A finished configuration.
#[derive(Debug)]
pub struct Config {
    /// The vault's folder.
    pub vault_path: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The public origin; empty if SERVER_URL is not set, which only [`Purpose::Local`] allows.
    pub origin: String,
    /// Who may log in.
    pub logins: Logins,
    /// How strict the login is.
    pub policy: Policy,
    /// Where logins are kept.
    pub state_dir: Option<PathBuf>,
    /// Whether what tools replace is kept there.
    pub versions: bool,
    /// Whether there is a page for the owner at `/account`.
    pub account_page: bool,
    /// What is offered.
    pub toolsets: Vec<Toolset>,
    /// Offer nothing that writes.
    pub read_only: bool,
    /// How much of the vault is kept in memory.
    /// Files and folders that are hidden from every login.
    pub hidden: Arc<Hidden>,
    /// What tools need to know.
    pub options: Options,
    /// Where the commits of toolset `git` go.
    #[cfg(feature = "git")]
    pub git: crate::git::Options,
    /// Where projects are, for toolset `accomplishments`.
    #[cfg(feature = "accomplishments")]
    pub projects: Option<crate::accomplishments::Options>,
    /// How sessions are run, for toolset `agent`.
    #[cfg(feature = "agent")]
    pub agent: crate::agent::Options,
    /// Further browser origins.
    pub allowed_origins: Vec<String>,
    /// Further names under which clients reach this server.
    pub allowed_hosts: Vec<String>,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<Network>,
    /// Requests in handlers at once.
    pub workers: usize,
    /// Connections at once.
    pub max_connections: usize,
    /// What is logged.
    pub log_level: LevelFilter,
    /// Oddities that are not mistakes; to be logged.
    pub warnings: Vec<String>,
}

/// A mistake in the configuration: the setting, what is wrong, and what would be right. Never the
/// value of a secret.
#[derive(Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The variable's name.
    pub setting: &'static str,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = SETTINGS.iter().find(|row| row.variable == self.setting);
        let (flag, example) = row.map_or((String::new(), ""), |row| (row.flag(), row.example));
        let flag = if flag.is_empty() { String::new() } else { format!(" (--{flag})") };
        write!(
            f,
            "{}{flag} {}. Example: {}='{example}'",
            self.setting,
            self.what.trim_end_matches('.'),
            self.setting
        )
    }
}

/// What the configuration is for: a server on the network needs more settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// `serve`, `check` and `demo`.
    Network,
    /// `stdio`, and the commands that open the vault themselves: `undo`, `init-wiki`.
    Local,
}

/// What the environment has besides settings.
#[derive(Debug, Default)]
pub struct Environment {
    /// `HOME`.
    pub home: Option<String>,
    /// systemd's `STATE_DIRECTORY`.
    pub state_directory: Option<String>,
    /// `XDG_STATE_HOME`, or `.local/state` in `HOME`.
    pub state_home: Option<PathBuf>,
    /// The names of all variables, of which some may be misspelt settings.
    pub variables: Vec<String>,
}

impl Config {
    /// Checks what was typed.
    ///
    /// # Errors
    /// Every mistake.
    pub fn read(
        raw: &Raw,
        purpose: Purpose,
        environment: &Environment,
    ) -> Result<Config, Vec<Mistake>> {
        let (config, mistakes) = Config::with_mistakes(raw, purpose, environment);
        if mistakes.is_empty() { Ok(config) } else { Err(mistakes) }
    }

    /// The same, with a configuration even if there are mistakes, for commands that look for more
    /// of them. A wrong setting gets its default, or stays as it is; a wrong vault path is empty.
    pub fn with_mistakes(
        raw: &Raw,
        purpose: Purpose,
        environment: &Environment,
    ) -> (Config, Vec<Mistake>) {
        let mut reader = Reader { raw, environment, mistakes: Vec::new(), warnings: Vec::new() };
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let vault_path = reader.folder("VAULT_PATH");
        let workers =
            reader.number("WORKERS", cores.saturating_mul(WORKERS_PER_CORE).min(1024), 1, 1024);
        let state_dir = reader.state_dir(vault_path.as_deref());
        let origin = reader.origin(purpose);
        let config = Config {
            listen: reader.listen(),
            origin: origin.clone(),
            logins: Logins {
                users: reader.users(),
                machines: reader.secrets("CLIENT_CREDENTIALS"),
                tokens: reader.secrets("API_TOKENS"),
            },
            toolsets: reader.toolsets(),
            read_only: reader.is_on("READ_ONLY"),
            hidden: Arc::new(reader.hidden()),
            options: Options {
                read_lines: reader.number("READ_LINES", 200, 1, 100_000),
                local: purpose == Purpose::Local,
                origin,
                zone: reader.zone(),
                #[cfg(feature = "context")]
                default_context: reader.default_context(vault_path.as_deref()),
            },
            policy: reader.policy(),
            #[cfg(feature = "git")]
            git: reader.git(),
            #[cfg(feature = "accomplishments")]
            projects: reader.projects(),
            #[cfg(feature = "agent")]
            agent: reader.agent(state_dir.as_deref(), workers),
            versions: reader.is_not_off("VERSIONS"),
            account_page: reader.is_not_off("ACCOUNT_PAGE"),
            state_dir,
            allowed_origins: reader.origins(),
            allowed_hosts: reader.hosts(),
            trusted_proxies: reader.proxies(),
            workers,
            max_connections: reader.number("MAX_CONNECTIONS", CONNECTIONS_DEFAULT, 8, 100_000),
            log_level: reader.log_level(),
            warnings: Vec::new(),
            vault_path: vault_path.unwrap_or_default(),
        };
        reader.check_together(&config, purpose);
        reader.refuse_quoted();
        reader.misspelt();
        (Config { warnings: reader.warnings, ..config }, reader.mistakes)
    }
}

impl Reader<'_> {
    /// Checks settings that depend on each other.
    fn check_together(&mut self, config: &Config, purpose: Purpose) {
        let no_logins = config.logins.users.is_empty()
            && config.logins.machines.is_empty()
            && config.logins.tokens.is_empty();
        let is_reported = self.mistakes.iter().any(|mistake| {
            ["AUTH_USERS", "CLIENT_CREDENTIALS", "API_TOKENS"].contains(&mistake.setting)
        });
        if purpose == Purpose::Network && no_logins && !is_reported {
            self.add_mistake(
                "AUTH_USERS",
                "is required (or API_TOKENS, or CLIENT_CREDENTIALS): without one no login is \
                 possible",
            );
        }
        // A token is looked up by its hash: with two names, it would have the rights of the first.
        let mut names = BTreeMap::new();
        for (name, secret) in &config.logins.tokens {
            if let Some(other) = names.insert(secret.hash, name) {
                self.add_mistake(
                    "API_TOKENS",
                    format!(
                        "has one token as {other} and as {name}; make one for each with \
                         generate-token"
                    ),
                );
            }
        }
        if let Some(name) =
            config.logins.tokens.keys().find(|name| config.logins.machines.contains_key(*name))
        {
            self.warnings.push(format!(
                "{name} is in API_TOKENS and in CLIENT_CREDENTIALS: vault_history and undo take \
                 them for one login"
            ));
        }
        if config.origin.starts_with("https:")
            && config.listen.ip().is_unspecified()
            && self.mistakes.iter().all(|mistake| mistake.setting != "LISTEN_ADDR")
        {
            self.warnings.push(format!(
                "LISTEN_ADDR is {}: plain HTTP on every address of this machine. With the proxy \
                 on this machine too, set LISTEN_ADDR=127.0.0.1:{}; with the proxy elsewhere, the \
                 one address it uses",
                config.listen,
                config.listen.port()
            ));
        }
        #[cfg(feature = "agent")]
        if config.toolsets.contains(&Toolset::Agent) && !crate::agent::is_landlock_supported() {
            self.warnings.push(
                "This kernel has no Landlock: sessions of toolset agent are confined by the \
                 program's rules alone"
                    .into(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "$2b$12$v9sfTKp6k0XyzghU/i5S2ebLOiAb6L1VnvF3n3IQggHGZOjLkONIy";

    fn read(values: &[(&'static str, &str)]) -> Result<Config, Vec<Mistake>> {
        let raw: Raw = values.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Config::read(
            &raw,
            Purpose::Network,
            &Environment { home: Some("/home/alex".into()), ..Environment::default() },
        )
    }

    #[test]
    fn a_minimal_configuration_is_enough() {
        let users = format!("alex:{HASH}");
        let config = read(&[
            ("VAULT_PATH", "/tmp"),
            ("SERVER_URL", "https://v.example"),
            ("AUTH_USERS", &users),
        ])
        .unwrap();
        assert_eq!(config.listen.to_string(), "[::]:8090");
        assert_eq!((config.options.read_lines, config.read_only), (200, false));
        assert_eq!(config.toolsets, [Toolset::Vault]);
    }

    #[test]
    fn every_mistake_names_its_setting_and_no_secret() {
        let mistakes = read(&[
            ("VAULT_PATH", "notes"),
            ("LISTEN_ADDR", "8090"),
            ("SERVER_URL", "http://v.example/"),
            ("AUTH_USERS", "alex:hunter2secret,nocolon"),
            ("API_TOKENS", "a:topsecret"),
            ("CLIENT_CREDENTIALS", "b:topsecret"),
            ("STATE_DIR", "here"),
            ("TOOLSETS", "vault,cooking"),
            ("READ_ONLY", "maybe"),
            ("READ_LINES", "0"),
            ("ALLOWED_ORIGINS", "app.example"),
            ("TRUSTED_PROXIES", "proxy"),
            ("WORKERS", "many"),
            ("MAX_CONNECTIONS", "1"),
            ("LOG_LEVEL", "loud"),
        ])
        .unwrap_err();
        let named: std::collections::BTreeSet<&str> =
            mistakes.iter().map(|mistake| mistake.setting).collect();
        assert_eq!(named.len(), 15, "{mistakes:?}");
        let report: String = mistakes.iter().map(|mistake| format!("{mistake}\n")).collect();
        assert!(!report.contains("hunter2secret") && !report.contains("topsecret"), "{report}");
        assert!(report.contains("Example: VAULT_PATH='/data/obsidian-vault'"), "{report}");
        let nothing = read(&[]).unwrap_err();
        assert_eq!(
            nothing.iter().map(|mistake| mistake.setting).collect::<Vec<_>>(),
            ["VAULT_PATH", "SERVER_URL", "AUTH_USERS"]
        );
    }

    #[test]
    fn one_name_for_a_token_and_a_machine_client_is_reported() {
        let entry = format!("backup:{}", "0".repeat(64));
        let config = read(&[
            ("VAULT_PATH", "/tmp"),
            ("SERVER_URL", "https://v.example"),
            ("API_TOKENS", &entry),
            ("CLIENT_CREDENTIALS", &entry),
        ]);
        assert!(config.unwrap().warnings.iter().any(|warning| warning.starts_with("backup is in")));
    }

    #[test]
    fn one_token_under_two_names_is_refused() {
        let tokens = format!("b:{0}:read,a:{0}", "0".repeat(64));
        let mistakes = read(&[
            ("VAULT_PATH", "/tmp"),
            ("SERVER_URL", "https://v.example"),
            ("API_TOKENS", &tokens),
        ])
        .unwrap_err();
        assert!(mistakes.iter().any(|mistake| mistake.setting == "API_TOKENS"
            && mistake.what.contains("one token as a and as b")));
    }

    #[test]
    fn a_state_folder_inside_the_vault_is_refused() {
        let mistakes = read(&[
            ("VAULT_PATH", "/tmp"),
            ("SERVER_URL", "https://v.example"),
            ("AUTH_USERS", &format!("a:{HASH}")),
            ("STATE_DIR", "/tmp/state"),
        ]);
        assert!(mistakes.unwrap_err().iter().any(|mistake| mistake.setting == "STATE_DIR"));
    }
}
