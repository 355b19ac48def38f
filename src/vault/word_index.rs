//! The index of words that a search uses.

use super::index::Index;
use super::lexicon::Lexicon;
use crate::limits;
use crate::lock::Unpoisoned;
use std::sync::Arc;

impl Index {
    /// The index of words, if there is one that is new enough. One that is missing or grows old is made in a thread of its own.
    pub(super) fn lexicon(self: &Arc<Self>) -> Option<Arc<Lexicon>> {
        let newest = self.words.lexicon.lock().unpoisoned().clone();
        let changes = self.with_table(|table| Some(table.changed_since(newest.as_ref()?.version)?.count()));
        let is_old = changes.is_none_or(|changes| changes > limits::RECENT_CHANGES / 2);
        if is_old && self.keeps_texts() {
            // Without a thread the texts are searched.
            self.beside(
                "words",
                |index| &index.words.is_building,
                |index| {
                    let (version, entries) = index.with_table(|table| (table.version(), table.all()));
                    let lexicon = Lexicon::build(version, &entries);
                    *index.words.lexicon.lock().unpoisoned() = Some(Arc::new(lexicon));
                },
            );
        }
        newest.filter(|lexicon| changes.is_some() && lexicon.is_whole)
    }
}
