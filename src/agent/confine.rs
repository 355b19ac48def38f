//! Landlock (landlock(7)): rules that the kernel enforces even where the program ignores its own. A
//! process below the supervisor may read only what `SYSTEM` and `DEVICES` list, its programs, the
//! folders of `PATH` and the session's folder; write what the session may change, the program's own
//! folder and its temporary files; and connect by TCP to the API's port and port 53. Landlock has
//! no rules for UDP.

use crate::disk;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, path_beneath_rules,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The newest Landlock ABI that is used; an older kernel enforces the rules that it knows.
const VERSION: ABI = ABI::V5;

/// What programs need to run, to find the API and to check its certificate. Paths that do not exist
/// are skipped. Of `/proc` only what is listed: it has the environments of other processes, and not
/// every kernel denies them to a confined one.
const SYSTEM: &str = "/usr /bin /sbin /lib /lib64 /opt /nix/store /proc/cpuinfo /proc/meminfo \
                      /proc/stat /proc/sys /proc/version /sys /run/systemd/resolve \
                      /etc/ld.so.cache /etc/resolv.conf /etc/hosts /etc/nsswitch.conf \
                      /etc/localtime /etc/ssl /etc/pki /etc/ca-certificates /etc/alternatives";

const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Bytes of a script that starts the program.
const SCRIPT_BYTES: u64 = 64 * 1024;

/// The port of DNS over TCP.
const DNS: u16 = 53;

/// What a session may reach besides the system's programs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Confinement {
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    /// The API's port.
    pub(super) port: u16,
}

impl Confinement {
    /// Confines this thread, and what it starts, irrevocably. Does nothing on a kernel without
    /// Landlock: see [`is_supported`].
    ///
    /// # Errors
    /// What the kernel says.
    pub(super) fn enforce(&self, program: &Path) -> Result<(), String> {
        let (read, all) = (AccessFs::from_read(VERSION), AccessFs::from_all(VERSION));
        let programs = programs(program);
        let enforced = (|| {
            Ruleset::default()
                .handle_access(all)?
                .handle_access(AccessNet::ConnectTcp)?
                .create()?
                .add_rules(path_beneath_rules(SYSTEM.split(' '), read))?
                .add_rules(path_beneath_rules(programs, read))?
                .add_rules(path_beneath_rules(&self.read, read))?
                .add_rules(path_beneath_rules(DEVICES, read | AccessFs::WriteFile))?
                .add_rules(path_beneath_rules(&self.write, all))?
                .add_rule(NetPort::new(self.port, AccessNet::ConnectTcp))?
                .add_rule(NetPort::new(DNS, AccessNet::ConnectTcp))?
                .restrict_self()
        })();
        enforced
            .map(drop)
            .map_err(|error: RulesetError| format!("the session cannot be confined: {error}"))
    }
}

/// The program to start with all its files, and the folders of `PATH`.
fn programs(program: &Path) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    let candidates =
        folders.iter().map(|folder| folder.join(program)).chain([program.to_path_buf()]);
    let real: Vec<PathBuf> = candidates.filter_map(|file| file.canonicalize().ok()).collect();
    let started: Vec<PathBuf> =
        real.iter().filter_map(|file| started_by(file)?.canonicalize().ok()).collect();
    // A program that npm installed is in several packages.
    let with_its_files = |file: PathBuf| {
        let package = file
            .ancestors()
            .find(|above| above.file_name().is_some_and(|name| name == "node_modules"));
        package.unwrap_or(&file).to_path_buf()
    };
    real.into_iter().chain(started).map(with_its_files).chain(folders).collect()
}

/// The program that a script replaces itself with, as the local installation of Claude Code does:
/// the absolute path after `exec`.
fn started_by(script: &Path) -> Option<PathBuf> {
    let text = disk::read_at_most(script, SCRIPT_BYTES).ok()?;
    let text = String::from_utf8(text).ok().filter(|text| text.starts_with("#!"))?;
    let words = text.lines().find_map(|line| line.trim_start().strip_prefix("exec "))?.trim_start();
    let path = match words.chars().next()? {
        quote @ ('"' | '\'') => words.split(quote).nth(1)?,
        _ => words.split_whitespace().next()?,
    };
    Some(PathBuf::from(path)).filter(|path| path.is_absolute())
}

/// Whether the kernel has Landlock.
pub fn is_supported() -> bool {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1));
    ruleset.and_then(Ruleset::create).is_ok()
}
