//! Processing many files on all cores.

use super::error::Error;
use crate::limits;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes of text that one thread searches alone: starting others takes as long as searching this.
const SINGLE_THREAD_BYTES: u64 = 2 * 1024 * 1024;
/// Additional threads that one search may start.
const SEARCH_HELPERS: usize = 7;

/// The results of `look` for all items, in order. Helper threads are started only where looking
/// at all `bytes` of the items costs more than starting them.
pub(crate) fn map_parallel<T: Sync, R: Send>(
    items: &[T],
    bytes: &dyn Fn(&T) -> u64,
    look: &(dyn Fn(&T) -> R + Sync),
    proceed: &dyn Fn(usize, usize) -> bool,
) -> Result<Vec<R>, Error> {
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    // A free thread takes the next block, so all finish at about the same time.
    let work = |proceed: &dyn Fn(usize) -> bool| {
        let mut pieces: Vec<(usize, Vec<R>)> = Vec::new();
        while !stopped.load(Ordering::Relaxed) {
            let from = next.fetch_add(limits::SEARCH_BLOCK, Ordering::Relaxed);
            let Some(rest) = items.get(from..).filter(|rest| !rest.is_empty()) else { break };
            pieces.push((from, rest.iter().take(limits::SEARCH_BLOCK).map(look).collect()));
            if !proceed((from + limits::SEARCH_BLOCK).min(items.len())) {
                stopped.store(true, Ordering::Relaxed);
            }
        }
        pieces
    };
    let is_little = items.iter().map(bytes).sum::<u64>() < SINGLE_THREAD_BYTES;
    let helpers = if is_little { 0 } else { cores().saturating_sub(1).min(SEARCH_HELPERS) };
    let mut pieces = std::thread::scope(|scope| {
        let work = &work;
        // If a thread cannot be started, the others do its share.
        let help = || {
            std::thread::Builder::new()
                .name("search".into())
                .spawn_scoped(scope, move || work(&|_| true))
                .ok()
        };
        let helping: Vec<_> = (0..helpers).filter_map(|_| help()).collect();
        let mut pieces = work(&|done| proceed(done, items.len()));
        for helper in helping {
            // A panic in a helper is propagated: the result would be incomplete.
            pieces.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        pieces
    });
    if stopped.into_inner() {
        return Err(Error::Cancelled);
    }
    pieces.sort_unstable_by_key(|(from, _)| *from);
    Ok(pieces.into_iter().flat_map(|(_, piece)| piece).collect())
}

/// The number of processor cores, determined once.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
