//! Postings: which file has a text, and in which fields.

use super::entry::Id;
use crate::limits;

/// A file that has a text: its number (20 bits), how often its text has it, whether its path, its name and its tags have it, and
/// whether the text has it only as a part of other words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting(u32);

/// See [`Posting::fields`].
pub(super) const IN_PATH: u32 = 1 << 11;
pub(super) const IN_NAME: u32 = 1 << 10;
pub(super) const IN_TAG: u32 = 1 << 9;
const INSIDE: u32 = 1 << 8;
/// The most occurrences that are counted.
pub(super) const COUNT: u32 = INSIDE - 1;

/// The bits of a file's number.
pub(super) const IDS: u32 = (1 << 20) - 1;

const _: () = assert!(limits::FILES <= 1 << 20, "a number takes what a posting has for it");

impl Posting {
    pub(super) fn new(id: Id) -> Posting {
        Posting(id << 12)
    }

    /// What [`Posting::without_id`] said, of this file.
    pub(super) fn of(id: Id, rest: u16) -> Posting {
        Posting(id << 12 | u32::from(rest))
    }

    /// All but the number of the file.
    pub(super) fn without_id(self) -> u16 {
        (self.0 & 0xfff) as u16
    }

    /// Of so many occurrences as a form of the word, and so many as a part of other words.
    pub(super) fn counted(mut self, forms: u32, others: u32) -> Posting {
        self.0 |= if forms > 0 { forms } else { others }.min(COUNT) | if forms == 0 && others > 0 { INSIDE } else { 0 };
        self
    }

    /// The same of a word that has a text so many times as a form of it and so many times else.
    pub(super) fn times(self, forms: u32, others: u32) -> Posting {
        Posting(self.0 & !(COUNT | INSIDE)).counted(forms * self.count(), others * self.count())
    }

    /// Adds what another one of the same file says.
    pub(super) fn join(&mut self, other: Posting) {
        let fields = self.fields() | other.fields();
        let of = |posting: Posting| if posting.is_inside() { (0, posting.count()) } else { (posting.count(), 0) };
        let ((forms, others), (more_forms, more_others)) = (of(*self), of(other));
        *self = Posting(Posting::new(self.id()).0 | fields).counted(forms + more_forms, others + more_others);
    }

    pub(super) fn count_one(&mut self) {
        self.0 += u32::from(self.count() < COUNT);
    }

    pub(super) fn add_fields(&mut self, fields: u32) {
        self.0 |= fields;
    }

    /// [`IN_PATH`], [`IN_NAME`] and [`IN_TAG`], where it has them.
    pub(super) fn fields(self) -> u32 {
        self.0 & (IN_PATH | IN_NAME | IN_TAG)
    }

    pub(super) fn id(self) -> Id {
        self.0 >> 12
    }

    /// Whether the text has it in other words only.
    pub(super) fn is_inside(self) -> bool {
        self.0 & INSIDE != 0
    }

    /// Occurrences in the text up to 255: forms of the word, if there are some.
    pub(super) fn count(self) -> u32 {
        self.0 & COUNT
    }
}
