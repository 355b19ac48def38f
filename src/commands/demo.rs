//! `demo`: everything with no configuration. A copy of the sample vault in a temporary folder, a
//! login, a token, and a `curl` line that works; served on this machine only.

use super::{FAILED, fail, print, print_mistakes, sample_vault, serve, start_logging};
use crate::cli::Raw;
use crate::config::{Config, Environment, Purpose, without_default_port};
use crate::disk;
use crate::oauth::store::Store;
use crate::secret::{self, SecretHash};
use crate::tools::Toolset;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

const PORT: u16 = 8090;
/// Cheap, because the password is random and lives as long as the demo.
const COST: u32 = 8;

pub(super) fn demo(raw: &Raw) -> Result<u8, u8> {
    let (config, folder, banner) = prepare(raw)?;
    start_logging(config.log_level);
    let code = serve::run(config, Store::in_memory(), || _ = print(&banner)).unwrap_or(FAILED);
    // The copy was made for this run, as the banner said.
    let _ = disk::remove_own_folder(&folder);
    Ok(code)
}

fn broken(error: impl std::fmt::Display) -> u8 {
    fail(error, FAILED)
}

/// The configuration, the sample vault's folder and the banner; or, after printing why, the exit
/// code.
fn prepare(raw: &Raw) -> Result<(Config, std::path::PathBuf, String), u8> {
    let token = secret::new_token();
    let password: String = secret::new_id().chars().take(12).collect();
    let listen = match raw.get("LISTEN_ADDR").map(|address| (address, address.rsplit_once(':'))) {
        None => free_address().map_err(broken)?,
        // The banner has the port, so it has to be known beforehand.
        Some((_, Some(("" | "127.0.0.1" | "localhost", port)))) if port != "0" => {
            format!("127.0.0.1:{port}")
        }
        Some((address, _)) => {
            return Err(broken(format!(
                "the demo is for this machine alone: LISTEN_ADDR has to be 127.0.0.1:PORT, and is \
                 {address}"
            )));
        }
    };
    let origin = without_default_port(&format!("http://{listen}")).to_owned();
    let folder = std::env::temp_dir().join(format!("vault-sync-mcp-demo-{}", secret::new_id()));
    sample_vault::write(&folder)
        .map_err(|error| broken(format!("the sample vault cannot be written: {error}")))?;
    let hash = bcrypt::hash(&password, COST).map_err(broken)?;
    let mut settings = raw.clone();
    settings.insert("VAULT_PATH", folder.display().to_string());
    settings.insert("LISTEN_ADDR", listen);
    settings.insert("SERVER_URL", origin.clone());
    settings.insert("AUTH_USERS", format!("demo:{hash}"));
    settings.insert("API_TOKENS", format!("demo:{}", SecretHash::of(&token).to_hex()));
    let shown = Toolset::built_in()
        .filter(|set| matches!(set, Toolset::Vault | Toolset::Notes | Toolset::Context));
    let shown: Vec<&str> = shown.map(Toolset::name).collect();
    // Toolset accomplishments needs two. The sample vault has a note to warn of, which would come
    // before the banner.
    for (setting, value) in [
        ("LOG_LEVEL", "error".into()),
        ("TOOLSETS", shown.join(",")),
        ("ACCOMPLISHMENTS_FOLDER", "Projects/Accomplishments".into()),
        ("DEFAULT_CANVAS", "Projects/Plan.canvas".into()),
    ] {
        settings.entry(setting).or_insert(value);
    }
    settings.remove("CLIENT_CREDENTIALS");
    settings.remove("STATE_DIR");
    let config =
        Config::read(&settings, Purpose::Network, &Environment::default()).map_err(|mistakes| {
            let _ = disk::remove_own_folder(&folder);
            print_mistakes(mistakes.iter())
        })?;
    let banner = banner(&origin, &password, &token, &folder);
    Ok((config, folder, banner))
}

/// The usual port on this machine, or any free one.
fn free_address() -> std::io::Result<String> {
    let local = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    let found = TcpListener::bind(local(PORT)).or_else(|_| TcpListener::bind(local(0)))?;
    Ok(found.local_addr()?.to_string())
}

fn banner(origin: &str, password: &str, token: &str, folder: &Path) -> String {
    format!(
        include_str!("banner.txt"),
        origin = origin,
        password = password,
        token = token,
        folder = folder.display()
    )
}
