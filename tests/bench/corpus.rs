//! Vaults that are the same on every machine: notes of 3 KB in folders of a hundred, words by a
//! Zipf distribution.

use std::path::{Path, PathBuf};

/// What is searched for, and in how many notes it is.
pub const QUERIES: [(&str, &str); 8] = [
    ("an absent word", "xylophonist"),
    ("a rare word", "lighthouse"),
    ("in one of ten", "telescope"),
    ("in all", "the"),
    ("two words", "telescope harbour"),
    (
        "a question of six words",
        "which telescope has the harbour a lighthouse, verti, ansol or moro?",
    ),
    ("one letter", "e"),
    ("not ASCII", "größenwahn"),
];

/// The vault of so many notes; made once.
pub fn vault(size: usize) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{size}"));
    let made = folder.join(".made-1");
    if !made.exists() {
        let _ = std::fs::remove_dir_all(&folder);
        for n in 0..size {
            let on_disk = folder.join(path(n));
            std::fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
            std::fs::write(on_disk, text(n)).unwrap();
        }
        std::fs::write(made, "").unwrap();
    }
    folder
}

/// Where a note lies.
pub fn path(n: usize) -> String {
    format!("area {:02}/topic {:03}/note {n:06}.md", n / 100 % 20, n / 100)
}

/// Bytes of all notes.
pub fn bytes(folder: &Path) -> u64 {
    let mut open = vec![folder.to_path_buf()];
    let mut sum = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let found = entry.metadata().unwrap();
            if found.is_dir() { open.push(entry.path()) } else { sum += found.len() }
        }
    }
    sum
}

/// A note: frontmatter with a tag, a heading, and words until it has 3 KB.
pub fn text(n: usize) -> String {
    let mut random = Random((n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let words = words();
    let mut text = format!(
        "---\ntags: [area{}, kind{}]\ndate: 2026-01-{:02}\n---\n# Note {n}\n\n",
        n % 20,
        n % 7,
        n % 28 + 1
    );
    let mut count = 0;
    while text.len() < 3000 {
        // The first words are the most frequent: the inverse of a Zipf distribution.
        let at = (words.len() as f64).powf(random.unit()) as usize - 1;
        let word = &words[at.min(words.len() - 1)];
        count += 1;
        if count % 11 == 1 {
            text.push_str(&word[..1].to_uppercase());
            text.push_str(&word[1..]);
        } else {
            text.push_str(word);
        }
        text.push_str(if count % 11 == 0 { ".\n" } else { " " });
        for (every, special) in [
            (2003, "Lighthouse"),
            (10, "telescope"),
            (40, "harbour"),
            (997, "Größenwahn"),
            (1, "the"),
        ] {
            if count == 40 + special.len() && n % every == 3 % every {
                text.push_str(special);
                text.push(' ');
            }
        }
    }
    text
}

/// A question of six words, another one for each number: half of them as frequent as in the texts,
/// half of any.
pub fn question(n: usize) -> String {
    let mut random = Random((n as u64 + 77).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let words = words();
    let frequent = |random: &mut Random| (words.len() as f64).powf(random.unit()) as usize - 1;
    let at = |number: usize, random: &mut Random| {
        if number.is_multiple_of(2) { frequent(random) } else { random.below(words.len()) }
    };
    (0..6).map(|number| words[at(number, &mut random)].as_str()).collect::<Vec<_>>().join(" ")
}

/// Five thousand words of syllables, the same each time.
fn words() -> &'static [String] {
    static WORDS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    WORDS.get_or_init(|| {
        const SYLLABLES: [&str; 40] = [
            "ka", "ro", "men", "ti", "sol", "ver", "an", "de", "lu", "pra", "nor", "es", "gi",
            "tam", "bel", "or", "shi", "con", "fer", "ul", "dra", "im", "po", "ster", "ya", "ling",
            "mo", "cha", "reb", "in", "qua", "sen", "tor", "el", "vi", "gra", "ho", "pin", "dus",
            "ry",
        ];
        let mut random = Random(42);
        (0..5000)
            .map(|n| {
                (0..(n / 50).min(2) + 1 + random.below(2))
                    .map(|_| SYLLABLES[random.below(40)])
                    .collect()
            })
            .collect()
    })
}

/// A generator of numbers (xorshift64*), because the vaults have to be the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}
