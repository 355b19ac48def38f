//! Which files can have a word at all: a filter that passes over almost all of them without looking at a single text.
//!
//! Every three bytes that follow each other in a file's folded path, tags and text set one of its bits. A file that has a
//! word has all bits of the word. The bits lie row by row, a cache line for 512 files, so a query reads one
//! line for each three bytes and each 512 files: a few thousand lines for a hundred thousand notes. A file that passes may
//! still not have the word; it is searched.

/// How many bits a file has: a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// 8192, 1 KB a file: an eighth of them are set by a note of 3 KB, so that for a word of eight letters one of 100,000
    /// notes that do not have it passes.
    Many,
    /// 2048, a quarter of that: one of 300 passes.
    Few,
    /// 512, for files of which only path and tags can be found.
    Names,
}

impl Rows {
    fn bits(self) -> u32 {
        match self {
            Rows::Many => 13,
            Rows::Few => 11,
            Rows::Names => 9,
        }
    }

    fn count(self) -> usize {
        1 << self.bits()
    }

    /// The row of each three bytes.
    fn of(self, bytes: &[u8]) -> impl Iterator<Item = usize> {
        let shift = 32 - self.bits();
        bytes.windows(3).filter_map(move |three| match three {
            &[a, b, c] => {
                let gram = u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c);
                // Multiplicative hashing: the high bits are the mixed ones.
                Some((gram.wrapping_mul(0x9e37_79b1) >> shift) as usize)
            }
            _ => None,
        })
    }

    /// The rows that a file has to have for these folded words; empty when they are too short to say anything.
    pub fn of_words(self, words: &[&str]) -> Vec<usize> {
        let mut rows: Vec<usize> = words.iter().flat_map(|word| self.of(word.as_bytes())).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}

/// Files whose bits share a cache line.
const BLOCK: usize = 512;

type Row = [u64; BLOCK / 64];

/// The bits of one file, by row.
#[derive(Debug)]
pub struct Signature {
    rows: Rows,
    words: Box<[u64]>,
}

impl Signature {
    /// One without a bit.
    pub fn new(rows: Rows) -> Signature {
        Signature { rows, words: vec![0; rows.count() / 64].into_boxed_slice() }
    }

    /// Adds all that can be searched for in a folded text.
    pub fn add(&mut self, folded: &str) {
        for row in self.rows.of(folded.as_bytes()) {
            if let Some(word) = self.words.get_mut(row / 64) {
                *word |= 1 << (row % 64);
            }
        }
    }

    /// Whether it has all these bits.
    #[cfg(fuzzing)]
    pub fn has(&self, rows: &[usize]) -> bool {
        let own: Vec<usize> = self.rows().collect();
        rows.iter().all(|row| own.contains(row))
    }

    fn rows(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(number, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                // Takes the lowest bit away.
                rest &= rest.wrapping_sub(1);
                (bit < 64).then_some(number * 64 + bit)
            })
        })
    }
}

/// The bits of all files, by their slots.
#[derive(Debug)]
pub struct Filter {
    rows: Rows,
    blocks: Vec<Box<[Row]>>,
    /// How many files have each bit: the rarest is asked first.
    counts: Vec<u32>,
}

impl Filter {
    /// One without a file.
    pub fn new(rows: Rows) -> Filter {
        Filter { rows, blocks: Vec::new(), counts: vec![0; rows.count()] }
    }

    /// Puts a file into a slot that is empty.
    pub fn set(&mut self, slot: usize, signature: &Signature) {
        let (block, word, bit) = position(slot);
        while self.blocks.len() <= block {
            self.blocks.push(vec![Row::default(); self.rows.count()].into_boxed_slice());
        }
        let Some(rows) = self.blocks.get_mut(block) else { return };
        for row in signature.rows() {
            if let (Some(words), Some(count)) = (rows.get_mut(row).and_then(|row| row.get_mut(word)), self.counts.get_mut(row)) {
                *words |= bit;
                *count += 1;
            }
        }
    }

    /// Empties a slot.
    pub fn clear(&mut self, slot: usize) {
        let (block, word, bit) = position(slot);
        let rows = self.blocks.get_mut(block).into_iter().flatten();
        for (words, count) in rows.zip(&mut self.counts) {
            if let Some(words) = words.get_mut(word).filter(|words| **words & bit != 0) {
                *words &= !bit;
                *count -= 1;
            }
        }
    }

    /// The slots of the files that have the bits of all these folded words, in order; `None` when the words are too short to
    /// say anything, so that every file may have them.
    pub fn passing(&self, words: &[&str]) -> Option<Vec<usize>> {
        let mut rows = self.rows.of_words(words);
        if rows.is_empty() {
            return None;
        }
        let mut found = Vec::new();
        rows.sort_by_key(|&row| self.counts.get(row).copied().unwrap_or(0));
        for (number, block) in self.blocks.iter().enumerate() {
            let mut all: Row = [u64::MAX; BLOCK / 64];
            for row in rows.iter().filter_map(|&row| block.get(row)) {
                all.iter_mut().zip(row).for_each(|(all, row)| *all &= row);
                if all == Row::default() {
                    break;
                }
            }
            for (word, mut bits) in all.into_iter().enumerate() {
                while bits != 0 {
                    found.push(number * BLOCK + word * 64 + bits.trailing_zeros() as usize);
                    bits &= bits - 1;
                }
            }
        }
        Some(found)
    }
}

fn position(slot: usize) -> (usize, usize, u64) {
    (slot / BLOCK, slot % BLOCK / 64, 1 << (slot % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_with_the_words_passes_and_few_others() {
        let texts: Vec<String> = (0..1500).map(|n| format!("note {n} about topic{} and größe{}", n % 10, n % 7)).collect();
        let rows = Rows::Many;
        let mut filter = Filter::new(rows);
        for (slot, text) in texts.iter().enumerate() {
            let mut signature = Signature::new(rows);
            signature.add(text);
            filter.set(slot, &signature);
        }
        let passing = |filter: &Filter, words: &[&str]| filter.passing(words).unwrap();
        for words in [&["topic3"][..], &["größe5"], &["topic3", "größe5"], &["1234"], &["about"], &["xylophone"]] {
            let found = passing(&filter, words);
            let right: Vec<usize> = (0..1500).filter(|&n| words.iter().all(|word| texts[n].contains(word))).collect();
            assert!(right.iter().all(|slot| found.contains(slot)), "{words:?}: none is missed");
            assert!(found.len() <= right.len() + 150, "{words:?}: {} pass for {}", found.len(), right.len());
        }
        assert_eq!(filter.passing(&["a", "bc"]), None);
        filter.clear(3);
        assert!(!passing(&filter, &["about"]).contains(&3));
        assert_eq!(passing(&filter, &["about"]).len(), 1499);
        let mut signature = Signature::new(rows);
        signature.add("something else");
        filter.set(3, &signature);
        assert_eq!(passing(&filter, &["something"]), [3]);
    }
}
