//! Removing old versions, and lines of the log that are too many.

use super::commits::Author;
use super::log::{Did, LOG, Line, Log, Past, UNDO, failed, new_id};
use crate::clock::Moment;
use crate::disk::{self, Mode};
use crate::limits;
use crate::vault::error::Error;
use crate::vault::path::rest_below;
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long replaced and deleted versions are kept.
const VERSIONS_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Bytes that are added to the kept versions before the oldest are removed.
const VERSIONS_FRESH_BYTES: u64 = limits::VERSIONS_BYTES / 16;

impl Log {
    /// Cleans up, if enough was added since the last time.
    pub(crate) fn clean_when_due(&self, author: &Author) {
        // What undo replaces must not displace what it is about to bring back.
        if author.tool == UNDO || self.fresh.load(Ordering::Relaxed) < VERSIONS_FRESH_BYTES {
            return;
        }
        self.fresh.store(0, Ordering::Relaxed);
        if let Err(error) = self.clean(Moment::read()) {
            log::warn!("old versions cannot be removed: {error}");
        }
    }

    /// Removes versions older than `VERSIONS_AGE`, and those beyond
    /// [`limits::VERSIONS_BYTES`], less what is added until the next time, or an eighth of
    /// [`limits::VERSIONS_LOG_BYTES`], counted from the newest. The newest of each path that
    /// another login or a person wrote stays. Texts that the same login had written itself are
    /// removed before those of others, so that a flood of its changes displaces nothing; lines
    /// without a version, such as renames, have an eighth of the log of their own. From a log that
    /// was not read whole nothing is removed: what is kept for the lines that were not read would
    /// be lost.
    ///
    /// # Errors
    /// The disk's.
    pub fn clean(&self, now: Moment) -> Result<(), Error> {
        if !self.exists() {
            return Ok(());
        }
        let log = self.open()?;
        // A call that a crash interrupted is taken back by these lines and texts.
        if log.ends_unfinished()? {
            return Ok(());
        }
        let Past { lines, is_whole } = self.past().map_err(failed)?;
        if !is_whole {
            log::warn!(
                "versions/{LOG} is too long to be read whole; nothing is removed. Move the folder \
                 versions away to begin anew"
            );
            return Ok(());
        }
        let own = own_texts(&lines);
        let is_own = |number: usize| own.contains(&number);
        let (mut bytes, mut hashes, mut paths) = (0, HashSet::new(), HashSet::new());
        // The newest line that was removed although it was young, by login.
        let mut dropped: BTreeMap<&str, u64> = BTreeMap::new();
        // They stay as long as they fit: texts of others, then the login's own, each newest first.
        // Lines with and without a version are counted apart.
        let mut log_bytes = [0_u64; 2];
        let mut stay: BTreeMap<usize, String> = BTreeMap::new();
        let newest_first = || lines.iter().enumerate().rev();
        for (number, line) in newest_first()
            .filter(|(number, _)| !is_own(*number))
            .chain(newest_first().filter(|(number, _)| is_own(*number)))
        {
            let is_newest =
                !is_own(number) && line.kept().is_some_and(|(path, _)| paths.insert(path));
            let is_young = now.since(Moment(line.at)) <= VERSIONS_AGE;
            let size =
                line.kept().filter(|(_, hash)| !hashes.contains(*hash)).map_or(0, |_| line.size());
            let noted = Line { own: is_own(number), vault: None, ..line.clone() };
            let text = serde_json::to_string(&noted).map_err(|error| failed(error.into()))? + "\n";
            let [without, with] = &mut log_bytes;
            let used = if line.kept().is_some() { with } else { without };
            let fits = bytes + size <= limits::VERSIONS_BYTES - VERSIONS_FRESH_BYTES
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
        let is_young = |newest: &u64| now.since(Moment(*newest)) <= VERSIONS_AGE;
        let gaps =
            dropped.into_iter().filter(|(_, newest)| is_young(newest)).map(|(by, newest)| {
                let (version, call) = (new_id(), new_id());
                let line = Line {
                    version,
                    call,
                    at: now.0,
                    by: by.to_owned(),
                    user: String::new(),
                    tool: String::new(),
                    own: false,
                    vault: None,
                    did: Did::Dropped { newest },
                };
                serde_json::to_string(&line)
                    .map(|line| line + "\n")
                    .map_err(|error| failed(error.into()))
            });
        let stay: Vec<String> = gaps.chain(stay.into_values().map(Ok)).collect::<Result<_, _>>()?;
        // Before the log is replaced, which ends its lock: what another process keeps stays.
        for entry in std::fs::read_dir(&self.folder).map_err(failed)?.flatten() {
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.len() == 64 && !hashes.contains(name)) {
                disk::discard(&entry.path());
            } else if name.to_str().is_some_and(disk::is_temporary) {
                disk::remove_leftover(&entry.path());
            }
        }
        disk::replace(&self.folder.join(LOG), stay.concat().as_bytes(), Mode::Private, |_| {
            Ok::<(), std::io::Error>(())
        })
        .map_err(failed)?;
        Ok(())
    }
}

/// The numbers of the lines whose old text the same login had written at the same file: it is
/// nobody else's loss.
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
            Did::Done { .. } | Did::Ended { .. } | Did::Undone { .. } | Did::Dropped { .. } => {}
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::log::Record;
    use crate::secret;
    use crate::vault::hash;
    use std::fs::File;
    use std::path::PathBuf;
    use std::sync::Arc;

    /// Records changes that are made at once; gives the id of the call.
    fn record(log: &Log, author: &Author, records: Vec<Record>) -> String {
        log.open().unwrap().begin(author, None, records.into_iter()).unwrap().call
    }

    fn open_new() -> (PathBuf, Arc<Log>) {
        let folder = std::env::temp_dir().join(format!("vsm-versions-{}", secret::new_id()));
        disk::create_private_folder(&folder).unwrap();
        let versions = Log::at(&folder);
        (folder, versions)
    }

    #[test]
    fn old_versions_go_and_the_newest_of_each_path_stays() {
        let (folder, versions) = open_new();
        let author = Author::new("me", "tool");
        let keep = |path: &str, text: &str| {
            let did = Did::Wrote {
                path: path.into(),
                before: Some(hash(text.as_bytes())),
                after: String::new(),
                bytes: text.len(),
            };
            record(&versions, &author, vec![Record { did, bytes: Some(text.as_bytes().to_vec()) }])
        };
        for text in ["1", "2", "3"] {
            keep("a", text);
        }
        disk::append(&folder.join("versions").join(LOG), b"{\"version\":\"half").unwrap();
        let last = keep("b", "4");
        let texts = || -> Vec<String> {
            let lines = versions.past().unwrap().lines;
            lines
                .iter()
                .map(|line| {
                    String::from_utf8(versions.bytes(line.kept().unwrap().1).unwrap()).unwrap()
                })
                .collect()
        };
        versions.clean(Moment::read()).unwrap();
        assert_eq!(texts(), ["1", "2", "3", "4"]);
        versions.clean(Moment::read().after(VERSIONS_AGE).after(Duration::from_secs(60))).unwrap();
        assert_eq!(texts(), ["3", "4"]);
        assert!(versions.bytes(&hash(b"1")).is_err(), "its bytes are gone");
        std::fs::write(folder.join("versions").join(hash(b"3")), "x").unwrap();
        assert!(versions.bytes(&hash(b"3")).is_err(), "damaged bytes are not handed out");
        versions.open().unwrap().end(&author, Did::Ended { of: last }).unwrap();
        assert_eq!(versions.past().unwrap().lines.len(), 1, "what was not made is not known");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_flood_of_changes_displaces_no_text_of_others() {
        let (folder, versions) = open_new();
        let author = Author::new("agent", "tool");
        let wrote = |before: &str, after: &str| Record {
            did: Did::Wrote {
                path: "a".into(),
                before: Some(hash(before.as_bytes())),
                after: hash(after.as_bytes()),
                bytes: before.len(),
            },
            bytes: Some(before.as_bytes().to_vec()),
        };
        record(
            &versions,
            &author,
            vec![wrote("a person's", "one"), wrote("one", "two"), wrote("two", "three")],
        );
        let long = "x".repeat(2000);
        let rename =
            || Record { did: Did::Renamed { from: long.clone(), to: long.clone() }, bytes: None };
        record(
            &versions,
            &author,
            (0..limits::VERSIONS_LOG_BYTES / 7000).map(|_| rename()).collect(),
        );
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
            4,
            "three texts and the log"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Four thousand notes that one login has made, moved and rewritten over and over.
    #[test]
    fn what_a_login_wrote_itself_has_no_right_to_stay() {
        let (folder, versions) = open_new();
        let author = Author::new("agent", "tool");
        let wrote = |path: &str, before: &str, after: &str| Record {
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
        record(
            &versions,
            &author,
            vec![Record { did: copied, bytes: None }, wrote("a.md", "a person's", "0")],
        );
        let long = "x".repeat(1000);
        let count = (limits::VERSIONS_LOG_BYTES / 4000) as usize;
        // It made them, so that none of their texts is anybody else's, and copied the person's text
        // to another note first.
        let made = |n: usize| Record {
            did: Did::Wrote {
                path: format!("{n}/{long}"),
                before: None,
                after: hash(b"0"),
                bytes: 0,
            },
            bytes: None,
        };
        record(&versions, &author, (0..count / 2).map(made).collect());
        record(
            &versions,
            &author,
            (0..count / 2).map(|n| wrote(&format!("{n}/{long}"), "0", "0")).collect(),
        );
        assert!(versions.past().unwrap().is_whole_of("agent", Moment(0)));
        versions.clean(Moment::read()).unwrap();
        let log = versions.past().unwrap();
        assert!(log.lines.len() < count, "{} of {count}", log.lines.len());
        assert_eq!(versions.bytes(&hash(b"a person's")).unwrap(), b"a person's");
        assert!(
            log.is_whole
                && !log.is_whole_of("agent", Moment(0))
                && log.is_whole_of("another", Moment(0))
        );
        versions.clean(Moment::read()).unwrap();
        assert!(
            !versions.past().unwrap().is_whole_of("agent", Moment(0)),
            "a second cleanup remembers it"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn nothing_is_removed_from_a_log_that_is_not_read_whole() {
        let (folder, versions) = open_new();
        let log = folder.join("versions").join(LOG);
        let author = Author::new("me", "tool");
        let did = Did::Wrote {
            path: "a".into(),
            before: Some(hash(b"old")),
            after: hash(b"new"),
            bytes: 3,
        };
        record(&versions, &author, vec![Record { did, bytes: Some(b"old".to_vec()) }]);
        File::options()
            .append(true)
            .open(&log)
            .unwrap()
            .set_len(limits::VERSIONS_LOG_BYTES + 1)
            .unwrap();
        let did = Did::Renamed { from: "a".into(), to: "b".into() };
        record(&versions, &author, vec![Record { did: did.clone(), bytes: None }]);
        assert!(
            versions.fresh.load(Ordering::Relaxed) > 0,
            "a line without a version counts towards the next cleanup"
        );
        let read = versions.past().unwrap();
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
