//! `serve`: the HTTP server, until a signal ends it.

use super::{FAILED, control, engine};
use crate::clock::Moment;
use crate::config::Config;
use crate::disk;
use crate::http::server::{self, Running};
use crate::oauth::Oauth;
use crate::oauth::store::Store;
use crate::web::App;
use crate::web::account;
use crate::web::guard::Guard;
use std::io::{self, ErrorKind};
use std::sync::Arc;

pub(super) fn serve(config: Config) -> u8 {
    let store = match config.state_dir.as_deref() {
        Some(folder) => disk::create_private_folder(folder)
            .map_err(|error| format!("the folder cannot be made: {}", error.kind()))
            .and_then(|()| Store::open(folder, Moment::read())),
        None => {
            log::warn!(
                "STATE_DIR is none, or there is no home for it: logins are forgotten when the \
                 server stops"
            );
            Ok(Store::in_memory())
        }
    };
    let store = store.inspect_err(|why| log::error!("STATE_DIR: {why}")).ok();
    store.and_then(|store| run(config, store, || {})).unwrap_or(FAILED)
}

/// What to do when an address cannot be listened on.
pub(super) fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::AddrInUse => {
            "; another program has the port: stop it, or choose another LISTEN_ADDR"
        }
        ErrorKind::PermissionDenied => {
            "; ports below 1024 are for a proxy in front: choose another LISTEN_ADDR"
        }
        _ => "",
    }
}

/// Serves until SIGTERM or SIGINT, then stops in order; gives the exit code. Calls `started` once
/// clients can connect. Logs why and gives `None` if it cannot start.
pub(super) fn run(config: Config, store: Store, started: impl FnOnce()) -> Option<u8> {
    let engine = engine(&config)?;
    let listener = server::bind(config.listen);
    let listener = listener
        .inspect_err(|error| {
            log::error!("cannot listen on {}: {error}{}", config.listen, hint(error))
        })
        .ok()?;
    let oauth = Arc::new(Oauth::new(config.origin.clone(), config.logins, config.policy, store));
    let app = App {
        mcp: Arc::clone(&engine),
        guard: Guard {
            origin: config.origin.clone(),
            allowed_origins: config.allowed_origins,
            allowed_hosts: config.allowed_hosts,
        },
        oauth: Arc::clone(&oauth),
        trusted_proxies: config.trusted_proxies,
        has_account: config.account_page,
        account_turns: account::turns(),
    };
    let running = Running::start(listener, app, config.max_connections, config.workers);
    let running = running.inspect_err(|error| log::error!("no thread: {error}")).ok()?;
    if let Some(folder) = &config.state_dir {
        control::listen(folder, Arc::clone(&oauth));
    }
    log::info!("listening on {}, serving {}/mcp", running.address(), config.origin);
    started();
    let stop = move || {
        // Sessions, which take minutes, are not waited for: they are ended, with an error to the
        // caller.
        engine.systems.stop();
        oauth.stop();
        let busy = running.stop();
        engine.systems.wait_for_writing_sessions();
        if busy > 0 {
            log::warn!("stopped with {busy} connections still busy");
        }
    };
    let forever = || {
        loop {
            std::thread::park();
        }
    };
    Some(super::until_signal(forever, stop))
}
