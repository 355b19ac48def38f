//! Registrations that have not led to a login yet. Anyone may register, so they are kept apart from the state: in memory and,
//! with a state folder, in a file to which each is appended as a line. A client moves into the state when it first
//! exchanges a code.

use super::source::{evict_oldest_if_full, network_of};
use super::store::{Client, NotStored};
use crate::clock::Moment;
use crate::disk::{self, Mode};
use crate::limits;
use crate::lock::Unpoisoned;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// One client per line, as JSON, the oldest first; mode 0600.
const FILE: &str = "registrations.jsonl";

/// The registrations without a login.
#[derive(Default)]
pub(super) struct Registrations {
    file: Option<PathBuf>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// By id, with the network it was made from; unknown for those of an earlier run.
    clients: HashMap<String, (Arc<Client>, Option<IpAddr>)>,
    /// Lines in the file, including those of clients that are gone. `None`: not known, and the next registration rewrites it.
    lines: Option<usize>,
    /// Registrations of each network within [`limits::REGISTRATIONS_OVER`], and since when.
    counted: HashMap<IpAddr, (u32, Moment)>,
    /// Refusals that are not in the log yet.
    refused: u64,
    refusal_logged: Option<Moment>,
}

impl Registrations {
    /// Those of a state folder, or none. Lines that cannot be read are dropped.
    pub(super) fn open(folder: Option<&Path>, now: Moment) -> Registrations {
        let Some(file) = folder.map(|folder| folder.join(FILE)) else { return Registrations::default() };
        let bytes = disk::read_at_most(&file, limits::REGISTRATIONS_BYTES).unwrap_or_else(|error| {
            if error.kind() != std::io::ErrorKind::NotFound {
                log::warn!("{FILE} cannot be read: {}", error.kind());
            }
            Vec::new()
        });
        // Its `lines` stay unknown: the first registration rewrites the file, without expired and unreadable lines.
        let mut table = Table::default();
        let read = bytes.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice::<Client>(line).ok());
        for client in read.filter(|client| !is_expired(client, now)) {
            table.clients.insert(client.id.clone(), (Arc::new(client), None));
        }
        Registrations { file: Some(file), table: Mutex::new(table) }
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Client>> {
        self.table.lock().unpoisoned().clients.get(id).map(|(client, _)| Arc::clone(client))
    }

    /// Adds one; when this returns, it is on the disk. Beyond [`limits::CLIENTS`] the oldest of the network with most of them
    /// is removed, so a source that fills the table removes only its own.
    ///
    /// # Errors
    /// [`NotStored`]: it could not be stored, and is not added.
    pub(super) fn add(&self, client: Client, from: IpAddr, now: Moment) -> Result<(), NotStored> {
        let mut table = self.table.lock().unpoisoned();
        table.clients.retain(|_, (client, _)| !is_expired(client, now));
        if table.clients.len() >= limits::CLIENTS {
            let mut counts: HashMap<Option<IpAddr>, usize> = HashMap::new();
            table.clients.values().for_each(|(_, from)| *counts.entry(*from).or_default() += 1);
            // Those of an earlier run go first: their network is not known, and most have logged in since, after which the state has them.
            let goes = table.clients.values().max_by_key(|(client, from)| (from.is_none(), counts.get(from), Reverse(client.created)));
            let goes = goes.map(|(client, _)| client.id.clone());
            goes.and_then(|goes| table.clients.remove(&goes));
        }
        let client = Arc::new(client);
        table.clients.insert(client.id.clone(), (Arc::clone(&client), Some(network_of(from))));
        let stored = self.append(&mut table, &client);
        if let Err(error) = stored {
            log::error!("a registration cannot be stored: {error}");
            table.clients.remove(&client.id);
            return Err(NotStored);
        }
        Ok(())
    }

    fn append(&self, table: &mut Table, client: &Client) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        // With twice as many lines as there may be clients, the file is rewritten.
        if table.lines.is_none_or(|lines| lines >= 2 * limits::CLIENTS) {
            let mut clients: Vec<&Arc<Client>> = table.clients.values().map(|(client, _)| client).collect();
            clients.sort_unstable_by_key(|client| client.created);
            let lines = clients.iter().map(|client| Ok(serde_json::to_string(client)? + "\n")).collect::<std::io::Result<String>>()?;
            disk::replace::<std::io::Error>(file, lines.as_bytes(), Mode::Private, |_| Ok(()))?;
            table.lines = Some(clients.len());
            return Ok(());
        }
        let line = serde_json::to_string(client)? + "\n";
        let appended = disk::append_durably(file, line.as_bytes());
        // On an error a part of the line may be written.
        table.lines = table.lines.filter(|_| appended.is_ok()).map(|lines| lines + 1);
        appended
    }

    /// Forgets one that is in the state now.
    pub(super) fn forget(&self, id: &str) {
        self.table.lock().unpoisoned().clients.remove(id);
    }

    /// Counts an attempt to register; whether it is allowed.
    pub(super) fn may_register(&self, from: IpAddr, now: Moment) -> bool {
        let counted = &mut self.table.lock().unpoisoned().counted;
        // A start in the future, after the clock was set back, would not expire.
        counted.retain(|_, (_, since)| now.since(*since) < limits::REGISTRATIONS_OVER && *since <= now);
        evict_oldest_if_full(counted, limits::THROTTLED_SOURCES, &network_of(from), |(_, since)| *since);
        let (count, _) = counted.entry(network_of(from)).or_insert((0, now));
        *count = count.saturating_add(1);
        *count <= limits::REGISTRATIONS_PER_SOURCE
    }

    /// Counts a refusal; when it is time to log one again, gives how many there were since the last.
    pub(super) fn refused(&self, now: Moment) -> Option<u64> {
        let mut table = self.table.lock().unpoisoned();
        table.refused += 1;
        if table.refusal_logged.is_some_and(|last| now.since(last) < limits::REFUSALS_LOGGED_EVERY) {
            return None;
        }
        table.refusal_logged = Some(now);
        Some(std::mem::take(&mut table.refused))
    }
}

fn is_expired(client: &Client, now: Moment) -> bool {
    client.created.saturating_add(limits::UNUSED_CLIENT_LIFE.as_secs()) < now.0
}
