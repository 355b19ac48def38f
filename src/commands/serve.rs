//! `serve`: the HTTP server, until a signal ends it.

use super::{FAILED, control, engine};
use crate::clock::Now;
use crate::config::Config;
use crate::disk;
use crate::http::server::{self, Running};
use crate::mcp::Server as Engine;
use crate::oauth::Oauth;
use crate::oauth::store::Store;
use crate::web::App;
use crate::web::guard::Guard;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

/// A running server, and the engine behind it.
pub(super) struct Serving {
    running: Running<App>,
    engine: Arc<Engine>,
}

pub(super) fn serve(config: Config) -> u8 {
    let store = match open_store(config.state_dir.as_deref()) {
        Ok(store) => store,
        Err(why) => {
            log::error!("STATE_DIR: {why}");
            return FAILED;
        }
    };
    start(config, store).map_or(FAILED, until_stopped)
}

/// The store in a state folder, which is created if missing; without a folder, in memory.
pub(super) fn open_store(folder: Option<&Path>) -> Result<Store, String> {
    let Some(folder) = folder else {
        log::warn!("no STATE_DIR: logins are forgotten when the server stops");
        return Ok(Store::in_memory());
    };
    disk::create_private_folder(folder).map_err(|error| format!("the folder cannot be made: {}", error.kind()))?;
    Store::open(folder, Now::read())
}

/// What to do when an address cannot be listened on.
pub(super) fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::AddrInUse => "; another program has the port: stop it, or choose another LISTEN_ADDR",
        ErrorKind::PermissionDenied => "; ports below 1024 are for a proxy in front: choose another LISTEN_ADDR",
        _ => "",
    }
}

/// Binds and starts; logs why and gives `None` if it cannot.
pub(super) fn start(config: Config, store: Store) -> Option<Serving> {
    let engine = engine(&config)?;
    let listener = server::bind(config.listen);
    let listener = listener.inspect_err(|error| log::error!("cannot listen on {}: {error}{}", config.listen, hint(error))).ok()?;
    let app = App {
        mcp: engine,
        guard: Guard { origin: config.origin.clone(), allowed_origins: config.allowed_origins },
        oauth: Arc::new(Oauth::new(config.origin, config.logins, config.policy, store)),
        trusted_proxies: config.trusted_proxies,
    };
    let (url, engine, oauth) = (format!("{}/mcp", app.oauth.origin), Arc::clone(&app.mcp), Arc::clone(&app.oauth));
    let running = Running::start(listener, app, config.max_connections, config.workers);
    let running = running.inspect_err(|error| log::error!("no thread: {error}")).ok()?;
    if let Some(folder) = &config.state_dir {
        control::listen(folder, oauth);
    }
    log::info!("listening on {}, serving {url}", running.address());
    Some(Serving { running, engine })
}

/// Serves until SIGTERM or SIGINT, then stops in order.
pub(super) fn until_stopped(serving: Serving) -> u8 {
    let stop = || {
        // Sessions, which take minutes, are not waited for: they are ended, with an error to the caller.
        serving.engine.systems.stop();
        let busy = serving.running.stop();
        serving.engine.systems.wait_for_writing_sessions();
        if busy > 0 {
            log::warn!("stopped with {busy} connections still busy");
        }
    };
    super::until_signal(
        || {
            loop {
                std::thread::park();
            }
        },
        stop,
    )
}
