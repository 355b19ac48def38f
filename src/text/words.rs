//! The words of a query: which of them count, and what to look for in place of one that nothing has.

use super::fold::fold;
use crate::limits;

/// English words that say nothing of what is looked for; those of questions among them.
const STOP_WORDS: [&str; 105] = [
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been", "before", "but", "by",
    "can", "could", "did", "do", "does", "for", "from", "get", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its",
    "just", "like", "many", "may", "me", "more", "most", "much", "my", "no", "not", "of", "on", "one", "or", "other", "our", "out", "over",
    "should", "so", "some", "such", "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "through", "to", "too", "up", "us", "use", "used", "using", "very", "was", "way", "we", "were", "what", "when", "where", "which",
    "while", "who", "whom", "whose", "why", "will", "with", "would", "you", "your", "it's", "what's", "i'm", "don't", "show", "find",
];

/// The words of a query that count, folded, each once: without marks at their ends and without stop words, unless there is
/// nothing else.
pub fn of_query(query: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in fold(query).split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '#' | '+' | '_' | '/' | '@'));
        let word = if bare.is_empty() { word } else { bare };
        if !all.iter().any(|known| known == word) {
            all.push(word.to_owned());
        }
    }
    let said: Vec<String> = all.iter().filter(|word| !STOP_WORDS.contains(&word.as_str())).cloned().collect();
    if said.is_empty() { all } else { said }
}

/// What an English word and its plural, tenses and nouns begin with; the word itself where no rule fits, and a phrase as it is. At least three letters
/// are left.
pub fn stem(word: &str) -> &str {
    if word.contains(' ') {
        return word;
    }
    if !word.is_ascii() || word.len() < 5 {
        return word
            .strip_suffix('s')
            .filter(|stem| word.is_ascii() && stem.len() >= 3 && !stem.ends_with(['s', 'u', 'i']))
            .unwrap_or(word);
    }
    for ending in ["ations", "ation", "ings", "ing", "edly", "ers", "ies", "ied", "ed", "er", "es", "ly", "s", "e", "y"] {
        let fits = |stem: &&str| match ending {
            "s" => stem.len() >= 3 && !stem.ends_with(['s', 'u', 'i']),
            "es" => stem.len() >= 3 && stem.ends_with(['s', 'x', 'z', 'h']),
            "e" => stem.len() >= 6,
            "y" => stem.len() >= 4,
            _ => stem.len() >= 3,
        };
        if let Some(stem) = word.strip_suffix(ending).filter(fits) {
            return undoubled(stem);
        }
    }
    word
}

/// `runn` is `run`.
fn undoubled(stem: &str) -> &str {
    let bytes = stem.as_bytes();
    match bytes {
        [.., a, b] if a == b && bytes.len() > 3 && !b"lsz".contains(a) => stem.strip_suffix(char::from(*b)).unwrap_or(stem),
        _ => stem,
    }
}

/// What to look for in place of a word.
#[derive(Debug, PartialEq, Eq)]
pub struct Form {
    /// Folded.
    pub text: String,
    /// Whether it has to be a word of its own; otherwise a word that begins with it is one, too.
    pub is_whole: bool,
}

/// Other forms of a word that nothing has, the nearest first: its stem, all words that one edit makes of it (a letter taken
/// out, put in, replaced, or exchanged with the next), and its beginnings down to four letters. Of a script without spaces it
/// is all pairs of letters.
pub fn instead(word: &str) -> Vec<Form> {
    let letters: Vec<char> = word.chars().collect();
    let text = |letters: &[char]| letters.iter().collect::<String>();
    let begins = |text: String| Form { text, is_whole: false };
    if is_unspaced(word) {
        return letters.windows(2).map(|pair| begins(text(pair))).collect();
    }
    let mut edits: Vec<String> = Vec::new();
    if (4..=limits::CORRECTED_LETTERS).contains(&letters.len()) {
        for at in 0..=letters.len() {
            let (before, after) = letters.split_at(at);
            if let [first, second, rest @ ..] = after {
                edits.push(text(&[before, &[*second, *first], rest].concat()));
            }
            if let [_, rest @ ..] = after {
                edits.push(text(&[before, rest].concat()));
                edits.extend(('a'..='z').map(|letter| text(&[before, &[letter], rest].concat())));
            }
            edits.extend(('a'..='z').map(|letter| text(&[before, &[letter], after].concat())));
        }
    }
    let beginnings = (4..letters.len().min(limits::CORRECTED_LETTERS)).rev().map(|length| begins(letters.iter().take(length).collect()));
    let mut forms = vec![begins(stem(word).to_owned())];
    forms.extend(edits.into_iter().map(|text| Form { text, is_whole: true }));
    forms.extend(beginnings);
    forms.retain(|form| form.text != word && form.text.chars().count() >= 3);
    forms
}

/// The parts of a word of which any edit of [`instead`] leaves one as it is.
pub fn kept_parts(word: &str) -> [String; 2] {
    let letters: Vec<char> = word.chars().collect();
    let middle = letters.len() / 2;
    [letters.iter().take(middle.saturating_sub(1)).collect(), letters.iter().skip(middle).collect()]
}

/// Whether a word is of a script that puts no spaces between words.
fn is_unspaced(word: &str) -> bool {
    word.chars().count() > 2 && word.chars().all(|c| matches!(c, '\u{e00}'..='\u{eff}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ac00}'..='\u{d7a3}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_its_content_words() {
        assert_eq!(of_query("How do I set up the MQTT controller?"), ["set", "mqtt", "controller"]);
        assert_eq!(of_query("what is it"), ["what", "is", "it"], "unless there is nothing else");
        assert_eq!(of_query("C++ and C#, \"quoted\" (twice) twice"), ["c++", "c#", "quoted", "twice"]);
        assert_eq!(of_query("?!"), ["?!"]);
    }

    #[test]
    fn forms_of_a_word_begin_alike() {
        for (words, expected) in [
            (&["connect", "connected", "connecting", "connects"][..], "connect"),
            (&["run", "running", "runs"], "run"),
            (&["note", "notes"], "note"),
            (&["plugin", "plugins"], "plugin"),
            (&["story", "stories"], "stor"),
            (&["bus", "class", "gas"], ""),
        ] {
            for word in words {
                assert!(expected.is_empty() && stem(word).len() >= 3 || stem(word) == expected, "{word}: {}", stem(word));
            }
        }
    }

    #[test]
    fn one_edit_makes_a_word_of_a_typing_error() {
        for (typed, meant) in [("kettel", "kettle"), ("contoller", "controller"), ("obsidiann", "obsidian"), ("pluggin", "plugin")] {
            assert!(instead(typed).iter().any(|form| form.text == meant), "{typed}");
        }
        for word in ["abcd", "abcde", "xylophonist"] {
            let parts = kept_parts(word);
            let keeps = |form: &Form| !form.is_whole || parts.iter().any(|part| form.text.contains(part));
            assert!(instead(word).iter().all(keeps), "{word}");
        }
        assert!(instead("회의록").iter().map(|form| form.text.as_str()).eq(["회의", "의록"]));
    }
}
