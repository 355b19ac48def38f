//! Postings: which file contains a search term, and in which fields.

use crate::limits;
use crate::vault::entry::Id;

/// A file that contains a term, in 32 bits:
///
/// ```text
/// 31          12   11      10      9       8              7       0
/// id of the file | IN_PATH IN_NAME IN_TAG  INSIDE others  count in its text
/// ```
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting(u32);

/// See [`Posting::fields`].
pub(crate) const IN_PATH: u32 = 1 << 11;
pub(crate) const IN_NAME: u32 = 1 << 10;
pub(crate) const IN_TAG: u32 = 1 << 9;
const INSIDE: u32 = 1 << 8;
/// The mask of the count of occurrences, and its maximum.
pub(crate) const COUNT: u32 = INSIDE - 1;

/// The mask of a file id.
pub(crate) const IDS: u32 = (1 << 20) - 1;

const _: () = assert!(limits::FILES <= 1 << 20, "every file id fits into a posting");

impl Posting {
    pub(crate) fn new(id: Id) -> Posting {
        Posting(id << 12)
    }

    /// The posting of this file with the bits of [`Posting::without_id`].
    pub(crate) fn of(id: Id, rest: u16) -> Posting {
        Posting(id << 12 | u32::from(rest))
    }

    /// All but the file id.
    pub(crate) fn without_id(self) -> u16 {
        (self.0 & 0xfff) as u16
    }

    /// The posting, whose count must be zero, with this count: occurrences as a form of the word,
    /// or, if there are none, those inside other words.
    pub(crate) fn counted(mut self, forms: u32, others: u32) -> Posting {
        let count = if forms > 0 { forms } else { others };
        self.0 |= count.min(COUNT) | if forms == 0 && others > 0 { INSIDE } else { 0 };
        self
    }

    /// The posting of a search term, from that of a word that contains it `forms` times as a form
    /// of the term, and `others` times otherwise.
    pub(crate) fn times(self, forms: u32, others: u32) -> Posting {
        Posting(self.0 & !(COUNT | INSIDE)).counted(forms * self.count(), others * self.count())
    }

    /// Merges another posting of the same file.
    pub(crate) fn join(&mut self, other: Posting) {
        let fields = self.fields() | other.fields();
        let of = |posting: Posting| {
            if posting.is_inside() { (0, posting.count()) } else { (posting.count(), 0) }
        };
        let ((forms, others), (more_forms, more_others)) = (of(*self), of(other));
        *self = Posting(Posting::new(self.id()).0 | fields)
            .counted(forms + more_forms, others + more_others);
    }

    pub(crate) fn count_one(&mut self) {
        self.0 += u32::from(self.count() < COUNT);
    }

    pub(crate) fn add_fields(&mut self, fields: u32) {
        self.0 |= fields;
    }

    /// Those of [`IN_PATH`], [`IN_NAME`] and [`IN_TAG`] that are set.
    pub(crate) fn fields(self) -> u32 {
        self.0 & (IN_PATH | IN_NAME | IN_TAG)
    }

    pub(crate) fn id(self) -> Id {
        self.0 >> 12
    }

    /// Whether the term occurs in the text only inside other words.
    pub(crate) fn is_inside(self) -> bool {
        self.0 & INSIDE != 0
    }

    /// Occurrences in the text, at most 255: those as a form of the word, if there are any.
    pub(crate) fn count(self) -> u32 {
        self.0 & COUNT
    }
}
