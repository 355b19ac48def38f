//! Settings read one by one, each checked, with the mistakes collected.

use super::value::{check_origin, expand_home, is_bcrypt, named_secret};
use super::{Mistake, Purpose};
use crate::calendar::Zone;
use crate::cli::Raw;
use crate::oauth::{Policy, Secret};
use crate::settings::{self, SETTINGS};
use crate::tools::Toolset;
use crate::vault::{Hidden, Memory};
use log::LevelFilter;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Collects mistakes while it reads.
pub(super) struct Reader<'a> {
    pub(super) raw: &'a Raw,
    pub(super) mistakes: Vec<Mistake>,
    pub(super) notes: Vec<String>,
}

impl Reader<'_> {
    pub(super) fn wrong(&mut self, setting: &'static str, what: impl Into<String>) {
        self.mistakes.push(Mistake { setting, what: what.into() });
    }

    /// Refuses values with quotes around them: shells take those away, systemd's and Docker's files of variables partly do not.
    pub(super) fn quoted(&mut self) {
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
    pub(super) fn misspelt(&mut self, names: &[String]) {
        for name in names {
            let meant = settings::meant_by(name).map(|row| row.variable);
            let Some(meant) = meant.filter(|&meant| meant != name && self.text(meant).is_none()) else { continue };
            match self.mistakes.iter_mut().find(|mistake| mistake.setting == meant) {
                Some(mistake) => mistake.what += &format!("; {name} is set, which is no setting"),
                None => self.notes.push(format!("{name} is set, which is no setting: is {meant} meant?")),
            }
        }
    }

    pub(super) fn zone(&mut self) -> Zone {
        let Some(name) = self.text("TIME_ZONE").map(str::to_owned) else { return Zone::system() };
        Zone::named(&name).unwrap_or_else(|| {
            self.wrong("TIME_ZONE", format!("is {name:?}, of which this system has no time zone data (package tzdata)"));
            Zone::default()
        })
    }

    pub(super) fn text(&self, setting: &str) -> Option<&str> {
        self.raw.get(setting).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    pub(super) fn list(&self, setting: &str) -> Vec<String> {
        let text = self.text(setting).unwrap_or_default();
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    pub(super) fn folder(&mut self, setting: &'static str, home: Option<&str>) -> Option<PathBuf> {
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

    pub(super) fn listen(&mut self) -> SocketAddr {
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

    pub(super) fn origin(&mut self, purpose: Purpose) -> String {
        let Some(text) = self.text("SERVER_URL").map(str::to_owned) else {
            if purpose == Purpose::Network {
                self.wrong("SERVER_URL", "is required: the URL at which clients reach this server");
            }
            return String::new();
        };
        if let Err(why) = check_origin(&text) {
            self.wrong("SERVER_URL", why);
        }
        text
    }

    pub(super) fn users(&mut self) -> BTreeMap<String, String> {
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

    pub(super) fn secrets(&mut self, setting: &'static str) -> BTreeMap<String, Secret> {
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

    pub(super) fn hidden(&mut self) -> Hidden {
        Hidden::parse(self.text("HIDE").unwrap_or_default()).unwrap_or_else(|pattern| {
            self.wrong("HIDE", format!("has {pattern:?}, which is no pattern of .gitignore; patterns are separated by ;"));
            Hidden::default()
        })
    }

    pub(super) fn policy(&mut self) -> Policy {
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

    pub(super) fn state_dir(&mut self, home: Option<&str>, state_directory: Option<&str>, vault: Option<&Path>) -> Option<PathBuf> {
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

    pub(super) fn toolsets_named(&self) -> impl Iterator<Item = String> {
        self.list("TOOLSETS").into_iter()
    }

    pub(super) fn toolsets(&mut self) -> Vec<Toolset> {
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

    pub(super) fn memory(&mut self) -> Memory {
        match self.text("SEARCH_MEMORY") {
            None | Some("full") => Memory::Full,
            Some("small") => Memory::Small,
            Some(_) => {
                self.wrong("SEARCH_MEMORY", "must be full or small");
                Memory::Full
            }
        }
    }

    pub(super) fn flag(&mut self, setting: &'static str) -> bool {
        match self.text(setting).map(str::to_ascii_lowercase).as_deref() {
            None | Some("false" | "0" | "no" | "off") => false,
            Some("true" | "1" | "yes" | "on") => true,
            Some(_) => {
                self.wrong(setting, "must be true or false");
                false
            }
        }
    }

    pub(super) fn number(&mut self, setting: &'static str, default: usize, min: usize, max: usize) -> usize {
        let Some(text) = self.text(setting) else { return default };
        match text.parse() {
            Ok(number) if (min..=max).contains(&number) => number,
            _ => {
                self.wrong(setting, format!("must be a number from {min} to {max}"));
                default
            }
        }
    }

    pub(super) fn origins(&mut self) -> Vec<String> {
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

    pub(super) fn proxies(&mut self) -> Vec<IpAddr> {
        let mut proxies = Vec::new();
        for text in self.list("TRUSTED_PROXIES") {
            match text.parse::<IpAddr>() {
                Ok(address) => proxies.push(address.to_canonical()),
                Err(_) => self.wrong("TRUSTED_PROXIES", format!("has {text:?}, which is not an IP address")),
            }
        }
        proxies
    }

    pub(super) fn log_level(&mut self) -> LevelFilter {
        match self.text("LOG_LEVEL").unwrap_or("info").parse() {
            Ok(level) => level,
            Err(_) => {
                self.wrong("LOG_LEVEL", "must be error, warn, info, debug or trace");
                LevelFilter::Info
            }
        }
    }
}
