//! Quoted strings in YAML and JSON, with the offsets of their bytes.

use std::ops::Range;

/// How a string is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    None,
    /// `'…'` of YAML.
    Single,
    /// `"…"` of YAML and JSON.
    Double,
}

impl Quoting {
    /// Part of a string, escaped for these quotes.
    pub fn escape(self, part: &str) -> String {
        match self {
            Quoting::None => part.to_owned(),
            Quoting::Single => part.replace('\'', "''"),
            Quoting::Double => part.replace('\\', "\\\\").replace('"', "\\\""),
        }
    }
}

/// A quoted string.
#[derive(Debug)]
pub struct Quoted {
    /// The unescaped string.
    pub text: String,
    pub quoting: Quoting,
    /// Where it ends in the outer text, after its closing quote.
    pub end: usize,
    /// The offset in the outer text of each byte of `text`, and of its end.
    offsets: Vec<usize>,
}

impl Quoted {
    /// The JSON string that begins at an offset, if one does.
    pub fn json(outer: &str, at: usize) -> Option<Quoted> {
        outer.get(at..)?.starts_with('"').then(|| Quoted::read(outer, at, false))?
    }

    /// The quoted YAML string that begins at an offset, if it is on one line.
    pub fn yaml(outer: &str, at: usize) -> Option<Quoted> {
        Quoted::read(outer, at, true)
    }

    /// The range in the outer text of a range of `text`.
    pub fn outer(&self, range: Range<usize>) -> Range<usize> {
        let offset = |at: usize| self.offsets.get(at).copied().unwrap_or(self.end);
        offset(range.start)..offset(range.end)
    }

    fn read(outer: &str, at: usize, on_one_line: bool) -> Option<Quoted> {
        let quote = outer.get(at..)?.chars().next()?;
        let quoting = if quote == '\'' { Quoting::Single } else { Quoting::Double };
        let (mut text, mut offsets, mut at) = (String::new(), Vec::new(), at + 1);
        loop {
            let rest = outer.get(at..)?;
            let first = rest.chars().next().filter(|first| !(on_one_line && *first == '\n'))?;
            let (c, length) = match (quoting, first) {
                (Quoting::Single, '\'') if rest.starts_with("''") => ('\'', 2),
                (_, c) if c == quote => break,
                (Quoting::Double, '\\') => escaped(rest)?,
                (_, c) => (c, c.len_utf8()),
            };
            text.push(c);
            offsets.resize(text.len(), at);
            at += length;
        }
        offsets.push(at);
        Some(Quoted { text, quoting, end: at + 1, offsets })
    }
}

/// The character that an escape sequence stands for, and the sequence's length; `None` if JSON does
/// not have it.
fn escaped(rest: &str) -> Option<(char, usize)> {
    let c = match rest.as_bytes().get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return escaped_by_number(rest),
        _ => return None,
    };
    Some((c, 2))
}

/// As [`escaped`], for `\uXXXX`; a character beyond U+FFFF is a pair of them.
fn escaped_by_number(rest: &str) -> Option<(char, usize)> {
    [12, 6].into_iter().find_map(|length| {
        let text: String = serde_json::from_str(&format!("\"{}\"", rest.get(..length)?)).ok()?;
        let mut chars = text.chars();
        chars.next().filter(|_| chars.next().is_none()).map(|c| (c, length))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_read_with_the_offsets_of_its_bytes() {
        for (outer, text) in [
            (r#"x "a\"b\u00e9\ud83d\ude00\n" y"#, "a\"b\u{e9}\u{1f600}\n"),
            (r#"x "\\\/\b\f\r\t" y"#, "\\/\u{8}\u{c}\r\t"),
            ("x 'it''s' y", "it's"),
            ("x \"\" y", ""),
        ] {
            let string = Quoted::yaml(outer, 2).unwrap();
            assert_eq!(string.text, text);
            assert!(outer[string.end..].starts_with(" y"));
            assert_eq!(outer[string.outer(0..text.len())], outer[3..string.end - 1]);
        }
        assert!(
            Quoted::yaml("\"open\nline\"", 0).is_none()
                && Quoted::json("\"open\nline\"", 0).is_some()
        );
        for escape in ["\\xe9", "\\u+0e9", "\\e"] {
            assert!(Quoted::yaml(&format!("\"a{escape}\""), 0).is_none(), "{escape}");
        }
        assert!(Quoted::json("\"open", 0).is_none() && Quoted::json("12", 0).is_none());
    }
}
