//! Parts of texts and of bytes by ranges that were computed from them.

use std::panic::Location;
use std::slice::SliceIndex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A part by a range that was found in the very same text or slice.
pub trait Part<Range, Of: ?Sized> {
    /// The part. A range that does not fit is a mistake in this program: a debug build panics, so
    /// that tests and fuzz targets find it; a release build logs the caller, counts it in
    /// [`mistakes`] and returns an empty part. That may make a snippet shorter; a call that has met
    /// one changes no file.
    fn part(&self, range: Range) -> &Of;
}

impl<Range: SliceIndex<str, Output = str>> Part<Range, str> for str {
    #[track_caller]
    fn part(&self, range: Range) -> &str {
        let caller = Location::caller();
        self.get(range).unwrap_or_else(|| report(caller, self.len()))
    }
}

impl<T, Range: SliceIndex<[T], Output = [T]>> Part<Range, [T]> for [T] {
    #[track_caller]
    fn part(&self, range: Range) -> &[T] {
        let caller = Location::caller();
        self.get(range).unwrap_or_else(|| report(caller, self.len()))
    }
}

static MISTAKES: AtomicUsize = AtomicUsize::new(0);

/// How many ranges did not fit since the start. A call that finds another number at its end than at
/// its beginning does not know that what it has computed is whole.
pub fn mistakes() -> usize {
    MISTAKES.load(Ordering::Acquire)
}

/// The first `count` characters of a text, or all of a shorter one.
pub fn first_chars(text: &str, count: usize) -> &str {
    text.part(..text.char_indices().nth(count).map_or(text.len(), |(end, _)| end))
}

#[cold]
fn report<T: Default>(caller: &Location<'_>, length: usize) -> T {
    MISTAKES.fetch_add(1, Ordering::AcqRel);
    log::error!(
        "{}:{}: a range does not fit {length} elements; please report this",
        caller.file(),
        caller.line()
    );
    debug_assert!(false, "{caller}: a range does not fit {length} elements");
    T::default()
}
