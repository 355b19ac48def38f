//! Settings read one by one, each checked, with the mistakes collected.

use super::value::{
    check_origin, expand_home, is_usable_bcrypt, named_secret, set_text, state_folder,
    without_default_port,
};
use super::{Environment, Mistake, Purpose};
use crate::calendar::Zone;
use crate::cli::Raw;
use crate::network::Network;
use crate::oauth::redirect::RedirectTarget;
use crate::oauth::{Policy, Secret};
use crate::settings::{self, SETTINGS};
use crate::tools::Toolset;
use crate::vault::Hidden;
use log::{Level, LevelFilter};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Collects mistakes while it reads.
pub(super) struct Reader<'a> {
    pub(super) raw: &'a Raw,
    pub(super) environment: &'a Environment,
    pub(super) mistakes: Vec<Mistake>,
    pub(super) warnings: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn add_mistake(&mut self, setting: &'static str, what: impl Into<String>) {
        self.mistakes.push(Mistake { setting, what: what.into() });
    }

    pub(super) fn text(&self, setting: &str) -> Option<&'a str> {
        set_text(self.raw, setting)
    }

    /// The value of a setting, if it is set and valid.
    pub(super) fn read<T, E: Display>(
        &mut self,
        setting: &'static str,
        parse: impl FnOnce(&'a str) -> Result<T, E>,
    ) -> Option<T> {
        parse(self.text(setting)?).map_err(|what| self.add_mistake(setting, what.to_string())).ok()
    }

    /// The valid parts of a list. `parse` also gets the number of each part, to name those that
    /// must not be shown.
    pub(super) fn read_list<T>(
        &mut self,
        setting: &'static str,
        by: char,
        parse: impl Fn(usize, &'a str) -> Result<T, String>,
    ) -> Vec<T> {
        let parts = self
            .text(setting)
            .unwrap_or_default()
            .split(by)
            .map(str::trim)
            .filter(|part| !part.is_empty());
        (1..)
            .zip(parts)
            .filter_map(|(number, part)| {
                parse(number, part).map_err(|what| self.add_mistake(setting, what)).ok()
            })
            .collect()
    }

    /// The same for named parts, each name once.
    fn named<T>(
        &mut self,
        setting: &'static str,
        parse: impl Fn(usize, &'a str) -> Result<(&'a str, T), String>,
    ) -> BTreeMap<String, T> {
        let mut named = BTreeMap::new();
        for (name, value) in self.read_list(setting, ',', parse) {
            if named.insert(name.to_owned(), value).is_some() {
                self.add_mistake(setting, format!("has {name} twice"));
            }
        }
        named
    }

    pub(super) fn expand_home(&self, text: &str) -> PathBuf {
        expand_home(text, self.environment.home.as_deref())
    }

    /// Refuses values in quotes: shells remove them, the environment files of systemd and Docker do
    /// not always.
    pub(super) fn refuse_quoted(&mut self) {
        for setting in SETTINGS.iter().map(|row| row.variable) {
            let text = self.text(setting).unwrap_or_default();
            let is_within =
                |quote: char| text.strip_prefix(quote).is_some_and(|rest| rest.ends_with(quote));
            if is_within('"') || is_within('\'') {
                self.mistakes.retain(|mistake| mistake.setting != setting);
                self.add_mistake(setting, "has quotes around its value; leave them out");
            }
        }
    }

    /// Reports variables that look like misspelt names of settings that are not set.
    pub(super) fn misspelt(&mut self) {
        for name in &self.environment.variables {
            let meant = settings::meant_by(name).map(|row| row.variable);
            let Some(meant) = meant.filter(|&meant| meant != name && self.text(meant).is_none())
            else {
                continue;
            };
            match self.mistakes.iter_mut().find(|mistake| mistake.setting == meant) {
                Some(mistake) => {
                    mistake.what += &format!("; {name} is set, which is not a setting")
                }
                None => self
                    .warnings
                    .push(format!("{name} is set, which is not a setting: did you mean {meant}?")),
            }
        }
    }

    pub(super) fn zone(&mut self) -> Zone {
        let named = |name: &str| {
            Zone::named(name).ok_or_else(|| {
                format!(
                    "is {name:?}, which this system's time zone data (package tzdata) does not \
                     have"
                )
            })
        };
        let zone = self.read("TIME_ZONE", named);
        zone.unwrap_or_else(|| {
            if self.text("TIME_ZONE").is_none() { Zone::system() } else { Zone::default() }
        })
    }

    pub(super) fn folder(&mut self, setting: &'static str) -> Option<PathBuf> {
        let Some(text) = self.text(setting) else {
            self.add_mistake(setting, "is required");
            return None;
        };
        let path = self.expand_home(text);
        // A relative one is below the folder that the program was started in.
        let path = std::path::absolute(&path).unwrap_or(path);
        let what = match std::fs::read_dir(&path) {
            Ok(_) => return Some(path),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                format!("is {path:?}, a file; it must be the vault's folder")
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                format!("is {path:?}, which does not exist: check its spelling and its disk")
            }
            Err(error) => format!("cannot be read: {}", error.kind()),
        };
        self.add_mistake(setting, what);
        None
    }

    pub(super) fn listen(&mut self) -> SocketAddr {
        let all = |port| SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
        let local = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        let port = |text: &str| text.parse::<u16>().ok();
        let parse = |text: &str| {
            let address = match text.strip_prefix(':') {
                Some(rest) => port(rest).map(all),
                None => text
                    .strip_prefix("localhost:")
                    .and_then(port)
                    .map(local)
                    .or_else(|| text.parse().ok()),
            };
            address.ok_or(
                "must be :PORT, an IPv4 address with a port, or an IPv6 address in brackets with \
                 a port",
            )
        };
        self.read("LISTEN_ADDR", parse).unwrap_or_else(|| all(8090))
    }

    pub(super) fn origin(&mut self, purpose: Purpose) -> String {
        if self.text("SERVER_URL").is_none() && purpose == Purpose::Network {
            self.add_mistake(
                "SERVER_URL",
                "is required: the URL at which clients reach this server",
            );
        }
        self.read("SERVER_URL", check_origin);
        self.text("SERVER_URL").unwrap_or_default().to_owned()
    }

    pub(super) fn users(&mut self) -> BTreeMap<String, String> {
        self.named("AUTH_USERS", |number, entry| {
            match entry.split_once(':').map(|(user, hash)| (user.trim(), hash.trim())) {
                None => Err(format!(
                    "has an entry (number {number}) without a colon between user and hash"
                )),
                Some((user, _)) if user.is_empty() || user.chars().any(char::is_control) => {
                    Err(format!("has an entry (number {number}) without a user name"))
                }
                Some((user, hash)) if !is_usable_bcrypt(hash) => Err(format!(
                    "has a hash for user {user} that is not a bcrypt hash with a cost of 4 to 20; \
                     make one with hash-password, and note that shells expand $ in double quotes \
                     (use single ones)"
                )),
                Some((user, hash)) => Ok((user, hash.to_owned())),
            }
        })
    }

    pub(super) fn secrets(&mut self, setting: &'static str) -> BTreeMap<String, Secret> {
        self.named(setting, |number, entry| {
            named_secret(entry).map_err(|why| format!("has an entry (number {number}) that {why}"))
        })
    }

    pub(super) fn hidden(&mut self) -> Hidden {
        if let Some(one) =
            self.text("HIDE").and_then(|text| text.split(';').find(|pattern| pattern.contains(',')))
        {
            self.warnings.push(format!(
                "HIDE has {:?}, one pattern with a comma: patterns are separated by ;",
                one.trim()
            ));
        }
        let wrong = |pattern: String| {
            format!(
                "has {pattern:?}, which is no glob pattern (*.pdf, Private/, /Work/*.md, [0-9]); there is \
                 no ! and no backslash, and patterns are separated by ;"
            )
        };
        self.read("HIDE", |text| Hidden::parse(text).map_err(wrong)).unwrap_or_default()
    }

    pub(super) fn policy(&mut self) -> Policy {
        let default = Policy::default();
        let window = self.number(
            "REFRESH_WINDOW",
            default.refresh_window.as_secs() as usize,
            0,
            7 * 24 * 3600,
        );
        let redirect_hosts = self.read_list("REDIRECT_HOSTS", ',', |_, host| {
            let is_host = host.chars().all(|c| c.is_ascii_alphanumeric() || "-.[]:".contains(c))
                && !host.ends_with(':');
            let is_scheme = host.strip_suffix(':').is_some_and(|scheme| {
                RedirectTarget::of(host)
                    == Some(RedirectTarget::Application(scheme.to_ascii_lowercase()))
            });
            let wrong = || {
                format!(
                    "has {host:?}, which is neither a host name such as app.example.com (no \
                     path), nor the scheme of an application such as warp:, nor *"
                )
            };
            (host == "*" || is_host || is_scheme)
                .then(|| host.to_ascii_lowercase())
                .ok_or_else(wrong)
        });
        Policy { refresh_window: Duration::from_secs(window as u64), redirect_hosts }
    }

    pub(super) fn state_dir(&mut self, vault: Option<&Path>) -> Option<PathBuf> {
        let path = state_folder(self.raw, self.environment)?;
        // The folder may not exist yet: then its nearest existing ancestor decides, with symlinks
        // resolved.
        let real =
            |path: &Path| path.ancestors().find_map(|above| std::fs::canonicalize(above).ok());
        let is_inside = |vault: &Path| {
            real(&path).zip(real(vault)).is_some_and(|(state, vault)| state.starts_with(vault))
        };
        let what = if !path.is_absolute() {
            "must be an absolute path"
        } else if vault.is_some_and(is_inside) {
            "lies inside the vault; what is in it must not be synchronised"
        } else if path.exists() && !path.is_dir() {
            "is a file; it must be a folder"
        } else {
            return Some(path);
        };
        self.add_mistake("STATE_DIR", what);
        None
    }

    pub(super) fn has_toolset(&self, set: Toolset) -> bool {
        self.text("TOOLSETS").is_some_and(|names| {
            names.split(',').any(|name| ["all", set.name()].contains(&name.trim()))
        })
    }

    pub(super) fn toolsets(&mut self) -> Vec<Toolset> {
        let known: Vec<&str> = Toolset::built_in().map(Toolset::name).collect();
        self.read_list("TOOLSETS", ',', |_, name| {
            let is_left_out = Toolset::ALL.iter().any(|set| set.name() == name);
            let why = if is_left_out { "this program was built without" } else { "is no toolset" };
            let wrong = || format!("has {name:?}, which {why}; it has {}, all", known.join(", "));
            (name == "all" || known.contains(&name)).then_some(()).ok_or_else(wrong)
        });
        let found: Vec<Toolset> =
            Toolset::built_in().filter(|set| self.has_toolset(*set)).collect();
        if found.is_empty() { vec![Toolset::Vault] } else { found }
    }

    pub(super) fn is_on(&mut self, setting: &'static str) -> bool {
        let parse = |text: &str| settings::switch(text).ok_or("must be true or false (1 or 0)");
        self.read(setting, parse).unwrap_or_default()
    }

    /// Of a setting that is on unless it is switched off.
    pub(super) fn is_not_off(&mut self, setting: &'static str) -> bool {
        self.text(setting).is_none() || self.is_on(setting)
    }

    pub(super) fn number(
        &mut self,
        setting: &'static str,
        default: usize,
        min: usize,
        max: usize,
    ) -> usize {
        let parse = |text: &str| {
            let number = text.parse().ok().filter(|number| (min..=max).contains(number));
            number.ok_or_else(|| format!("must be a whole number from {min} to {max}"))
        };
        self.read(setting, parse).unwrap_or(default)
    }

    pub(super) fn origins(&mut self) -> Vec<String> {
        self.read_list("ALLOWED_ORIGINS", ',', |_, origin| {
            // Browsers send it in lower case.
            let origin = origin.to_ascii_lowercase();
            let is_origin = origin
                .split_once("://")
                .is_some_and(|(_, rest)| !rest.is_empty() && !rest.contains(['/', '?', '#', ' ']));
            let names_default = without_default_port(&origin) != origin;
            let wrong = || {
                format!(
                    "has {origin:?}, which is not an origin such as https://app.example.com (no \
                     path, no slash, no default port)"
                )
            };
            // A page in a sandbox, or from a file, has the origin null.
            if matches!(&*origin, "*" | "null") || is_origin && !names_default {
                Ok(origin)
            } else {
                Err(wrong())
            }
        })
    }

    pub(super) fn hosts(&mut self) -> Vec<String> {
        self.read_list("ALLOWED_HOSTS", ',', |_, host| {
            let is_host = !host.starts_with(':')
                && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._[]:".contains(c));
            let wrong = || {
                format!(
                    "has {host:?}, which is not a host name with or without a port, such as \
                     vault:8090 (no scheme, no path)"
                )
            };
            is_host.then(|| host.to_ascii_lowercase()).ok_or_else(wrong)
        })
    }

    pub(super) fn proxies(&mut self) -> Vec<Network> {
        self.read_list("TRUSTED_PROXIES", ',', |_, text| {
            text.parse().map_err(|()| {
                format!(
                    "has {text:?}, which is neither an IP address nor a network such as \
                     172.16.0.0/12"
                )
            })
        })
    }

    pub(super) fn log_level(&mut self) -> LevelFilter {
        let parse = |text: &str| {
            text.parse::<Level>().map_err(|_| "must be error, warn, info, debug or trace")
        };
        self.read("LOG_LEVEL", parse).unwrap_or(Level::Info).to_level_filter()
    }
}
