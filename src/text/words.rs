//! The words of a query: which of them count, their stems, and which words are nearly the same.

use super::fold::fold;
use crate::limits;
use crate::slice::Part;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// English stop words, including those of questions; sorted.
const STOP_WORDS: [&str; 105] = [
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "but", "by", "can", "could", "did", "do", "does", "don't", "find",
    "for", "from", "get", "had", "has", "have", "how", "i", "i'm", "if", "in", "into", "is", "it",
    "it's", "its", "just", "like", "many", "may", "me", "more", "most", "much", "my", "no", "not",
    "of", "on", "one", "or", "other", "our", "out", "over", "should", "show", "so", "some", "such",
    "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "through", "to", "too", "up", "us", "use", "used", "using", "very", "was", "way",
    "we", "were", "what", "what's", "when", "where", "which", "while", "who", "whom", "whose",
    "why", "will", "with", "would", "you", "your",
];

/// The content words of a query, folded, each once: without punctuation at their ends, and without
/// stop words and bare punctuation, unless there is nothing else.
pub fn query_words(query: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in fold(query).split_whitespace() {
        let is_mark = |c: char| !c.is_alphanumeric() && !matches!(c, '#' | '_' | '/' | '@');
        let bare = word.trim_start_matches(is_mark).trim_end_matches(|c| is_mark(c) && c != '+');
        // A possessive usually means the word itself.
        let bare = bare.strip_suffix("'s").unwrap_or(bare);
        let word = if bare.is_empty() { word } else { bare };
        if !all.iter().any(|known| known == word) {
            all.push(word.to_owned());
        }
    }
    // Includes dashes and arrows; an emoji is a word.
    let is_sign = |c: char| {
        c.is_ascii_punctuation() || matches!(c, '\u{2000}'..='\u{206f}' | '\u{2190}'..='\u{21ff}')
    };
    let content: Vec<String> = all
        .iter()
        .filter(|word| !is_stop_word(word) && !word.chars().all(is_sign))
        .cloned()
        .collect();
    if content.is_empty() { all } else { content }
}

/// Whether a folded word is an English stop word.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// The common beginning of an English word and its plural, tenses and derived nouns, at least three
/// letters; the word itself if no rule applies. A stem is its own stem. A phrase is returned
/// unchanged.
pub fn stem(word: &str) -> &str {
    // Latin letters, with accents and umlauts too; words of other scripts have none of these
    // endings.
    if word.contains(' ') || word.chars().any(|c| c > '\u{24f}') {
        return word;
    }
    std::iter::successors(Some(word), |word| without_ending(word)).last().unwrap_or(word)
}

/// A word without its ending, if it has one of English.
fn without_ending(word: &str) -> Option<&str> {
    const ENDINGS: [&str; 15] = [
        "ations", "ation", "ings", "ing", "edly", "ers", "ies", "ied", "ed", "er", "es", "ly", "s",
        "e", "y",
    ];
    let letters = |text: &str| text.chars().count();
    let is_long = letters(word) > 4;
    ENDINGS.into_iter().filter(|ending| is_long || *ending == "s").find_map(|ending| {
        let fits = |stem: &&str| match ending {
            "s" => letters(stem) >= 3 && !stem.ends_with(['s', 'u', 'i']),
            "es" => letters(stem) >= 3 && stem.ends_with(['s', 'x', 'z', 'h']),
            "e" => letters(stem) >= 6,
            "y" => letters(stem) >= 4,
            // `folder` is no form of `fold`, `container` one of `contain`: as in Porter's stemmer,
            // two vowels with a consonant behind each.
            "er" | "ers" => {
                stem.as_bytes()
                    .windows(2)
                    .filter(
                        |pair| matches!(pair, [one, next] if is_vowel(*one) && !is_vowel(*next)),
                    )
                    .count()
                    >= 2
            }
            _ => letters(stem) >= 3,
        };
        let stem = word.strip_suffix(ending).filter(fits)?;
        // `carries` is no form of `car`.
        Some(if matches!(ending, "s" | "y" | "ies" | "ied") { stem } else { undoubled(stem) })
    })
}

fn is_vowel(letter: u8) -> bool {
    b"aeiouy".contains(&letter)
}

/// Whether a word begins at an offset of a text and its stem has this length in bytes: then it is a
/// form of the word whose stem was found there, rather than a word that merely contains the stem.
pub fn is_form(text: &str, at: usize, stem_length: usize) -> bool {
    if !is_word_start(text, at) {
        return false;
    }
    let Some((found, rest)) = text.get(at..).and_then(|rest| rest.split_at_checked(stem_length))
    else {
        return false;
    };
    // Without spaces between words, what follows may be the next word, as in 会議2024の.
    let ends_here = rest.chars().next().is_none_or(|c| !c.is_alphanumeric() || is_unspaced(c));
    if found.ends_with(is_unspaced) || ends_here && has_unspaced(found) {
        return true;
    }
    let tail = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let word = text.part(at..at + found.len() + tail.len());
    // A phrase, and a word with punctuation, is not split.
    let word = if found.chars().all(char::is_alphanumeric) {
        pieces(word).next().unwrap_or_default()
    } else {
        word
    };
    stem(word).len() == stem_length
}

/// Whether a word may begin at an offset: no letter or digit precedes it, or one of a script
/// without spaces between words.
pub fn is_word_start(text: &str, at: usize) -> bool {
    text.get(..at)
        .and_then(|before| before.chars().next_back())
        .is_none_or(|c| !c.is_alphanumeric() || is_unspaced(c))
}

/// The words of a text: runs of letters and digits.
pub fn words_of(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The words of a text as the word index has them: for scripts without spaces between words, each
/// pair of adjacent letters.
pub fn indexed_words(text: &str) -> impl Iterator<Item = &str> + Clone {
    words_of(text).flat_map(pieces)
}

/// The pieces of a word: letters of scripts with spaces between words are one piece; of a run of a
/// script without spaces, each letter with the next is one, so that pieces overlap by a letter.
fn pieces(mut rest: &str) -> impl Iterator<Item = &str> + Clone {
    std::iter::from_fn(move || {
        let mut ends = rest
            .char_indices()
            .take_while(|(_, c)| is_unspaced(*c))
            .map(|(at, c)| at + c.len_utf8());
        let (length, step) = match [ends.next(), ends.next(), ends.next()] {
            [Some(first), Some(second), Some(_)] => (second, first),
            [Some(end), None, _] | [_, Some(end), None] => (end, end),
            [None, ..] => rest.find(is_unspaced).map_or((rest.len(), rest.len()), |end| (end, end)),
        };
        let piece = rest.get(..length).filter(|piece| !piece.is_empty())?;
        rest = rest.get(step..)?;
        Some(piece)
    })
}

/// Whether a string is a word, or part of one, that can be looked up in the word index: it has
/// longer words in pieces.
pub fn is_indexed_word(text: &str) -> bool {
    (1..=limits::WORD_BYTES).contains(&text.len())
        && text.chars().all(|c| c.is_alphanumeric() && !is_unspaced(c))
}

/// A stem without a doubled last consonant: `runn` becomes `run`.
fn undoubled(stem: &str) -> &str {
    let bytes = stem.as_bytes();
    match bytes {
        [.., a, b] if a == b && bytes.len() > 3 && !b"lsz".contains(a) => {
            stem.strip_suffix(char::from(*b)).unwrap_or(stem)
        }
        _ => stem,
    }
}

/// The parts, as in the word index, of a phrase, a word with punctuation or one in a script without
/// spaces; without stop words and single letters.
pub fn parts_of(text: &str) -> Vec<&str> {
    let words: Vec<&str> = indexed_words(text).collect();
    // Only of a word alone: of several, one with digits is a better part than its letters and its
    // digits.
    let parts = if words.as_slice() == [text] { letters_and_digits(text) } else { words };
    parts.into_iter().filter(|part| part.chars().nth(1).is_some() && !is_stop_word(part)).collect()
}

/// The runs of letters and of digits in a word, as `TK1766` is also written `TK 1766`; the word
/// itself if one has a single character.
fn letters_and_digits(word: &str) -> Vec<&str> {
    let runs = word.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let runs: Vec<&str> = runs.filter_map(|run| std::str::from_utf8(run).ok()).collect();
    if runs.iter().all(|run| run.chars().nth(1).is_some()) { runs } else { vec![word] }
}

/// Whether a text contains letters of a script without spaces between words.
pub fn has_unspaced(text: &str) -> bool {
    text.chars().any(is_unspaced)
}

/// Whether one edit turns one word into the other: a letter deleted, inserted, replaced, or swapped
/// with the next.
pub fn is_one_edit(one: &[char], other: &[char]) -> bool {
    let same = |a: &mut dyn Iterator<Item = &char>, b: &mut dyn Iterator<Item = &char>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let shorter = one.len().min(other.len());
    let before = same(&mut one.iter(), &mut other.iter());
    let behind = same(&mut one.iter().rev(), &mut other.iter().rev()).min(shorter - before);
    match (one.get(before..one.len() - behind), other.get(before..other.len() - behind)) {
        (Some([_]), Some([] | [_])) | (Some([]), Some([_])) => true,
        (Some([a, b]), Some([c, d])) => (a, b) == (d, c),
        _ => false,
    }
}

/// Whether two folded words differ only in letters that a keyboard may lack: accents in either, or
/// two letters for one, such as `ae` for `ä`.
pub fn is_spelling(one: &str, other: &str) -> bool {
    !(one.is_ascii() && other.is_ascii())
        && bare(one).next() == bare(other).next()
        && (bare(one).eq(bare(other)) || as_two(one) == other || one == as_two(other))
}

/// A folded word as a keyboard without its marks has it: without accents, or with two letters for
/// one.
pub fn plain_spellings(word: &str) -> [String; 2] {
    [bare(word).collect(), as_two(word)]
}

fn as_two(word: &str) -> String {
    const AS_TWO: [(char, &str); 7] =
        [('ä', "ae"), ('ö', "oe"), ('ü', "ue"), ('å', "aa"), ('ø', "oe"), ('æ', "ae"), ('œ', "oe")];
    AS_TWO.iter().fold(word.to_owned(), |text, (letter, two)| text.replace(*letter, two))
}

/// The letters of a folded word without accents; a stroke, and the missing dot of `ı`, are no
/// combining marks. From Devanagari on, marks are vowels, or make another letter as in kana.
fn bare(word: &str) -> impl Iterator<Item = char> + '_ {
    word.nfd().filter(|c| !is_combining_mark(*c) || *c >= '\u{900}').map(|c| match c {
        'đ' => 'd',
        'ł' => 'l',
        'ø' | 'œ' => 'o',
        'æ' => 'a',
        'ı' => 'i',
        other => other,
    })
}

/// Whether a letter belongs to a script in which a word need not stand between spaces (in Hangul
/// particles follow it directly).
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ac00}'..='\u{d7a3}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_its_content_words() {
        assert_eq!(
            query_words("How do I set up the MQTT controller?"),
            ["set", "mqtt", "controller"]
        );
        assert_eq!(query_words("what is it"), ["what", "is", "it"], "unless there is nothing else");
        assert_eq!(
            query_words("C++ and C#, \"quoted\" (twice) +twice"),
            ["c++", "c#", "quoted", "twice"]
        );
        assert_eq!(query_words("?!"), ["?!"]);
        assert_eq!(query_words("I don’t brew"), ["brew"]);
        assert!(STOP_WORDS.is_sorted());
    }

    /// The words of any part of a text are parts of the text's words, so searching for all of them
    /// misses nothing.
    #[test]
    fn the_words_of_a_part_are_parts_of_the_words_of_the_text() {
        assert_eq!(
            indexed_words("A note, iphone用のケース x").collect::<Vec<_>>(),
            ["A", "note", "iphone", "用の", "のケ", "ケー", "ース", "x"]
        );
        assert_eq!(indexed_words("用, 会議 ...").collect::<Vec<_>>(), ["用", "会議"]);
        let text = "größe iphone用のケース2つ, 会議の議事録; one two";
        let words: Vec<&str> = indexed_words(text).collect();
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        for (number, &from) in ends.iter().enumerate() {
            for &to in ends.iter().skip(number) {
                assert!(
                    indexed_words(&text[from..to])
                        .all(|part| words.iter().any(|word| word.contains(part))),
                    "{}",
                    &text[from..to]
                );
            }
        }
    }

    #[test]
    fn forms_of_a_word_begin_alike() {
        for (words, expected) in [
            (&["connect", "connected", "connecting", "connects"][..], "connect"),
            (&["run", "running", "runs"], "run"),
            (&["note", "notes"], "note"),
            (&["plugin", "plugins"], "plugin"),
            (&["template", "templates"], "templat"),
            (&["story", "stories"], "stor"),
            (&["release", "releases", "released"], "relea"),
            (&["render", "rendering", "renders"], "render"),
            (&["container", "contain", "containers"], "contain"),
            (&["folder", "folders"], "folder"),
            (&["bus", "class", "gas"], ""),
            (&["développeur", "développeurs"], "développeur"),
            (&["donnée", "données"], "donnée"),
            (&["åring"], "åring"),
            (&["čas"], "čas"),
        ] {
            for word in words {
                assert!(
                    expected.is_empty() && stem(word).len() >= 3 || stem(word) == expected,
                    "{word}: {}",
                    stem(word)
                );
                assert_eq!(stem(stem(word)), stem(word), "a stem is its own stem");
            }
        }
    }

    #[test]
    fn one_edit_makes_a_word_of_a_typing_error() {
        let is_edit = |one: &str, other: &str| {
            is_one_edit(&one.chars().collect::<Vec<_>>(), &other.chars().collect::<Vec<_>>())
        };
        for (typed, meant) in [
            ("kettel", "kettle"),
            ("contoller", "controller"),
            ("obsidiann", "obsidian"),
            ("größe", "grösse"),
            ("aa", "a"),
            ("ab", "ba"),
        ] {
            assert_eq!(is_edit(typed, meant), typed != "größe", "{typed}");
            assert_eq!(is_edit(meant, typed), typed != "größe", "{typed}");
        }
        for (one, other) in [("same", "same"), ("abcd", "badc"), ("tea", "t"), ("abc", "cba")] {
            assert!(!is_edit(one, other), "{one} {other}");
        }
    }

    #[test]
    fn a_phrase_and_a_word_without_spaces_or_with_marks_have_parts() {
        for (word, expected) in [
            ("회의록", &["회의", "의록"][..]),
            ("iphone用のケース", &["iphone", "用の", "のケ", "ケー", "ース"]),
            ("state-of-the-art", &["state", "art"]),
            ("how to brew tea", &["brew", "tea"]),
            ("+plain", &["plain"]),
            ("plain", &["plain"]),
            ("c++", &[]),
            ("to be or not to be", &[]),
        ] {
            assert_eq!(parts_of(word), expected, "{word}");
        }
    }
}
