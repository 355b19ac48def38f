//! Versions that tools have replaced or deleted, kept outside the vault with who did it: in the state folder, `versions/log.jsonl` has a
//! line for each change of a file, and `versions/` the old bytes, named by SHA-256. Both are written and flushed before the change is made;
//! if it fails, another line says so. A lock excludes other processes of this program.

use super::Error;
use super::commits::Author;
use super::path::rest_below;
use crate::clock::{Deadline, Moment};
use crate::disk::{self, Mode};
use crate::limits;
use crate::secret;
use crate::slice::Part;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const LOG: &str = "log.jsonl";
const LOCK: &str = "lock";

/// The tool of the changes that the command `undo` makes.
pub const UNDO: &str = "undo";

/// What was done to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum Did {
    /// Written. `before` is the hash of the old bytes (`None` for a new file), `after` that of the new ones; `bytes` is the number of old
    /// bytes.
    Wrote { path: String, before: Option<String>, after: String, bytes: usize },
    /// A file or folder renamed.
    Renamed { from: String, to: String },
    /// Deleted, or moved to the trash if `trashed_to` is not empty; `before` is `None` for a file too large to be kept.
    Trashed { path: String, trashed_to: String, before: Option<String>, bytes: usize },
    /// The changes of a call were not made.
    Ended { of: String },
    /// The changes of a call were undone.
    Undone { of: String },
    /// Lines of this login that were not too old were removed because there were too many, the newest of them from this time: what it did
    /// until then is not known in full.
    Dropped { newest: u64 },
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The id of this line, and of the version that was replaced, if any.
    pub version: String,
    /// Groups the changes of one write or transaction.
    pub call: String,
    /// Unix time in seconds.
    pub at: u64,
    /// The login: the id of a grant, the name of an API token or machine client, `local`.
    pub by: String,
    pub tool: String,
    /// The login itself had written the text that was replaced; noted by a cleanup, which may remove the line that says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    #[serde(flatten)]
    pub did: Did,
}

/// The log, as far as it could be read.
#[derive(Debug)]
pub struct Log {
    /// All changes that did not fail, oldest first.
    pub lines: Vec<Line>,
    /// Whether it was read from its beginning; a log beyond [`limits::VERSIONS_LOG_BYTES`] is not.
    pub is_whole: bool,
}

impl Log {
    /// Whether it has everything that a login has done since a point in time.
    pub fn is_whole_of(&self, by: &str, since: Moment) -> bool {
        let is_gap = |line: &Line| {
            line.by == by && matches!(line.did, Did::Dropped { newest } if newest >= since.0)
        };
        self.is_whole && !self.lines.iter().any(is_gap)
    }
}

/// A change about to be made, with the bytes that it replaces or deletes.
pub(super) struct Change {
    pub(super) did: Did,
    pub(super) bytes: Option<Vec<u8>>,
}

/// The kept versions of a vault.
#[derive(Debug)]
pub struct Versions {
    folder: PathBuf,
    /// Bytes added since the last cleanup, of versions and of the log.
    fresh: AtomicU64,
}

/// The hash by which bytes are known: SHA-256 in hex.
pub fn hash(bytes: &[u8]) -> String {
    secret::hex(&Sha256::digest(bytes))
}

/// As [`hash`], of a file too large to be held in memory.
pub fn hash_of_all(mut file: impl Read) -> std::io::Result<String> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; limits::HASHED_AT_ONCE];
    while let count @ 1.. = file.read(&mut buffer)? {
        digest.update(buffer.part(..count));
    }
    Ok(secret::hex(&digest.finalize()))
}

fn failed(cause: std::io::Error) -> Error {
    log::error!("could not keep an old version in the state folder: {cause}");
    Error::Disk {
        doing: "keep the old version in the state folder",
        path: "versions".into(),
        cause,
    }
}

impl Versions {
    /// Opens the versions in a state folder, which must exist.
    ///
    /// # Errors
    /// The disk's.
    pub fn open(state_dir: &Path) -> std::io::Result<Arc<Versions>> {
        let folder = state_dir.join("versions");
        disk::create_private_folder(&folder)?;
        Ok(Arc::new(Versions { folder, fresh: AtomicU64::new(0) }))
    }

    fn lock(&self) -> Result<File, Error> {
        wait_for_lock(&self.folder.join(LOCK)).map_err(failed)?.ok_or(Error::Busy)
    }

    /// Keeps the bytes that the changes of a call replace or delete, before they are made. Returns the version ids, in order.
    pub(super) fn keep(
        &self,
        author: &Author,
        call: &str,
        changes: Vec<Change>,
    ) -> Result<Vec<String>, Error> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let _lock = self.lock()?;
        // A power cut may have left half a line, which the next one must not continue.
        let (at, mut lines, mut ids) = (Moment::read().0, String::from("\n"), Vec::new());
        let log = self.folder.join(LOG);
        let mut has_new_files = !log.exists();
        for Change { did, bytes } in changes {
            if let Some(bytes) = bytes {
                has_new_files |= self.keep_bytes(&bytes).map_err(failed)?;
            }
            let version = new_id();
            let line = Line {
                version: version.clone(),
                call: call.to_owned(),
                at,
                by: author.by.clone(),
                tool: author.tool.to_owned(),
                own: false,
                did,
            };
            lines.push_str(
                &(serde_json::to_string(&line).map_err(|error| failed(error.into()))? + "\n"),
            );
            ids.push(version);
        }
        disk::append_durably(&log, lines.as_bytes()).map_err(failed)?;
        if has_new_files {
            disk::flush_folder(&self.folder).map_err(failed)?;
        }
        self.fresh.fetch_add(lines.len() as u64, Ordering::Relaxed);
        Ok(ids)
    }

    /// Records that the changes of a call failed.
    pub(super) fn end(&self, author: &Author, call: &str) -> Result<(), Error> {
        self.keep(
            author,
            &new_id(),
            vec![Change { did: Did::Ended { of: call.to_owned() }, bytes: None }],
        )
        .map(drop)
    }

    /// Whether they were not kept already.
    fn keep_bytes(&self, bytes: &[u8]) -> std::io::Result<bool> {
        let on_disk = self.folder.join(hash(bytes));
        if std::fs::read(&on_disk).is_ok_and(|known| known == bytes) {
            return Ok(false);
        }
        disk::discard(&on_disk);
        disk::append_durably(&on_disk, bytes)?;
        self.fresh.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(true)
    }

    /// The bytes of a version, by hash.
    ///
    /// # Errors
    /// The disk's; `InvalidData` if the bytes do not match the hash.
    pub(super) fn bytes(&self, hash_of: &str) -> std::io::Result<Vec<u8>> {
        let bytes = disk::read_at_most(&self.folder.join(hash_of), limits::NOTE_BYTES)?;
        if hash(&bytes) == hash_of { Ok(bytes) } else { Err(ErrorKind::InvalidData.into()) }
    }

    /// The log, of which at most the last [`limits::VERSIONS_LOG_BYTES`] are read. A line that cannot be parsed is skipped: a power cut may
    /// have truncated it, and then its change was not made.
    ///
    /// # Errors
    /// The disk's.
    pub fn log(&self) -> std::io::Result<Log> {
        let on_disk = self.folder.join(LOG);
        let log = disk::none_if_missing(disk::read_end(&on_disk, limits::VERSIONS_LOG_BYTES))?
            .unwrap_or_default();
        let is_whole = disk::none_if_missing(std::fs::metadata(&on_disk))?
            .is_none_or(|found| found.len() <= limits::VERSIONS_LOG_BYTES);
        let lines: Vec<Line> = log
            .split(|&byte| byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        let ended = lines.iter().filter_map(|line| {
            if let Did::Ended { of } = &line.did { Some(of.clone()) } else { None }
        });
        let ended: HashSet<String> = ended.collect();
        let lines = lines
            .into_iter()
            .filter(|line| !matches!(line.did, Did::Ended { .. }) && !ended.contains(&line.call))
            .collect();
        Ok(Log { lines, is_whole })
    }

    /// Cleans up in a background thread, if enough was added since the last time.
    pub(super) fn clean_when_due(self: &Arc<Versions>) {
        if self.fresh.load(Ordering::Relaxed) < limits::VERSIONS_BYTES / 16 {
            return;
        }
        self.fresh.store(0, Ordering::Relaxed);
        let versions = Arc::clone(self);
        let run = move || {
            if let Err(error) = versions.clean(Moment::read()) {
                log::warn!("old versions cannot be removed: {error}");
            }
        };
        let _ = std::thread::Builder::new()
            .name("versions".into())
            .spawn(run)
            .inspect_err(|error| log::warn!("no thread: {error}"));
    }

    /// Removes versions older than [`limits::VERSIONS_AGE`], and those beyond [`limits::VERSIONS_BYTES`] or an eighth of
    /// [`limits::VERSIONS_LOG_BYTES`], counted from the newest. The newest of each path that another login or a person wrote stays. Texts
    /// that the same login had written itself are removed before those of others, so that a flood of its changes displaces nothing; lines
    /// without a version, such as renames, have an eighth of the log of their own. From a log that was not read whole nothing is
    /// removed: what is kept for the lines that were not read would be lost.
    ///
    /// # Errors
    /// The disk's.
    pub fn clean(&self, now: Moment) -> Result<(), Error> {
        let _lock = self.lock()?;
        let Log { lines, is_whole } = self.log().map_err(failed)?;
        if !is_whole {
            log::warn!(
                "versions/{LOG} is too long to be read whole; nothing is removed. Move the folder versions away to begin anew"
            );
            return Ok(());
        }
        let own = own_texts(&lines);
        let is_own = |number: usize| own.contains(&number);
        let (mut bytes, mut hashes, mut paths) = (0, HashSet::new(), HashSet::new());
        // The newest line that was removed although it was young, by login.
        let mut dropped: BTreeMap<&str, u64> = BTreeMap::new();
        // They stay as long as they fit: texts of others, then the login's own, each newest first. Lines with and without a version are counted
        // apart.
        let mut log_bytes = [0_u64; 2];
        let mut stay: BTreeMap<usize, String> = BTreeMap::new();
        let newest_first = || lines.iter().enumerate().rev();
        for (number, line) in newest_first()
            .filter(|(number, _)| !is_own(*number))
            .chain(newest_first().filter(|(number, _)| is_own(*number)))
        {
            let is_newest =
                !is_own(number) && line.kept().is_some_and(|(path, _)| paths.insert(path));
            let is_young = now.since(Moment(line.at)) <= limits::VERSIONS_AGE;
            let size =
                line.kept().filter(|(_, hash)| !hashes.contains(*hash)).map_or(0, |_| line.size());
            let noted = Line { own: is_own(number), ..line.clone() };
            let text = serde_json::to_string(&noted).map_err(|error| failed(error.into()))? + "\n";
            let [without, with] = &mut log_bytes;
            let used = if line.kept().is_some() { with } else { without };
            let fits = bytes + size <= limits::VERSIONS_BYTES
                && *used + text.len() as u64 <= limits::VERSIONS_LOG_BYTES / 8;
            if let Did::Dropped { newest } = line.did {
                let known = dropped.entry(&line.by).or_default();
                *known = newest.max(*known);
                continue;
            }
            if !(is_newest || is_young && fits) {
                if is_young {
                    let known = dropped.entry(&line.by).or_default();
                    *known = line.at.max(*known);
                }
                continue;
            }
            bytes += size;
            *used += text.len() as u64;
            hashes.extend(line.kept().map(|(_, hash)| hash));
            stay.insert(number, text);
        }
        let is_young = |newest: &u64| now.since(Moment(*newest)) <= limits::VERSIONS_AGE;
        let gaps =
            dropped.into_iter().filter(|(_, newest)| is_young(newest)).map(|(by, newest)| {
                let (version, call) = (new_id(), new_id());
                let line = Line {
                    version,
                    call,
                    at: now.0,
                    by: by.to_owned(),
                    tool: String::new(),
                    own: false,
                    did: Did::Dropped { newest },
                };
                serde_json::to_string(&line)
                    .map(|line| line + "\n")
                    .map_err(|error| failed(error.into()))
            });
        let stay: Vec<String> = gaps.chain(stay.into_values().map(Ok)).collect::<Result<_, _>>()?;
        disk::replace(&self.folder.join(LOG), stay.concat().as_bytes(), Mode::Private, |_| {
            Ok::<(), std::io::Error>(())
        })
        .map_err(failed)?;
        for entry in std::fs::read_dir(&self.folder).map_err(failed)?.flatten() {
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.len() == 64 && !hashes.contains(name)) {
                disk::discard(&entry.path());
            } else if name.to_str().is_some_and(disk::is_temporary) {
                disk::remove_leftover(&entry.path());
            }
        }
        Ok(())
    }
}

impl Line {
    /// The path and hash of the version that this change replaced, if it is kept.
    pub fn kept(&self) -> Option<(&str, &str)> {
        match &self.did {
            Did::Wrote { path, before: Some(before), .. }
            | Did::Trashed { path, before: Some(before), .. } => Some((path, before)),
            _ => None,
        }
    }

    /// Bytes of that version.
    pub fn size(&self) -> u64 {
        match &self.did {
            Did::Wrote { bytes, .. } | Did::Trashed { bytes, .. } => *bytes as u64,
            _ => 0,
        }
    }
}

/// The numbers of the lines whose old text the same login had written at the same file: it is nobody else's loss.
fn own_texts(lines: &[Line]) -> HashSet<usize> {
    // Who wrote the text of a file, and its hash.
    let mut writers: BTreeMap<String, (&str, &str)> = BTreeMap::new();
    let mut own = HashSet::new();
    for (number, line) in lines.iter().enumerate() {
        if let Some((path, before)) = line.kept()
            && (line.own || writers.get(path) == Some(&(&*line.by, before)))
        {
            own.insert(number);
        }
        match &line.did {
            Did::Wrote { path, after, .. } => drop(writers.insert(path.clone(), (&line.by, after))),
            Did::Trashed { path, .. } => drop(writers.remove(path)),
            Did::Renamed { from, to } => {
                let below = writers
                    .range(from.clone()..)
                    .map(|(path, _)| path.clone())
                    .take_while(|path| path.starts_with(from.as_str()));
                for old in below.collect::<Vec<String>>() {
                    if let Some(rest) = rest_below(&old, from)
                        && let Some(writer) = writers.remove(&old)
                    {
                        writers.insert(format!("{to}{rest}"), writer);
                    }
                }
            }
            Did::Ended { .. } | Did::Undone { .. } | Did::Dropped { .. } => {}
        }
    }
    own
}

/// An id of 16 hex digits.
pub(super) fn new_id() -> String {
    secret::hex(&secret::random::<8>())
}

/// Waits for a lock file that other processes hold briefly; `None` if one holds it for too long.
///
/// # Errors
/// The disk's.
pub(super) fn wait_for_lock(on_disk: &Path) -> std::io::Result<Option<File>> {
    Deadline::after(limits::LOCK_FILE_WAIT).poll(limits::LOCK_POLL, || disk::take_lock(on_disk))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_new() -> (PathBuf, Arc<Versions>) {
        let folder = std::env::temp_dir().join(format!("vsm-versions-{}", secret::new_id()));
        disk::create_private_folder(&folder).unwrap();
        let versions = Versions::open(&folder).unwrap();
        (folder, versions)
    }

    #[test]
    fn old_versions_go_and_the_newest_of_each_path_stays() {
        let (folder, versions) = open_new();
        let author = Author::new("me", "tool", None);
        let keep = |path: &str, text: &str| {
            let did = Did::Wrote {
                path: path.into(),
                before: Some(hash(text.as_bytes())),
                after: String::new(),
                bytes: text.len(),
            };
            versions
                .keep(&author, "call", vec![Change { did, bytes: Some(text.as_bytes().to_vec()) }])
                .unwrap();
        };
        for text in ["1", "2", "3"] {
            keep("a", text);
        }
        disk::append(&folder.join("versions").join(LOG), b"{\"version\":\"half").unwrap();
        keep("b", "4");
        let texts = || -> Vec<String> {
            let lines = versions.log().unwrap().lines;
            lines
                .iter()
                .map(|line| {
                    String::from_utf8(versions.bytes(line.kept().unwrap().1).unwrap()).unwrap()
                })
                .collect()
        };
        versions.clean(Moment::read()).unwrap();
        assert_eq!(texts(), ["1", "2", "3", "4"]);
        versions
            .clean(
                Moment::read()
                    .after(limits::VERSIONS_AGE)
                    .after(std::time::Duration::from_secs(60)),
            )
            .unwrap();
        assert_eq!(texts(), ["3", "4"]);
        assert!(versions.bytes(&hash(b"1")).is_err(), "its bytes are gone");
        std::fs::write(folder.join("versions").join(hash(b"3")), "x").unwrap();
        assert!(versions.bytes(&hash(b"3")).is_err(), "damaged bytes are not handed out");
        versions.end(&author, "call").unwrap();
        assert!(versions.log().unwrap().lines.is_empty());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_flood_of_changes_displaces_no_text_of_others() {
        let (folder, versions) = open_new();
        let author = Author::new("agent", "tool", None);
        let wrote = |before: &str, after: &str| Change {
            did: Did::Wrote {
                path: "a".into(),
                before: Some(hash(before.as_bytes())),
                after: hash(after.as_bytes()),
                bytes: before.len(),
            },
            bytes: Some(before.as_bytes().to_vec()),
        };
        versions
            .keep(
                &author,
                "1",
                vec![wrote("a person's", "one"), wrote("one", "two"), wrote("two", "three")],
            )
            .unwrap();
        let long = "x".repeat(2000);
        let rename =
            || Change { did: Did::Renamed { from: long.clone(), to: long.clone() }, bytes: None };
        versions
            .keep(&author, "2", (0..limits::VERSIONS_LOG_BYTES / 7000).map(|_| rename()).collect())
            .unwrap();
        std::fs::write(
            folder.join("versions").join(format!(".vault-sync-mcp-{}.tmp", "0".repeat(32))),
            "left by a crash",
        )
        .unwrap();
        versions.clean(Moment::read()).unwrap();
        let length = std::fs::metadata(folder.join("versions").join(LOG)).unwrap().len();
        assert!(length < limits::VERSIONS_LOG_BYTES / 2, "{length}");
        assert_eq!(versions.bytes(&hash(b"a person's")).unwrap(), b"a person's");
        assert_eq!(
            std::fs::read_dir(folder.join("versions")).unwrap().count(),
            5,
            "three texts, the log and the lock"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Four thousand notes that one login has made, moved and rewritten over and over.
    #[test]
    fn what_a_login_wrote_itself_has_no_right_to_stay() {
        let (folder, versions) = open_new();
        let author = Author::new("agent", "tool", None);
        let wrote = |path: &str, before: &str, after: &str| Change {
            did: Did::Wrote {
                path: path.into(),
                before: Some(hash(before.as_bytes())),
                after: hash(after.as_bytes()),
                bytes: before.len(),
            },
            bytes: Some(before.as_bytes().to_vec()),
        };
        let copied = Did::Wrote {
            path: "copy.md".into(),
            before: None,
            after: hash(b"a person's"),
            bytes: 0,
        };
        versions
            .keep(
                &author,
                "1",
                vec![Change { did: copied, bytes: None }, wrote("a.md", "a person's", "0")],
            )
            .unwrap();
        let long = "x".repeat(1000);
        let count = (limits::VERSIONS_LOG_BYTES / 4000) as usize;
        // It made them, so that none of their texts is anybody else's, and copied the person's text to another note first.
        let made = |n: usize| Change {
            did: Did::Wrote {
                path: format!("{n}/{long}"),
                before: None,
                after: hash(b"0"),
                bytes: 0,
            },
            bytes: None,
        };
        versions.keep(&author, "2", (0..count / 2).map(made).collect()).unwrap();
        versions
            .keep(
                &author,
                "3",
                (0..count / 2).map(|n| wrote(&format!("{n}/{long}"), "0", "0")).collect(),
            )
            .unwrap();
        assert!(versions.log().unwrap().is_whole_of("agent", Moment(0)));
        versions.clean(Moment::read()).unwrap();
        let log = versions.log().unwrap();
        assert!(log.lines.len() < count, "{} of {count}", log.lines.len());
        assert_eq!(versions.bytes(&hash(b"a person's")).unwrap(), b"a person's");
        assert!(
            log.is_whole
                && !log.is_whole_of("agent", Moment(0))
                && log.is_whole_of("another", Moment(0))
        );
        versions.clean(Moment::read()).unwrap();
        assert!(
            !versions.log().unwrap().is_whole_of("agent", Moment(0)),
            "a second cleanup remembers it"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn nothing_is_removed_from_a_log_that_is_not_read_whole() {
        let (folder, versions) = open_new();
        let log = folder.join("versions").join(LOG);
        let author = Author::new("me", "tool", None);
        let did = Did::Wrote {
            path: "a".into(),
            before: Some(hash(b"old")),
            after: hash(b"new"),
            bytes: 3,
        };
        versions.keep(&author, "call", vec![Change { did, bytes: Some(b"old".to_vec()) }]).unwrap();
        File::options()
            .append(true)
            .open(&log)
            .unwrap()
            .set_len(limits::VERSIONS_LOG_BYTES + 1)
            .unwrap();
        let did = Did::Renamed { from: "a".into(), to: "b".into() };
        versions.keep(&author, "call 2", vec![Change { did: did.clone(), bytes: None }]).unwrap();
        assert!(
            versions.fresh.load(Ordering::Relaxed) > 0,
            "a line without a version counts towards the next cleanup"
        );
        let read = versions.log().unwrap();
        assert_eq!(
            read.lines.into_iter().map(|line| line.did).collect::<Vec<_>>(),
            [did],
            "of which the end is read"
        );
        assert!(!read.is_whole);
        versions.clean(Moment::read()).unwrap();
        assert_eq!(
            versions.bytes(&hash(b"old")).unwrap(),
            b"old",
            "that line was not read, and its text stays"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}
