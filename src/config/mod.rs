//! The configuration: what was typed, checked as a whole. A wrong one starts nothing, and all mistakes are told at once.
//! What belongs to one toolset is in the file of its name.

#[cfg(feature = "accomplishments")]
mod accomplishments;
#[cfg(feature = "agent")]
mod agent;
#[cfg(feature = "context")]
mod context;
#[cfg(feature = "git")]
mod git;

use crate::calendar::Zone;
use crate::cli::Raw;
use crate::limits;
use crate::oauth::{Logins, Policy, Secret};
use crate::principal::Access;
use crate::secret::SecretHash;
use crate::settings::{self, SETTINGS};
use crate::tools::{Options, Toolset};
use crate::vault::{Folders, Hidden, Memory, VaultPath};
use log::LevelFilter;
use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A finished configuration.
#[derive(Debug)]
pub struct Config {
    /// The vault's folder.
    pub vault_path: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The public origin; empty on stdio.
    pub origin: String,
    /// Who may log in.
    pub logins: Logins,
    /// How strict the login is.
    pub policy: Policy,
    /// Where logins are kept.
    pub state_dir: Option<PathBuf>,
    /// Whether what tools replace is kept there.
    pub versions: bool,
    /// What is offered.
    pub toolsets: Vec<Toolset>,
    /// Offer nothing that writes.
    pub read_only: bool,
    /// How much of the vault is kept in memory.
    pub memory: Memory,
    /// What is served to no login.
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
    /// Proxies that are believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// Requests in handlers at once.
    pub workers: usize,
    /// Connections at once.
    pub max_connections: usize,
    /// What is logged.
    pub log_level: LevelFilter,
    /// What is odd and no mistake; to be logged.
    pub notes: Vec<String>,
}

/// A mistake in the configuration: the setting, what is wrong, and what would be right. Never the value of a secret.
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
        let (flag, example) = row.map_or(("", ""), |row| (row.flag, row.example));
        let flag = if flag.is_empty() { String::new() } else { format!(" (--{flag})") };
        write!(f, "{}{flag} {}. Example: {}='{example}'", self.setting, self.what.trim_end_matches('.'), self.setting)
    }
}

/// For whom the configuration is: a server on the network has to know more than one on stdio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// `serve` and `check`.
    Network,
    /// `stdio`.
    Stdio,
}

/// What the environment says that is no setting.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// `HOME`.
    pub home: Option<String>,
    /// systemd's `STATE_DIRECTORY`.
    pub state_directory: Option<String>,
    /// The names of all variables, of which some may be misspelt settings.
    pub variables: Vec<String>,
}

/// Collects mistakes while it reads.
struct Reader<'a> {
    raw: &'a Raw,
    mistakes: Vec<Mistake>,
    notes: Vec<String>,
}

impl Config {
    /// Checks what was typed.
    ///
    /// # Errors
    /// Every mistake.
    pub fn read(raw: &Raw, purpose: For, around: &Surroundings) -> Result<Config, Vec<Mistake>> {
        let (config, mistakes) = Config::with_mistakes(raw, purpose, around);
        if mistakes.is_empty() { Ok(config) } else { Err(mistakes) }
    }

    /// The same with what is right, where something is wrong too: for whoever looks for further mistakes. A setting that is
    /// wrong has its default, and a vault's path that is wrong is empty.
    pub fn with_mistakes(raw: &Raw, purpose: For, around: &Surroundings) -> (Config, Vec<Mistake>) {
        let (home, state_directory) = (around.home.as_deref(), around.state_directory.as_deref());
        let mut reader = Reader { raw, mistakes: Vec::new(), notes: Vec::new() };
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let vault_path = reader.folder("VAULT_PATH", home);
        let workers = reader.number("WORKERS", cores.saturating_mul(limits::WORKERS_PER_CORE).min(1024), 1, 1024);
        let state_dir = reader.state_dir(home, state_directory, vault_path.as_deref());
        let origin = reader.origin(purpose);
        let config = Config {
            listen: reader.listen(),
            origin: origin.clone(),
            logins: Logins { users: reader.users(), machines: reader.secrets("CLIENT_CREDENTIALS"), tokens: reader.secrets("API_TOKENS") },
            toolsets: reader.toolsets(),
            read_only: reader.flag("READ_ONLY"),
            memory: reader.memory(),
            hidden: Arc::new(reader.hidden()),
            options: Options {
                read_lines: reader.number("READ_LINES", 200, 1, 100_000),
                local: purpose == For::Stdio,
                origin,
                zone: reader.zone(),
                #[cfg(feature = "context")]
                default_context: reader.default_context(home, vault_path.as_deref()),
            },
            policy: reader.policy(),
            #[cfg(feature = "git")]
            git: reader.git(),
            #[cfg(feature = "accomplishments")]
            projects: reader.projects(),
            #[cfg(feature = "agent")]
            agent: reader.agent(home, state_dir.as_deref(), workers),
            versions: reader.text("VERSIONS").is_none() || reader.flag("VERSIONS"),
            state_dir,
            allowed_origins: reader.origins(),
            trusted_proxies: reader.proxies(),
            workers,
            max_connections: reader.number("MAX_CONNECTIONS", limits::CONNECTIONS_DEFAULT, 8, 100_000),
            log_level: reader.log_level(),
            notes: Vec::new(),
            vault_path: vault_path.unwrap_or_default(),
        };
        let nobody = config.logins.users.is_empty() && config.logins.machines.is_empty() && config.logins.tokens.is_empty();
        let told = reader.mistakes.iter().any(|mistake| ["AUTH_USERS", "CLIENT_CREDENTIALS", "API_TOKENS"].contains(&mistake.setting));
        if purpose == For::Network && nobody && !told {
            reader.wrong("AUTH_USERS", "is required (or API_TOKENS, or CLIENT_CREDENTIALS): without one nobody can log in");
        }
        if config.origin.starts_with("https:") && config.listen.ip().is_unspecified() {
            reader.notes.push(format!(
                "LISTEN_ADDR is {}: plain HTTP on every address of this machine. With the proxy on this machine too, set \
                 LISTEN_ADDR=127.0.0.1:{}; with the proxy elsewhere, the one address it uses",
                config.listen,
                config.listen.port()
            ));
        }
        #[cfg(feature = "agent")]
        if config.toolsets.contains(&Toolset::Agent) && !crate::agent::is_landlock_supported() {
            reader.notes.push("This kernel has no Landlock: sessions of toolset agent are held by the program's own rules alone".into());
        }
        reader.quoted();
        reader.misspelt(&around.variables);
        (Config { notes: reader.notes, ..config }, reader.mistakes)
    }
}

impl Reader<'_> {
    fn wrong(&mut self, setting: &'static str, what: impl Into<String>) {
        self.mistakes.push(Mistake { setting, what: what.into() });
    }

    /// Refuses values with quotes around them: shells take those away, systemd's and Docker's files of variables partly do not.
    fn quoted(&mut self) {
        for setting in SETTINGS.iter().map(|row| row.variable) {
            let inner = self
                .text(setting)
                .and_then(|text| text.get(1..text.len().checked_sub(1)?).zip(text.chars().next().zip(text.chars().last())));
            if inner.is_some_and(|(_, (first, last))| first == last && ['"', '\''].contains(&first)) {
                self.mistakes.retain(|mistake| mistake.setting != setting);
                self.wrong(setting, "has quotes around its value; leave them out");
            }
        }
    }

    /// Says which variables look like settings that are not set.
    fn misspelt(&mut self, names: &[String]) {
        for name in names {
            let meant = settings::meant_by(name).map(|row| row.variable);
            let Some(meant) = meant.filter(|&meant| meant != name && self.text(meant).is_none()) else { continue };
            match self.mistakes.iter_mut().find(|mistake| mistake.setting == meant) {
                Some(mistake) => mistake.what += &format!("; {name} is set, which is no setting"),
                None => self.notes.push(format!("{name} is set, which is no setting: is {meant} meant?")),
            }
        }
    }

    fn zone(&mut self) -> Zone {
        let Some(name) = self.text("TIME_ZONE").map(str::to_owned) else { return Zone::system() };
        Zone::named(&name).unwrap_or_else(|| {
            self.wrong("TIME_ZONE", format!("is {name:?}, of which this system has no time zone data (package tzdata)"));
            Zone::default()
        })
    }

    fn text(&self, setting: &str) -> Option<&str> {
        self.raw.get(setting).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    fn list(&self, setting: &str) -> Vec<String> {
        let text = self.text(setting).unwrap_or_default();
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    fn folder(&mut self, setting: &'static str, home: Option<&str>) -> Option<PathBuf> {
        let Some(text) = self.text(setting) else {
            self.wrong(setting, "is required");
            return None;
        };
        let path = expand_home(text, home);
        if !path.is_absolute() {
            self.wrong(setting, "must be an absolute path");
            return None;
        }
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => match std::fs::read_dir(&path) {
                Ok(_) => Some(path),
                Err(error) => {
                    self.wrong(setting, format!("cannot be read: {}", error.kind()));
                    None
                }
            },
            Ok(_) => {
                self.wrong(setting, "is a file; it must be the vault's folder");
                None
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.wrong(setting, "is not there: is it spelt right, is its disk mounted?");
                None
            }
            Err(error) => {
                self.wrong(setting, format!("cannot be opened: {}", error.kind()));
                None
            }
        }
    }

    fn listen(&mut self) -> SocketAddr {
        let all = |port| SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
        let Some(text) = self.text("LISTEN_ADDR") else { return all(8090) };
        let local = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        let port = |text: &str| text.parse::<u16>().ok();
        let parsed = match text.strip_prefix(':') {
            Some(rest) => port(rest).map(all),
            None => text.strip_prefix("localhost:").and_then(port).map(local).or_else(|| text.parse().ok()),
        };
        parsed.unwrap_or_else(|| {
            self.wrong("LISTEN_ADDR", "must be :PORT, an IPv4 address with a port, or an IPv6 address in brackets with a port");
            all(8090)
        })
    }

    fn origin(&mut self, purpose: For) -> String {
        let Some(text) = self.text("SERVER_URL").map(str::to_owned) else {
            if purpose == For::Network {
                self.wrong("SERVER_URL", "is required: the URL at which clients reach this server");
            }
            return String::new();
        };
        if let Err(why) = check_origin(&text) {
            self.wrong("SERVER_URL", why);
        }
        text
    }

    fn users(&mut self) -> BTreeMap<String, String> {
        let mut users = BTreeMap::new();
        for (number, entry) in (1..).zip(self.list("AUTH_USERS")) {
            let Some((user, hash)) = entry.split_once(':') else {
                self.wrong("AUTH_USERS", format!("has an entry (number {number}) without a colon between user and hash"));
                continue;
            };
            if user.is_empty() || user.chars().any(char::is_control) {
                self.wrong("AUTH_USERS", format!("has an entry (number {number}) without a user name"));
            } else if !is_bcrypt(hash) {
                let why = "has a hash for user {} that is not a bcrypt hash; make one with hash-password, and mind that shells replace $ in double quotes (use single ones)";
                self.wrong("AUTH_USERS", why.replace("{}", user));
            } else if users.insert(user.to_owned(), hash.to_owned()).is_some() {
                self.wrong("AUTH_USERS", format!("has user {user} twice"));
            }
        }
        users
    }

    fn secrets(&mut self, setting: &'static str) -> BTreeMap<String, Secret> {
        let mut secrets = BTreeMap::new();
        for (number, entry) in (1..).zip(self.list(setting)) {
            match named_secret(&entry) {
                Ok((name, secret)) => {
                    if secrets.insert(name.to_owned(), secret).is_some() {
                        self.wrong(setting, format!("has {name} twice"));
                    }
                }
                Err(why) => self.wrong(setting, format!("has an entry (number {number}) that {why}")),
            }
        }
        secrets
    }

    fn hidden(&mut self) -> Hidden {
        Hidden::parse(self.text("HIDE").unwrap_or_default()).unwrap_or_else(|pattern| {
            self.wrong("HIDE", format!("has {pattern:?}, which is no pattern of .gitignore; patterns are separated by ;"));
            Hidden::default()
        })
    }

    fn policy(&mut self) -> Policy {
        let default = Policy::default();
        let window = self.number("REFRESH_WINDOW", default.refresh_window.as_secs() as usize, 0, 7 * 24 * 3600);
        let redirect_hosts: Vec<String> = self.list("REDIRECT_HOSTS").iter().map(|host| host.to_ascii_lowercase()).collect();
        let is_host =
            |host: &String| host == "*" || host.chars().all(|c| c.is_ascii_alphanumeric() || "-.[]:".contains(c)) && !host.ends_with(':');
        if let Some(host) = redirect_hosts.iter().find(|host| !is_host(host)) {
            self.wrong(
                "REDIRECT_HOSTS",
                format!("has {host:?}, which is not a host name such as app.example.com (no scheme, no path), or *"),
            );
        }
        let client_documents = self.flag("CLIENT_METADATA_DOCUMENTS");
        Policy { refresh_window: Duration::from_secs(window as u64), redirect_hosts, client_documents }
    }

    fn state_dir(&mut self, home: Option<&str>, state_directory: Option<&str>, vault: Option<&Path>) -> Option<PathBuf> {
        // systemd may give several, separated by colons.
        let given = state_directory.and_then(|given| given.split(':').next()).filter(|given| !given.is_empty());
        let path = match self.text("STATE_DIR") {
            Some(text) => expand_home(text, home),
            None => PathBuf::from(given?),
        };
        if !path.is_absolute() {
            self.wrong("STATE_DIR", "must be an absolute path");
            return None;
        }
        // The folder may still have to be made: then the nearest one above it decides, with its links resolved.
        let real = |path: &Path| path.ancestors().find_map(|above| std::fs::canonicalize(above).ok());
        let inside = |vault: &Path| real(&path).zip(real(vault)).is_some_and(|(state, vault)| state.starts_with(vault));
        if vault.is_some_and(inside) {
            self.wrong("STATE_DIR", "lies inside the vault; what is in it must not be synchronised");
            return None;
        }
        if path.exists() && !path.is_dir() {
            self.wrong("STATE_DIR", "is a file; it must be a folder");
            return None;
        }
        Some(path)
    }

    fn toolsets_named(&self) -> impl Iterator<Item = String> {
        self.list("TOOLSETS").into_iter()
    }

    fn toolsets(&mut self) -> Vec<Toolset> {
        let names: Vec<String> = self.toolsets_named().collect();
        if names.is_empty() {
            return vec![Toolset::Vault];
        }
        let known: Vec<&str> = Toolset::built_in().map(Toolset::name).collect();
        for name in names.iter().filter(|name| *name != "all" && !known.contains(&name.as_str())) {
            let is_left_out = Toolset::ALL.iter().any(|set| set.name() == name);
            let why = if is_left_out { "this program was built without" } else { "is not one of its toolsets" };
            self.wrong("TOOLSETS", format!("has {name:?}, which {why}: {}, all", known.join(", ")));
        }
        Toolset::built_in().filter(|set| names.iter().any(|name| name == "all" || name == set.name())).collect()
    }

    fn memory(&mut self) -> Memory {
        match self.text("SEARCH_MEMORY") {
            None | Some("full") => Memory::Full,
            Some("small") => Memory::Small,
            Some(_) => {
                self.wrong("SEARCH_MEMORY", "must be full or small");
                Memory::Full
            }
        }
    }

    fn flag(&mut self, setting: &'static str) -> bool {
        match self.text(setting).map(str::to_ascii_lowercase).as_deref() {
            None | Some("false" | "0" | "no" | "off") => false,
            Some("true" | "1" | "yes" | "on") => true,
            Some(_) => {
                self.wrong(setting, "must be true or false");
                false
            }
        }
    }

    fn number(&mut self, setting: &'static str, default: usize, min: usize, max: usize) -> usize {
        let Some(text) = self.text(setting) else { return default };
        match text.parse() {
            Ok(number) if (min..=max).contains(&number) => number,
            _ => {
                self.wrong(setting, format!("must be a number from {min} to {max}"));
                default
            }
        }
    }

    fn origins(&mut self) -> Vec<String> {
        let origins = self.list("ALLOWED_ORIGINS");
        for origin in origins.iter().filter(|origin| *origin != "*") {
            let is_origin = origin.split_once("://").is_some_and(|(_, rest)| !rest.is_empty() && !rest.contains(['/', '?', '#', ' ']));
            if !is_origin {
                self.wrong(
                    "ALLOWED_ORIGINS",
                    format!("has {origin:?}, which is not an origin such as https://app.example.com (no path, no slash)"),
                );
            }
        }
        origins
    }

    fn proxies(&mut self) -> Vec<IpAddr> {
        let mut proxies = Vec::new();
        for text in self.list("TRUSTED_PROXIES") {
            match text.parse::<IpAddr>() {
                Ok(address) => proxies.push(address.to_canonical()),
                Err(_) => self.wrong("TRUSTED_PROXIES", format!("has {text:?}, which is not an IP address")),
            }
        }
        proxies
    }

    fn log_level(&mut self) -> LevelFilter {
        match self.text("LOG_LEVEL").unwrap_or("info").parse() {
            Ok(level) => level,
            Err(_) => {
                self.wrong("LOG_LEVEL", "must be error, warn, info, debug or trace");
                LevelFilter::Info
            }
        }
    }
}

/// `name:sha256` with what may follow: `:read`, `:read=FOLDERS`, `:write=FOLDERS`; folders are separated by `;`.
fn named_secret(entry: &str) -> Result<(&str, Secret), &'static str> {
    const SHAPE: &str =
        "is not name:sha256, name:sha256:read or name:sha256:read=FOLDER/;FOLDER/:write=FOLDER/ (64 hex digits; see generate-token)";
    let mut parts = entry.split(':');
    let (name, hash) = parts.next().zip(parts.next()).ok_or(SHAPE)?;
    let hash = SecretHash::from_hex(hash).filter(|_| is_name(name)).ok_or(SHAPE)?;
    let (mut reads_all, mut read, mut write) = (false, None, None);
    for part in parts {
        let folders = |list: &str| {
            let folders: Result<Vec<VaultPath>, _> = list.split(';').filter(|name| !name.is_empty()).map(VaultPath::file).collect();
            folders.ok().filter(|folders| !folders.is_empty()).ok_or("has an empty or wrong list of folders")
        };
        match part.split_once('=') {
            None if part == "read" && !reads_all => reads_all = true,
            Some(("read", list)) if read.is_none() => read = Some(folders(list)?),
            Some(("write", list)) if write.is_none() => write = Some(folders(list)?),
            _ => return Err(SHAPE),
        }
    }
    if reads_all && read.is_some() {
        return Err(SHAPE);
    }
    let access = if write.is_some() || !reads_all && read.is_none() { Access::Write } else { Access::Read };
    let is_whole = write.is_none() && read.is_none();
    let read = if reads_all { None } else { Some(read.unwrap_or_default()) };
    let folders = (!is_whole).then(|| Arc::new(Folders { read, write: write.unwrap_or_default() }));
    Ok((name, Secret { hash, access, folders }))
}

/// An origin that can be compared byte for byte: what clients do with the issuer.
fn check_origin(text: &str) -> Result<(), &'static str> {
    let (scheme, authority) = text.split_once("://").ok_or("must start with https://")?;
    if authority.is_empty() || authority.starts_with(':') || authority.contains(['/', '?', '#', '@', ' ', '\\', '"']) {
        return Err("must be scheme, host and perhaps a port: no path, no query, no slash at the end");
    }
    if text.chars().any(|c| c.is_ascii_uppercase() || !c.is_ascii_graphic()) {
        return Err("must be in lower case and ASCII (write a non-ASCII host name in its xn-- form)");
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err("has a port that is not a number");
    }
    match (scheme, port) {
        ("https", Some("443")) | ("http", Some("80")) => Err("must not name the default port: clients leave it out"),
        ("https", _) => Ok(()),
        ("http", _) if matches!(host, "localhost" | "127.0.0.1" | "[::1]") => Ok(()),
        ("http", _) => Err(
            "must be https unless the host is 127.0.0.1, [::1] or localhost: clients send their tokens to it. Put a TLS proxy (Caddy) in front, or a \
             tunnel (Tailscale, cloudflared), and give its https URL; for a try on this machine use http://localhost with the port",
        ),
        _ => Err("must start with https://"),
    }
}

pub(crate) fn expand_home(text: &str, home: Option<&str>) -> PathBuf {
    match (text.strip_prefix('~'), home) {
        (Some(""), Some(home)) => PathBuf::from(home),
        (Some(rest), Some(home)) if rest.starts_with('/') => PathBuf::from(format!("{home}{rest}")),
        _ => PathBuf::from(text),
    }
}

/// `$2b$12$` and 53 characters of bcrypt's base64.
fn is_bcrypt(hash: &str) -> bool {
    let parts: Vec<&str> = hash.split('$').collect();
    let ["", version, cost, rest] = parts.as_slice() else { return false };
    matches!(*version, "2a" | "2b" | "2x" | "2y")
        && cost.len() == 2
        && cost.parse().is_ok_and(|cost: u8| (4..=20).contains(&cost))
        && rest.len() == 53
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./".contains(&byte))
}

/// A name that is safe in a list, a log and a header.
pub fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "$2b$12$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234";

    fn read(values: &[(&'static str, &str)]) -> Result<Config, Vec<Mistake>> {
        let raw: Raw = values.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Config::read(&raw, For::Network, &Surroundings { home: Some("/home/alex".into()), ..Surroundings::default() })
    }

    #[test]
    fn a_minimal_configuration_is_enough() {
        let users = format!("alex:{HASH}");
        let config = read(&[("VAULT_PATH", "/tmp"), ("SERVER_URL", "https://v.example"), ("AUTH_USERS", &users)]).unwrap();
        assert_eq!(config.listen.to_string(), "[::]:8090");
        assert_eq!((config.options.read_lines, config.read_only), (200, false));
        assert_eq!(config.toolsets, [Toolset::Vault]);
    }

    #[test]
    fn every_mistake_is_told_with_its_setting_and_no_secret() {
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
        let named: std::collections::BTreeSet<&str> = mistakes.iter().map(|mistake| mistake.setting).collect();
        assert_eq!(named.len(), 15, "{mistakes:?}");
        let told: String = mistakes.iter().map(|mistake| format!("{mistake}\n")).collect();
        assert!(!told.contains("hunter2secret") && !told.contains("topsecret"), "{told}");
        assert!(told.contains("Example: VAULT_PATH='/data/obsidian-vault'"), "{told}");
        let nothing = read(&[]).unwrap_err();
        assert_eq!(nothing.iter().map(|mistake| mistake.setting).collect::<Vec<_>>(), ["VAULT_PATH", "SERVER_URL", "AUTH_USERS"]);
    }

    #[test]
    fn public_urls() {
        for (url, fine) in [
            ("https://vault.example.com", true),
            ("https://vault.example.com:8443", true),
            ("http://127.0.0.1:8090", true),
            ("http://localhost:8090", true),
            ("http://[::1]:8090", true),
            ("https://[2001:db8::1]", true),
            ("https://vault.example.com/", false),
            ("https://vault.example.com/mcp", false),
            ("https://vault.example.com:443", false),
            ("https://Vault.example.com", false),
            ("http://vault.example.com", false),
            ("http://192.168.1.5:8090", false),
            ("vault.example.com", false),
            ("ftp://vault.example.com", false),
            ("https://", false),
            ("https://a b", false),
            ("https://user@vault.example.com", false),
        ] {
            assert_eq!(check_origin(url).is_ok(), fine, "{url}");
        }
    }

    #[test]
    fn home_is_expanded_only_at_the_start() {
        assert_eq!(expand_home("~/vault", Some("/home/a")), Path::new("/home/a/vault"));
        assert_eq!(expand_home("~", Some("/home/a")), Path::new("/home/a"));
        assert_eq!(expand_home("~bob/vault", Some("/home/a")), Path::new("~bob/vault"));
        assert_eq!(expand_home("/a~/b", Some("/home/a")), Path::new("/a~/b"));
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
